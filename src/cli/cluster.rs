//! `fpstore cluster`: groups of near-duplicates, and which of them to keep.

use std::io::Write;
use std::path::PathBuf;

use clap::{Args, ValueEnum};
use fpstore::{Cluster, ClusterMethod, Clusters, Fate, KeepRule, clusters};
use serde::Serialize;

use super::Verdict;
#[cfg(feature = "parquet")]
use super::cluster_table::ClusterTable;
use super::effort::{EffortArgs, Work};
use super::join_input::{Ids, JoinInputArgs, join_options, split_place};
use super::output::{IdPrinter, counted};
use super::previous::Previous;
use super::sink::{OutputArgs, Sink};

const LONG_ABOUT: &str = "\
Find the clusters of near-duplicates: groups of two or more documents.

The input is a store, or files as 'build' reads them. TSV has one line for each document: cluster, size, diameter, \
distance from the representative, fingerprint, id. The representative comes first. Size counts documents; the \
diameter is the largest distance of two members, with a + where it is only known to be at least that, which \
happens above 4096 fingerprints. JSON has one object a cluster.

Methods: components joins what chains of near documents connect; the representative is near the most \
documents, then has the smallest id. star lets every member be near its representative. leader is what \
dropping each document near an earlier kept one gives: earlier in the files, or by smallest id in a store.

--keep prints, in the place of the clusters, the documents that stay, by ascending fingerprint, as lines \
that 'build' reads; with --drop those that go. Rules: representative; smallest-id; first, the first in the files; \
largest-cluster, its documents and nothing else.

--stable FILE, an earlier output with the columns or objects of this command, has clusters keep their number \
where they persist: a number goes to the cluster with most of its documents.

Takes 24 bytes of memory for each fingerprint beside the join; pairs are not kept.";

const AFTER_HELP: &str = "\
Examples:
  fpstore cluster pages.tsv.zst --method star -o clusters.tsv
  fpstore cluster pages.fps --keep representative -o kept.tsv
  fpstore cluster pages.fps --stable clusters.tsv --format json

Exit status: 0 if there is any cluster, or with --keep; 1 if there is none; 2 if it could not tell.";

/// Find clusters of near-duplicates, and what to keep of them
#[derive(Args, Debug)]
#[command(long_about = LONG_ABOUT, after_help = AFTER_HELP)]
pub(super) struct ClusterArgs {
    #[command(flatten)]
    input: JoinInputArgs,
    /// The distance in bits, inclusive
    #[arg(short, default_value_t = 3, value_parser = clap::value_parser!(u32).range(0..=64))]
    k: u32,
    /// What a cluster is
    #[arg(long, value_enum, default_value = "components")]
    method: MethodArg,
    /// Keep the cluster numbers of an earlier output
    #[arg(long, value_name = "FILE")]
    stable: Option<PathBuf>,
    /// Print what stays in the place of the clusters
    #[arg(long, value_enum, value_name = "RULE")]
    keep: Option<KeepArg>,
    /// With --keep, print what goes
    #[arg(long, requires = "keep")]
    drop: bool,
    /// How to print clusters
    #[arg(long, value_enum, default_value = "tsv")]
    format: ClusterFormat,
    #[command(flatten)]
    output: OutputArgs,
    #[command(flatten)]
    effort: EffortArgs,
    /// Say nothing but errors
    #[arg(short, long)]
    quiet: bool,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum MethodArg {
    /// What chains of near documents connect
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
    /// All documents of the largest cluster, and nothing else
    LargestCluster,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum ClusterFormat {
    /// Tab-separated columns, one document a line
    Tsv,
    /// One JSON object a cluster and line
    Json,
    /// A Parquet file, one row a document; needs -o
    #[cfg(feature = "parquet")]
    Parquet,
}

pub(super) fn run(args: &ClusterArgs) -> anyhow::Result<Verdict> {
    let mut out = args.output.open()?;
    let previous = args.stable.as_deref().map(Previous::read).transpose()?;
    let work = Work::start(&args.effort, args.quiet)?;
    let places = args.keep == Some(KeepArg::First)
        || matches!(args.method, MethodArg::Leader) && args.input.has_files();
    let ids = if places { Ids::WithPlaces } else { Ids::AsTheyAre };
    let opened = args.input.open(&args.effort, &work, ids)?;
    let options = join_options(args.k, &args.effort, &work);
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
    let printer = Printer { ids, printer: IdPrinter::for_sink(&out) };
    if let Some(rule) = args.keep {
        let done = print_fates(&found, rule, args.drop, &printer, &mut out)?;
        work.done();
        out.finish()?;
        if !args.quiet {
            say!(
                "fpstore: {} kept, {} dropped",
                counted(done.0, "document", "documents"),
                counted(done.1, "document", "documents")
            );
        }
        return Ok(Verdict::Yes);
    }
    #[cfg(feature = "parquet")]
    let mut table = match args.format {
        ClusterFormat::Parquet => Some(ClusterTable::new(&out)?),
        _ => None,
    };
    let (mut count, mut documents) = (0, 0);
    found.for_each(|cluster| {
        count += 1;
        documents += cluster.size;
        match args.format {
            ClusterFormat::Tsv => printer.write_tsv(&mut out, cluster),
            ClusterFormat::Json => printer.write_json(&mut out, cluster),
            #[cfg(feature = "parquet")]
            ClusterFormat::Parquet => match &mut table {
                Some(table) => table.push(cluster, |id| own_id(id, ids).map(String::from)),
                None => Ok(()),
            },
        }
    })?;
    #[cfg(feature = "parquet")]
    table.map_or(Ok(()), ClusterTable::finish)?;
    work.done();
    out.finish()?;
    if !args.quiet {
        say!(
            "fpstore: {} of {} within {}",
            counted(count, "cluster", "clusters"),
            counted(documents, "document", "documents"),
            counted(args.k.into(), "bit", "bits")
        );
    }
    Ok(if count == 0 { Verdict::No } else { Verdict::Yes })
}

/// Prints the documents with the fate asked for: how many are kept and dropped.
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

/// The id that the user gave.
fn own_id(id: &str, ids: Ids) -> Option<&str> {
    match ids {
        Ids::AsTheyAre => Some(id),
        Ids::WithPlaces => split_place(id).1,
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
    /// As strings, numbers too: JavaScript would round those above 2^53.
    ids: Vec<String>,
}
