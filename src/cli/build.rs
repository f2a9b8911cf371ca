//! `fpstore build`: fingerprints in, a store out.

use std::io::{self, IsTerminal};
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use clap::{Args, ValueEnum};
use fpstore::doctor::{Gatherer, Severity};
use fpstore::{
    Budget, BuildOptions, BuildReport, Builder, Fingerprint, IdPolicy, InputEstimate, InputFormat,
    InputOptions, InputSummary, Scheme, SchemeChoice, Store, estimate_input,
};

use super::budget::BudgetArg;
use super::documents::{self, DocumentArgs, Documents};
use super::effort::{EffortArgs, Work};
use super::output::{bytes, counted};
use super::{RadixArg, StoreArg, Verdict, costs};

/// Distinct fingerprints of which the doctor keeps count during a build, in 2 MB.
const LOOKED_AT_MAX: usize = 1 << 14;

const LONG_ABOUT: &str = "\
Make a store from fingerprints and ids.

Each line of a FILE holds a fingerprint and, after a tab, comma, colon or spaces, the id of its \
document. Ids are optional, and several may share a fingerprint. Blank lines and lines that \
start with # do not count. Files that end in .gz or .zst are decompressed; - is standard input.

The store is written beside its place under a temporary name and renamed once it is whole. What \
does not fit into --memory is sorted in temporary files, which need about three times the bytes of \
one table and twice those of the ids. The store is the same for any memory and any number of threads.";

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
    #[command(flatten)]
    documents: DocumentArgs,
    /// What ids to keep; auto takes u64 if every id is a canonical decimal
    #[arg(long, value_enum, default_value = "auto")]
    ids: IdsArg,
    /// What the segment is called, such as 2026-11; 'expire' goes by it
    #[arg(long, value_name = "LABEL", default_value = "")]
    label: String,
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
    #[command(flatten)]
    effort: EffortArgs,
    /// Say nothing but errors
    #[arg(short, long)]
    quiet: bool,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(super) enum IdsArg {
    Auto,
    None,
    U64,
    Text,
}

impl From<IdsArg> for IdPolicy {
    fn from(arg: IdsArg) -> IdPolicy {
        match arg {
            IdsArg::Auto => IdPolicy::Auto,
            IdsArg::None => IdPolicy::None,
            IdsArg::U64 => IdPolicy::U64,
            IdsArg::Text => IdPolicy::Text,
        }
    }
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
    let files = inputs(&args.files)?;
    let documents = args.documents.prepare(args.skip_bad)?;
    let work = Work::start(&args.effort, args.quiet)?;
    let mut options = options(args, &work)?;
    if let Some(documents) = &documents {
        options = options.recipe(documents.recipe());
    }
    let mut builder = Builder::with_options(&args.store.store, options)?;
    let mut doctor = (!args.quiet).then(|| Gatherer::with_exact_max(LOOKED_AT_MAX));
    let mut show = |fingerprint| {
        if let Some(doctor) = &mut doctor {
            doctor.push(fingerprint);
        }
    };
    let read = match documents.filter(Documents::are_given) {
        Some(documents) => documents
            .push_all(&files, &work, |fingerprint, id| {
                show(fingerprint);
                builder.push(fingerprint, id)
            })
            .map(|summary| {
                work.aside(|| {
                    if !args.quiet {
                        args.documents.tell();
                    }
                    documents::report(&summary);
                });
                None
            }),
        None => read_fingerprints(args, &files, &mut builder, &work, show).map(Some),
    };
    let read_len = read.inspect_err(|_| work.lost(builder.record_count()))?;
    let (store, report) = builder.finish_and_report()?;
    work.done();
    if !args.quiet {
        print_report(&store, &report, read_len);
    }
    if let Some(doctor) = doctor {
        warn(&store, doctor)?;
    }
    Ok(Verdict::Yes)
}

/// Reads files of fingerprints: the bytes read.
fn read_fingerprints(
    args: &BuildArgs,
    files: &[PathBuf],
    builder: &mut Builder,
    work: &Work,
    mut show: impl FnMut(Fingerprint),
) -> anyhow::Result<u64> {
    let input = input_options(args);
    if let Some(expected) = estimate(files, &input)? {
        builder.expect(&expected, !args.effort.skip_space_check)?;
    }
    let mut read_len = 0;
    for file in files {
        let summary = builder.read_and_show(file, &input, &mut show)?;
        read_len += summary.byte_len;
        work.aside(|| report_skipped(file, &summary));
    }
    Ok(read_len)
}

fn options(args: &BuildArgs, work: &Work) -> anyhow::Result<BuildOptions> {
    let scheme = scheme_of(&args.scheme, args.k, args.budget)?;
    let mut options =
        BuildOptions::default().scheme(scheme).ids(args.ids.into()).replace(args.force);
    options.label.clone_from(&args.label);
    options.memory = args.effort.memory.map(|memory| memory.as_u64());
    options.threads = args.effort.threads.map(usize::from);
    options.temp_dir.clone_from(&args.effort.temp_dir);
    Ok(options.observer(work.observer()))
}

fn input_options(args: &BuildArgs) -> InputOptions {
    let format = args.input_format.into();
    InputOptions::default().format(format).radix(args.radix.into()).skip_bad(args.skip_bad)
}

/// About how much all files hold, unless one does not tell.
pub(super) fn estimate(
    files: &[PathBuf],
    options: &InputOptions,
) -> anyhow::Result<Option<InputEstimate>> {
    let mut all = InputEstimate::default();
    for file in files {
        match estimate_input(file, options)? {
            Some(estimate) => all = all.plus(estimate),
            None => return Ok(None),
        }
    }
    Ok(Some(all))
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
        bail!("no input: name a file, or pipe one in; see --help");
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

fn print_report(store: &Store, report: &BuildReport, read_len: Option<u64>) {
    let info = store.info();
    let distinct = report.fingerprint_count;
    say!(
        "fpstore: {}: {}, {}, {}, {}",
        info.path.display(),
        counted(report.record_count, "record", "records"),
        counted(distinct, "fingerprint", "fingerprints"),
        counted(info.id_count(), "id", "ids"),
        bytes(info.file_len()),
    );
    if distinct == 0 {
        say!("fpstore: the input holds no fingerprints, so the store is empty");
        return;
    }
    let tables: Vec<f64> = info
        .segments
        .iter()
        .flat_map(|segment| &segment.tables)
        .filter_map(|table| table.bits_per_fingerprint)
        .collect();
    let seconds: f64 = report.phases.iter().map(|(_, time)| time.as_secs_f64()).sum();
    let phases: Vec<String> = report
        .phases
        .iter()
        .map(|(phase, time)| format!("{} {:.2}", phase.name(), time.as_secs_f64()))
        .collect();
    say!(
        "fpstore:   {}{}, {:.1} bits a fingerprint and table",
        counted(report.record_count - distinct, "duplicate", "duplicates"),
        read_len.map_or(String::new(), |len| format!(", {} read", bytes(len))),
        tables.iter().sum::<f64>() / tables.len() as f64,
    );
    let memory = peak_memory().map_or(String::new(), |len| format!(", {} of memory", bytes(len)));
    let temporary = match report.temporary_len {
        0 => String::new(),
        len => format!(", {} of temporary files", bytes(len)),
    };
    say!("fpstore:   {seconds:.2} s ({}){memory}{temporary}", phases.join(", "));
}

/// The most memory that this process has held, where the system tells.
fn peak_memory() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kib * 1024)
}
