//! `fpstore contamination`: finds the items of a benchmark in a corpus.

use std::path::PathBuf;

use anyhow::bail;
use clap::Args;
use fpstore_base::chain;
use fpstore_corpus::Event;
use fpstore_corpus::contamination::{
    Contamination, ContaminationCheck, ContaminationRow, FoundItem, SHORT_WORDS, ShingleRule,
    ShingleRules,
};
use fpstore_documents::DocumentOptions;
use fpstore_report::page::ContaminationPage;

use crate::args::documents::report;
use crate::args::inputs::{SkipBadArgs, inputs, refuse_pipes, title_of};
use crate::args::reading_args::ReadingArgs;
use crate::args::resources::{ProgressArgs, QuietArgs, ThreadArgs};
use crate::output::row_writer::RowWriter;
use crate::output::sink::{Sink, open_page, page_path};
use crate::output::text::{TableFormat, counted, grouped};
use crate::session::command::ExitStatus;

const LONG_ABOUT: &str = "\
Find benchmark items that occur in a corpus. With -o, copy the corpus without the documents that \
contain items.

A shingle is a run of --shingle words. A document contains an item if a passage has at least the \
share --contains of the item's shingles; the passage may be up to 1.5 times as long as the item. Items \
of less than 50 words use --short-shingle and --short-contains; an item so short that these allow no \
changed word (by default below 12 words) must occur completely. Items of fewer words than --min-words \
are counted and not searched. \
Case, punctuation, white space, invisible characters (soft hyphens, joiners) and the form of \
apostrophes make no difference. All such passages are found, and no others.

Each line has an item, the share, the file, the id of the document, and the begin and the end of the \
passage with the largest share: in characters, then in bytes. Items are identified by line number, or \
by --against-id-field.

-o writes the documents without items byte for byte, like 'clean'. Documents without text are kept, \
and with --skip-bad also bad records.";

const AFTER_HELP: &str = "\
Examples:
  fpstore contamination --against test.jsonl --docs corpus/ --found found.tsv
  fpstore contamination --against gsm8k.jsonl --against-text-field question --docs corpus/ -o clean/
  fpstore contamination --against test.jsonl --docs all.jsonl.zst --html found.html

Exit status: 0 done; 2 error.";

/// Find benchmark items that occur in a corpus, and copy the corpus without them
#[derive(Args, Debug)]
#[command(long_about = LONG_ABOUT, after_help = AFTER_HELP)]
pub(crate) struct ContaminationArgs {
    /// Files and folders of documents
    #[arg(value_name = "CORPUS", required = true)]
    files: Vec<PathBuf>,
    /// The input is documents; always set for this command
    #[arg(long, help_heading = "Documents")]
    docs: bool,
    /// A file or folder with the items of a benchmark; may be repeated
    #[arg(long, value_name = "FILE", required = true)]
    against: Vec<PathBuf>,
    /// Field or column of the text of items [default: as --text-field]
    #[arg(long, value_name = "NAME")]
    against_text_field: Option<String>,
    /// Field or column of the id of items [default: line or row number]
    #[arg(long, value_name = "NAME")]
    against_id_field: Option<String>,
    #[command(flatten)]
    rules: RuleArgs,
    /// Copy the documents that contain no benchmark item to PATH: a folder, or a file if the input
    /// is one file
    #[arg(short, long, value_name = "PATH")]
    output: Option<PathBuf>,
    /// Write the found items to FILE instead of standard output
    #[arg(long, value_name = "FILE")]
    found: Option<PathBuf>,
    /// The format of the found items
    #[arg(long, value_enum, default_value = "tsv")]
    format: TableFormat,
    /// Write a page for a browser with the items and the passages that contain them
    #[arg(long, value_name = "FILE", value_parser = page_path)]
    html: Option<PathBuf>,
    /// Number of pairs of item and document on the page; a sample if there are more
    #[arg(
        long,
        value_name = "N",
        requires = "html",
        default_value = "200",
        hide_short_help = true
    )]
    html_max: usize,
    /// Replace existing files
    #[arg(short, long)]
    force: bool,
    #[command(flatten)]
    bad: SkipBadArgs,
    #[command(flatten)]
    threads: ThreadArgs,
    #[command(flatten)]
    progress: ProgressArgs,
    #[command(flatten)]
    quiet: QuietArgs,
    #[command(flatten)]
    reading: ReadingArgs,
}

/// The options that define when a passage contains a benchmark item.
#[derive(Args, Debug)]
struct RuleArgs {
    /// Words per shingle for items of 50 words or more
    #[arg(long, value_name = "N", default_value_t = ShingleRules::default().long.shingle)]
    shingle: usize,
    /// Minimum share of the shingles of an item of 50 words or more that a passage must contain
    #[arg(long, value_name = "PART", default_value_t = ShingleRules::default().long.contained)]
    contains: f64,
    /// Words per shingle for items of less than 50 words
    #[arg(
        long,
        value_name = "N",
        default_value_t = ShingleRules::default().short.shingle,
        hide_short_help = true
    )]
    short_shingle: usize,
    /// Minimum share of the shingles of an item of less than 50 words that a passage must contain
    #[arg(
        long,
        value_name = "PART",
        default_value_t = ShingleRules::default().short.contained,
        hide_short_help = true
    )]
    short_contains: f64,
    /// Skip items with fewer than N words
    #[arg(
        long,
        value_name = "N",
        default_value_t = ShingleRules::default().words_min,
        hide_short_help = true
    )]
    min_words: usize,
}

impl RuleArgs {
    fn rules(&self) -> ShingleRules {
        ShingleRules {
            long: ShingleRule { shingle: self.shingle, contained: self.contains },
            short: ShingleRule { shingle: self.short_shingle, contained: self.short_contains },
            words_min: self.min_words,
        }
    }
}

impl ContaminationArgs {
    /// The options for reading the benchmark items.
    fn item_options(&self) -> DocumentOptions {
        let mut options = DocumentOptions::default().skip_bad(self.bad.skip_bad);
        if let Some(field) = self.against_text_field.as_deref().or(self.reading.text_field()) {
            options = options.text_field(field);
        }
        match &self.against_id_field {
            Some(field) => options.id_field(field),
            None => options.line_ids(true),
        }
    }
}

pub(crate) fn run(args: &ContaminationArgs) -> anyhow::Result<ExitStatus> {
    if args.html.is_some() {
        refuse_pipes(&args.against, "--html")?;
    }
    if args.format == TableFormat::Parquet && args.found.is_none() {
        bail!("--format parquet writes a file; name it with --found");
    }
    let against = inputs(&args.against)?;
    let files = inputs(&args.files)?;
    let page = open_page(args.html.as_deref(), args.force, "the lines")?;
    let quiet = args.quiet.is_on();
    let out = Sink::open_any(args.found.as_deref(), args.force)?.unwrap_or_else(Sink::stdout);
    let monitor = args.progress.monitor_beside(quiet, args.found.is_none())?;
    let options = args.reading.options(args.bad.skip_bad, args.threads.reading()?)?;
    let tell = |event: Event<'_>| match event {
        Event::Read(summary) => monitor.suspend(|| report(summary)),
        Event::NotCopied(error) => {
            monitor.suspend(|| message!("{}; its documents were left out", chain(error)));
        }
        _ => {}
    };
    let item_options = args.item_options();
    let check = ContaminationCheck {
        rules: args.rules.rules(),
        output: args.output.clone(),
        replace: args.force,
        threads: args.threads.count()?,
        observer: Some(monitor.observer()),
        listener: (!quiet).then_some(&tell),
        ..ContaminationCheck::new(&against, item_options.clone(), &files, options)
    };
    let mut shown = ContaminationPage::sample(args.html_max);
    let mut rows = RowWriter::new::<ContaminationRow<'_>>(args.format, out, &[])?;
    let account = check.run(|found: FoundItem<'_>| -> anyhow::Result<()> {
        if page.is_some() {
            shown.take(found.held());
        }
        rows.push(&found.row)
    })?;
    rows.finish()?;
    if let (Some(page), Some(path)) = (page, &args.html) {
        let options = item_options.observer(monitor.observer());
        let html = account.page(shown, &against, &options, &title_of(&files, path))?;
        page.write_whole(&html)?;
    }
    monitor.finish();
    if !quiet {
        report_account(args, &account);
    }
    if account.uncopied_count > 0 && args.output.is_some() {
        bail!(
            "{} could not be read to the end, see above: none of their documents is in an output; \
             the other files are complete",
            counted(account.uncopied_count, "file", "files"),
        );
    }
    Ok(ExitStatus::Done)
}

fn report_account(args: &ContaminationArgs, account: &Contamination) {
    if let Some(guess) = &account.items_read.guess {
        message!("items: {guess}; to select another, use --against-text-field");
    }
    if account.items_read.skipped_count > 0 {
        report(&account.items_read);
    }
    message!(
        "{} of {} found, {} of them whole, in {} of {}",
        grouped(account.found_item_count),
        counted(account.item_count, "item", "items"),
        grouped(account.whole_item_count),
        grouped(account.contaminated_count),
        counted(account.document_count, "document", "documents"),
    );
    if account.short_count > 0 {
        message!(
            "{} of fewer than {SHORT_WORDS} words: a passage must contain {} of the shingles of \
             {} words, or all if these allow no exchanged word",
            counted(account.short_count, "item", "items"),
            args.rules.short_contains,
            args.rules.short_shingle,
        );
    }
    if account.unjudged_count > 0 {
        let ids: Vec<String> = account.unjudged.iter().map(ToString::to_string).collect();
        let more = if account.unjudged_count > ids.len() as u64 { ", ..." } else { "" };
        message!(
            "{} with fewer than {} words not searched: {}{more}; --min-words sets the limit",
            counted(account.unjudged_count, "item", "items"),
            args.rules.min_words,
            ids.join(", "),
        );
    }
    let damaged_count = account.documents_read.damaged_count;
    if args.output.is_some() && damaged_count > 0 {
        message!(
            "{} not in the output",
            counted(damaged_count, "damaged record is", "damaged records are")
        );
    }
    if args.output.is_some() {
        message!(
            "{} kept in {}",
            counted(account.clean_count(), "document", "documents"),
            counted(account.file_count, "file", "files"),
        );
    }
}
