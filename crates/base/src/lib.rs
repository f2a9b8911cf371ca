//! Types that all packages of fpstore share: the fingerprint, the id, the recipe, the sketch, and
//! the progress of long work. The feature `work` adds the opening of inputs, the columns of lines,
//! and parallel work; `serde` adds the JSON form of these types.
//!
//! The packages above this one, for stores and for texts, do not depend on each other. Nothing here
//! knows tables, segments or tokens. Users import these types from the packages above.

#![forbid(unsafe_code)]
#![warn(missing_docs)]

mod choice;
#[cfg(feature = "work")]
pub mod decompress;
mod error;
pub mod fields;
mod fingerprint;
mod id;
pub mod labels;
#[cfg(feature = "work")]
pub mod lines;
pub mod lists;
#[cfg(feature = "work")]
pub mod packed;
#[cfg(feature = "work")]
pub mod parallel;
pub mod read_inputs;
mod recipe;
mod resources;
pub mod rows;
#[cfg(feature = "serde")]
mod serialize;
mod setters;
mod sketch;
#[cfg(feature = "work")]
pub mod source;
mod steps;
#[cfg(feature = "work")]
pub mod waiting;
pub mod watch;
mod width;

pub use choice::{Choice, UnknownName};
pub use error::{InputPlace, Interrupted, IoError, chain, innermost, plain_cause};
pub use fingerprint::{Fingerprint, ParseFingerprintError, Radix, foreign_spelling};
pub use id::{Id, IdKind, IdRef};
pub use recipe::Recipe;
pub use resources::{Resources, thread_count};
pub use sketch::{SKETCH_LENS, mix, sketch};
pub use width::{HexFingerprint, Width};
