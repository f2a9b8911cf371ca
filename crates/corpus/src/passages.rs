//! Copies documents without their removed passages. The files are read once more to find the byte
//! ranges of the passages.

use fpstore_base::IoError;
use std::collections::{HashMap, HashSet};
use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use fpstore_base::IdRef;
use fpstore_base::source::Compression;
use fpstore_base::watch::Watch;
use fpstore_documents::{
    Decided, DocumentOptions, DocumentPlace, Error as TextError, PlaceFilter, RecordFate,
};
use fpstore_text::{PassageUnit, passages};

use super::compressed::Compressed;
use super::copied::{NewOutput, OutputPath, create};
use super::dropped::DroppedList;
use super::error::{Error, Result};
use super::passage_fate::{PassageFate, PassagePlace, cuts, removed_part};
use super::spool::Spools;
use super::work::Work;

/// The name of the attribute of removed passages.
const ATTRIBUTE: &str = "fpstore_near";

/// A removed passage of a document.
#[derive(Clone, Copy)]
struct RemovedPassage {
    /// The position of the passage among the passages of its document.
    position: usize,
    /// See [`Dropped::likeness`](super::dropped::Dropped::likeness).
    likeness: f64,
    /// The digest of the record that contains the document.
    record_digest: Option<u64>,
}

/// For each record number of a file, the removed passages of the document.
type OfFile = HashMap<u64, Vec<RemovedPassage>>;

/// For each file number of a batch, the removed passages of the file.
#[derive(Default)]
pub(super) struct RemovedPassages(HashMap<usize, OfFile>);

/// Copies documents with removed passages.
pub(super) struct PassageCopier<'a> {
    work: &'a Work<'a>,
    unit: PassageUnit,
    fate: PassageFate,
    options: DocumentOptions,
    changed_count: AtomicU64,
    dropped_count: AtomicU64,
}

impl<'a> PassageCopier<'a> {
    /// The copier for these settings; `None` if whole documents are cleaned.
    pub(super) fn of(work: &'a Work<'a>) -> Option<Self> {
        let (unit, fate) = (work.options.passage_unit()?, work.settings.passages?);
        // Several batches are copied on several threads, so each file is then read on one thread.
        // Bad records were reported in step 1.
        let is_spread = work.batches.len() > 1;
        let options = work.options.clone().unit(None).fields(Vec::new()).observer(None);
        let options = options.bad_records(None).threads(is_spread.then_some(1));
        let (changed_count, dropped_count) = (AtomicU64::new(0), AtomicU64::new(0));
        Some(PassageCopier { work, unit, fate, options, changed_count, dropped_count })
    }

    /// Whether attributes are written in place of copies.
    pub(super) fn annotates(&self) -> bool {
        self.fate == PassageFate::Annotate
    }

    /// The numbers of documents that were changed or annotated, and of documents removed as a
    /// whole.
    pub(super) fn counts(&self) -> (u64, u64) {
        (self.changed_count.load(Ordering::Relaxed), self.dropped_count.load(Ordering::Relaxed))
    }

    /// Reads the removed passages of a batch from its spool.
    pub(super) fn removed(
        &self,
        spools: &Spools,
        dropped: &DroppedList,
        batch: usize,
        watch: &Watch,
    ) -> Result<RemovedPassages> {
        let mut all: HashMap<usize, OfFile> = HashMap::new();
        spools.each_of(batch, |number, entry| {
            watch.look().map_err(Error::from)?;
            if let Some(dropped) = dropped.get(number) {
                let position =
                    position_of(entry.id).ok_or_else(|| self.changed(entry.file as usize))?;
                let likeness = dropped.likeness(entry.fingerprint);
                let record_digest = entry.record_digest;
                let records = all.entry(entry.file as usize).or_default();
                let removed = records.entry(entry.record).or_default();
                removed.push(RemovedPassage { position, likeness, record_digest });
            }
            Ok::<(), Error>(())
        })?;
        Ok(RemovedPassages(all))
    }

    /// Decides for each document with removed passages, in file `number`, whether it is dropped or
    /// cut; sorted by record number. Documents that are neither are omitted.
    pub(super) fn decide(&self, number: usize, removed: &RemovedPassages) -> Result<Vec<Decided>> {
        let mut decided = Vec::new();
        let Some(of_file) = removed.0.get(&number) else { return Ok(decided) };
        let records: HashSet<u64> = of_file.keys().copied().collect();
        let wanted: Arc<PlaceFilter> = Arc::new(move |place| records.contains(&place.record()));
        self.each_document(number, of_file, Some(wanted), |place, _, removed, places| {
            let (record, digest) = (place.record(), place.digest);
            let removed: Vec<usize> = removed.iter().map(|it| it.position).collect();
            if removed.last().is_some_and(|&last| last >= places.len()) {
                return Err(self.changed(number));
            }
            let fate = match self.fate {
                PassageFate::Drop(part) if removed_part(&places, &removed) >= part => {
                    RecordFate::Drop
                }
                PassageFate::Drop(_) | PassageFate::Annotate => return Ok(()),
                PassageFate::Cut => {
                    cuts(&places, &removed).map_or(RecordFate::Drop, RecordFate::Cut)
                }
            };
            let count = match fate {
                RecordFate::Drop => &self.dropped_count,
                _ => &self.changed_count,
            };
            count.fetch_add(1, Ordering::Relaxed);
            decided.push(Decided { record, digest, fate });
            Ok(())
        })?;
        Ok(decided)
    }

    /// Writes the attributes of the documents of a file, one line for each document in order, to a
    /// new file for `to`.
    pub(super) fn annotate(
        &self,
        number: usize,
        removed: &RemovedPassages,
        (to, compression): (OutputPath<'_>, Option<Compression>),
    ) -> Result<NewOutput> {
        let cannot = || IoError::of("write", to.path);
        let none = OfFile::new();
        let of_file = removed.0.get(&number).unwrap_or(&none);
        let (new, buffer) = create(to)?;
        let mut out = Compressed::new(compression, false, buffer).map_err(cannot())?;
        self.each_document(number, of_file, None, |_, id, removed, places| {
            if !removed.is_empty() {
                self.changed_count.fetch_add(1, Ordering::Relaxed);
            }
            let spans = removed.iter().map(|it| {
                let chars = &places.get(it.position)?.chars;
                Some((chars.start, chars.end, it.likeness))
            });
            let spans: Option<Vec<(usize, usize, f64)>> = spans.collect();
            let spans = spans.ok_or_else(|| self.changed(number))?;
            let line = serde_json::json!({ "id": id, "attributes": { ATTRIBUTE: spans } });
            Ok(writeln!(out, "{line}").map_err(cannot())?)
        })?;
        let mut out = out.finish().map_err(cannot())?;
        out.flush().map_err(cannot())?;
        Ok((new, out))
    }

    /// Calls `each` for each wanted document of a file, with its record position, its id, its
    /// removed passages, and the positions of all its passages.
    fn each_document(
        &self,
        number: usize,
        of_file: &OfFile,
        wanted: Option<Arc<PlaceFilter>>,
        mut each: impl FnMut(
            DocumentPlace,
            IdRef<'_>,
            &[RemovedPassage],
            Vec<PassagePlace>,
        ) -> Result<()>,
    ) -> Result<()> {
        let files = self.work.files.part(number..number + 1);
        let unit = self.unit;
        let make_map = move || {
            move |text: &str| -> Vec<PassagePlace> {
                passages(text, unit).map(|passage| PassagePlace::of(&passage)).collect()
            }
        };
        let mut met_count = 0;
        let summary = files.map_texts(&self.options, wanted, make_map, |place, id, places| {
            let removed = of_file.get(&place.record()).map_or(&[][..], Vec::as_slice);
            met_count += usize::from(!removed.is_empty());
            match removed.iter().all(|it| it.record_digest == place.digest) {
                true => each(place, id, removed, places),
                false => Err(self.changed(number)),
            }
        })?;
        // Step 1 read the file to its end. If this fails now, the file was changed.
        match summary.unread.is_empty() && met_count == of_file.len() {
            true => Ok(()),
            false => Err(self.changed(number)),
        }
    }

    fn changed(&self, number: usize) -> Error {
        let file = self.work.files.get(number, &self.options);
        let name = file.map_or(String::new(), |file| file.name().into());
        let reason = "it was changed while it was cleaned; give the same command again".into();
        TextError::Changed { name, reason }.into()
    }
}

/// The position of a passage in its document, parsed from its id.
pub(super) fn position_of(id: IdRef<'_>) -> Option<usize> {
    let IdRef::Text(id) = id else { return None };
    id.rsplit_once('#')?.1.parse::<usize>().ok()?.checked_sub(1)
}
