//! The part of an item that a passage must contain, which depends on the item's number of words.

use crate::error::{Error, Result};
use crate::options::{MIN_WORDS, SHINGLE, SHORT_SHINGLE};
use fpstore::options::NumberOption;

/// Items with fewer words are short: they follow [`ShingleRules::short`].
pub const SHORT_WORDS: usize = 50;

/// The shingle length of items, and the part of the shingles that a passage must contain.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ShingleRule {
    /// The number of words of a shingle, at least 1.
    pub shingle: usize,
    /// The part of the distinct shingles of an item that a single passage must contain, above 0 and
    /// at most 1.
    pub contained: f64,
}

/// The rules for long and short items.
///
/// The defaults come from measurements; see docs/measurements/cleaning.md. If the part required of
/// a short item would not permit a changed word in the middle of the item, a passage must contain
/// all shingles of the item: by default an item of 6 to 11 words is found only if it is unchanged.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ShingleRules {
    /// The rule for items of [`SHORT_WORDS`] words and more.
    pub long: ShingleRule,
    /// The rule for items of fewer than [`SHORT_WORDS`] words.
    pub short: ShingleRule,
    /// Items with fewer words are skipped: ordinary texts contain them by chance.
    pub words_min: usize,
}

impl Default for ShingleRules {
    fn default() -> Self {
        ShingleRules {
            long: ShingleRule { shingle: usual(&SHINGLE), contained: 0.3 },
            short: ShingleRule { shingle: usual(&SHORT_SHINGLE), contained: 0.7 },
            words_min: usual(&MIN_WORDS),
        }
    }
}

/// The default of an option.
fn usual(option: &NumberOption) -> usize {
    option.default.map_or(0, |number| number as usize)
}

impl ShingleRules {
    pub(super) fn check(&self) -> Result<()> {
        let rules = [
            (&SHINGLE, "contains", "items", self.long),
            (&SHORT_SHINGLE, "short_contains", "short items", self.short),
        ];
        for (option, name, items, ShingleRule { shingle, contained }) in rules {
            option.check(shingle as u64)?;
            if !(contained > 0.0 && contained <= 1.0) {
                return Err(Error::refused(format!(
                    "{name} is {contained}, expected a share of the shingles of {items}, above 0 \
                     and at most 1"
                )));
            }
        }
        MIN_WORDS.check(self.words_min as u64)?;
        Ok(())
    }

    /// The rule for an item of this many words; `None` if it is skipped.
    pub(super) fn rule_for(&self, words: usize) -> Option<&ShingleRule> {
        match words {
            _ if words < self.words_min => None,
            SHORT_WORDS.. => Some(&self.long),
            _ => Some(&self.short),
        }
    }
}

impl ShingleRule {
    /// The shingle length of an item with this many words, at most the whole item.
    pub(super) fn shingle_of(&self, words: usize) -> usize {
        self.shingle.min(words)
    }

    /// The least number of `count` distinct shingles of a short item that a passage must contain.
    ///
    /// A word in the middle of an item is in as many shingles as a shingle has words; its last word
    /// is in a single shingle. If [`ShingleRule::contained`] permits no changed word in the middle,
    /// it permits changes only at the ends, where different questions of the same pattern differ.
    /// Then all shingles are required.
    ///
    /// ```text
    /// contained 0.8, 3 words a shingle     8 words: 5 of 6 shingles, 1 may be missing: all 6
    ///                                     20 words: 15 of 18 shingles, 3 may be missing: 15
    /// ```
    pub(super) fn least_of_short(&self, count: usize) -> usize {
        let least = self.least_of(count);
        if count - least < self.shingle { count } else { least }
    }

    /// The least number of shingles that is at least the part `contained` of `count`.
    pub(super) fn least_of(&self, count: usize) -> usize {
        let is_enough = |some: usize| some as f64 / count as f64 >= self.contained;
        let mut least = (self.contained * count as f64).ceil() as usize;
        // The rounding of the product can make `least` one too large or too small.
        while least > 1 && is_enough(least - 1) {
            least -= 1;
        }
        while least < count && !is_enough(least) {
            least += 1;
        }
        least.max(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_number_is_the_first_that_is_the_part() {
        for contained in [0.001, 0.1, 0.3, 0.5, 0.7, 0.8, 0.9, 0.999, 1.0] {
            let rule = ShingleRule { shingle: 5, contained };
            for count in 1..300_usize {
                let expected = (1..=count).find(|&some| some as f64 / count as f64 >= contained);
                assert_eq!(Some(rule.least_of(count)), expected, "{contained} of {count}");
            }
        }
    }

    #[test]
    fn a_short_item_is_whole_where_no_word_in_its_middle_may_be_another() {
        let rule = ShingleRule { shingle: 3, contained: 0.8 };
        for words in 3..SHORT_WORDS {
            let count = words - 2;
            let expected = if words < 17 { count } else { rule.least_of(count) };
            assert_eq!(rule.least_of_short(count), expected, "{words} words");
        }
    }
}
