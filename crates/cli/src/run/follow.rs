//! `fpstore add --follow`: adds a stream of records in batches.

use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::bail;
use clap::Args;
use fpstore::Error;
use fpstore::input::InputOptions;
use fpstore::writer::{NewRecord, SharedWriter};

use super::adding::{merged, warn_unmerged};
use super::stream::{BatchArgs, CommitSchedule, Stream, conclude, when_free};
use crate::output::text::{Stdout, counted, stdout};
use crate::session::command::ExitStatus;
use crate::session::document_reader::{Documents, Received};
use crate::session::monitor::Monitor;

/// When this many records are buffered, they are passed to the writer before their batch is
/// complete, to limit the memory.
const BUFFERED_MAX: usize = 1 << 16;

/// Options to add records from a stream, and for when to commit them.
#[derive(Args, Debug)]
pub(crate) struct FollowArgs {
    /// Read lines from standard input until it ends, and commit them in batches
    #[arg(long)]
    follow: bool,
    #[command(flatten)]
    pub(crate) batch: BatchArgs,
}

impl FollowArgs {
    pub(crate) fn is_on(&self) -> bool {
        self.follow
    }

    /// With `--follow`, rejects input files: records come from standard input.
    pub(crate) fn check(&self, files: &[PathBuf]) -> anyhow::Result<()> {
        if self.follow && files.iter().any(|file| file != Path::new("-")) {
            bail!("--follow reads standard input; to add files, leave it out");
        }
        Ok(())
    }
}

/// The state while records of a stream are added to a store.
struct Following {
    writer: SharedWriter,
    /// Records not yet passed to the writer.
    buffered: Vec<NewRecord>,
    /// The number of records passed to the writer since the last commit.
    pushed: u64,
    durable: u64,
    /// Whether segments are merged after each commit; turned off when merging fails.
    is_merging: bool,
    out: Stdout,
}

/// Runs `fpstore add --follow`.
pub(crate) fn add(
    args: &FollowArgs,
    writer: SharedWriter,
    (lines, documents): (&InputOptions, Option<Documents>),
    monitor: &Monitor,
    (is_merging, quiet): (bool, bool),
) -> anyhow::Result<ExitStatus> {
    let mut stream = Stream::start(lines, documents);
    let mut following = Following {
        writer,
        buffered: Vec::new(),
        pushed: 0,
        durable: 0,
        is_merging,
        out: stdout(),
    };
    let mut schedule = CommitSchedule::new(&args.batch);
    let followed = following.follow(&mut stream, &mut schedule, monitor);
    // Whatever ended the stream, the received records are committed.
    monitor.forget_signal();
    let rest = following.commit(monitor);
    let Following { mut writer, durable, .. } = following;
    monitor.finish();
    let added = counted(durable, "record was added", "records were added");
    let status = conclude(followed, rest, &added)?;
    if status != ExitStatus::Done {
        return Ok(status);
    }
    if durable > 0 {
        when_free(monitor, || writer.writer().map(drop))?;
        merged(writer.finish(), monitor)?;
    }
    if !quiet {
        message!("{}", counted(durable, "record added", "records added"));
    }
    stream.finish()?;
    Ok(ExitStatus::Done)
}

impl Following {
    /// Receives records until the input ends or the user ends the stream.
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
                Received::Record(record) => self.buffered.push(record),
                Received::Empty(_) | Received::Bad(..) | Received::Nothing => {}
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
        when_free(monitor, || self.writer.writer().map(drop))?;
        let writer = self.writer.writer()?;
        for record in self.buffered.drain(..) {
            writer.push_record(&record)?;
            self.pushed += 1;
        }
        Ok(())
    }

    /// Commits all received records, and prints the total number of durable records.
    fn commit(&mut self, monitor: &Monitor) -> anyhow::Result<()> {
        if self.buffered.is_empty() && self.pushed == 0 {
            return Ok(());
        }
        self.push_all(monitor)?;
        // Signals are ignored here: stopping the commit would lose the records in the writer.
        let committed = monitor.deaf(|| self.writer.writer()?.commit_alone())?;
        self.pushed = 0;
        self.durable += committed.report.record_count;
        let merged = if self.is_merging { self.writer.writer()?.merge_due() } else { Ok(()) };
        // Releases the lock before the line is printed, because the program that reads the line may
        // write to the store at once.
        self.writer.end_turn();
        // Printed after the commit, because the program that reads the line may then discard its
        // copy of the records.
        writeln!(self.out, "{}\t{}", self.durable, committed.generation)?;
        self.out.flush()?;
        if let Err(error) = merged {
            monitor.check()?;
            self.is_merging = false;
            monitor.suspend(|| warn_unmerged(&Error::Unmerged { source: Box::new(error) }));
        }
        Ok(())
    }
}
