//! Similar documents: pairs and clusters by the Jaccard similarity of their features.
//!
//! The similarity of two documents is the number of features that both have, divided by the number of
//! features that at least one has. For the features {1, 2, 3} and {1, 2, 4} it is 2 / 4 = 0.5.
//!
//! [`Confirmer`] reads the documents and returns [`Confirmed`] pairs or [`ConfirmedClusters`];
//! [`lead_sets`] finds the leaders among sets of features. Both use prefix filtering, which misses
//! no similar pair: two similar documents share one of their rarest features.
//!
//! Sketches kept by a store can replace features. Then similarities are estimates, and only pairs
//! with near fingerprints are compared.
//!
//! Documents with equal fingerprints and equal features form one *node*, so copies cost nothing.

mod clusters;
mod compared;
mod confirmed;
mod confirmer;
mod features;
mod ids;
mod led_sets;
mod led_sketches;
mod likeness;
mod nodes;
mod pass_sets;
mod postings;
mod prefixes;
mod similar_pairs;
mod similarity;
#[cfg(test)]
mod tests;

pub use clusters::{ConfirmedCluster, ConfirmedClusters, ConfirmedMember};
pub use confirmed::{Confirmed, ConfirmedPair};
pub use confirmer::{Confirmer, Goal, InClusters, InPairs};
pub use features::feature_digest;
pub use led_sets::{LeadingCosts, LedSet, Unlike, lead_sets};
pub use led_sketches::{ReadSketch, lead_sketches};
pub use likeness::Likeness;
pub use prefixes::FeatureSets;
pub use similarity::{jaccard, sketch_similarity};
