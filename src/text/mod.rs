//! From texts to fingerprints: tokens, features, weights, votes.

mod ballot;
mod chinese;
mod counts;
mod df;
mod features;
mod hash;
mod hasher;
mod language;
mod memo;
mod normal;
mod recipe;
mod recipe_text;
mod resources;
mod seen;
mod siphash;
mod siphash_lanes;
mod stop_words;
mod stretches;
mod tables;
mod tokens;
mod votes;
mod weight;
mod windows;
mod words;

pub use chinese::DictionaryMethod;
pub use df::{DfBuilder, DfTable};
pub use hash::{FeatureHash, HashKey};
pub use hasher::SimHasher;
pub use recipe::{Factor, Mark, Segment, TextRecipe};
pub use resources::{GivenWeights, TextResources};
pub use stop_words::StopWords;
pub use votes::{TieRule, simhash};
pub use weight::{CountWeight, InvalidWeight, Weight};
