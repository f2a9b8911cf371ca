//! The thread of the writer: it takes requests in groups, and commits once for each.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Instant;

use fpstore::writer::Deleted;
use fpstore::{Fingerprint, IdRef, Limits, Searcher, Writer};

use super::merging::Merging;
use super::pending::Pending;
use super::{AddTask, Added, Item, Reply, Task, Verdict, WritingOptions};
use crate::cli::serve::failure::Failure;
use crate::cli::serve::server::{Server, chain};

/// Items that are committed together, as long as no single request has more.
const GROUP_COUNT: usize = 10_000;
/// Ids that are named of what is near an item.
const IDS_MAX: usize = 10;
/// Items that may be pending after a commit failed.
const PENDING_MAX: usize = 100_000;

pub(super) struct WriterThread {
    server: Arc<Server>,
    /// `None` after a failure, until the store can be written again.
    writer: Option<Writer>,
    searcher: Searcher,
    receiver: Receiver<Task>,
    options: WritingOptions,
    merging: Option<Merging>,
    pending: Pending,
    /// When items must be committed at the latest that were answered before.
    due: Option<Instant>,
}

/// An addition that waits for the commit.
struct Waiting {
    verdicts: Vec<Verdict>,
    reply: Reply<Added>,
}

impl WriterThread {
    pub(super) fn new(
        server: Arc<Server>,
        writer: Writer,
        receiver: Receiver<Task>,
        options: WritingOptions,
        merging: Option<Merging>,
    ) -> Self {
        let searcher = writer.store().searcher();
        let (writer, pending, due) = (Some(writer), Pending::default(), None);
        WriterThread { server, writer, searcher, receiver, options, merging, pending, due }
    }

    pub(super) fn run(mut self) {
        loop {
            let first = match self.due {
                None => self.receiver.recv().map_err(|_| RecvTimeoutError::Disconnected),
                Some(due) => {
                    self.receiver.recv_timeout(due.saturating_duration_since(Instant::now()))
                }
            };
            let tasks = match first {
                Ok(first) => self.group(first),
                Err(RecvTimeoutError::Timeout) => Vec::new(),
                Err(RecvTimeoutError::Disconnected) => return,
            };
            if let Some(reply) = self.work(tasks) {
                if let Some(merging) = self.merging.take() {
                    merging.end();
                }
                // The lock is free before anybody hears that the server ends.
                self.writer = None;
                let _ = reply.send(Ok(()));
                return;
            }
        }
    }

    /// A task, and those that came after it, up to the size of a group.
    fn group(&self, first: Task) -> Vec<Task> {
        let count = |task: &Task| match task {
            Task::Add(add) => add.items.len(),
            _ => 0,
        };
        let mut items = count(&first);
        let mut tasks = vec![first];
        while items < GROUP_COUNT
            && let Ok(task) = self.receiver.try_recv()
        {
            items += count(&task);
            tasks.push(task);
        }
        tasks
    }

    /// Does all tasks of a group. Returns where to say that the thread ends, if it does.
    fn work(&mut self, tasks: Vec<Task>) -> Option<Reply<()>> {
        let mut waiting = Vec::new();
        let mut end = None;
        for task in tasks {
            match task {
                Task::Add(task) => self.add(task, &mut waiting),
                Task::Delete { ids, reply } => {
                    // What was added before must be found by the deletion.
                    self.commit(&mut waiting);
                    let _ = reply.send(self.delete(&ids));
                }
                Task::End { reply } => end = Some(reply),
            }
        }
        let is_due = self.due.is_some_and(|due| Instant::now() >= due);
        if !waiting.is_empty() || is_due || end.is_some() || self.pending.len() >= GROUP_COUNT {
            self.commit(&mut waiting);
        }
        self.server.metrics.pending.store(self.pending.len() as u64, Relaxed);
        if end.is_some() && !self.pending.is_empty() {
            message!(
                "{} that were answered with \"durable\": false could not be committed and are lost",
                super::super::super::output::counted(self.pending.len() as u64, "item", "items")
            );
        }
        end
    }

    fn add(&mut self, task: AddTask, waiting: &mut Vec<Waiting>) {
        let AddTask { items, k, durable, deadline, reply } = task;
        if Instant::now() >= deadline {
            let message = "the writer was busy for longer than --deadline; nothing was added";
            let _ = reply.send(Err(super::refused(&self.server, message)));
            return;
        }
        let before = self.pending.len();
        let verdicts = self.check_all(items, k, !durable, deadline);
        let verdicts = match verdicts {
            Ok(verdicts) => verdicts,
            Err(failure) => {
                self.pending.truncate(before);
                let _ = reply.send(Err(failure));
                return;
            }
        };
        let is_open = |verdict: &Verdict| {
            matches!(verdict, Verdict::New | Verdict::Near { pending: true, .. })
        };
        let is_open = verdicts.iter().any(is_open);
        if durable && is_open {
            waiting.push(Waiting { verdicts, reply });
            return;
        }
        if self.pending.len() > before {
            self.server.metrics.pending.store(self.pending.len() as u64, Relaxed);
            self.due.get_or_insert_with(|| Instant::now() + self.options.commit_every);
        }
        self.count(&verdicts);
        let generation = self.server.shown().generation;
        let _ = reply.send(Ok(Added { verdicts, durable: !is_open, generation }));
    }

    fn count(&self, verdicts: &[Verdict]) {
        let added = verdicts.iter().filter(|verdict| matches!(verdict, Verdict::New)).count();
        let metrics = &self.server.metrics;
        metrics.added.fetch_add(added as u64, Relaxed);
        metrics.found_near.fetch_add((verdicts.len() - added) as u64, Relaxed);
    }

    /// Compares items with all that is known; those that are new become pending.
    fn check_all(
        &mut self,
        items: Vec<Item>,
        k: u32,
        answered: bool,
        deadline: Instant,
    ) -> Result<Vec<Verdict>, Failure> {
        self.ensure_writer()?;
        if self.pending.len() + items.len() > PENDING_MAX {
            let message = "too many items are pending, because commits fail; see the log";
            return Err(Failure::busy(message));
        }
        let mut verdicts = Vec::with_capacity(items.len());
        for item in items {
            let pending = self.pending.nearest(item.fingerprint, k);
            let stored = nearest(&mut self.searcher, item.fingerprint, k, deadline)?;
            let verdict = match (stored, pending) {
                (Some((_, distance, _)), Some((near, less))) if less < distance => {
                    near_pending(near, less)
                }
                (Some((fingerprint, distance, ids)), _) => {
                    Verdict::Near { fingerprint, distance, ids, pending: false }
                }
                (None, Some((near, distance))) => near_pending(near, distance),
                (None, None) => Verdict::New,
            };
            if matches!(verdict, Verdict::New) {
                self.pending.push(item, answered);
            }
            verdicts.push(verdict);
        }
        Ok(verdicts)
    }

    /// Opens the writer again after a failure.
    fn ensure_writer(&mut self) -> Result<(), Failure> {
        if self.writer.is_some() {
            return Ok(());
        }
        let opened = Writer::with_options(&self.server.path, self.options.writer.clone());
        let writer = opened.map_err(|error| not_writable(&chain(&error)))?;
        self.searcher = writer.store().searcher();
        self.writer = Some(writer);
        // A commit that failed may have happened all the same.
        let searcher = &mut self.searcher;
        let mut kept = Pending::default();
        for item in self.pending.iter() {
            if !is_stored(searcher, item)? {
                kept.push(item.clone(), true);
            }
        }
        self.pending = kept;
        Ok(())
    }

    /// Makes all pending items durable, shows them, and answers those who wait for it.
    fn commit(&mut self, waiting: &mut Vec<Waiting>) {
        let committed = match self.pending.is_empty() {
            true => Ok(()),
            false => self.commit_pending(),
        };
        let waiting = std::mem::take(waiting);
        self.server.metrics.pending.store(self.pending.len() as u64, Relaxed);
        match committed {
            Ok(()) => {
                self.due = None;
                for Waiting { verdicts, reply } in waiting {
                    self.count(&verdicts);
                    let generation = self.searcher.generation();
                    let _ = reply.send(Ok(Added { verdicts, durable: true, generation }));
                }
            }
            Err(why) => {
                self.server.metrics.commit_failures.fetch_add(1, Relaxed);
                message!("commit failed: {why}");
                self.pending.keep_answered();
                let due = Instant::now() + self.options.commit_every;
                self.due = (!self.pending.is_empty()).then_some(due);
                for Waiting { reply, .. } in waiting {
                    let _ = reply.send(Err(not_writable(&why)));
                }
            }
        }
    }

    fn commit_pending(&mut self) -> Result<(), String> {
        let start = Instant::now();
        self.ensure_writer().map_err(|failure| failure.message)?;
        let Some(mut writer) = self.writer.take() else { return Err("there is no writer".into()) };
        let mut push_all = || -> fpstore::Result<()> {
            for item in self.pending.iter() {
                match &item.id {
                    Some(id) => {
                        writer.push_sketched(item.fingerprint, IdRef::Text(id), &item.sketch)?
                    }
                    None => writer.push_bare(item.fingerprint)?,
                }
            }
            writer.commit().map(drop)
        };
        // After a failure the writer is dropped, with what was pushed.
        push_all().map_err(|error| chain(&error))?;
        self.searcher.follow(writer.store());
        self.writer = Some(writer);
        self.pending.clear();
        self.after_change(start);
        Ok(())
    }

    fn delete(&mut self, ids: &[String]) -> Result<(Deleted, u64), Failure> {
        let start = Instant::now();
        self.ensure_writer()?;
        let Some(mut writer) = self.writer.take() else { return Err(Failure::broken()) };
        let wanted = ids.iter().map(|id| IdRef::Text(id));
        let done = writer.delete_ids(wanted).map_err(|error| not_writable(&chain(&error)))?;
        self.searcher.follow(writer.store());
        self.writer = Some(writer);
        self.after_change(start);
        Ok((done, self.searcher.generation()))
    }

    /// Shows a change to those who ask, and has segments merged.
    fn after_change(&self, start: Instant) {
        // A failure is told by the readiness of the server; what was written stays written.
        let _ = self.server.refresh();
        let nanos = u64::try_from(start.elapsed().as_nanos()).unwrap_or(u64::MAX);
        self.server.metrics.commits.fetch_add(1, Relaxed);
        self.server.metrics.commit_nanos.fetch_add(nanos, Relaxed);
        if let Some(merging) = &self.merging {
            merging.wake();
        }
    }
}

fn near_pending(near: &Item, distance: u32) -> Verdict {
    let ids = near.id.iter().cloned().collect();
    Verdict::Near { fingerprint: near.fingerprint, distance, ids, pending: true }
}

fn not_writable(why: &str) -> Failure {
    let message = format!("the store could not be written, so nothing was added or deleted: {why}");
    Failure {
        status: hyper::StatusCode::SERVICE_UNAVAILABLE,
        ..Failure::internal("not-written", message)
    }
}

type Stored = (Fingerprint, u32, Vec<String>);

/// The nearest stored fingerprint within `k` bits, with at most so many of its ids.
fn nearest(
    searcher: &mut Searcher,
    fingerprint: Fingerprint,
    k: u32,
    deadline: Instant,
) -> Result<Option<Stored>, Failure> {
    let limits = Limits::default().deadline(deadline);
    let answer = searcher.nearest_with(fingerprint, 1, k, &limits)?;
    if answer.outcome().cut && Instant::now() >= deadline {
        let message = "the store could not be searched within --deadline; nothing was added";
        return Err(Failure::busy(message));
    }
    let Some(hit) = answer.hits().next() else { return Ok(None) };
    let ids = hit.ids().take(IDS_MAX);
    let ids =
        ids.map(|id| id.map(|id| id.to_string())).collect::<fpstore::Result<Vec<String>>>()?;
    Ok(Some((hit.fingerprint(), hit.distance(), ids)))
}

/// Whether exactly this item is in the store.
fn is_stored(searcher: &mut Searcher, item: &Item) -> Result<bool, Failure> {
    let answer = searcher.search(item.fingerprint, 0)?;
    let Some(hit) = answer.hits().next() else { return Ok(false) };
    let Some(wanted) = &item.id else { return Ok(true) };
    for id in hit.ids() {
        if id?.to_string() == *wanted {
            return Ok(true);
        }
    }
    Ok(false)
}
