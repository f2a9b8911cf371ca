//! Records of standard input as they come, and when to commit them, for `fpstore add --follow` and
//! `fpstore dedup --add -`.

use std::num::NonZeroU64;
use std::path::Path;
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use anyhow::{anyhow, bail};
use clap::Args;
use fpstore::input::{InputSummary, read_records};
use fpstore::{Error, Fingerprint, Id, Writer};

use super::command::ExitStatus;
use super::inputs::ReadArgs;
use super::{is_closed_pipe, is_interrupted};

/// The number of records that may wait between the reader and the writer.
const WAITING_MAX: usize = 1 << 12;
/// How long to wait for a record before checking for a signal.
const WAIT_MAX: Duration = Duration::from_millis(100);

/// The size of batches.
#[derive(Args, Debug)]
pub(super) struct BatchArgs {
    /// For streams: commit after N records
    #[arg(long, value_name = "N", default_value = "1000", hide_short_help = true)]
    batch_count: NonZeroU64,
    /// For streams: commit after S seconds, even fewer records
    #[arg(long, value_name = "S", default_value_t = 1.0, value_parser = seconds, hide_short_help = true)]
    batch_seconds: f64,
}

fn seconds(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(seconds) if (0.0..=1e6).contains(&seconds) => Ok(seconds),
        _ => Err("expected a number of seconds from 0 to 1000000".into()),
    }
}

/// A record of a stream.
pub(super) struct Item {
    pub(super) fingerprint: Fingerprint,
    pub(super) id: Option<Id>,
}

/// The records of standard input, read by a thread of its own.
pub(super) struct Stream {
    items: Receiver<Item>,
    reader: JoinHandle<Result<InputSummary, Error>>,
}

/// The result of waiting for a record.
pub(super) enum Received {
    Item(Item),
    Nothing,
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

    pub(super) fn next(&self, wait: Duration) -> Received {
        match self.items.recv_timeout(wait.min(WAIT_MAX)) {
            Ok(item) => Received::Item(item),
            Err(RecvTimeoutError::Timeout) => Received::Nothing,
            Err(RecvTimeoutError::Disconnected) => Received::End,
        }
    }

    /// Returns how reading ended.
    pub(super) fn finish(self) -> anyhow::Result<InputSummary> {
        let read = self
            .reader
            .join()
            .map_err(|_| anyhow!("the thread that reads standard input has panicked"))?;
        Ok(read?)
    }
}

/// Decides when to commit.
pub(super) struct CommitSchedule {
    count_max: u64,
    wait: Duration,
    since: Option<Instant>,
}

impl CommitSchedule {
    pub(super) fn new(args: &BatchArgs) -> Self {
        let wait = Duration::from_secs_f64(args.batch_seconds);
        CommitSchedule { count_max: args.batch_count.get(), wait, since: None }
    }

    /// How long to wait for the next record.
    pub(super) fn time_left(&self) -> Duration {
        self.since.map_or(WAIT_MAX, |since| self.wait.saturating_sub(since.elapsed()))
    }

    /// Whether to commit now, with `pending` records that wait for it.
    pub(super) fn is_due(&mut self, pending: u64) -> bool {
        if pending == 0 {
            self.since = None;
            return false;
        }
        let since = *self.since.get_or_insert_with(Instant::now);
        let due = pending >= self.count_max || since.elapsed() >= self.wait;
        if due {
            self.since = None;
        }
        due
    }
}

/// Adds a record to the writer.
pub(super) fn push(writer: &mut Writer, item: &Item) -> Result<(), Error> {
    match &item.id {
        Some(id) => writer.push(item.fingerprint, id.as_ref()),
        None => writer.push_bare(item.fingerprint),
    }
}

/// What the end of a stream means for the program: `served` says how the stream ended, `rest` how
/// its last commit did, and `added` what it has added in all.
pub(super) fn conclude(
    served: anyhow::Result<()>,
    rest: anyhow::Result<()>,
    added: &str,
) -> anyhow::Result<ExitStatus> {
    let error = match (served, rest) {
        (Ok(()), Ok(())) => return Ok(ExitStatus::Done),
        // Worse than anything that may have ended the stream.
        (_, Err(error)) if !is_closed_pipe(&error) => error,
        (Err(error), _) | (_, Err(error)) => error,
    };
    if is_interrupted(&error) {
        message!("interrupted; {added}");
        return Ok(ExitStatus::Interrupted);
    }
    // For other commands this is no error; here somebody waits for answers that do not come.
    if is_closed_pipe(&error) {
        bail!("standard output was closed; {added}, and what followed was not read");
    }
    message!("{added} before this");
    Err(error)
}
