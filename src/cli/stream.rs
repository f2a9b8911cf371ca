//! Records of standard input as they come, and when to commit them, for `fpstore add --follow` and
//! `fpstore dedup --add -`.

use std::io::Write;
use std::num::NonZeroU64;
use std::path::Path;
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use anyhow::{anyhow, bail};
use clap::Args;
use fpstore::input::{InputOptions, read_all_records};
use fpstore::{Error, Fingerprint, Id, InputPlace, Writer};
use fpstore_text::DocumentSummary;
use serde::Serialize;

use super::command::ExitStatus;
use super::document_reader::Documents;
use super::documents::report;
use super::inputs::ReadArgs;
use super::output::counted;
use super::{is_closed_pipe, is_interrupted};

/// The number of records that may wait between the reader and the writer.
const WAITING_MAX: usize = 1 << 12;
/// The number of bad records that are printed.
const SHOWN_MAX: u64 = 10;
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
    /// Empty unless the store keeps sketches.
    pub(super) sketch: Vec<u8>,
}

impl Item {
    /// The id as it is printed; nothing if there is none.
    pub(super) fn id_text(&self) -> String {
        self.id.as_ref().map(ToString::to_string).unwrap_or_default()
    }
}

/// The records of standard input, read by a thread of its own.
pub(super) struct Stream {
    received: Receiver<Received>,
    reader: JoinHandle<anyhow::Result<DocumentSummary>>,
    bad: BadLines,
}

/// The result of waiting for a record.
pub(super) enum Received {
    Item(Item),
    /// A document without features has no fingerprint.
    Empty(Id),
    /// The place of a bad record, and what is wrong with it.
    Bad(InputPlace, String),
    Nothing,
    End,
}

impl Stream {
    /// Starts to read fingerprints, or documents if there are any.
    pub(super) fn start(read: &ReadArgs, documents: Option<Documents>) -> Self {
        let (sender, received) = sync_channel(WAITING_MAX);
        let options = read.options();
        let send = move |received| sender.send(received).map_err(|_| Error::Interrupted);
        let reader = std::thread::spawn(move || match documents {
            Some(documents) => documents.read_stream(send),
            None => read_fingerprints(&options, send),
        });
        Stream { received, reader, bad: BadLines::new(read.skip_bad) }
    }

    /// The next record, or what else there is to say within a short time.
    pub(super) fn next(&mut self, wait: Duration) -> Received {
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

    /// Fails with the error that ended the reading, or if there were bad records that the user has
    /// not allowed.
    pub(super) fn finish(self) -> anyhow::Result<()> {
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
    read_all_records(Path::new("-"), options, |found| {
        send(match found {
            Ok(record) => Received::Item(Item {
                fingerprint: record.fingerprint,
                id: record.id.map(|id| id.to_id()),
                sketch: Vec::new(),
            }),
            Err(bad) => Received::Bad(bad.place, bad.reason.clone()),
        })
    })?;
    Ok(DocumentSummary::default())
}

/// Bad records of standard input, which are answered one by one and end nothing.
pub(super) struct BadLines {
    are_allowed: bool,
    count: u64,
}

/// A bad record as an answer in JSON.
#[derive(Serialize)]
struct BadAnswer<'a> {
    place: String,
    error: &'a str,
}

/// Writes a bad record as one JSON object on one line.
pub(super) fn write_bad(
    out: &mut impl Write,
    place: InputPlace,
    error: &str,
) -> anyhow::Result<()> {
    serde_json::to_writer(&mut *out, &BadAnswer { place: place.to_string(), error })?;
    Ok(writeln!(out)?)
}

impl BadLines {
    pub(super) fn new(are_allowed: bool) -> Self {
        BadLines { are_allowed, count: 0 }
    }

    /// Counts a bad record; the first ones are printed.
    pub(super) fn note(&mut self, place: InputPlace, reason: &str) {
        self.count += 1;
        if self.count <= SHOWN_MAX {
            message!("standard input: {place}: {reason}");
        }
    }

    /// Prints how many there were, and fails unless that is allowed.
    pub(super) fn finish(&self) -> anyhow::Result<()> {
        if self.count == 0 {
            return Ok(());
        }
        let count = counted(self.count, "bad record", "bad records");
        if !self.are_allowed {
            bail!("standard input: {count} skipped; --skip-bad makes that no error");
        }
        message!("standard input: {count} skipped");
        Ok(())
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
        Some(id) => writer.push_sketched(item.fingerprint, id.as_ref(), &item.sketch),
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
