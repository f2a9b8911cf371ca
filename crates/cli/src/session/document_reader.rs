//! Reads documents and computes their fingerprints, or reads fingerprints from a field.

use std::path::PathBuf;

use anyhow::{Context, bail};
use fpstore::writer::NewRecord;
use fpstore::{Error, Fingerprint, Id, IdRef, InputPlace, Recipe, Store};
use fpstore_corpus::DocumentSource;
use fpstore_documents::{Admission, BadRecords, DocumentOptions, DocumentSummary, ReadyForm};
use fpstore_text::TextHasher;

use super::monitor::Monitor;

/// Documents to read, or only the recipe of fingerprints that other code reads.
pub(crate) struct Documents {
    /// Computes the fingerprints from texts, or reads them from a field.
    pub(crate) source: DocumentSource,
    are_given: bool,
}

impl Documents {
    /// Documents whose fingerprints are computed from their texts.
    pub(crate) fn of_texts(hasher: TextHasher, options: DocumentOptions) -> Self {
        Documents { source: DocumentSource::of_texts(hasher, options), are_given: true }
    }

    /// Documents that contain their fingerprint, in the field that `options` name as the text.
    pub(crate) fn of_field(
        hasher: Option<TextHasher>,
        form: ReadyForm,
        options: DocumentOptions,
    ) -> Self {
        Documents { source: DocumentSource::of_field(hasher, form, options), are_given: true }
    }

    /// Only the recipe; other code reads the fingerprints from lines.
    pub(crate) fn elsewhere(hasher: TextHasher) -> Self {
        let source = DocumentSource::of_texts(hasher, DocumentOptions::default());
        Documents { source, are_given: false }
    }

    /// The same source with sketches of `sketch_len` bytes.
    pub(crate) fn sketched(self, sketch_len: u8) -> Self {
        Documents { source: self.source.sketched(sketch_len), ..self }
    }

    /// The hasher of the texts; an error if the documents have no texts.
    pub(crate) fn hasher(&self) -> anyhow::Result<&TextHasher> {
        self.source
            .hasher()
            .filter(|_| self.have_texts())
            .context("--fingerprint-field reads no texts to compute fingerprints from")
    }

    /// Rejects documents without texts, for --confirm, which compares texts.
    pub(crate) fn check_texts(&self) -> anyhow::Result<()> {
        if !self.source.has_texts() {
            bail!(
                "--confirm compares texts, and --fingerprint-field reads no texts; use --docs to \
                 compute fingerprints of texts"
            );
        }
        Ok(())
    }

    /// Whether the files hold documents, with texts or fingerprints.
    pub(crate) fn are_given(&self) -> bool {
        self.are_given
    }

    /// Whether the files hold texts, or the features of texts.
    pub(crate) fn have_texts(&self) -> bool {
        self.are_given && self.source.has_texts()
    }

    /// Reads the files, and passes the fingerprint, id and sketch of each document to `take`.
    /// Documents without a fingerprint are skipped.
    pub(crate) fn each(
        &self,
        files: &[PathBuf],
        monitor: &Monitor,
        mut take: impl FnMut(Fingerprint, IdRef<'_>, &[u8]) -> anyhow::Result<()>,
    ) -> anyhow::Result<DocumentSummary> {
        let options = self.source.options().clone().observer(monitor.observer());
        self.source.for_each(files, &options, |fingerprint, id, sketch| {
            fingerprint.map_or(Ok(()), |fingerprint| take(fingerprint, id, sketch))?;
            Ok(Admission::Taken)
        })
    }

    /// Like [`Documents::each`], but if `push` rejects an id, the document is a bad record.
    pub(crate) fn push_all(
        &self,
        files: &[PathBuf],
        monitor: &Monitor,
        push: impl FnMut(Fingerprint, IdRef<'_>, &[u8]) -> Result<(), Error>,
    ) -> anyhow::Result<DocumentSummary> {
        Ok(self.source.clone().observer(monitor.observer()).ingest(files, push)?)
    }

    /// Reads documents from standard input, and passes each to `send` at once, bad records
    /// included.
    pub(crate) fn read_stream(
        &self,
        send: impl Fn(Received) -> Result<(), Error> + Clone + Send + Sync + 'static,
    ) -> anyhow::Result<DocumentSummary> {
        let told = {
            let send = send.clone();
            // An error of `send` is ignored here: the next document reports it and ends the loop.
            BadRecords::new(move |place, reason| drop(send(Received::Bad(place, reason.into()))))
        };
        let options = self.source.options().clone().skip_bad(true).bad_records(told);
        let mut read =
            self.source.for_each(&["-".into()], &options, |fingerprint, id, sketch| {
                let id = id.to_id();
                send(match fingerprint {
                    Some(fingerprint) => Received::Record(NewRecord {
                        fingerprint,
                        id: Some(id),
                        sketch: sketch.into(),
                    }),
                    None => Received::Empty(id),
                })?;
                Ok::<_, anyhow::Error>(Admission::Taken)
            })?;
        // Bad records are removed from the summary, because `send` already reported each.
        read.skipped_count = 0;
        read.skipped.clear();
        Ok(read)
    }
}

/// What a stream of records delivers.
pub(crate) enum Received {
    Record(NewRecord),
    /// A document without features, which has no fingerprint.
    Empty(Id),
    /// The place of a bad record, and the reason.
    Bad(InputPlace, String),
    Nothing,
    End,
}

/// Rejects a recipe other than that of the store, before any work is done.
pub(crate) fn check_recipe(stored: Option<&Store>, given: &Recipe) -> Result<(), Error> {
    match stored.and_then(Store::recipe) {
        Some(store) if store != *given => {
            Err(Error::RecipeMismatch { store, given: given.clone() })
        }
        _ => Ok(()),
    }
}
