//! Writing: one thread takes all additions and deletions, and commits many requests at once.
//!
//! A commit waits for the disk four times, so a request does not get one of its own. The thread
//! takes what has come meanwhile, has a [`CheckedWriter`] check each item and add what is new,
//! commits once, and then answers. So two items that are near each other can come at the same time,
//! and exactly one of them is new.

mod comparing;
mod failures;
mod merging;
mod task;
#[cfg(test)]
mod tests;
mod writer_thread;

use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use tokio::sync::oneshot;

use crate::protocol::failure::Failure;
use crate::state::live_store::LiveStore;
pub(super) use comparing::{TURN_NANOS, cut};
pub(crate) use failures::not_written;
use fpstore::Result as StoreResult;
use fpstore::Writer;
use fpstore::writer::{CheckedWriter, Compaction};
pub(super) use merging::Merging;
use task::AddTask;
pub use task::WritingOptions;
pub(super) use task::{Added, Answered, Items, Verdict};
use writer_thread::{Task, WriterThread};

/// Requests that wait for the writer.
const QUEUE_LEN: usize = 1024;

/// The way to the writer.
pub(super) struct Writing {
    sender: SyncSender<Task>,
    /// What the thread takes over when it starts.
    start: Mutex<Option<Start>>,
}

/// What the thread begins with.
struct Start {
    writer: CheckedWriter,
    receiver: Receiver<Task>,
    options: WritingOptions,
}

impl Writing {
    /// Takes the lock of the writer; nothing runs yet.
    pub(super) fn open(path: &std::path::Path, options: WritingOptions) -> fpstore::Result<Self> {
        let mut writer = CheckedWriter::new(path, options.writer.clone());
        writer.writer()?;
        let (sender, receiver) = sync_channel(QUEUE_LEN);
        let start = Start { writer, receiver, options };
        Ok(Writing { sender, start: Mutex::new(Some(start)) })
    }

    /// Starts the thread.
    pub(super) fn start(&self, server: &Arc<LiveStore>) -> std::io::Result<()> {
        let start = self.start.lock().unwrap_or_else(PoisonError::into_inner).take();
        let Some(Start { writer, receiver, options }) = start else { return Ok(()) };
        server.note_writer();
        let merging = Merging::start(server, &options.writer)?;
        let thread = WriterThread::new(Arc::clone(server), writer, receiver, options, merging);
        std::thread::Builder::new().name("writer".into()).spawn(move || thread.run()).map(drop)
    }

    /// Compares items with the store and with each other, and adds those that are new.
    pub(super) async fn add(
        &self,
        server: &LiveStore,
        items: Items,
        durable: bool,
        deadline: Instant,
    ) -> Result<Answered, Failure> {
        let (reply, answer) = oneshot::channel();
        self.send(server, Task::Add(AddTask { items, durable, deadline, reply }))?;
        answer.await.map_err(|_| Failure::broken())?
    }

    /// Changes the store by `change`, after all that was added before is committed: a commit after it
    /// would bring deleted ids back. Where that cannot be committed, nothing happens, as `effect`
    /// says. Returns the result, and the generation that is shown then.
    pub(super) async fn change<T: Send + 'static>(
        &self,
        server: &LiveStore,
        effect: &'static str,
        change: impl FnOnce(&mut Writer) -> StoreResult<T> + Send + 'static,
    ) -> Result<(T, u64), Failure> {
        self.ask(server, move |thread| thread.change(effect, change)).await
    }

    /// Sets the label of what is added from now on.
    pub(super) async fn set_label(&self, server: &LiveStore, label: String) -> Result<(), Failure> {
        self.ask(server, move |thread| thread.set_label(&label)).await
    }

    /// Has segments merged beside the writer.
    pub(super) async fn compact(
        &self,
        server: &LiveStore,
        what: Compaction,
    ) -> Result<(), Failure> {
        self.ask(server, move |thread| thread.compact(what)).await
    }

    /// Has the thread do something after all that was added before is committed, and waits for it.
    async fn ask<T: Send + 'static>(
        &self,
        server: &LiveStore,
        what: impl FnOnce(&mut WriterThread) -> Result<T, Failure> + Send + 'static,
    ) -> Result<T, Failure> {
        let (reply, answer) = oneshot::channel();
        let change = move |thread: &mut WriterThread| {
            let _ = reply.send(what(thread));
        };
        self.send(server, Task::Change(Box::new(change)))?;
        answer.await.map_err(|_| Failure::broken())?
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

    fn send(&self, server: &LiveStore, task: Task) -> Result<(), Failure> {
        self.sender.try_send(task).map_err(|error| match error {
            TrySendError::Full(_) => {
                server.refused(format_args!("{QUEUE_LEN} requests wait for the writer already"))
            }
            TrySendError::Disconnected(_) => {
                Failure::busy("the server is ending, and takes no more writes")
            }
        })
    }
}
