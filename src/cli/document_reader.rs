//! Documents that become fingerprints, or bring them along in a field.

use std::path::PathBuf;

use anyhow::bail;
use fpstore::{Error, Fingerprint, IdRef, Radix, Recipe};
use fpstore_text::{
    Admission, BadRecords, Document, DocumentFiles, DocumentOptions, DocumentSummary, TextHasher,
    read_features, sketch,
};

use super::monitor::Monitor;
use super::stream::{Item, Received};

/// The distance that is usual for fingerprints of which nothing is known.
pub(super) const UNKNOWN_K: u32 = 3;

/// Where fingerprints are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Origin {
    /// They are made of the texts of documents.
    Texts,
    /// A field of each document holds one, spelled so.
    Field(Radix),
    /// They are in files of fingerprints, which others read.
    Elsewhere,
}

/// Fingerprints, where they come from, and their recipe.
pub(super) struct Documents {
    /// That of the recipe, if it is known.
    hasher: Option<TextHasher>,
    origin: Origin,
    options: DocumentOptions,
    /// Bytes of the sketch of each document; 0 for none.
    sketch_len: u8,
}

impl Documents {
    /// Documents whose texts become fingerprints.
    pub(super) fn of_texts(hasher: TextHasher, options: DocumentOptions) -> Self {
        Documents { hasher: Some(hasher), origin: Origin::Texts, options, sketch_len: 0 }
    }

    /// Documents that have a fingerprint in the field that `options` name for the text.
    pub(super) fn of_field(
        hasher: Option<TextHasher>,
        radix: Radix,
        options: DocumentOptions,
    ) -> Self {
        Documents { hasher, origin: Origin::Field(radix), options, sketch_len: 0 }
    }

    /// The recipe of fingerprints that are read elsewhere.
    pub(super) fn elsewhere(hasher: TextHasher) -> Self {
        let options = DocumentOptions::default();
        Documents { hasher: Some(hasher), origin: Origin::Elsewhere, options, sketch_len: 0 }
    }

    /// The same with sketches of this many bytes.
    pub(super) fn sketched(self, sketch_len: u8) -> Self {
        Documents { sketch_len, ..self }
    }

    /// The recipe of the fingerprints.
    pub(super) fn recipe(&self) -> Recipe {
        self.hasher.as_ref().map_or(Recipe::external(), |hasher| hasher.recipe().to_recipe())
    }

    /// Whether the recipe is known.
    pub(super) fn have_recipe(&self) -> bool {
        self.hasher.is_some()
    }

    /// What makes fingerprints of the texts.
    pub(super) fn hasher(&self) -> anyhow::Result<&TextHasher> {
        match &self.hasher {
            Some(hasher) if self.origin == Origin::Texts => Ok(hasher),
            _ => bail!("--fingerprint-field reads no texts, so nothing can be made of them"),
        }
    }

    /// Refuses documents without texts, for --confirm.
    pub(super) fn check_texts(&self) -> anyhow::Result<()> {
        match self.origin {
            Origin::Field(_) => bail!(
                "--confirm compares texts, and --fingerprint-field reads none; make fingerprints of \
                 the texts with --docs"
            ),
            _ => Ok(()),
        }
    }

    /// The distance that is usual for the recipe.
    pub(super) fn usual_k(&self) -> u32 {
        self.hasher.as_ref().map_or(UNKNOWN_K, |hasher| hasher.recipe().usual_k())
    }

    /// Whether the files hold documents, with texts or fingerprints.
    pub(super) fn are_given(&self) -> bool {
        self.origin != Origin::Elsewhere
    }

    /// Whether the files hold texts, or the features of texts.
    pub(super) fn have_texts(&self) -> bool {
        self.origin == Origin::Texts
    }

    /// How they are read.
    pub(super) fn options(&self) -> DocumentOptions {
        self.options.clone()
    }

    /// Bytes of the sketch of each document; 0 for none.
    pub(super) fn sketch_len(&self) -> u8 {
        self.sketch_len
    }

    /// The largest distance at which nearly all documents of a similarity are found.
    pub(super) fn candidate_k(&self, similarity: f64) -> anyhow::Result<u32> {
        Ok(self.hasher()?.recipe().candidate_k(similarity))
    }

    /// Gives all documents with their features to `take`.
    pub(super) fn read_features(
        &self,
        files: &[PathBuf],
        monitor: &Monitor,
        mut take: impl FnMut(Document<'_>) -> anyhow::Result<()>,
    ) -> anyhow::Result<DocumentSummary> {
        let options = self.options().observer(monitor.observer());
        read_features(files, self.hasher()?, &options, |document| {
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
            let files = DocumentFiles::find(files, options)?;
            return self.read_plain(&files, options, |document| {
                admit(document.fingerprint, document.id, &[])
            });
        }
        read_features(files, self.hasher()?, options, |document| {
            let sketch = sketch(document.features, self.sketch_len);
            admit(document.fingerprint, document.id, &sketch)
        })
    }

    /// Gives all documents of `files` to `take`, without features.
    pub(super) fn read_plain(
        &self,
        files: &DocumentFiles,
        options: &DocumentOptions,
        take: impl FnMut(Document<'_>) -> anyhow::Result<Admission>,
    ) -> anyhow::Result<DocumentSummary> {
        match self.origin {
            Origin::Field(radix) => files.read_fingerprints(radix, options, take),
            _ => files.hash(self.hasher()?, options, take),
        }
    }
}
