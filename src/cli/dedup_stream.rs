//! `fpstore dedup --add -`: answers the records of a stream, and adds the new ones.

use std::io::{self, BufWriter, StdoutLock, Write};
use std::path::Path;

use fpstore::{Answer, Fingerprint, Limits, Searcher, Writer, WriterOptions};

use super::command::ExitStatus;
use super::follow::{BatchArgs, CommitSchedule, Item, Received, Stream, commit, push};
use super::inputs::{ReadArgs, inputs, report_skipped};
use super::monitor::{INTERRUPTED, Monitor};
use super::output::{IdPrinter, counted, stdout};
use super::resources::ResourceArgs;

/// The state of a stream that is being answered.
struct StreamDedup {
    k: u32,
    writer: Writer,
    searcher: Searcher,
    /// New records that are not committed yet.
    waiting: Vec<Item>,
    printer: IdPrinter,
    out: BufWriter<StdoutLock<'static>>,
    new_count: u64,
    count: u64,
}

pub(super) fn run(
    path: &Path,
    k: u32,
    options: WriterOptions,
    batch: &BatchArgs,
    read: &ReadArgs,
    resources: &ResourceArgs,
    quiet: bool,
) -> anyhow::Result<ExitStatus> {
    inputs(&[])?;
    let monitor = resources.monitor(quiet)?;
    let options = resources.limit(options, &monitor);
    let writer = Writer::with_options(path, options)?;
    let searcher = writer.store().searcher();
    let mut stream_dedup = StreamDedup {
        k,
        writer,
        searcher,
        waiting: Vec::new(),
        printer: IdPrinter::for_stdout(),
        out: stdout(),
        new_count: 0,
        count: 0,
    };
    let stream = Stream::start(read);
    let mut batch = CommitSchedule::new(batch);
    let ended = loop {
        let received = stream.next(batch.time_left());
        let is_end = matches!(received, Received::End);
        if let Received::Item(item) = received {
            stream_dedup.answer(item)?;
        }
        let interrupted = monitor.check();
        let is_last = is_end || interrupted.is_err();
        if batch.is_due(stream_dedup.waiting.len() as u64)
            || (is_last && !stream_dedup.waiting.is_empty())
        {
            stream_dedup.commit(is_last, &monitor)?;
        }
        // This flush comes after the commit: with --batch-count 1 a record is durable before its
        // answer is printed.
        stream_dedup.out.flush()?;
        if is_last {
            break interrupted;
        }
    };
    let (count, new_count) = (stream_dedup.count, stream_dedup.new_count);
    monitor.finish();
    if !quiet {
        message!(
            "{}: {} new and added",
            counted(count, "record", "records"),
            counted(new_count, "was", "were"),
        );
    }
    if ended.is_err() {
        std::process::exit(INTERRUPTED.into());
    }
    let summary = stream.finish()?;
    drop(stream_dedup.searcher);
    stream_dedup.writer.finish()?;
    report_skipped(Path::new("-"), &summary);
    Ok(ExitStatus::Done)
}

impl StreamDedup {
    /// Prints the answer for one record, and adds the record if it is new.
    fn answer(&mut self, item: Item) -> anyhow::Result<()> {
        self.count += 1;
        let (needle, k) = (item.fingerprint, self.k);
        let limits = Limits::default().max_matches(1);
        let stored = self.searcher.search_with(needle, k, &limits)?;
        let nearest = stored.hits().next().map(|hit| hit.distance());
        let waiting = self.waiting.iter().map(|item| item.fingerprint.distance(needle));
        let waiting = waiting.zip(&self.waiting).min_by_key(|(distance, _)| *distance);
        let waiting = waiting.filter(|(distance, _)| *distance <= k);
        // Of two records at the same distance, the stored one is named: it is older.
        match (nearest, waiting) {
            (Some(stored_at), Some((at, other))) if at < stored_at => {
                let id = other.id.as_ref().map(ToString::to_string).unwrap_or_default();
                let nearest = Nearest { fingerprint: other.fingerprint, distance: at, id };
                write_near(&mut self.out, &self.printer, &item, &nearest)?;
            }
            (Some(_), _) => {
                let nearest = first_of(&stored)?;
                write_near(&mut self.out, &self.printer, &item, &nearest)?;
            }
            (None, Some((at, other))) => {
                let id = other.id.as_ref().map(ToString::to_string).unwrap_or_default();
                let nearest = Nearest { fingerprint: other.fingerprint, distance: at, id };
                write_near(&mut self.out, &self.printer, &item, &nearest)?;
            }
            (None, None) => {
                push(&mut self.writer, &item)?;
                let id = item.id.as_ref().map(ToString::to_string).unwrap_or_default();
                writeln!(self.out, "new\t{needle}\t{}", self.printer.show(&id))?;
                self.new_count += 1;
                self.waiting.push(item);
            }
        }
        Ok(())
    }

    fn commit(&mut self, is_last: bool, monitor: &Monitor) -> anyhow::Result<()> {
        commit(&mut self.writer, is_last, monitor)?;
        self.waiting.clear();
        let store = self.writer.store().clone();
        self.searcher.follow(&store);
        Ok(())
    }
}

/// The nearest earlier record of a record.
#[derive(Default)]
struct Nearest {
    fingerprint: Fingerprint,
    distance: u32,
    id: String,
}

/// The nearest match and its first id.
fn first_of(answer: &Answer<'_>) -> anyhow::Result<Nearest> {
    let Some(hit) = answer.hits().next() else { return Ok(Default::default()) };
    let id = hit.ids().next().transpose()?.map(|id| id.to_string()).unwrap_or_default();
    Ok(Nearest { fingerprint: hit.fingerprint(), distance: hit.distance(), id })
}

fn write_near(
    out: &mut impl Write,
    printer: &IdPrinter,
    item: &Item,
    nearest: &Nearest,
) -> io::Result<()> {
    let id = item.id.as_ref().map(ToString::to_string).unwrap_or_default();
    writeln!(
        out,
        "near\t{}\t{}\t{}\t{}\t{}",
        item.fingerprint,
        printer.show_column(&id),
        nearest.fingerprint,
        nearest.distance,
        printer.show(&nearest.id)
    )
}
