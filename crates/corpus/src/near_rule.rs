//! The default criterion for near-duplicates.
//!
//! Fingerprints alone confuse short texts; see `docs/measurements/cleaning.md`. So features decide
//! wherever they are available.

use super::error::Result;
use super::settings::Cleaner;
use fpstore::Store;

/// The default Jaccard similarity, if neither a similarity nor a distance is set.
pub const USUAL_SIMILARITY: f64 = 0.8;

/// The largest default distance at which documents are compared for [`USUAL_SIMILARITY`]. MinHash
/// needs 12 bits. SimHash would need 17 bits, and a join within 17 bits takes too long.
const USUAL_K_MAX: u32 = 12;

impl Cleaner<'_> {
    /// The least similarity of near-duplicates, if features decide, and the distance within which
    /// documents are compared. Both are settings that have defaults. The similarity is 0 if only
    /// [`Cleaner::confirm_contains`] is set. See [`Cleaner::confirm`].
    ///
    /// # Errors
    ///
    /// [`Error::Store`](super::Error::Store) if a similarity is set for ready fingerprints.
    pub fn near(&self) -> Result<(Option<f64>, u32)> {
        if !self.reasons().near {
            // Equal texts have the same fingerprint, so distance 0 suffices.
            return Ok((self.confirm, 0));
        }
        let candidate_k = |similarity: f64| -> Result<u32> {
            Ok(self.source.text_hasher()?.recipe().candidate_k(similarity))
        };
        if self.confirm_contains.is_some() && self.confirm.is_none() && self.k.is_none() {
            return Ok((Some(0.0), 0));
        }
        if self.confirm.is_none() && self.k.is_none() && self.can_confirm() {
            let k = candidate_k(USUAL_SIMILARITY)?.min(USUAL_K_MAX);
            return Ok((Some(USUAL_SIMILARITY), k));
        }
        let k = match (self.k, self.confirm) {
            (Some(k), _) => k,
            (None, Some(similarity)) => candidate_k(similarity)?,
            (None, None) => self.against.as_ref().map_or(self.source.usual_k(), Store::tuned_k),
        };
        Ok((self.confirm, k))
    }

    /// Whether the features of documents can be compared: there are texts, and the compared store,
    /// if any, has sketches.
    fn can_confirm(&self) -> bool {
        let has_sketches = self.against.as_ref().is_none_or(|stored| stored.sketch_len() > 0);
        self.source.text_hasher().is_ok() && has_sketches
    }
}
