//! `fpstore add --follow` and `fpstore dedup --add` on a stream: records line by line, durable a batch at a time.

use std::io::Write;
use std::num::NonZeroU64;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use anyhow::{anyhow, bail};
use clap::Args;
use fpstore::{Error, Fingerprint, Id, InputSummary, Writer, read_records};

use super::Verdict;
use super::build::{inputs, report_skipped};
use super::effort::Work;
use super::join_input::ReadArgs;
use super::output::{counted, stdout};

/// Records that wait between the reader and the writer.
const WAITING_MAX: usize = 1 << 12;
/// How long to wait for a record before asking whether to go on.
const PATIENCE: Duration = Duration::from_millis(100);

/// When to commit.
#[derive(Args, Debug)]
pub(super) struct FollowArgs {
    /// Read lines from standard input for as long as they come, and commit them in batches
    #[arg(long)]
    follow: bool,
    #[command(flatten)]
    pub(super) batch: BatchArgs,
}

/// How large batches of a stream are.
#[derive(Args, Debug)]
pub(super) struct BatchArgs {
    /// Of a stream: commit so many records at a time
    #[arg(long, value_name = "N", default_value = "1000")]
    batch_count: NonZeroU64,
    /// Of a stream: commit what came within so many seconds, though it be fewer
    #[arg(long, value_name = "S", default_value_t = 1.0, value_parser = seconds)]
    batch_seconds: f64,
}

fn seconds(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(seconds) if (0.0..=1e6).contains(&seconds) => Ok(seconds),
        _ => Err("expected a number of seconds from 0 to 1000000".into()),
    }
}

impl FollowArgs {
    pub(super) fn is_on(&self) -> bool {
        self.follow
    }
}

/// A record of a stream.
pub(super) struct Item {
    pub(super) fingerprint: Fingerprint,
    pub(super) id: Option<Id>,
}

/// Records of standard input as they come, read on a thread of their own.
pub(super) struct Stream {
    items: Receiver<Item>,
    reader: JoinHandle<Result<InputSummary, Error>>,
}

/// What came of waiting for a record.
pub(super) enum Waited {
    For(Item),
    InVain,
    End,
}

impl Stream {
    pub(super) fn start(read: &ReadArgs) -> Self {
        let (sender, items) = sync_channel(WAITING_MAX);
        let options = read.options();
        let reader = std::thread::spawn(move || {
            read_records(Path::new("-"), &options, |record| {
                let id = record.id.map(|id| id.to_id());
                let item = Item { fingerprint: record.fingerprint, id };
                sender.send(item).map_err(|_| Error::Interrupted)
            })
        });
        Stream { items, reader }
    }

    pub(super) fn next(&self, patience: Duration) -> Waited {
        match self.items.recv_timeout(patience.min(PATIENCE)) {
            Ok(item) => Waited::For(item),
            Err(RecvTimeoutError::Timeout) => Waited::InVain,
            Err(RecvTimeoutError::Disconnected) => Waited::End,
        }
    }

    /// After the end: whether it was one, or an error.
    pub(super) fn finish(self) -> anyhow::Result<InputSummary> {
        let read = self.reader.join().map_err(|_| anyhow!("the thread that read it is gone"))?;
        Ok(read?)
    }
}

/// Knows when a batch is due.
pub(super) struct Batch {
    count_max: u64,
    patience: Duration,
    since: Option<Instant>,
}

impl Batch {
    pub(super) fn new(args: &BatchArgs) -> Self {
        let patience = Duration::from_secs_f64(args.batch_seconds);
        Batch { count_max: args.batch_count.get(), patience, since: None }
    }

    /// How long to wait for more.
    pub(super) fn left(&self) -> Duration {
        self.since.map_or(PATIENCE, |since| self.patience.saturating_sub(since.elapsed()))
    }

    /// Notes a record that waits, and says whether they are enough.
    pub(super) fn is_due(&mut self, pending: u64) -> bool {
        if pending == 0 {
            self.since = None;
            return false;
        }
        let since = *self.since.get_or_insert_with(Instant::now);
        let due = pending >= self.count_max || since.elapsed() >= self.patience;
        if due {
            self.since = None;
        }
        due
    }
}

/// Pushes a record as it came.
pub(super) fn push(writer: &mut Writer, item: &Item) -> Result<(), Error> {
    match &item.id {
        Some(id) => writer.push(item.fingerprint, id.as_ref()),
        None => writer.push_bare(item.fingerprint),
    }
}

/// `fpstore add --follow`.
pub(super) fn add(
    args: &FollowArgs,
    files: &[PathBuf],
    mut writer: Writer,
    read: &ReadArgs,
    work: &Work,
    quiet: bool,
) -> anyhow::Result<Verdict> {
    if files.iter().any(|file| file != Path::new("-")) {
        bail!("--follow reads standard input; without it, files are added as a whole");
    }
    inputs(&[])?;
    let stream = Stream::start(read);
    let mut batch = Batch::new(&args.batch);
    let mut durable = 0;
    let mut out = stdout();
    let ended = loop {
        let waited = stream.next(batch.left());
        if let Waited::For(item) = &waited {
            push(&mut writer, item)?;
        }
        let interrupted = work.check();
        let is_last = matches!(waited, Waited::End) || interrupted.is_err();
        if batch.is_due(writer.pending_count()) || (is_last && writer.pending_count() > 0) {
            let committed = commit(&mut writer, is_last, work)?;
            durable += committed.report.record_count;
            // Whoever reads this may forget the records.
            writeln!(out, "{durable}\t{}", committed.generation)?;
            out.flush()?;
        }
        if is_last {
            break interrupted;
        }
    };
    if ended.is_err() {
        work.done();
        say!("fpstore: interrupted; {} added", counted(durable, "record was", "records were"));
        std::process::exit(super::effort::INTERRUPTED.into());
    }
    let summary = stream.finish()?;
    writer.finish()?;
    work.done();
    report_skipped(Path::new("-"), &summary);
    if !quiet {
        say!("fpstore: {} added", counted(durable, "record", "records"));
    }
    Ok(Verdict::Yes)
}

/// Commits a batch. What was taken before an interruption is committed still, so the last one does not listen.
pub(super) fn commit(
    writer: &mut Writer,
    is_last: bool,
    work: &Work,
) -> anyhow::Result<fpstore::Committed> {
    if is_last {
        work.deafen();
    }
    Ok(writer.commit()?)
}
