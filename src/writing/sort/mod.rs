//! External sorting: runs are sorted in memory, written to temporary files, and merged.
//!
//! [`ValueSorter`] sorts distinct values for a table, [`RecordSorter`] sorts fingerprints with ids
//! for the builder and pairs for a join. Both take their memory, threads and directory from
//! [`SortResources`] and stay within about that memory. Entries with equal keys keep their input
//! order.

mod batch;
mod block;
mod levels;
mod memory_part;
mod merge;
mod partition;
mod parts;
mod ranges;
mod records;
mod run;
mod sketched;
mod values;

pub(crate) use batch::RecordBatch;
pub(crate) use parts::RecordPart;
pub(crate) use records::{IdColumn, RecordSorter, SortedRecords};
pub(crate) use run::SortResources;
pub(crate) use values::{SortedValues, ValueSorter};
