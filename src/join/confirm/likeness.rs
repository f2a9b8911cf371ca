//! The condition for a document to be similar to a leader.

use super::similarity::check_threshold;
use crate::base::error::{Error, Result};

/// The condition on features for a document to be similar to a leader.
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
    /// The minimum Jaccard similarity, above 0 and at most 1. If `contained` is set, it can be 0:
    /// no minimum.
    pub similarity: f64,
    /// If set, the leader must have at least this fraction of the document's features (above 0 and
    /// at most 1), and at least as many features as the document. `None`: no condition on
    /// containment.
    pub contained: Option<f64>,
}

impl From<f64> for Likeness {
    fn from(similarity: f64) -> Self {
        Likeness { similarity, contained: None }
    }
}

impl Likeness {
    /// The same condition with the field `contained` set to `part`.
    #[must_use]
    pub fn contained(self, part: impl Into<Option<f64>>) -> Self {
        Likeness { contained: part.into(), ..self }
    }

    /// Rejects a similarity or a part outside of its valid range.
    pub(super) fn check(self) -> Result<()> {
        if !(self.similarity == 0.0 && self.contained.is_some()) {
            check_threshold(self.similarity)?;
        }
        let Some(part) = self.contained.filter(|part| !(*part > 0.0 && *part <= 1.0)) else {
            return Ok(());
        };
        let reason =
            format!("minimum contained part is {part}, expected a number above 0 and at most 1");
        Err(Error::InvalidOptions { reason })
    }
}
