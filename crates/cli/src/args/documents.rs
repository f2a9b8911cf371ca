//! Command line arguments for reading documents; functions that hash documents and print messages
//! about them.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use anyhow::{Context, bail};
use clap::Args;
use fpstore::input::{InputOptions, open_input};
use fpstore::{Fingerprint, Store, Width};
use fpstore_documents::{
    Admission, Document, DocumentFormat, DocumentOptions, DocumentSummary, PassedOver, ReadyForm,
    RepeatedIds, hash_documents, read_texts, text_of_bytes,
};
use fpstore_text::TextHasher;

use super::inputs::{ReadArgs, check_stdin};
use super::reading_args::ReadingArgs;
use super::recipe_args::{DefaultRecipe, RecipeArgs};
use super::resources::ReadingLimits;
use crate::output::text::{counted, counted_texts};
use crate::session::document_reader::Documents;
use crate::session::monitor::Monitor;

/// Options of 'build' and similar commands for documents as input.
#[derive(Args, Debug)]
pub(crate) struct DocumentArgs {
    /// The input is documents, not fingerprints; folders are searched
    #[arg(long, help_heading = "Documents")]
    docs: bool,
    #[command(flatten)]
    field: FieldArgs,
    #[command(flatten)]
    reading: ReadingArgs,
    #[command(flatten)]
    recipe: RecipeArgs,
}

/// The option for fingerprints in a column of a table or a field of JSON.
#[derive(Args, Debug)]
pub(crate) struct FieldArgs {
    /// Field or column of ready fingerprints, in tables or JSON Lines
    ///
    /// If NAME is a number, it is the position of a column in lines, counted from 1; --id-field is
    /// then a number, too. Columns are separated by tabs, semicolons or commas, and a header is
    /// skipped. Otherwise NAME is the name of a field in a file of the format jsonl, csv, tsv or
    /// parquet, as with --docs; --id-field names the field of ids. --radix sets the number base of
    /// fingerprints given as texts. A number in JSON or Parquet is the fingerprint itself; a
    /// negative number stands for its bits. A record with a null or an empty text has no
    /// fingerprint. Without this option, the column with 13 to 16 hex digits, or 17 or more
    /// decimal digits, in three of four lines is used.
    #[arg(
        long,
        value_name = "NAME",
        help_heading = "Documents",
        hide_short_help = true,
        conflicts_with = "docs"
    )]
    fingerprint_field: Option<String>,
}

impl FieldArgs {
    /// Whether fingerprints are read from a named field, not from a numbered column of lines.
    pub(crate) fn is_given(&self, reading: &ReadingArgs) -> bool {
        self.fingerprint_field.is_some() && self.column(reading).is_none()
    }

    /// The number of the column that contains the fingerprints, if the user gave a number.
    pub(crate) fn column(&self, reading: &ReadingArgs) -> Option<usize> {
        let column = self.fingerprint_field.as_ref()?.parse().ok()?;
        (column > 0 && !reading.names_format()).then_some(column)
    }

    /// The options to read lines of fingerprints.
    pub(crate) fn lines(
        &self,
        reading: &ReadingArgs,
        read: &ReadArgs,
    ) -> anyhow::Result<InputOptions> {
        let options = read.options();
        let Some(column) = self.column(reading) else { return Ok(options) };
        if read.has_layout() {
            bail!("--input-format is for files without fields; leave out --fingerprint-field");
        }
        Ok(options.columns(column, reading.id_column()?))
    }

    /// The documents that contain their fingerprint in a field, if the user names such a field.
    pub(crate) fn documents(
        &self,
        reading: &ReadingArgs,
        hasher: Option<TextHasher>,
        read: &ReadArgs,
        limits: ReadingLimits,
    ) -> anyhow::Result<Option<Documents>> {
        let named = self.fingerprint_field.as_ref().filter(|_| self.is_given(reading));
        let Some(field) = named else { return Ok(None) };
        if read.has_layout() {
            bail!("--input-format is for files without fields; leave out --fingerprint-field");
        }
        if let Some(option) = reading.first_for_texts() {
            bail!("{option} is for texts; --fingerprint-field reads no texts");
        }
        let options = reading.options(read.skips_bad(), limits)?.text_field(field);
        let form = ReadyForm { radix: read.given_radix(), width: read.width() };
        Ok(Some(Documents::of_field(hasher, form, options)))
    }
}

impl DocumentArgs {
    /// Whether the files contain documents.
    pub(crate) fn are_given(&self) -> bool {
        self.docs || self.field.is_given(&self.reading)
    }

    /// The options to read lines of fingerprints.
    pub(crate) fn lines(&self, read: &ReadArgs) -> anyhow::Result<InputOptions> {
        self.field.lines(&self.reading, read)
    }

    /// Prints the default recipe, if the user gave no recipe.
    pub(crate) fn report_default(&self) {
        if self.docs {
            self.recipe.report_default(DefaultRecipe::Best, self.reading.holds_features());
        }
    }

    /// One hasher for each recipe given by the user, or with `all` for each built-in recipe; empty
    /// if the files contain fingerprints.
    pub(crate) fn hashers(
        &self,
        read: &ReadArgs,
        all: bool,
    ) -> anyhow::Result<Vec<(String, TextHasher)>> {
        self.check_use(read)?;
        if self.field.is_given(&self.reading) && all {
            bail!("--all is for texts; --fingerprint-field reads no texts; leave out one of them");
        }
        match (self.docs, self.recipe.is_given()) {
            (true, _) => self.recipe.hashers(self.reading.holds_features(), all),
            (false, true) => bail!("--recipe is for documents; add --docs to read them"),
            (false, false) => Ok(Vec::new()),
        }
    }

    /// The library's options for reading the documents.
    pub(crate) fn options(
        &self,
        read: &ReadArgs,
        limits: ReadingLimits,
    ) -> anyhow::Result<DocumentOptions> {
        self.reading.options(read.skips_bad(), limits)
    }

    /// Whether the files contain features instead of texts.
    pub(crate) fn hold_features(&self) -> bool {
        self.reading.holds_features()
    }

    /// The hasher of the store's recipe, if this is a recipe for texts and the user gave the word
    /// lists that it needs.
    pub(crate) fn hasher_of(&self, store: &Store) -> Option<TextHasher> {
        store.recipe().and_then(|recipe| self.recipe.hasher_of(&recipe).ok())
    }

    /// Rejects options without effect: options for documents if the files contain fingerprints, and
    /// options for fingerprints if the files contain documents.
    fn check_use(&self, read: &ReadArgs) -> anyhow::Result<()> {
        let width = read.width();
        if width != Width::FULL && self.recipe.is_given() {
            bail!("--recipe is for fingerprints of 64 bits, and these have {width}; leave it out");
        }
        if self.docs {
            return match read.first_given() {
                Some(option) => bail!("{option} is for fingerprints; --docs reads no fingerprints"),
                None => Ok(()),
            };
        }
        let reading = match self.field.column(&self.reading) {
            Some(_) => self.reading.first_but_id(),
            None => self.reading.first_given().filter(|_| !self.field.is_given(&self.reading)),
        };
        match reading.or_else(|| self.recipe.first_change()) {
            Some(option) => bail!("{option} is for documents; add --docs to read them"),
            None => Ok(()),
        }
    }

    /// The documents that contain their fingerprint in a field, if the user names such a field. The
    /// fingerprints have the recipe given by the user.
    pub(crate) fn of_field(
        &self,
        read: &ReadArgs,
        limits: ReadingLimits,
    ) -> anyhow::Result<Option<Documents>> {
        let hasher = self.recipe.is_given().then(|| self.recipe.hasher(false)).transpose()?;
        self.field.documents(&self.reading, hasher, read, limits)
    }

    /// Like [`DocumentArgs::prepare`], but with `reads_texts` the command reads fingerprints and
    /// also texts of documents, so it accepts the options for reading documents.
    pub(crate) fn prepare_beside(
        &self,
        reads_texts: bool,
        read: &ReadArgs,
        limits: ReadingLimits,
    ) -> anyhow::Result<Option<Documents>> {
        let names_recipe = self.recipe.is_given() || self.recipe.first_change().is_some();
        match reads_texts && !self.are_given() && !names_recipe {
            true => Ok(None),
            false => self.prepare(read, limits),
        }
    }

    /// The documents to hash, or only the recipe of the fingerprints; `None` if the user gave
    /// neither.
    pub(crate) fn prepare(
        &self,
        read: &ReadArgs,
        limits: ReadingLimits,
    ) -> anyhow::Result<Option<Documents>> {
        self.check_use(read)?;
        if self.field.is_given(&self.reading) {
            return self.of_field(read, limits);
        }
        if !self.docs && !self.recipe.is_given() {
            return Ok(None);
        }
        let hasher = self.recipe.hasher(self.reading.holds_features())?;
        Ok(Some(match self.docs {
            true => Documents::of_texts(hasher, self.reading.options(read.skips_bad(), limits)?),
            false => Documents::elsewhere(hasher),
        }))
    }
}

impl DocumentArgs {
    /// Like [`DocumentArgs::prepare`], but the default recipe is the recipe of `store`.
    pub(crate) fn prepare_for(
        &self,
        store: Option<&Store>,
        read: &ReadArgs,
        limits: ReadingLimits,
    ) -> anyhow::Result<Option<Documents>> {
        let Some(store) = store else { return self.prepare(read, limits) };
        if !self.docs {
            // Fingerprints from files have no sketches: a store with sketches rejects them later.
            return self.prepare(&read.of_width(store.width())?, limits);
        }
        self.check_use(read)?;
        match store.recipe() {
            Some(recipe) if !self.recipe.is_given() => {
                let hasher = self.recipe.hasher_of(&recipe)?;
                let options = self.reading.options(read.skips_bad(), limits)?;
                Ok(Some(Documents::of_texts(hasher, options).sketched(store.sketch_len())))
            }
            _ => {
                let documents = self.prepare(read, limits)?;
                Ok(documents.map(|documents| documents.sketched(store.sketch_len())))
            }
        }
    }
}

/// Calls `take` with each document and its fingerprint, and shows the progress.
pub(crate) fn hash_all(
    files: &[PathBuf],
    hasher: &TextHasher,
    options: &DocumentOptions,
    monitor: Option<&Monitor>,
    mut take: impl FnMut(Document<'_>) -> anyhow::Result<()>,
) -> anyhow::Result<DocumentSummary> {
    let mut options = options.clone();
    if let Some(monitor) = monitor {
        options = options.observer(monitor.observer());
    }
    let summary = hash_documents(files, hasher, &options, |document| {
        take(document).map(|()| Admission::Taken)
    });
    if let Some(monitor) = monitor {
        monitor.finish();
    }
    summary
}

/// Prints the numbers of bad files, bad records, documents without fingerprint and skipped files.
pub(crate) fn report(summary: &DocumentSummary) {
    if let Some(guess) = &summary.guess {
        report_guess(guess);
    }
    let PassedOver { hidden, special, .. } = summary.passed_over;
    if hidden > 0 {
        let files = counted(hidden, "hidden file", "hidden files");
        message!("skipped {files}; to read them, use --hidden");
    }
    if special > 0 {
        let links = "link to a folder, pipe or device";
        message!("skipped {}", counted(special, links, "links to folders, pipes and devices"));
    }
    if summary.other_count > 0 {
        let others = counted(
            summary.other_count,
            "response that is not a page or text",
            "responses that are not pages or texts",
        );
        message!("skipped {others}");
    }
    for bad in &summary.skipped {
        message!("{bad}");
    }
    if summary.skipped_count > 0 {
        message!("{} skipped", counted(summary.skipped_count, "bad record", "bad records"));
    }
    for bad in &summary.bad_files {
        message!("{bad}");
    }
    if summary.bad_file_count > 0 {
        let files = counted(summary.bad_file_count, "bad file", "bad files");
        message!("skipped {files}, each completely or from the damaged place on");
    }
    report_repeated_ids(&summary.repeated_ids);
    if summary.empty_count > 0 {
        let ids: Vec<String> = summary.empty.iter().map(ToString::to_string).collect();
        let more = if summary.empty_count > ids.len() as u64 { ", ..." } else { "" };
        message!(
            "{} without fingerprint (no features, or a null): {}{more}",
            counted(summary.empty_count, "document", "documents"),
            ids.join(", ")
        );
    }
}

/// Prints which fields were guessed, only once if several inputs have the same fields.
fn report_guess(guess: &str) {
    static TOLD: Mutex<Option<String>> = Mutex::new(None);
    let mut told = TOLD.lock().unwrap_or_else(PoisonError::into_inner);
    if told.as_deref() != Some(guess) {
        message!("{guess}; to select other fields, use --id-field and --text-field");
        *told = Some(guess.into());
    }
}

/// Prints that several documents have the same id, if any do. A store can contain such documents,
/// so this is not an error.
pub(crate) fn report_repeated_ids(found: &RepeatedIds) {
    let RepeatedIds { count, first: Some(first), is_least, .. } = found else { return };
    let least = if *is_least { "at least " } else { "" };
    let documents = match count {
        1 => "1 document has".into(),
        count => format!("{} have", counted(*count, "document", "documents")),
    };
    message!(
        "{least}{documents} the id of an earlier one, such as '{first}': lists by id cannot \
         distinguish them"
    );
}

/// The text given as an argument: the argument itself with `is_text`, else the single document in
/// the file.
pub(crate) fn text_of(name: &str, is_text: bool, reading: &ReadingArgs) -> anyhow::Result<String> {
    if is_text {
        reading.check_unused()?;
        return Ok(name.into());
    }
    let options = reading.options(false, ReadingLimits::default())?;
    // The name of a pipe does not show the format, but its content does.
    if name == "-" && !reading.names_format() {
        check_stdin(Path::new(name))?;
        let mut bytes = Vec::new();
        open_input(Path::new(name))?.read_to_end(&mut bytes)?;
        let format = DocumentFormat::of_content(&bytes);
        return Ok(text_of_bytes(&bytes, &options.format(format))?);
    }
    text_of_file(name, &options)
}

/// The text of the single document in a file.
fn text_of_file(name: &str, options: &DocumentOptions) -> anyhow::Result<String> {
    let mut found = None;
    let mut count = 0;
    read_texts(&[PathBuf::from(name)], options, |_, text| -> anyhow::Result<()> {
        count += 1;
        found = Some(text.to_string()).filter(|_| count == 1);
        Ok(())
    })?;
    found.with_context(|| holds_several(name, count, options))
}

/// The error for a file with several documents.
fn holds_several(name: &str, count: u64, options: &DocumentOptions) -> String {
    let texts = counted_texts(count, options.passage_unit().is_some());
    format!(
        "{name} holds {texts}, expected one; to search for each, run: fpstore query --docs --from \
         {name}"
    )
}

/// The fingerprint of the single document in a file.
pub(crate) fn fingerprint_of_file(
    name: &str,
    hasher: &TextHasher,
    options: &DocumentOptions,
) -> anyhow::Result<Fingerprint> {
    let mut found = Vec::new();
    let mut count = 0;
    hash_all(&[PathBuf::from(name)], hasher, options, None, |document| {
        count += 1;
        found.extend(document.fingerprint);
        Ok(())
    })?;
    match (found.as_slice(), count) {
        ([fingerprint], 1) => Ok(*fingerprint),
        ([], 1) => bail!("{name} has no features, so it has no fingerprint"),
        _ => bail!(holds_several(name, count, options)),
    }
}
