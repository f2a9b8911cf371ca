//! A feature of a text, as `features` lists it.

use crate::votes::weight::Weight;

/// A feature of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Feature {
    /// Its tokens, joined as they are hashed.
    pub text: String,
    /// Its hash.
    pub hash: u64,
    /// How often the text has it, at least 1.
    pub count: u64,
    /// What it weighs in the vote; 1 with MinHash, which knows no weights.
    pub weight: Weight,
}
