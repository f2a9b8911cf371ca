//! Answers queries one by one, from the command line or from the lines of standard input.

use std::io::Write;
use std::path::Path;
use std::time::Instant;

use fpstore::input::{InputOptions, read_all_records};
use fpstore::plan::PlanPath;
use fpstore::rows::Explained;
use fpstore::{Fingerprint, SearchStats, Searcher, Store};

use super::output::{self, Query, QueryOptions, Rendered};
use crate::args::inputs::{check_stdin, report_guess};
use crate::output::bad_lines::{BadLines, write_bad};
use crate::output::row_writer::RowWriter;
use crate::output::sink::Sink;
use crate::output::text::{TableFormat, counted, grouped};

/// Runs queries one by one, and prints each answer at once.
pub(crate) struct SingleQueries {
    searcher: Searcher,
    options: QueryOptions,
    /// The search plan, with `--explain`.
    explained: Option<Explained>,
    out: RowWriter,
    /// The answer being printed; its buffers are reused.
    rendered: Rendered,
}

impl SingleQueries {
    pub(crate) fn new(store: &Store, options: QueryOptions, out: Sink) -> anyhow::Result<Self> {
        let out = output::open(options.layout, out, options.columns())?;
        let (searcher, rendered) = (store.searcher(), Rendered::default());
        Ok(SingleQueries { searcher, options, explained: None, out, rendered })
    }

    /// Turns on `--explain`. In JSON, the answers then include the search plan; otherwise this
    /// function prints it.
    pub(crate) fn explain(&mut self, store: &Store) -> anyhow::Result<()> {
        let explained = Explained::of(store, self.options.k, SearchStats::default())?;
        if self.options.layout.format != TableFormat::Json {
            print_plan(store, &explained, self.options.stores.is_some());
        }
        self.explained = Some(explained);
        Ok(())
    }

    /// Answers each line of standard input as it arrives. `newer` is called before each search, and
    /// returns the store if it has changed since the last call.
    pub(crate) fn search_standard_input(
        &mut self,
        lines: &InputOptions,
        newer: impl Fn() -> anyhow::Result<Option<Store>>,
    ) -> anyhow::Result<()> {
        let ask = |queries: &mut Self, fingerprint| {
            if let Some(store) = newer()? {
                queries.searcher.follow(&store);
            }
            queries.search(fingerprint, &[])
        };
        answer_lines(self, lines, ask, |queries| &mut queries.out)
    }

    /// Finishes the output, and returns whether any query had a match.
    pub(crate) fn finish(self) -> anyhow::Result<bool> {
        self.out.finish()?;
        Ok(self.rendered.found)
    }

    pub(crate) fn search(&mut self, needle: Fingerprint, sketch: &[u8]) -> anyhow::Result<()> {
        let QueryOptions { k, nearest, layout, confirm, labels, quiet, .. } = self.options;
        let start = Instant::now();
        let answer = match nearest {
            Some(count) => self.searcher.nearest(needle, count, k)?,
            None => self.searcher.search_with(needle, k, &self.options.limits)?,
        };
        let micros = start.elapsed().as_secs_f64() * 1e6;
        let confirm = confirm.map(|threshold| (sketch, threshold));
        let outcome = answer.outcome();
        let is_json = layout.format == TableFormat::Json;
        let stats = outcome.stats;
        let explain = self.explained.clone().filter(|_| is_json);
        let explain = explain.map(|plan| Explained { stats, ..plan });
        let stores = self.options.stores.as_ref();
        let query = Query { id: None, fingerprint: needle, confirm, labels, stores, explain };
        self.rendered.add(&self.out.form, query, &answer)?;
        self.rendered.write(&mut self.out)?;
        let is_told = is_json || quiet;
        if outcome.cut && nearest.is_none() && !is_told {
            let kept = counted(answer.len() as u64, "match", "matches");
            let needle = answer.width().hex(needle);
            message!("{needle}: cut to the nearest {kept} by --limit");
        }
        if let Some(explained) = self.explained.as_ref().filter(|_| !is_json) {
            let needle = answer.width().hex(needle);
            let (work, estimate) = (outcome.stats, explained.estimate());
            message!(
                "{needle}: {} in {micros:.1} us ({:.1} expected); \
                 {} probes ({:.0}), {} candidates ({:.1}), {} scanned ({:.0}), {} pages checked",
                counted(answer.len() as u64, "match", "matches"),
                explained.expected_us,
                grouped(work.probes),
                estimate.probes,
                grouped(work.candidates),
                estimate.candidates + estimate.look_ups,
                grouped(work.scanned),
                estimate.scanned,
                grouped(work.pages_checked),
            );
        }
        Ok(())
    }
}

/// Answers each line of standard input as it arrives: calls `ask` with each fingerprint, and writes
/// an error to `out` for each bad line of a JSON stream.
pub(super) fn answer_lines<S>(
    state: &mut S,
    lines: &InputOptions,
    ask: impl Fn(&mut S, Fingerprint) -> anyhow::Result<()>,
    out: impl Fn(&mut S) -> &mut RowWriter,
) -> anyhow::Result<()> {
    let file = Path::new("-");
    check_stdin(file)?;
    let mut bad_lines = BadLines::new(lines.skips_bad());
    let summary = read_all_records(file, lines, |found| -> anyhow::Result<()> {
        match found {
            Ok(record) => ask(state, record.fingerprint)?,
            Err(bad) => {
                bad_lines.note(bad.place, &bad.reason);
                let rows = out(state);
                if let (TableFormat::Json, Some(out)) = (rows.form.format, rows.lines()) {
                    write_bad(out, bad.place, &bad.reason)?;
                }
            }
        }
        // The output is flushed after each line, because the program that writes the lines may wait
        // for each answer.
        Ok(out(state).lines().map_or(Ok(()), Sink::flush)?)
    })?;
    report_guess(file, &summary);
    bad_lines.finish()
}

/// Prints how each segment is searched.
fn print_plan(store: &Store, explained: &Explained, are_several: bool) {
    let k = explained.k;
    for (segment, plan) in store.info().segments.iter().zip(&explained.segments) {
        let micros = plan.expected_nanos / 1000.0;
        let mut number = segment.number.to_string();
        // Segments of two stores can have the same number, so the folder of the store is added.
        if let (true, Some(folder)) = (are_several, segment.path.parent()) {
            number += &format!(" of {}", folder.display());
        }
        match &plan.path {
            PlanPath::Scan { table } => message!(
                "segment {number}, k={k}: scan of table {}, about {micros:.1} us expected; \
                 probing would cost more",
                table.0,
            ),
            PlanPath::Probe { tables } => {
                message!(
                    "segment {number}, k={k}: probes of {} of {} tables, about {micros:.1} us \
                     expected",
                    tables.len(),
                    segment.tables.len(),
                );
                for part in tables {
                    message!(
                        "  table {}: mask {:016x}, radius {} ({:.0} prefixes)",
                        part.table.0,
                        part.mask,
                        part.radius,
                        part.prefixes
                    );
                }
            }
        }
    }
}
