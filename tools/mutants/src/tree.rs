//! A copy of the project in which every site can be activated.

use std::collections::{BTreeMap, HashSet};
use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use crate::sites::{self, Edit, NUMBER, Site};

/// A site of a file, and the number of its first change; its other changes have the next numbers.
pub struct Placed {
    pub file: String,
    pub site: Site,
    pub number: u32,
    /// Whether it is left out, because it does not compile.
    pub is_off: bool,
}

pub struct Tree {
    copy: PathBuf,
    /// The original contents of files with sites, so that the project can be edited meanwhile.
    sources: BTreeMap<String, String>,
    pub sites: Vec<Placed>,
}

/// Positions of the inserted texts in a changed file, each with the index of its site.
type Written = Vec<(Range<usize>, usize)>;

impl Tree {
    /// Copies the project and finds the sites of `files` that `is_wanted` accepts.
    pub fn new(
        root: &Path,
        copy: &Path,
        files: &[String],
        is_wanted: impl Fn(&str, &Site) -> bool,
    ) -> Result<Self> {
        let listed = output(Command::new("git").arg("-C").arg(root).args([
            "ls-files",
            "-co",
            "--exclude-standard",
        ]))?;
        let listed: HashSet<&str> = listed.lines().collect();
        // Changed files are written only once, so that a second run finds them unchanged.
        let is_changed = |file: &str| file == "src/lib.rs" || files.iter().any(|of| of == file);
        for file in listed.iter().filter(|file| !is_changed(file)) {
            let (from, to) = (root.join(file), copy.join(file));
            if from.is_file() {
                write_if_other(&to, &fs::read(&from)?)?;
            }
        }
        let lib = fs::read_to_string(root.join("src/lib.rs"))?;
        let lib = format!("#![allow(warnings)]\n{lib}\npub mod mutants;\n");
        write_if_other(&copy.join("src/lib.rs"), lib.as_bytes())?;
        write_if_other(&copy.join("src/mutants.rs"), include_bytes!("runtime.rs"))?;

        let (mut all, mut number) = (Vec::new(), 0);
        let mut sources = BTreeMap::new();
        for file in files.iter().filter(|file| listed.contains(file.as_str())) {
            let source = fs::read_to_string(root.join(file))?;
            let before = all.len();
            for site in sites::find(&source).with_context(|| file.clone())? {
                if is_wanted(file, &site) {
                    let count = site.changes.len() as u32;
                    all.push(Placed { file: file.clone(), site, number, is_off: false });
                    number += count;
                }
            }
            if all.len() == before {
                write_if_other(&copy.join(file), source.as_bytes())?;
            }
            sources.insert(file.clone(), source);
        }
        ensure!(number < 1 << 16, "{number} changes are more than this tool can number");
        Ok(Self { copy: copy.to_owned(), sources, sites: all })
    }

    /// Writes the changed files, and leaves out sites with compile errors until the rest compiles.
    pub fn write_what_compiles(&mut self, cargo: &dyn Fn(&[&str]) -> Command) -> Result<()> {
        for round in 1.. {
            let written = self.write()?;
            let mut check = cargo(&["check", "--lib", "--message-format=json"]);
            let told = check.stderr(Stdio::null()).output()?.stdout;
            let mut errors = 0;
            let before = self.off_count();
            for line in String::from_utf8(told)?.lines() {
                let Ok(message) = serde_json::from_str::<Value>(line) else { continue };
                if message["message"]["level"] == "error" {
                    errors += 1;
                    self.turn_off(&message["message"], &written)?;
                }
            }
            eprintln!("check {round}: {errors} errors, {} sites left out", self.off_count());
            if errors == 0 {
                let status = cargo(&["check", "--lib", "--quiet"]).status()?;
                ensure!(status.success(), "the copy does not compile");
                return Ok(());
            }
            ensure!(self.off_count() > before, "errors that no change explains");
        }
        unreachable!("the rounds end when nothing more can be left out")
    }

    fn off_count(&self) -> usize {
        self.sites.iter().filter(|placed| placed.is_off).count()
    }

    /// Writes every file, and returns the positions of the inserted texts.
    fn write(&self) -> Result<BTreeMap<String, Written>> {
        let mut by_file: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
        for (index, placed) in self.sites.iter().enumerate() {
            by_file.entry(&placed.file).or_default().push(index);
        }
        let mut all = BTreeMap::new();
        for (file, indexes) in by_file {
            let (text, written) = self.change(&self.sources[file], &indexes);
            write_if_other(&self.copy.join(file), text.as_bytes())?;
            all.insert(file.to_owned(), written);
        }
        Ok(all)
    }

    fn change(&self, source: &str, indexes: &[usize]) -> (String, Written) {
        // Order at one position: ends, innermost first; starts, outermost first; then replacements.
        let mut edits = Vec::new();
        for &index in indexes.iter().filter(|index| !self.sites[**index].is_off) {
            let placed = &self.sites[index];
            for edit in &placed.site.edits {
                let nth = edits.len() as i64;
                let (key, end, text) = match edit {
                    Edit::After(at, text) => ((*at, 0, -nth), *at, text),
                    Edit::Before(at, text) => ((*at, 1, nth), *at, text),
                    Edit::Instead(range, text) => ((range.start, 2, nth), range.end, text),
                };
                edits.push((key, end, text.replace(NUMBER, &placed.number.to_string()), index));
            }
        }
        edits.sort();
        let (mut changed, mut written, mut read) = (String::new(), Written::new(), 0);
        for ((start, ..), end, text, index) in edits {
            changed.push_str(&source[read..start]);
            read = end;
            let at = changed.len();
            changed.push_str(&text);
            written.push((at..changed.len(), index));
        }
        changed.push_str(&source[read..]);
        (changed, written)
    }

    /// Leaves out the site that caused a compiler error.
    fn turn_off(&mut self, error: &Value, all: &BTreeMap<String, Written>) -> Result<()> {
        let mut spans = Vec::new();
        collect_spans(error, &mut spans);
        for (file, span) in &spans {
            let Some(written) = all.get(file) else { continue };
            let mut ranges: BTreeMap<usize, Range<usize>> = BTreeMap::new();
            for (range, index) in written {
                let whole = ranges.entry(*index).or_insert_with(|| range.clone());
                *whole = whole.start.min(range.start)..whole.end.max(range.end);
            }
            let around = ranges
                .into_iter()
                .filter(|(_, range)| range.start <= span.start && range.end >= span.end)
                .min_by_key(|(_, range)| range.len());
            if let Some((index, _)) = around {
                self.sites[index].is_off = true;
                return Ok(());
            }
        }
        // No site contains the error: leave out the whole function of the last site before it.
        for (file, span) in &spans {
            let Some(written) = all.get(file) else { continue };
            let before = written.iter().rfind(|(range, _)| range.start <= span.start);
            if let Some((_, index)) = before.or(written.first()) {
                let function = self.sites[*index].site.function.clone();
                for placed in &mut self.sites {
                    placed.is_off |= placed.file == *file && placed.site.function == function;
                }
                return Ok(());
            }
        }
        Ok(())
    }
}

/// The positions of an error, the primary position first.
fn collect_spans(message: &Value, spans: &mut Vec<(String, Range<usize>)>) {
    let mut of_message: Vec<&Value> = message["spans"].as_array().into_iter().flatten().collect();
    of_message.sort_by_key(|span| span["is_primary"] != true);
    for span in of_message {
        if let (Some(file), Some(start), Some(end)) =
            (span["file_name"].as_str(), span["byte_start"].as_u64(), span["byte_end"].as_u64())
        {
            spans.push((file.to_owned(), start as usize..end as usize));
        }
    }
    for child in message["children"].as_array().into_iter().flatten() {
        collect_spans(child, spans);
    }
}

/// Writes a file only if its contents differ, so that unchanged files are not compiled again.
fn write_if_other(path: &Path, bytes: &[u8]) -> Result<()> {
    if fs::read(path).is_ok_and(|found| found == bytes) {
        return Ok(());
    }
    fs::create_dir_all(path.parent().context("a file without a folder")?)?;
    fs::write(path, bytes).with_context(|| path.display().to_string())
}

/// Runs a command and returns its standard output.
pub fn output(command: &mut Command) -> Result<String> {
    let output = command.stderr(Stdio::inherit()).output()?;
    ensure!(output.status.success(), "{command:?}: {}", output.status);
    Ok(String::from_utf8(output.stdout)?)
}
