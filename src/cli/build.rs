//! `fpstore build`: fingerprints in, a store out.

use std::io::{self, IsTerminal};
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use clap::{Args, ValueEnum};
use fpstore::doctor::{Gatherer, Severity};
use fpstore::{
    Budget, BuildOptions, Builder, IdPolicy, InputFormat, InputOptions, InputSummary, Record,
    Scheme, SchemeChoice, Store, read_records,
};

use super::budget::BudgetArg;
use super::output::{bytes, counted};
use super::{RadixArg, StoreArg, Verdict, costs};

/// Distinct fingerprints of which the doctor keeps count during a build, in 2 MB.
const LOOKED_AT_MAX: usize = 1 << 14;

const LONG_ABOUT: &str = "\
Make a store from fingerprints and ids.

Each line of a FILE holds a fingerprint and, after a tab, comma, colon or spaces, the id of its \
document. Ids are optional, and several may share a fingerprint. Blank lines and lines that \
start with # do not count. Files that end in .gz or .zst are decompressed; - is standard input.

The store is written beside its place under a temporary name and renamed once it is whole. All \
records are held in memory: about 25 bytes each, and their ids.";

const AFTER_HELP: &str = "\
Examples:
  fpstore build pages.tsv.zst -s pages.fps
  psql -Atc 'select simhash, id from page' -F , | fpstore build - --radix sdec -s pages.fps

Schemes (--scheme): auto, the fastest for these fingerprints and -k within --budget; 1 (archive),
smallest and slowest; 2 (two halves); 3, 4, 6, 8, 10, 11, 14, 15, 16 or 20 tables, larger and
mostly faster; blocks-M, choose-R, hyperplanes for other k; or a file with one mask a line in hex.
Any store answers any k exactly; these decide which k is fast. 'fpstore plan' compares them.

Exit status: 0 done, 2 could not.";

/// Make a store from fingerprints and ids
#[derive(Args, Debug)]
#[command(long_about = LONG_ABOUT, after_help = AFTER_HELP)]
pub(super) struct BuildArgs {
    /// Input files; standard input if none or -
    files: Vec<PathBuf>,
    #[command(flatten)]
    store: StoreArg,
    /// The distance that queries will mostly ask for
    #[arg(short, default_value_t = 3, value_parser = clap::value_parser!(u32).range(0..=64))]
    k: u32,
    /// The tables: auto, a name or a file of masks
    #[arg(long, value_name = "SCHEME", default_value = "auto")]
    scheme: String,
    /// With auto: space for the tables, as 12GB or 16B/fp; default: 12 bytes a fingerprint and 1 MiB
    #[arg(long, value_name = "BYTES")]
    budget: Option<BudgetArg>,
    /// What ids to keep; auto takes u64 if every id is a canonical decimal
    #[arg(long, value_enum, default_value = "auto")]
    ids: IdsArg,
    /// How fingerprints are spelled
    #[arg(long, value_enum, default_value = "hex")]
    radix: RadixArg,
    /// How records are laid out
    #[arg(long, value_enum, default_value = "lines")]
    input_format: FormatArg,
    /// Count bad records, show the first ten, and go on
    #[arg(long)]
    skip_bad: bool,
    /// Replace a store that is there already
    #[arg(short, long)]
    force: bool,
    /// Say nothing but errors
    #[arg(short, long)]
    quiet: bool,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum IdsArg {
    Auto,
    None,
    U64,
    Text,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(super) enum FormatArg {
    /// A line each: fingerprint and id
    Lines,
    /// 8 bytes each, little-endian
    U64le,
    /// 16 bytes each: fingerprint and id, little-endian
    U64leId,
}

impl From<FormatArg> for InputFormat {
    fn from(arg: FormatArg) -> InputFormat {
        match arg {
            FormatArg::Lines => InputFormat::Lines,
            FormatArg::U64le => InputFormat::U64Le,
            FormatArg::U64leId => InputFormat::U64LeId,
        }
    }
}

pub(super) fn run(args: &BuildArgs) -> anyhow::Result<Verdict> {
    let scheme = scheme_of(&args.scheme, args.k, args.budget)?;
    let ids = match args.ids {
        IdsArg::Auto => IdPolicy::Auto,
        IdsArg::None => IdPolicy::None,
        IdsArg::U64 => IdPolicy::U64,
        IdsArg::Text => IdPolicy::Text,
    };
    let options = BuildOptions::default().scheme(scheme).ids(ids).replace(args.force);
    let mut builder = Builder::with_options(&args.store.store, options)?;
    let input = InputOptions::default()
        .format(args.input_format.into())
        .radix(args.radix.into())
        .skip_bad(args.skip_bad);
    let mut records = 0;
    let mut doctor = (!args.quiet).then(|| Gatherer::with_exact_max(LOOKED_AT_MAX));
    for file in inputs(&args.files)? {
        let summary = read_records(&file, &input, |record: Record<'_>| {
            match record.id {
                Some(id) => builder.push(record.fingerprint, id)?,
                None => builder.push_bare(record.fingerprint),
            }
            if let Some(doctor) = &mut doctor {
                doctor.push(record.fingerprint);
            }
            Ok(())
        })?;
        records += summary.record_count;
        report_skipped(&file, &summary);
    }
    let store = builder.finish()?;
    if !args.quiet {
        report(&store, records);
    }
    if let Some(doctor) = doctor {
        warn(&store, doctor)?;
    }
    Ok(Verdict::Yes)
}

/// How to choose a scheme; one by name; else a file of masks.
pub(super) fn scheme_of(
    text: &str,
    k: u32,
    budget: Option<BudgetArg>,
) -> anyhow::Result<SchemeChoice> {
    if text == "auto" {
        let budget = budget.map_or(Budget::Default, |arg| arg.0);
        return Ok(SchemeChoice::Auto { k, budget, costs: costs::of_this_machine() });
    }
    if budget.is_some() {
        bail!("--budget is for --scheme auto, not for --scheme {text}");
    }
    let path = Path::new(text);
    match Scheme::named(text, k) {
        Err(_) if path.is_file() => {
            let list = std::fs::read_to_string(path)
                .with_context(|| format!("cannot read masks from {text}"))?;
            Ok(Scheme::from_mask_list(&list, k).with_context(|| format!("masks in {text}"))?.into())
        }
        scheme => Ok(scheme?.into()),
    }
}

pub(super) fn inputs(files: &[PathBuf]) -> anyhow::Result<Vec<PathBuf>> {
    let files = if files.is_empty() { vec![PathBuf::from("-")] } else { files.to_vec() };
    if files.iter().any(|file| file == Path::new("-")) && io::stdin().is_terminal() {
        bail!("no input: name a file, or pipe one in; see 'fpstore build --help'");
    }
    Ok(files)
}

pub(super) fn report_skipped(file: &Path, summary: &InputSummary) {
    for bad in &summary.skipped {
        say!("fpstore: {}: {}: {}", file.display(), bad.place, bad.reason);
    }
    if summary.skipped_count > 0 {
        let count = counted(summary.skipped_count, "bad record", "bad records");
        say!("fpstore: {}: {count} skipped", file.display());
    }
}

/// Says in two lines at most what the doctor thinks of the fingerprints.
fn warn(store: &Store, doctor: Gatherer) -> anyhow::Result<()> {
    let info = store.info();
    let Some(segment) = info.segments.first() else { return Ok(()) };
    let masks = segment.tables.iter().map(|table| table.mask).collect();
    let findings = doctor.finish(&Scheme::from_masks(masks, segment.tuned_k)?).findings();
    let mut warnings = findings.iter().filter(|finding| finding.severity >= Severity::Warning);
    if let Some(first) = warnings.next() {
        say!("fpstore: warning: {}", first.sentence);
        let more = match warnings.count() as u64 {
            0 => String::new(),
            count => format!("{}; ", counted(count, "more warning", "more warnings")),
        };
        say!("fpstore: {more}'fpstore stats -s {}' says what to do", info.path.display());
    }
    Ok(())
}

fn report(store: &Store, records: u64) {
    let info = store.info();
    let distinct = info.fingerprint_count();
    say!(
        "fpstore: {}: {}, {}, {}, {}",
        info.path.display(),
        counted(records, "record", "records"),
        counted(distinct, "fingerprint", "fingerprints"),
        counted(info.id_count(), "id", "ids"),
        bytes(info.file_len()),
    );
    if distinct == 0 {
        say!("fpstore: the input holds no fingerprints, so the store is empty");
    }
}
