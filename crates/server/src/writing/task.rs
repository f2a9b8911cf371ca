//! The tasks of the writer thread, its answers, and its failures.

use std::sync::Arc;
use std::time::{Duration, Instant};

use fpstore_base::Fingerprint;
use hyper::StatusCode;
use tokio::sync::oneshot;

use crate::protocol::failure::{Failure, chain};
use fpstore::join::JudgedPairs;
use fpstore::writer::{Ahead, Deleted, IdChange, NewRecord};
use fpstore::{Error, Store, WriterOptions};

/// The approximate number of ids that the writer may read in its turn for a change by ids, which
/// takes milliseconds.
pub(crate) const TURN_IDS: u64 = 100_000;

/// The verdict on an item.
#[derive(Debug)]
pub(crate) enum Verdict {
    New,
    Near {
        fingerprint: Fingerprint,
        distance: u32,
        ids: Vec<String>,
        /// Whether the near record was not committed yet.
        pending: bool,
    },
}

/// The answer to an addition.
#[derive(Debug)]
pub(crate) struct AdditionResult {
    pub(crate) verdicts: Vec<Verdict>,
    /// Whether all new items are on the disk.
    pub(crate) durable: bool,
    pub(crate) generation: u64,
}

/// The result of an addition.
pub(crate) enum Answered {
    Added(AdditionResult),
    /// The store changed too much to compare in the writer's turn: the items are handed back, to be
    /// compared with the newest snapshot and sent again.
    Behind(Items),
}

/// The items of an addition.
pub(crate) struct Items {
    pub(crate) records: Vec<NewRecord>,
    pub(crate) k: u32,
    /// The judged pairs: an item is not near a record judged different from it.
    pub(crate) pairs: Arc<JudgedPairs>,
    /// The comparison with an earlier snapshot, if comparing is costly.
    pub(crate) ahead: Option<Ahead>,
    /// Whether the writer compares in its turn even if much has changed.
    pub(crate) is_last_try: bool,
}

pub(super) type Reply<T> = oneshot::Sender<Result<T, Failure>>;

pub(super) struct AddTask {
    pub(super) items: Items,
    /// Whether the answer waits for the commit.
    pub(super) durable: bool,
    pub(super) deadline: Instant,
    pub(super) reply: Reply<Answered>,
}

/// A deletion or a replacement of documents by their ids.
pub(super) struct IdTask {
    pub(super) change: IdChange,
    /// Whether the writer reads ids in its turn even if they are many.
    pub(super) is_last_try: bool,
    pub(super) reply: Reply<IdsChanged>,
}

impl IdTask {
    /// Whether too many ids would have to be read in the writer's turn.
    pub(super) fn is_behind(&self, store: &Store) -> bool {
        !self.is_last_try && self.change.unread(store) > TURN_IDS
    }

    pub(super) fn fail(self, failure: Failure) {
        let _ = self.reply.send(Err(failure));
    }
}

/// The result of an [`IdTask`].
pub(crate) enum IdsChanged {
    /// What was deleted, and the generation after the change.
    Done(Deleted, u64),
    /// Too many ids would have to be read in the writer's turn: the change is handed back, to read
    /// them first.
    Behind(IdChange),
}

/// The options of a writing server.
#[derive(Clone)]
pub struct WritingOptions {
    /// The options of the writer, also for merges.
    pub writer: WriterOptions,
    /// The longest time until an item answered with `"durable": false` is committed.
    pub commit_every: Duration,
    /// Whether segments are merged in the background.
    pub merge: bool,
}

/// Whether a change took effect before its error.
pub(super) fn is_in_effect(error: &Error) -> bool {
    matches!(error, Error::InEffect { .. })
}

/// Whether an error is not the fault of this change alone, so that the next change will probably
/// fail, too.
pub(super) fn is_of_disk(error: &Error) -> bool {
    matches!(
        error,
        Error::Io { .. }
            | Error::NoSpace { .. }
            | Error::Replaced { .. }
            | Error::NoStore { .. }
            | Error::InEffect { .. }
            | Error::InDoubt { .. }
    )
}

/// The failure of a change. Its code and message report whether the change took effect.
pub(crate) fn not_written(error: &Error) -> Failure {
    match error {
        Error::InvalidOptions { .. } | Error::InvalidId { .. } => {
            return Failure::bad("bad-parameter", chain(error));
        }
        Error::RecipeMismatch { .. } => {
            let status = StatusCode::CONFLICT;
            return Failure::new(status, "other-recipe", chain(error));
        }
        Error::InEffect { .. } => return Failure::internal("in-effect", chain(error)),
        Error::InDoubt { .. } => return Failure::internal("in-doubt", chain(error)),
        _ => {}
    }
    let why = chain(error);
    let message = format!("the store could not be changed, so nothing was added or deleted: {why}");
    Failure { status: StatusCode::SERVICE_UNAVAILABLE, ..Failure::internal("not-written", message) }
}
