//! The source of fingerprints of documents: their texts, or a field of ready fingerprints.
//!
//! Builders, writers and the cleaning of a corpus all read documents through a [`DocumentSource`].
//! It contains the recipe of the fingerprints, and does not use a store.

use std::path::PathBuf;

use fpstore_documents::{
    Admission, Document, DocumentFiles, DocumentOptions, DocumentSummary, ReadyForm,
};
use fpstore_text::{TextHasher, Tokenizer, sketch};

use super::error::{Error, Result};
use fpstore_base::watch::Observer;
use fpstore_base::{Fingerprint, IdRef, Recipe, Width};

/// Reads documents from files, and computes or reads their fingerprints.
///
/// # Examples
///
/// ```
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use fpstore::Builder;
/// use fpstore_corpus::DocumentSource;
/// use fpstore_documents::DocumentOptions;
/// use fpstore_text::{TextHasher, TextRecipe};
/// # let folder = tempfile::tempdir()?;
/// # let (file, path) = (folder.path().join("docs.jsonl"), folder.path().join("docs.fps"));
///
/// std::fs::write(&file, "{\"id\":\"a\",\"text\":\"one two three\"}\n")?;
/// let hasher = TextHasher::new(&TextRecipe::default())?;
/// let source = DocumentSource::of_texts(hasher, DocumentOptions::default());
/// let mut builder = Builder::new(&path)?;
/// let summary = source.ingest(&[file], |fingerprint, id, sketch| {
///     builder.push_sketched(fingerprint, id, sketch)
/// })?;
/// assert_eq!(summary.document_count, 1);
/// assert_eq!(builder.finish()?.info().id_count(), 1);
/// # Ok(()) }
/// ```
#[derive(Clone, Debug)]
pub struct DocumentSource {
    /// The hasher of the recipe, if the recipe is known.
    hasher: Option<TextHasher>,
    /// The form of ready fingerprints in a field; `None` if fingerprints are computed from texts.
    ready: Option<ReadyForm>,
    options: DocumentOptions,
    sketch_len: u8,
}

impl DocumentSource {
    /// A source that computes a fingerprint of each text, or of each passage of the texts. The unit
    /// of the passages is set by the options, or else by the recipe; the recipe of the source then
    /// contains it.
    pub fn of_texts(hasher: TextHasher, options: DocumentOptions) -> Self {
        let options = options.of_recipe(hasher.recipe());
        let hasher = hasher.of_unit(options.passage_unit());
        DocumentSource { hasher: Some(hasher), ready: None, options, sketch_len: 0 }
    }

    /// A source of documents with a ready fingerprint in the field [`DocumentOptions::text_field`],
    /// in the given form: a [`Radix`](fpstore_base::Radix) of 64 bits, or a [`ReadyForm`]. `hasher`
    /// is the hasher that computed the fingerprints, if it is known; they then have 64 bits.
    pub fn of_field(
        hasher: Option<TextHasher>,
        form: impl Into<ReadyForm>,
        options: DocumentOptions,
    ) -> Self {
        DocumentSource { hasher, ready: Some(form.into()), options, sketch_len: 0 }
    }

    /// The width of the fingerprints.
    pub fn width(&self) -> Width {
        self.ready.map_or(Width::FULL, |form| form.width)
    }

    /// This source with sketches of `sketch_len` bytes; 0 for no sketches. A store with sketches
    /// refuses documents without a sketch.
    #[must_use]
    pub fn sketched(self, sketch_len: u8) -> Self {
        DocumentSource { sketch_len, ..self }
    }

    /// This source with another observer, which receives the progress and may end the work.
    #[must_use]
    pub fn observer(mut self, observer: impl Into<Option<Observer>>) -> Self {
        self.options = self.options.observer(observer);
        self
    }

    /// The recipe of the fingerprints.
    pub fn recipe(&self) -> Recipe {
        match &self.hasher {
            Some(hasher) => hasher.recipe().to_recipe(),
            None => Recipe::external_of(self.width()),
        }
    }

    /// The usual distance of the recipe, or of the width if the recipe is unknown.
    pub fn usual_k(&self) -> u32 {
        let of_recipe = |hasher: &TextHasher| hasher.recipe().usual_k();
        self.hasher.as_ref().map_or(self.width().usual_k(), of_recipe)
    }

    /// Whether the files contain texts, or the features of texts.
    pub fn has_texts(&self) -> bool {
        self.ready.is_none()
    }

    /// Whether the files contain features in place of texts.
    pub(super) fn has_given_features(&self) -> bool {
        self.hasher.as_ref().is_some_and(|it| it.recipe().tokenizer == Tokenizer::Given)
    }

    /// The hasher of the texts, or of ready fingerprints if it is known.
    pub fn hasher(&self) -> Option<&TextHasher> {
        self.hasher.as_ref()
    }

    /// The options for reading the documents.
    pub fn options(&self) -> &DocumentOptions {
        &self.options
    }

    /// Length in bytes of the sketch of each document; 0 for no sketches.
    pub(super) fn sketch_len(&self) -> u8 {
        self.sketch_len
    }

    /// The hasher of the texts; an error if the fingerprints are ready.
    pub(super) fn text_hasher(&self) -> Result<&TextHasher> {
        self.hasher.as_ref().filter(|_| self.has_texts()).ok_or_else(|| {
            Error::refused(
                "the documents are ready fingerprints without texts, so other \
                            fingerprints cannot be computed",
            )
        })
    }

    /// Calls `take` with the fingerprint, the id and the sketch of each document in `paths`; the
    /// sketch is empty unless sketches are enabled. `-` is standard input, and folders are
    /// searched. If `take` returns [`InvalidId`](fpstore::Error::InvalidId), the record of the
    /// document counts as bad.
    ///
    /// # Errors
    ///
    /// * [`Error::Text`] with the errors of [`hash_documents`](fpstore_documents::hash_documents).
    /// * [`Error::Store`] from `take`.
    pub fn ingest(
        &self,
        paths: &[PathBuf],
        mut take: impl FnMut(Fingerprint, IdRef<'_>, &[u8]) -> fpstore::Result<()>,
    ) -> Result<DocumentSummary> {
        self.for_each(paths, &self.options, |fingerprint, id, sketch| {
            let Some(fingerprint) = fingerprint else { return Ok(Admission::Taken) };
            match take(fingerprint, id, sketch) {
                Ok(()) => Ok(Admission::Taken),
                Err(fpstore::Error::InvalidId { reason }) => {
                    Ok(Admission::Refused { reason: format!("bad id: {reason}") })
                }
                Err(error) => Err(error.into()),
            }
        })
    }

    /// Calls `take` with each document: its fingerprint if it has features, its id and its sketch.
    /// The documents are read with `options`, not with the options of this source.
    ///
    /// # Errors
    ///
    /// The same as [`hash_documents`](fpstore_documents::hash_documents), and any error from
    /// `take`.
    pub fn for_each<E: From<Error> + From<fpstore_documents::Error>>(
        &self,
        paths: &[PathBuf],
        options: &DocumentOptions,
        mut take: impl FnMut(Option<Fingerprint>, IdRef<'_>, &[u8]) -> Result<Admission, E>,
    ) -> Result<DocumentSummary, E> {
        let files = DocumentFiles::find(paths, options)?;
        if self.sketch_len == 0 {
            return self.read_plain(&files, options, |document| {
                take(document.fingerprint, document.id, &[])
            });
        }
        files.read_features(self.text_hasher()?, options, None, |document| {
            let sketch = sketch(document.features, self.sketch_len);
            take(document.fingerprint, document.id, &sketch)
        })
    }

    /// Calls `take` with each document of `files`; the list of its features is empty.
    pub(super) fn read_plain<E: From<Error> + From<fpstore_documents::Error>>(
        &self,
        files: &DocumentFiles,
        options: &DocumentOptions,
        take: impl FnMut(Document<'_>) -> Result<Admission, E>,
    ) -> Result<DocumentSummary, E> {
        match self.ready {
            Some(form) => files.read_fingerprints(form, options, take),
            None => files.hash(self.text_hasher()?, options, take),
        }
    }
}
