//! Reads documents and computes their fingerprints, or reads fingerprints from a field.

use std::path::PathBuf;

use anyhow::{Context, bail};
use fpstore::writer::NewRecord;
use fpstore::{Error, Fingerprint, Id, IdRef, InputPlace, Recipe, Store};
use fpstore_corpus::DocumentSource;
use fpstore_documents::{Admission, BadRecords, DocumentOptions, DocumentSummary, ReadyForm};
use fpstore_text::TextHasher;

use super::monitor::Monitor;

/// A source of documents, or only the recipe if fingerprints are read elsewhere.
pub(crate) struct Documents {
    /// Where the fingerprints come from.
    pub(crate) source: DocumentSource,
    are_given: bool,
}

impl Documents {
    /// Documents whose fingerprints are computed from their texts.
    pub(crate) fn of_texts(hasher: TextHasher, options: DocumentOptions) -> Self {
        Documents { source: DocumentSource::of_texts(hasher, options), are_given: true }
    }

    /// Documents with a fingerprint in the field that `options` set for the text.
    pub(crate) fn of_field(
        hasher: Option<TextHasher>,
        form: ReadyForm,
        options: DocumentOptions,
    ) -> Self {
        Documents { source: DocumentSource::of_field(hasher, form, options), are_given: true }
    }

    /// The recipe of fingerprints that are read elsewhere.
    pub(crate) fn elsewhere(hasher: TextHasher) -> Self {
        let source = DocumentSource::of_texts(hasher, DocumentOptions::default());
        Documents { source, are_given: false }
    }

    /// The same source with sketches of `sketch_len` bytes.
    pub(crate) fn sketched(self, sketch_len: u8) -> Self {
        Documents { source: self.source.sketched(sketch_len), ..self }
    }

    /// The hasher that computes fingerprints from texts. An error if there are no texts.
    pub(crate) fn hasher(&self) -> anyhow::Result<&TextHasher> {
        self.source
            .hasher()
            .filter(|_| self.have_texts())
            .context("--fingerprint-field reads no texts to compute fingerprints from")
    }

    /// Rejects documents without texts, for --confirm.
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

    /// Passes the fingerprint, id and sketch of each document to `take`. Documents without a
    /// fingerprint are skipped.
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

    /// Passes all documents to a callback. A rejected id makes a bad record.
    pub(crate) fn push_all(
        &self,
        files: &[PathBuf],
        monitor: &Monitor,
        push: impl FnMut(Fingerprint, IdRef<'_>, &[u8]) -> Result<(), Error>,
    ) -> anyhow::Result<DocumentSummary> {
        Ok(self.source.clone().observer(monitor.observer()).ingest(files, push)?)
    }

    /// Passes each document of standard input to `send` as soon as it is read, also bad records.
    pub(crate) fn read_stream(
        &self,
        send: impl Fn(Received) -> Result<(), Error> + Clone + Send + Sync + 'static,
    ) -> anyhow::Result<DocumentSummary> {
        let told = {
            let send = send.clone();
            // If the receiver is gone, the next document ends the loop.
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
        // Bad records were already reported one by one.
        read.skipped_count = 0;
        read.skipped.clear();
        Ok(read)
    }
}

/// The result of waiting for a record.
pub(crate) enum Received {
    Record(NewRecord),
    /// A document without features has no fingerprint.
    Empty(Id),
    /// The place of a bad record, and the reason.
    Bad(InputPlace, String),
    Nothing,
    End,
}

/// Rejects fingerprints with another recipe than the store's before any work is done.
pub(crate) fn check_recipe(stored: Option<&Store>, given: &Recipe) -> Result<(), Error> {
    match stored.and_then(Store::recipe) {
        Some(store) if store != *given => {
            Err(Error::RecipeMismatch { store, given: given.clone() })
        }
        _ => Ok(()),
    }
}
