//! The fingerprint: a 64-bit value in natural bit order, and its spellings.

use std::fmt;
use std::str::FromStr;

/// A fingerprint of 64 bits in natural bit order; bit 63 is the most significant bit and comes
/// first.
///
/// Fingerprints are ordered and compared as unsigned numbers.
///
/// ```
/// use fpstore_base::Fingerprint;
///
/// let page: Fingerprint = "0123456789abcdef".parse()?;
/// assert_eq!(page.value(), 0x0123_4567_89ab_cdef);
/// assert_eq!(page.distance(Fingerprint::new(page.value() ^ 0b101)), 2);
/// # Ok::<(), fpstore_base::ParseFingerprintError>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Fingerprint(u64);

impl Fingerprint {
    /// The fingerprint with this value.
    pub const fn new(value: u64) -> Self {
        Fingerprint(value)
    }

    /// The value, bit 63 first.
    pub const fn value(self) -> u64 {
        self.0
    }

    /// The Hamming distance to another fingerprint in bits, 0 to 64.
    pub const fn distance(self, other: Fingerprint) -> u32 {
        (self.0 ^ other.0).count_ones()
    }

    /// Parses a fingerprint in the given spelling.
    ///
    /// # Errors
    ///
    /// [`ParseFingerprintError`] names the wrong digit, or says that the number is too long or too
    /// large.
    ///
    /// ```
    /// use fpstore_base::{Fingerprint, Radix};
    ///
    /// let all_ones = Fingerprint::parse("-1", Radix::SignedDecimal)?;
    /// assert_eq!(all_ones, Fingerprint::new(u64::MAX));
    /// # Ok::<(), fpstore_base::ParseFingerprintError>(())
    /// ```
    pub fn parse(text: &str, radix: Radix) -> Result<Self, ParseFingerprintError> {
        let refuse = |fault| ParseFingerprintError { text: text.into(), radix, fault };
        let value = match radix {
            Radix::Hex => parse_hex(text),
            Radix::Decimal => parse_decimal(text),
            Radix::SignedDecimal => parse_signed(text),
        };
        value.map(Fingerprint).map_err(refuse)
    }
}

crate::choices! {
    /// The spelling of a fingerprint.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    #[non_exhaustive]
    pub enum Radix {
        /// 1 to 16 hex digits, upper or lower case, with or without `0x`.
        #[default]
        Hex = "hex": "1 to 16 hex digits, with or without 0x",
        /// An unsigned decimal number, 0 to 2^64 - 1.
        Decimal = "dec": "Unsigned decimal",
        /// A signed decimal number, -2^63 to 2^63 - 1, in two's complement.
        SignedDecimal = "sdec": "Signed decimal, for databases without unsigned numbers",
    }
}

impl Radix {
    /// A description of the spelling, for messages: `1 to 16 hex digits`.
    pub fn expected(self) -> &'static str {
        match self {
            Radix::Hex => "1 to 16 hex digits",
            Radix::Decimal => "a decimal number from 0 to 18446744073709551615",
            Radix::SignedDecimal => {
                "a decimal number from -9223372036854775808 to 9223372036854775807"
            }
        }
    }
}

/// The reason why a text is not a fingerprint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParseFingerprintError {
    text: String,
    radix: Radix,
    fault: SpellingFault,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum SpellingFault {
    Empty,
    Digit { place: usize, found: char },
    TooLong { digits: usize },
    OutOfRange,
}

impl fmt::Display for ParseFingerprintError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // A wrong file can have lines of any length; the start of a line is enough to find it.
        let shown: String = self.text.chars().take(40).collect();
        let dots = if shown.len() < self.text.len() { "..." } else { "" };
        write!(f, "'{}{dots}' is not a fingerprint: ", shown.escape_debug())?;
        if let Some(spelling) = foreign_spelling(&self.text) {
            return write!(f, "it is {spelling}");
        }
        match &self.fault {
            SpellingFault::Empty => write!(f, "it has no digits")?,
            SpellingFault::Digit { place, found } => {
                write!(f, "digit {place} is '{}'", found.escape_debug())?;
            }
            SpellingFault::TooLong { digits } => write!(f, "it has {digits} digits")?,
            SpellingFault::OutOfRange => write!(f, "it is out of range")?,
        }
        write!(f, ", expected {}", self.radix.expected())
    }
}

impl std::error::Error for ParseFingerprintError {}

/// For a text that spells 64 bits in an unsupported way: the name of the spelling, and the remedy.
pub fn foreign_spelling(text: &str) -> Option<&'static str> {
    let is_bits = text.len() == 64 && text.bytes().all(|byte| matches!(byte, b'0' | b'1'));
    // A whole number above 2^53 with a decimal point was rounded by the program that wrote it.
    let is_rounded = || text.contains('.') && text.parse().is_ok_and(|it: f64| it.abs() > 9e15);
    match is_bits {
        true => Some("64 binary digits: write the bits as 16 hex digits"),
        false if is_rounded() => Some(
            "a floating-point number, which rounded the fingerprint: write whole numbers or hex \
             digits",
        ),
        false => None,
    }
}

fn parse_hex(text: &str) -> Result<u64, SpellingFault> {
    let digits = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")).unwrap_or(text);
    let value_of = |digit: u8| HEX_DIGITS[usize::from(digit)];
    let is_hex = digits.bytes().fold(0, |all, digit| all | value_of(digit)) < 16;
    if !is_hex || digits.is_empty() {
        check_digits(digits, 16)?;
    }
    let count = digits.len();
    if count > 16 {
        return Err(SpellingFault::TooLong { digits: count });
    }
    Ok(digits.bytes().fold(0, |value, digit| value << 4 | u64::from(value_of(digit))))
}

/// The value of each byte as a hex digit; 255 for other bytes. A table, because files of a billion
/// lines need a lookup for each digit.
const HEX_DIGITS: [u8; 256] = {
    let mut values = [255; 256];
    let mut value = 0;
    while value < 16 {
        let digit = b"0123456789abcdef"[value];
        values[digit as usize] = value as u8;
        values[digit.to_ascii_uppercase() as usize] = value as u8;
        value += 1;
    }
    values
};

fn parse_decimal(text: &str) -> Result<u64, SpellingFault> {
    check_digits(text, 10)?;
    text.parse().map_err(|_| SpellingFault::OutOfRange)
}

fn parse_signed(text: &str) -> Result<u64, SpellingFault> {
    check_digits(text.strip_prefix('-').unwrap_or(text), 10)?;
    let signed: i64 = text.parse().map_err(|_| SpellingFault::OutOfRange)?;
    Ok(signed.cast_unsigned())
}

/// Accepts only digits: the number parsers of `std` would also accept a leading `+`.
fn check_digits(digits: &str, radix: u32) -> Result<(), SpellingFault> {
    if digits.is_empty() {
        return Err(SpellingFault::Empty);
    }
    match digits.chars().enumerate().find(|(_, c)| !c.is_digit(radix)) {
        Some((at, found)) => Err(SpellingFault::Digit { place: at + 1, found }),
        None => Ok(()),
    }
}

impl FromStr for Fingerprint {
    type Err = ParseFingerprintError;

    fn from_str(text: &str) -> Result<Self, ParseFingerprintError> {
        Fingerprint::parse(text, Radix::Hex)
    }
}

impl From<u64> for Fingerprint {
    fn from(value: u64) -> Self {
        Fingerprint(value)
    }
}

impl From<Fingerprint> for u64 {
    fn from(fingerprint: Fingerprint) -> u64 {
        fingerprint.0
    }
}

/// Writes 16 lower-case hex digits.
impl fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn common_spellings_of_one_fingerprint_agree() {
        let expected = Fingerprint::new(0xfedc_ba98_7654_3210);
        for (text, radix) in [
            ("fedcba9876543210", Radix::Hex),
            ("FEDCBA9876543210", Radix::Hex),
            ("0xFedcba9876543210", Radix::Hex),
            ("0XFEDCBA9876543210", Radix::Hex),
            ("18364758544493064720", Radix::Decimal),
            ("-81985529216486896", Radix::SignedDecimal),
        ] {
            assert_eq!(Fingerprint::parse(text, radix), Ok(expected), "{text}");
        }
        assert_eq!("f".parse(), Ok(Fingerprint::new(15)));
    }

    #[test]
    fn a_wrong_digit_is_named_with_its_place() {
        let error = "0123456789abcdeg".parse::<Fingerprint>().unwrap_err();
        assert_eq!(
            error.to_string(),
            "'0123456789abcdeg' is not a fingerprint: digit 16 is 'g', expected 1 to 16 hex digits"
        );
    }

    #[test]
    fn texts_that_are_not_64_bit_numbers_are_refused() {
        for (text, radix) in [
            ("", Radix::Hex),
            ("0x", Radix::Hex),
            ("+1", Radix::Hex),
            ("00123456789abcdef", Radix::Hex),
            ("18446744073709551616", Radix::Decimal),
            ("-1", Radix::Decimal),
            ("+1", Radix::Decimal),
            ("9223372036854775808", Radix::SignedDecimal),
            ("-9223372036854775809", Radix::SignedDecimal),
            ("--1", Radix::SignedDecimal),
            ("\u{1b}[31m", Radix::Hex),
        ] {
            let error = Fingerprint::parse(text, radix).unwrap_err().to_string();
            assert!(error.chars().all(|c| !c.is_control()), "{error}");
        }
    }
}
