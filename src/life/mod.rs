//! The life of a store: segments come, lose records, are merged, and go.

mod carry;
mod compact;
mod delete;
mod expire;
mod merge;
mod options;
mod shape;
#[cfg(test)]
mod tests;
mod tier;
mod transfer;
mod writer;

pub use compact::{Compacted, Compaction, Compactor};
pub use delete::Deleted;
pub use expire::Expired;
pub use options::WriterOptions;
pub use transfer::{Exported, Imported, export};
pub use writer::{Committed, Writer};
