//! `fpstore dedup`: which of the new records are near-duplicates, and which stay.

use std::fs::File;
use std::io::{self, IsTerminal, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use clap::Args;
use fpstore::{
    Dedup, DocumentPair, Fate, Recipe, Store, Writer, WriterOptions, dedup, read_records,
};
use tempfile::TempPath;

use super::Verdict;
use super::dedup_stream;
use super::effort::{EffortArgs, Work};
use super::follow::BatchArgs;
use super::join_input::{Ids, ReadArgs, join_options, split_place, temporary_store};
use super::output::{IdPrinter, counted};
use super::sink::{OutputArgs, Sink};

const LONG_ABOUT: &str = "\
Find out which new records are near-duplicates of stored ones, and print those that stay, in their order, \
as lines that 'build' reads. Only new records are ever dropped.

With --within those go too that are near an earlier new record which stays; without --against only \
they do. Records are compared by fingerprint; ids only name them.

--matches FILE says why: new fingerprint, other, distance, new id, other id, and whether the other one is 'stored' or \
'new'. Each new record has a line for each stored document that it is near, and a record dropped by --within one \
line for the record that stays in its place. Lines are by ascending new fingerprint, the stored ones first.

--add then adds the records that stay to the store: all of them, once the output is written, or none. With --add and - as NEW \
the records of standard input are answered line by line, each as soon as it is known, and later ones see earlier ones: \
'new', fingerprint and id for a record that is new and will be remembered; 'near', fingerprint, id, the stored fingerprint, its \
distance and its first id for one that is not. They are committed --batch-count at a time or every --batch-seconds; \
after a crash up to that many may be new once more. With --batch-count 1 each is durable before it is answered.

Takes 24 bytes of memory for each new fingerprint beside the join.";

const AFTER_HELP: &str = "\
Examples:
  fpstore dedup --against pages.fps new.tsv.zst -o kept.tsv --matches dropped.tsv
  fpstore dedup --within corpus.tsv | zstd > unique.tsv.zst
  crawler | fpstore dedup --against pages.fps --add -

Exit status: 0 done, 2 could not.";

/// Find which new records are near-duplicates of stored ones
#[derive(Args, Debug)]
#[command(long_about = LONG_ABOUT, after_help = AFTER_HELP)]
pub(super) struct DedupArgs {
    /// Files of new records, as 'build' reads them, or -
    #[arg(value_name = "NEW", required = true)]
    files: Vec<PathBuf>,
    /// The store to compare with
    #[arg(long, value_name = "STORE", required_unless_present = "within")]
    against: Option<PathBuf>,
    /// Also find near-duplicates among the new records; the first one stays
    #[arg(long)]
    within: bool,
    /// Add the records that stay to the store; with - each is answered as it comes
    #[arg(long, requires = "against")]
    add: bool,
    /// With --add: what the new segment is called
    #[arg(long, value_name = "LABEL", default_value = "", requires = "add")]
    label: String,
    /// The distance in bits, inclusive; default: the one the store was built for, else 3
    #[arg(short, value_parser = clap::value_parser!(u32).range(0..=64))]
    k: Option<u32>,
    /// Write what each dropped record is near to FILE
    #[arg(long, value_name = "FILE")]
    matches: Option<PathBuf>,
    #[command(flatten)]
    batch: BatchArgs,
    #[command(flatten)]
    read: ReadArgs,
    #[command(flatten)]
    output: OutputArgs,
    #[command(flatten)]
    effort: EffortArgs,
    /// Say nothing but errors
    #[arg(short, long)]
    quiet: bool,
}

pub(super) fn run(args: &DedupArgs) -> anyhow::Result<Verdict> {
    let mut stored = args.against.as_deref().map(Store::open).transpose()?;
    let k = args.k.unwrap_or_else(|| stored.as_ref().map_or(3, Store::tuned_k));
    let is_stream = args.add && args.files.iter().any(|file| file == Path::new("-"));
    if let (true, Some(path)) = (is_stream, &args.against) {
        if args.files.len() > 1 || args.matches.is_some() || args.output.output.is_some() {
            bail!(
                "--add with - takes and answers standard input alone; leave out files, -o and --matches"
            );
        }
        return dedup_stream::run(
            path,
            k,
            args.label.as_str(),
            &args.batch,
            &args.read,
            &args.effort,
            args.quiet,
        );
    }
    let mut out = args.output.open()?;
    if args.matches.is_some() && args.matches == args.output.output {
        bail!("--matches and --output name the same file");
    }
    let matches = args.matches.as_deref().map(|path| Sink::file(path, args.output.force));
    let mut matches = matches.transpose()?;
    let work = Work::start(&args.effort, args.quiet)?;
    // The lock is held from the first look at the store on, so that what is new stays new.
    let mut writer = match &args.against {
        Some(path) if args.add => {
            let mut options = WriterOptions::default().label(&args.label);
            args.effort.limit(&mut options, &work);
            let writer = Writer::with_options(path, options)?;
            stored = Some(writer.store().clone());
            Some(writer)
        }
        _ => None,
    };
    let inputs = Inputs::hold(&args.files, &args.effort)?;
    let recipe = stored.as_ref().and_then(Store::recipe);
    let recipe = recipe.unwrap_or_else(Recipe::external);
    let opened =
        temporary_store(&inputs.files, &args.read, recipe, &args.effort, &work, Ids::WithPlaces)?;
    let options = join_options(k, &args.effort, &work);
    let done = dedup(&opened.store, stored.as_ref(), args.within, &options)?;

    let mut kept = Places::default();
    let (mut count, mut kept_count) = (0, 0);
    done.for_each_document(|fate, _, id| -> anyhow::Result<()> {
        work.check()?;
        let id = id.map(|id| id.to_string()).unwrap_or_default();
        count += 1;
        if fate == Fate::Keep {
            kept_count += 1;
            kept.insert(split_place(&id).0);
        }
        Ok(())
    })?;
    if let Some(matches) = &mut matches {
        write_matches(&done, matches)?;
    }
    write_kept(args, &inputs.files, &kept, &mut out, writer.as_mut(), &work)?;
    out.finish()?;
    if let Some(matches) = matches {
        matches.finish()?;
    }
    drop((done, opened, stored));
    if let Some(mut writer) = writer {
        writer.commit()?;
        writer.finish()?;
    }
    work.done();
    if !args.quiet {
        say!(
            "fpstore: {}: {} {}, {} dropped",
            counted(count, "new record", "new records"),
            counted(kept_count, "record", "records"),
            if args.add { "kept and added" } else { "kept" },
            counted(count - kept_count, "record", "records"),
        );
    }
    Ok(Verdict::Yes)
}

/// Reads the files again and writes the records that stay.
fn write_kept(
    args: &DedupArgs,
    files: &[PathBuf],
    kept: &Places,
    out: &mut Sink,
    mut writer: Option<&mut Writer>,
    work: &Work,
) -> anyhow::Result<()> {
    let printer = IdPrinter::for_sink(out);
    let mut place = 0;
    for file in files {
        let mut failed = None;
        let read = read_records(file, &args.read.options(), |record| {
            let is_kept = kept.contains(place);
            place += 1;
            if !is_kept {
                return work.check();
            }
            if let Some(writer) = &mut writer {
                match record.id {
                    Some(id) => writer.push(record.fingerprint, id)?,
                    None => writer.push_bare(record.fingerprint)?,
                }
            }
            let written = match record.id {
                Some(id) => {
                    let id = id.to_string();
                    writeln!(out, "{}\t{}", record.fingerprint, printer.show(&id))
                }
                None => writeln!(out, "{}", record.fingerprint),
            };
            written.map_err(|error| {
                failed = Some(error);
                fpstore::Error::Interrupted
            })
        });
        if let Some(error) = failed {
            return Err(error.into());
        }
        read?;
    }
    Ok(())
}

fn write_matches(done: &Dedup, out: &mut Sink) -> anyhow::Result<()> {
    let printer = IdPrinter::for_sink(out);
    let mut line = |row: &DocumentPair<'_>, second: &str, side: &str| -> anyhow::Result<()> {
        let first = row.first_id.map(|id| id.to_string()).unwrap_or_default();
        let first = split_place(&first).1.unwrap_or_default();
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
        line(&row, split_place(&second).1.unwrap_or_default(), "new")
    })
}

/// Places of records, one bit each.
#[derive(Default)]
struct Places(Vec<u64>);

impl Places {
    fn insert(&mut self, place: u64) {
        let word = (place / 64) as usize;
        if self.0.len() <= word {
            self.0.resize(word + 1, 0);
        }
        self.0[word] |= 1 << (place % 64);
    }

    fn contains(&self, place: u64) -> bool {
        self.0.get((place / 64) as usize).is_some_and(|word| word >> (place % 64) & 1 == 1)
    }
}

/// Files that can be read twice: what comes from standard input, or another pipe, is held in a file.
struct Inputs {
    files: Vec<PathBuf>,
    _held: Vec<TempPath>,
}

impl Inputs {
    fn hold(files: &[PathBuf], effort: &EffortArgs) -> anyhow::Result<Self> {
        let mut inputs = Inputs { files: Vec::new(), _held: Vec::new() };
        let parent = effort.temp_dir.clone().unwrap_or_else(std::env::temp_dir);
        for file in files {
            let is_stdin = file == Path::new("-");
            if !is_stdin && (!file.exists() || file.is_file() || file.is_dir()) {
                inputs.files.push(file.clone());
                continue;
            }
            if is_stdin && io::stdin().is_terminal() {
                bail!("no input: name a file, or pipe one in; see --help");
            }
            let held = tempfile::NamedTempFile::new_in(&parent)
                .with_context(|| format!("cannot create a file in {}", parent.display()))?;
            let mut to = held.as_file();
            let copied = match is_stdin {
                true => io::copy(&mut io::stdin().lock(), &mut to),
                false => File::open(file).and_then(|mut from| io::copy(&mut from, &mut to)),
            };
            copied.with_context(|| format!("cannot hold {} in a file", file.display()))?;
            let held = held.into_temp_path();
            inputs.files.push(held.to_path_buf());
            inputs._held.push(held);
        }
        Ok(inputs)
    }
}
