//! The settings of a cleaning.

use std::path::PathBuf;

use fpstore_documents::{NewField, NewFieldKind};

use super::event::Listener;
use super::keep_rules::KeepRules;
use super::loss::LossLimit;
use super::passage_fate::PassageFate;
use super::reasons::Reasons;
use super::source::DocumentSource;
use fpstore::Store;
use fpstore::WriterOptions;
use fpstore_base::labels::LabelFile;
use fpstore_base::{Resources, resource_setters};

/// Removes near-duplicates from files of documents.
///
/// The documents that are kept come out byte for byte, in their order, in files of the same format
/// and compression; a file whose documents are whole files is not copied, but named in a list. An
/// input is never changed. Documents without text stay, and so do bad records if they are skipped.
///
/// By default documents are near if their features have a similarity of
/// [`USUAL_SIMILARITY`](super::USUAL_SIMILARITY), the first one is kept, and nothing is written; see
/// [`Cleaner::confirm`] and [`Cleaner::output`].
///
/// The memory is that of joins. A document takes 33 bytes beside it, where features decide 130,
/// and 8 more for each rule of [`Cleaner::keep`] after the first. Temporary files go to the folder
/// of the unfinished work by default, or to the directory of the system if there is no output.
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
/// let account = Cleaner::new(source, [&file]).output(&clean).run()?;
/// assert_eq!((account.kept_count, account.near_new_count), (1, 1));
/// assert_eq!(std::fs::read_to_string(&clean)?, "id,text\na,one two three four\n");
/// # Ok(()) }
/// ```
pub struct Cleaner<'a> {
    pub(super) source: DocumentSource,
    pub(super) paths: Vec<PathBuf>,
    pub(super) output: Option<PathBuf>,
    pub(super) replace: bool,
    pub(super) stored: Option<Store>,
    pub(super) within: bool,
    pub(super) add: Option<WriterOptions>,
    pub(super) k: Option<u32>,
    pub(super) confirm: Option<f64>,
    pub(super) confirm_contains: Option<f64>,
    pub(super) judge: Option<Reasons>,
    pub(super) pairs: Option<LabelFile>,
    pub(super) passages: Option<PassageFate>,
    pub(super) url_field: Option<String>,
    pub(super) keep: KeepRules,
    pub(super) source_field: Option<String>,
    pub(super) max_loss: Option<LossLimit>,
    pub(super) skip_space_check: bool,
    pub(super) per_cluster: u32,
    pub(super) target: Option<u64>,
    pub(super) annotate: Option<String>,
    pub(super) cluster_size: Option<String>,
    pub(super) resources: Resources,
    pub(super) listener: Option<&'a Listener<'a>>,
}

impl<'a> Cleaner<'a> {
    /// A cleaning of the documents in the files and folders `paths`. They are read more than once,
    /// so none may be a pipe.
    pub fn new<P: Into<PathBuf>>(
        source: DocumentSource,
        paths: impl IntoIterator<Item = P>,
    ) -> Self {
        Cleaner {
            source,
            paths: paths.into_iter().map(Into::into).collect(),
            output: None,
            replace: false,
            stored: None,
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

    /// Sets where the documents that are kept go: a folder, in which each file gets its path below
    /// the folder that all inputs share; or, for one input file, a file. A path that ends in a slash
    /// is a folder.
    ///
    /// Work that is stopped goes on with the same settings: what is done is kept in a folder
    /// `.fpstore-dedup` there until all is done. Without an output the work cannot go on.
    #[must_use]
    pub fn output(mut self, path: impl Into<PathBuf>) -> Self {
        self.output = Some(path.into());
        self
    }

    /// Sets whether outputs that are there are replaced, each once its new file is complete, and
    /// whether unfinished work with other settings is given up.
    #[must_use]
    pub fn replace(mut self, replace: bool) -> Self {
        self.replace = replace;
        self
    }

    /// Sets a store: documents that are near a stored one are removed. New documents are then
    /// compared with one another only with [`Cleaner::within`]. Several stores are given
    /// [as one](fpstore::Stores::as_store).
    #[must_use]
    pub fn against(mut self, store: impl Into<Option<Store>>) -> Self {
        self.stored = store.into();
        self
    }

    /// Sets whether new documents are compared with one another, too. Without a store they are.
    #[must_use]
    pub fn within(mut self, within: bool) -> Self {
        self.within = within;
        self
    }

    /// Adds the documents that are kept to the store of [`Cleaner::against`], all of them after the
    /// output is written, or none. The recipe is that of the documents. A run that `options` name
    /// makes the work safe to repeat; see [`WriterOptions::run`].
    #[must_use]
    #[expect(clippy::should_implement_trait, reason = "named as the option of every door")]
    pub fn add(mut self, options: impl Into<Option<WriterOptions>>) -> Self {
        self.add = options.into();
        self
    }

    /// Sets the distance within which fingerprints are near. Without [`Cleaner::confirm`] the
    /// fingerprints then decide alone: faster, and wrong more often, above all on short texts.
    #[must_use]
    pub fn k(mut self, k: impl Into<Option<u32>>) -> Self {
        self.k = k.into();
        self
    }

    /// Sets the Jaccard similarity that the features of near documents must have, above 0 and at most
    /// 1: exact among new documents, and estimated where there is a store, from its sketches. Without
    /// [`Cleaner::k`] the documents are compared that are within the distance at which one in a
    /// hundred pairs of that similarity is missed.
    ///
    /// If neither this nor [`Cleaner::k`] is set, it is
    /// [`USUAL_SIMILARITY`](super::USUAL_SIMILARITY), of documents within 12 bits, wherever that can be
    /// had. It cannot for ready fingerprints, a store without sketches, and pipes: there
    /// fingerprints decide alone, within the distance that the store is tuned for, else the usual one
    /// of the recipe. [`Overview::judgement`](super::Overview::judgement) says which it was.
    #[must_use]
    pub fn confirm(mut self, similarity: impl Into<Option<f64>>) -> Self {
        self.confirm = similarity.into();
        self
    }

    /// Sets, beside the similarity of [`Cleaner::confirm`], the part of the features of a document
    /// that the kept one must have, above 0 and at most 1; the kept one then has no fewer features.
    /// With 1 all that a removed document says is in the kept one. What is contained in a document
    /// that is not as similar is not found. It needs the features of both, so there can be no store.
    #[must_use]
    pub fn confirm_contains(mut self, part: impl Into<Option<f64>>) -> Self {
        self.confirm_contains = part.into();
        self
    }

    /// Sets by which reasons documents are removed; by all that apply if this is `None`. A document goes
    /// by the first reason that holds: that of one address the best document stays, which alone is
    /// compared with the others; that its text has the same bytes, or the same tokens, as that of a
    /// kept one; that it is near.
    #[must_use]
    pub fn judge(mut self, reasons: impl Into<Option<Reasons>>) -> Self {
        self.judge = reasons.into();
        self
    }

    /// Sets pairs of ids that people have judged. Of new documents that are one, the best by
    /// [`Cleaner::keep`] takes part in what follows, and the others go, as those of one address do. A
    /// document that is judged different from the one that it would go by stays, whatever else it is
    /// near. Pairs with ids that no document has change nothing.
    #[must_use]
    pub fn pairs(mut self, labels: impl Into<Option<LabelFile>>) -> Self {
        self.pairs = labels.into();
        self
    }

    /// Sets what becomes of removed passages in the outputs, where each passage of a text is read as a
    /// document; see [`DocumentOptions::unit`](fpstore_documents::DocumentOptions::unit). Without it
    /// there can be no outputs of passages.
    #[must_use]
    pub fn passages(mut self, fate: impl Into<Option<PassageFate>>) -> Self {
        self.passages = fate.into();
        self
    }

    /// Sets the name of the field that holds the address of a document. Of new documents whose
    /// addresses have one [canonical form](super::canonical_address) the best by [`Cleaner::keep`]
    /// takes part in what follows, and the others go. If it goes itself, because it is near another
    /// one, that is the document that stays instead of all of them. A store knows no addresses.
    #[must_use]
    pub fn url_field(mut self, name: impl Into<Option<String>>) -> Self {
        self.url_field = name.into();
        self
    }

    /// Sets which of near new documents is kept, by one rule or several; the first one by default.
    #[must_use]
    pub fn keep(mut self, rules: impl Into<KeepRules>) -> Self {
        self.keep = rules.into();
        self
    }

    /// Sets the name of the field that says which source a document comes from: losses are counted
    /// by source, and [`KeepRule::Source`](super::KeepRule::Source) prefers one to another. For that
    /// rule it is `source` by default.
    #[must_use]
    pub fn source_field(mut self, name: impl Into<Option<String>>) -> Self {
        self.source_field = name.into();
        self
    }

    /// Sets the largest part of the documents that may be removed. If it is more,
    /// [`Cleaning::run`](super::Cleaning::run) ends with
    /// [`Error::TooMuchLost`](super::Error::TooMuchLost) before outputs are written and the store is
    /// changed; the same settings with another limit go on from there. Nothing is removed with
    /// [`Cleaner::annotate`], so it has no limit.
    #[must_use]
    pub fn max_loss(mut self, limit: impl Into<Option<LossLimit>>) -> Self {
        self.max_loss = limit.into();
        self
    }

    /// Sets whether copies are written even if the disk seems too small for all of them; otherwise
    /// [`Cleaning::run`](super::Cleaning::run) then ends with [`NoSpace`](fpstore::Error::NoSpace)
    /// before the first one. A copy is estimated by the length of its file and the part of all
    /// documents that stays.
    #[must_use]
    pub fn skip_space_check(mut self, skip: bool) -> Self {
        self.skip_space_check = skip;
        self
    }

    /// Sets how many documents of a cluster of near new ones are kept, 1 by default: the one that is
    /// kept in any case, and of those that are near it the best by the rules of [`Cleaner::keep`].
    /// Documents near a stored one are removed as ever.
    #[must_use]
    pub fn per_cluster(mut self, count: u32) -> Self {
        self.per_cluster = count;
        self
    }

    /// Sets how many documents may be left, those without fingerprint among them, which stay in any
    /// case. The bar of near documents is the strictest that leaves no more: a similarity from 1 down
    /// to that of [`Cleaner::confirm`], in hundredths, or a distance from 0 up to [`Cleaner::k`]. It is
    /// one for the whole corpus, and found by halving. Where it leaves fewer, documents come back that
    /// are the least alike to the one that stays, the better ones first, and at most one of equal
    /// documents. What is the same goes in any case, so fewer may be left. If more are left at the last
    /// bar,
    /// [`Cleaning::run`](super::Cleaning::run) ends with
    /// [`Error::TargetNotReached`](super::Error::TargetNotReached).
    #[must_use]
    pub fn target(mut self, count: impl Into<Option<u64>>) -> Self {
        self.target = count.into();
        self
    }

    /// Adds a field of this name to each document that stays: how many documents its cluster had, 1
    /// if it is near no other one. Documents without fingerprint and bad records get null. A cluster
    /// is a document that is kept, with those that are near it and near no better one that is kept.
    #[must_use]
    pub fn cluster_size(mut self, field: impl Into<Option<String>>) -> Self {
        self.cluster_size = field.into();
        self
    }

    /// Keeps all documents, and adds a field of this name to each, which holds the id of the document
    /// that it duplicates, or null.
    #[must_use]
    pub fn annotate(mut self, field: impl Into<Option<String>>) -> Self {
        self.annotate = field.into();
        self
    }

    resource_setters!();

    /// Sets a function that is called with each [`Event`](super::Event), such as bad records that
    /// were skipped.
    #[must_use]
    pub fn listener(mut self, listener: &'a Listener<'a>) -> Self {
        self.listener = Some(listener);
        self
    }

    /// The fields that documents get.
    pub(super) fn new_fields(&self) -> Vec<NewField> {
        let field = |name: &Option<String>, kind| Some(NewField { name: name.clone()?, kind });
        let id = field(&self.annotate, NewFieldKind::Id);
        id.into_iter().chain(field(&self.cluster_size, NewFieldKind::Count)).collect()
    }

    /// The field of sources, if they are asked for.
    pub(super) fn named_source_field(&self) -> Option<&str> {
        self.keep.source_field(self.source_field.as_deref())
    }

    /// The reasons that apply.
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

    /// The field of addresses, if documents are compared by it.
    pub(super) fn judged_url_field(&self) -> Option<&str> {
        self.url_field.as_deref().filter(|_| self.reasons().address)
    }

    /// Whether new documents are compared with one another.
    pub(super) fn is_within(&self) -> bool {
        self.within || self.stored.is_none()
    }
}
