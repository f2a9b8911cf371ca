//! The Jaccard similarity of two sets of features.

use std::cmp::Ordering;

/// The Jaccard similarity of two sets, each ascending and without repeats: the number of elements of
/// both, divided by the number of elements of at least one. That of two empty sets is 1.
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
    let of = |common: usize| common as f64 / (small.len() + large.len() - common) as f64;
    // Most candidates that are no duplicates differ so much in length that nothing need be compared.
    if of(small.len()) < threshold {
        return None;
    }
    let similarity = of(count_common(small, large));
    (similarity >= threshold).then_some(similarity)
}

/// The Jaccard similarity of two documents, estimated from sketches of the same length, whose bytes
/// are equal by chance once in 256 times.
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

/// The number of places at which two sketches have the same byte.
pub(super) fn equal_count(one: &[u8], other: &[u8]) -> usize {
    one.iter().zip(other).filter(|(a, b)| a == b).count()
}

/// The number of elements of both.
fn count_common(one: &[u64], other: &[u64]) -> usize {
    let (mut at, mut other_at, mut count) = (0, 0, 0);
    while let (Some(a), Some(b)) = (one.get(at), other.get(other_at)) {
        // The processor cannot predict which is smaller, so nothing here branches on it.
        let order = a.cmp(b);
        at += usize::from(order != Ordering::Greater);
        other_at += usize::from(order != Ordering::Less);
        count += usize::from(order == Ordering::Equal);
    }
    count
}
