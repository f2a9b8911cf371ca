//! The options of `clean` for removed documents and for reports.

use std::path::PathBuf;

use crate::output::sink::page_path;
use clap::Args;
use fpstore_corpus::{KeepRules, LossLimit, PassageFate, Reasons};

/// Policies for near-duplicate documents, and the reports.
#[derive(Args, Debug)]
pub(super) struct CleaningArgs {
    /// And the kept one has this part of a document's features, such as 1.0; see --confirm
    ///
    /// It then has no fewer features than the document. With 1.0 a document goes only if all its
    /// features are in the one that is kept. What is contained in a document that is less similar
    /// than --confirm says is not found. --keep longest finds the most.
    #[arg(long, value_name = "PART", hide_short_help = true)]
    pub(super) confirm_contains: Option<f64>,
    /// With --unit: what becomes of removed passages: cut, annotate, or drop:PART of a document
    ///
    /// cut takes them out of their texts, and leaves the rest of each record as it is. drop:0.5 drops
    /// documents of which half or more of the characters are in removed passages, and leaves the
    /// others whole. annotate copies nothing: it writes for each file its documents' ids and the
    /// places of their removed passages, in characters, with 1 less the part of the bits in which
    /// they differ from the kept one.
    #[arg(
        long,
        value_name = "FATE",
        requires = "unit",
        conflicts_with_all = ["list", "annotate", "cluster_size"],
        hide_short_help = true
    )]
    pub(super) passages: Option<PassageFate>,
    /// The field that holds the address (URL) of a document; of one address the best stays
    ///
    /// Addresses are the same whether http or https, whatever the case of the host, without the default
    /// port, the fragment, slashes at the end and parameters that follow readers, such as utm_source.
    /// A document goes by its address before texts are compared; --keep says which one stays.
    #[arg(long, value_name = "NAME", hide_short_help = true)]
    pub(super) url_field: Option<String>,
    /// Remove documents by these reasons alone: address,bytes,text,near [default: all that apply]
    ///
    /// The first that holds is the reason: address, see --url-field; bytes, the texts are the same;
    /// text, they are the same tokens, as the recipe makes them; near, see -k and --confirm. Without
    /// near only what is the same is removed.
    #[arg(long, value_name = "REASONS", hide_short_help = true)]
    pub(super) judge: Option<Reasons>,
    /// Pairs that people have judged: id, id and 1 for one document, 0 for different ones
    ///
    /// The file is that of 'evaluate'. Of documents that are one the best by --keep stays. A document
    /// that is judged different from the one that it would go by stays, whatever else it is near. Ids
    /// that no document has change nothing.
    #[arg(long, value_name = "FILE", hide_short_help = true)]
    pub(super) pairs: Option<PathBuf>,
    /// Of near documents keep the first, last, longest, newest:FIELD, best:FIELD or source:A,B
    ///
    /// The field holds a date (newest) or a number (best); source:A,B prefers documents of source A,
    /// then of B, see --source-field. Several rules with commas between them decide one after the
    /// other, as in source:curated,wiki,best:quality,longest. Documents without the field of a rule
    /// come last, and of equal ones the first is kept.
    #[arg(long, value_name = "RULES", default_value = "first")]
    pub(super) keep: KeepRules,
    /// The field that says which source a document comes from [default: source, with --keep source:]
    #[arg(long, value_name = "NAME", hide_short_help = true)]
    pub(super) source_field: Option<String>,
    /// Raise the bar evenly, from what is the same, until at most N documents are left
    ///
    /// The bar goes from similarity 1 down to that of --confirm, or from distance 0 up to -k, one for
    /// all documents. At the bar that is reached, those that are the least alike to the kept one stay
    /// until N are left. If even the last bar leaves more than N, nothing is written. Documents without
    /// fingerprint are among the N, and stay in any case.
    #[arg(long, value_name = "N", hide_short_help = true)]
    pub(super) target: Option<u64>,
    /// Stop before anything is written if more is removed, such as 50%
    ///
    /// It holds for all documents, and for each file and each source with 100 documents or more. The
    /// same command with a higher limit goes on from there.
    #[arg(long, value_name = "PART")]
    pub(super) max_loss: Option<LossLimit>,
    /// Write to FILE how many documents all files, each file and each source have, and lose
    #[arg(long, value_name = "FILE", hide_short_help = true)]
    pub(super) losses: Option<PathBuf>,
    /// Write to FILE what went in and came out, as JSON: settings, counts, SHA-256 of all files
    ///
    /// The files are read again for it. 'jq -r \'.inputs[], .outputs[] | "\(.sha256)  \(.path)"\' FILE
    /// | sha256sum -c' checks them later.
    #[arg(long, value_name = "FILE", hide_short_help = true)]
    pub(super) manifest: Option<PathBuf>,
    /// Write a page for a browser: counts, plots, and what goes beside what stays
    ///
    /// A slider shows how many documents of the sample would stay at a higher similarity; that of the
    /// sample is computed exactly, also without --confirm. Its texts are read again.
    #[arg(long, value_name = "FILE", value_parser = page_path)]
    pub(super) html: Option<PathBuf>,
    /// The removed documents that the page shows; of more, a sample
    #[arg(
        long,
        value_name = "N",
        requires = "html",
        default_value = "200",
        hide_short_help = true
    )]
    pub(super) html_max: usize,
    /// Keep up to N documents of each cluster [default: 1]
    ///
    /// Of near documents the one that is kept in any case, and those that are the next best by
    /// --keep. Documents near a stored one are removed as ever.
    #[arg(long, value_name = "N", hide_short_help = true)]
    pub(super) per_cluster: Option<u32>,
    /// Add a field NAME with the number of documents of its cluster to each document that stays
    ///
    /// It is 1 for a document that is near no other one, and null for bad records and for documents
    /// without text.
    #[arg(long, value_name = "NAME", hide_short_help = true, conflicts_with = "list")]
    pub(super) cluster_size: Option<String>,
    /// Keep all documents, and add a field NAME with the id of the one that each duplicates
    #[arg(long, value_name = "NAME")]
    pub(super) annotate: Option<String>,
    /// Print fingerprint and id of each kept document instead of copying it
    #[arg(long, conflicts_with = "annotate")]
    pub(super) list: bool,
    /// Print what would be removed and change nothing
    ///
    /// The lists and pages that other options name are written. What it takes is the time for finding,
    /// without that for copying.
    #[arg(long, short_alias = 'n', conflicts_with = "list")]
    pub(super) dry_run: bool,
}
