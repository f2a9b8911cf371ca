//! `fpstore cluster`: finds groups of near-duplicates and which documents to keep.

use std::io::Write;
use std::path::PathBuf;

use anyhow::bail;
use clap::{Args, ValueEnum};
use fpstore::join::{Cluster, ClusterMethod, Clusters, Fate, KeepRule, clusters};
use serde::Serialize;

#[cfg(feature = "parquet")]
use super::cluster_table::ClusterTable;
use super::command::{ExitStatus, Run};
use super::join_input::{Ids, JoinInputArgs, split_position};
use super::output::{IdPrinter, counted};
use super::previous::Previous;
use super::resources::ResourceArgs;
use super::sink::{OutputArgs, Sink};

const LONG_ABOUT: &str = "\
Find the clusters of near-duplicates: groups of two or more documents.

The input is a store, or files as 'build' reads them. TSV has one line for each document: \
cluster, size, diameter, distance from the representative, fingerprint, id. The representative \
comes first. The size counts documents. The diameter is the largest distance between two \
members; a + after it means at least, which happens above 4096 fingerprints. JSON has one object \
for each cluster.

Methods: components joins documents that a chain of near documents connects; the representative \
is near the most documents, and among those has the smallest id. star: every member is near its \
representative, and the most connected documents become representatives first. leader: as if \
each document near an earlier kept one was dropped; earlier means in the order of the files, or \
by smallest id in a store.

--keep prints, instead of the clusters, the documents to keep, by ascending fingerprint, as \
lines that 'build' reads; with --drop it prints the others. Rules: representative; smallest-id; \
first, the first in the files; largest-cluster, which keeps the documents of the largest cluster \
and no others.

--stable FILE reads an earlier output of this command and keeps the numbers of its clusters: a \
number goes to the cluster with most of its documents.

Needs 24 bytes of memory for each fingerprint besides the join; pairs are not stored.";

const AFTER_HELP: &str = "\
Examples:
  fpstore cluster pages.tsv.zst --method star -o clusters.tsv
  fpstore cluster pages.fps --keep representative -o kept.tsv
  fpstore cluster pages.fps --stable clusters.tsv --format json

Exit status: 0 if there is any cluster, or with --keep; 1 if there is none; 2 error.";

/// Find clusters of near-duplicates, and which documents to keep
#[derive(Args, Debug)]
#[command(long_about = LONG_ABOUT, after_help = AFTER_HELP)]
pub(super) struct ClusterArgs {
    #[command(flatten)]
    input: JoinInputArgs,
    /// The distance in bits, inclusive [default: the one the store was built for, 3 for files]
    #[arg(short, value_parser = clap::value_parser!(u32).range(0..=64))]
    k: Option<u32>,
    /// The definition of a cluster
    #[arg(long, value_enum, default_value = "components")]
    method: MethodArg,
    /// Keep the cluster numbers of an earlier output
    #[arg(long, value_name = "FILE")]
    stable: Option<PathBuf>,
    /// Print the documents to keep instead of the clusters
    #[arg(long, value_enum, value_name = "RULE")]
    keep: Option<KeepArg>,
    /// With --keep: print the documents to drop
    #[arg(long, requires = "keep")]
    drop: bool,
    /// The output format
    #[arg(long, value_enum, default_value = "tsv")]
    format: ClusterFormat,
    #[command(flatten)]
    output: OutputArgs,
    #[command(flatten)]
    resources: ResourceArgs,
    /// Print only errors
    #[arg(short, long)]
    quiet: bool,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum MethodArg {
    /// Documents that a chain of near documents connects
    Components,
    /// Every member near its representative, the most connected first
    Star,
    /// Every member near its representative, the smallest id first
    Leader,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum KeepArg {
    /// The representative of each cluster
    Representative,
    /// The smallest id of each cluster
    SmallestId,
    /// The first record of each cluster in the files
    First,
    /// The documents of the largest cluster, and no others
    LargestCluster,
}

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

impl Run for ClusterArgs {
    fn run(&self) -> anyhow::Result<ExitStatus> {
        run(self)
    }
}

fn run(args: &ClusterArgs) -> anyhow::Result<ExitStatus> {
    if args.keep.is_some() && args.format != ClusterFormat::Tsv {
        bail!("--keep prints lines that 'build' reads; leave out --format");
    }
    let mut out = args.output.open()?;
    let previous = args.stable.as_deref().map(Previous::read).transpose()?;
    let monitor = args.resources.monitor(args.quiet)?;
    let by_position = args.keep == Some(KeepArg::First)
        || matches!(args.method, MethodArg::Leader) && args.input.has_files();
    let ids = if by_position { Ids::WithPositions } else { Ids::AsTheyAre };
    let opened = args.input.open(&args.resources, &monitor, ids)?;
    let k = args.k.unwrap_or(opened.default_k);
    let options = args.resources.join_options(k, &monitor)?;
    let method = match args.method {
        MethodArg::Components => ClusterMethod::Components,
        MethodArg::Star => ClusterMethod::Star,
        MethodArg::Leader => ClusterMethod::Leader,
    };
    let mut found = clusters(&opened.store, &options, method)?;
    if let Some(previous) = &previous {
        found.keep_numbers(previous.last(), |fingerprint, id| {
            let id = id.map(|id| id.to_string());
            previous.number(fingerprint, id.as_deref().and_then(|id| own_id(id, ids)))
        })?;
    }
    let printer = Printer { ids, printer: IdPrinter::new(out.is_terminal()) };
    if let Some(rule) = args.keep {
        let done = print_fates(&found, rule, args.drop, &printer, &mut out)?;
        monitor.finish();
        out.finish()?;
        if !args.quiet {
            message!(
                "{} kept, {} dropped",
                counted(done.0, "document", "documents"),
                counted(done.1, "document", "documents")
            );
        }
        return Ok(ExitStatus::Done);
    }
    let (mut count, mut documents) = (0, 0);
    let mut take = |cluster: &Cluster| {
        count += 1;
        documents += cluster.size;
        monitor.check()
    };
    match args.format {
        ClusterFormat::Tsv => found.for_each(|cluster| -> anyhow::Result<()> {
            take(cluster)?;
            printer.write_tsv(&mut out, cluster)
        })?,
        ClusterFormat::Json => found.for_each(|cluster| -> anyhow::Result<()> {
            take(cluster)?;
            printer.write_json(&mut out, cluster)
        })?,
        #[cfg(feature = "parquet")]
        ClusterFormat::Parquet => {
            let mut table = ClusterTable::new(&mut out)?;
            found.for_each(|cluster| -> anyhow::Result<()> {
                take(cluster)?;
                table.push(cluster, |id| own_id(id, ids).map(String::from))
            })?;
            table.finish()?;
        }
    }
    monitor.finish();
    out.finish()?;
    if !args.quiet {
        message!(
            "{} of {} within {}",
            counted(count, "cluster", "clusters"),
            counted(documents, "document", "documents"),
            counted(k.into(), "bit", "bits")
        );
    }
    Ok(if count == 0 { ExitStatus::Negative } else { ExitStatus::Done })
}

/// Prints the documents to keep, or those to drop. Returns how many are kept and how many dropped.
fn print_fates(
    found: &Clusters,
    rule: KeepArg,
    dropped: bool,
    printer: &Printer,
    out: &mut Sink,
) -> anyhow::Result<(u64, u64)> {
    let rule = match rule {
        KeepArg::Representative => KeepRule::Representative,
        KeepArg::SmallestId | KeepArg::First => KeepRule::SmallestId,
        KeepArg::LargestCluster => KeepRule::LargestCluster,
    };
    let mut counts = (0, 0);
    found.for_each_document(rule, |fate, fingerprint, id| -> anyhow::Result<()> {
        match fate {
            Fate::Keep => counts.0 += 1,
            Fate::Drop => counts.1 += 1,
        }
        if (fate == Fate::Drop) != dropped {
            return Ok(());
        }
        let id = id.map(|id| id.to_string());
        match id.as_deref().and_then(|id| own_id(id, printer.ids)) {
            Some(id) => writeln!(out, "{fingerprint}\t{}", printer.printer.show(id))?,
            None => writeln!(out, "{fingerprint}")?,
        }
        Ok(())
    })?;
    Ok(counts)
}

/// The id in the input of the user.
fn own_id(id: &str, ids: Ids) -> Option<&str> {
    match ids {
        Ids::AsTheyAre => Some(id),
        Ids::WithPositions => split_position(id).1,
    }
}

struct Printer {
    ids: Ids,
    printer: IdPrinter,
}

impl Printer {
    fn write_tsv(&self, out: &mut Sink, cluster: &Cluster) -> anyhow::Result<()> {
        let sure = if cluster.diameter_is_exact { "" } else { "+" };
        let Cluster { number, size, diameter, .. } = cluster;
        for member in &cluster.members {
            let (fingerprint, distance) = (member.fingerprint, member.distance);
            let mut line = |id: &str| {
                let id = self.printer.show(id);
                writeln!(out, "{number}\t{size}\t{diameter}{sure}\t{distance}\t{fingerprint}\t{id}")
            };
            if member.ids.is_empty() {
                line("")?;
            }
            for id in &member.ids {
                line(own_id(&id.to_string(), self.ids).unwrap_or_default())?;
            }
        }
        Ok(())
    }

    fn write_json(&self, out: &mut Sink, cluster: &Cluster) -> anyhow::Result<()> {
        let ids = |ids: &[fpstore::Id]| {
            let texts = ids.iter().map(|id| id.to_string());
            texts.filter_map(|id| own_id(&id, self.ids).map(String::from)).collect()
        };
        let members = cluster.members.iter().map(|member| JsonMember {
            fingerprint: member.fingerprint.to_string(),
            distance: member.distance,
            ids: ids(&member.ids),
        });
        let line = JsonCluster {
            cluster: cluster.number,
            size: cluster.size,
            diameter: cluster.diameter,
            diameter_is_exact: cluster.diameter_is_exact,
            representative: cluster.representative().fingerprint.to_string(),
            members: members.collect(),
        };
        serde_json::to_writer(&mut *out, &line)?;
        Ok(out.write_all(b"\n")?)
    }
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
    /// As strings, because JavaScript rounds numbers above 2^53.
    ids: Vec<String>,
}
