//! What the commands for documents share: hashing them, and what is said of them.

use std::path::PathBuf;

use anyhow::{Context, bail};
use bytesize::ByteSize;
use clap::Args;
use fpstore::{Error, Fingerprint, IdRef, Recipe, Store};
use fpstore_text::{
    Admission, BadRecords, Document, DocumentOptions, DocumentSummary, PassedOver, TextHasher,
    hash_documents, read_features, read_texts, sketch,
};

use super::inputs::ReadArgs;
use super::monitor::Monitor;
use super::output::counted;
use super::reading_args::ReadingArgs;
use super::recipe_args::{DefaultRecipe, RecipeArgs};
use super::stream::{Item, Received};

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
    hasher: TextHasher,
    options: Option<DocumentOptions>,
    /// Bytes of the sketch of each document; 0 for none.
    sketch_len: u8,
}

impl DocumentArgs {
    /// Whether the files hold documents.
    pub(super) fn are_given(&self) -> bool {
        self.docs
    }

    /// Prints which recipe was used, if the user named none.
    pub(super) fn report_default(&self) {
        self.recipe.report_default(DefaultRecipe::Best, self.reading.holds_features());
    }

    /// The hashers of all recipes that are given, or of all that have a name; none for ready
    /// fingerprints.
    pub(super) fn hashers(
        &self,
        read: &ReadArgs,
        all: bool,
    ) -> anyhow::Result<Vec<(String, TextHasher)>> {
        self.check_use(read)?;
        match (self.docs, self.recipe.is_given()) {
            (true, _) => self.recipe.hashers(self.reading.holds_features(), all),
            (false, true) => bail!("--recipe is for documents; add --docs to read them"),
            (false, false) => Ok(Vec::new()),
        }
    }

    /// How the documents are read.
    pub(super) fn options(&self, read: &ReadArgs) -> anyhow::Result<DocumentOptions> {
        self.reading.options(read.skip_bad, None)
    }

    /// How documents are read within the memory of the whole command.
    pub(super) fn reading_options(
        &self,
        read: &ReadArgs,
        memory: Option<ByteSize>,
    ) -> anyhow::Result<DocumentOptions> {
        self.reading.options(read.skip_bad, memory)
    }

    /// Whether the files hold features instead of texts.
    pub(super) fn hold_features(&self) -> bool {
        self.reading.holds_features()
    }

    /// The hasher of the recipe of a store, if that is one for texts and its lists are given.
    pub(super) fn hasher_of(&self, store: &Store) -> Option<TextHasher> {
        store.recipe().and_then(|recipe| self.recipe.hasher_of(&recipe).ok())
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

    /// As [`DocumentArgs::prepare`], where the command reads the texts of documents besides
    /// fingerprints if `reads_texts`, so that the options for reading have a meaning.
    pub(super) fn prepare_beside(
        &self,
        reads_texts: bool,
        read: &ReadArgs,
        memory: Option<ByteSize>,
    ) -> anyhow::Result<Option<Documents>> {
        let names_recipe = self.recipe.is_given() || self.recipe.first_change().is_some();
        match reads_texts && !self.docs && !names_recipe {
            true => Ok(None),
            false => self.prepare(read, memory),
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
        Ok(Some(Documents { hasher, options, sketch_len: 0 }))
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
                Ok(Some(Documents { hasher, options, sketch_len: store.sketch_len() }))
            }
            _ => Ok(self
                .prepare(read, memory)?
                .map(|documents| documents.sketched(store.sketch_len()))),
        }
    }
}

impl Documents {
    /// Documents, if `options` say how they are read.
    pub(super) fn new(
        hasher: TextHasher,
        options: Option<DocumentOptions>,
        sketch_len: u8,
    ) -> Self {
        Documents { hasher, options, sketch_len }
    }

    /// The same with sketches of this many bytes.
    pub(super) fn sketched(self, sketch_len: u8) -> Self {
        Documents { sketch_len, ..self }
    }

    /// The recipe of the fingerprints.
    pub(super) fn recipe(&self) -> Recipe {
        self.hasher.recipe().to_recipe()
    }

    /// The hasher of the recipe.
    pub(super) fn hasher(&self) -> &TextHasher {
        &self.hasher
    }

    /// The distance that is usual for the recipe.
    pub(super) fn usual_k(&self) -> u32 {
        self.hasher.recipe().usual_k()
    }

    /// Whether the files hold documents; otherwise they hold fingerprints made by the recipe.
    pub(super) fn are_given(&self) -> bool {
        self.options.is_some()
    }

    /// How they are read.
    pub(super) fn options(&self) -> DocumentOptions {
        self.options.clone().unwrap_or_default()
    }

    /// Bytes of the sketch of each document; 0 for none.
    pub(super) fn sketch_len(&self) -> u8 {
        self.sketch_len
    }

    /// The largest distance at which nearly all documents of a similarity are found.
    pub(super) fn candidate_k(&self, similarity: f64) -> u32 {
        self.hasher.recipe().candidate_k(similarity)
    }

    /// Gives all documents with their features to `take`.
    pub(super) fn read_features(
        &self,
        files: &[PathBuf],
        monitor: &Monitor,
        mut take: impl FnMut(Document<'_>) -> anyhow::Result<()>,
    ) -> anyhow::Result<DocumentSummary> {
        let options = self.options.clone().unwrap_or_default().observer(monitor.observer());
        read_features(files, &self.hasher, &options, |document| {
            take(document).map(|()| Admission::Taken)
        })
    }

    /// Gives the fingerprints, ids and sketches of all documents to `take`.
    pub(super) fn each(
        &self,
        files: &[PathBuf],
        monitor: &Monitor,
        mut take: impl FnMut(Fingerprint, IdRef<'_>, &[u8]) -> anyhow::Result<()>,
    ) -> anyhow::Result<DocumentSummary> {
        let mut failed = None;
        let done = self.push_all(files, monitor, |fingerprint, id, sketch| {
            take(fingerprint, id, sketch).map_err(|error| {
                failed = Some(error);
                Error::Interrupted
            })
        });
        failed.map_or(done, Err)
    }

    /// Gives the fingerprints, ids and sketches of all documents to `push`; an id that it refuses is
    /// a bad record.
    pub(super) fn push_all(
        &self,
        files: &[PathBuf],
        monitor: &Monitor,
        mut push: impl FnMut(Fingerprint, IdRef<'_>, &[u8]) -> Result<(), Error>,
    ) -> anyhow::Result<DocumentSummary> {
        let options = self.options().observer(monitor.observer());
        self.hash(files, &options, |fingerprint, id, sketch| {
            fingerprint.map_or(Ok(()), |fingerprint| push(fingerprint, id, sketch))
        })
    }

    /// Gives the documents of standard input to `send`, each as it comes, bad records among them.
    pub(super) fn read_stream(
        &self,
        send: impl Fn(Received) -> Result<(), Error> + Clone + Send + Sync + 'static,
    ) -> anyhow::Result<DocumentSummary> {
        let told = {
            let send = send.clone();
            // If nobody listens any more, the next document ends the reading.
            BadRecords::new(move |place, reason| drop(send(Received::Bad(place, reason.into()))))
        };
        let options = self.options().skip_bad(true).bad_records(told);
        let mut read = self.hash(&["-".into()], &options, |fingerprint, id, sketch| {
            let id = id.to_id();
            send(match fingerprint {
                Some(fingerprint) => {
                    Received::Item(Item { fingerprint, id: Some(id), sketch: sketch.into() })
                }
                None => Received::Empty(id),
            })
        })?;
        // Bad records were told one by one.
        read.skipped_count = 0;
        read.skipped.clear();
        Ok(read)
    }

    /// Gives fingerprint, if there is one, id and sketch of each document to `take`; an id that it
    /// refuses is a bad record.
    fn hash(
        &self,
        files: &[PathBuf],
        options: &DocumentOptions,
        mut take: impl FnMut(Option<Fingerprint>, IdRef<'_>, &[u8]) -> Result<(), Error>,
    ) -> anyhow::Result<DocumentSummary> {
        let mut admit =
            |fingerprint, id: IdRef<'_>, sketch: &[u8]| match take(fingerprint, id, sketch) {
                Ok(()) => Ok(Admission::Taken),
                Err(Error::InvalidId { reason }) => {
                    Ok(Admission::Refused { reason: format!("bad id: {reason}") })
                }
                Err(error) => Err(error.into()),
            };
        if self.sketch_len == 0 {
            return hash_documents(files, &self.hasher, options, |document| {
                admit(document.fingerprint, document.id, &[])
            });
        }
        read_features(files, &self.hasher, options, |document| {
            let sketch = sketch(document.features, self.sketch_len);
            admit(document.fingerprint, document.id, &sketch)
        })
    }
}

/// Calls `take` with each document and its fingerprint, and shows the progress.
pub(super) fn hash_all(
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
    if summary.other_count > 0 {
        let others = counted(summary.other_count, "response that is", "responses that are");
        message!("{others} no page or text passed over");
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

/// The text of an argument: itself with `is_text`, else that of the one document in the file.
pub(super) fn text_of(name: &str, is_text: bool, reading: &ReadingArgs) -> anyhow::Result<String> {
    if is_text {
        reading.check_unused()?;
        return Ok(name.into());
    }
    text_of_file(name, &reading.options(false, None)?)
}

/// The text of the one document in a file.
fn text_of_file(name: &str, options: &DocumentOptions) -> anyhow::Result<String> {
    let mut found = None;
    let mut count = 0;
    read_texts(&[PathBuf::from(name)], options, |_, text| -> anyhow::Result<()> {
        count += 1;
        found = Some(text.to_string()).filter(|_| count == 1);
        Ok(())
    })?;
    found.with_context(|| format!("{name} holds {count} documents, expected one"))
}

/// The fingerprint of the one document in a file.
pub(super) fn fingerprint_of_file(
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
        _ => bail!("{name} holds {count} documents, expected one"),
    }
}
