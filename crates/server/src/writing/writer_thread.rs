//! The writer thread: takes requests in groups, and commits once for each group.

use std::fmt::Display;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use super::comparing::{Checked, check_all};
use super::merging::Merging;
use super::task::{
    AddTask, AdditionResult, Answered, IdTask, IdsChanged, Items, Reply, Verdict, WritingOptions,
    is_in_effect, is_of_disk, not_written,
};
use crate::protocol::failure::{Failure, chain};
use crate::state::live_store::LiveStore;
use fpstore::writer::{CheckedWriter, Compaction, Deleted, IdChange};
use fpstore::{Error, Result as StoreResult, Store, Writer};

/// The largest number of items in a group, unless a single request has more.
pub(super) const GROUP_COUNT: usize = 10_000;
/// The time between two attempts while commits fail. It is short in tests, where many operations
/// fail.
const RETRY_PAUSE: Duration = Duration::from_millis(if cfg!(test) { 20 } else { 1_000 });

/// A task of the writer thread.
pub(super) enum Task {
    Add(AddTask),
    ChangeIds(IdTask),
    /// A change of the whole store, after all earlier additions.
    Change(Change),
    /// Commits the pending items and ends.
    End {
        reply: Reply<()>,
    },
}

/// Applies a change and answers.
pub(super) type Change = Box<dyn FnOnce(&mut WriterThread) + Send>;

pub(super) struct WriterThread {
    server: Arc<LiveStore>,
    /// The identity of the store at the start. The thread writes to no other store, although it
    /// opens the store again after a failure.
    identity: Identity,
    writer: CheckedWriter,
    receiver: Receiver<Task>,
    options: WritingOptions,
    merging: Option<Merging>,
    /// The latest time to commit items that were already answered; while commits fail, the time of
    /// the next attempt.
    due: Option<Instant>,
}

/// Distinguishes a store from every other store, and from copies of it.
#[derive(PartialEq, Eq)]
struct Identity {
    store_id: [u8; 16],
    /// The device and the inode number of the directory.
    directory: Option<(u64, u64)>,
}

impl Identity {
    fn of(store: &Store, path: &Path) -> Self {
        #[cfg(unix)]
        let directory = std::fs::metadata(path).ok().map(|of| {
            use std::os::unix::fs::MetadataExt;
            (of.dev(), of.ino())
        });
        #[cfg(not(unix))]
        let directory = {
            let _ = path;
            None
        };
        Identity { store_id: store.state_id().store_id, directory }
    }
}

/// An addition that waits for the commit.
struct WaitingAddition {
    verdicts: Vec<Verdict>,
    /// The positions of its new items among the pending items.
    added: Range<usize>,
    reply: Reply<Answered>,
}

impl WriterThread {
    pub(super) fn new(
        server: Arc<LiveStore>,
        writer: CheckedWriter,
        receiver: Receiver<Task>,
        options: WritingOptions,
        merging: Merging,
    ) -> Self {
        let identity = Identity::of(server.store(), &server.path);
        let merging = Some(merging);
        WriterThread { server, identity, writer, receiver, options, merging, due: None }
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
                let ended = self.lost();
                // The lock is freed before the end of the server is reported.
                drop(self.writer);
                let _ = reply.send(ended);
                return;
            }
        }
    }

    /// A group: the first task, and the tasks that wait behind it.
    fn group(&self, first: Task) -> Vec<Task> {
        let count = |task: &Task| match task {
            Task::Add(add) => add.items.records.len(),
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

    /// Does all tasks of a group. Returns the reply channel of `Task::End`, if the thread should
    /// end. Changes by ids may follow later additions: no client has an answer of this group yet,
    /// so any order of its requests is valid.
    fn work(&mut self, tasks: Vec<Task>) -> Option<Reply<()>> {
        let mut waiting = Vec::new();
        let mut id_tasks = Vec::new();
        let mut end = None;
        for task in tasks {
            match task {
                Task::Add(task) => self.add(task, &mut waiting),
                Task::ChangeIds(task) => id_tasks.push(task),
                Task::Change(change) => {
                    self.commit(&mut waiting, std::mem::take(&mut id_tasks));
                    change(self);
                }
                Task::End { reply } => end = Some(reply),
            }
        }
        let is_due = self.due.is_some_and(|due| Instant::now() >= due);
        let is_due = is_due || !waiting.is_empty() || !id_tasks.is_empty();
        if is_due || end.is_some() || self.pending() >= GROUP_COUNT {
            self.commit(&mut waiting, id_tasks);
        }
        self.show_pending();
        end
    }

    /// Fails if items are pending, which are lost at the end of the thread.
    fn lost(&self) -> Result<(), Failure> {
        let count = self.pending();
        if count == 0 {
            return Ok(());
        }
        let items = if count == 1 { "item that was" } else { "items that were" };
        let lost = format_args!(
            "{count} {items} answered with \"durable\": false could not be committed: lost"
        );
        Err(self.not_committed(lost))
    }

    /// The failure while commits fail; `effect` describes the effect on the request.
    fn not_committed(&self, effect: impl Display) -> Failure {
        let why = self.server.health.failing_commit().map_or_else(String::new, |(why, _)| why);
        let failure = Failure::busy(format_args!("commits fail, and {effect}: {why}"));
        Failure { code: "commits-failing", ..failure }
    }

    /// The number of items that wait for a commit.
    fn pending(&self) -> usize {
        self.writer.pending().len()
    }

    fn show_pending(&self) {
        self.server.metrics.pending.store(self.pending() as u64, Relaxed);
    }

    fn add(&mut self, task: AddTask, waiting: &mut Vec<WaitingAddition>) {
        let AddTask { mut items, durable, deadline, reply } = task;
        if Instant::now() >= deadline {
            let message = "the writer was busy for longer than --deadline; nothing was added";
            let _ = reply.send(Err(self.server.refused(message)));
            return;
        }
        let (verdicts, added) = match self.check_all(&mut items, deadline) {
            Ok(Some(checked)) => checked,
            Ok(None) => {
                let _ = reply.send(Ok(Answered::Behind(items)));
                return;
            }
            Err(failure) => {
                let _ = reply.send(Err(failure));
                return;
            }
        };
        let is_open = |verdict: &Verdict| {
            matches!(verdict, Verdict::New | Verdict::Near { pending: true, .. })
        };
        let is_open = verdicts.iter().any(is_open);
        if durable && is_open {
            waiting.push(WaitingAddition { verdicts, added, reply });
            return;
        }
        if is_open && self.server.health.failing_commit().is_some() {
            self.writer.forget(added);
            let effect = "nothing was added; \"durable\": true tries another commit";
            let _ = reply.send(Err(self.not_committed(effect)));
            return;
        }
        if !added.is_empty() {
            self.show_pending();
            self.due.get_or_insert_with(|| Instant::now() + self.options.commit_every);
        }
        self.count(&verdicts);
        let generation = self.server.opened().generation;
        let _ = reply.send(Ok(Answered::Added(AdditionResult {
            verdicts,
            durable: !is_open,
            generation,
        })));
    }

    fn count(&self, verdicts: &[Verdict]) {
        let added = verdicts.iter().filter(|verdict| matches!(verdict, Verdict::New)).count();
        let metrics = &self.server.metrics;
        metrics.added.fetch_add(added as u64, Relaxed);
        metrics.found_near.fetch_add((verdicts.len() - added) as u64, Relaxed);
    }

    /// Like [`check_all`], but first opens the writer again if the last change failed.
    fn check_all(
        &mut self,
        items: &mut Items,
        deadline: Instant,
    ) -> Result<Option<Checked>, Failure> {
        self.open().map_err(|error| not_written(&error))?;
        check_all(&mut self.writer, items, deadline)
    }

    /// Opens the writer again after a failure.
    fn open(&mut self) -> StoreResult<()> {
        let opened = self.same_writer().map(drop);
        if let Err(error) = &opened {
            self.note_failure(error);
        }
        opened
    }

    /// The writer, if the store is still the store that the server opened at its start.
    fn same_writer(&mut self) -> StoreResult<&mut Writer> {
        let writer = self.writer.writer()?;
        if Identity::of(writer.store(), &self.server.path) == self.identity {
            return self.writer.writer();
        }
        // The store was replaced, and another process may write to the new one.
        self.writer.end_turn();
        Err(Error::Replaced { path: self.server.path.clone() })
    }

    /// Notes a failed change, and schedules the next attempt.
    fn note_failure(&mut self, error: &Error) {
        let why = chain(error);
        if self.server.health.note_bad_commit(&why) {
            self.server.log(format_args!("commit failed: {why}"));
        }
        self.due = Some(Instant::now() + RETRY_PAUSE);
    }

    /// Notes a durable change, after which nothing is pending.
    fn note_success(&mut self) {
        if self.server.health.note_good_commit() {
            self.server.log(format_args!("commits succeed again"));
        }
        self.due = None;
    }

    /// Makes all pending items durable and the changes by ids, in one step if possible, refreshes
    /// the snapshot, and answers the waiting requests.
    fn commit(&mut self, waiting: &mut Vec<WaitingAddition>, mut tasks: Vec<IdTask>) {
        let store = self.server.store().clone();
        for task in tasks.extract_if(.., |task| task.is_behind(&store)) {
            let _ = task.reply.send(Ok(IdsChanged::Behind(task.change)));
        }
        loop {
            tasks = self.commit_step(waiting, tasks);
            if tasks.is_empty() {
                return;
            }
            if self.pending() > 0 {
                // The commit before the changes failed.
                let effect = "nothing was deleted or replaced";
                tasks.into_iter().for_each(|task| task.fail(self.not_committed(effect)));
                return;
            }
        }
    }

    /// Commits the pending items, and as many of the changes as fit into the same step. Returns the
    /// remaining changes. If nothing is pending or changed while commits fail, it checks whether the
    /// disk accepts changes again.
    fn commit_step(
        &mut self,
        waiting: &mut Vec<WaitingAddition>,
        mut tasks: Vec<IdTask>,
    ) -> Vec<IdTask> {
        let mut count = IdChange::step_len(tasks.iter().map(|task| &task.change));
        if tasks[..count].iter().any(|task| task.change.concerns(self.writer.pending())) {
            count = 0;
        }
        let later = tasks.split_off(count);
        let (mut changes, replies): (Vec<IdChange>, Vec<Reply<IdsChanged>>) =
            tasks.into_iter().map(|task| (task.change, task.reply)).unzip();
        let committed = match (self.pending() + count, self.server.health.failing_commit()) {
            (0, None) => Ok((self.server.opened().generation, Vec::new())),
            (0, Some(_)) => {
                let tried = self.same_writer().and_then(|writer| writer.check_disk());
                tried.map(|()| (self.server.opened().generation, Vec::new()))
            }
            _ => self.commit_pending(&mut changes),
        };
        match committed {
            Ok((generation, deleted)) => {
                self.note_success();
                self.show_pending();
                for WaitingAddition { verdicts, reply, .. } in waiting.drain(..) {
                    self.count(&verdicts);
                    let added = AdditionResult { verdicts, durable: true, generation };
                    let _ = reply.send(Ok(Answered::Added(added)));
                }
                for (deleted, reply) in deleted.into_iter().zip(replies) {
                    let _ = reply.send(Ok(IdsChanged::Done(deleted, generation)));
                }
            }
            // The store refuses one of the requests, which must not harm the others.
            Err(why) if !is_of_disk(&why) && self.pending() + count > 1 && count > 0 => {
                self.commit_step(waiting, Vec::new());
                for (change, reply) in changes.into_iter().zip(replies) {
                    self.commit(&mut Vec::new(), vec![IdTask { change, is_last_try: true, reply }]);
                }
            }
            Err(why) => {
                if is_of_disk(&why) || count == 0 {
                    self.server.metrics.commit_failures.fetch_add(1, Relaxed);
                    self.note_failure(&why);
                }
                // Only items that were answered with success stay pending. After an error that
                // followed the effect of the commit, no item is pending.
                for request in waiting.iter().rev().filter(|_| !is_in_effect(&why)) {
                    self.writer.forget(request.added.clone());
                }
                self.show_pending();
                for WaitingAddition { reply, .. } in waiting.drain(..) {
                    let _ = reply.send(Err(not_written(&why)));
                }
                for reply in replies {
                    let _ = reply.send(Err(not_written(&why)));
                }
            }
        }
        later
    }

    /// Commits the pending items and makes the changes. Returns the generation, and what each
    /// change deleted.
    fn commit_pending(&mut self, changes: &mut [IdChange]) -> StoreResult<(u64, Vec<Deleted>)> {
        let start = Instant::now();
        self.same_writer()?;
        let before = self.server.opened().generation;
        let committed = self.writer.commit_with(changes);
        let generation = committed.as_ref().map(|(committed, _)| committed.generation);
        if generation.as_ref().map_or_else(|error| is_in_effect(error), |now| *now != before) {
            self.after_change(start);
        }
        committed.map(|(committed, deleted)| (committed.generation, deleted))
    }

    /// Changes the store, unless items are pending. See
    /// [`Writing::change`](super::Writing::change).
    pub(super) fn change<T>(
        &mut self,
        effect: &str,
        change: impl FnOnce(&mut Writer) -> StoreResult<T>,
    ) -> Result<(T, u64), Failure> {
        if self.pending() > 0 {
            return Err(self.not_committed(effect));
        }
        let start = Instant::now();
        let before = self.server.opened().generation;
        let changed = self.same_writer().and_then(|writer| {
            let done = change(writer)?;
            Ok((done, writer.store().generation()))
        });
        match &changed {
            Ok(_) => self.note_success(),
            Err(error) => {
                self.writer.end_turn();
                if is_of_disk(error) {
                    self.note_failure(error);
                }
            }
        }
        let is_changed = |(_, generation): &(T, u64)| *generation != before;
        if changed.as_ref().map_or_else(is_in_effect, is_changed) {
            self.after_change(start);
        }
        changed.map_err(|error| not_written(&error))
    }

    /// Sets the label of records added from now on; earlier records keep the old label.
    pub(super) fn set_label(&mut self, label: &str) -> Result<(), Failure> {
        if self.pending() > 0 {
            return Err(self.not_committed("the label is unchanged"));
        }
        // The label is set first: if the writer's turn starts in `same_writer`, it checks the new
        // label and not the old one, which the store may refuse.
        let set = self.writer.set_label(label).and_then(|()| self.same_writer().map(drop));
        set.map_err(|error| not_written(&error))
    }

    /// Starts a merge, unless another requested merge has not started.
    pub(super) fn compact(&mut self, what: Compaction) -> Result<(), Failure> {
        match self.merging.as_ref().is_some_and(|merging| merging.ask(what)) {
            true => Ok(()),
            false => Err(Failure::busy("another merge is already waiting")),
        }
    }

    /// Refreshes the snapshot after a change, and starts a merge.
    fn after_change(&self, start: Instant) {
        // `/readyz` reports a failure; the change itself is durable.
        let _ = self.server.refresh();
        let nanos = u64::try_from(start.elapsed().as_nanos()).unwrap_or(u64::MAX);
        self.server.metrics.commits.fetch_add(1, Relaxed);
        self.server.metrics.commit_nanos.fetch_add(nanos, Relaxed);
        if let Some(merging) = self.merging.as_ref().filter(|_| self.options.merge) {
            // A merge that is already requested finds the new segments, too.
            let _ = merging.ask(Compaction::Tier);
        }
    }
}
