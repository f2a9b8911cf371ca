//! MinHash and SimHash fingerprints of texts and documents, by recipes that say how they are made.
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
//! 1. `tokens`: the text is brought into its normal form and lower case, and cut into tokens.
//!    Windows over the tokens (word shingles, character n-grams) are the features.
//! 2. `features`: each feature is hashed to 64 bits; repeats are counted or left out.
//! 3. `minima` or `votes`: each bit of the fingerprint is one bit of a minimum over the hashes
//!    (MinHash), or the weighted majority of that bit in the hashes (SimHash).
//!
//! A [`TextRecipe`] decides every step. The same recipe and text give the same fingerprint on every
//! machine. [`TextHasher`] does the three steps; [`hash_documents`] reads files and does them on all
//! cores. Nothing here depends on stores: a caller adds the fingerprints to one.
//!
//! # Features
//!
//! | feature | brings |
//! |---|---|
//! | none | [`TextHasher`] and [`TextRecipe`]: fingerprints of texts in memory |
//! | `documents` (default) | `hash_documents`: documents in files of many formats |
//! | `parquet` | documents in Parquet; brings `documents` |
#![cfg_attr(not(feature = "documents"), doc = "\n[`hash_documents`]: crate")]
#![deny(unsafe_code)]
#![warn(missing_docs)]

#[cfg(feature = "documents")]
mod documents;
mod error;
mod features;
mod hasher;
mod minima;
mod recipe;
mod resources;
mod sketch;
mod tokens;
mod votes;

#[cfg(feature = "documents")]
pub use documents::{
    Admission, BadRecords, DecideFate, Document, DocumentFile, DocumentFiles, DocumentFormat,
    DocumentOptions, DocumentPlace, DocumentSummary, FileChoice, HtmlPart, PassedOver, RecordFate,
    TextEncoding, TextFormat, Wanted, count_document_frequencies, hash_documents, read_features,
    read_fingerprints, read_texts, text_of_bytes,
};
pub use error::{Error, Result};
pub use features::hash::{FeatureHash, HashKey};
#[cfg(feature = "documents")]
pub use fpstore_base::watch::{Observer, Phase, Progress};
pub use fpstore_base::{Fingerprint, Id, IdRef, InputPlace, Recipe};
pub use hasher::{Feature, TextHasher};
pub use recipe::{Case, Factor, Method, ResourceId, TextRecipe, Tokenizer, VoteRules};
pub use resources::TextResources;
pub use resources::df::{DfBuilder, DfTable};
pub use resources::lists::{GivenWeights, StopWords};
pub use sketch::{SKETCH_LENS, sketch};
pub use tokens::dictionary::DictionaryMethod;
pub use votes::weight::{CountWeight, InvalidWeight, Weight};
pub use votes::{TieRule, simhash};
