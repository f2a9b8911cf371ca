//! Fingerprints that were made elsewhere, in a field where other documents have their text.
//!
//! A reader turns the field into 16 hex digits, whatever its type and spelling, and [`ReadyTask`]
//! takes that for the text of the document.

use super::json::Features;
use super::task::Task;
use fpstore_base::{Fingerprint, Radix};

/// The fingerprint in a text, in 16 hex digits; an empty text has none.
pub(super) fn digits_of_text(text: &str, radix: Radix) -> Result<String, String> {
    match text {
        "" => Ok(String::new()),
        text => Fingerprint::parse(text, radix)
            .map(|fingerprint| fingerprint.to_string())
            .map_err(|fault| fault.to_string()),
    }
}

/// The fingerprint that a number is, in 16 hex digits. Negative numbers are bit patterns.
pub(super) fn digits_of_number(bits: u64) -> String {
    Fingerprint::new(bits).to_string()
}

/// Takes the digits of fingerprints.
#[derive(Default)]
pub(super) struct ReadyTask(String);

impl Task for ReadyTask {
    type Output = Option<Fingerprint>;

    fn feed(&mut self, part: &str) {
        self.0.push_str(part);
    }

    fn finish(&mut self) -> Self::Output {
        std::mem::take(&mut self.0).parse().ok()
    }

    fn reset(&mut self) {
        self.0.clear();
    }

    fn features(&mut self, _: &Features<'_>) -> Result<Self::Output, String> {
        unreachable!("files of features are refused where fingerprints are read")
    }

    fn whole(&mut self, digits: &str) -> Self::Output {
        digits.parse().ok()
    }
}
