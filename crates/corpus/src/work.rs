//! A cleaning in progress: its settings, its files, and the compared store.

use std::ops::Range;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use fpstore_documents::{DocumentFile, DocumentFiles, DocumentOptions, NewField};

use super::error::{Error, Result};
use super::event::Event;
use super::judgement::Judgement;
use super::options::PER_CLUSTER;
use super::other_fields::OtherFields;
use super::passage_fate::PassageFate;
use super::reasons::Reasons;
use super::settings::Cleaner;
use super::targets::Originals;
use fpstore::Store;
use fpstore::join::JoinOptions;
use fpstore_base::labels::{Label, LabelFile};
use fpstore_base::read_inputs::stamp_of;
use fpstore_base::watch::{Phase, Steps, Watch};
use fpstore_disk::Digest;

/// A batch of files is full at this many bytes or files. After a crash, at most one batch is read
/// again.
const BATCH_LEN: u64 = 64 << 20;
// Few files in tests, so that small corpora have several batches.
const BATCH_COUNT: usize = if cfg!(test) { 2 } else { 4096 };

/// The numbers of the steps; a cleaning without an output has no step [`WRITE`].
pub(super) const READ: u32 = 1;
pub(super) const DECIDE: u32 = 2;
pub(super) const WRITE: u32 = 3;
// Adding documents to a store is the last step: its number is the number of all steps.

/// The values that all steps of a cleaning share.
pub(super) struct Work<'a> {
    pub(super) settings: Cleaner<'a>,
    /// The options for reading the documents.
    pub(super) options: DocumentOptions,
    /// The fields read in addition to ids and texts.
    pub(super) fields: OtherFields,
    pub(super) files: DocumentFiles,
    /// The ranges of files that form batches: after a crash a whole batch is read again, and one
    /// thread copies a whole batch.
    pub(super) batches: Vec<Range<usize>>,
    /// The snapshot used for comparison.
    pub(super) stored: Option<Store>,
    /// The greatest distance of near-duplicates, or of documents whose sketches are compared.
    pub(super) k: u32,
    /// The reasons for which documents are removed.
    pub(super) reasons: Reasons,
    /// The directory for temporary files.
    pub(super) temp_dir: PathBuf,
    /// The progress in steps; see [`READ`] and the following constants.
    pub(super) steps: Steps,
}

impl<'a> Work<'a> {
    pub(super) fn new(mut settings: Cleaner<'a>) -> Result<Self> {
        let (confirm, k) = settings.near()?;
        settings.confirm = confirm;
        settings.check()?;
        let (is_written, is_added) = (settings.output.is_some(), settings.add.is_some());
        let steps = Steps::new(DECIDE + u32::from(is_written) + u32::from(is_added));
        let of_store = settings.add.as_mut().map(|add| &mut add.resources);
        for resources in std::iter::once(&mut settings.resources).chain(of_store) {
            resources.observer = steps.observed(resources.observer.take());
        }
        let sketch_len = settings.useful_sketch_len();
        settings.source = settings.source.sketched(sketch_len);
        let fields = OtherFields::of(&settings);
        let reasons = settings.reasons();
        let options = settings
            .source
            .options()
            .clone()
            .fields(fields.names().to_vec())
            .new_fields(settings.new_fields().into_iter().map(|field| field.name).collect())
            .whole_files(settings.output.is_some())
            .digests(reasons.is_exact())
            .observer(settings.resources.observer.clone());
        let files = DocumentFiles::find(&settings.paths, &options)?;
        Ok(Work {
            batches: batches(&files, &options),
            stored: settings.against.clone(),
            k,
            temp_dir: settings.resources.temp_dir.clone().unwrap_or_else(std::env::temp_dir),
            options,
            reasons,
            fields,
            files,
            steps,
            settings,
        })
    }

    /// The criterion for near-duplicates, if `bar` is the least similarity or greatest distance.
    pub(super) fn judgement(&self, bar: f64) -> Judgement {
        if !self.reasons.near {
            return Judgement::Exact;
        }
        let (similarity, k) = (bar, self.k);
        match (self.settings.confirm, &self.stored) {
            (None, _) => Judgement::Fingerprints { k: bar as u32 },
            (Some(_), None) => {
                let contained = self.settings.confirm_contains;
                Judgement::Features { similarity, contained }
            }
            (Some(_), Some(_)) => Judgement::Sketches { similarity, k },
        }
    }

    pub(super) fn join_options(&self, k: u32) -> JoinOptions {
        JoinOptions::new(k)
            .resources(self.settings.resources.clone())
            .temp_dir(self.temp_dir.clone())
    }

    pub(super) fn watch(&self, phase: Phase, total: Option<u64>) -> Watch {
        Watch::new(self.settings.resources.observer.clone(), phase, total)
    }

    /// Whether the features of all documents are kept, to compare the documents with one another.
    pub(super) fn keeps_features(&self) -> bool {
        self.settings.confirm.is_some() && self.stored.is_none()
    }

    /// Whether files are copied; the documents of a file that cannot be copied are then skipped.
    pub(super) fn copies_files(&self) -> bool {
        self.settings.output.is_some()
    }

    pub(super) fn tell(&self, event: Event<'_>) {
        if let Some(listener) = self.settings.listener {
            listener(event);
        }
    }

    /// The files to copy, with these new fields.
    pub(super) fn originals<'b>(&'b self, new_fields: &'b [NewField]) -> Originals<'b> {
        let (files, options, paths) = (&self.files, &self.options, &self.settings.paths);
        let passages = self.settings.passages;
        Originals { files, options, paths, new_fields, passages }
    }

    /// The input files, in order.
    pub(super) fn each_file(&self) -> impl Iterator<Item = DocumentFile<'_>> {
        self.originals(&[]).each_file()
    }

    /// The id of the compared store; empty without a store.
    pub(super) fn store_id(&self) -> String {
        let id = |stored: &Store| format!("{:032x}", u128::from_be_bytes(stored.info().store_id));
        self.stored.as_ref().map(id).unwrap_or_default()
    }

    /// All settings that affect the result: a cleaning is resumed only if they are unchanged.
    pub(super) fn describe(&self) -> serde_json::Value {
        let Cleaner { source, confirm, keep, annotate, add, .. } = &self.settings;
        let files: Vec<_> = self
            .each_file()
            .map(|file| {
                let since = file.modified().and_then(|at| at.duration_since(UNIX_EPOCH).ok());
                let nanos = since.map(|since| since.as_nanos().to_string());
                let stamp = file.file_len().and_then(|_| stamp_of(file.path()));
                (file.name().to_string(), file.file_len(), nanos, stamp)
            })
            .collect();
        let reading = source.options().clone().threads(0).observer(None);
        serde_json::json!({
            "version": env!("CARGO_PKG_VERSION"),
            "recipe": source.recipe().to_string(),
            "reading": format!("{reading:?}"),
            "k": self.k,
            "confirm": confirm,
            "judge": self.reasons.to_string(),
            "pairs": self.settings.pairs.as_ref().map(digest_of_pairs),
            "url-field": self.settings.judged_url_field(),
            "confirm-contains": self.settings.confirm_contains,
            "keep": keep.to_string(),
            "source-field": self.settings.named_source_field(),
            "per-cluster": self.settings.per_cluster,
            "annotate": annotate,
            "cluster-size": self.settings.cluster_size,
            "passages": self.settings.passages.map(|fate| fate.to_string()),
            "within": self.settings.is_within(),
            "against": self.store_id(),
            "add": add.is_some(),
            "run": add.as_ref().and_then(|options| options.run.clone()),
            "label": add.as_ref().map_or("", |options| &options.label),
            "files": files,
        })
    }
}

impl Cleaner<'_> {
    /// Refuses settings that cannot be combined, before any work is done.
    fn check(&self) -> Result<()> {
        if let Some(similarity) = self.confirm {
            let is_bound = similarity > 0.0 && similarity <= 1.0;
            if !(is_bound || similarity == 0.0 && self.confirm_contains.is_some()) {
                return Err(Error::refused(format!(
                    "similarity is {similarity}, expected a number above 0 and at most 1"
                )));
            }
            self.source.text_hasher()?;
            if self.k.is_some() && self.against.is_none() {
                return Err(Error::refused(
                    "similarities are computed from all features, so a distance has no effect",
                ));
            }
        }
        if let Some(part) = self.confirm_contains {
            if !(part > 0.0 && part <= 1.0) {
                return Err(Error::refused(format!(
                    "the share of contained features is {part}, expected a number above 0 and at \
                     most 1"
                )));
            }
            if self.confirm.is_none() {
                return Err(Error::refused(
                    "containment is computed from features, but documents are compared by the \
                     distance of fingerprints",
                ));
            }
            if self.against.is_some() {
                return Err(Error::refused(
                    "a store has no features of its documents, so containment is unknown; compare \
                     without the store",
                ));
            }
        }
        self.check_reasons()?;
        if self.source.options().passage_unit().is_some() {
            if self.output.is_some() && self.passages.is_none() {
                return Err(Error::refused(
                    "passages are parts of records; choose whether removed passages are cut out or \
                     annotated, or their documents dropped, or list them",
                ));
            }
            if self.passages.is_some() && (self.annotate.is_some() || self.cluster_size.is_some()) {
                return Err(Error::refused(
                    "new fields can be added to documents, not to passages",
                ));
            }
            if self.add.is_some() && self.passages.is_some_and(|fate| fate != PassageFate::Cut) {
                return Err(Error::refused(
                    "the store and the outputs would have different passages; cut the removed \
                     passages out, or do not add to the store",
                ));
            }
        }
        if self.passages.is_some()
            && (self.source.options().passage_unit().is_none() || self.output.is_none())
        {
            return Err(Error::refused(
                "a rule for removed passages needs an output and a definition of passages; name \
                 both",
            ));
        }
        PER_CLUSTER.check(self.per_cluster)?;
        if self.target.is_some() && self.per_cluster > 1 {
            return Err(Error::refused(
                "a target can be reached only for one document per cluster; leave out the target, or \
                 keep one per cluster",
            ));
        }
        if self.target.is_some() && self.pairs.is_some() {
            return Err(Error::refused(
                "the target is reached by changing the threshold for near-duplicates, which does \
                 not change judged pairs; leave out one of these",
            ));
        }
        if self.pairs.is_some() && !self.is_within() {
            return Err(Error::refused(
                "judged pairs apply only if new documents are compared with one another; enable \
                 that comparison, or leave out the pairs",
            ));
        }
        if self.target.is_some() && !self.reasons().near {
            return Err(Error::refused(
                "the target is reached by changing the threshold for near-duplicates; judge \
                 near-duplicates, too",
            ));
        }
        if self.annotate.is_some() && self.annotate == self.cluster_size {
            return Err(Error::refused("two new fields have the same name"));
        }
        if self.max_loss.is_some() && self.annotate.is_some() {
            return Err(Error::refused(
                "annotated documents are kept, so a limit on the loss has no \
                                       effect",
            ));
        }
        if self.add.is_some() && self.against.is_none() {
            return Err(Error::refused(
                "documents can be added only to a store, and no store is \
                                       given",
            ));
        }
        if let Some(stored) = &self.against {
            if self.add.is_some() && stored.is_united() {
                return Err(Error::refused(
                    "documents can be added to one store only, and several are given",
                ));
            }
            let given = self.source.recipe();
            if let Some(store) = stored.recipe().filter(|store| *store != given) {
                return Err(fpstore::Error::RecipeMismatch { store, given }.into());
            }
            if self.confirm.is_some() && stored.sketch_len() == 0 {
                return Err(Error::refused(format!(
                    "{} keeps no sketches of its documents, so similarities are unknown",
                    {
                        let paths = stored.paths();
                        let names: Vec<String> =
                            paths.iter().map(|path| path.display().to_string()).collect();
                        names.join(", ")
                    }
                )));
            }
        }
        match self.paths.iter().find(|path| self.output.is_some() && is_pipe(path)) {
            Some(pipe) => Err(Error::refused(format!(
                "copying reads the documents a second time, and {} can be read only once; write it \
                 to a file first",
                pipe.display()
            ))),
            None => Ok(()),
        }
    }

    /// Refuses reasons that cannot be checked with the other settings.
    fn check_reasons(&self) -> Result<()> {
        let applied = self.reasons();
        let asked = self.judge.unwrap_or(applied);
        let refused = if asked.address && self.url_field.is_none() {
            "documents are compared by address, but no field of addresses is named"
        } else if self.url_field.is_some() && !asked.address {
            "a field of addresses is named, but documents are not compared by address"
        } else if asked.address && !self.is_within() {
            "a store has no addresses; compare the new documents with one another, too"
        } else if (asked.bytes, asked.text) != (applied.bytes, applied.text) {
            "there are no texts, so equal texts cannot be found"
        } else if !asked.near && self.against.is_some() {
            "a store has only fingerprints, so documents can be compared with it only for \
             near-duplicates"
        } else if !asked.near && self.confirm.is_some() {
            "the similarity decides on near-duplicates; judge near-duplicates, too"
        } else if !asked.near && self.k.is_some() {
            "the distance decides on near-duplicates; judge near-duplicates, too"
        } else {
            return Ok(());
        };
        Err(Error::refused(refused))
    }

    /// The length of the sketches to compute, 0 if sketches are not needed. They take time, and are
    /// needed only for comparison with stored sketches and for documents added to a store.
    fn useful_sketch_len(&self) -> u8 {
        let has_use = self.add.is_some() || self.confirm.is_some();
        let stored = self.against.as_ref().filter(|_| has_use && self.source.has_texts());
        stored.map_or(0, Store::sketch_len)
    }
}

/// A digest of the judged pairs: a job is resumed only if they are unchanged.
fn digest_of_pairs(labels: &LabelFile) -> String {
    let line = |(one, other, label): (&str, &str, Label)| format!("{one}\t{other}\t{label:?}\n");
    let text: String = labels.rows().map(line).collect();
    Digest::of(text.as_bytes()).to_string()
}

/// Whether a path can be read only once, such as standard input or a pipe.
pub(super) fn is_pipe(path: &Path) -> bool {
    path == Path::new("-") || path.metadata().is_ok_and(|it| !it.is_file() && !it.is_dir())
}

/// Divides the files into batches.
fn batches(files: &DocumentFiles, options: &DocumentOptions) -> Vec<Range<usize>> {
    let mut batches: Vec<Range<usize>> = Vec::new();
    let mut len = 0;
    for number in 0..files.len() {
        match batches.last_mut() {
            Some(batch) if len < BATCH_LEN && batch.len() < BATCH_COUNT => batch.end += 1,
            _ => {
                batches.push(number..number + 1);
                len = 0;
            }
        }
        let file = files.get(number, options);
        len += file.and_then(|file| file.file_len()).unwrap_or(0);
    }
    batches
}
