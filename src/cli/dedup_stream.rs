//! `fpstore dedup --add` on a stream: is it new? Then it is remembered.

use std::io::{self, BufWriter, StdoutLock, Write};
use std::path::Path;

use fpstore::{Answer, Fingerprint, Limits, Searcher, Writer, WriterOptions};

use super::Verdict;
use super::build::{inputs, report_skipped};
use super::effort::{EffortArgs, INTERRUPTED, Work};
use super::follow::{Batch, BatchArgs, Item, Stream, Waited, commit, push};
use super::join_input::ReadArgs;
use super::output::{IdPrinter, counted, stdout};

/// What was said of the records so far.
struct Asker {
    k: u32,
    writer: Writer,
    searcher: Searcher,
    /// Records that are not in the store yet.
    waiting: Vec<Item>,
    printer: IdPrinter,
    out: BufWriter<StdoutLock<'static>>,
    new_count: u64,
    count: u64,
}

pub(super) fn run(
    path: &Path,
    k: u32,
    label: &str,
    batch: &BatchArgs,
    read: &ReadArgs,
    effort: &EffortArgs,
    quiet: bool,
) -> anyhow::Result<Verdict> {
    inputs(&[])?;
    let work = Work::start(effort, quiet)?;
    let mut options = WriterOptions::default().label(label);
    effort.limit(&mut options, &work);
    let writer = Writer::with_options(path, options)?;
    let searcher = writer.store().searcher();
    let mut asker = Asker {
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
    let mut batch = Batch::new(batch);
    let ended = loop {
        let waited = stream.next(batch.left());
        let is_end = matches!(waited, Waited::End);
        if let Waited::For(item) = waited {
            asker.ask(item)?;
        }
        let interrupted = work.check();
        let is_last = is_end || interrupted.is_err();
        if batch.is_due(asker.waiting.len() as u64) || (is_last && !asker.waiting.is_empty()) {
            asker.commit(is_last, &work)?;
        }
        // Where each is committed by itself, it is durable before it is answered.
        asker.out.flush()?;
        if is_last {
            break interrupted;
        }
    };
    let (count, new_count) = (asker.count, asker.new_count);
    work.done();
    if !quiet {
        say!(
            "fpstore: {}: {} new and added",
            counted(count, "record", "records"),
            counted(new_count, "was", "were"),
        );
    }
    if ended.is_err() {
        std::process::exit(INTERRUPTED.into());
    }
    let summary = stream.finish()?;
    drop(asker.searcher);
    asker.writer.finish()?;
    report_skipped(Path::new("-"), &summary);
    Ok(Verdict::Yes)
}

impl Asker {
    /// Answers for one record, and remembers it if it is new.
    fn ask(&mut self, item: Item) -> anyhow::Result<()> {
        self.count += 1;
        let (needle, k) = (item.fingerprint, self.k);
        let limits = Limits::default().max_matches(1);
        let stored = self.searcher.search_within(needle, k, &limits)?;
        let nearest = stored.hits().next().map(|hit| hit.distance());
        let waiting = self.waiting.iter().map(|item| item.fingerprint.distance(needle));
        let waiting = waiting.zip(&self.waiting).min_by_key(|(distance, _)| *distance);
        let waiting = waiting.filter(|(distance, _)| *distance <= k);
        // The stored one is the older one, so it is named where both are as near.
        match (nearest, waiting) {
            (Some(stored_at), Some((at, other))) if at < stored_at => {
                let id = other.id.as_ref().map(ToString::to_string).unwrap_or_default();
                near(&mut self.out, &self.printer, &item, (other.fingerprint, at), &id)?;
            }
            (Some(_), _) => {
                let (found, id) = first_of(&stored)?;
                near(&mut self.out, &self.printer, &item, found, &id)?;
            }
            (None, Some((at, other))) => {
                let id = other.id.as_ref().map(ToString::to_string).unwrap_or_default();
                near(&mut self.out, &self.printer, &item, (other.fingerprint, at), &id)?;
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

    fn commit(&mut self, is_last: bool, work: &Work) -> anyhow::Result<()> {
        commit(&mut self.writer, is_last, work)?;
        self.waiting.clear();
        let store = self.writer.store().clone();
        self.searcher.follow(&store);
        Ok(())
    }
}

/// The nearest match and its first id.
fn first_of(answer: &Answer<'_>) -> anyhow::Result<((Fingerprint, u32), String)> {
    let Some(hit) = answer.hits().next() else { return Ok(Default::default()) };
    let id = hit.ids().next().transpose()?.map(|id| id.to_string()).unwrap_or_default();
    Ok(((hit.fingerprint(), hit.distance()), id))
}

fn near(
    out: &mut impl Write,
    printer: &IdPrinter,
    item: &Item,
    (other, distance): (Fingerprint, u32),
    other_id: &str,
) -> io::Result<()> {
    let id = item.id.as_ref().map(ToString::to_string).unwrap_or_default();
    writeln!(
        out,
        "near\t{}\t{}\t{other}\t{distance}\t{}",
        item.fingerprint,
        printer.show_column(&id),
        printer.show(other_id)
    )
}
