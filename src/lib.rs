//! fpstore keeps very large sets of 64-bit SimHash fingerprints, compressed, in files that are
//! memory-mapped, and answers exactly which of them lie within Hamming distance k of a given
//! one, and whose they are.

#![deny(unsafe_code)]
#![warn(missing_docs)]

mod bits;
#[cfg(feature = "build")]
mod build;
mod bytes;
mod checksum;
mod dump;
mod error;
mod fingerprint;
mod format;
mod id;
mod recipe;
mod scheme;
mod search;
mod section;
mod segment;
mod store;
mod varint;
mod verify;

#[cfg(feature = "build")]
pub use build::{
    BuildOptions, Builder, IdPolicy, InputFormat, InputOptions, InputSummary, Record,
    SkippedRecord, read_records,
};
pub use error::{Error, Fault, InputPlace, Result};
pub use fingerprint::{Fingerprint, ParseFingerprintError, Radix};
pub use id::{Id, IdKind, IdRef};
pub use recipe::Recipe;
pub use scheme::{FAMILY_NAMES, Radius, Scheme};
pub use search::{Answer, Hit, Ids, Limits, Match, Outcome, Plan, Searcher, TablePlan, Work};
pub use section::{Section, TableIndex};
pub use store::{SectionInfo, SegmentInfo, Store, StoreInfo, TableInfo, Warm};
pub use verify::{VerifyReport, verify};
