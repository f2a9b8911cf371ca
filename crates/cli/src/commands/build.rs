//! `fpstore build`: makes a store from fingerprints or documents.

use std::io::Write;
use std::path::PathBuf;

use anyhow::{Context, bail};
use clap::Args;
use fpstore::profile::Collector;
use fpstore::{BuildOptions, Builder, Fingerprint, Recipe, Width};
use fpstore_text::SKETCH_LENS;

use crate::args::documents::{self, DocumentArgs};
use crate::args::inputs::{ReadArgs, estimate, inputs, report_skipped};
use crate::args::pictures::PictureArgs;
use crate::args::resources::WriteArgs;
use crate::args::scheme_arg::SchemeArgs;
use crate::args::segment_args::{IdTypeArgs, LabelArgs};
use crate::output::build_report::{print_report, report_segment, warn};
use crate::output::text::{counted, stdout};
use crate::session::command::ExitStatus;
use crate::session::document_reader::Documents;
use crate::session::monitor::Monitor;
use crate::session::stores::StoreArg;

/// Maximum number of distinct fingerprints that the doctor examines during a build. Examining
/// them takes 2 MB.
const EXAMINED_MAX: usize = 1 << 14;

const LONG_ABOUT: &str = "\
Make a store from fingerprints and ids.

Each line of a FILE contains a fingerprint and, after a tab, comma, colon or spaces, the id of its \
document. Ids are optional, and several ids may share a fingerprint. Blank lines and lines that \
start with # are ignored. Files that end in .gz or .zst are decompressed; - is standard input.

The store gets its name only when it is complete. Records that do not fit into --memory are \
sorted in temporary files, which need about three times the bytes of one table and twice the \
bytes of the ids. The store does not depend on the memory or on the number of threads.

An empty input makes an empty store, to which 'add' can add records. Without --allow-empty, an empty \
store does not replace a store with records, and an input with only bad records makes no store.

With --segment-file a task of a larger job writes one file, without a directory or a lock, and prints \
its receipt, a line about its contents. 'commit' makes a store from such files.";

const EXAMPLES: &str = "\
Examples:
  fpstore build pages.tsv.zst -s pages.fps
  fpstore build --images photos -s photos.fps
  psql -Atc 'select simhash, id from page' -F , | fpstore build - --radix sdec -s pages.fps";

const SCHEMES: &str = "\
A store answers any k exactly; the scheme decides which k is fast. 'fpstore plan' compares schemes
and prints the names for --scheme.

Exit status: 0 done; 2 error.";

/// Make a store from fingerprints and ids
#[derive(Args, Debug)]
#[command(
    long_about = LONG_ABOUT,
    after_help = EXAMPLES,
    after_long_help = format!("{EXAMPLES}\n\n{SCHEMES}")
)]
pub(crate) struct BuildArgs {
    /// Input files; standard input if none or -
    files: Vec<PathBuf>,
    #[command(flatten)]
    store: StoreArg,
    /// Write one segment to FILE instead of a store, and print a line about its contents (receipt)
    /// for 'commit'
    #[arg(long, value_name = "FILE", conflicts_with_all = ["store", "label", "wait"],
          hide_short_help = true)]
    segment_file: Option<PathBuf>,
    #[command(flatten)]
    scheme: SchemeArgs,
    #[command(flatten)]
    ids: IdTypeArgs,
    /// With --docs: store a sketch of each document, 32, 64 or 128 bytes long, from which --confirm
    /// of other commands estimates similarities [BYTES: 128]
    #[arg(long, value_name = "BYTES", num_args = 0..=1, require_equals = true,
          default_missing_value = "128", value_parser = sketch_len)]
    sketch: Option<u8>,
    #[command(flatten)]
    label: LabelArgs,
    #[command(flatten)]
    read: ReadArgs,
    /// Replace an existing store
    #[arg(short, long)]
    force: bool,
    /// Make an empty store if all records are bad, or replace a store with it
    #[arg(long)]
    allow_empty: bool,
    #[command(flatten)]
    work: WriteArgs,
    #[command(flatten)]
    documents: DocumentArgs,
    #[command(flatten)]
    pictures: PictureArgs,
}

fn sketch_len(text: &str) -> Result<u8, String> {
    let len = text.parse().ok().filter(|len| SKETCH_LENS.contains(len));
    len.ok_or_else(|| "expected 32, 64 or 128 bytes".into())
}

pub(crate) fn run(args: &BuildArgs) -> anyhow::Result<ExitStatus> {
    let has_pictures = args.pictures.are_given();
    args.pictures.check(&args.files)?;
    let files = if has_pictures { Vec::new() } else { inputs(&args.files)? };
    let documents = args.documents.prepare(&args.read, args.work.resources.reading()?)?;
    let monitor = args.work.monitor()?;
    let (skips_bad, resources) = (args.read.skips_bad(), &args.work.resources);
    let pictures = args.pictures.prepare(None, skips_bad, resources, &monitor)?;
    let source = documents.as_ref().map(|documents| &documents.source);
    let k = args.scheme.k().unwrap_or_else(|| match (&pictures, source) {
        (Some(pictures), _) => pictures.usual_k(),
        (None, Some(source)) => source.usual_k(),
        (None, None) => args.read.width().usual_k(),
    });
    let recipe_is_known = has_pictures || source.is_some_and(|source| source.hasher().is_some());
    let width = source.map_or(args.read.width(), |source| source.width());
    let mut options = options(args, k, &monitor)?.recipe(Recipe::external_of(width));
    if let Some(source) = source {
        options = options.recipe(source.recipe());
    }
    if let Some(pictures) = &pictures {
        options = options.recipe(pictures.recipe());
    }
    let sketch_len = args.sketch.unwrap_or_default();
    if sketch_len > 0 && !documents.as_ref().is_some_and(Documents::have_texts) {
        bail!("--sketch stores sketches of documents; add --docs to read them");
    }
    let documents = documents.map(|documents| documents.sketched(sketch_len));
    options = options.sketch_len(sketch_len);
    let mut builder = match &args.segment_file {
        Some(path) => {
            if !args.force && path.exists() {
                bail!(
                    "{} exists; to replace it once the new one is complete, use --force",
                    path.display()
                );
            }
            Builder::segment_file(path, options)?
        }
        None => Builder::with_options(&args.store.store, options)?,
    };
    // The doctor's thresholds are for 64 bits, so narrower fingerprints are not examined.
    let is_examined = !args.work.is_quiet() && width == Width::FULL;
    let mut doctor = is_examined.then(|| Collector::with_exact_max(EXAMINED_MAX).without_nearest());
    let mut show = |fingerprint| {
        if let Some(doctor) = &mut doctor {
            doctor.push(fingerprint);
        }
    };
    let read = match (&pictures, documents.filter(Documents::are_given)) {
        (Some(pictures), _) => pictures
            .push_all(&monitor, args.work.is_quiet(), |fingerprint, id| {
                show(fingerprint);
                builder.push(fingerprint, id)
            })
            .map(|useless| Read { len: None, useless }),
        (None, Some(documents)) => documents
            .push_all(&files, &monitor, |fingerprint, id, sketch| {
                show(fingerprint);
                builder.push_sketched(fingerprint, id, sketch)
            })
            .map(|summary| {
                monitor.suspend(|| {
                    if !args.work.is_quiet() {
                        args.documents.report_default();
                    }
                    documents::report(&summary);
                });
                Read { len: None, useless: summary.skipped_count + summary.empty_count }
            }),
        (None, None) => read_fingerprints(args, &files, &mut builder, &monitor, show),
    };
    let read = read.inspect_err(|_| monitor.report_loss(builder.record_count()))?;
    if builder.record_count() == 0 && !args.allow_empty {
        refuse_empty(args, read.useless)?;
    }
    if let Some(path) = &args.segment_file {
        let receipt = builder.finish_segment()?;
        monitor.finish();
        let mut out = stdout();
        writeln!(out, "{receipt}").and_then(|()| out.flush()).with_context(|| {
            format!("{} is complete, but its receipt could not be printed", path.display())
        })?;
        if !args.work.is_quiet() {
            report_segment(&receipt);
        }
        return Ok(ExitStatus::Done);
    }
    let (store, report) = builder.finish_and_report()?;
    monitor.finish();
    for left in &report.left {
        message!(
            "{}: not removed; it looks like the folder of a killed build, but contains other \
             files or has another owner",
            left.display()
        );
    }
    if !args.work.is_quiet() {
        print_report(&store, &report, read.len);
        if args.scheme.k().is_none() && recipe_is_known {
            message!(
                "-k {k} is usual for the recipe; 'fpstore evaluate' finds the best for your data"
            );
        }
    }
    if let Some(doctor) = doctor {
        warn(&store, doctor)?;
    }
    Ok(ExitStatus::Done)
}

/// The size of an input, and the records in it that were not added.
#[derive(Default)]
struct Read {
    /// The length of the fingerprint files in bytes, if known.
    len: Option<u64>,
    /// The number of bad records and of documents without fingerprint.
    useless: u64,
}

/// Returns an error if an empty store is probably a mistake: if all records were bad
/// (`useless` is not 0), or if it would replace a store with records, for example because the
/// program that feeds the pipe failed. Otherwise an empty input makes an empty store, to which
/// records can be added later.
fn refuse_empty(args: &BuildArgs, useless: u64) -> anyhow::Result<()> {
    let path = args.segment_file.as_ref().unwrap_or(&args.store.store).display();
    if useless > 0 {
        let count = counted(useless, "record", "records");
        bail!(
            "none of {count} has a usable fingerprint, so {path} is not written; to make an \
             empty store, use --allow-empty"
        );
    }
    if args.segment_file.is_some() {
        // An empty segment is allowed: one of many tasks can have an empty input.
        return Ok(());
    }
    let holds_any = || match args.store.open() {
        Ok(store) => store.info().fingerprint_count() > 0,
        Err(error) => !matches!(error, fpstore::Error::NoStore { .. }),
    };
    if args.force && holds_any() {
        bail!(
            "the input is empty, so {path} is not changed; to replace it by an empty store, use \
             --allow-empty"
        );
    }
    Ok(())
}

fn read_fingerprints(
    args: &BuildArgs,
    files: &[PathBuf],
    builder: &mut Builder,
    monitor: &Monitor,
    mut show: impl FnMut(Fingerprint),
) -> anyhow::Result<Read> {
    let input = args.documents.lines(&args.read)?;
    if let Some(expected) = estimate(files, &input)? {
        builder.expect(&expected, !args.work.resources.skip_space_check)?;
    }
    let (mut len, mut useless) = (0, 0);
    for file in files {
        let summary = builder.read_and_inspect(file, &input, &mut show)?;
        len += summary.byte_len;
        useless += summary.skipped_count;
        monitor.suspend(|| report_skipped(file, &summary));
    }
    Ok(Read { len: Some(len), useless })
}

fn options(args: &BuildArgs, k: u32, monitor: &Monitor) -> anyhow::Result<BuildOptions> {
    let scheme = args.scheme.choice(k)?;
    Ok(BuildOptions::default()
        .scheme(scheme)
        .ids(args.ids.id_type)
        .replace(args.force)
        .wait(args.work.wait.duration())
        .label(args.label.label())
        .resources(args.work.resources.given(monitor)?))
}
