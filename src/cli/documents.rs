//! What the commands that take documents share: recipes, inputs, and how they are read.

use std::io::{self, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use clap::{Args, ValueEnum};
use fpstore::{
    Builder, CountWeight, DfTable, DocumentFormat, DocumentOptions, DocumentSummary, Error, Factor,
    FeatureHash, Fingerprint, GivenWeights, HashKey, HashedDocument, Recipe, Segment, SimHasher,
    StopWords, Store, TextEncoding, TextRecipe, TextResources, TieRule, hash_documents,
};

use super::compare::fingerprint_of_file;

use super::output::{counted, grouped};

/// How texts become fingerprints.
#[derive(Args, Debug)]
#[command(next_help_heading = "From texts to fingerprints")]
pub(super) struct RecipeArgs {
    /// auto, 1e0ng, or a file with a recipe as 'info' prints it
    #[arg(long, value_name = "RECIPE")]
    recipe: Option<String>,
    /// The language of the texts, auto or a code such as en or zh; the default recipe serves all
    #[arg(long, value_name = "LANG", conflicts_with = "recipe")]
    lang: Option<String>,
    /// How texts are cut: words, characters, python-characters; for Chinese also jieba, forward, backward, fewest
    #[arg(long, value_name = "HOW", hide_short_help = true)]
    segment: Option<String>,
    /// Words in a row that make a feature
    #[arg(long, value_name = "W", hide_short_help = true, value_parser = clap::value_parser!(u32).range(1..=1000))]
    shingle: Option<u32>,
    /// Characters in a row that make a feature, in scripts without spaces or with --segment characters
    #[arg(long, value_name = "N", hide_short_help = true, value_parser = clap::value_parser!(u32).range(1..=1000))]
    ngram: Option<u32>,
    /// What the count of a feature is worth: once, log, count
    #[arg(long, value_name = "RULE", hide_short_help = true)]
    count: Option<String>,
    /// Only the N heaviest features of a text vote
    #[arg(long, value_name = "N", hide_short_help = true, value_parser = clap::value_parser!(u32).range(1..))]
    top: Option<u32>,
    /// siphash-1-3, siphash-2-4, md5-low-64, fnv-1
    #[arg(long, value_name = "HASH", hide_short_help = true)]
    hash: Option<String>,
    /// The key of the hash, 32 hex digits
    #[arg(long, value_name = "HEX", hide_short_help = true)]
    hash_key: Option<String>,
    /// What a tie of votes gives: zero, one
    #[arg(long, value_name = "BIT", hide_short_help = true)]
    tie: Option<TieArg>,
    /// Tell capitals from small letters
    #[arg(long, hide_short_help = true)]
    keep_case: bool,
    /// Tell compatibility characters, such as full-width letters, from plain ones
    #[arg(long, hide_short_help = true)]
    keep_form: bool,
    #[command(flatten)]
    resources: ResourceArgs,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum TieArg {
    Zero,
    One,
}

/// Files that a recipe may need.
#[derive(Args, Debug)]
#[command(next_help_heading = "From texts to fingerprints")]
pub(super) struct ResourceArgs {
    /// Weigh features by a table of document frequencies, made by 'fpstore df'
    #[arg(long, value_name = "FILE", hide_short_help = true)]
    df: Option<PathBuf>,
    /// Leave out the words of a list, one a line
    #[arg(long, value_name = "FILE", hide_short_help = true)]
    stop_words: Option<PathBuf>,
    /// Weigh features by a list of 'word<TAB>weight', weights from 1 to 5
    #[arg(long, value_name = "FILE", hide_short_help = true, conflicts_with = "df")]
    weights: Option<PathBuf>,
}

impl ResourceArgs {
    fn load(&self) -> anyhow::Result<TextResources> {
        let read = |path: &PathBuf| {
            std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))
        };
        let mut resources = TextResources::default();
        if let Some(path) = &self.df {
            let table = DfTable::open(path).with_context(|| path.display().to_string())?;
            resources.df_table = Some(table);
        }
        if let Some(path) = &self.stop_words {
            resources.stop_words = Some(StopWords::from_list(&read(path)?));
        }
        if let Some(path) = &self.weights {
            let list = GivenWeights::from_list(&read(path)?, &path.display().to_string())?;
            resources.weights = Some(list);
        }
        Ok(resources)
    }

    /// The hasher of a recipe that is written down.
    pub(super) fn hasher_of(&self, recipe: &Recipe) -> anyhow::Result<SimHasher> {
        if *recipe == Recipe::external() {
            bail!(
                "the store was built from ready fingerprints (recipe 'external'): give the fingerprint, \
                 made by what made the stored ones"
            );
        }
        let recipe = TextRecipe::from_recipe(recipe)?;
        Ok(SimHasher::with_resources(&recipe, self.load()?)?)
    }
}

impl RecipeArgs {
    /// Whether anything was said about the recipe.
    pub(super) fn is_given(&self) -> bool {
        self.recipe.is_some() || self.lang.is_some()
    }

    /// The hasher for texts, or for ready features.
    pub(super) fn hasher(&self, for_features: bool) -> anyhow::Result<SimHasher> {
        let mut recipe = match (for_features, &self.recipe) {
            (_, Some(name)) => base_recipe(name)?,
            (true, None) => TextRecipe::of_given_features(),
            (false, None) => TextRecipe::for_language(self.lang.as_deref().unwrap_or("auto"))?,
        };
        let resources = self.resources.load()?;
        if let Some(table) = &resources.df_table {
            recipe.factor = Factor::Idf(table.mark());
        }
        if let Some(list) = &resources.weights {
            recipe.factor = Factor::Given(list.mark());
        }
        if let Some(list) = &resources.stop_words {
            recipe.stop_words = Some(list.mark());
        }
        self.change(&mut recipe)?;
        Ok(SimHasher::with_resources(&recipe, resources)?)
    }

    fn change(&self, recipe: &mut TextRecipe) -> anyhow::Result<()> {
        if let Some(name) = &self.segment {
            recipe.segment = Segment::named(name)?;
        }
        recipe.shingle = self.shingle.unwrap_or(recipe.shingle);
        recipe.ngram = self.ngram.unwrap_or(recipe.ngram);
        if let Some(name) = &self.count {
            recipe.count = CountWeight::named(name)?;
        }
        recipe.top = self.top.or(recipe.top);
        if let Some(text) = &self.hash {
            recipe.hash = FeatureHash::spelled(text)?;
        }
        if let Some(hex) = &self.hash_key {
            let key = HashKey::from_hex(hex)?;
            recipe.hash = match recipe.hash {
                FeatureHash::SipHash13(_) => FeatureHash::SipHash13(key),
                FeatureHash::SipHash24(_) => FeatureHash::SipHash24(key),
                _ => bail!("--hash-key: the hash of this recipe has no key"),
            };
        }
        if let Some(tie) = self.tie {
            recipe.ties = match tie {
                TieArg::Zero => TieRule::Zero,
                TieArg::One => TieRule::One,
            };
        }
        recipe.lower &= !self.keep_case;
        recipe.nfkc &= !self.keep_form;
        // A recipe has no line for what has no meaning in it, so it would be dropped in silence.
        let text = recipe.to_recipe();
        for (given, name) in [
            (self.shingle.is_some(), "shingle"),
            (self.ngram.is_some(), "ngram"),
            (self.count.is_some(), "count"),
        ] {
            if given && !text.text().lines().any(|line| line.starts_with(&format!("{name}="))) {
                bail!("--{name} has no meaning with the segment of this recipe");
            }
        }
        Ok(())
    }
}

/// A recipe by name, else from a file.
fn base_recipe(name: &str) -> anyhow::Result<TextRecipe> {
    let path = Path::new(name);
    match TextRecipe::named(name) {
        Err(_) if path.is_file() => {
            let text =
                std::fs::read_to_string(path).with_context(|| format!("cannot read {name}"))?;
            // As 'info' prints it: indented, and perhaps with a word in front.
            let lines: Vec<&str> = text
                .lines()
                .map(|line| line.trim().trim_start_matches("recipe").trim())
                .filter(|line| !line.is_empty())
                .collect();
            let recipe = Recipe::from_text(&lines.join("\n"));
            let recipe = recipe.with_context(|| format!("{name} holds no recipe"))?;
            TextRecipe::from_recipe(&recipe).with_context(|| name.to_string())
        }
        recipe => Ok(recipe?),
    }
}

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

impl Documents {
    /// How the fingerprints are made.
    pub(super) fn recipe(&self) -> Recipe {
        self.hasher.recipe().to_recipe()
    }

    /// Pushes the fingerprints of all documents and gives their number, or none if the files hold
    /// fingerprints.
    pub(super) fn push_all(
        &self,
        files: &[PathBuf],
        builder: &mut Builder,
        quiet: bool,
    ) -> anyhow::Result<Option<u64>> {
        let Some(options) = &self.options else { return Ok(None) };
        let mut progress = Progress::new(quiet);
        let summary = hash_documents(files, &self.hasher, options, |document| {
            progress.step();
            match document.fingerprint {
                Some(fingerprint) => builder.push(fingerprint, document.id),
                None => Ok(()),
            }
        });
        progress.end();
        let summary = summary?;
        report(&summary);
        Ok(Some(summary.document_count))
    }
}

/// Makes fingerprints of documents, with progress, and hands them over.
pub(super) fn hash_all(
    files: &[PathBuf],
    hasher: &SimHasher,
    options: &DocumentOptions,
    quiet: bool,
    mut take: impl FnMut(HashedDocument<'_>) -> anyhow::Result<()>,
) -> anyhow::Result<DocumentSummary> {
    let mut failed = None;
    let mut progress = Progress::new(quiet);
    let summary = hash_documents(files, hasher, options, |document| {
        progress.step();
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
    progress.end();
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

/// A count on the terminal, while there is one and it takes long.
pub(super) struct Progress {
    count: u64,
    next: Instant,
    shown: bool,
    silent: bool,
}

const PROGRESS_PAUSE: Duration = Duration::from_millis(500);

impl Progress {
    pub(super) fn new(quiet: bool) -> Self {
        let silent = quiet || !io::stderr().is_terminal();
        Progress { count: 0, next: Instant::now() + PROGRESS_PAUSE, shown: false, silent }
    }

    pub(super) fn step(&mut self) {
        self.count += 1;
        if self.silent || !self.count.is_multiple_of(64) || Instant::now() < self.next {
            return;
        }
        self.next = Instant::now() + PROGRESS_PAUSE;
        self.shown = true;
        let _ = write!(io::stderr(), "\rfpstore: {} documents ", grouped(self.count));
    }

    pub(super) fn end(&mut self) {
        if self.shown {
            let _ = write!(io::stderr(), "\r\u{1b}[K");
        }
    }
}
