//! The type of a finding, which consists of a kind, a severity, a sentence and a remedy.

use std::fmt;

use serde::Serialize;

/// A problem with the fingerprints of a store or an input, or a fact worth knowing about them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Finding {
    /// The kind of the finding, for programs.
    pub code: FindingCode,
    /// How much the finding matters.
    pub severity: Severity,
    /// The finding as a sentence for people, such as "bits 63-32 are 0 in every fingerprint".
    pub sentence: String,
    /// What the user can do about the finding.
    pub remedy: String,
}

/// Prints the severity and the sentence.
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
    /// Worth knowing, but nothing is wrong.
    Note,
    /// Queries are slower, or answers larger, than necessary.
    Warning,
    /// The fingerprints are most likely not the intended values, or a query may take or return
    /// thousands of times more than usual.
    Serious,
}

/// Prints the name in lower case.
impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.serialize(f)
    }
}

/// The kind of a finding. Findings of the same severity are sorted in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum FindingCode {
    /// There are no fingerprints.
    Empty,
    /// The values are as close together as consecutive numbers.
    CountingNumbers,
    /// No hex digit is above 9: the values are decimal numbers, read as hex.
    DecimalReadAsHex,
    /// All values were rounded to floating-point numbers of double precision, and lost their low
    /// bits.
    RoundedByDouble,
    /// The values have fewer than 64 bits, with zeros before them.
    ZeroExtended,
    /// The values are signed numbers of fewer than 64 bits, with copies of the sign bit before
    /// them.
    SignExtended,
    /// The values are hashes of pictures that compare with a median, such as pHash.
    MedianHash,
    /// Bits that have the same value in all or nearly all fingerprints.
    DeadBits,
    /// Bits that always repeat or negate another bit.
    CopiedBits,
    /// One fingerprint has at least 1 % of all records.
    HeavyFingerprint,
    /// Groups of values with the same prefix that are far larger than among random values.
    CrowdedTable,
    /// At the tuned distance, queries find matches by chance alone.
    ChanceMatches,
    /// Pairs of bits that are equal far more often, or far less often, than by chance.
    CorrelatedBits,
    /// Bits that have one value far more often than the other.
    BiasedBits,
    /// The fingerprint 0 or the fingerprint of all ones occurs.
    ConstantFingerprint,
    /// All, or nearly all, distances between fingerprints are even.
    EvenDistances,
}

/// Prints the name in lower case with hyphens. It does not change between releases.
impl fmt::Display for FindingCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.serialize(f)
    }
}
