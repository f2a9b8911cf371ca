//! `fpstore add --follow`: adds a stream of records in batches.

use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::bail;
use clap::Args;

use super::command::ExitStatus;
use super::document_reader::Documents;
use super::inputs::{ReadArgs, inputs};
use super::monitor::Monitor;
use super::output::{Stdout, counted, stdout};
use super::stream::{BatchArgs, CommitSchedule, Item, Received, Stream, conclude, push};
use super::turns::Turns;

/// With more records than these a batch goes to the writer before it is complete, because they
/// would fill the memory.
const BUFFERED_MAX: usize = 1 << 16;

/// Whether to follow standard input, and when to commit.
#[derive(Args, Debug)]
pub(super) struct FollowArgs {
    /// Read lines from standard input until it ends, and commit them in batches
    #[arg(long)]
    follow: bool,
    #[command(flatten)]
    pub(super) batch: BatchArgs,
}

impl FollowArgs {
    pub(super) fn is_on(&self) -> bool {
        self.follow
    }
}

/// The records of a stream on their way into a store.
struct Following {
    turns: Turns,
    /// Records that the writer does not have yet.
    buffered: Vec<Item>,
    /// Records that the writer has and that are not committed.
    pushed: u64,
    durable: u64,
    out: Stdout,
}

/// `fpstore add --follow`.
pub(super) fn add(
    args: &FollowArgs,
    files: &[PathBuf],
    turns: Turns,
    (read, documents): (&ReadArgs, Option<Documents>),
    monitor: &Monitor,
    quiet: bool,
) -> anyhow::Result<ExitStatus> {
    if files.iter().any(|file| file != Path::new("-")) {
        bail!("--follow reads standard input; to add files, leave it out");
    }
    inputs(&[])?;
    let mut stream = Stream::start(read, documents);
    let mut following =
        Following { turns, buffered: Vec::new(), pushed: 0, durable: 0, out: stdout() };
    let mut schedule = CommitSchedule::new(&args.batch);
    let followed = following.follow(&mut stream, &mut schedule, monitor);
    // Whatever ended the stream, the records that came are added.
    monitor.forget_signal();
    let rest = following.commit(monitor);
    let Following { turns, durable, .. } = following;
    monitor.finish();
    let added = counted(durable, "record was added", "records were added");
    let status = conclude(followed, rest, &added)?;
    if status != ExitStatus::Done {
        return Ok(status);
    }
    if durable > 0 {
        turns.finish(monitor)?;
    }
    if !quiet {
        message!("{}", counted(durable, "record added", "records added"));
    }
    stream.finish()?;
    Ok(ExitStatus::Done)
}

impl Following {
    /// Takes records until the input or the user ends the stream.
    fn follow(
        &mut self,
        stream: &mut Stream,
        schedule: &mut CommitSchedule,
        monitor: &Monitor,
    ) -> anyhow::Result<()> {
        loop {
            let received = stream.next(schedule.time_left());
            monitor.check()?;
            match received {
                Received::Item(item) => self.buffered.push(item),
                Received::Empty(_) | Received::Bad(..) => {}
                Received::Nothing => self.turns.rest(),
                Received::End => return Ok(()),
            }
            if schedule.is_due(self.buffered.len() as u64 + self.pushed) {
                self.commit(monitor)?;
            } else if self.buffered.len() >= BUFFERED_MAX {
                self.push_all(monitor)?;
            }
        }
    }

    fn push_all(&mut self, monitor: &Monitor) -> anyhow::Result<()> {
        let writer = self.turns.writer(monitor)?;
        for item in self.buffered.drain(..) {
            push(writer, &item)?;
            self.pushed += 1;
        }
        Ok(())
    }

    /// Commits all records that came, and says so.
    fn commit(&mut self, monitor: &Monitor) -> anyhow::Result<()> {
        if self.buffered.is_empty() && self.pushed == 0 {
            return Ok(());
        }
        self.push_all(monitor)?;
        let committed = self.turns.commit()?;
        self.pushed = 0;
        self.durable += committed.report.record_count;
        self.turns.end();
        // A program that reads this line may forget the records.
        writeln!(self.out, "{}\t{}", self.durable, committed.generation)?;
        Ok(self.out.flush()?)
    }
}
