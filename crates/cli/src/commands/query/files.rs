//! `fpstore query --from`: answers files of queries in batches.

use std::path::{Path, PathBuf};

use clap::Args;
use fpstore::input::{InputOptions, read_records};
use fpstore::join::{BatchMode, JoinOptions, batch_count, search_many};
use fpstore::{Fingerprint, Store};
use fpstore_base::parallel::{Feed, Parallel};

use crate::args::documents;
use crate::args::inputs::{ReadArgs, inputs, report_skipped};
use crate::args::resources::ResourceArgs;
use crate::commands::query::output::{self, AnswerColumns, Query, QueryOptions, Rendered};
use crate::output::row_writer::{RowForm, RowWriter};
use crate::output::sink::Sink;
use crate::output::text::{TableFormat, counted};
use crate::session::command::ExitStatus;
use crate::session::document_reader::Documents;
use crate::session::monitor::Monitor;

/// The ids and sketches of a batch may take 64 MiB, or this number of bytes for each of its queries
/// if that is more. A batch with longer ones has fewer queries.
const EXTRA_LEN: usize = 16;

/// The number of queries that a thread takes at once in a nearest-neighbour search.
const NEAREST_COUNT: usize = 64;

/// Options for queries from files.
#[derive(Args, Debug)]
#[command(next_help_heading = "Queries from files")]
pub(crate) struct QueryFileArgs {
    /// Search all records of files, read as by 'build'; - is standard input
    #[arg(long, value_name = "FILE", num_args = 1..)]
    pub(crate) from: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) read: ReadArgs,
    #[command(flatten)]
    pub(crate) resources: ResourceArgs,
}

pub(crate) fn run(
    args: &QueryFileArgs,
    store: &Store,
    (documents, lines): (Option<&Documents>, InputOptions),
    out: Sink,
    options: &QueryOptions,
) -> anyhow::Result<ExitStatus> {
    let monitor = args.resources.monitor(options.quiet)?;
    let columns = AnswerColumns { has_ids: true, ..options.columns() };
    let out = output::open(options.layout, out, columns)?;
    let mut batch = QueryBatch::new(store, options, &args.resources, &monitor, out)?;
    let files = inputs(&args.from)?;
    if let Some(documents) = documents {
        batch.push_documents(&files, documents)?;
    } else {
        for file in files {
            batch.push_file(&file, &lines)?;
        }
    }
    batch.finish()
}

/// The id of the query at position `at` of the batch, if it has one.
fn id_of<'a>(ids: &'a str, id_ends: &[usize], at: usize) -> Option<&'a str> {
    let start = at.checked_sub(1).map_or(0, |before| id_ends[before]);
    Some(&ids[start..id_ends[at]]).filter(|id| !id.is_empty())
}

/// Collects queries in batches, searches for each batch, and writes the answers.
pub(crate) struct QueryBatch<'a> {
    store: &'a Store,
    options: &'a QueryOptions,
    join: JoinOptions,
    monitor: &'a Monitor,
    threads: usize,
    /// The number of queries in a batch.
    count: usize,
    answered: u64,
    queries: Vec<Fingerprint>,
    ids: String,
    /// For each query, the end of its id in `ids`. An empty id means that the query has no id.
    id_ends: Vec<usize>,
    /// The sketches of all queries of the batch, one after another; empty without `--confirm`.
    sketches: Vec<u8>,
    form: RowForm,
    out: RowWriter,
    /// Rendered answers that are not yet written.
    rendered: Rendered,
    cut: u64,
}

impl<'a> QueryBatch<'a> {
    pub(crate) fn new(
        store: &'a Store,
        options: &'a QueryOptions,
        resources: &ResourceArgs,
        monitor: &'a Monitor,
        out: RowWriter,
    ) -> anyhow::Result<Self> {
        let join = resources.join_options(options.k, monitor)?;
        Ok(QueryBatch {
            store,
            options,
            count: batch_count(store, &join)?,
            join,
            monitor,
            threads: resources.threads()?.unwrap_or(0),
            answered: 0,
            queries: Vec::new(),
            ids: String::new(),
            id_ends: Vec::new(),
            sketches: Vec::new(),
            form: out.form.clone(),
            out,
            rendered: Rendered::default(),
            cut: 0,
        })
    }

    /// Adds a query for each document in the files.
    pub(crate) fn push_documents(
        &mut self,
        files: &[PathBuf],
        documents: &Documents,
    ) -> anyhow::Result<()> {
        let monitor = self.monitor;
        let summary = documents.each(files, monitor, |fingerprint, id, sketch| {
            self.push(fingerprint, Some(&id.to_string()), sketch)
        })?;
        monitor.suspend(|| documents::report(&summary));
        Ok(())
    }

    /// Adds a query for each record of the file.
    pub(crate) fn push_file(&mut self, file: &Path, lines: &InputOptions) -> anyhow::Result<()> {
        let summary = read_records(file, lines, |record| {
            let id = record.id.map(|id| id.to_string());
            self.push(record.fingerprint, id.as_deref(), &[])
        })?;
        report_skipped(file, &summary);
        Ok(())
    }

    /// Answers the last batch, and finishes the output.
    pub(crate) fn finish(mut self) -> anyhow::Result<ExitStatus> {
        self.answer()?;
        self.out.finish()?;
        self.monitor.finish();
        let options = self.options;
        if self.cut > 0 && options.layout.format != TableFormat::Json && !options.quiet {
            message!("{} cut by --limit", counted(self.cut, "answer was", "answers were"));
        }
        Ok(if self.rendered.found { ExitStatus::Done } else { ExitStatus::Negative })
    }

    pub(crate) fn push(
        &mut self,
        query: Fingerprint,
        id: Option<&str>,
        sketch: &[u8],
    ) -> anyhow::Result<()> {
        self.queries.push(query);
        self.sketches.extend_from_slice(sketch);
        self.ids.push_str(id.unwrap_or_default());
        self.id_ends.push(self.ids.len());
        let is_long =
            self.ids.len() + self.sketches.len() >= (self.count * EXTRA_LEN).max(64 << 20);
        if self.queries.len() == self.count || is_long {
            self.answer()?;
        }
        Ok(())
    }

    /// Finds the nearest neighbours of each query, using all threads.
    fn answer_nearest(&mut self, count: usize, threads: usize) -> anyhow::Result<()> {
        let QueryBatch { store, options, queries, ids, id_ends, form, monitor, .. } = self;
        let (options, store) = (*options, *store);
        let chunks: Vec<std::ops::Range<usize>> = (0..queries.len())
            .step_by(NEAREST_COUNT)
            .map(|start| start..queries.len().min(start + NEAREST_COUNT))
            .collect();
        let (queries, ids, id_ends, form) = (&*queries, &*ids, &*id_ends, &*form);
        let work = || {
            let mut searcher = store.searcher();
            move |range: std::ops::Range<usize>| -> anyhow::Result<Rendered> {
                let mut rendered = Rendered::default();
                for at in range {
                    let answer = searcher.nearest(queries[at], count, options.k)?;
                    let (id, fingerprint) = (id_of(ids, id_ends, at), queries[at]);
                    let (labels, stores) = (options.labels, options.stores.as_ref());
                    let query = Query { id, fingerprint, labels, stores, ..Query::default() };
                    rendered.add(form, query, &answer)?;
                }
                Ok(rendered)
            }
        };
        let (out, found) = (&mut self.out, &mut self.rendered.found);
        std::thread::scope(|scope| -> anyhow::Result<()> {
            let feed = |feed: &mut Feed<_, _>| {
                for chunk in chunks {
                    if !feed.push(chunk, 1) {
                        break;
                    }
                }
            };
            for done in Parallel::new(threads).run_in(scope, feed, work) {
                monitor.check()?;
                let mut rendered = done?;
                rendered.write(out)?;
                *found |= rendered.found;
            }
            Ok(())
        })?;
        self.forget();
        Ok(())
    }

    /// Removes the answered queries.
    fn forget(&mut self) {
        self.answered += self.queries.len() as u64;
        self.queries.clear();
        self.ids.clear();
        self.id_ends.clear();
        self.sketches.clear();
    }

    fn answer(&mut self) -> anyhow::Result<()> {
        if let Some(count) = self.options.nearest {
            return self.answer_nearest(count, self.threads);
        }
        let QueryBatch {
            queries,
            ids,
            id_ends,
            sketches,
            rendered,
            options,
            monitor,
            answered,
            ..
        } = self;
        let sketch_len = usize::from(self.store.sketch_len());
        self.join = self.join.clone().observer(monitor.observer_after(*answered));
        let (form, out, mut cut) = (&self.form, &mut self.out, 0);
        let auto = BatchMode::Auto;
        search_many(
            self.store,
            queries,
            &self.join,
            &options.limits,
            auto,
            |at, answer| -> anyhow::Result<()> {
                let id = id_of(ids, id_ends, at);
                let sketch = |threshold| (&sketches[at * sketch_len..][..sketch_len], threshold);
                let confirm = options.confirm.map(sketch);
                let (fingerprint, labels) = (queries[at], options.labels);
                let stores = options.stores.as_ref();
                let query = Query { id, fingerprint, confirm, labels, stores, explain: None };
                rendered.add(form, query, &answer)?;
                cut += u64::from(answer.outcome().cut);
                rendered.write(out)
            },
        )?;
        self.cut += cut;
        self.forget();
        Ok(())
    }
}
