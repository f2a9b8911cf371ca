//! What the values of a column look like: fingerprints, and how they are spelled.
//!
//! Only [`guess`](super::guess) asks. Nothing here knows lines or separators.

use fpstore_base::{Fingerprint, Radix};

/// The longest number that 16 hex digits could also be.
const HEX_LEN_MAX: usize = 16;
/// Fewer digits of a number of 64 bits are rare: one of 65 536 has fewer.
const HEX_LEN_MIN: usize = 13;

/// What all values of a column are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Hex numbers of 64 bits: nearly all have 16 digits, and some have letters.
    Hex64,
    /// Hex numbers of 8 digits each, some with letters.
    Hex32,
    /// Decimal numbers of which nearly all have more than 16 digits. Some are negative.
    Decimal {
        /// Whether one of them is negative.
        signed: bool,
    },
    /// Numbers of 16 digits without letters: hex or decimal.
    HexOrDecimal,
    /// Whole decimal numbers, too short for fingerprints.
    Number,
    /// Hex numbers of other lengths.
    OtherHex,
    /// Hex numbers of more than 64 bits, all of this many digits.
    LongHex(usize),
    /// Anything else.
    Other,
}

impl Kind {
    /// Whether a column of this kind holds fingerprints beyond doubt, if no other one does.
    pub(super) fn is_strong(self) -> bool {
        matches!(self, Kind::Hex64 | Kind::Decimal { .. })
    }

    /// The spelling of its fingerprints, if it holds some.
    pub(super) fn radix(self) -> Option<Radix> {
        match self {
            Kind::Hex64 | Kind::Hex32 => Some(Radix::Hex),
            Kind::Decimal { signed: false } => Some(Radix::Decimal),
            Kind::Decimal { signed: true } => Some(Radix::SignedDecimal),
            _ => None,
        }
    }

    /// What its values are, for messages: completes "column 2 holds ...".
    pub(super) fn describe(self) -> &'static str {
        match self {
            Kind::Hex64 => "16 hex digits",
            Kind::Hex32 => "8 hex digits, hashes of 32 bits",
            Kind::Decimal { signed: false } => "decimal numbers",
            Kind::Decimal { signed: true } => "signed decimal numbers",
            Kind::HexOrDecimal => "numbers of 16 digits",
            Kind::Number | Kind::OtherHex | Kind::LongHex(_) | Kind::Other => "other values",
        }
    }

    /// The kind of these values; `radix` is their spelling if the user has said it.
    pub(super) fn of<'a>(values: impl Iterator<Item = &'a str>, radix: Option<Radix>) -> Self {
        let mut seen = Seen::default();
        values.for_each(|value| seen.add(value.trim()));
        seen.kind(radix)
    }
}

/// Whether `text` is one fingerprint of a column of this kind.
pub(super) fn fits(text: &str, kind: Kind) -> bool {
    kind.radix().is_some_and(|radix| Fingerprint::parse(text.trim(), radix).is_ok())
}

/// What was seen of the values of a column.
#[derive(Default)]
struct Seen {
    count: usize,
    /// Values of hex digits alone, after 0x.
    hex: usize,
    /// Values of 16 hex digits.
    hex_full: usize,
    /// Whether a value has a letter of hex, or 0x.
    has_letter: bool,
    /// The shortest and the longest value of hex digits.
    hex_len: Option<(usize, usize)>,
    /// Canonical decimal numbers of 64 bits.
    decimal: usize,
    /// Canonical decimal numbers with more than 16 digits.
    decimal_long: usize,
    is_signed: bool,
    /// Whether a number is above the largest signed one.
    is_above_signed: bool,
}

impl Seen {
    fn add(&mut self, value: &str) {
        self.count += 1;
        let digits = value.strip_prefix("0x").or(value.strip_prefix("0X"));
        let has_prefix = digits.is_some();
        let digits = digits.unwrap_or(value);
        if !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            self.hex += 1;
            self.hex_full += usize::from(digits.len() == HEX_LEN_MAX);
            self.has_letter |= has_prefix || digits.bytes().any(|byte| !byte.is_ascii_digit());
            let (min, max) = self.hex_len.unwrap_or((digits.len(), digits.len()));
            self.hex_len = Some((min.min(digits.len()), max.max(digits.len())));
        }
        let magnitude = value.strip_prefix('-').unwrap_or(value);
        let is_canonical = !magnitude.starts_with('0') || magnitude.len() == 1;
        let unsigned = Fingerprint::parse(value, Radix::Decimal).is_ok();
        let signed = Fingerprint::parse(value, Radix::SignedDecimal).is_ok();
        if is_canonical && (unsigned || signed) {
            self.decimal += 1;
            self.decimal_long += usize::from(magnitude.len() > HEX_LEN_MAX);
            self.is_signed |= !unsigned;
            self.is_above_signed |= !signed;
        }
    }

    fn kind(&self, radix: Option<Radix>) -> Kind {
        let nearly_all = |part: usize| self.count > 0 && 4 * part >= 3 * self.count;
        let decimal_may_be = match radix {
            None => true,
            Some(Radix::Hex) => false,
            Some(radix) => radix == Radix::SignedDecimal || !self.is_signed,
        };
        if self.count > 0 && self.decimal == self.count {
            let spans_both = self.is_signed && self.is_above_signed;
            if nearly_all(self.decimal_long) && decimal_may_be && !spans_both {
                let signed = self.is_signed || radix == Some(Radix::SignedDecimal);
                return Kind::Decimal { signed };
            }
            if !self.is_signed && nearly_all(self.hex_full) && self.decimal_long == 0 {
                return match radix {
                    None => Kind::HexOrDecimal,
                    Some(Radix::Hex) => Kind::Hex64,
                    Some(_) => Kind::Decimal { signed: false },
                };
            }
            if !self.is_signed && self.decimal_long == 0 && radix != Some(Radix::Hex) {
                return Kind::Number;
            }
        }
        let Some((min, max)) = self.hex_len.filter(|_| self.hex == self.count) else {
            return Kind::Other;
        };
        if max > HEX_LEN_MAX {
            return if min == max { Kind::LongHex(max) } else { Kind::Other };
        }
        let is_hex = radix.is_none_or(|radix| radix == Radix::Hex);
        match (min, max) {
            _ if !is_hex => Kind::Other,
            (8, 8) if self.has_letter => Kind::Hex32,
            (min, HEX_LEN_MAX) if min >= HEX_LEN_MIN || nearly_all(self.hex_full) => Kind::Hex64,
            _ => Kind::OtherHex,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kind(values: &str) -> Kind {
        Kind::of(values.split_whitespace(), None)
    }

    #[test]
    fn kinds_are_told_by_all_values_of_a_column() {
        for (values, expected) in [
            ("0123456789abcdef fedcba9876543210", Kind::Hex64),
            ("0x0123456789ABCDEF 0xfedcba9876543210", Kind::Hex64),
            // Numbers that were printed without leading zeros.
            ("123456789abcdef fedcba9876543210 aedcba9876543210 bedcba9876543210", Kind::Hex64),
            // Leading zeros are those of hex.
            ("0000000000000001 0000000000000002", Kind::Hex64),
            ("deadbeef 00c0ffee", Kind::Hex32),
            ("20261105 20261106", Kind::Number),
            ("18364758544493064720 1836475854449306472", Kind::Decimal { signed: false }),
            ("-8198552921648689607 8198552921648689607", Kind::Decimal { signed: true }),
            ("1731234567890123 1731234567890124", Kind::HexOrDecimal),
            ("1 2 3", Kind::Number),
            ("a1 b2 3", Kind::OtherHex),
            ("photo.jpg 0123456789abcdef", Kind::Other),
            (
                "0123456789abcdef0123456789abcdef 0123456789abcdef0123456789abcdef",
                Kind::LongHex(32),
            ),
            ("-8198552921648689607 18364758544493064720", Kind::Other),
            ("99999999999999999999 18364758544493064720", Kind::LongHex(20)),
            ("", Kind::Other),
        ] {
            assert_eq!(kind(values), expected, "{values}");
        }
    }

    #[test]
    fn a_radix_that_is_said_leaves_no_doubt() {
        let of = |value, radix| Kind::of([value].into_iter(), Some(radix));
        assert_eq!(of("1731234567890123", Radix::Hex), Kind::Hex64);
        assert_eq!(of("1731234567890123", Radix::Decimal), Kind::Decimal { signed: false });
        assert_eq!(of("0123456789abcdef", Radix::Decimal), Kind::Other);
        assert_eq!(of("18364758544493064720", Radix::Hex), Kind::LongHex(20));
        assert_eq!(of("-8198552921648689607", Radix::Decimal), Kind::Other);
    }
}
