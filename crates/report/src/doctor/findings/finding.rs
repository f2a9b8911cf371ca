//! A finding: its kind, its severity, a sentence and a remedy.

use std::fmt;

use serde::Serialize;

/// A problem or a fact about a store or an input.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Finding {
    /// Its kind, for programs.
    pub code: FindingCode,
    /// How much it matters.
    pub severity: Severity,
    /// The finding in a plain sentence.
    pub sentence: String,
    /// The remedy.
    pub remedy: String,
}

/// The severity and the sentence.
impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.severity, self.sentence)
    }
}

/// How much a finding matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Severity {
    /// Worth knowing.
    Note,
    /// Queries are slower, or answers larger, than necessary.
    Warning,
    /// The fingerprints are most likely not the intended values, or a query may take or return
    /// thousands of times more than usual.
    Serious,
}

/// The name, in lower case.
impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.serialize(f)
    }
}

/// The kind of a finding. Findings of one severity come in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum FindingCode {
    /// There are no fingerprints.
    Empty,
    /// The values lie as close together as counters do.
    CountingNumbers,
    /// No hex digit is above 9.
    DecimalReadAsHex,
    /// All values went through double precision and lost their low bits.
    RoundedByDouble,
    /// Shorter values with zeros in front.
    ZeroExtended,
    /// Signed shorter values with copies of their sign in front.
    SignExtended,
    /// Hashes of pictures that compare with a median, and tables tuned for smaller distances.
    MedianHash,
    /// Bits that never or hardly ever vary.
    DeadBits,
    /// Bits that always repeat or negate another bit.
    CopiedBits,
    /// One fingerprint has a good part of all records.
    HeavyFingerprint,
    /// Prefix groups far larger than even bits would give.
    CrowdedTable,
    /// At the tuned distance, queries find matches by chance alone.
    ChanceMatches,
    /// Bits that are set together more or less often than by chance.
    CorrelatedBits,
    /// Bits that are far more often 0 than 1, or 1 than 0.
    BiasedBits,
    /// The fingerprint 0 or the fingerprint of all ones occurs.
    ConstantFingerprint,
    /// All distances are even.
    EvenDistances,
}

/// The name, in lower case with hyphens. It is the same in every release.
impl fmt::Display for FindingCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.serialize(f)
    }
}
