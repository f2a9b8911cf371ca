//! The directory of a store, for programs that change it.
//!
//! The builder, the writer and the compactor open a [`StoreDirectory`], write new files into it,
//! and publish them with a [`Transaction`], which replaces the manifest in one step. Values own
//! their files: dropping an uncommitted file, a transaction or a new directory removes it. A file
//! listed in a manifest never changes, except that a repair replaces a damaged deletion file.

mod abandoned;
mod copy;
mod destination;
mod followed;
mod lock;
mod lock_file;
mod staging;
mod store_directory;
mod transaction;
mod uncommitted;
mod waiting;

pub(crate) use copy::open_copy;
pub use destination::check_output;
pub(crate) use destination::{Destination, OpenMode};
pub(crate) use followed::{mark_follower, refuse_follower, source_of, unmark_follower};
pub(crate) use lock::{Patience, lock_compaction, reserve};
pub(crate) use store_directory::{StoreDirectory, random_store_id};
pub(crate) use transaction::Transaction;
pub(crate) use uncommitted::{SegmentFile, UncommittedSegment};
pub use waiting::Waiting;
