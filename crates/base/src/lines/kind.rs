//! Detects columns of fingerprints by the spelling of their values.
//!
//! All readers share this rule. A column contains fingerprints of a width if nearly all of its
//! values, at least three of four, have all digits of that width. Up to half of the hex values may
//! lack a fifth of the digits, because programs print numbers without leading zeros. Decimal
//! fingerprints must have more digits than hex fingerprints of the width. Shorter numbers are ids.

use crate::{Fingerprint, Radix, Width};

/// The kind of at least three of four values of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ColumnKind {
    /// Fingerprints in this radix.
    Fingerprints(Radix),
    /// Numbers without letters, with as many digits as a hex fingerprint: hex or decimal.
    HexOrDecimal,
    /// Hashes of 32 bits where fingerprints have 64 bits: 8 hex digits, some with letters.
    HashesOf32Bits,
    /// Whole numbers with fewer digits than fingerprints.
    Numbers,
    /// Hex numbers with fewer digits than fingerprints, some with letters.
    ShortHex,
    /// Anything else.
    Other,
}

impl ColumnKind {
    /// The kind of these values; `radix` is the radix of fingerprints if the user has set it.
    pub(super) fn of<'a>(
        values: impl IntoIterator<Item = &'a str>,
        radix: Option<Radix>,
        width: Width,
    ) -> Self {
        let (mut count, mut hex, mut plain, mut decimal, mut numbers, mut short) =
            (0, 0, 0, 0, 0, 0);
        let (mut of_8, mut of_other_len, mut cut) = (0, 0, 0);
        let (mut is_signed, mut is_above_signed) = (false, false);
        for value in values.into_iter().map(str::trim) {
            count += 1;
            let spelled = Value::of(value, width);
            if matches!(spelled, Value::Number | Value::ShortHex) {
                *if value.len() == 8 { &mut of_8 } else { &mut of_other_len } += 1;
            }
            match spelled {
                Value::Hex { is_whole } => {
                    hex += 1;
                    cut += usize::from(!is_whole);
                }
                Value::Plain => plain += 1,
                Value::Decimal { fits_unsigned, fits_signed } => {
                    decimal += 1;
                    is_signed |= !fits_unsigned;
                    is_above_signed |= !fits_signed;
                }
                Value::Number => numbers += 1,
                Value::ShortHex => short += 1,
                Value::Other => {}
            }
        }
        let nearly_all = |part: usize| count > 0 && 4 * part >= 3 * count;
        let spans_both = is_signed && is_above_signed;
        match radix {
            None if nearly_all(hex + plain) && hex > 0 && 2 * cut <= hex + plain => {
                ColumnKind::Fingerprints(Radix::Hex)
            }
            None if nearly_all(plain) => ColumnKind::HexOrDecimal,
            None if nearly_all(plain + decimal) && decimal > 0 && !spans_both => {
                let radix = if is_signed { Radix::SignedDecimal } else { Radix::Decimal };
                ColumnKind::Fingerprints(radix)
            }
            Some(Radix::Hex) if nearly_all(hex + plain) => ColumnKind::Fingerprints(Radix::Hex),
            Some(Radix::Decimal) if nearly_all(plain + decimal) && !is_signed => {
                ColumnKind::Fingerprints(Radix::Decimal)
            }
            Some(Radix::SignedDecimal) if nearly_all(plain + decimal) && !is_above_signed => {
                ColumnKind::Fingerprints(Radix::SignedDecimal)
            }
            None if width == Width::FULL && nearly_all(of_8) && short > 0 && of_other_len == 0 => {
                ColumnKind::HashesOf32Bits
            }
            _ if nearly_all(numbers) => ColumnKind::Numbers,
            _ if nearly_all(hex + plain + numbers + short) => ColumnKind::ShortHex,
            _ => ColumnKind::Other,
        }
    }
}

/// The kind of a single value.
enum Value {
    /// A hex number that is not a decimal number, with all or nearly all digits of a fingerprint of
    /// the expected width.
    Hex {
        is_whole: bool,
    },
    /// A number without letters, with as many digits as a hex fingerprint of the expected width.
    Plain,
    /// A decimal number with more digits than a hex fingerprint of the expected width.
    Decimal {
        fits_unsigned: bool,
        fits_signed: bool,
    },
    /// A decimal number with fewer digits than fingerprints.
    Number,
    /// A hex number with fewer digits than fingerprints.
    ShortHex,
    Other,
}

impl Value {
    fn of(value: &str, width: Width) -> Self {
        let all = width.digits();
        if Fingerprint::parse(value, Radix::Hex).is_ok_and(|it| width.fits(it)) {
            let count = digit_count(value);
            return match is_plain(value) {
                true if count == all => Value::Plain,
                true => Value::Number,
                false if has_nearly_all_digits(value, width) => {
                    Value::Hex { is_whole: count >= all }
                }
                false => Value::ShortHex,
            };
        }
        let magnitude = value.strip_prefix('-').unwrap_or(value);
        let fits_unsigned =
            Fingerprint::parse(value, Radix::Decimal).is_ok_and(|it| width.fits(it));
        let fits_signed = Fingerprint::parse(value, Radix::SignedDecimal)
            .is_ok_and(|it| width.narrowed(it, Radix::SignedDecimal).is_some());
        let is_long = magnitude.len() > all && !magnitude.starts_with('0');
        match is_long && (fits_unsigned || fits_signed) {
            true => Value::Decimal { fits_unsigned, fits_signed },
            false => Value::Other,
        }
    }
}

/// Whether a hex number lacks at most a fifth of the digits of a fingerprint of this width.
pub(super) fn has_nearly_all_digits(value: &str, width: Width) -> bool {
    digit_count(value) + width.digits() / 5 >= width.digits()
}

fn digit_count(value: &str) -> usize {
    value.trim_start_matches("0x").trim_start_matches("0X").len()
}

/// Whether a single value is certainly a fingerprint: a hex number that is not a decimal number,
/// with all digits of a fingerprint of this width, or a decimal number with more digits.
pub(super) fn is_spelled_out(value: &str, width: Width) -> bool {
    matches!(Value::of(value.trim(), width), Value::Hex { is_whole: true } | Value::Decimal { .. })
}

/// Whether a hex number is also a valid decimal number: only digits, no leading zero.
pub fn is_plain(value: &str) -> bool {
    !value.is_empty()
        && value.bytes().all(|byte| byte.is_ascii_digit())
        && (value.len() == 1 || !value.starts_with('0'))
}

/// Whether a column of fingerprints may be hex or decimal, with different results: each of its hex
/// numbers is also a valid decimal number, and some have several digits.
pub(super) fn is_in_doubt<'a>(values: impl IntoIterator<Item = &'a str>) -> bool {
    let is_hex = |value: &&str| Fingerprint::parse(value, Radix::Hex).is_ok();
    let mut values = values.into_iter().map(str::trim).filter(is_hex).peekable();
    let mut is_long = false;
    values.peek().is_some()
        && values.all(|value| {
            is_long |= value.len() > 1;
            is_plain(value)
        })
        && is_long
}

#[cfg(test)]
mod tests {
    use super::*;

    fn held(values: &str, radix: Option<Radix>, bits: u32) -> ColumnKind {
        ColumnKind::of(values.split_whitespace(), radix, Width::new(bits).unwrap())
    }

    #[test]
    fn a_column_holds_what_nearly_all_of_its_values_are() {
        const HEX: ColumnKind = ColumnKind::Fingerprints(Radix::Hex);
        const DECIMAL: ColumnKind = ColumnKind::Fingerprints(Radix::Decimal);
        const SIGNED: ColumnKind = ColumnKind::Fingerprints(Radix::SignedDecimal);
        for (values, radix, bits, expected) in [
            ("0123456789abcdef fedcba9876543210", None, 64, HEX),
            ("0x0123456789ABCDEF 0xfedcba9876543210", None, 64, HEX),
            // Hex numbers printed without leading zeros.
            ("123456789abcd fedcba9876543210 aedcba9876543210", None, 64, HEX),
            ("0000000000000001 0000000000000002", None, 64, HEX),
            // A few values that are not fingerprints.
            ("0123456789abcdef NULL fedcba9876543210 aedcba9876543210", None, 64, HEX),
            ("0123456789abcdef NULL fedcba9876543210", None, 64, ColumnKind::Other),
            ("deadbeef 00c0ffee", None, 64, ColumnKind::HashesOf32Bits),
            ("deadbeef 00c0ffee", Some(Radix::Hex), 64, ColumnKind::ShortHex),
            ("deadbeef 00c0ffee NULL 20261105", None, 64, ColumnKind::HashesOf32Bits),
            ("deadbeef c0ffee", None, 64, ColumnKind::ShortHex),
            ("20261105 20261106", None, 64, ColumnKind::Numbers),
            ("1731234567890 1731234567891", None, 64, ColumnKind::Numbers),
            ("1731234567890123 1731234567890124", None, 64, ColumnKind::HexOrDecimal),
            ("1731234567890123 1731234567890124", Some(Radix::Hex), 64, HEX),
            ("1731234567890123 1731234567890124", Some(Radix::Decimal), 64, DECIMAL),
            ("18364758544493064720 1836475854449306472", None, 64, DECIMAL),
            ("-8198552921648689607 8198552921648689607", None, 64, SIGNED),
            ("-8198552921648689607", Some(Radix::Decimal), 64, ColumnKind::Other),
            ("-8198552921648689607 18364758544493064720", None, 64, ColumnKind::Other),
            ("99999999999999999999", None, 64, ColumnKind::Other),
            ("18364758544493064720", Some(Radix::Hex), 64, ColumnKind::Other),
            ("0123456789abcdef", Some(Radix::Decimal), 64, ColumnKind::ShortHex),
            ("1 2 3", None, 64, ColumnKind::Numbers),
            ("a1 b2 3", None, 64, ColumnKind::ShortHex),
            ("photo.jpg 0123456789abcdef", None, 64, ColumnKind::Other),
            // Keys with another number of digits than fingerprints.
            ("68a1b2c3d4e5f 68a1b2c3d4e60", None, 64, ColumnKind::ShortHex),
            ("68a1b2c3d4e5f 68a1b2c3d4e60 fedcba9876543210", None, 64, ColumnKind::ShortHex),
            ("0123456789abcdef0123456789abcdef", None, 64, ColumnKind::Other),
            ("", None, 64, ColumnKind::Other),
            ("deadbeef 00c0ffee", None, 32, HEX),
            ("20261105 20261106", None, 32, ColumnKind::HexOrDecimal),
            ("4294967295 3735928559", None, 32, DECIMAL),
            ("-1559038737 2147483647", None, 32, SIGNED),
            ("4294967296 4294967297", None, 32, ColumnKind::Other),
            ("beef 0001", None, 16, HEX),
            ("1 2 3", None, 16, ColumnKind::Numbers),
        ] {
            assert_eq!(held(values, radix, bits), expected, "{values}");
        }
    }

    #[test]
    fn digits_alone_are_in_doubt_until_a_letter_is_seen() {
        for (values, expected) in [
            ("12 34", true),
            ("1731234567890123 NULL", true),
            ("12 3f", false),
            ("12 0034", false),
            ("1 2", false),
            ("NULL", false),
            ("18364758544493064720", false),
        ] {
            assert_eq!(is_in_doubt(values.split_whitespace()), expected, "{values}");
        }
    }
}
