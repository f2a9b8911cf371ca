//! `fpstore dedup`: finds the new records that are not near-duplicates.

use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use clap::Args;
use fpstore::input::read_records;
use fpstore::join::{Dedup, DocumentPair, Fate, dedup};
use fpstore::{Recipe, Store, Writer, WriterOptions};
use tempfile::TempPath;

use super::command::{ExitStatus, Run};
use super::dedup_stream;
use super::follow::BatchArgs;
use super::inputs::{ReadArgs, check_stdin};
use super::join_input::{Ids, split_position, temporary_store};
use super::monitor::Monitor;
use super::output::{IdPrinter, counted};
use super::resources::ResourceArgs;
use super::sink::{OutputArgs, Sink};
use super::wait::WaitArgs;

const LONG_ABOUT: &str = "\
Find the new records that are near-duplicates of stored ones, and print the others in their \
order, as lines that 'build' reads. Stored records are never dropped.

--within also drops new records that are near an earlier new record that is kept; without \
--against it drops only those. Records are compared by fingerprint; ids only name them.

--matches FILE receives the reasons: new fingerprint, other fingerprint, distance, new id, other \
id, and 'stored' or 'new' for the other record. A new record has one line for each stored \
document that it is near, and a record dropped by --within has one line for the record that is \
kept instead. Lines are sorted by the new fingerprint, with stored ones first.

--add adds the kept records to the store, all of them after the output is written, or none. With \
--add and - as NEW, each record of standard input is answered at once, and later records are \
also compared with earlier ones. The answer is 'new', fingerprint and id for a record that is \
added; or 'near', fingerprint, id, stored fingerprint, distance and first stored id for one that \
is not. Records are committed --batch-count at a time or every --batch-seconds; after a crash up \
to that many may be answered 'new' again. With --batch-count 1 each record is durable before it \
is answered.

Needs 24 bytes of memory for each new fingerprint besides the join.";

const AFTER_HELP: &str = "\
Examples:
  fpstore dedup --against pages.fps new.tsv.zst -o kept.tsv --matches dropped.tsv
  fpstore dedup --within corpus.tsv | zstd > unique.tsv.zst
  crawler | fpstore dedup --against pages.fps --add -

Exit status: 0 done, 2 error.";

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
    /// Also find near-duplicates among the new records; the first one is kept
    #[arg(long)]
    within: bool,
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
    k: Option<u32>,
    /// Write to FILE what each dropped record is near to
    #[arg(long, value_name = "FILE")]
    matches: Option<PathBuf>,
    #[command(flatten)]
    batch: BatchArgs,
    #[command(flatten)]
    read: ReadArgs,
    #[command(flatten)]
    output: OutputArgs,
    #[command(flatten)]
    wait: WaitArgs,
    #[command(flatten)]
    resources: ResourceArgs,
    /// Print only errors
    #[arg(short, long)]
    quiet: bool,
}

impl Run for DedupArgs {
    fn run(&self) -> anyhow::Result<ExitStatus> {
        run(self)
    }
}

fn run(args: &DedupArgs) -> anyhow::Result<ExitStatus> {
    let mut stored = args.against.as_deref().map(Store::open).transpose()?;
    let k = args.k.unwrap_or_else(|| stored.as_ref().map_or(3, Store::tuned_k));
    let is_stream = args.add && args.files.iter().any(|file| file == Path::new("-"));
    if let (true, Some(path)) = (is_stream, &args.against) {
        if args.files.len() > 1 || args.matches.is_some() || args.output.output.is_some() {
            bail!(
                "--add with - reads only standard input and prints the answers; leave out files, \
                 -o and --matches"
            );
        }
        return dedup_stream::run(
            path,
            k,
            WriterOptions::default().label(&args.label).wait(args.wait.duration()),
            &args.batch,
            &args.read,
            &args.resources,
            args.quiet,
        );
    }
    let mut out = args.output.open()?;
    if args.matches.is_some() && args.matches == args.output.output {
        bail!("--matches and --output name the same file");
    }
    let matches = args.matches.as_deref().map(|path| Sink::file(path, args.output.force));
    let mut matches = matches.transpose()?;
    let monitor = args.resources.monitor(args.quiet)?;
    // The lock is taken before the store is read, so that no other process adds the same records.
    let mut writer = match &args.against {
        Some(path) if args.add => {
            let options = WriterOptions::default().label(&args.label).wait(args.wait.duration());
            let options = args.resources.limit(options, &monitor);
            let writer = Writer::with_options(path, options)?;
            stored = Some(writer.store().clone());
            Some(writer)
        }
        _ => None,
    };
    let inputs = Inputs::copy_pipes(&args.files, &args.resources)?;
    let recipe = stored.as_ref().and_then(Store::recipe);
    let recipe = recipe.unwrap_or_else(Recipe::external);
    let opened = temporary_store(
        &inputs.files,
        &args.read,
        recipe,
        &args.resources,
        &monitor,
        Ids::WithPositions,
    )?;
    let options = args.resources.join_options(k, &monitor);
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
    if let Some(matches) = &mut matches {
        write_matches(&done, matches)?;
    }
    write_kept(args, &inputs.files, &kept, &mut out, writer.as_mut(), &monitor)?;
    out.finish()?;
    if let Some(matches) = matches {
        matches.finish()?;
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

/// Reads the files again and writes the kept records.
fn write_kept(
    args: &DedupArgs,
    files: &[PathBuf],
    kept: &Positions,
    out: &mut Sink,
    mut writer: Option<&mut Writer>,
    monitor: &Monitor,
) -> anyhow::Result<()> {
    let printer = IdPrinter::new(out.is_terminal());
    let mut position = 0;
    for file in files {
        let mut failed = None;
        let read = read_records(file, &args.read.options(), |record| {
            let is_kept = kept.contains(position);
            position += 1;
            if !is_kept {
                return monitor.check();
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
    let printer = IdPrinter::new(out.is_terminal());
    let mut line = |row: &DocumentPair<'_>, second: &str, side: &str| -> anyhow::Result<()> {
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

/// Files that can be read twice: standard input and other pipes are copied to temporary files.
struct Inputs {
    files: Vec<PathBuf>,
    _held: Vec<TempPath>,
}

impl Inputs {
    fn copy_pipes(files: &[PathBuf], resources: &ResourceArgs) -> anyhow::Result<Self> {
        let mut inputs = Inputs { files: Vec::new(), _held: Vec::new() };
        let parent = resources.temp_dir.clone().unwrap_or_else(std::env::temp_dir);
        for file in files {
            let is_stdin = file == Path::new("-");
            if !is_stdin && (!file.exists() || file.is_file() || file.is_dir()) {
                inputs.files.push(file.clone());
                continue;
            }
            check_stdin(file)?;
            let held = tempfile::NamedTempFile::new_in(&parent)
                .with_context(|| format!("cannot create a file in {}", parent.display()))?;
            let mut to = held.as_file();
            let copied = if is_stdin {
                io::copy(&mut io::stdin().lock(), &mut to)
            } else {
                File::open(file).and_then(|mut from| io::copy(&mut from, &mut to))
            };
            copied
                .with_context(|| format!("cannot copy {} to a temporary file", file.display()))?;
            let held = held.into_temp_path();
            inputs.files.push(held.to_path_buf());
            inputs._held.push(held);
        }
        Ok(inputs)
    }
}
