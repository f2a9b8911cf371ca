//! What the commands that take documents share: recipes, inputs, and how they are read.

use std::io::{self, IsTerminal};
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use clap::{Args, ValueEnum};
use fpstore::{
    DocumentFormat, DocumentOptions, DocumentSummary, Error, Fingerprint, HashedDocument, IdRef,
    Recipe, SimHasher, Store, TextEncoding, hash_documents,
};

use super::compare::fingerprint_of_file;
use super::effort::Work;
use super::output::counted;
use super::recipe_args::{RecipeArgs, ResourceArgs};

/// How documents are read.
#[derive(Args, Debug)]
#[command(next_help_heading = "Documents")]
pub(super) struct ReadingArgs {
    /// The format of the documents; by default by the end of each name, JSON Lines for -
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
    /// How many threads work; 0 is one for each core
    #[arg(long, value_name = "N", default_value_t = 0, hide_short_help = true)]
    doc_threads: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum FormatArg {
    /// A JSON object a line, with id and text
    Jsonl,
    /// A JSON object a line, with id and an object 'features' of names and weights
    Features,
    /// Comma-separated values with a header
    Csv,
    /// Tab-separated values with a header, no quotes
    Tsv,
    /// Columns of ids and texts
    Parquet,
    /// A document a line, whose id is its number
    Lines,
    /// A file is a document
    Text,
    /// A file is a page, of which the main text is taken
    Html,
}

impl ReadingArgs {
    pub(super) fn holds_features(&self) -> bool {
        self.docs_format == Some(FormatArg::Features)
    }

    pub(super) fn options(&self, skip_bad: bool) -> anyhow::Result<DocumentOptions> {
        let options = DocumentOptions::default()
            .fields(&self.id_field, &self.text_field)
            .encoding(TextEncoding::named(&self.encoding)?)
            .skip_bad(skip_bad)
            .threads(self.doc_threads);
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

/// How 'query' reads a file, and what the recipe of the store needs.
#[derive(Args, Debug)]
pub(super) struct QueryDocumentArgs {
    #[command(flatten)]
    resources: ResourceArgs,
    /// The format of --file; by default by the end of its name
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
            doc_threads: 1,
        };
        let options = reading.options(false)?;
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
    /// Says in one line which recipe was taken where none was asked for.
    pub(super) fn tell(&self) {
        self.recipe.tell(self.reading.holds_features());
    }

    /// Whether files hold documents, or fingerprints of which a recipe is known.
    pub(super) fn prepare(&self, skip_bad: bool) -> anyhow::Result<Option<Documents>> {
        if !self.docs && !self.recipe.is_given() {
            return Ok(None);
        }
        let hasher = self.recipe.hasher(self.reading.holds_features())?;
        let options = if self.docs { Some(self.reading.options(skip_bad)?) } else { None };
        Ok(Some(Documents { hasher, options }))
    }
}

impl DocumentArgs {
    /// As [`DocumentArgs::prepare`], for a store that is there: documents go by its recipe unless another is given.
    pub(super) fn prepare_for(
        &self,
        store: &Store,
        skip_bad: bool,
    ) -> anyhow::Result<Option<Documents>> {
        match store.recipe() {
            Some(recipe) if self.docs && !self.recipe.is_given() => {
                let hasher = self.recipe.hasher_of(&recipe)?;
                Ok(Some(Documents { hasher, options: Some(self.reading.options(skip_bad)?) }))
            }
            _ => self.prepare(skip_bad),
        }
    }
}

impl Documents {
    /// How the fingerprints are made.
    pub(super) fn recipe(&self) -> Recipe {
        self.hasher.recipe().to_recipe()
    }

    /// Whether the files hold documents; else they hold fingerprints made by the recipe.
    pub(super) fn are_given(&self) -> bool {
        self.options.is_some()
    }

    /// Hands the fingerprints of all documents to `push`.
    pub(super) fn push_all(
        &self,
        files: &[PathBuf],
        work: &Work,
        mut push: impl FnMut(Fingerprint, IdRef<'_>) -> Result<(), Error>,
    ) -> anyhow::Result<DocumentSummary> {
        let options = self.options.clone().unwrap_or_default().observer(work.observer());
        let summary =
            hash_documents(files, &self.hasher, &options, |document| match document.fingerprint {
                Some(fingerprint) => push(fingerprint, document.id),
                None => Ok(()),
            })?;
        Ok(summary)
    }
}

/// Makes fingerprints of documents, with progress, and hands them over.
pub(super) fn hash_all(
    files: &[PathBuf],
    hasher: &SimHasher,
    options: &DocumentOptions,
    work: Option<&Work>,
    mut take: impl FnMut(HashedDocument<'_>) -> anyhow::Result<()>,
) -> anyhow::Result<DocumentSummary> {
    let mut failed = None;
    let mut options = options.clone();
    options.observer = work.map(Work::observer);
    let summary = hash_documents(files, hasher, &options, |document| {
        if let fpstore::IdRef::Text(text) = document.id
            && let Some(fault) = fpstore::IdRef::fault_of_text(text)
        {
            return Err(Error::InvalidId { reason: fault.into() });
        }
        take(document).map_err(|error| {
            failed = Some(error);
            let source = io::ErrorKind::Interrupted.into();
            Error::Io { doing: "take", path: "documents".into(), source }
        })
    });
    if let Some(work) = work {
        work.done();
    }
    match failed {
        Some(error) => Err(error),
        None => Ok(summary?),
    }
}

/// Says what was passed over and why.
pub(super) fn report(summary: &DocumentSummary) {
    for bad in &summary.skipped {
        say!("fpstore: {bad}");
    }
    if summary.skipped_count > 0 {
        say!("fpstore: {} skipped", counted(summary.skipped_count, "bad record", "bad records"));
    }
    if summary.empty_count > 0 {
        let ids: Vec<String> = summary.empty.iter().map(ToString::to_string).collect();
        let more = if summary.empty_count > ids.len() as u64 { ", ..." } else { "" };
        say!(
            "fpstore: {} without features, so without fingerprint: {}{more}",
            counted(summary.empty_count, "document", "documents"),
            ids.join(", ")
        );
    }
}

/// The inputs, checked for a terminal that no one meant.
pub(super) fn files_or_stdin(files: &[PathBuf], command: &str) -> anyhow::Result<Vec<PathBuf>> {
    let files = if files.is_empty() { vec![PathBuf::from("-")] } else { files.to_vec() };
    if files.iter().any(|file| file == Path::new("-")) && io::stdin().is_terminal() {
        bail!("no input: name a file, or pipe one in; see 'fpstore {command} --help'");
    }
    Ok(files)
}
