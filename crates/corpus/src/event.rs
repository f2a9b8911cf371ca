//! Events reported while a cleaning works.

use fpstore_documents::{DocumentSummary, RepeatedIds};

use super::error::Error;
use fpstore::join::confirm::Unlike;

/// An event of long work, reported to the user as soon as it occurs.
#[derive(Debug)]
#[non_exhaustive]
pub enum Event<'a> {
    /// Unfinished work is resumed.
    Resumed {
        /// The number of parts of the documents that were read before.
        done: usize,
        /// The number of all parts.
        count: usize,
    },
    /// A part of the documents was read: the counts of this part, and its bad records. Repeated ids
    /// are reported for all parts together.
    Read(&'a DocumentSummary),
    /// Documents share ids, so lists by id are ambiguous. All documents are read by then.
    RepeatedIds(&'a RepeatedIds),
    /// Judged pairs without effect, because at least one of their ids is not the id of a document.
    UnknownPairs {
        /// The number of these pairs.
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
