//! Renders and writes the answers to queries.

use std::io::Write;

use fpstore::join::confirm::sketch_similarity;
use fpstore::rows::{AnswerRow, Explained, MatchRow};
use fpstore::{Answer, Fingerprint, Hit, Limits, Width};

use crate::output::row_writer::{Layout, RowForm, RowWriter};
use crate::output::sink::Sink;
use crate::output::text::TableFormat;
use crate::session::stores::{StoreNames, name_of};

/// The limits of a search with the value `most` of `--limit`.
pub(crate) fn limits_of(most: Option<u64>) -> Limits {
    let limits = Limits::default();
    match most {
        Some(most) => limits.limit(usize::try_from(most).unwrap_or(usize::MAX)),
        None => limits,
    }
}

/// Options shared by all queries of a command.
pub(crate) struct QueryOptions {
    pub(crate) k: u32,
    pub(crate) limits: Limits,
    /// The number of nearest matches; `None` for all matches within `k`.
    pub(crate) nearest: Option<usize>,
    pub(crate) layout: Layout,
    pub(crate) quiet: bool,
    /// The minimum similarity of a match, with `--confirm`.
    pub(crate) confirm: Option<f64>,
    /// Whether the labels of matches are printed.
    pub(crate) labels: bool,
    /// The names of the stores, if several are searched: each match is then printed with its store.
    pub(crate) stores: Option<StoreNames>,
}

impl QueryOptions {
    /// The optional columns that answers have with these options.
    pub(crate) fn columns(&self) -> AnswerColumns {
        let (confirms, labels, stores) =
            (self.confirm.is_some(), self.labels, self.stores.is_some());
        AnswerColumns { confirms, labels, stores, ..AnswerColumns::default() }
    }
}

/// One query, and how its answer is printed.
#[derive(Clone, Default)]
pub(crate) struct Query<'a> {
    /// The id of the record or document to search for, if it has one.
    pub(crate) id: Option<&'a str>,
    pub(crate) fingerprint: Fingerprint,
    /// With `--confirm`: the sketch of the document, and the minimum similarity of a match.
    pub(crate) confirm: Option<(&'a [u8], f64)>,
    /// Whether the labels of matches are printed.
    pub(crate) labels: bool,
    /// The names of the stores, if several are searched.
    pub(crate) stores: Option<&'a StoreNames>,
    /// The search method and its cost, with `--explain`.
    pub(crate) explain: Option<Explained>,
}

impl Query<'_> {
    /// Converts the answer to this query into a row.
    fn row(self, answer: &Answer<'_>) -> anyhow::Result<AnswerRow> {
        let mut matches = Vec::with_capacity(answer.len());
        for hit in answer.hits() {
            let Some(names) = self.stores else {
                matches.extend(self.match_row(&hit, answer.width())?);
                continue;
            };
            for (store, hit) in hit.stores() {
                let found = self.match_row(&hit, answer.width())?;
                let store = Some(name_of(names, store).to_owned());
                matches.extend(found.map(|found| MatchRow { store, ..found }));
            }
        }
        Ok(AnswerRow {
            id: self.id.map(Into::into),
            query: answer.width().hex(self.fingerprint),
            matches,
            cut: answer.outcome().cut,
            explain: self.explain,
            ..AnswerRow::default()
        })
    }

    /// Converts a hit into a match. With `--confirm`, only the ids of documents that are similar
    /// enough are included; `None` if there are none.
    fn match_row(&self, hit: &Hit<'_>, width: Width) -> anyhow::Result<Option<MatchRow>> {
        let (mut known, mut labels, mut similarities) = (Vec::new(), Vec::new(), Vec::new());
        let mut ids = hit.ids();
        while let Some(id) = ids.next() {
            let id = id?;
            if let Some((sketch, threshold)) = self.confirm {
                let similarity = sketch_similarity(sketch, ids.sketch());
                if similarity < threshold {
                    continue;
                }
                similarities.push(similarity);
            }
            known.push(id.to_string());
            if self.labels {
                labels.push(ids.label().to_string());
            }
        }
        if known.is_empty() {
            if self.confirm.is_some() {
                return Ok(None);
            }
            // A match without ids has one label for each segment that contains the fingerprint.
            labels.extend(hit.labels().filter(|_| self.labels).map(String::from));
        }
        Ok(Some(MatchRow {
            fingerprint: width.hex(hit.fingerprint()),
            distance: hit.distance(),
            similarities: self.confirm.map(|_| similarities),
            labels: self.labels.then_some(labels),
            ids: Some(known),
            ..MatchRow::default()
        }))
    }
}

/// Answers converted to output bytes or table rows. Each thread fills its own.
#[derive(Default)]
pub(crate) struct Rendered {
    lines: Vec<u8>,
    /// For a Parquet table: the rows, because only the table writer can convert them to bytes.
    rows: Vec<AnswerRow>,
    /// Whether any query had a match.
    pub(crate) found: bool,
}

impl Rendered {
    /// Converts the answer to a query, and appends it.
    pub(crate) fn add(
        &mut self,
        form: &RowForm,
        query: Query<'_>,
        answer: &Answer<'_>,
    ) -> anyhow::Result<()> {
        if answer.is_empty() && form.format != TableFormat::Json {
            return Ok(());
        }
        let row = query.row(answer)?;
        self.found |= !row.matches.is_empty();
        match form.format {
            TableFormat::Tsv | TableFormat::Json | TableFormat::Csv => {
                form.render(&mut self.lines, &row)?
            }
            TableFormat::Parquet => self.rows.push(row),
        }
        Ok(())
    }

    /// Writes the answers and clears them, but keeps `found`.
    pub(crate) fn write(&mut self, out: &mut RowWriter) -> anyhow::Result<()> {
        if let Some(lines) = out.lines() {
            lines.write_all(&self.lines)?;
        }
        self.lines.clear();
        self.rows.drain(..).try_for_each(|row| out.push(&row))
    }
}

/// Which optional columns the answers have.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct AnswerColumns {
    /// Whether queries have ids, which are then printed before the query.
    pub(crate) has_ids: bool,
    pub(crate) confirms: bool,
    pub(crate) labels: bool,
    pub(crate) stores: bool,
}

/// Opens the output of answers, without the optional columns that are not in `has`.
pub(crate) fn open(layout: Layout, out: Sink, has: AnswerColumns) -> anyhow::Result<RowWriter> {
    // JSON and Parquet always have the id of the query, so that the columns do not depend on the
    // queries.
    let is_line = [TableFormat::Tsv, TableFormat::Csv].contains(&layout.format);
    let columns = [
        ("query_id", has.has_ids || !is_line),
        ("similarity", has.confirms),
        ("store", has.stores),
        ("label", has.labels),
    ];
    let without: Vec<&str> =
        columns.iter().filter(|(_, is_there)| !is_there).map(|(name, _)| *name).collect();
    RowWriter::new::<AnswerRow>(layout, out, &without)
}
