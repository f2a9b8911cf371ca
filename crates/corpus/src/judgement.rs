//! The criterion for near-duplicates.

use std::fmt;

/// The criterion for near-duplicates of a cleaning.
///
/// ```
/// use fpstore_corpus::Judgement;
///
/// let judgement = Judgement::Features { similarity: 0.8, contained: None };
/// assert!(judgement.to_string().starts_with("by Jaccard similarity 0.8 or more, computed"));
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Judgement {
    /// Equal texts only; no other near-duplicates were searched for.
    Exact,
    /// The distance of the fingerprints only.
    Fingerprints {
        /// The greatest distance in bits.
        k: u32,
    },
    /// The Jaccard similarity of features, computed exactly.
    Features {
        /// The least similarity; 0 if only containment is required.
        similarity: f64,
        /// The least part of the features of a removed document that the kept document contains;
        /// the kept document has at least as many features. `None` if containment is not required.
        contained: Option<f64>,
    },
    /// The similarity estimated from sketches.
    Sketches {
        /// The least similarity.
        similarity: f64,
        /// The greatest distance in bits at which documents are compared.
        k: u32,
    },
}

impl fmt::Display for Judgement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Judgement::Exact => f.write_str("by exact equality only; near-duplicates are kept"),
            Judgement::Fingerprints { k } => {
                write!(f, "by fingerprints within {k} bits alone; no similarity was computed")
            }
            Judgement::Features { similarity, contained } => {
                let has_bound = *similarity > 0.0;
                if has_bound {
                    write!(f, "by Jaccard similarity {similarity} or more")?;
                    f.write_str(", computed from all features")?;
                }
                let and = if has_bound { ", and by " } else { "by " };
                match contained {
                    None => Ok(()),
                    Some(1.0) => write!(f, "{and}containment of all features in the kept document"),
                    Some(part) => write!(
                        f,
                        "{and}containment of {part} or more of the features in \
                                             the kept document"
                    ),
                }
            }
            Judgement::Sketches { similarity, k } => write!(
                f,
                "by Jaccard similarity {similarity} or more, estimated from the sketches of documents \
                 within {k} bits"
            ),
        }
    }
}
