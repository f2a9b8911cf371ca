//! The condition for a document to be similar to a leader.

use super::candidates::check_threshold;
use super::features::FeatureKind;
use crate::base::error::{Error, Result};

/// The condition for a document to be similar to a leader, by their features.
///
/// ```
/// use fpstore::join::confirm::Likeness;
///
/// let likeness = Likeness::from(0.8).contained(1.0);
/// assert_eq!((likeness.similarity, likeness.contained), (0.8, Some(1.0)));
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Likeness {
    /// The minimum Jaccard similarity, above 0 and at most 1.
    pub similarity: f64,
    /// The minimum part of the features of the document that the leader must also have, above 0 and
    /// at most 1. The leader then has no fewer features than the document. `None` requires no such
    /// part.
    pub contained: Option<f64>,
}

impl From<f64> for Likeness {
    fn from(similarity: f64) -> Self {
        Likeness { similarity, contained: None }
    }
}

impl Likeness {
    /// The same condition, with a part of the features that the leader must also have.
    #[must_use]
    pub fn contained(self, part: impl Into<Option<f64>>) -> Self {
        Likeness { contained: part.into(), ..self }
    }

    /// Rejects invalid values, and a part of features for sketches.
    pub(super) fn check(self, kind: FeatureKind) -> Result<()> {
        check_threshold(self.similarity)?;
        let Some(part) = self.contained else { return Ok(()) };
        if !(part > 0.0 && part <= 1.0) {
            let reason = format!("part {part}, expected one above 0 and at most 1");
            return Err(Error::InvalidOptions { reason });
        }
        match kind {
            FeatureKind::Sets => Ok(()),
            FeatureKind::Sketches => {
                let reason = "sketches do not tell what is contained in a document".into();
                Err(Error::InvalidOptions { reason })
            }
        }
    }
}
