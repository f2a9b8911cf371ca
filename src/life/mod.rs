//! The life of a store: segments come, lose records, are merged, and go.

mod compact;
mod delete;
mod expire;
mod options;
#[cfg(test)]
mod tests;
mod tier;
mod transfer;
mod writer;

pub use compact::{Compacted, Compaction};
pub use delete::Deleted;
pub use expire::Expired;
pub use options::WriterOptions;
pub use transfer::{Exported, Imported, export};
pub use writer::{Committed, Writer};
