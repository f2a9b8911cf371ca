//! Work for the writer thread, and what it answers.

use std::sync::Arc;
use std::time::{Duration, Instant};

use fpstore_base::Fingerprint;
use tokio::sync::oneshot;

use crate::protocol::failure::Failure;
use fpstore::WriterOptions;
use fpstore::join::JudgedPairs;
use fpstore::writer::{Ahead, NewRecord};

/// What was found of an item.
#[derive(Debug)]
pub(crate) enum Verdict {
    New,
    Near {
        fingerprint: Fingerprint,
        distance: u32,
        ids: Vec<String>,
        /// Whether what is near was not committed when it was found.
        pending: bool,
    },
}

/// The answer to an addition.
#[derive(Debug)]
pub(crate) struct Added {
    pub(crate) verdicts: Vec<Verdict>,
    /// Whether all that is new is on the disk.
    pub(crate) durable: bool,
    pub(crate) generation: u64,
}

/// What becomes of an addition.
pub(crate) enum Answered {
    Added(Added),
    /// The store has changed so much that comparing would hold the writer: what was sent, to compare
    /// it with the newest state before it comes again.
    Behind(Items),
}

/// The items of an addition.
pub(crate) struct Items {
    pub(crate) records: Vec<NewRecord>,
    pub(crate) k: u32,
    /// Items that are judged different are not near each other.
    pub(crate) pairs: Arc<JudgedPairs>,
    /// What is known from an earlier state, if comparing is costly.
    pub(crate) ahead: Option<Ahead>,
    /// Whether the writer compares all the same where much has changed since.
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

/// How the server writes.
#[derive(Clone)]
pub struct WritingOptions {
    /// How the writer of the server writes, and merges.
    pub writer: WriterOptions,
    /// The longest time that an item stays pending which was answered before it was durable.
    pub commit_every: Duration,
    /// Whether segments are merged beside the writer.
    pub merge: bool,
}
