//! Computes the Jaccard similarity of two sets of features, and bounds for a minimum similarity.
//!
//! Both sets are ascending, so a merge counts the common features in time proportional to the sizes
//! of the sets. Sets of too different sizes are rejected without a merge: a set of 100 features and
//! a set of 70 have a similarity of at most 70 / 100, which is below a threshold of 0.8.

use std::cmp::Ordering;

use crate::base::error::{Error, Result};

/// The Jaccard similarity of two sets, each ascending and without repeats: the number of elements
/// in both sets, divided by the number of elements in at least one. Two empty sets have similarity
/// 1.
///
/// # Examples
///
/// ```
/// use fpstore::join::confirm::jaccard;
///
/// assert_eq!(jaccard(&[1, 2, 3], &[2, 3, 4]), 0.5);
/// ```
pub fn jaccard(one: &[u64], other: &[u64]) -> f64 {
    at_least(one, other, 0.0).unwrap_or_default()
}

/// The Jaccard similarity of two sets if it is at least `threshold`.
pub(super) fn at_least(one: &[u64], other: &[u64], threshold: f64) -> Option<f64> {
    let (small, large) = if one.len() <= other.len() { (one, other) } else { (other, one) };
    if large.is_empty() {
        return Some(1.0);
    }
    let of = |common: usize| jaccard_of(common, small.len(), large.len());
    // Most pairs below the threshold differ so much in size that no elements need be compared.
    if of(small.len()) < threshold {
        return None;
    }
    let similarity = of(count_common(small, large));
    (similarity >= threshold).then_some(similarity)
}

/// The Jaccard similarity of two sets of `one` and `other` elements with `common` elements in both.
pub(super) fn jaccard_of(common: usize, one: usize, other: usize) -> f64 {
    match one + other - common {
        0 => 1.0,
        all => common as f64 / all as f64,
    }
}

/// The minimum number of common elements with which two sets of these sizes reach the threshold. It
/// is greater than the size of the smaller set if no number is enough.
pub(super) fn least_common(one: usize, other: usize, threshold: f64) -> usize {
    // This loop finds the exact minimum, because the similarity never falls with the number of
    // common elements, even after rounding.
    let about = (threshold / (1.0 + threshold) * (one + other) as f64) as usize;
    let mut least = about.saturating_sub(2);
    while least <= one.min(other) && jaccard_of(least, one, other) < threshold {
        least += 1;
    }
    least
}

/// The smallest number of elements that is at least `part * len`, for a part from 0 to 1.
pub(super) fn least_contained(len: usize, part: f64) -> usize {
    let mut least = ((part * len as f64) as usize).saturating_sub(1);
    while least < len && (least as f64 / len as f64) < part {
        least += 1;
    }
    least
}

/// The number of common elements of two ascending and distinct sets; `None` if below `least`.
pub(super) fn common_at_least(one: &[u64], other: &[u64], least: usize) -> Option<usize> {
    /// Number of steps between checks of whether `least` can still be reached.
    const STEP: usize = 32;
    let (mut at, mut other_at, mut count) = (0, 0, 0);
    loop {
        let left = (one.len() - at).min(other.len() - other_at);
        if count + left < least {
            return None;
        }
        if left == 0 {
            return Some(count);
        }
        // Each step advances by at most one element in each set, so neither set ends in this loop.
        for _ in 0..left.min(STEP) {
            let (a, b) = (one[at], other[other_at]);
            at += usize::from(a <= b);
            other_at += usize::from(b <= a);
            count += usize::from(a == b);
        }
    }
}

/// The Jaccard similarity of two documents, estimated from the share of equal bytes in their
/// sketches, which have the same length. Bytes that are equal by chance, one in 256, are deducted.
///
/// # Examples
///
/// ```
/// use fpstore::join::confirm::sketch_similarity;
///
/// assert_eq!(sketch_similarity(&[1, 2, 3, 4], &[1, 2, 3, 4]), 1.0);
/// assert_eq!(sketch_similarity(&[1, 2, 3, 4], &[5, 6, 7, 8]), 0.0);
/// ```
pub fn sketch_similarity(one: &[u8], other: &[u8]) -> f64 {
    const BY_CHANCE: f64 = 1.0 / 256.0;
    let share = equal_count(one, other) as f64 / one.len().max(other.len()).max(1) as f64;
    ((share - BY_CHANCE) / (1.0 - BY_CHANCE)).max(0.0)
}

/// Returns an error unless the threshold is above 0 and at most 1.
pub(super) fn check_threshold(threshold: f64) -> Result<()> {
    if threshold > 0.0 && threshold <= 1.0 {
        return Ok(());
    }
    let reason = format!("similarity is {threshold}, expected a number above 0 and at most 1");
    Err(Error::InvalidOptions { reason })
}

/// The number of positions at which two sketches have the same byte.
pub(super) fn equal_count(one: &[u8], other: &[u8]) -> usize {
    one.iter().zip(other).filter(|(a, b)| a == b).count()
}

/// The number of elements in both sets.
fn count_common(one: &[u64], other: &[u64]) -> usize {
    let (mut at, mut other_at, mut count) = (0, 0, 0);
    while let (Some(a), Some(b)) = (one.get(at), other.get(other_at)) {
        // Which element is smaller is unpredictable, so this code avoids branches.
        let order = a.cmp(b);
        at += usize::from(order != Ordering::Greater);
        other_at += usize::from(order != Ordering::Less);
        count += usize::from(order == Ordering::Equal);
    }
    count
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::collection::btree_set;
    use proptest::prelude::*;

    use super::*;

    fn list(set: &BTreeSet<u64>) -> Vec<u64> {
        set.iter().copied().collect()
    }

    #[test]
    fn bytes_that_are_equal_by_chance_count_nothing() {
        let by_chance = 1.0 / 256.0;
        assert_eq!(sketch_similarity(&[1, 2], &[1, 3]), (0.5 - by_chance) / (1.0 - by_chance));
        let (one, mut other) = ([0; 256], [1; 256]);
        other[7] = 0;
        assert_eq!(sketch_similarity(&one, &other), 0.0);
        // A byte missing in one sketch is unequal.
        assert_eq!(sketch_similarity(&[1, 2], &[1]), sketch_similarity(&[1, 2], &[1, 3]));
    }

    proptest! {
        #[test]
        fn enough_elements_are_those_of_the_part(len in 0_usize..300, part in 0.001_f64..=1.0) {
            let expected = (0..=len).find(|&count| count as f64 >= part * len as f64);
            let found = least_contained(len, part);
            prop_assert!(found.abs_diff(expected.unwrap()) <= 1);
            prop_assert!(len == 0 || found as f64 / len as f64 >= part);
            prop_assert!(found == 0 || ((found - 1) as f64 / len as f64) < part);
        }

        #[test]
        fn enough_common_elements_are_those_of_the_similarity(
            one in btree_set(0_u64..90, 0..80),
            other in btree_set(0_u64..90, 0..80),
            threshold in prop_oneof![0.01_f64..1.0, Just(1.0), Just(0.5), Just(0.8)],
        ) {
            let (one, other) = (list(&one), list(&other));
            let least = least_common(one.len(), other.len(), threshold);
            let found = common_at_least(&one, &other, least);
            let similarity = found.map(|common| jaccard_of(common, one.len(), other.len()));
            prop_assert_eq!(similarity, at_least(&one, &other, threshold));
        }
    }
}
