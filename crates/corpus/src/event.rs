//! What a cleaning says while it works.

use fpstore_documents::{DocumentSummary, RepeatedIds};

use super::error::Error;
use fpstore::join::confirm::Unlike;

/// Something that a user of long work wants to know at once. Its place among the documents is that
/// of the call.
#[derive(Debug)]
#[non_exhaustive]
pub enum Event<'a> {
    /// Unfinished work goes on.
    Resumed {
        /// The parts of the documents that were read before.
        done: usize,
        /// All parts.
        count: usize,
    },
    /// Unfinished work goes on in or after its join, which looks for near documents.
    Joined {
        /// The parts of the join that were done before.
        done: u32,
        /// All parts.
        count: u32,
    },
    /// A part of the documents was read: the counts of this part, and its bad records. Repeated ids
    /// are told of all parts together.
    Read(&'a DocumentSummary),
    /// Documents share ids, so that lists by id cannot tell them apart. All is read.
    RepeatedIds(&'a RepeatedIds),
    /// Very many documents are near one another and not alike, so that comparing them takes long.
    ManyUnlike(Unlike),
    /// A file that was found in a folder could not be copied; the others go on.
    NotCopied(&'a Error),
    /// The kept documents are added to the store, but segments that were due to be merged were not.
    Unmerged(&'a fpstore::Error),
    /// All is done, but the folder of the work could not be removed: the same settings find nothing to
    /// do in it, and remove it.
    NotRemoved(&'a Error),
}

/// Is called with each event, from any thread of the work.
pub type Listener<'a> = dyn Fn(Event<'_>) + Sync + 'a;
