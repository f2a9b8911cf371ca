//! fpstore keeps very large sets of 64-bit fingerprints, compressed, in files that are
//! memory-mapped, and answers exactly which of them lie within Hamming distance `k` of a given
//! one, and whose they are.
//!
//! # Making a store and asking it
//!
#![cfg_attr(feature = "build", doc = "```")]
#![cfg_attr(not(feature = "build"), doc = "```ignore")]
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
//! A store has a few *tables*. Each holds the whole set, its bits permuted so that some of them,
//! the *mask*, lead; sorted; and compressed to about `64 - log2 n + 4` bits a fingerprint. A query
//! for distance `k` gives each table a *radius*: it looks for every stored value whose leading bits differ
//! from the needle's in at most so many places, and keeps those within `k` in all. Radii are chosen
//! so that every way of placing at most `k` flips leaves some table within its radius; that is proven before they are
//! used, see [`Scheme::covers`]. Where probing would cost more than a pass over one table, the pass is made.
//!
//! The bytes are fixed by `format-spec.md` in the repository.
//!
//! A store lives: a `Writer` adds segments, deletes, merges, and lets segments expire, while readers keep the state that they
//! opened until [`Store::refresh`]. The documentation of `Writer` has that as a diagram.
//!
//! # Features
//!
//! | feature | brings |
//! |---|---|
//! | none | [`Store`], [`Searcher`], [`verify`]: all that a frontend needs to read |
//! | `build` | `Builder`, `Writer` and `read_records`: making stores and changing them; `PlanRequest`: choosing schemes; `search_many`, `near_pairs`, `clusters`, `dedup` and more: many at once |
//! | `text` | `SimHasher` and `TextRecipe`: fingerprints of texts |
//! | `documents` | `hash_documents`: documents in files of many formats; brings `build` and `text` |
//! | `doctor` | the module `doctor`: what a store or an input looks like, and what is wrong with it; brings `build` |
//! | `parquet` (default) | documents in Parquet; brings `documents` |
//! | `cli` (default) | the program `fpstore`; brings all others |
//!
//! # What a caller can count on
//!
//! * No thread is started, except by building and by what works on many at once; nothing is logged, no global state is kept. [`Work`] counts what a search took.
//! * [`Store`] is cheap to clone and can be shared; a [`Searcher`] belongs to one thread and allocates
//!   nothing once its memory has grown.
//! * Errors are typed and say file, place and rule. After an error there is no partial answer.
//! * A page that is not in memory blocks the calling thread; asynchronous callers should keep searches on threads of their
//!   own, or [`Store::warm`] the store first.

#![deny(unsafe_code)]
#![warn(missing_docs)]

mod bits;
#[cfg(feature = "build")]
mod build;
mod bytes;
#[cfg(feature = "build")]
mod calibrate;
mod checksum;
#[cfg(feature = "build")]
mod disk;
#[cfg(feature = "doctor")]
pub mod doctor;
#[cfg(feature = "documents")]
mod documents;
mod dump;
mod error;
mod fingerprint;
mod format;
mod id;
#[cfg(feature = "build")]
mod join;
#[cfg(feature = "build")]
mod life;
#[cfg(feature = "build")]
mod planner;
mod recipe;
mod scheme;
mod search;
mod section;
mod segment;
#[cfg(feature = "build")]
mod sort;
#[cfg(feature = "build")]
mod source;
mod store;
#[cfg(feature = "text")]
mod text;
mod varint;
mod verify;
#[cfg(feature = "build")]
mod watch;

#[cfg(feature = "build")]
pub use build::{
    BuildOptions, BuildReport, Builder, IdPolicy, InputEstimate, InputFormat, InputOptions,
    InputSummary, Record, SchemeChoice, SkippedRecord, estimate_input, read_records,
};
#[cfg(feature = "documents")]
pub use documents::{
    DocumentFormat, DocumentOptions, DocumentSummary, HashedDocument, TextEncoding,
    count_document_frequencies, hash_documents,
};
pub use error::{Error, Fault, InputPlace, Result};
pub use fingerprint::{Fingerprint, ParseFingerprintError, Radix};
pub use format::FORMAT_VERSIONS;
pub use id::{Id, IdKind, IdRef};
#[cfg(feature = "build")]
pub use join::{
    BatchMode, Cluster, ClusterMember, ClusterMethod, Clusters, Dedup, DocumentPair, DocumentPairs,
    Fate, JoinInput, JoinOptions, KeepRule, Pair, Share, SortedPairs, clusters, dedup,
    document_pairs, near_pairs, near_pairs_across, search_many, sorted_pairs, sorted_pairs_across,
};
#[cfg(feature = "build")]
pub use life::{
    Committed, Compacted, Compaction, Compactor, Deleted, Expired, Exported, Imported, Writer,
    WriterOptions, export,
};
#[cfg(feature = "build")]
pub use planner::{Budget, PlanRequest, Sample, Sampler, SchemeEstimate, SchemePlan};
pub use recipe::Recipe;
pub use scheme::{Effort, FAMILY_NAMES, Radius, Scheme, UnitCosts};
pub use search::{Answer, Hit, Ids, Limits, Match, Outcome, Plan, Searcher, TablePlan, Work};
pub use section::{Section, TableIndex};
#[cfg(feature = "build")]
pub use source::open as open_input;
pub use store::{SectionInfo, SegmentInfo, Store, StoreInfo, TableInfo, Warm};
#[cfg(feature = "text")]
pub use text::{
    CountWeight, DfBuilder, DfTable, DictionaryMethod, Factor, FeatureHash, GivenWeights, HashKey,
    InvalidWeight, Mark, Segment, SimHasher, StopWords, TextRecipe, TextResources, TieRule, Weight,
    simhash,
};
pub use verify::{VerifyReport, verify};
#[cfg(feature = "build")]
pub use watch::{Observer, Phase, Progress};
