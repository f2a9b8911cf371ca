//! Near pairs, confirmed: of the documents whose fingerprints are near, those whose features are
//! alike enough.
//!
//! Fingerprints forget almost all of a document, so some near pairs are no duplicates. The Jaccard
//! similarity of the features decides: the number of features that both documents have, divided by
//! the number that at least one has. The documents are read twice, which [`Confirmer`] does. Callers
//! that read in another order do it by the two types below:
//!
//! 1. [`Documents`] takes the fingerprint and the features of each, and keeps a digest of these.
//!    [`Documents::candidates`] joins the fingerprints.
//! 2. [`Candidates`] takes the features of the documents that are in a candidate pair, and keeps them
//!    in a temporary file. [`Candidates::confirm`] joins again and compares the features of each
//!    pair. [`Candidates::lead`] and [`Candidates::clusters`] need not look at each pair.
//!
//! Sketches, which a store can keep, may take the place of features; then similarities are estimates,
//! and the store is read instead of the documents.
//!
//! An *outline* of a document, a short sketch, tells most candidates that are no duplicates before their
//! features are taken.
//!
//! Documents with equal features are one *node* of this work, so copies cost nothing. The result is
//! [`Confirmed`], which has the pairs, or [`ConfirmedClusters`].

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
