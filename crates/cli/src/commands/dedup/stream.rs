//! `fpstore dedup --add -`: answers the records of a stream, and adds the new ones.

use std::io::{self, Write};
use std::time::Duration;

use anyhow::{Context, bail};
use fpstore::input::InputOptions;
use fpstore::writer::{CheckedWriter, NewRecord, Verdict};
use fpstore::{Fingerprint, Id, Width};

use crate::args::inputs::inputs;
use crate::output::text::{IdPrinter, Stdout, counted, stdout};
use crate::run::adding::merged;
use crate::run::stream::{BatchArgs, CommitSchedule, Stream, conclude, when_free};
use crate::session::command::ExitStatus;
use crate::session::document_reader::{Documents, Received};
use crate::session::monitor::Monitor;

/// The state while a stream is read: the writer, the output and the counts.
struct StreamDedup {
    k: u32,
    writer: CheckedWriter,
    out: Answers,
    added: u64,
    count: u64,
}

pub(crate) fn run(
    writer: CheckedWriter,
    (k, width): (u32, Width),
    batch: &BatchArgs,
    (lines, documents): (&InputOptions, Option<Documents>),
    monitor: &Monitor,
    quiet: bool,
) -> anyhow::Result<ExitStatus> {
    inputs(&[])?;
    let out = Answers { width, printer: IdPrinter::for_stdout(), out: stdout() };
    let mut stream_dedup = StreamDedup { k, writer, out, added: 0, count: 0 };
    let mut stream = Stream::start(lines, documents);
    let served = stream_dedup.serve(&mut stream, &mut CommitSchedule::new(batch), monitor);
    // Records answered 'new' are committed even if a signal ended the stream.
    monitor.forget_signal();
    let rest = stream_dedup.commit(monitor);
    // Answers are printed after the commit, so that a record answered 'new' is durable.
    let rest = rest.and_then(|()| Ok(stream_dedup.out.out.flush()?));
    monitor.finish();
    let StreamDedup { mut writer, count, added, .. } = stream_dedup;
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
        when_free(monitor, || writer.writer().map(drop))?;
        merged(writer.finish(), monitor)?;
    }
    if !quiet {
        message!("{added}");
    }
    stream.finish()?;
    Ok(ExitStatus::Done)
}

impl StreamDedup {
    /// Answers records until the input ends or the user ends the stream.
    fn serve(
        &mut self,
        stream: &mut Stream,
        schedule: &mut CommitSchedule,
        monitor: &Monitor,
    ) -> anyhow::Result<()> {
        loop {
            // While waiting for input, the writer lock is released, unless there are uncommitted
            // records.
            let is_idle_turn = self.writer.is_held() && self.writer.pending().is_empty();
            let wait = if is_idle_turn { Duration::ZERO } else { schedule.time_left() };
            let received = stream.next(wait);
            monitor.check()?;
            let is_pause = matches!(received, Received::Nothing);
            match received {
                Received::Record(record) => self.answer(&record, monitor)?,
                Received::Empty(id) => {
                    self.count += 1;
                    self.out.say("empty", &id.to_string())?;
                }
                Received::Bad(place, reason) => {
                    self.out.say("bad", &format!("{place}: {reason}"))?
                }
                Received::Nothing => {}
                Received::End => return Ok(()),
            }
            if schedule.is_due(self.writer.pending().len() as u64) {
                self.commit(monitor)?;
            }
            // Answers are flushed after the commit, so that with --batch-count 1 a record is
            // durable before its answer is printed.
            self.out.out.flush()?;
            self.writer.give_way(is_pause);
        }
    }

    /// Prints the answer for one record, and adds the record if it is new.
    fn answer(&mut self, record: &NewRecord, monitor: &Monitor) -> anyhow::Result<()> {
        self.count += 1;
        when_free(monitor, || self.writer.writer().map(drop))?;
        match self.writer.check_and_add(record, self.k)? {
            Verdict::Stored(hit) => {
                let id = hit.ids().next().transpose()?.map(|id| id.to_string());
                let near = (hit.fingerprint(), hit.distance());
                self.out.near(record, near, &id.unwrap_or_default())?;
            }
            Verdict::Pending { record: near, distance } => {
                self.out.near(record, (near.fingerprint, distance), &id_text(&near.id))?;
            }
            Verdict::Added => self.out.added(record)?,
            Verdict::Cut => bail!("a search without limits was cut"),
        }
        Ok(())
    }

    /// Adds the records that were answered 'new'.
    fn commit(&mut self, monitor: &Monitor) -> anyhow::Result<()> {
        let count = self.writer.pending().len() as u64;
        if count == 0 {
            return Ok(());
        }
        when_free(monitor, || self.writer.commit()).with_context(|| {
            let count = counted(count, "record", "records");
            format!("{count} with the answer 'new' could not be added")
        })?;
        self.added += count;
        Ok(())
    }
}

/// The id as printed: empty if the record has none.
fn id_text(id: &Option<Id>) -> String {
    id.as_ref().map(ToString::to_string).unwrap_or_default()
}

/// Prints the answers of a stream, one per line.
struct Answers {
    width: Width,
    printer: IdPrinter,
    out: Stdout,
}

impl Answers {
    fn added(&mut self, record: &NewRecord) -> io::Result<()> {
        let NewRecord { fingerprint, id, .. } = record;
        let fingerprint = self.width.hex(*fingerprint);
        writeln!(self.out, "new\t{fingerprint}\t{}", self.printer.show(&id_text(id)))
    }

    fn near(
        &mut self,
        record: &NewRecord,
        (near, distance): (Fingerprint, u32),
        near_id: &str,
    ) -> io::Result<()> {
        let near = self.width.hex(near);
        writeln!(
            self.out,
            "near\t{}\t{}\t{near}\t{distance}\t{}",
            self.width.hex(record.fingerprint),
            self.printer.show_column(&id_text(&record.id)),
            self.printer.show(near_id)
        )
    }

    /// Prints an answer for a document without features or a bad line: it has no fingerprint.
    fn say(&mut self, answer: &str, text: &str) -> io::Result<()> {
        writeln!(self.out, "{answer}\t\t{}", self.printer.show(text))
    }
}
