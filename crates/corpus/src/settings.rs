//! The settings of a cleaning.

use std::path::PathBuf;

use fpstore_documents::{NewField, NewFieldKind};

use super::event::Listener;
use super::keep_rules::KeepRules;
use super::loss::LossLimit;
use super::passage_fate::PassageFate;
use super::reasons::Reasons;
use super::source::DocumentSource;
use fpstore::{Store, WriterOptions};
use fpstore_base::Resources;
use fpstore_base::labels::LabelFile;

/// Removes near-duplicates from files of documents.
///
/// The kept documents are copied byte for byte, in their order, to files of the same format and
/// compression. A file that is one document is not copied: its path is listed instead. An input is
/// never changed. Documents without text are kept, and so are bad records if they are skipped.
///
/// [`Cleaner::new`] sets the defaults: documents are near-duplicates if their features have a
/// similarity of [`USUAL_SIMILARITY`](super::USUAL_SIMILARITY) or more, the first one is kept, and
/// no output is written. The other fields are set with update syntax, as in the example.
///
/// A cleaning needs the memory of a join and, for each document, 33 bytes (130 if features are
/// compared) and 8 bytes for each rule of [`Cleaner::keep`] except `first` and `last`. By default,
/// temporary files are in the folder of the unfinished work, or in the system's temporary directory
/// if there is no output. If features are compared, these files contain the features of all
/// documents, 8 bytes for each feature.
///
/// # Examples
///
/// ```
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use fpstore_corpus::{Cleaner, DocumentSource};
/// use fpstore_documents::DocumentOptions;
/// use fpstore_text::{TextHasher, TextRecipe};
/// # let folder = tempfile::tempdir()?;
/// # let (file, clean) = (folder.path().join("all.csv"), folder.path().join("clean.csv"));
///
/// std::fs::write(&file, "id,text\na,one two three four\nb,\"One two, three four!\"\n")?;
/// let hasher = TextHasher::new(&TextRecipe::default())?;
/// let source = DocumentSource::of_texts(hasher, DocumentOptions::default());
/// let cleaner = Cleaner { output: Some(clean.clone()), ..Cleaner::new(source, [&file]) };
/// let account = cleaner.run()?;
/// assert_eq!((account.kept_count, account.near_new_count), (1, 1));
/// assert_eq!(std::fs::read_to_string(&clean)?, "id,text\na,one two three four\n");
/// # Ok(()) }
/// ```
pub struct Cleaner<'a> {
    /// The options for reading documents, and the recipe of their fingerprints.
    pub source: DocumentSource,
    /// The files and folders of documents. Documents are read twice if there is an output, so a
    /// pipe is then refused.
    pub paths: Vec<PathBuf>,
    /// Path of the output: a folder, in which each file gets its path below the common folder of
    /// all inputs; or, for a single input file, a file. A path that ends in a slash is a folder.
    ///
    /// A run with the same settings resumes an interrupted cleaning: its finished work is in the
    /// folder `.fpstore-dedup` of the output until the cleaning is complete. A cleaning without an
    /// output cannot be resumed.
    pub output: Option<PathBuf>,
    /// Whether existing outputs are replaced, each when its new file is complete, and unfinished
    /// work with other settings is discarded.
    pub replace: bool,
    /// The store to compare with: documents near a stored document are removed, and new documents
    /// are compared with each other only with [`Cleaner::within`]. Several stores are given [as
    /// one](fpstore::Stores::as_store).
    pub against: Option<Store>,
    /// Whether new documents are compared with each other, too. Without a store they are always
    /// compared.
    pub within: bool,
    /// Adds the kept documents to the store of [`Cleaner::against`] with these options, all of them
    /// or none, after the output is written. The recipe of the options is replaced by the recipe of
    /// the documents. If the options name a run, the work can be repeated; see
    /// [`WriterOptions::run`].
    pub add: Option<WriterOptions>,
    /// The greatest distance in bits of near fingerprints. Without [`Cleaner::confirm`], only
    /// fingerprints are compared: faster, but wrong more often, above all for short texts.
    pub k: Option<u32>,
    /// The least Jaccard similarity of the features of near-duplicates, above 0 and at most 1.
    /// Without a store, similarities are exact, all near-duplicates are found, and [`Cleaner::k`]
    /// is refused. With a store, they are estimated from sketches; without [`Cleaner::k`],
    /// documents are then compared within the distance at which one in a hundred pairs of that
    /// similarity is missed.
    ///
    /// If neither this nor [`Cleaner::k`] is set, the least similarity is
    /// [`USUAL_SIMILARITY`](super::USUAL_SIMILARITY); with a store, only documents within 12 bits
    /// are compared. Similarities cannot be computed for ready fingerprints, or if the store has no
    /// sketches. Then only fingerprints are compared, within the distance that the store is tuned
    /// for, or without a store within the usual distance of the recipe.
    /// [`Overview::judgement`](super::Overview::judgement) contains the criterion that was used.
    pub confirm: Option<f64>,
    /// The least part of the features of a removed document that the kept document must contain,
    /// above 0 and at most 1. The kept document then has at least as many features. With 1, it
    /// contains all features of the removed document. All such pairs are found; with
    /// [`Cleaner::confirm`], both conditions must hold. The features of both documents are needed,
    /// so a store is refused.
    pub confirm_contains: Option<f64>,
    /// The reasons for which documents are removed; `None` means all that apply. A document is
    /// removed for the first reason that holds:
    ///
    /// 1. Its address is the address of a better document. Only the best document of an address is
    ///    compared with other documents.
    /// 2. Its text has the same bytes, or the same tokens, as the text of a kept document.
    /// 3. It is near another document.
    pub judge: Option<Reasons>,
    /// Pairs of ids that people have judged. Of new documents judged to be duplicates, only the
    /// best by [`Cleaner::keep`] is compared with further documents; the rest are removed, as with
    /// equal addresses. A document judged different from the document because of which it would be
    /// removed is kept, even if it is near other documents. Pairs with unknown ids have no effect.
    pub pairs: Option<LabelFile>,
    /// The fate of removed passages in the outputs, if each passage of a text is read as a
    /// document; see [`DocumentOptions::unit`](fpstore_documents::DocumentOptions::unit). Required
    /// if passages are read and there is an output.
    pub passages: Option<PassageFate>,
    /// The name of the field that contains the address of a document. Of new documents whose
    /// addresses have the same [canonical form](super::canonical_address), only the best by
    /// [`Cleaner::keep`] is compared with further documents; the rest are removed. If the best is
    /// removed, too, because it is near another document, that document is kept instead of all of
    /// them. The addresses of stored documents are unknown.
    pub url_field: Option<String>,
    /// The rules that select which one of several near-duplicates is kept, if all are new; by
    /// default the first.
    pub keep: KeepRules,
    /// The name of the field that contains the source of a document: losses are counted for each
    /// source, and [`KeepRule::Source`](super::KeepRule::Source) orders sources by preference. For
    /// that rule the default is `source`.
    pub source_field: Option<String>,
    /// The largest part of the documents that may be removed. If more would be removed,
    /// [`Cleaning::run`](super::Cleaning::run) returns
    /// [`Error::TooMuchLost`](super::Error::TooMuchLost) before outputs are written or the store is
    /// changed; a run with the same settings and another limit resumes the work. With
    /// [`Cleaner::annotate`] nothing is removed, so a limit is refused.
    pub max_loss: Option<LossLimit>,
    /// Whether copies are written even if the disk seems too small for all of them. By default
    /// [`Cleaning::run`](super::Cleaning::run) then ends with [`NoSpace`](fpstore::Error::NoSpace)
    /// before the first copy. The length of a copy is estimated from the length of its file and the
    /// part of all documents that is kept.
    pub skip_space_check: bool,
    /// The largest number of documents kept of each cluster of new near-duplicates, 1 by default:
    /// the leader, then the documents near it that are best by [`Cleaner::keep`]. Documents near a
    /// stored document are always removed.
    pub per_cluster: u32,
    /// The largest number of documents that may be kept, documents without fingerprint included,
    /// which are always kept. Near-duplicates are then removed at the strictest bar that keeps no
    /// more documents: a least similarity from 1 down to [`Cleaner::confirm`], in steps of 1/100,
    /// or a greatest distance from 0 up to [`Cleaner::k`]. The bar is the same for the whole
    /// corpus, and is found by bisection.
    ///
    /// If that bar keeps fewer documents, removed documents are kept again: first those least
    /// similar to their kept document, then the best by [`Cleaner::keep`]; of equal documents only
    /// one. Documents equal to a kept one are always removed, so fewer documents than the target
    /// may be kept. If the most lenient bar keeps more, [`Cleaning::run`](super::Cleaning::run)
    /// ends with [`Error::TargetNotReached`](super::Error::TargetNotReached).
    pub target: Option<u64>,
    /// Keeps all documents, and adds a field of this name to each: the id of the document that it
    /// duplicates, or null.
    pub annotate: Option<String>,
    /// Adds a field of this name to each kept document: the number of documents of its cluster, 1
    /// if no other document is near it. Documents without fingerprint and bad records get null. A
    /// cluster is a kept document with the documents that are near it and near no better kept
    /// document.
    pub cluster_size: Option<String>,
    /// Memory, threads, the directory of temporary files, and the observer.
    pub resources: Resources,
    /// The function called with each [`Event`](super::Event), such as skipped bad records.
    pub listener: Option<&'a Listener<'a>>,
}

impl<'a> Cleaner<'a> {
    /// A cleaning of the documents in the files and folders `paths`, with the defaults.
    pub fn new<P: Into<PathBuf>>(
        source: DocumentSource,
        paths: impl IntoIterator<Item = P>,
    ) -> Self {
        Cleaner {
            source,
            paths: paths.into_iter().map(Into::into).collect(),
            output: None,
            replace: false,
            against: None,
            within: false,
            add: None,
            k: None,
            confirm: None,
            confirm_contains: None,
            judge: None,
            pairs: None,
            passages: None,
            url_field: None,
            keep: KeepRules::default(),
            source_field: None,
            max_loss: None,
            skip_space_check: false,
            per_cluster: 1,
            target: None,
            annotate: None,
            cluster_size: None,
            resources: Resources::default(),
            listener: None,
        }
    }

    /// The fields that are added to the copied documents.
    pub(super) fn new_fields(&self) -> Vec<NewField> {
        let field = |name: &Option<String>, kind| Some(NewField { name: name.clone()?, kind });
        let id = field(&self.annotate, NewFieldKind::Id);
        id.into_iter().chain(field(&self.cluster_size, NewFieldKind::Count)).collect()
    }

    /// The source field, if sources are needed.
    pub(super) fn named_source_field(&self) -> Option<&str> {
        self.keep.source_field(self.source_field.as_deref())
    }

    /// The reasons to check: the reasons of [`Cleaner::judge`] that can apply to these documents.
    pub(super) fn reasons(&self) -> Reasons {
        let has_texts = self.source.has_texts() && !self.source.has_given_features();
        let Reasons { address, bytes, text, near } = self.judge.unwrap_or(Reasons::ALL);
        Reasons {
            address: address && self.url_field.is_some(),
            bytes: bytes && has_texts,
            text: text && has_texts,
            near,
        }
    }

    /// The field of addresses, if documents with equal addresses are removed.
    pub(super) fn judged_url_field(&self) -> Option<&str> {
        self.url_field.as_deref().filter(|_| self.reasons().address)
    }

    /// Whether new documents are compared with one another.
    pub(super) fn is_within(&self) -> bool {
        self.within || self.against.is_none()
    }
}
