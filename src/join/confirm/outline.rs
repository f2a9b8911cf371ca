//! Outlines: short sketches that reject most false candidates without reading their features.
//!
//! Among 10^7 documents, each has one or two others within the 12 bits that similarity 0.8 needs by
//! chance alone. Keeping the features of all of these documents would take more space than the
//! documents themselves.

use super::nodes::Nodes;
use super::similarity::equal_count;
use fpstore_base::sketch;

/// Length of an outline in bytes: a flag for documents with few features, and a sketch.
pub const OUTLINE_LEN: usize = 1 + SKETCH_LEN;

/// Length of the sketch in bytes.
const SKETCH_LEN: usize = 32;

/// Minimum number of features for an outline; smaller sets of features take little space.
const OUTLINED_MIN: usize = 16;
/// With fewer features than this, the bytes of an outline depend on one another and count as half
/// as many.
const SMALL_BELOW: usize = 128;

/// The share of pairs at the threshold that outlines may lose.
const LOST: f64 = 1e-9;

/// The outline of a document, for [`Documents::push_outlined`](super::Documents::push_outlined).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outline {
    is_small: bool,
    sketch: [u8; SKETCH_LEN],
}

impl Outline {
    /// The outline of a document by its features; `None` if the document has too few features for a
    /// useful outline.
    pub fn of(features: &[u64]) -> Option<Self> {
        if features.len() < OUTLINED_MIN {
            return None;
        }
        let sketch = sketch(features, SKETCH_LEN as u8).try_into().ok()?;
        Some(Outline { is_small: features.len() < SMALL_BELOW, sketch })
    }

    /// The outline with these bytes; `None` if they are invalid.
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let (&is_small, sketch) = bytes.split_first()?;
        Some(Outline { is_small: is_small == 1, sketch: sketch.try_into().ok()? })
            .filter(|_| is_small < 2)
    }

    /// The bytes of the outline.
    pub fn to_bytes(&self) -> [u8; OUTLINE_LEN] {
        let mut bytes = [u8::from(self.is_small); OUTLINE_LEN];
        bytes[1..].copy_from_slice(&self.sketch);
        bytes
    }
}

/// The outlines of documents, which filter pairs of nodes.
#[derive(Debug)]
pub(super) struct Outlines {
    /// The outlines of all documents; empty if outlines are not used.
    of_documents: Vec<Option<Outline>>,
    /// The number of equal bytes that a pair needs.
    least: usize,
    /// The number of equal bytes that a pair needs if one of the two documents has few features.
    least_small: usize,
}

impl Outlines {
    /// For pairs whose similarity is at least `threshold`.
    pub(super) fn new(of_documents: Vec<Option<Outline>>, threshold: f64) -> Self {
        let least = least_equal(threshold, SKETCH_LEN);
        Outlines { of_documents, least, least_small: least_equal(threshold, SKETCH_LEN / 2) }
    }

    /// Whether two nodes may be similar enough.
    pub(super) fn admit(&self, nodes: &Nodes, one: u32, other: u32) -> bool {
        if self.of_documents.is_empty() {
            return true;
        }
        let of = |node: u32| self.of_documents[nodes.documents(node)[0] as usize].as_ref();
        match (of(one), of(other)) {
            (Some(one), Some(other)) => {
                let is_small = one.is_small || other.is_small;
                let least = if is_small { self.least_small } else { self.least };
                equal_count(&one.sketch, &other.sketch) >= least
            }
            _ => true,
        }
    }
}

/// The largest number such that a pair at the threshold has fewer equal bytes, of `len`, at most
/// once in 10^9 times. Each byte is equal with a probability of the similarity or a little more.
fn least_equal(threshold: f64, len: usize) -> usize {
    let equal = threshold.clamp(0.0, 1.0);
    let mut fewer = 0.0;
    for count in 0..=len {
        // The probability of exactly `count` equal bytes.
        let ways = (0..count).map(|i| (len - i) as f64 / (i + 1) as f64).product::<f64>();
        let [of_equal, of_others] = [(equal, count), (1.0 - equal, len - count)];
        fewer += ways * of_equal.0.powi(of_equal.1 as i32) * of_others.0.powi(of_others.1 as i32);
        if fewer > LOST {
            return count;
        }
    }
    len
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_equal_bytes_are_enough() {
        // By the binomial distribution: P(below 10 of 32 at 0.8) is 3e-10, below 11 it is 3e-9.
        let of = |len: usize| [0.3, 0.5, 0.8, 0.9, 1.0].map(|at| least_equal(at, len));
        assert_eq!(of(32), [0, 1, 10, 15, 32]);
        assert_eq!(of(16), [0, 0, 2, 4, 16]);
    }

    /// Pairs with a similarity of about 0.8 have far more equal bytes than required.
    #[test]
    fn few_features_have_bytes_as_equal_as_many() {
        for (shared, own) in [(16, 2), (24, 3), (56, 7), (112, 14)] {
            let mut fewest = SKETCH_LEN;
            for round in 0..4000_u64 {
                let outlines = [1_u64, 2].map(|which| {
                    let hash = |at: u64| fpstore_base::mix(round << 16 | at, 7);
                    let features: Vec<u64> = (0..shared)
                        .chain(shared + which * own..shared + which * own + own)
                        .map(hash)
                        .collect();
                    Outline::of(&features).unwrap()
                });
                fewest = fewest.min(equal_count(&outlines[0].sketch, &outlines[1].sketch));
            }
            // Two are required.
            assert!(fewest >= 12, "{shared} features: {fewest}");
        }
    }
}
