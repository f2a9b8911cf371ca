//! Streams of records from standard input, for `fpstore add --follow` and `fpstore dedup --add -`:
//! a reading thread, the schedule of commits, and the exit status.

use std::num::NonZeroU64;
use std::path::Path;
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use anyhow::{anyhow, bail};
use clap::Args;
use fpstore::Error;
use fpstore::input::{InputOptions, read_all_records};
use fpstore::writer::NewRecord;
use fpstore_documents::DocumentSummary;

use crate::args::documents::report;
use crate::args::inputs::report_guess;
use crate::output::bad_lines::BadLines;
use crate::output::exit::{is_closed_pipe, is_interrupted};
use crate::session::command::ExitStatus;
use crate::session::document_reader::{Documents, Received};
use crate::session::monitor::Monitor;

/// Maximum number of records in the queue between the reading thread and the writer.
const WAITING_MAX: usize = 1 << 12;
/// The longest wait for a record without a check for signals.
const WAIT_MAX: Duration = Duration::from_millis(100);
/// The pause between two attempts to take the writer lock.
const ATTEMPT_PAUSE: Duration = Duration::from_millis(50);

/// Options for when a batch is committed.
#[derive(Args, Debug)]
pub(crate) struct BatchArgs {
    /// For streams: commit after N records
    #[arg(long, value_name = "N", default_value = "1000", hide_short_help = true)]
    batch_count: NonZeroU64,
    /// For streams: commit at the latest after S seconds
    #[arg(long, value_name = "S", default_value_t = 1.0, value_parser = seconds, hide_short_help = true)]
    batch_seconds: f64,
}

fn seconds(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(seconds) if (0.0..=1e6).contains(&seconds) => Ok(seconds),
        _ => Err("expected a number of seconds from 0 to 1000000".into()),
    }
}

/// The records of standard input, which a separate thread reads.
pub(crate) struct Stream {
    received: Receiver<Received>,
    reader: JoinHandle<anyhow::Result<DocumentSummary>>,
    bad: BadLines,
}

impl Stream {
    /// Starts reading fingerprints, or documents if `documents` is given.
    pub(crate) fn start(lines: &InputOptions, documents: Option<Documents>) -> Self {
        let (sender, received) = sync_channel(WAITING_MAX);
        let options = *lines;
        let send = move |received| sender.send(received).map_err(|_| Error::Interrupted);
        let reader = std::thread::spawn(move || match documents {
            Some(documents) => documents.read_stream(send),
            None => read_fingerprints(&options, send),
        });
        Stream { received, reader, bad: BadLines::new(lines.skips_bad()) }
    }

    /// Waits for the next record or event, at most `wait` or [`WAIT_MAX`]; then returns `Nothing`.
    pub(crate) fn next(&mut self, wait: Duration) -> Received {
        match self.received.recv_timeout(wait.min(WAIT_MAX)) {
            Ok(received) => {
                if let Received::Bad(place, reason) = &received {
                    self.bad.note(*place, reason);
                }
                received
            }
            Err(RecvTimeoutError::Timeout) => Received::Nothing,
            Err(RecvTimeoutError::Disconnected) => Received::End,
        }
    }

    /// Waits for the end of the reading thread. Returns its error, or an error if there were bad
    /// records and the user has not allowed them.
    pub(crate) fn finish(self) -> anyhow::Result<()> {
        let read = self
            .reader
            .join()
            .map_err(|_| anyhow!("the thread that reads standard input has panicked"))?;
        report(&read?);
        self.bad.finish()
    }
}

fn read_fingerprints(
    options: &InputOptions,
    send: impl Fn(Received) -> Result<(), Error>,
) -> anyhow::Result<DocumentSummary> {
    let file = Path::new("-");
    let summary = read_all_records(file, options, |found| {
        send(match found {
            Ok(record) => {
                let id = record.id.map(|id| id.to_id());
                Received::Record(NewRecord::new(record.fingerprint, id))
            }
            Err(bad) => Received::Bad(bad.place, bad.reason.clone()),
        })
    })?;
    report_guess(file, &summary);
    Ok(DocumentSummary::default())
}

/// Decides when to commit: at a number of records, or after a time.
pub(crate) struct CommitSchedule {
    count_max: u64,
    wait: Duration,
    since: Option<Instant>,
}

impl CommitSchedule {
    pub(crate) fn new(args: &BatchArgs) -> Self {
        let wait = Duration::from_secs_f64(args.batch_seconds);
        CommitSchedule { count_max: args.batch_count.get(), wait, since: None }
    }

    /// How long to wait for the next record before a commit may be due.
    pub(crate) fn time_left(&self) -> Duration {
        self.since.map_or(WAIT_MAX, |since| self.wait.saturating_sub(since.elapsed()))
    }

    /// Whether to commit now; `pending` is the number of uncommitted records.
    pub(crate) fn is_due(&mut self, pending: u64) -> bool {
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

/// Repeats `attempt` while another process holds the writer lock. Returns an error after a signal.
pub(crate) fn when_free<T>(
    monitor: &Monitor,
    mut attempt: impl FnMut() -> Result<T, Error>,
) -> Result<T, Error> {
    loop {
        match attempt() {
            Err(Error::Locked { .. }) => monitor.check()?,
            done => return done,
        }
        std::thread::sleep(ATTEMPT_PAUSE);
    }
}

/// Prints the message at the end of a stream, and returns the exit status. `served` is the result
/// of processing the stream, `rest` the result of the last commit, and `added` a text with the
/// number of added records.
pub(crate) fn conclude(
    served: anyhow::Result<()>,
    rest: anyhow::Result<()>,
    added: &str,
) -> anyhow::Result<ExitStatus> {
    let error = match (served, rest) {
        (Ok(()), Ok(())) => return Ok(ExitStatus::Done),
        // If both failed, the error of the commit is reported, because records may be lost.
        (_, Err(error)) if !is_closed_pipe(&error) => error,
        (Err(error), _) | (_, Err(error)) => error,
    };
    if is_interrupted(&error) {
        message!("interrupted; {added}");
        return Ok(ExitStatus::Interrupted);
    }
    // A closed output is an error here, unlike in other commands: records lack their answers.
    if is_closed_pipe(&error) {
        bail!("standard output was closed; {added}, and later input was not read");
    }
    message!("{added} before this");
    Err(error)
}
