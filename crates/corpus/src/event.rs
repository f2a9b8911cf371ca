//! Events reported while a cleaning works.

use fpstore_documents::{DocumentSummary, RepeatedIds};

use super::error::Error;
use fpstore::join::confirm::Unlike;

/// An event of a cleaning or contamination check, reported as soon as it occurs.
#[derive(Debug)]
#[non_exhaustive]
pub enum Event<'a> {
    /// An interrupted cleaning is resumed.
    Resumed {
        /// The number of batches of files that were already read.
        done: usize,
        /// The number of all batches.
        count: usize,
    },
    /// A batch of files was read: its counts and bad records. Repeated ids are reported for all
    /// batches together.
    Read(&'a DocumentSummary),
    /// Some documents have the same id, so lists of ids are ambiguous. Reported after all documents
    /// are read.
    RepeatedIds(&'a RepeatedIds),
    /// Judged pairs without effect, because at least one of their ids is not the id of a document.
    UnknownPairs {
        /// The number of judged pairs that have no effect, because at least one of their ids is
        /// unknown.
        unknown: u64,
        /// The number of all judged pairs.
        count: u64,
    },
    /// Very many dissimilar documents have to be compared, which takes long.
    ManyUnlike(Unlike),
    /// A file found in a folder could not be copied; the other files are copied.
    NotCopied(&'a Error),
    /// The kept documents are added to the store, but a due merge of segments failed.
    Unmerged(&'a fpstore::Error),
    /// All work is done, but the job folder could not be removed. A later run with the same
    /// settings finds nothing to do and removes the folder.
    NotRemoved(&'a Error),
}

/// The callback for events; any thread of the work may call it.
pub type Listener<'a> = dyn Fn(Event<'_>) + Sync + 'a;
