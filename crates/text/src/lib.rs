//! MinHash and SimHash fingerprints of texts, by recipes that define how they are computed.
//!
//! ```
//! use fpstore_text::{TextHasher, TextRecipe};
//!
//! let mut hasher = TextHasher::new(&TextRecipe::default())?;
//! let a = hasher.fingerprint("The quick brown fox jumps over the lazy dog, again and again");
//! let b = hasher.fingerprint("the quick brown fox jumps over the LAZY dog again and again!");
//! assert_eq!(a, b);
//! # Ok::<(), fpstore_text::Error>(())
//! ```
//!
//! # From a text to a fingerprint
//!
//! 1. `tokens`: the text is converted to its normal form and lower case, and cut into tokens.
//!    Windows over the tokens (word shingles, character n-grams) are the features.
//! 2. `features`: each feature is hashed to 64 bits; repetitions are counted or dropped.
//! 3. `minima` or `votes`: each bit of the fingerprint is a bit of a minimum over the hashes
//!    (MinHash), or the weighted majority of that bit in the hashes (SimHash).
//!
//! A [`TextRecipe`] determines every step. The same recipe and text yield the same fingerprint on
//! every machine. [`TextHasher`] performs the three steps. Nothing here reads documents or depends
//! on stores: the crate `fpstore-documents` reads files, and a caller adds the fingerprints to a
//! store.

#![deny(unsafe_code)]
#![warn(missing_docs)]

mod comparison;
mod df_builder;
mod error;
mod features;
mod hasher;
mod minima;
mod passages;
mod recipe;
mod resource_id;
mod resources;
mod tokens;
mod votes;

pub use comparison::Comparison;
pub use df_builder::DfBuilder;
pub use error::{Error, Result};
pub use features::hash::{FeatureHash, HashKey};
pub use fpstore_base::{
    Choice, Fingerprint, Id, IdRef, InputPlace, IoError, Recipe, Resources, SKETCH_LENS, sketch,
};
pub use hasher::{Feature, TextDigests, TextHasher};
pub use passages::{Passage, PassageUnit, Passages, passages};
pub use recipe::{
    Case, Factor, FeaturelessText, Method, RecipeChanges, TextRecipe, Tokenizer, VoteRules,
};
pub use resource_id::ResourceId;
pub use resources::TextResources;
pub use resources::df::DfTable;
pub use resources::lists::{GivenWeights, StopWords};
pub use tokens::dictionary::DictionaryMethod;
pub use tokens::placed::PlacedWords;
pub use votes::weight::{CountWeight, InvalidWeight, Weight};
pub use votes::{TieRule, simhash};
