//! The reasons for removing documents: the reasons that a cleaning checks, and the number of
//! documents removed for each.

use std::fmt;
use std::str::FromStr;

use fpstore::rows::Reason;

/// The reasons for which a cleaning removes documents.
///
/// ```
/// use fpstore_corpus::Reasons;
///
/// let reasons: Reasons = "address,bytes".parse()?;
/// assert!(reasons.address && reasons.bytes && !reasons.near);
/// assert_eq!(reasons.to_string(), "address,bytes");
/// # Ok::<(), fpstore::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reasons {
    /// Remove documents with the address of a better document; see
    /// [`Cleaner::url_field`](super::Cleaner::url_field).
    pub address: bool,
    /// Remove documents whose text has the same bytes as the text of a kept document.
    pub bytes: bool,
    /// Remove documents whose text has the same tokens, in the same order, as a kept document.
    pub text: bool,
    /// Remove near-duplicates, confirmed by their features if the settings require it. Equal
    /// documents are near-duplicates, too.
    pub near: bool,
}

impl Reasons {
    /// All reasons.
    pub(super) const ALL: Reasons = Reasons { address: true, bytes: true, text: true, near: true };

    /// The names of the reasons, in the order of the checks.
    pub(super) const NAMES: [&str; 4] = ["address", "bytes", "text", "near"];

    fn list(self) -> [bool; 4] {
        [self.address, self.bytes, self.text, self.near]
    }

    /// Whether documents are removed because of equal texts.
    pub(super) fn is_exact(self) -> bool {
        self.bytes || self.text
    }
}

impl FromStr for Reasons {
    type Err = fpstore::Error;

    /// Parses names separated by commas.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidOptions`](fpstore::Error::InvalidOptions) for anything else.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let mut list = [false; 4];
        for name in text.split(',') {
            let Some(at) = Reasons::NAMES.iter().position(|other| *other == name) else {
                let reason = format!("expected some of {}", Reasons::NAMES.join(","));
                return Err(fpstore::Error::InvalidOptions { reason });
            };
            list[at] = true;
        }
        let [address, bytes, text, near] = list;
        Ok(Reasons { address, bytes, text, near })
    }
}

impl fmt::Display for Reasons {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = Reasons::NAMES.into_iter().zip(self.list()).filter(|(_, is_in)| *is_in);
        f.write_str(&names.map(|(name, _)| name).collect::<Vec<_>>().join(","))
    }
}

/// The number of documents removed for each reason.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ReasonCounts {
    /// Documents judged by people to be duplicates of a better one; see
    /// [`Cleaner::pairs`](super::Cleaner::pairs).
    pub(super) judged_count: u64,
    /// Documents with the address of a better document.
    pub(super) address_count: u64,
    /// Documents whose text has the same bytes as the text of a kept document.
    pub(super) bytes_count: u64,
    /// Documents whose text has the same tokens, but not the same bytes, as the text of a kept
    /// document.
    pub(super) text_count: u64,
    /// Documents whose fingerprints alone are near the fingerprint of a kept document, if no other
    /// reason holds.
    pub(super) near_count: u64,
    /// Documents with a confirmed similarity to a kept document, if no other reason holds.
    pub(super) confirmed_count: u64,
}

impl ReasonCounts {
    pub(super) fn of(reasons: impl Iterator<Item = Reason>) -> Self {
        let mut counts = ReasonCounts::default();
        for reason in reasons {
            *match reason {
                Reason::Judged => &mut counts.judged_count,
                Reason::Address => &mut counts.address_count,
                Reason::Bytes => &mut counts.bytes_count,
                Reason::Text => &mut counts.text_count,
                Reason::Near => &mut counts.near_count,
                Reason::Confirmed => &mut counts.confirmed_count,
            } += 1;
        }
        counts
    }

    /// Each reason with its count, in the order of the checks.
    pub fn each(&self) -> [(Reason, u64); 6] {
        [
            (Reason::Judged, self.judged_count),
            (Reason::Address, self.address_count),
            (Reason::Bytes, self.bytes_count),
            (Reason::Text, self.text_count),
            (Reason::Near, self.near_count),
            (Reason::Confirmed, self.confirmed_count),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reasons_are_spelled_as_they_are_read() {
        for text in ["address,bytes,text,near", "near", "bytes,text"] {
            assert_eq!(text.parse::<Reasons>().unwrap().to_string(), text);
        }
        assert_eq!("near,bytes".parse::<Reasons>().unwrap().to_string(), "bytes,near");
        for text in ["", "bytes,", "url", "confirmed"] {
            assert!(text.parse::<Reasons>().is_err(), "{text}");
        }
    }
}
