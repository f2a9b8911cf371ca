//! Writing: one thread takes all additions and deletions, and commits many requests at once.
//!
//! A commit waits for the disk four times, so a request does not get one of its own. The thread
//! takes what has come meanwhile, compares each item with the store and with those that it has
//! accepted before, commits once, and then answers. So two items that are near each other can come
//! at the same time, and exactly one of them is new.

mod group;
mod merging;
mod pending;

use std::sync::atomic::Ordering::Relaxed;
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use fpstore::writer::Deleted;
use fpstore::{Fingerprint, Writer, WriterOptions};
use tokio::sync::oneshot;

use super::failure::Failure;
use super::server::Server;
use super::status::refused;
use group::WriterThread;
pub(super) use merging::Merging;

/// Requests that wait for the writer.
const QUEUE_LEN: usize = 1024;

/// A document to remember.
#[derive(Clone, Debug)]
pub(super) struct Item {
    pub(super) fingerprint: Fingerprint,
    pub(super) id: Option<String>,
    pub(super) sketch: Vec<u8>,
}

/// What was found of an item.
#[derive(Debug)]
pub(super) enum Verdict {
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
pub(super) struct Added {
    pub(super) verdicts: Vec<Verdict>,
    /// Whether all that is new is on the disk.
    pub(super) durable: bool,
    pub(super) generation: u64,
}

type Reply<T> = oneshot::Sender<Result<T, Failure>>;

/// Work for the writer.
enum Task {
    Add(AddTask),
    Delete {
        ids: Vec<String>,
        reply: Reply<(Deleted, u64)>,
    },
    /// Commits what is pending and ends.
    End {
        reply: Reply<()>,
    },
}

struct AddTask {
    items: Vec<Item>,
    k: u32,
    /// Whether the answer waits for the commit.
    durable: bool,
    deadline: Instant,
    reply: Reply<Added>,
}

/// The way to the writer.
pub(super) struct Writing {
    sender: SyncSender<Task>,
    /// What the thread takes over when it starts.
    start: Mutex<Option<Start>>,
}

/// What the thread begins with.
struct Start {
    writer: Box<Writer>,
    receiver: Receiver<Task>,
    options: WritingOptions,
}

/// How the server writes.
#[derive(Clone)]
pub(super) struct WritingOptions {
    pub(super) writer: WriterOptions,
    /// The longest time that an item stays pending which was answered before it was durable.
    pub(super) commit_every: Duration,
    /// Whether segments are merged beside the writer.
    pub(super) merge: bool,
}

impl Writing {
    /// Takes the lock of the writer; nothing runs yet.
    pub(super) fn open(path: &std::path::Path, options: WritingOptions) -> fpstore::Result<Self> {
        let writer = Writer::with_options(path, options.writer.clone())?;
        let (sender, receiver) = sync_channel(QUEUE_LEN);
        let start = Start { writer: Box::new(writer), receiver, options };
        Ok(Writing { sender, start: Mutex::new(Some(start)) })
    }

    /// Starts the thread.
    pub(super) fn start(&self, server: &Arc<Server>) -> std::io::Result<()> {
        let start = self.start.lock().unwrap_or_else(PoisonError::into_inner).take();
        let Some(Start { writer, receiver, options }) = start else { return Ok(()) };
        let merging =
            if options.merge { Some(Merging::start(server, &options.writer)?) } else { None };
        let thread = WriterThread::new(Arc::clone(server), *writer, receiver, options, merging);
        std::thread::Builder::new().name("writer".into()).spawn(move || thread.run()).map(drop)
    }

    /// Compares items with the store and with each other, and adds those that are new.
    pub(super) async fn add(
        &self,
        server: &Server,
        items: Vec<Item>,
        k: u32,
        durable: bool,
        deadline: Instant,
    ) -> Result<Added, Failure> {
        let (reply, answer) = oneshot::channel();
        self.send(server, Task::Add(AddTask { items, k, durable, deadline, reply }))?;
        answer.await.map_err(|_| Failure::broken())?
    }

    /// Deletes ids. Returns what was deleted, and the generation.
    pub(super) async fn delete(
        &self,
        server: &Server,
        ids: Vec<String>,
    ) -> Result<(Deleted, u64), Failure> {
        let (reply, answer) = oneshot::channel();
        self.send(server, Task::Delete { ids, reply })?;
        let (done, generation) = answer.await.map_err(|_| Failure::broken())??;
        server.metrics.deleted_ids.fetch_add(done.ids, Relaxed);
        Ok((done, generation))
    }

    /// Commits what is pending, and ends the thread.
    pub(super) async fn end(&self) -> Result<(), Failure> {
        let (reply, answer) = oneshot::channel();
        let sender = self.sender.clone();
        // The queue may be full, and must not hold up the runtime.
        tokio::task::spawn_blocking(move || sender.send(Task::End { reply }).is_ok())
            .await
            .map_err(|_| Failure::broken())?;
        answer.await.map_err(|_| Failure::broken())?
    }

    fn send(&self, server: &Server, task: Task) -> Result<(), Failure> {
        self.sender.try_send(task).map_err(|error| match error {
            TrySendError::Full(_) => {
                refused(server, format_args!("{QUEUE_LEN} requests wait for the writer already"))
            }
            TrySendError::Disconnected(_) => {
                Failure::busy("the server is ending, and takes no more writes")
            }
        })
    }
}
