//! The width: the number of bits of the fingerprints of a store, which sets their number of hex
//! digits.
//!
//! A fingerprint of fewer than 64 bits is stored as a number of 64 bits whose upper bits are zero.
//! So searches, joins and files process one kind of value; the width only adds a bound for input
//! values and the number of digits of output values. The [`Recipe`](crate::Recipe) of a store
//! contains its width, so that fingerprints of different widths are never compared.

use std::fmt;

use crate::{Fingerprint, Radix};

/// The number of bits of a fingerprint: a multiple of 8 from 8 to 64. So a fingerprint always uses
/// all bits of its bytes and hex digits.
///
/// ```
/// use fpstore_base::{Fingerprint, Width};
///
/// let width = Width::new(32).unwrap();
/// assert_eq!(width.hex(Fingerprint::new(0xbeef)).to_string(), "0000beef");
/// assert!(width.fits(Fingerprint::new(0xffff_ffff)));
/// assert!(!width.fits(Fingerprint::new(0x1_0000_0000)));
/// assert_eq!(Width::new(33), None);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Width(u8);

impl Width {
    /// 64 bits, the width of every fingerprint computed by fpstore itself.
    pub const FULL: Width = Width(64);

    /// Describes the valid widths, for messages.
    pub const EXPECTED: &'static str = "a multiple of 8 from 8 to 64";

    /// The width of `bits` bits, or `None` if it is invalid.
    pub const fn new(bits: u32) -> Option<Self> {
        if bits >= 8 && bits <= 64 && bits.is_multiple_of(8) {
            Some(Width(bits as u8))
        } else {
            None
        }
    }

    /// The number of bits.
    pub const fn bits(self) -> u32 {
        self.0 as u32
    }

    /// The number of hex digits of a fingerprint.
    pub const fn digits(self) -> usize {
        self.0 as usize / 4
    }

    /// The largest fingerprint of this width: all bits set.
    pub const fn max(self) -> Fingerprint {
        Fingerprint::new(u64::MAX >> (64 - self.0))
    }

    /// Whether a fingerprint has no set bit above the width.
    pub const fn fits(self, fingerprint: Fingerprint) -> bool {
        fingerprint.value() <= self.max().value()
    }

    /// A fingerprint that is written with the hex digits of this width.
    pub const fn hex(self, fingerprint: Fingerprint) -> HexFingerprint {
        HexFingerprint { fingerprint, width: self }
    }

    /// Converts a number of 64 bits in two's complement to a fingerprint of this width: `-1` has
    /// all bits of the width. `None` if the number is outside the signed range of the width.
    pub const fn of_signed(self, number: i64) -> Option<Fingerprint> {
        let shift = 64 - self.bits();
        match (number << shift) >> shift == number {
            true => Some(Fingerprint::new(number.cast_unsigned() & self.max().value())),
            false => None,
        }
    }

    /// Converts a number of 64 bits, spelled in `radix`, to a fingerprint of this width: signed
    /// numbers as in [`Width::of_signed`], all others unchanged. `None` if the number does not fit.
    pub fn narrowed(self, number: Fingerprint, radix: Radix) -> Option<Fingerprint> {
        match radix {
            Radix::SignedDecimal => self.of_signed(number.value().cast_signed()),
            _ => Some(number).filter(|number| self.fits(*number)),
        }
    }

    /// The default distance for which a store is tuned, if nothing else is known about its
    /// fingerprints: 3, or less if a query within 3 bits would find too many fingerprints by
    /// chance. It is the largest distance up to 3 within which less than one in a hundred queries
    /// finds one of a million random fingerprints.
    ///
    /// ```
    /// use fpstore_base::Width;
    ///
    /// let usual = |bits| Width::new(bits).unwrap().usual_k();
    /// assert_eq!([64, 48, 40, 32, 24, 16].map(usual), [3, 3, 3, 1, 0, 0]);
    /// ```
    pub fn usual_k(self) -> u32 {
        // sum C(bits, i) values are within k bits of a query. They are few enough if less than 1 of
        // 100 queries finds one of 10^6 random values among them.
        let allowed = (1_u128 << self.bits()) / 100_000_000;
        let bits = u128::from(self.bits());
        let (mut within, mut level) = (1_u128, 1_u128);
        let mut k = 0;
        while k < 3 {
            level = level * (bits - u128::from(k)) / u128::from(k + 1);
            within += level;
            if within > allowed {
                break;
            }
            k += 1;
        }
        k
    }
}

impl Default for Width {
    fn default() -> Self {
        Width::FULL
    }
}

/// Writes the number of bits.
impl fmt::Display for Width {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A fingerprint to be written in lower-case hex, with as many digits as its width has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HexFingerprint {
    /// The fingerprint.
    pub fingerprint: Fingerprint,
    /// The width of the fingerprint's store or input.
    pub width: Width,
}

impl HexFingerprint {
    /// Parses hex digits as a fingerprint of the width that has that many digits. A text with any
    /// other number of digits is a fingerprint of 64 bits.
    ///
    /// # Errors
    ///
    /// The same as of [`Fingerprint::parse`].
    pub fn parse(text: &str) -> Result<Self, crate::ParseFingerprintError> {
        let fingerprint = Fingerprint::parse(text, Radix::Hex)?;
        let bits = u32::try_from(4 * text.len()).unwrap_or(0);
        Ok(Width::new(bits).unwrap_or_default().hex(fingerprint))
    }

    /// Passes the digits to `write`, without the cost of formatting.
    pub fn write<T>(&self, write: impl FnOnce(&str) -> T) -> T {
        let value = self.fingerprint.value();
        let nibble = |at: usize| (value >> (60 - 4 * at)) as usize & 15;
        let digits: [u8; 16] = std::array::from_fn(|at| b"0123456789abcdef"[nibble(at)]);
        let start = (16 - self.width.digits()).min(value.leading_zeros() as usize / 4);
        write(str::from_utf8(&digits[start..]).expect("digits are ASCII"))
    }
}

/// Converts to a fingerprint that is written as 64 bits.
impl From<Fingerprint> for HexFingerprint {
    fn from(fingerprint: Fingerprint) -> Self {
        Width::FULL.hex(fingerprint)
    }
}

impl fmt::Display for HexFingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.write(|digits| f.write_str(digits))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_bounds_and_signs_follow_the_width() {
        for bits in (8..=64).step_by(8) {
            let width = Width::new(bits).unwrap();
            let max = width.max();
            assert_eq!(width.hex(max).to_string(), "f".repeat(width.digits()));
            assert_eq!(width.hex(Fingerprint::new(0)).to_string(), "0".repeat(width.digits()));
            assert!(width.fits(max));
            assert_eq!(width.of_signed(-1), Some(max));
            let least = i64::MIN >> (64 - bits);
            assert_eq!(width.of_signed(least), Some(Fingerprint::new(1 << (bits - 1))));
            if bits < 64 {
                assert!(!width.fits(Fingerprint::new(max.value() + 1)));
                assert_eq!(width.of_signed(least - 1), None);
                assert_eq!(width.of_signed(-least), None);
            }
            let text = width.hex(Fingerprint::new(7)).to_string();
            assert_eq!(HexFingerprint::parse(&text), Ok(width.hex(Fingerprint::new(7))));
        }
        assert!([0, 4, 12, 63, 65, 72].iter().all(|bits| Width::new(*bits).is_none()));
    }
}
