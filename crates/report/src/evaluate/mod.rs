//! Measures how well fingerprints find labelled duplicates, by distance.
//!
//! Input: pairs of documents with a [`Label`] each ([`LabelledPairs`], or a [`LabelFile`] with
//! ids), and the fingerprints of the documents, as a list or as [`MeasuredDocuments`]. Output: an
//! [`Evaluation`] with the found, wrong and missed pairs for each `k`, the best `k`, and the
//! expected results in a larger collection ([`Forecast`]). [`svg`] draws it. The module does not
//! depend on recipes.
//!
//! ```
//! use fpstore::Fingerprint;
//! use fpstore_report::evaluate::{Evaluation, Label, LabelledPairs};
//!
//! let fingerprints = [0, 1, 255].map(|value| Some(Fingerprint::new(value)));
//! let mut pairs = LabelledPairs::default();
//! pairs.insert(0, 1, Label::Duplicate)?;
//! pairs.insert(0, 2, Label::Different)?;
//! let found = Evaluation::of(&pairs, &fingerprints, false, None)?;
//! let best = found.best();
//! assert_eq!((best.k, best.f1), (1, 1.0));
//! assert_eq!((found.points()[8].found, found.points()[8].wrong), (1, 1));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod curve;
mod documents;
mod evaluation;
mod forecast;
mod plot;

pub use curve::{K_MAX, Point};
pub use documents::{MeasuredDocuments, without_id};
pub use evaluation::Evaluation;
pub use forecast::{Expected, Forecast};
pub use fpstore_base::labels::{BadLabel, BadPair, Label, LabelFile, LabelledPairs};
pub use plot::svg;
