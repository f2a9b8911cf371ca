//! Changing a store: adding segments, deleting records, merging segments, removing expired ones.
//!
//! [`Writer`] holds the writer lock and makes all kinds of changes; [`Compactor`] merges while a
//! writer is active. [`SharedWriter`] holds the lock for one turn at a time, and [`CheckedWriter`]
//! adds only records without stored neighbours. Each change writes new files and publishes them
//! with one transaction of `directory`. A file listed in a manifest is never changed, and readers
//! never wait.

mod add;
mod backup;
mod checked;
mod commit;
mod compact;
mod compactor;
mod copied_state;
mod delete;
mod expire;
mod expiry;
pub(crate) mod handle;
mod id_change;
mod id_places;
mod import;
mod lasting_state;
mod live_part;
mod live_records;
mod merge;
mod new_record;
pub(crate) mod options;
mod planned_merge;
mod rebase;
mod repair;
mod replace;
mod salvage;
mod scheme;
mod shared;
#[cfg(test)]
mod tests;
mod tier;
mod transfer;
mod wanted_ids;

pub use crate::writing::directory::check_output;
pub use add::Committed;
pub use backup::backup;
pub use checked::{Ahead, CheckedWriter, ComparisonProgress, Verdict};
pub use commit::{CommitOptions, SegmentsCommitted, commit, read_receipts};
pub use compact::Compaction;
pub use compactor::Compactor;
pub use copied_state::{BackedUp, BackupOptions, StateSource, backup_from, promote};
pub use delete::Deleted;
pub use expire::Expired;
pub use expiry::Expiry;
pub(crate) use handle::Writer;
pub use id_change::IdChange;
pub use id_places::IdPlaces;
pub use import::{Arrivals, CopiedImport, Import, Imported};
pub use merge::Compacted;
pub use new_record::NewRecord;
pub(crate) use options::WriterOptions;
pub use planned_merge::PlannedMerge;
pub use repair::{Repair, repair};
pub use salvage::Salvaged;
pub use shared::SharedWriter;
pub use transfer::{Exported, export, export_linked};

pub use crate::writing::labels::{dated_label, days_since_label};
