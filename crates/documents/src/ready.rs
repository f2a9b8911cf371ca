//! Fingerprints made elsewhere, in a field where other documents have their text.
//!
//! A reader converts the field to 16 hex digits, whatever its type and spelling, and
//! [`ReadyTask`](super::task::ReadyTask) receives them as the text of the document.

use fpstore_base::lines::is_plain;
use fpstore_base::{Fingerprint, Radix, Width};

/// The prefix of digits from a text that is hex and not decimal.
const IS_HEX: char = 'h';
/// The prefix of digits from a text that may be hex or decimal.
const IS_PLAIN: char = '?';
/// The form of ready fingerprints in a field: their number base in texts, and their width.
///
/// Without a number base texts are read as hex, and a file whose texts may all be decimal is
/// refused. If a value is a number, even a negative one, its bits are the fingerprint. A value with
/// a bit above the width makes its record bad.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReadyForm {
    /// The number base of fingerprints in texts.
    pub radix: Option<Radix>,
    /// The number of bits of a fingerprint.
    pub width: Width,
}

/// The form of fingerprints of 64 bits in this number base.
impl From<Radix> for ReadyForm {
    fn from(radix: Radix) -> Self {
        ReadyForm { radix: Some(radix), width: Width::FULL }
    }
}

impl ReadyForm {
    /// The fingerprint in a text as 16 hex digits, after the prefix [`IS_HEX`] or [`IS_PLAIN`] if
    /// the number base is not set; empty for an empty text.
    pub(super) fn digits_of_text(self, text: &str) -> Result<String, String> {
        if text.is_empty() {
            return Ok(String::new());
        }
        let ReadyForm { radix, width } = self;
        let is_set = radix.is_some();
        let radix = radix.unwrap_or_default();
        let parsed = Fingerprint::parse(text, radix).map_err(|fault| fault.to_string())?;
        if radix == Radix::Hex && width == Width::FULL && text.len() == 8 {
            return Err(format!(
                "'{text}' is a hash of 32 bits, expected a fingerprint of 64; to make a store of \
                 32 bits, use --bits 32"
            ));
        }
        match (width.narrowed(parsed, radix), radix) {
            (Some(fingerprint), _) => Ok(match is_plain(text) {
                _ if is_set => fingerprint.to_string(),
                true if text.len() == 1 => fingerprint.to_string(),
                true => format!("{IS_PLAIN}{fingerprint}"),
                false => format!("{IS_HEX}{fingerprint}"),
            }),
            (None, Radix::SignedDecimal) => {
                Err(format!("'{text}' is not a signed number of {width} bits"))
            }
            (None, _) => Err(self.too_wide(parsed)),
        }
    }

    /// The fingerprint of an unsigned number, as 16 hex digits.
    pub(super) fn digits_of_number(self, number: u64) -> Result<String, String> {
        let fingerprint = Fingerprint::new(number);
        match self.width.fits(fingerprint) {
            true => Ok(fingerprint.to_string()),
            false => Err(self.too_wide(fingerprint)),
        }
    }

    fn too_wide(self, fingerprint: Fingerprint) -> String {
        format!("the fingerprint {:x} has more than {} bits", fingerprint.value(), self.width)
    }

    /// The fingerprint of a signed number, as 16 hex digits. A number that does not fit the width
    /// as a signed number may fit it as an unsigned one.
    pub(super) fn digits_of_signed(self, number: i64) -> Result<String, String> {
        match self.width.of_signed(number) {
            Some(fingerprint) => Ok(fingerprint.to_string()),
            None if number >= 0 => self.digits_of_number(number.cast_unsigned()),
            None => Err(format!("the fingerprint {number} is not a number of {} bits", self.width)),
        }
    }
}

/// A fingerprint from a field.
#[derive(Default)]
pub(super) struct Ready {
    pub(super) fingerprint: Option<Fingerprint>,
    /// True if the text is hex, false if it may be decimal; `None` for a number, or for a text with
    /// the same value in both number bases.
    pub(super) is_hex: Option<bool>,
}

impl Ready {
    /// Parses the digits from [`ReadyForm::digits_of_text`], [`ReadyForm::digits_of_number`] or
    /// [`ReadyForm::digits_of_signed`], with or without a prefix.
    pub(super) fn of(digits: &str) -> Self {
        let is_hex = match digits.chars().next() {
            Some(IS_HEX) => Some(true),
            Some(IS_PLAIN) => Some(false),
            _ => None,
        };
        Ready { fingerprint: unmarked(digits).parse().ok(), is_hex }
    }
}

/// The digits without the prefix [`IS_HEX`] or [`IS_PLAIN`].
pub(super) fn unmarked(digits: &str) -> &str {
    digits.strip_prefix([IS_HEX, IS_PLAIN]).unwrap_or(digits)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_read_in_its_width_or_refused() {
        let narrow = |radix| ReadyForm { radix: Some(radix), width: Width::new(32).unwrap() };
        for (text, radix, expected) in [
            ("deadbeef", Radix::Hex, Some("00000000deadbeef")),
            ("00000000deadbeef", Radix::Hex, Some("00000000deadbeef")),
            ("1deadbeef", Radix::Hex, None),
            ("4294967295", Radix::Decimal, Some("00000000ffffffff")),
            ("4294967296", Radix::Decimal, None),
            ("-1", Radix::SignedDecimal, Some("00000000ffffffff")),
            ("-2147483649", Radix::SignedDecimal, None),
            ("2147483648", Radix::SignedDecimal, None),
            ("", Radix::Hex, Some("")),
        ] {
            let found = narrow(radix).digits_of_text(text);
            assert_eq!(found.ok().as_deref(), expected, "{text}");
        }
        let full = ReadyForm::default();
        let refused = full.digits_of_text("deadbeef").unwrap_err();
        assert!(refused.contains("--bits 32"), "{refused}");
        assert_eq!(full.digits_of_signed(-1).unwrap(), "ffffffffffffffff");
        assert_eq!(full.digits_of_text("beef").unwrap(), "h000000000000beef");
        assert_eq!(Ready::of("h000000000000beef").fingerprint, Some(Fingerprint::new(0xbeef)));
    }
}
