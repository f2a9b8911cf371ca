//! `fpstore dedup --add -`: answers the records of a stream, and adds the new ones.

use std::io::{self, Write};
use std::time::Duration;

use anyhow::{Context, bail};
use fpstore::{Answer, Fingerprint, Searcher};

use super::command::ExitStatus;
use super::document_reader::Documents;
use super::inputs::{ReadArgs, inputs};
use super::monitor::Monitor;
use super::output::{IdPrinter, Stdout, counted, stdout};
use super::stream::{BatchArgs, CommitSchedule, Item, Received, Stream, conclude, push};
use super::turns::Turns;

/// The state of a stream that is being answered.
struct StreamDedup {
    k: u32,
    turns: Turns,
    /// Searches the store as it is in this turn.
    searcher: Option<Searcher>,
    /// New records that are not committed yet.
    waiting: Vec<Item>,
    printer: IdPrinter,
    out: Stdout,
    added: u64,
    count: u64,
}

pub(super) fn run(
    turns: Turns,
    k: u32,
    batch: &BatchArgs,
    (read, documents): (&ReadArgs, Option<Documents>),
    monitor: &Monitor,
    quiet: bool,
) -> anyhow::Result<ExitStatus> {
    inputs(&[])?;
    let mut stream_dedup = StreamDedup {
        k,
        turns,
        searcher: None,
        waiting: Vec::new(),
        printer: IdPrinter::for_stdout(),
        out: stdout(),
        added: 0,
        count: 0,
    };
    let mut stream = Stream::start(read, documents);
    let served = stream_dedup.serve(&mut stream, &mut CommitSchedule::new(batch), monitor);
    // Whatever ended the stream, the records that were answered 'new' are added.
    monitor.forget_signal();
    let rest = stream_dedup.commit();
    // Answers follow the commit.
    let rest = rest.and_then(|()| Ok(stream_dedup.out.flush()?));
    monitor.finish();
    let StreamDedup { turns, count, added, .. } = stream_dedup;
    let is_changed = added > 0;
    let added = format!(
        "{}: {} new and added",
        counted(count, "record", "records"),
        counted(added, "was", "were"),
    );
    let status = conclude(served, rest, &added)?;
    if status != ExitStatus::Done {
        return Ok(status);
    }
    if is_changed {
        turns.finish(monitor)?;
    }
    if !quiet {
        message!("{added}");
    }
    stream.finish()?;
    Ok(ExitStatus::Done)
}

impl StreamDedup {
    /// Answers records until the input or the user ends the stream.
    fn serve(
        &mut self,
        stream: &mut Stream,
        schedule: &mut CommitSchedule,
        monitor: &Monitor,
    ) -> anyhow::Result<()> {
        loop {
            // A turn does not wait for input unless records wait for their commit.
            let is_idle_turn = self.turns.is_held() && self.waiting.is_empty();
            let wait = if is_idle_turn { Duration::ZERO } else { schedule.time_left() };
            let received = stream.next(wait);
            monitor.check()?;
            let is_pause = matches!(received, Received::Nothing);
            match received {
                Received::Item(item) => self.answer(item, monitor)?,
                Received::Empty(id) => {
                    self.count += 1;
                    writeln!(self.out, "empty\t\t{}", self.printer.show(&id.to_string()))?;
                }
                Received::Bad(place, reason) => {
                    writeln!(
                        self.out,
                        "bad\t\t{}",
                        self.printer.show(&format!("{place}: {reason}"))
                    )?;
                }
                Received::Nothing => self.turns.rest(),
                Received::End => return Ok(()),
            }
            if schedule.is_due(self.waiting.len() as u64) {
                self.commit()?;
            }
            // This flush comes after the commit: with --batch-count 1 a record is durable before
            // its answer is printed.
            self.out.flush()?;
            if self.turns.is_held() && self.waiting.is_empty() && (is_pause || self.turns.is_long())
            {
                self.turns.end();
            }
        }
    }

    /// Prints the answer for one record, and adds the record if it is new.
    fn answer(&mut self, item: Item, monitor: &Monitor) -> anyhow::Result<()> {
        self.count += 1;
        let is_new_turn = !self.turns.is_held();
        let writer = self.turns.writer(monitor)?;
        if is_new_turn {
            // Others may have added records meanwhile; from here to the commit nobody can.
            self.searcher = Some(writer.store().searcher());
        }
        let Some(searcher) = &mut self.searcher else { bail!("there is no store to search") };
        let (needle, k) = (item.fingerprint, self.k);
        let stored = searcher.nearest(needle, 1, k)?;
        let nearest = stored.hits().next().map(|hit| hit.distance());
        let waiting = self.waiting.iter().map(|item| item.fingerprint.distance(needle));
        let waiting = waiting.zip(&self.waiting).min_by_key(|(distance, _)| *distance);
        let waiting = waiting.filter(|(distance, _)| *distance <= k);
        // Of two records at the same distance, the stored one is named: it is older.
        match (nearest, waiting) {
            (Some(stored_at), Some((at, other))) if at < stored_at => {
                write_near(&mut self.out, &self.printer, &item, &Nearest::waiting(other, at))?;
            }
            (Some(_), _) => {
                let nearest = first_of(&stored)?;
                write_near(&mut self.out, &self.printer, &item, &nearest)?;
            }
            (None, Some((at, other))) => {
                let nearest = Nearest::waiting(other, at);
                write_near(&mut self.out, &self.printer, &item, &nearest)?;
            }
            (None, None) => {
                push(writer, &item)?;
                writeln!(self.out, "new\t{needle}\t{}", self.printer.show(&item.id_text()))?;
                self.waiting.push(item);
            }
        }
        Ok(())
    }

    /// Adds the records that were answered 'new'.
    fn commit(&mut self) -> anyhow::Result<()> {
        if self.waiting.is_empty() {
            return Ok(());
        }
        let committed = self.turns.commit().with_context(|| {
            let count = counted(self.waiting.len() as u64, "record", "records");
            format!("{count} answered 'new' could not be added")
        })?;
        self.added += committed.report.record_count;
        self.waiting.clear();
        if let (Some(searcher), Some(store)) = (&mut self.searcher, self.turns.store()) {
            searcher.follow(store);
        }
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

impl Nearest {
    /// A record that waits for its commit.
    fn waiting(item: &Item, distance: u32) -> Self {
        Nearest { fingerprint: item.fingerprint, distance, id: item.id_text() }
    }
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
    writeln!(
        out,
        "near\t{}\t{}\t{}\t{}\t{}",
        item.fingerprint,
        printer.show_column(&item.id_text()),
        nearest.fingerprint,
        nearest.distance,
        printer.show(&nearest.id)
    )
}
