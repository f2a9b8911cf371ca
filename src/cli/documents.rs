//! What the commands for documents share: the options to read and to hash them.

use std::path::PathBuf;

use anyhow::{Context, bail};
use bytesize::ByteSize;
use clap::{Args, ValueEnum};
use fpstore::{Error, Fingerprint, IdRef, Recipe, Store};
use fpstore_text::{
    Admission, DocumentFormat, DocumentOptions, DocumentSummary, FileChoice, HashedDocument,
    PassedOver, SimHasher, TextEncoding, hash_documents,
};

use super::inputs::ReadArgs;
use super::monitor::Monitor;
use super::output::counted;
use super::recipe_args::{RecipeArgs, RecipeFileArgs};

/// How documents are read.
#[derive(Args, Debug)]
#[command(next_help_heading = "Documents")]
pub(super) struct ReadingArgs {
    /// The format of the documents [default: by the end of each name; JSON Lines for -]
    #[arg(long, value_enum, value_name = "FORMAT")]
    docs_format: Option<FormatArg>,
    /// The field or column of the id
    #[arg(long, value_name = "NAME", default_value = "id")]
    id_field: String,
    /// The field or column of the text
    #[arg(long, value_name = "NAME", default_value = "text")]
    text_field: String,
    /// utf-8, detect, or a name such as gbk, big5, windows-1252
    #[arg(long, value_name = "NAME", default_value = "utf-8", hide_short_help = true)]
    encoding: String,
    /// The longest document, record or page, after decompression; a longer one is bad [default:
    /// 64MiB, or an eighth of --memory where that is less]
    #[arg(long, value_name = "SIZE", hide_short_help = true)]
    max_document: Option<ByteSize>,
    /// Of folders, read only files that match; GLOB is a name, or with a slash a path below
    #[arg(long, value_name = "GLOB", hide_short_help = true)]
    include: Vec<String>,
    /// Of folders, leave out files and folders that match
    #[arg(long, value_name = "GLOB", hide_short_help = true)]
    exclude: Vec<String>,
    /// Of folders, read hidden files too
    #[arg(long, hide_short_help = true)]
    hidden: bool,
    /// Number of threads; 0 means one for each core
    #[arg(long, value_name = "N", default_value_t = 0, hide_short_help = true)]
    doc_threads: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum FormatArg {
    /// One JSON object on each line, with id and text
    Jsonl,
    /// One JSON object on each line, with id and an object 'features' of names and weights
    Features,
    /// Comma-separated values with a header
    Csv,
    /// Tab-separated values with a header, no quotes
    Tsv,
    /// Columns of ids and texts
    Parquet,
    /// One document on each line, with the number of the line as id
    Lines,
    /// Each file is one document
    Text,
    /// Each file is a page, of which the main text is taken
    Html,
}

impl ReadingArgs {
    /// The first option that differs from its default.
    fn first_given(&self) -> Option<&'static str> {
        let given = [
            (self.docs_format.is_some(), "--docs-format"),
            (self.id_field != "id", "--id-field"),
            (self.text_field != "text", "--text-field"),
            (self.encoding != "utf-8", "--encoding"),
            (self.max_document.is_some(), "--max-document"),
            (!self.include.is_empty(), "--include"),
            (!self.exclude.is_empty(), "--exclude"),
            (self.hidden, "--hidden"),
            (self.doc_threads != 0, "--doc-threads"),
        ];
        given.into_iter().find(|(given, _)| *given).map(|(_, name)| name)
    }

    /// Refuses options that only files have where texts are given.
    pub(super) fn check_unused(&self) -> anyhow::Result<()> {
        match self.first_given() {
            Some(option) => bail!("{option} is for files; with --text none are read"),
            None => Ok(()),
        }
    }

    pub(super) fn holds_features(&self) -> bool {
        self.docs_format == Some(FormatArg::Features)
    }

    /// The options of reading; `memory` is that of the whole command, if the user limits it.
    pub(super) fn options(
        &self,
        skip_bad: bool,
        memory: Option<ByteSize>,
    ) -> anyhow::Result<DocumentOptions> {
        let files = FileChoice::default()
            .include(&self.include)?
            .exclude(&self.exclude)?
            .hidden(self.hidden);
        let mut options = DocumentOptions::default()
            .id_field(&self.id_field)
            .text_field(&self.text_field)
            .encoding(TextEncoding::named(&self.encoding)?)
            .skip_bad(skip_bad)
            .files(files)
            .threads(self.doc_threads);
        if let Some(memory) = memory {
            options = options.memory(memory.as_u64());
        }
        if let Some(len) = self.max_document {
            if len.as_u64() == 0 {
                bail!("--max-document 0: a document has at least one byte");
            }
            options = options.max_document(len.as_u64());
        }
        Ok(match self.docs_format {
            None => options,
            Some(FormatArg::Jsonl) => options.format(DocumentFormat::JsonLines),
            Some(FormatArg::Features) => options.format(DocumentFormat::Features),
            Some(FormatArg::Csv) => options.format(DocumentFormat::Csv),
            Some(FormatArg::Tsv) => options.format(DocumentFormat::Tsv),
            Some(FormatArg::Parquet) => options.format(DocumentFormat::Parquet),
            Some(FormatArg::Lines) => options.format(DocumentFormat::Lines),
            Some(FormatArg::Text) => options.format(DocumentFormat::Plain),
            Some(FormatArg::Html) => options.format(DocumentFormat::Html),
        })
    }
}

/// How `query` reads a file, and the files that the recipe of the store needs.
#[derive(Args, Debug)]
pub(super) struct QueryDocumentArgs {
    #[command(flatten)]
    resources: RecipeFileArgs,
    /// The format of --file [default: by the end of its name]
    #[arg(
        long,
        value_enum,
        value_name = "FORMAT",
        help_heading = "Documents",
        hide_short_help = true
    )]
    docs_format: Option<FormatArg>,
    /// The encoding of --file: utf-8, detect, or a name such as gbk
    #[arg(
        long,
        value_name = "NAME",
        default_value = "utf-8",
        help_heading = "Documents",
        hide_short_help = true
    )]
    encoding: String,
}

impl QueryDocumentArgs {
    /// The fingerprints of texts, then of files, by the recipe of the store.
    pub(super) fn fingerprints(
        &self,
        store: &Store,
        texts: &[String],
        files: &[String],
    ) -> anyhow::Result<impl Iterator<Item = Fingerprint> + use<>> {
        let mut fingerprints = Vec::new();
        if texts.is_empty() && files.is_empty() {
            return Ok(fingerprints.into_iter());
        }
        let info = store.info();
        let recipe = info.segments.first().map(|segment| &segment.recipe);
        let mut hasher = match recipe {
            Some(recipe) => self.resources.hasher_of(recipe)?,
            None => bail!("the store is empty and has no recipe"),
        };
        for text in texts {
            let fingerprint = hasher.fingerprint(text);
            fingerprints.push(
                fingerprint.with_context(|| {
                    format!("'{text}' has no features, so it has no fingerprint")
                })?,
            );
        }
        let reading = ReadingArgs {
            docs_format: self.docs_format,
            id_field: "id".into(),
            text_field: "text".into(),
            encoding: self.encoding.clone(),
            max_document: None,
            include: Vec::new(),
            exclude: Vec::new(),
            hidden: false,
            doc_threads: 1,
        };
        let options = reading.options(false, None)?;
        for file in files {
            fingerprints.push(fingerprint_of_file(file, &hasher, &options)?);
        }
        Ok(fingerprints.into_iter())
    }
}

/// Documents for 'build'.
#[derive(Args, Debug)]
pub(super) struct DocumentArgs {
    /// The files hold documents, not fingerprints; folders are searched
    #[arg(long, help_heading = "Documents")]
    docs: bool,
    #[command(flatten)]
    reading: ReadingArgs,
    #[command(flatten)]
    recipe: RecipeArgs,
}

/// Documents that are to become fingerprints.
pub(super) struct Documents {
    hasher: SimHasher,
    options: Option<DocumentOptions>,
}

impl DocumentArgs {
    /// Prints which recipe was used, if the user named none, and for which `k` it is good.
    pub(super) fn report_default(&self, k: u32) {
        let holds_features = self.reading.holds_features();
        self.recipe.report_default(holds_features);
        if !self.recipe.is_given() && !holds_features {
            message!(
                "the store is tuned for k = {k}; the default recipe told duplicates best at k = 7 \
                 to 13 on measured texts, see -k and 'fpstore evaluate'"
            );
        }
    }

    /// Refuses options for documents where fingerprints are read, and the other way round: the user
    /// would wait for their effect.
    fn check_use(&self, read: &ReadArgs) -> anyhow::Result<()> {
        if self.docs {
            return match read.first_given() {
                Some(option) => bail!("{option} is for fingerprints; with --docs none are read"),
                None => Ok(()),
            };
        }
        match self.reading.first_given().or_else(|| self.recipe.first_change()) {
            Some(option) => bail!("{option} is for documents; add --docs to read them"),
            None => Ok(()),
        }
    }

    /// The recipe and the reading options, if the user gave any.
    pub(super) fn prepare(
        &self,
        read: &ReadArgs,
        memory: Option<ByteSize>,
    ) -> anyhow::Result<Option<Documents>> {
        self.check_use(read)?;
        if !self.docs && !self.recipe.is_given() {
            return Ok(None);
        }
        let hasher = self.recipe.hasher(self.reading.holds_features())?;
        let options = match self.docs {
            true => Some(self.reading.options(read.skip_bad, memory)?),
            false => None,
        };
        Ok(Some(Documents { hasher, options }))
    }
}

impl DocumentArgs {
    /// As [`DocumentArgs::prepare`], for an existing store: its recipe is taken unless another is
    /// given.
    pub(super) fn prepare_for(
        &self,
        store: &Store,
        read: &ReadArgs,
        memory: Option<ByteSize>,
    ) -> anyhow::Result<Option<Documents>> {
        self.check_use(read)?;
        match store.recipe() {
            Some(recipe) if self.docs && !self.recipe.is_given() => {
                let hasher = self.recipe.hasher_of(&recipe)?;
                let options = Some(self.reading.options(read.skip_bad, memory)?);
                Ok(Some(Documents { hasher, options }))
            }
            _ => self.prepare(read, memory),
        }
    }
}

impl Documents {
    /// The recipe of the fingerprints.
    pub(super) fn recipe(&self) -> Recipe {
        self.hasher.recipe().to_recipe()
    }

    /// Whether the files hold documents; otherwise they hold fingerprints made by the recipe.
    pub(super) fn are_given(&self) -> bool {
        self.options.is_some()
    }

    /// Gives the fingerprints of all documents to `push`; an id that it refuses is a bad record.
    pub(super) fn push_all(
        &self,
        files: &[PathBuf],
        monitor: &Monitor,
        mut push: impl FnMut(Fingerprint, IdRef<'_>) -> Result<(), Error>,
    ) -> anyhow::Result<DocumentSummary> {
        let options = self.options.clone().unwrap_or_default().observer(monitor.observer());
        hash_documents(files, &self.hasher, &options, |document| {
            let pushed = match document.fingerprint {
                Some(fingerprint) => push(fingerprint, document.id),
                None => Ok(()),
            };
            match pushed {
                Ok(()) => Ok(Admission::Taken),
                Err(Error::InvalidId { reason }) => Ok(Admission::BadId { reason }),
                Err(error) => Err(error.into()),
            }
        })
    }
}

/// Calls `take` with each document and its fingerprint, and shows the progress.
pub(super) fn hash_all(
    files: &[PathBuf],
    hasher: &SimHasher,
    options: &DocumentOptions,
    monitor: Option<&Monitor>,
    mut take: impl FnMut(HashedDocument<'_>) -> anyhow::Result<()>,
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

/// Prints the bad files and records, the documents without features, and what was passed over.
pub(super) fn report(summary: &DocumentSummary) {
    let PassedOver { hidden, special, .. } = summary.passed_over;
    if hidden > 0 {
        let files = counted(hidden, "hidden file", "hidden files");
        message!("{files} passed over; --hidden reads them");
    }
    if special > 0 {
        let links = "link to a folder, pipe or device";
        message!("{} passed over", counted(special, links, "links to folders, pipes and devices"));
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
        message!("{files} skipped, or the rest of them");
    }
    if summary.empty_count > 0 {
        let ids: Vec<String> = summary.empty.iter().map(ToString::to_string).collect();
        let more = if summary.empty_count > ids.len() as u64 { ", ..." } else { "" };
        message!(
            "{} without features and so without fingerprint: {}{more}",
            counted(summary.empty_count, "document", "documents"),
            ids.join(", ")
        );
    }
}

/// The fingerprint of the one document in a file.
pub(super) fn fingerprint_of_file(
    name: &str,
    hasher: &SimHasher,
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
        _ => bail!("{name} holds {count} documents, expected one"),
    }
}
