//! Clusters as they are printed: TSV, JSON and Parquet.

use std::io::Write;

use fpstore::Fingerprint;
use serde::Serialize;

use super::output::{IdPrinter, TableFormat};
use super::sink::Sink;
#[cfg(feature = "parquet")]
use super::table::{Cell, ColumnSpec, Kind, Table};

/// A cluster with the ids of the user.
pub(super) struct Group {
    pub(super) number: u64,
    pub(super) size: u64,
    pub(super) diameter: u32,
    pub(super) diameter_is_exact: bool,
    /// The representative first.
    pub(super) members: Vec<GroupMember>,
}

/// Documents of a cluster with one fingerprint.
pub(super) struct GroupMember {
    pub(super) fingerprint: Fingerprint,
    /// From the representative.
    pub(super) distance: u32,
    /// To the representative, where features were compared.
    pub(super) similarity: Option<f64>,
    /// One entry for each document, empty for a fingerprint without ids; `None` if the record has no
    /// id.
    pub(super) ids: Vec<Option<String>>,
}

/// Writes clusters in one format.
pub(super) enum ClusterOutput {
    Tsv(Sink, IdPrinter),
    Json(Sink),
    #[cfg(feature = "parquet")]
    Parquet(Box<Table>),
}

impl ClusterOutput {
    /// With `has_similarity` a table has a column for it.
    #[cfg_attr(not(feature = "parquet"), expect(unused_variables, reason = "Parquet is a table"))]
    pub(super) fn new(
        format: TableFormat,
        has_similarity: bool,
        out: Sink,
    ) -> anyhow::Result<Self> {
        Ok(match format {
            TableFormat::Tsv => {
                let printer = IdPrinter::new(out.is_terminal());
                ClusterOutput::Tsv(out, printer)
            }
            TableFormat::Json => ClusterOutput::Json(out),
            #[cfg(feature = "parquet")]
            TableFormat::Parquet => {
                let similarity = has_similarity.then_some(("similarity", Kind::Double));
                let columns: Vec<_> = COLUMNS.into_iter().chain(similarity).collect();
                ClusterOutput::Parquet(Box::new(Table::new(out, "clusters", &columns)?))
            }
        })
    }

    pub(super) fn write(&mut self, group: Group) -> anyhow::Result<()> {
        match self {
            ClusterOutput::Tsv(out, printer) => write_tsv(out, printer, &group),
            ClusterOutput::Json(out) => write_json(out, group),
            #[cfg(feature = "parquet")]
            ClusterOutput::Parquet(table) => push_rows(table, &group),
        }
    }

    pub(super) fn finish(self) -> anyhow::Result<()> {
        match self {
            #[cfg(feature = "parquet")]
            ClusterOutput::Parquet(table) => table.finish(),
            ClusterOutput::Tsv(out, _) | ClusterOutput::Json(out) => out.finish(),
        }
    }
}

/// The columns of a table of documents and their clusters; the similarity may follow.
#[cfg(feature = "parquet")]
const COLUMNS: [ColumnSpec; 7] = [
    ("cluster", Kind::U64),
    ("size", Kind::U64),
    ("diameter", Kind::U32),
    ("diameter_is_exact", Kind::Bool),
    ("distance", Kind::U32),
    ("fingerprint", Kind::U64),
    ("id", Kind::Text),
];

/// Adds the rows of a cluster, one for each document.
#[cfg(feature = "parquet")]
fn push_rows(table: &mut Table, group: &Group) -> anyhow::Result<()> {
    for member in &group.members {
        let none = member.ids.is_empty().then_some(&None);
        for id in member.ids.iter().chain(none) {
            let cells = [
                Cell::U64(group.number),
                Cell::U64(group.size),
                Cell::U32(group.diameter),
                Cell::Bool(group.diameter_is_exact),
                Cell::U32(member.distance),
                Cell::U64(member.fingerprint.value()),
                Cell::Text(id.as_deref()),
            ];
            table.push(cells.into_iter().chain(member.similarity.map(Cell::Double)))?;
        }
    }
    Ok(())
}

fn write_tsv(out: &mut Sink, printer: &IdPrinter, group: &Group) -> anyhow::Result<()> {
    let sure = if group.diameter_is_exact { "" } else { "+" };
    let Group { number, size, diameter, .. } = group;
    for member in &group.members {
        let (fingerprint, distance) = (member.fingerprint, member.distance);
        let none = member.ids.is_empty().then_some(&None);
        for id in member.ids.iter().chain(none) {
            let id = id.as_deref().unwrap_or_default();
            write!(out, "{number}\t{size}\t{diameter}{sure}\t{distance}\t")?;
            if let Some(similarity) = member.similarity {
                write!(out, "{similarity:.4}\t")?;
            }
            writeln!(out, "{fingerprint}\t{}", printer.show(id))?;
        }
    }
    Ok(())
}

fn write_json(out: &mut Sink, group: Group) -> anyhow::Result<()> {
    let line = JsonCluster {
        cluster: group.number,
        size: group.size,
        diameter: group.diameter,
        diameter_is_exact: group.diameter_is_exact,
        representative: group.members[0].fingerprint.to_string(),
        members: group
            .members
            .into_iter()
            .map(|member| JsonMember {
                fingerprint: member.fingerprint.to_string(),
                distance: member.distance,
                similarity: member.similarity,
                ids: member.ids.into_iter().flatten().collect(),
            })
            .collect(),
    };
    serde_json::to_writer(&mut *out, &line)?;
    Ok(out.write_all(b"\n")?)
}

#[derive(Serialize)]
struct JsonCluster {
    cluster: u64,
    size: u64,
    diameter: u32,
    diameter_is_exact: bool,
    representative: String,
    members: Vec<JsonMember>,
}

#[derive(Serialize)]
struct JsonMember {
    fingerprint: String,
    distance: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    similarity: Option<f64>,
    /// As strings, because JavaScript rounds numbers above 2^53.
    ids: Vec<String>,
}
