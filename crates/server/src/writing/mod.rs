//! Writing: one thread receives all additions and deletions, and commits many requests together.
//!
//! A commit waits for the disk three times, so requests share commits. The thread takes all waiting
//! requests, checks each item and adds the new ones with a [`CheckedWriter`], commits them together
//! with all deletions and replacements by ids, and then answers. Of two items that are near each
//! other and arrive at the same time, exactly one is new.

mod comparing;
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
use crate::state::lanes::blocking;
use crate::state::live_store::LiveStore;
pub(super) use comparing::{TURN_NANOS, cut};
use fpstore::writer::{CheckedWriter, Compaction, IdChange};
use fpstore::{Result as StoreResult, Writer};
pub(super) use merging::Merging;
pub use task::WritingOptions;
use task::{AddTask, IdTask};
pub(super) use task::{AdditionResult, Answered, Items, Verdict};
pub(crate) use task::{IdsChanged, TURN_IDS, not_written};
use writer_thread::{Task, WriterThread};

/// The largest number of requests that wait for the writer.
const QUEUE_LEN: usize = 1024;

/// The handle of the writer thread.
pub(super) struct Writing {
    sender: SyncSender<Task>,
    /// The parts from which the thread is made; `None` once it has started.
    start: Mutex<Option<Start>>,
}

/// The parts from which the thread is started.
struct Start {
    writer: CheckedWriter,
    receiver: Receiver<Task>,
    options: WritingOptions,
}

impl Writing {
    /// Takes the writer lock; the thread is not started yet.
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

    /// Compares items with the store and with each other, and adds the new ones.
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

    /// Deletes or replaces documents by their ids, after all earlier additions are committed. Other
    /// requests may share the commit. If the ids of many records are unread, the change is handed
    /// back, unless this `is_last_try`.
    pub(super) async fn change_ids(
        &self,
        server: &LiveStore,
        change: IdChange,
        is_last_try: bool,
    ) -> Result<IdsChanged, Failure> {
        let (reply, answer) = oneshot::channel();
        self.send(server, Task::ChangeIds(IdTask { change, is_last_try, reply }))?;
        answer.await.map_err(|_| Failure::broken())?
    }

    /// Changes the store by `change`, after all earlier additions are committed: a later commit
    /// would bring deleted ids back. If they cannot be committed, nothing is changed, and the
    /// failure contains `effect`. Returns the result, and the generation after the change.
    pub(super) async fn change<T: Send + 'static>(
        &self,
        server: &LiveStore,
        effect: &'static str,
        change: impl FnOnce(&mut Writer) -> StoreResult<T> + Send + 'static,
    ) -> Result<(T, u64), Failure> {
        self.ask(server, move |thread| thread.change(effect, change)).await
    }

    /// Sets the label of records added from now on.
    pub(super) async fn set_label(&self, server: &LiveStore, label: String) -> Result<(), Failure> {
        self.ask(server, move |thread| thread.set_label(&label)).await
    }

    /// Starts a merge of segments in the background.
    pub(super) async fn compact(
        &self,
        server: &LiveStore,
        what: Compaction,
    ) -> Result<(), Failure> {
        self.ask(server, move |thread| thread.compact(what)).await
    }

    /// Runs `what` on the thread after all earlier additions are committed, and waits for its
    /// result.
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

    /// Commits the pending items, and ends the thread.
    pub(super) async fn end(&self) -> Result<(), Failure> {
        let (reply, answer) = oneshot::channel();
        let sender = self.sender.clone();
        // The queue may be full, and waiting for it must not block the runtime.
        blocking(move || sender.send(Task::End { reply }).is_ok()).await?;
        answer.await.map_err(|_| Failure::broken())?
    }

    fn send(&self, server: &LiveStore, task: Task) -> Result<(), Failure> {
        self.sender.try_send(task).map_err(|error| match error {
            TrySendError::Full(_) => server.refused(format_args!(
                "{QUEUE_LEN} requests are already waiting for the \
                                             writer"
            )),
            TrySendError::Disconnected(_) => {
                Failure::busy("the server is shutting down and accepts no more changes")
            }
        })
    }
}
