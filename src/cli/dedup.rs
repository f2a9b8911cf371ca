//! `fpstore dedup`: finds the new records that are not near-duplicates.

use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::bail;
use clap::Args;
use fpstore::join::{Dedup, DocumentPair, Fate, dedup};
use fpstore::{Error, IdRef, Recipe, Store, Writer, WriterOptions};

use super::command::{ExitStatus, Run, open_map};
use super::confirm::{self, ConfirmArgs};
use super::dedup_stored::Destinations;
use super::documents::{DocumentArgs, Documents};
use super::inputs::ReadArgs;
use super::join_input::{Source, split_position};
use super::monitor::Monitor;
use super::new_records::NewRecords;
use super::output::{IdPrinter, counted, grouped};
use super::reading_args::in_long_help;
use super::resources::ResourceArgs;
use super::sink::{OutputArgs, Sink};
use super::stream::BatchArgs;
use super::turns::Turns;
use super::wait::WaitArgs;
use super::{dedup_confirmed, dedup_stored, dedup_stream};

const LONG_ABOUT: &str = "\
Find the new records that are near-duplicates of stored ones, and print the others in their \
order, as lines that 'build' reads. Stored records are never dropped.

--within also drops new records that are near an earlier new record that is kept; without \
--against it drops only those. Records are compared by fingerprint; ids only name them.

--matches FILE receives the reasons: new fingerprint, other fingerprint, distance, new id, other \
id, and 'stored' or 'new' for the other record. A new record has one line for each stored \
document that it is near, and a record dropped by --within has one line for the record that is \
kept instead. Lines are sorted by the new fingerprint, with stored ones first. Many copies of one \
document make very many lines, so they are counted first, and more than --max-matches are refused.

With --docs, NEW are documents, and the recipe is that of the store. New fingerprints must be made \
by the recipe of the store: give --recipe as for 'build', unless the store holds ready-made ones.

With --docs, --confirm S drops a document only if it is alike to the other one: the Jaccard \
similarity of their features is S or more. It is estimated from the sketches that the store keeps \
(build --sketch); without --against it is exact, and the documents are read twice. --matches then \
has the similarity after the distance, and the documents in their order.

--add adds the kept records to the store, all of them after the output is written, or none. With \
--add and - as NEW, each record of standard input is answered at once, and later records are \
also compared with earlier ones. The answer is 'new', fingerprint and id for a record that is \
added; or 'near', fingerprint, id, stored fingerprint, distance and first stored id for one that \
is not. Records are committed --batch-count at a time or every --batch-seconds; after a crash up \
to that many may be answered 'new' again. With --batch-count 1 each record is durable before it \
is answered. Other commands can write to the store between two batches; while they do, the stream \
waits, and then compares with their records, too. If nobody reads the answers any more, the records \
that were answered are added, and the status is 2.

Needs 24 bytes of memory for each new fingerprint besides the join.";

const AFTER_HELP: &str = "\
Examples:
  fpstore dedup --against pages.fps new.tsv.zst -o kept.tsv --matches dropped.tsv
  fpstore dedup --within corpus.tsv | zstd > unique.tsv.zst
  fpstore dedup --within --docs corpus.jsonl.zst --confirm 0.8 -o kept.tsv
  crawler | fpstore dedup --against pages.fps --add -

Exit status: 0 done; 2 error.";

/// Find which new records are near-duplicates of stored ones
#[derive(Args, Debug)]
#[command(long_about = LONG_ABOUT, after_help = AFTER_HELP, mut_args = in_long_help)]
pub(super) struct DedupArgs {
    /// Files of new records, as 'build' reads them, or -; with --docs also folders
    #[arg(value_name = "NEW", required = true)]
    pub(super) files: Vec<PathBuf>,
    /// The store to compare with
    #[arg(long, value_name = "STORE", required_unless_present = "within")]
    against: Option<PathBuf>,
    /// Also find near-duplicates among the new records; the first one is kept
    #[arg(long)]
    pub(super) within: bool,
    /// Add the kept records to the store; with - each record is answered at once
    #[arg(long, requires = "against")]
    add: bool,
    /// With --add: the label of the new segment
    #[arg(
        long,
        value_name = "LABEL",
        default_value = "",
        hide_default_value = true,
        requires = "add"
    )]
    label: String,
    /// The distance in bits, inclusive [default: the one the store was built for, else 3]
    #[arg(short, value_parser = clap::value_parser!(u32).range(0..=64))]
    pub(super) k: Option<u32>,
    #[command(flatten)]
    confirm: ConfirmArgs,
    /// Write to FILE what each dropped record is near to
    #[arg(long, value_name = "FILE")]
    pub(super) matches: Option<PathBuf>,
    /// Fail, and write nothing, if --matches would have more than N lines
    #[arg(long, value_name = "N", default_value_t = 100_000_000)]
    pub(super) max_matches: u64,
    #[command(flatten)]
    batch: BatchArgs,
    #[command(flatten)]
    read: ReadArgs,
    #[command(flatten)]
    documents: DocumentArgs,
    #[command(flatten)]
    pub(super) output: OutputArgs,
    #[command(flatten)]
    wait: WaitArgs,
    #[command(flatten)]
    pub(super) resources: ResourceArgs,
    /// Print only errors
    #[arg(short, long)]
    pub(super) quiet: bool,
}

impl Run for DedupArgs {
    fn run(&self) -> anyhow::Result<ExitStatus> {
        run(self)
    }

    fn takes_recipe(&self) -> bool {
        true
    }
}

fn run(args: &DedupArgs) -> anyhow::Result<ExitStatus> {
    let mut stored = args.against.as_deref().map(open_map).transpose()?;
    let memory = args.resources.memory;
    let documents = match &stored {
        Some(stored) => args.documents.prepare_for(stored, &args.read, memory)?,
        None => args.documents.prepare(&args.read, memory)?,
    };
    if args.against.is_none() && documents.is_some() && !args.documents.are_given() {
        bail!("--recipe is for documents, or for fingerprints that are compared with a store");
    }
    let usual_k = documents.as_ref().map_or(3, Documents::usual_k);
    let k = args.k.unwrap_or_else(|| stored.as_ref().map_or(usual_k, Store::tuned_k));
    let recipe = documents.as_ref().map_or(Recipe::external(), Documents::recipe);
    check_recipe(stored.as_ref(), &recipe)?;
    let documents = documents.filter(Documents::are_given);
    // Sketches take time, and are of use only to be compared or kept.
    let has_use = args.add || args.confirm.confirm.is_some();
    let documents = documents.map(|of| if has_use { of } else { of.sketched(0) });
    match (args.confirm.confirm, &documents, &stored) {
        (Some(_), None, _) => {
            bail!("--confirm compares documents; add --docs and name their files")
        }
        // Before any work is done.
        (Some(threshold), Some(_), Some(stored)) => {
            confirm::candidate_k(stored, threshold, args.k)?;
        }
        _ => {}
    }
    let is_stream = args.add && args.files.iter().any(|file| file == Path::new("-"));
    if is_stream && (args.files.len() > 1 || args.matches.is_some() || args.output.output.is_some())
    {
        bail!(
            "--add with - reads only standard input and prints the answers; leave out files, -o \
             and --matches"
        );
    }
    if is_stream && documents.is_some() {
        bail!("--add with - answers fingerprints; 'fingerprint' makes them of documents");
    }
    let monitor = args.resources.monitor(args.quiet)?;
    let options = WriterOptions::default().label(&args.label).recipe(recipe.clone());
    let options = options.wait(args.wait.duration());
    let options = args.resources.limit(options, &monitor)?;
    if let (true, Some(path)) = (is_stream, &args.against) {
        drop(stored);
        let turns = Turns::new(path, options);
        return dedup_stream::run(turns, k, &args.batch, &args.read, &monitor, args.quiet);
    }
    if args.matches.is_some() && args.matches == args.output.output {
        bail!("--matches and --output name the same file");
    }
    let mut out = args.output.open()?;
    let matches = args.matches.as_deref().map(|path| Sink::open(path, args.output.force));
    let matches = matches.transpose()?;
    // The lock is taken before the store is read, so that no other process adds the same records.
    let mut writer = match &args.against {
        Some(path) if args.add => {
            let writer = Writer::with_options(path, options)?;
            stored = Some(writer.store().clone());
            Some(writer)
        }
        _ => None,
    };
    if let (Some(threshold), Some(documents)) = (args.confirm.confirm, &documents) {
        let Some(stored) = &stored else {
            return dedup_confirmed::run(args, documents, threshold, (out, matches), &monitor);
        };
        let to = Destinations { out, matches, writer };
        return dedup_stored::run(args, documents, stored, threshold, to, &monitor);
    }
    let source = documents.as_ref().map_or(Source::Records(&args.read), Source::Documents);
    let mut records = NewRecords::new(&args.files, source, &args.resources)?;
    let opened = records.make_store(recipe, &monitor)?;
    let options = args.resources.join_options(k, &monitor)?;
    let done = dedup(&opened.store, stored.as_ref(), args.within, &options)?;

    let mut kept = Positions::default();
    let (mut count, mut kept_count) = (0, 0);
    done.for_each_document(|fate, _, id| -> anyhow::Result<()> {
        monitor.check()?;
        let id = id.map(|id| id.to_string()).unwrap_or_default();
        count += 1;
        if fate == Fate::Keep {
            kept_count += 1;
            kept.insert(split_position(&id).0);
        }
        Ok(())
    })?;
    if let Some(mut matches) = matches {
        check_matches(&done, args, &monitor)?;
        write_matches(&done, &mut matches, &monitor)?;
        write_kept(&mut records, &kept, &mut out, writer.as_mut(), &monitor)?;
        out.finish()?;
        matches.finish()?;
    } else {
        write_kept(&mut records, &kept, &mut out, writer.as_mut(), &monitor)?;
        out.finish()?;
    }
    drop((done, opened, stored));
    if let Some(mut writer) = writer {
        writer.commit()?;
        writer.finish()?;
    }
    monitor.finish();
    if !args.quiet {
        message!(
            "{}: {} {}, {} dropped",
            counted(count, "new record", "new records"),
            counted(kept_count, "record", "records"),
            if args.add { "kept and added" } else { "kept" },
            counted(count - kept_count, "record", "records"),
        );
    }
    Ok(ExitStatus::Done)
}

/// Refuses fingerprints of another recipe before any work is done.
fn check_recipe(stored: Option<&Store>, given: &Recipe) -> Result<(), Error> {
    match stored.and_then(Store::recipe) {
        Some(store) if store != *given => {
            Err(Error::RecipeMismatch { store, given: given.clone() })
        }
        _ => Ok(()),
    }
}

/// Writes the kept records in their order, and gives them to the writer.
fn write_kept(
    records: &mut NewRecords<'_>,
    kept: &Positions,
    out: &mut Sink,
    mut writer: Option<&mut Writer>,
    monitor: &Monitor,
) -> anyhow::Result<()> {
    let printer = IdPrinter::new(out.is_terminal());
    records.read_again(|position, fingerprint, id: Option<IdRef<'_>>, sketch| {
        monitor.check()?;
        if !kept.contains(position) {
            return Ok(());
        }
        if let Some(writer) = &mut writer {
            match id {
                Some(id) => writer.push_sketched(fingerprint, id, sketch)?,
                None => writer.push_bare(fingerprint)?,
            }
        }
        match id {
            Some(id) => writeln!(out, "{fingerprint}\t{}", printer.show(&id.to_string()))?,
            None => writeln!(out, "{fingerprint}")?,
        }
        Ok(())
    })
}

/// Counts the lines of --matches, and refuses too many.
fn check_matches(done: &Dedup, args: &DedupArgs, monitor: &Monitor) -> anyhow::Result<()> {
    let count = done.match_count(|| monitor.check())?;
    if count > args.max_matches {
        bail!(
            "--matches would have {}, more than --max-matches allows ({}); nothing was written: \
             lower -k, leave out --matches, or raise --max-matches",
            counted(count, "line", "lines"),
            grouped(args.max_matches),
        );
    }
    if !args.quiet {
        monitor.suspend(|| message!("{}", counted(count, "match", "matches")));
    }
    Ok(())
}

fn write_matches(done: &Dedup, out: &mut Sink, monitor: &Monitor) -> anyhow::Result<()> {
    let printer = IdPrinter::new(out.is_terminal());
    let mut line = |row: &DocumentPair<'_>, second: &str, side: &str| -> anyhow::Result<()> {
        monitor.check()?;
        let first = row.first_id.map(|id| id.to_string()).unwrap_or_default();
        let first = split_position(&first).1.unwrap_or_default();
        let (one, other, distance) = (row.pair.first, row.pair.second, row.pair.distance());
        let (first, second) = (printer.show_column(first), printer.show_column(second));
        Ok(writeln!(out, "{one}\t{other}\t{distance}\t{first}\t{second}\t{side}")?)
    };
    done.for_each_stored_match(|row| {
        let second = row.second_id.map(|id| id.to_string()).unwrap_or_default();
        line(&row, &second, "stored")
    })?;
    done.for_each_new_match(|row| {
        let second = row.second_id.map(|id| id.to_string()).unwrap_or_default();
        line(&row, split_position(&second).1.unwrap_or_default(), "new")
    })
}

/// A set of positions of records, one bit each.
#[derive(Default)]
struct Positions(Vec<u64>);

impl Positions {
    fn insert(&mut self, position: u64) {
        let word = (position / 64) as usize;
        if self.0.len() <= word {
            self.0.resize(word + 1, 0);
        }
        self.0[word] |= 1 << (position % 64);
    }

    fn contains(&self, position: u64) -> bool {
        self.0.get((position / 64) as usize).is_some_and(|word| word >> (position % 64) & 1 == 1)
    }
}
