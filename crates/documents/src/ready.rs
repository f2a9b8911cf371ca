//! Fingerprints that were made elsewhere, in a field where other documents have their text.
//!
//! A reader turns the field into 16 hex digits, whatever its type and spelling, and
//! [`ReadyTask`](super::task::ReadyTask) takes that for the text of the document.

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
