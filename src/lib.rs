//! fpstore stores very large sets of 64-bit fingerprints, compressed, in memory-mapped files. It
//! finds all fingerprints within Hamming distance `k` of a given one, and their ids. The answers are
//! exact.
//!
//! # Making and searching a store
//!
#![cfg_attr(feature = "write", doc = "```")]
#![cfg_attr(not(feature = "write"), doc = "```ignore")]
//! use fpstore::{Builder, Fingerprint, Store};
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let folder = tempfile::tempdir()?;
//! # let path = folder.path().join("pages.fps");
//!
//! let mut builder = Builder::new(&path)?;
//! builder.push("c0f1789bed2eb9b8".parse()?, "https://example.org/a")?;
//! builder.push("c0f1789bed2eb9b9".parse()?, "https://example.org/b")?;
//! builder.push("5057d88dd8f1c6ff".parse()?, "https://example.org/c")?;
//! builder.finish()?;
//!
//! let store = Store::open(&path)?;
//! let mut searcher = store.searcher();
//! let answer = searcher.search(Fingerprint::new(0xc0f1_789b_ed2e_b9b8), 3)?;
//! let distances: Vec<u32> = answer.hits().map(|hit| hit.distance()).collect();
//! assert_eq!(distances, [0, 1]);
//! # Ok(()) }
//! ```
//!
//! # How it works
//!
//! A store has a few *tables*. Each table holds the whole set: the bits of every fingerprint are
//! permuted so that the bits of the *mask* lead, and the permuted values are sorted and compressed
//! to about `64 - log2 n + 4` bits each. A query for distance `k` assigns each table a *radius*. In
//! each table it finds every stored value whose leading bits differ from the query in at most
//! `radius` bits, and keeps the values within `k` in all 64 bits. The radii are chosen so that a
//! value within `k` of the query is within the radius of at least one table; this is proven before
//! a search uses them, see [`Scheme::covers`]. If probes would cost more than a scan of one table,
//! the search scans that table.
//!
//! `format-spec.md` in the repository specifies the files byte for byte.
//!
//! A `Writer` adds, deletes and merges records, and removes expired segments. Each reader keeps the
//! snapshot that it opened until [`Store::refresh`]. The documentation of `Writer` has a diagram.
//! `writer::CheckedWriter` adds a record only if no near-duplicate of it is stored.
//!
//! # Features
//!
//! | feature | adds |
//! |---|---|
//! | none | [`Store`], [`Searcher`], [`verify`]: everything for a read-only frontend; [`join`]: batches of queries, pairs of near-duplicates; [`plan`]: the costs of queries and stores; [`state`]: the files of a snapshot, for serving or copying a store |
//! | `write` (default) | `Builder`, `Writer` and the module `input`: making and changing stores; in the module `join`: clusters, deduplication, pairs in order; the module `profile`: statistics of a store or an input |
//! | `serde` | the module `rows`: answers as rows of lines, tables and JSON; reports such as [`info::StoreInfo`] for JSON |
//!
//! Companion crates: `fpstore-text` makes fingerprints of texts, `fpstore-documents` reads documents,
//! `fpstore-images` hashes pictures, `fpstore-corpus` cleans corpora, `fpstore-report` writes reports,
//! `fpstore-client` and `fpstore-server` speak HTTP, `fpstore-cli` is the program.
//!
//! # Guarantees
//!
//! * Only builds, merges and joins start threads. The library logs nothing. [`SearchStats`] counts
//!   the steps of a search.
//! * [`Store`] is cheap to clone and can be shared. A [`Searcher`] belongs to one thread and
//!   stops allocating once its buffers have grown.
//! * Errors are typed and contain the file, the position in the file, and the violated rule. A
//!   failed search returns no partial answer.
//! * Reading a page that is not in memory blocks the calling thread. Asynchronous callers should
//!   run searches on separate threads, or [`Store::warm`] the store first.

#![deny(unsafe_code)]
#![warn(missing_docs)]
// Without the feature `write`, parts of the shared code are unused.
#![cfg_attr(not(feature = "write"), allow(dead_code, unused_imports))]

mod base;
mod bytes;
mod format;
#[cfg(fuzzing)]
#[doc(hidden)]
pub mod fuzzing;
pub mod join;
pub mod plan;
#[cfg(feature = "write")]
pub mod profile;
mod scheme;
mod search;
mod segment;
mod store;
#[cfg(feature = "write")]
mod writing;

#[cfg(feature = "write")]
pub use base::id_policy::IdPolicy;
pub use segment::access::Access;
#[cfg(feature = "write")]
pub use writing::builder::temporary::{TemporaryBuilder, TemporaryStore};
#[cfg(feature = "write")]
pub use writing::builder::{BuildOptions, BuildReport, Builder, SchemeChoice, SegmentReceipt};
#[cfg(feature = "write")]
pub use writing::directory::Waiting;
/// Counts and lengths of a store, its segments, tables and sections, as reported by
/// [`Store::info`]; and the changes between its snapshots, as reported by [`Store::log`].
pub mod info {
    pub use crate::store::log::{Act, Change};
    pub use crate::store::{SectionInfo, SegmentInfo, StoreInfo, TableInfo};
}

pub use base::error::{Error, Fault, InputPlace, IoError, Result};
pub use base::options;
pub use base::section::{Section, StoreIndex, TableIndex};
pub use format::FORMAT_VERSIONS;
pub use fpstore_base::watch::{Observer, Phase, Progress, Step};
pub use fpstore_base::{
    Choice, Fingerprint, HexFingerprint, Id, IdKind, IdRef, ParseFingerprintError, Radix, Recipe,
    Resources, UnknownName, Width,
};
pub use scheme::Scheme;
pub use search::{Answer, CutBy, Hit, Ids, Limits, Match, Outcome, SearchStats, Searcher};
pub use store::find::FoundRecord;
#[cfg(feature = "serde")]
pub use store::rows;
pub use store::state;
pub use store::stores::Stores;
pub use store::verify::{DamagedSegment, VerifyOptions, VerifyReport, verify};
pub use store::{OpenOptions, Store, Warm, Warmed};
#[cfg(feature = "write")]
pub use writing::writer::handle::Writer;
#[cfg(feature = "write")]
pub use writing::writer::options::WriterOptions;
#[cfg(feature = "write")]
pub use writing::{input, writer};

/// The examples in the README, as doc tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
pub struct Readme;
