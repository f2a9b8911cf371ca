//! Weights in fixed point: their sums are the same in every order and on every machine.

/// The weight of a feature: a number from 0 to 2^30 in steps of 2^-16.
///
/// # Examples
///
/// ```
/// use fpstore_text::Weight;
///
/// assert_eq!(Weight::try_from(2.5).unwrap(), Weight::from_raw(5 << 15).unwrap());
/// assert!(Weight::try_from(-1.0).is_err());
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Weight(u64);

impl Weight {
    /// The number of bits after the binary point.
    pub(crate) const FRACTION_BITS: u32 = 16;
    /// The weight 0; a feature of this weight does not count.
    pub const ZERO: Weight = Weight(0);
    /// The weight 1.
    pub const ONE: Weight = Weight(1 << Weight::FRACTION_BITS);
    /// The greatest weight, 2^30.
    pub const MAX: Weight = Weight(1 << (30 + Weight::FRACTION_BITS));

    /// The weight of `raw` steps of 2^-16, or `None` above [`Weight::MAX`].
    pub const fn from_raw(raw: u64) -> Option<Self> {
        if raw <= Weight::MAX.0 { Some(Weight(raw)) } else { None }
    }

    /// The weight in steps of 2^-16.
    pub const fn raw(self) -> u64 {
        self.0
    }

    /// The weight as a floating-point number, which is exact.
    pub fn as_f64(self) -> f64 {
        self.0 as f64 / f64::from(1_u32 << Weight::FRACTION_BITS)
    }

    /// The weight of a whole number; at most [`Weight::MAX`].
    pub fn whole(count: u64) -> Self {
        Weight(count.min(Weight::MAX.0 >> Weight::FRACTION_BITS) << Weight::FRACTION_BITS)
    }

    /// The product, rounded down to a step; at most [`Weight::MAX`].
    #[must_use]
    pub fn times(self, other: Weight) -> Self {
        let product = (u128::from(self.0) * u128::from(other.0)) >> Weight::FRACTION_BITS;
        Weight(u64::try_from(product).unwrap_or(u64::MAX).min(Weight::MAX.0))
    }

    /// `log2(numerator / denominator)` to within a step; exactly rounded down if the denominator is
    /// 1; 0 if the quotient is below 1.
    ///
    /// Computed digit by digit in whole numbers, because the logarithms of C libraries differ in
    /// their last place.
    pub fn log2_ratio(numerator: u64, denominator: u64) -> Self {
        if numerator <= denominator || denominator == 0 {
            return Weight::ZERO;
        }
        let difference = log2_steps(numerator) - log2_steps(denominator);
        Weight(difference >> (LOG_FRACTION_BITS - Weight::FRACTION_BITS))
    }
}

impl TryFrom<f64> for Weight {
    type Error = InvalidWeight;

    /// Rounds to the nearest step of 2^-16, halves upwards.
    fn try_from(number: f64) -> Result<Self, InvalidWeight> {
        let raw = number * f64::from(1_u32 << Weight::FRACTION_BITS);
        // Multiplying by a power of two changes no digit, and `round` is exact: the result is the
        // same on every machine.
        if raw.is_finite() && raw >= 0.0 && raw <= Weight::MAX.0 as f64 {
            Ok(Weight(raw.round() as u64))
        } else {
            Err(InvalidWeight)
        }
    }
}

/// The error for a number that is not a weight.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InvalidWeight;

impl std::fmt::Display for InvalidWeight {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("not a weight, expected a number from 0 to 2^30")
    }
}

impl std::error::Error for InvalidWeight {}

const LOG_FRACTION_BITS: u32 = 24;

/// `log2(number)` in steps of 2^-24, rounded down; `number` is at least 1.
fn log2_steps(number: u64) -> u64 {
    let whole = number.ilog2();
    // 1 <= mantissa < 2, with 63 bits after the point.
    let mut mantissa = u128::from(number) << (63 - whole);
    let mut steps = u64::from(whole);
    for _ in 0..LOG_FRACTION_BITS {
        mantissa = (mantissa * mantissa) >> 63;
        let digit = (mantissa >> 64) as u64;
        mantissa >>= digit;
        steps = steps << 1 | digit;
    }
    steps
}

/// The weight of a feature by its count in a document.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum CountWeight {
    /// 1 for any count.
    #[default]
    Once,
    /// 1 + log2 of the count.
    Log,
    /// The count.
    Count,
}

impl CountWeight {
    /// The weight of a count; 0 for 0.
    pub fn of(self, count: u64) -> Weight {
        match (self, count) {
            (_, 0) => Weight::ZERO,
            (CountWeight::Once, _) | (CountWeight::Log, 1) => Weight::ONE,
            (CountWeight::Log, _) => Weight(Weight::ONE.0 + Weight::log2_ratio(count, 1).0),
            (CountWeight::Count, _) => Weight::whole(count),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn logarithms_are_those_of_the_table() {
        // floor(65536 * log2(n)), calculated with 60 digits.
        for (number, steps) in
            [(1, 0), (2, 65_536), (3, 103_872), (5, 152_169), (10, 217_705), (1_000_000, 1_306_235)]
        {
            assert_eq!(Weight::log2_ratio(number, 1).raw(), steps, "{number}");
        }
        assert_eq!(Weight::log2_ratio(u64::MAX, 1).raw(), (64 << 16) - 1);
        assert_eq!(Weight::log2_ratio(12, 4).raw(), 103_872);
        assert_eq!(Weight::log2_ratio(4, 12), Weight::ZERO);
        assert_eq!(Weight::log2_ratio(1, 0), Weight::ZERO);
    }

    #[test]
    fn a_count_weighs_as_its_rule_says() {
        assert_eq!(CountWeight::Once.of(9), Weight::ONE);
        assert_eq!(CountWeight::Log.of(8), Weight::whole(4));
        assert_eq!(CountWeight::Count.of(8), Weight::whole(8));
        for rule in [CountWeight::Once, CountWeight::Log, CountWeight::Count] {
            assert_eq!((rule.of(0), rule.of(1)), (Weight::ZERO, Weight::ONE));
        }
        assert_eq!(CountWeight::Count.of(u64::MAX), Weight::MAX);
    }

    #[test]
    fn weights_round_and_have_a_maximum() {
        assert_eq!(Weight::try_from(1.0 / 131_072.0), Ok(Weight(1)));
        assert_eq!(Weight::try_from(1.0 / 131_073.0), Ok(Weight(0)));
        for number in [-0.1, f64::NAN, f64::INFINITY, 1_073_741_825.0] {
            assert_eq!(Weight::try_from(number), Err(InvalidWeight));
        }
        assert_eq!(Weight::MAX.times(Weight::MAX), Weight::MAX);
        assert_eq!(Weight::try_from(2.5).unwrap().times(Weight::whole(3)).raw(), 15 << 15);
    }
}
