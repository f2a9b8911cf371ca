//! The answer to a query as output rows: TSV or JSON.

use std::io::Write;

use fpstore::join::confirm::sketch_similarity;
use fpstore::{Answer, Fingerprint, Hit};
use serde::Serialize;

use super::output::{IdPrinter, RowFormat};
#[cfg(feature = "parquet")]
use super::table::{Cell, ColumnSpec, Kind};

/// A query: its fingerprint, and what else is known of it.
#[derive(Clone, Copy)]
pub(super) struct Query<'a> {
    /// The id of its record, if it has one.
    pub(super) id: Option<&'a str>,
    pub(super) fingerprint: Fingerprint,
    /// The sketch of its document, and the similarity that a match must have.
    pub(super) confirm: Option<(&'a [u8], f64)>,
    /// Whether the labels of matches are printed.
    pub(super) labels: bool,
}

/// A document that matches.
struct Row<'a> {
    /// `None` for a fingerprint without ids.
    id: Option<String>,
    similarity: Option<f64>,
    label: &'a str,
}

impl Query<'_> {
    /// Writes an answer, and returns whether anything was found.
    pub(super) fn write(
        &self,
        out: &mut Vec<u8>,
        answer: &Answer<'_>,
        format: RowFormat,
        printer: &IdPrinter,
    ) -> anyhow::Result<bool> {
        match format {
            RowFormat::Tsv => self.write_tsv(out, answer, printer),
            RowFormat::Json => self.write_json(out, answer),
        }
    }

    /// The documents of a match, without those that are not alike enough.
    fn rows<'h>(&self, hit: &Hit<'h>) -> anyhow::Result<Vec<Row<'h>>> {
        let mut ids = hit.ids();
        let mut rows = Vec::new();
        let mut is_bare = true;
        while let Some(id) = ids.next() {
            is_bare = false;
            let similarity =
                self.confirm.map(|(sketch, _)| sketch_similarity(sketch, ids.sketch()));
            let id = Some(id?.to_string());
            rows.push(Row { id, similarity, label: ids.label() });
        }
        if let Some((_, threshold)) = self.confirm {
            rows.retain(|row| row.similarity.is_some_and(|similarity| similarity >= threshold));
        } else if is_bare {
            // Without ids, those of several segments are told apart by their labels alone.
            let labels = hit.labels().take(if self.labels { usize::MAX } else { 1 });
            rows.extend(labels.map(|label| Row { id: None, similarity: None, label }));
        }
        Ok(rows)
    }

    /// Adds a row for each match and id.
    #[cfg(feature = "parquet")]
    pub(super) fn push_rows(
        &self,
        out: &mut Vec<TableRow>,
        answer: &Answer<'_>,
    ) -> anyhow::Result<()> {
        for hit in answer.hits() {
            out.extend(self.rows(&hit)?.into_iter().map(|row| TableRow {
                query_id: self.id.map(Into::into),
                query: self.fingerprint,
                fingerprint: hit.fingerprint(),
                distance: hit.distance(),
                similarity: row.similarity,
                label: self.labels.then(|| row.label.into()),
                id: row.id,
            }));
        }
        Ok(())
    }

    /// Writes one line for each match and id, which begins with the id of the query if it has one.
    fn write_tsv(
        &self,
        out: &mut Vec<u8>,
        answer: &Answer<'_>,
        printer: &IdPrinter,
    ) -> anyhow::Result<bool> {
        let query = match self.id {
            Some(id) => format!("{}\t{}", printer.show_column(id), self.fingerprint),
            None => self.fingerprint.to_string(),
        };
        let mut found = false;
        for hit in answer.hits() {
            for row in self.rows(&hit)? {
                found = true;
                write!(out, "{query}\t{}\t{}\t", hit.fingerprint(), hit.distance())?;
                if let Some(similarity) = row.similarity {
                    write!(out, "{similarity:.4}\t")?;
                }
                if self.labels {
                    write!(out, "{}\t", printer.show_column(row.label))?;
                }
                writeln!(out, "{}", printer.show(&row.id.unwrap_or_default()))?;
            }
        }
        Ok(found)
    }

    /// Writes an answer as one JSON object on one line.
    fn write_json(&self, out: &mut Vec<u8>, answer: &Answer<'_>) -> anyhow::Result<bool> {
        let mut matches = Vec::with_capacity(answer.len());
        for hit in answer.hits() {
            let rows = self.rows(&hit)?;
            if rows.is_empty() {
                continue;
            }
            let is_confirmed = self.confirm.is_some();
            let similarities = rows.iter().filter_map(|row| row.similarity).collect();
            matches.push(JsonMatch {
                fingerprint: hit.fingerprint().to_string(),
                distance: hit.distance(),
                similarities: is_confirmed.then_some(similarities),
                labels: self.labels.then(|| rows.iter().map(|row| row.label).collect()),
                ids: rows.into_iter().filter_map(|row| row.id).collect(),
            });
        }
        let found = !matches.is_empty();
        let query = self.fingerprint.to_string();
        let line = JsonAnswer { id: self.id, query, matches, cut: answer.outcome().cut };
        serde_json::to_writer(&mut *out, &line)?;
        out.push(b'\n');
        Ok(found)
    }
}

/// The columns of a table of answers.
#[cfg(feature = "parquet")]
pub(super) fn columns(confirms: bool, labels: bool) -> Vec<ColumnSpec> {
    let all = [
        Some(("query_id", Kind::Text)),
        Some(("query", Kind::U64)),
        Some(("fingerprint", Kind::U64)),
        Some(("distance", Kind::U32)),
        confirms.then_some(("similarity", Kind::Double)),
        labels.then_some(("label", Kind::Text)),
        Some(("id", Kind::Text)),
    ];
    all.into_iter().flatten().collect()
}

/// A row of a table of answers.
#[cfg(feature = "parquet")]
pub(super) struct TableRow {
    query_id: Option<String>,
    query: Fingerprint,
    fingerprint: Fingerprint,
    distance: u32,
    similarity: Option<f64>,
    /// `None` if labels are not wanted; empty for a segment without a label.
    label: Option<String>,
    id: Option<String>,
}

#[cfg(feature = "parquet")]
impl TableRow {
    /// The values in the order of [`columns`].
    pub(super) fn cells(&self) -> impl Iterator<Item = Cell<'_>> {
        let label = self.label.as_deref();
        let all = [
            Some(Cell::Text(self.query_id.as_deref())),
            Some(Cell::U64(self.query.value())),
            Some(Cell::U64(self.fingerprint.value())),
            Some(Cell::U32(self.distance)),
            self.similarity.map(Cell::Double),
            label.map(|label| Cell::Text(Some(label).filter(|label| !label.is_empty()))),
            Some(Cell::Text(self.id.as_deref())),
        ];
        all.into_iter().flatten()
    }
}

#[derive(Serialize)]
struct JsonAnswer<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<&'a str>,
    query: String,
    matches: Vec<JsonMatch<'a>>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    cut: bool,
}

#[derive(Serialize)]
struct JsonMatch<'a> {
    fingerprint: String,
    distance: u32,
    /// One for each id.
    #[serde(skip_serializing_if = "Option::is_none")]
    similarities: Option<Vec<f64>>,
    /// One for each id, or for each segment where there are none.
    #[serde(skip_serializing_if = "Option::is_none")]
    labels: Option<Vec<&'a str>>,
    /// As strings, because JavaScript rounds numbers above 2^53.
    ids: Vec<String>,
}
