//! Findings: problems and facts that the statistics of fingerprints show, each with a sentence for
//! people and a remedy.
//!
//! [`findings`] collects the findings of three modules: `spelling` for values that were read in the
//! wrong format, `bits` for single bits, pairs of bits and hashes of pictures, `load` for the cost
//! of queries. The report, the page and `fpstore build` print them.

mod bits;
mod finding;
mod load;
mod spelling;

pub use finding::{Finding, FindingCode, Severity};

use fpstore::profile::Statistics;

/// The findings that these statistics show, the most severe first; findings of the same severity in
/// the order of [`FindingCode`].
///
/// Random fingerprints give no finding, unless there are so many that queries within the tuned
/// distance find matches by chance.
pub fn findings(statistics: &Statistics) -> Vec<Finding> {
    let mut findings = Vec::new();
    if statistics.fingerprint_count == 0 {
        findings.push(Finding {
            code: FindingCode::Empty,
            severity: Severity::Note,
            sentence: "there are no fingerprints".into(),
            remedy: "check that this is the intended input".into(),
        });
        return findings;
    }
    let spelled = spelling::findings(statistics);
    let explains_bits = spelled.iter().any(|finding| {
        !matches!(finding.code, FindingCode::ZeroExtended | FindingCode::SignExtended)
    });
    let of_pictures = bits::median_hash(statistics);
    if !explains_bits {
        findings.extend(bits::findings(statistics, &spelled, of_pictures.is_some()));
    }
    findings.extend(of_pictures);
    findings.extend(spelled);
    findings.extend(load::findings(statistics));
    findings.sort_by_key(|finding| (std::cmp::Reverse(finding.severity), finding.code));
    findings
}
