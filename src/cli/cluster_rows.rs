//! Clusters as they are printed: TSV, JSON and Parquet.

use std::io::Write;

use clap::ValueEnum;
use fpstore::Fingerprint;
use serde::Serialize;

#[cfg(feature = "parquet")]
use super::cluster_table::ClusterTable;
use super::output::IdPrinter;
use super::sink::Sink;

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum ClusterFormat {
    /// Tab-separated columns, one line for each document
    Tsv,
    /// One JSON object for each cluster, on one line
    Json,
    /// A Parquet file with one row for each document; needs -o
    #[cfg(feature = "parquet")]
    Parquet,
}

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
pub(super) enum ClusterOutput<'a> {
    Tsv(&'a mut Sink, IdPrinter),
    Json(&'a mut Sink),
    #[cfg(feature = "parquet")]
    Parquet(Box<ClusterTable<'a>>),
}

impl<'a> ClusterOutput<'a> {
    /// With `has_similarity` a table has a column for it.
    #[cfg_attr(not(feature = "parquet"), expect(unused_variables, reason = "Parquet is a table"))]
    pub(super) fn new(
        format: ClusterFormat,
        has_similarity: bool,
        out: &'a mut Sink,
    ) -> anyhow::Result<Self> {
        Ok(match format {
            ClusterFormat::Tsv => {
                let printer = IdPrinter::new(out.is_terminal());
                ClusterOutput::Tsv(out, printer)
            }
            ClusterFormat::Json => ClusterOutput::Json(out),
            #[cfg(feature = "parquet")]
            ClusterFormat::Parquet => {
                ClusterOutput::Parquet(Box::new(ClusterTable::new(out, has_similarity)?))
            }
        })
    }

    pub(super) fn write(&mut self, group: Group) -> anyhow::Result<()> {
        match self {
            ClusterOutput::Tsv(out, printer) => write_tsv(out, printer, &group),
            ClusterOutput::Json(out) => write_json(out, group),
            #[cfg(feature = "parquet")]
            ClusterOutput::Parquet(table) => table.push(group),
        }
    }

    pub(super) fn finish(self) -> anyhow::Result<()> {
        match self {
            #[cfg(feature = "parquet")]
            ClusterOutput::Parquet(table) => table.finish(),
            _ => Ok(()),
        }
    }
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
