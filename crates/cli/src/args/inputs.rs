//! Files of fingerprints and ids: their names, options to read them, and messages about them.

use std::collections::BTreeMap;
use std::io::{self, IsTerminal};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Context, anyhow, bail};
use clap::Args;
use fpstore::input::{
    InputEstimate, InputFormat, InputOptions, InputSummary, estimate_input, open_input,
};
use fpstore::join::{JudgedPairs, LabelFile};
use fpstore::{Radix, Width};
use fpstore_base::source::name_of;
use fpstore_base::{lists, read_inputs};

use crate::output::text::counted;
use crate::session::choice::{choice, width};

/// Options for reading records from files.
#[derive(Args, Clone, Debug)]
pub(crate) struct ReadArgs {
    /// Number base of fingerprints in the input; output is always hex [default: hex]
    #[arg(long, value_parser = choice::<Radix>())]
    radix: Option<Radix>,
    /// Layout of records in files
    #[arg(long, value_parser = choice::<InputFormat>(), default_value_t, hide_short_help = true)]
    input_format: InputFormat,
    /// Bits of each fingerprint: a multiple of 8 from 8 to 64 [default: as in the store, else 64]
    #[arg(long, value_parser = width(), hide_short_help = true)]
    bits: Option<Width>,
    #[command(flatten)]
    bad: SkipBadArgs,
}

/// The option that allows bad records.
#[derive(Args, Clone, Debug)]
pub(crate) struct SkipBadArgs {
    /// Count bad records, show the first ten, and continue
    #[arg(long)]
    pub(crate) skip_bad: bool,
}

impl ReadArgs {
    /// Whether bad records are allowed.
    pub(crate) fn skips_bad(&self) -> bool {
        self.bad.skip_bad
    }

    /// The first of the options --radix, --input-format and --bits that differs from its default.
    pub(crate) fn first_given(&self) -> Option<&'static str> {
        match (self.radix(), self.input_format, self.bits) {
            (Radix::Hex, InputFormat::Lines, None) => None,
            (Radix::Hex, InputFormat::Lines, Some(_)) => Some("--bits"),
            (_, InputFormat::Lines, _) => Some("--radix"),
            _ => Some("--input-format"),
        }
    }

    /// The width of the fingerprints.
    pub(crate) fn width(&self) -> Width {
        self.bits.unwrap_or_default()
    }

    /// The same options with the width `stored` of a store, for fingerprints that are compared with
    /// the store or added to it.
    pub(crate) fn of_width(&self, stored: Width) -> anyhow::Result<ReadArgs> {
        if let Some(given) = self.bits.filter(|given| *given != stored) {
            bail!(
                "--bits {given}: the fingerprints of the store have {stored} bits, and cannot be \
                 compared with another width; leave --bits out"
            );
        }
        let bits = Some(stored).filter(|width| *width != Width::FULL);
        Ok(ReadArgs { bits, ..self.clone() })
    }

    /// The number base of fingerprints in files, if the user gave it.
    pub(crate) fn given_radix(&self) -> Option<Radix> {
        self.radix
    }

    /// The number base of fingerprints.
    pub(crate) fn radix(&self) -> Radix {
        self.radix.unwrap_or_default()
    }

    /// Whether the user gave a binary layout for the files of fingerprints.
    pub(crate) fn has_layout(&self) -> bool {
        self.input_format != InputFormat::Lines
    }

    pub(crate) fn options(&self) -> InputOptions {
        let options = InputOptions::default().format(self.input_format);
        options.radix(self.radix).width(self.width()).skip_bad(self.skips_bad())
    }
}

/// `files`, or standard input if `files` is empty; see [`check_stdin`].
pub(crate) fn inputs(files: &[PathBuf]) -> anyhow::Result<Vec<PathBuf>> {
    let files = if files.is_empty() { vec![PathBuf::from("-")] } else { files.to_vec() };
    files.iter().try_for_each(|file| check_stdin(file))?;
    warn_of_same(&files);
    for file in &files {
        if let Ok(metadata) = file.metadata() {
            read_inputs::note_file(file, &metadata);
        }
    }
    Ok(files)
}

/// Prints a warning if a file is named twice, because its records are then counted twice.
fn warn_of_same(files: &[PathBuf]) {
    static TOLD: AtomicBool = AtomicBool::new(false);
    let mut seen = BTreeMap::new();
    for file in files {
        // Only regular files are compared, by canonical path. Pipes and missing files are ignored.
        let Some(own) = file.is_file().then(|| file.canonicalize().ok()).flatten() else {
            continue;
        };
        if let Some(first) = seen.insert(own, file)
            && !TOLD.swap(true, Ordering::Relaxed)
        {
            let file = file.display();
            match first.display().to_string() == file.to_string() {
                true => message!("{file} is named twice, so each of its records is read twice"),
                false => message!(
                    "{file} and {} are one file, so each of its records is read twice",
                    first.display()
                ),
            }
        }
    }
}

/// The names of the files, or of the store if there are no files. Without folders, because the
/// title is for a page that other people see.
pub(crate) fn title_of(files: &[PathBuf], store: &Path) -> String {
    let first = files.first().map_or(store, PathBuf::as_path);
    let name = match first.file_name() {
        Some(name) if first != Path::new("-") => name.to_string_lossy().into_owned(),
        _ => name_of(first),
    };
    match files.len() {
        0 | 1 => name,
        count => format!("{name} and {} more", count - 1),
    }
}

/// Rejects standard input from a terminal: the user most likely forgot the file.
pub(crate) fn check_stdin(file: &Path) -> anyhow::Result<()> {
    if file == Path::new("-") && io::stdin().is_terminal() {
        bail!("no input: name a file, or pipe one in; see --help");
    }
    Ok(())
}

/// Rejects files that cannot be opened, before any output is created. Pipes are not opened here:
/// opening may block, and a pipe can be opened only once.
pub(crate) fn check_open(files: &[PathBuf], are_documents: bool) -> anyhow::Result<()> {
    for file in files.iter().filter(|file| *file != Path::new("-")) {
        let is_file_or_missing = file.metadata().map_or(true, |found| found.is_file());
        if is_file_or_missing {
            open_input(file)?;
        } else if file.is_dir() && !are_documents {
            bail!(
                "{} is a folder; to read its documents, use --docs; its pictures, --images",
                file.display()
            );
        }
    }
    Ok(())
}

/// Rejects files that can be read only once, for an option that reads documents twice.
pub(crate) fn refuse_pipes(files: &[PathBuf], option: &str) -> anyhow::Result<()> {
    let is_pipe = |file: &&PathBuf| {
        *file == Path::new("-") || file.metadata().is_ok_and(|it| !it.is_file() && !it.is_dir())
    };
    match files.iter().find(is_pipe) {
        Some(pipe) => bail!(
            "{option} reads the documents twice, and {} can be read only once; write it to a file \
             first",
            pipe.display()
        ),
        None => Ok(()),
    }
}

/// Estimates the number of records in all files. `None` if it cannot be estimated for one of them.
pub(crate) fn estimate(
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

/// Prints which columns of a file were guessed to contain fingerprints and ids, if any were.
pub(crate) fn report_guess(file: &Path, summary: &InputSummary) {
    if let Some(guess) = &summary.guess {
        let name = name_of(file);
        message!("{name}: {guess}; to select others, use --fingerprint-field N and --id-field N");
    }
}

/// Like [`report_guess`], but also prints the first bad records and the number of all of them.
pub(crate) fn report_skipped(file: &Path, summary: &InputSummary) {
    let name = name_of(file);
    report_guess(file, summary);
    for bad in &summary.skipped {
        message!("{name}: {}: {}", bad.place, bad.reason);
    }
    if summary.skipped_count > 0 {
        let count = counted(summary.skipped_count, "bad record", "bad records");
        message!("{name}: {count} skipped");
    }
}

/// Reads labelled pairs: two ids and a label on each line.
pub(crate) fn read_labels(path: &Path) -> anyhow::Result<LabelFile> {
    let text = lists::text_of(open_input(path)?);
    let text = text.with_context(|| format!("cannot read {}", path.display()))?;
    let labels = LabelFile::parse(&text);
    let labels = labels.map_err(|fault| anyhow!("{}: {fault}", path.display()))?;
    // A pipe is not recorded as a file, because it cannot be read again to compute its digest.
    Ok(if path.is_file() { labels.at(path) } else { labels })
}

/// Reads pairs judged by people. Contradicting pairs are an error.
pub(crate) fn read_judged(path: &Path) -> anyhow::Result<JudgedPairs> {
    let judged = JudgedPairs::new(&read_labels(path)?);
    judged.map_err(|fault| anyhow!("{}: {fault}", path.display()))
}
