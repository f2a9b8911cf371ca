//! Events reported while a cleaning works.

use fpstore_documents::{DocumentSummary, RepeatedIds};

use super::error::Error;
use fpstore::join::confirm::Unlike;

/// An event reported to the user of long work at once. The order of the calls places it among the
/// documents.
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
    /// Judged pairs without effect: neither of their ids, or no second one, is the id of a
    /// document.
    UnknownPairs {
        /// The number of these pairs.
        unknown: u64,
        /// The number of all judged pairs.
        count: u64,
    },
    /// Very many documents are compared and not similar, which takes long.
    ManyUnlike(Unlike),
    /// A file found in a folder could not be copied; the other files are.
    NotCopied(&'a Error),
    /// The kept documents are added to the store, but a due merge of segments failed.
    Unmerged(&'a fpstore::Error),
    /// All work is done, but its folder could not be removed. The same settings find nothing to do
    /// in it, and remove it.
    NotRemoved(&'a Error),
}

/// The callback for events; any thread of the work may call it.
pub type Listener<'a> = dyn Fn(Event<'_>) + Sync + 'a;
