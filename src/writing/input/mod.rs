//! Reading fingerprints and ids from files in several formats.
//!
//! An input is read in chunks of whole records. [`read_records`] parses one chunk after the other
//! on the calling thread; the builder and the writer parse them on all threads.
//!
//! A new format needs a variant of [`InputFormat`], its layout in the two lists of layouts in
//! `format`, and an option in `cli/inputs`.

mod batches;
mod chunk_reader;
mod estimate;
mod format;
mod layout;
mod lines;
mod read;
#[cfg(test)]
mod tests;

pub(crate) use batches::read_batches;
pub use estimate::{InputEstimate, estimate_input};
pub use format::{InputFormat, InputOptions};
pub use fpstore_base::source::open as open_input;
pub use read::{InputSummary, Record, SkippedRecord, read_all_records, read_records};
