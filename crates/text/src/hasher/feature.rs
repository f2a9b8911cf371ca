//! A feature of a text, as [`TextHasher::features`](crate::TextHasher::features) lists it.

use crate::votes::weight::Weight;

/// A feature of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Feature {
    /// The text of the feature: its tokens, joined as they are hashed.
    pub text: String,
    /// The hash of the feature.
    pub hash: u64,
    /// The number of occurrences in the text, at least 1.
    pub count: u64,
    /// The weight of the feature in the vote; 1 with MinHash, which has no weights.
    pub weight: Weight,
}
