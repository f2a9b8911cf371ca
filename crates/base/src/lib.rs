//! Types that all packages of fpstore share: the fingerprint, the id and the recipe. The feature
//! `work` adds opening inputs, spreading work over threads, and progress of long work.
//!
//! The packages above this one, for stores and for texts, do not depend on each other. Tables,
//! segments and tokens do not occur here. Users import these types from the packages above.

#![forbid(unsafe_code)]
#![warn(missing_docs)]

mod error;
mod fingerprint;
mod id;
#[cfg(feature = "work")]
pub mod parallel;
mod recipe;
#[cfg(feature = "work")]
pub mod source;
#[cfg(feature = "work")]
pub mod waiting;
#[cfg(feature = "work")]
pub mod watch;

pub use error::{InputPlace, Interrupted, IoError};
pub use fingerprint::{Fingerprint, ParseFingerprintError, Radix};
pub use id::{Id, IdKind, IdRef};
pub use recipe::Recipe;
