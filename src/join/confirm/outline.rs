//! Short sketches, by which most candidates that are no near-duplicates are told without their
//! features.
//!
//! Among 10^7 documents each has one or two others within the 12 bits that similarity 0.8 needs, by
//! chance alone. To read all of these again, and to keep their features, would take more space than
//! the documents.

use super::nodes::Nodes;
use super::similarity::equal_count;
use fpstore_base::sketch;

/// Bytes of an outline: a sketch of that length.
pub const OUTLINE_LEN: usize = 32;

/// Features of which an outline is kept; those of fewer are too uneven, and need little space.
const OUTLINED_MIN: usize = 128;

/// The share of pairs at the threshold that an outline may lose.
const LOST: f64 = 1e-9;

/// An outline, or none for a document of which nothing is to be guessed.
pub(super) type Outline = Option<[u8; OUTLINE_LEN]>;

/// The outline of a document by its features, or `None` if it has so few that an outline would say
/// too little. [`Documents::push`](super::Documents::push) calls it; it is for callers that keep
/// outlines to give them to [`Documents::push_outlined`](super::Documents::push_outlined) later.
pub fn outline(features: &[u64]) -> Option<[u8; OUTLINE_LEN]> {
    if features.len() < OUTLINED_MIN {
        return None;
    }
    sketch(features, OUTLINE_LEN as u8).try_into().ok()
}

/// The outlines of nodes.
#[derive(Debug)]
pub(super) struct Outlines {
    of_nodes: Vec<Outline>,
    /// The equal bytes that a pair needs.
    least: usize,
}

impl Outlines {
    /// From the outlines of documents, for pairs whose similarity is at least `threshold`.
    pub(super) fn new(of_documents: &[Outline], nodes: &Nodes, threshold: f64) -> Self {
        let of = |node: u32| of_documents.get(nodes.documents(node)[0] as usize).copied();
        let of_nodes = match of_documents {
            [] => Vec::new(),
            _ => (0..nodes.len() as u32).map(|node| of(node).flatten()).collect(),
        };
        Outlines { of_nodes, least: least_equal(threshold) }
    }

    /// Whether two nodes may be similar enough.
    pub(super) fn admit(&self, one: u32, other: u32) -> bool {
        let of = |node: u32| self.of_nodes.get(node as usize)?.as_ref();
        match (of(one), of(other)) {
            (Some(one), Some(other)) => equal_count(one, other) >= self.least,
            _ => true,
        }
    }
}

/// The equal bytes of which a pair at the threshold has fewer once in 10^9 times. Each byte is equal
/// with a probability that is the similarity, or a little more.
fn least_equal(threshold: f64) -> usize {
    let equal = threshold.clamp(0.0, 1.0);
    let mut fewer = 0.0;
    for count in 0..=OUTLINE_LEN {
        // The probability of exactly `count` equal bytes.
        let ways = (0..count).map(|i| (OUTLINE_LEN - i) as f64 / (i + 1) as f64).product::<f64>();
        let [of_equal, of_others] = [(equal, count), (1.0 - equal, OUTLINE_LEN - count)];
        fewer += ways * of_equal.0.powi(of_equal.1 as i32) * of_others.0.powi(of_others.1 as i32);
        if fewer > LOST {
            return count;
        }
    }
    OUTLINE_LEN
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_equal_bytes_are_enough() {
        // By the binomial distribution: P(below 10 of 32 at 0.8) is 3e-10, below 11 it is 3e-9.
        let least = [0.3, 0.5, 0.8, 0.9, 1.0].map(least_equal);
        assert_eq!(least, [0, 1, 10, 15, 32]);
    }
}
