//! The options of `clean` for removed documents and for reports.

use std::path::PathBuf;

use crate::output::sink::page_path;
use clap::Args;
use fpstore_corpus::{KeepRules, LossLimit, PassageFate, Reasons};

/// Options that select which near-duplicate documents are removed, and options for reports.
#[derive(Args, Debug)]
pub(super) struct CleaningArgs {
    /// Remove a document if a kept one contains this share of its features, such as 1.0 for all
    ///
    /// The kept document then has at least as many features as the removed document. All such
    /// documents are found, however much longer the kept document is; --confirm S also requires a
    /// similarity of S. With --keep longest, the most documents are removed.
    #[arg(long, value_name = "PART", hide_short_help = true)]
    pub(super) confirm_contains: Option<f64>,
    /// With --unit: treatment of removed passages: cut, annotate or drop:PART
    ///
    /// cut removes the passages from their texts, and keeps the rest of each record. drop:0.5
    /// removes documents with half or more of their characters in removed passages, and keeps the
    /// others whole. annotate copies nothing: for each file it writes the ids of the documents and
    /// the places of their removed passages, in characters, each with the share of fingerprint
    /// bits that it has in common with the kept passage.
    #[arg(
        long,
        value_name = "FATE",
        requires = "unit",
        conflicts_with_all = ["list", "annotate", "cluster_size"],
        hide_short_help = true
    )]
    pub(super) passages: Option<PassageFate>,
    /// Field of the address (URL) of a document; the best document of each address is kept
    ///
    /// Differences in these parts are ignored: http or https, the case of the host, the default
    /// port, the fragment except #! and #/, slashes at the end, and tracking parameters, such as
    /// utm_source. Documents are removed by address before texts are compared; --keep selects the
    /// kept document.
    #[arg(long, value_name = "NAME", hide_short_help = true)]
    pub(super) url_field: Option<String>,
    /// Remove documents only for these reasons: address,bytes,text,near [default: all that apply]
    ///
    /// The first matching reason counts: address, see --url-field; bytes, equal texts; text, equal
    /// tokens of the recipe; near, see -k and --confirm. Without near only equal documents are
    /// removed.
    #[arg(long, value_name = "REASONS", hide_short_help = true)]
    pub(super) judge: Option<Reasons>,
    /// Pairs judged by people, one on each line: id, id, and 1 for the same document or 0 for
    /// different documents
    ///
    /// The format is the same as for 'evaluate'. Among documents judged the same, the best by
    /// --keep is kept. A document judged different from the document that would replace it is kept,
    /// even if it is near other documents. Unknown ids have no effect.
    #[arg(long, value_name = "FILE", hide_short_help = true)]
    pub(super) pairs: Option<PathBuf>,
    /// Which near-duplicate to keep: first, last, longest, newest:FIELD, best:FIELD or source:A,B
    ///
    /// The field contains a date (newest) or a number (best); source:A,B prefers documents of
    /// source A, then of B, see --source-field. Several rules, separated by commas, are applied in
    /// order, as in source:curated,wiki,best:quality,longest. Documents without the field of a rule
    /// come last, and of equal documents the first is kept.
    #[arg(long, value_name = "RULES", default_value = "first")]
    pub(super) keep: KeepRules,
    /// Field with the source of a document [default with --keep source:A,B: source]
    #[arg(long, value_name = "NAME", hide_short_help = true)]
    pub(super) source_field: Option<String>,
    /// Relax the threshold step by step until at most N documents are left
    ///
    /// The threshold starts at equal documents (similarity 1 or distance 0), and is relaxed up to
    /// --confirm or -k; it is the same for all documents. At the reached threshold, the documents
    /// least similar to their kept document are kept until N are left. If even the last threshold
    /// leaves more than N, nothing is written. Documents without fingerprint count among the N, and
    /// are always kept.
    #[arg(long, value_name = "N", hide_short_help = true)]
    pub(super) target: Option<u64>,
    /// Stop before writing if more than PART of the documents would be removed, such as 50%
    ///
    /// The limit applies to all documents, and to each file and each source with 100 documents or
    /// more. The same command with a higher limit continues the stopped job.
    #[arg(long, value_name = "PART")]
    pub(super) max_loss: Option<LossLimit>,
    /// Write to FILE the number of documents and of removed documents: total, per file, per source
    #[arg(long, value_name = "FILE", hide_short_help = true)]
    pub(super) losses: Option<PathBuf>,
    /// Write a manifest to FILE, as JSON: settings, counts, SHA-256 of input and output files
    ///
    /// The files are read again for it. 'jq -r \'.inputs[], .outputs[] | "\(.sha256)  \(.path)"\'
    /// FILE | sha256sum -c' checks them later.
    #[arg(long, value_name = "FILE", hide_short_help = true)]
    pub(super) manifest: Option<PathBuf>,
    /// Write a page for a browser: counts, plots, removed and kept documents
    ///
    /// A slider shows the number of documents of the sample that a higher similarity would keep.
    /// The similarity in the sample is exact, also without --confirm. The texts of the sample are
    /// read again.
    #[arg(long, value_name = "FILE", value_parser = page_path)]
    pub(super) html: Option<PathBuf>,
    /// Number of removed documents on the page; a sample if there are more
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
    /// These are the kept document and the next best documents by --keep. Documents near a stored
    /// document are still removed.
    #[arg(long, value_name = "N", hide_short_help = true)]
    pub(super) per_cluster: Option<u32>,
    /// Add a field NAME with the size of its cluster to each kept document
    ///
    /// The size is 1 for a document without near documents, and null for bad records and documents
    /// without text.
    #[arg(long, value_name = "NAME", hide_short_help = true, conflicts_with = "list")]
    pub(super) cluster_size: Option<String>,
    /// Keep all documents, and add to duplicates a field NAME with the id of their original
    #[arg(long, value_name = "NAME")]
    pub(super) annotate: Option<String>,
    /// Print fingerprint and id of each kept document instead of copying it
    #[arg(long, conflicts_with = "annotate")]
    pub(super) list: bool,
    /// Print what would be removed and change nothing
    ///
    /// Files of other options, such as --removed and --html, are still written. Finding duplicates
    /// takes the same time; only copying is saved.
    #[arg(long, short_alias = 'n', conflicts_with = "list")]
    pub(super) dry_run: bool,
}
