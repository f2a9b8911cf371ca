//! What the values of a column look like: fingerprints, and how they are spelled.
//!
//! Only [`guess`](super::guess) asks. Nothing here knows lines or separators.

use fpstore_base::{Fingerprint, Radix, Width};

/// The leading digits that a hex number may lack: of random ones, one of 65 536 lacks more.
const LACKING_MAX: usize = 3;
/// The digits of the narrowest fingerprints that are told from other columns: shorter numbers may be
/// anything.
pub(super) const TOLD_DIGITS_MIN: usize = 8;

/// What the user has said of fingerprints.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Form {
    pub(super) radix: Option<Radix>,
    pub(super) width: Width,
}

/// What all values of a column are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Hex numbers of the width: nearly all have all of its digits, and some have letters.
    Hex,
    /// Hex numbers of 8 digits each, some with letters, where the width is 64 bits.
    Hex32,
    /// Decimal numbers of which nearly all have more digits than the width has in hex. Some are
    /// negative.
    Decimal {
        /// Whether one of them is negative.
        signed: bool,
    },
    /// Numbers of all digits of the width without letters: hex or decimal.
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
        matches!(self, Kind::Hex | Kind::Decimal { .. })
    }

    /// The spelling of its fingerprints, if it holds some.
    pub(super) fn radix(self) -> Option<Radix> {
        match self {
            Kind::Hex | Kind::Hex32 => Some(Radix::Hex),
            Kind::Decimal { signed: false } => Some(Radix::Decimal),
            Kind::Decimal { signed: true } => Some(Radix::SignedDecimal),
            _ => None,
        }
    }

    /// What its values are, for messages: completes "column 2 holds ...".
    pub(super) fn describe(self, width: Width) -> String {
        match self {
            Kind::Hex => format!("{} hex digits", width.digits()),
            Kind::Hex32 => "8 hex digits, hashes of 32 bits".into(),
            Kind::Decimal { signed: false } => "decimal numbers".into(),
            Kind::Decimal { signed: true } => "signed decimal numbers".into(),
            Kind::HexOrDecimal => format!("numbers of {} digits", width.digits()),
            Kind::Number | Kind::OtherHex | Kind::LongHex(_) | Kind::Other => "other values".into(),
        }
    }

    /// The kind of these values; `radix` is their spelling if the user has said it.
    pub(super) fn of<'a>(values: impl Iterator<Item = &'a str>, form: Form) -> Self {
        let mut seen = Seen::default();
        values.for_each(|value| seen.add(value.trim(), form.width));
        seen.kind(form)
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
    /// Values of all hex digits of the width.
    hex_full: usize,
    /// Whether a value has a letter of hex, or 0x.
    has_letter: bool,
    /// The shortest and the longest value of hex digits.
    hex_len: Option<(usize, usize)>,
    /// Canonical decimal numbers of the width.
    decimal: usize,
    /// Canonical decimal numbers with more digits than the width has in hex.
    decimal_long: usize,
    is_signed: bool,
    /// Whether a number is above the largest signed one.
    is_above_signed: bool,
}

impl Seen {
    fn add(&mut self, value: &str, width: Width) {
        self.count += 1;
        let digits = value.strip_prefix("0x").or(value.strip_prefix("0X"));
        let has_prefix = digits.is_some();
        let digits = digits.unwrap_or(value);
        if !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            self.hex += 1;
            self.hex_full += usize::from(digits.len() == width.digits());
            self.has_letter |= has_prefix || digits.bytes().any(|byte| !byte.is_ascii_digit());
            let (min, max) = self.hex_len.unwrap_or((digits.len(), digits.len()));
            self.hex_len = Some((min.min(digits.len()), max.max(digits.len())));
        }
        let magnitude = value.strip_prefix('-').unwrap_or(value);
        let is_canonical = !magnitude.starts_with('0') || magnitude.len() == 1;
        let unsigned = Fingerprint::parse(value, Radix::Decimal).is_ok_and(|it| width.fits(it));
        let signed = Fingerprint::parse(value, Radix::SignedDecimal)
            .is_ok_and(|it| width.of_signed(it.value().cast_signed()).is_some());
        if is_canonical && (unsigned || signed) {
            self.decimal += 1;
            self.decimal_long += usize::from(magnitude.len() > width.digits());
            self.is_signed |= !unsigned;
            self.is_above_signed |= !signed;
        }
    }

    fn kind(&self, form: Form) -> Kind {
        let Form { radix, width } = form;
        let digits = width.digits();
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
                    Some(Radix::Hex) => Kind::Hex,
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
        if max > digits {
            return if min == max { Kind::LongHex(max) } else { Kind::Other };
        }
        let is_hex = radix.is_none_or(|radix| radix == Radix::Hex);
        match (min, max) {
            _ if !is_hex => Kind::Other,
            (8, 8) if self.has_letter && width == Width::FULL => Kind::Hex32,
            (min, max)
                if max == digits && (min + LACKING_MAX >= digits || nearly_all(self.hex_full)) =>
            {
                Kind::Hex
            }
            _ => Kind::OtherHex,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kind(values: &str) -> Kind {
        Kind::of(values.split_whitespace(), Form::default())
    }

    #[test]
    fn kinds_are_told_by_all_values_of_a_column() {
        for (values, expected) in [
            ("0123456789abcdef fedcba9876543210", Kind::Hex),
            ("0x0123456789ABCDEF 0xfedcba9876543210", Kind::Hex),
            // Numbers that were printed without leading zeros.
            ("123456789abcdef fedcba9876543210 aedcba9876543210 bedcba9876543210", Kind::Hex),
            // Leading zeros are those of hex.
            ("0000000000000001 0000000000000002", Kind::Hex),
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
        let form = |radix| Form { radix: Some(radix), width: Width::FULL };
        let of = |value, radix| Kind::of([value].into_iter(), form(radix));
        assert_eq!(of("1731234567890123", Radix::Hex), Kind::Hex);
        assert_eq!(of("1731234567890123", Radix::Decimal), Kind::Decimal { signed: false });
        assert_eq!(of("0123456789abcdef", Radix::Decimal), Kind::Other);
        assert_eq!(of("18364758544493064720", Radix::Hex), Kind::LongHex(20));
        assert_eq!(of("-8198552921648689607", Radix::Decimal), Kind::Other);
    }

    #[test]
    fn the_width_says_how_many_digits_a_column_has() {
        let form = Form { radix: None, width: Width::new(32).unwrap() };
        for (values, expected) in [
            ("deadbeef 00c0ffee", Kind::Hex),
            ("deadbeef c0ffee", Kind::Hex),
            ("20261105 20261106", Kind::HexOrDecimal),
            ("4294967295 3735928559", Kind::Decimal { signed: false }),
            ("-1559038737 2147483647", Kind::Decimal { signed: true }),
            ("4294967296 4294967297", Kind::LongHex(10)),
            ("0123456789abcdef fedcba9876543210", Kind::LongHex(16)),
            ("1 2 3", Kind::Number),
        ] {
            assert_eq!(Kind::of(values.split_whitespace(), form), expected, "{values}");
        }
    }
}
