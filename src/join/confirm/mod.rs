//! Confirmed near pairs: documents with near fingerprints whose features are similar.
//!
//! A fingerprint drops almost all information about a document, so some near pairs are no
//! duplicates. The Jaccard similarity of the features decides: the number of features that both
//! documents have, divided by the number of features that at least one has. For the features {1, 2,
//! 3} and {1, 2, 4} it is 2 / 4 = 0.5.
//!
//! [`Confirmer`] reads the documents twice and returns [`Confirmed`] pairs or
//! [`ConfirmedClusters`]. Callers that read in another order use the two stages directly:
//!
//! 1. [`Documents`] takes the fingerprint and the features of each document, and keeps a digest of
//!    the features. [`Documents::candidates_to_lead`] joins the fingerprints.
//! 2. [`Candidates`] takes the features of the documents that may have a similar one, and keeps
//!    them in a temporary file. [`Candidates::lead`] compares them.
//!
//! Sketches kept by a store can replace features. Then similarities are estimates, and the store is
//! read instead of the documents.
//!
//! An *outline* of a document is a short sketch. It rejects most false candidates before their
//! features are read.
//!
//! Documents with equal fingerprints and equal features form one *node*, so copies cost nothing.

mod alike;
mod candidates;
mod clusters;
mod confirmed;
mod confirmer;
mod connected;
mod degrees;
mod dividing;
mod features;
mod ids;
mod in_groups;
mod kept;
mod lead;
mod leader_sets;
mod likeness;
mod nodes;
mod outline;
mod pivots;
mod similarity;
#[cfg(test)]
mod tests;
mod unlike;

pub use candidates::{Candidates, Documents, feature_digest};
pub use clusters::{ConfirmedCluster, ConfirmedClusters, ConfirmedMember};
pub use confirmed::{Confirmed, ConfirmedPair};
pub use confirmer::{Confirmer, Goal, InClusters, InPairs};
pub use kept::KeepParts;
pub use lead::LedDocument;
pub use likeness::Likeness;
pub use outline::{OUTLINE_LEN, Outline};
pub use similarity::{jaccard, sketch_similarity};
pub use unlike::Unlike;
