//! A cleaning with all outputs written: lists its documents, and adds kept documents to a store.

use std::path::{Path, PathBuf};

use super::account::Account;
use super::decide::Decisions;
use super::dropped::{Dropped, KeptDocument, OtherIds};
use super::error::{Error, Result};
use super::event::{Event, Listener};
use super::job::Job;
use super::loss::LossLimit;
use super::manifest::{self, Manifest};
use super::overview::Overview;
use super::spool::{Entry, Spools};
use super::survey;
use super::targets::Targets;
use super::work::Work;
use fpstore::rows::{RemovedRow, Side};
use fpstore::{StoreIndex, Writer};
use fpstore_base::watch::Phase;
use fpstore_base::{Fingerprint, Id, IdRef, Width};

/// A cleaning with all outputs written. [`Cleaned::finish`] completes the cleaning.
#[must_use = "the work is not done before finish"]
pub struct Cleaned<'a> {
    pub(super) work: Work<'a>,
    pub(super) job: Job,
    pub(super) targets: Option<Targets>,
    pub(super) writer: Option<Writer>,
    /// The name of the run, which the store records when it adds the documents.
    pub(super) run: String,
    pub(super) spools: Spools,
    pub(super) decisions: Decisions,
    /// See [`Written::of_passages`](super::write::Written::of_passages).
    pub(super) of_passages: (u64, u64),
}

impl Cleaned<'_> {
    /// The width of the fingerprints: 64 bits, or the width of ready fingerprints.
    pub fn width(&self) -> Width {
        self.work.settings.source.width()
    }

    /// The counts of kept and removed documents.
    pub fn account(&self) -> Account {
        let counts = self.spools.counts();
        let is_new = |other: &KeptDocument| matches!(other, KeptDocument::New(_));
        let near_new_count =
            self.decisions.dropped.iter().filter(|it| is_new(&it.other)).count() as u64;
        let removed_count = self.decisions.dropped.len();
        let kept_count = counts.document_count - removed_count;
        let targets = self.targets.as_ref();
        let uncopied_count = targets.map_or(0, |_| self.spools.left_out().len() as u64);
        Account {
            kept_count,
            near_new_count,
            near_stored_count: removed_count - near_new_count,
            spared_count: self.decisions.spared.len(),
            empty_count: counts.empty_count,
            bad_count: counts.bad_count,
            damaged_count: counts.damaged_count,
            changed_count: self.of_passages.0,
            dropped_count: self.of_passages.1,
            added_count: if self.writer.is_some() { kept_count } else { 0 },
            file_count: targets.map_or(0, |it| it.count_without(&self.spools)),
            uncopied_count,
            left_out_count: self.spools.left_out_count(),
            was_added_before: false,
        }
    }

    /// A summary of the removed documents. The documents are counted again, and the beginnings of a
    /// few removed documents are read from their files.
    ///
    /// # Errors
    ///
    /// [`Error::Store`] if the files of the work cannot be read or the observer ends it.
    pub fn overview(&self) -> Result<Overview> {
        survey::overview(&self.work, &self.spools, &self.decisions)
    }

    /// The manifest of the work: its settings, criterion, counts, and the digests of the files read
    /// and written, for which all these files are read again. `lists` are further files written by
    /// the caller; the name `-`, standard output, is skipped.
    ///
    /// # Errors
    ///
    /// [`Error::Store`] if a file cannot be read or the observer ends the work.
    pub fn manifest(&self, overview: &Overview, lists: &[PathBuf]) -> Result<Manifest> {
        let Cleaned { work, targets, .. } = self;
        let is_whole = |number: &usize| !self.spools.leaves_out(*number);
        let inputs = (0..work.files.len()).filter(is_whole);
        let inputs = inputs.filter_map(|number| work.files.get(number, &work.options));
        let inputs: Vec<PathBuf> = inputs.map(|file| file.path().to_path_buf()).collect();
        let copies = targets.iter().flat_map(|targets| {
            let copies = (0..work.files.len()).filter(is_whole);
            let copies = copies.filter_map(|number| targets.copy_of(number));
            copies.chain(targets.kept_files()).map(|it| it.path.to_path_buf())
        });
        let outputs: Vec<PathBuf> = {
            let lists = lists.iter().filter(|path| *path != Path::new("-"));
            copies.chain(lists.cloned()).collect()
        };
        let mut settings = work.describe();
        if let Some(settings) = settings.as_object_mut() {
            // Removes values with a field of their own, and machine-specific values.
            for name in ["version", "recipe", "reading", "files"] {
                settings.remove(name);
            }
            let (id_field, text_field) = work.files.field_names(&work.options);
            let text_name = match work.settings.source.has_texts() {
                true => "text-field",
                false => "fingerprint-field",
            };
            let unit = work.options.passage_unit().map(|unit| unit.to_string());
            let max_loss = work.settings.max_loss.map(LossLimit::part);
            for (name, value) in [
                ("target", work.settings.target.into()),
                ("max-loss", max_loss.into()),
                ("unit", unit.into()),
                ("id-field", id_field.into()),
                (text_name, text_field.into()),
            ] {
                settings.insert(name.into(), value);
            }
        }
        let pairs = work.settings.pairs.as_ref().and_then(|pairs| pairs.path());
        let pairs: Vec<PathBuf> = pairs.into_iter().map(Path::to_path_buf).collect();
        let watch = work.watch(Phase::Verify, None);
        let threads = work.settings.resources.threads;
        Ok(Manifest {
            fpstore: env!("CARGO_PKG_VERSION"),
            recipe: work.settings.source.recipe().to_string(),
            judgement: overview.judgement.to_string(),
            settings,
            counts: manifest::counts(&self.account(), overview),
            losses: manifest::losses(overview),
            inputs: manifest::digest_files(&inputs, threads, &watch)?,
            pairs: manifest::digest_files(&pairs, threads, &watch)?.pop(),
            outputs: manifest::digest_files(&outputs, threads, &watch)?,
        })
    }

    /// Calls `each` with each removed or annotated document, in input order.
    ///
    /// # Errors
    ///
    /// [`Error::Store`] if the files of the work cannot be read or the observer ends it, and any error
    /// from `each`.
    pub fn for_each_removed<E: From<Error>>(
        &self,
        mut each: impl FnMut(RemovedRow<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        let others = OtherIds::read(&self.spools, &self.decisions.dropped)?;
        let width = self.width();
        self.for_each(|entry, dropped| match dropped {
            None => Ok(()),
            Some(dropped) => each(removed_row(entry, dropped, &others, width)),
        })
    }

    /// Calls `each` with each document that has a fingerprint, in input order: whether it is
    /// removed, and because of which other document. Takes 8 bytes of memory for each document.
    ///
    /// # Errors
    ///
    /// The same as [`Cleaned::for_each_removed`].
    pub fn for_each_document<E: From<Error>>(
        &self,
        mut each: impl FnMut(DecidedDocument<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut records = Vec::with_capacity(self.spools.len());
        self.spools.each(|_, entry| {
            records.push(entry.record);
            Ok(())
        })?;
        let others = OtherIds::read(&self.spools, &self.decisions.dropped)?;
        let width = self.width();
        self.for_each(|entry, dropped| {
            let removed = dropped.map(|dropped| removed_row(entry, dropped, &others, width));
            let other_record = match dropped.map(|dropped| &dropped.other) {
                Some(KeptDocument::New(number)) => records.get(number.index()).copied(),
                _ => None,
            };
            each(DecidedDocument {
                file: entry.file,
                record: entry.record,
                fingerprint: entry.fingerprint,
                removed,
                other_record,
            })
        })
    }

    /// Calls `each` with the fingerprint and the id of each kept document, in input order.
    ///
    /// # Errors
    ///
    /// The same as [`Cleaned::for_each_removed`].
    pub fn for_each_kept<E: From<Error>>(
        &self,
        mut each: impl FnMut(Fingerprint, IdRef<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        self.for_each(|entry, dropped| match dropped {
            None => each(entry.fingerprint, entry.id),
            Some(_) => Ok(()),
        })
    }

    /// Calls `each` with each document in input order, and with the reason if it is dropped.
    fn for_each<E: From<Error>>(
        &self,
        mut each: impl FnMut(&Entry<'_>, Option<&Dropped>) -> Result<(), E>,
    ) -> Result<(), E> {
        let watch = self.work.watch(Phase::Publish, None);
        self.spools.try_each(|number, entry| {
            watch.tick(1).map_err(Error::from)?;
            each(&entry, self.decisions.dropped.get(number))
        })
    }

    /// Checks that each document in the spools is kept, or dropped because of a kept or stored
    /// document.
    pub(super) fn check_sums(&self) -> Result<()> {
        let mut count = 0;
        self.spools.each(|number, _| {
            count += 1;
            let other = self.decisions.dropped.get(number).map(|dropped| &dropped.other);
            match other {
                Some(KeptDocument::New(other)) if self.decisions.dropped.get(*other).is_some() => {
                    let number = number.0;
                    Err(Error::refused(format!(
                        "document {number} was removed because of a removed \
                                                document"
                    )))
                }
                _ => Ok(()),
            }
        })?;
        let account = self.account();
        if count != account.document_count() {
            let reason = format!(
                "{count} documents were read, but decisions were made for {}",
                account.document_count()
            );
            return Err(Error::refused(reason));
        }
        Ok(())
    }

    /// Adds the kept documents to the store if the settings require it, and ends the work.
    /// Documents of files that could not be copied are not added.
    ///
    /// # Errors
    ///
    /// [`Error::Store`] if adding fails. A later run with the same settings resumes the work.
    pub fn finish(self) -> Result<Account> {
        let account = self.account();
        let (work, addition) = self.split();
        addition.commit(&|event| work.tell(event)).map(|()| account)
    }

    /// Returns the remaining step, the addition to the store, so that the caller can first write an
    /// output of its own. The store is locked until the [`Addition`] is committed or dropped.
    pub fn into_addition(self) -> Addition {
        self.split().1
    }
}

impl<'a> Cleaned<'a> {
    fn split(self) -> (Work<'a>, Addition) {
        let Cleaned { work, job, writer, run, spools, decisions, .. } = self;
        if writer.is_some() {
            work.steps.begin_last();
        }
        (work, Addition { job, writer, run, spools, decisions })
    }
}

/// The addition of the kept documents to the store: does nothing before [`Addition::commit`].
#[must_use = "nothing is added before commit"]
pub struct Addition {
    job: Job,
    writer: Option<Writer>,
    run: String,
    spools: Spools,
    decisions: Decisions,
}

impl Addition {
    /// Adds the kept documents to the store if the settings require it, and ends the work. Calls
    /// `tell` with events that occur after the addition took effect.
    ///
    /// # Errors
    ///
    /// [`Error::Store`] if adding fails. A later run with the same settings resumes the work.
    pub fn commit(mut self, tell: &Listener<'_>) -> Result<()> {
        if let Some(writer) = self.writer.take() {
            self.add_to(writer, tell)?;
        }
        // The cleaning is complete: a failure to remove its folder is only reported.
        if let Err(error) = self.job.finish() {
            tell(Event::NotRemoved(&error));
        }
        Ok(())
    }

    fn add_to(&self, mut writer: Writer, tell: &Listener<'_>) -> Result<()> {
        // An earlier, interrupted run of this job may already have added the documents.
        if writer.store().has_run(&self.run) {
            return Ok(());
        }
        self.spools.each(|number, entry| {
            if self.decisions.dropped.get(number).is_none() {
                writer.push_sketched(entry.fingerprint, entry.id, entry.sketch)?;
            }
            Ok(())
        })?;
        match writer.finish() {
            // The documents are in the store, so the error is only reported: another attempt would
            // add them again.
            Err(unmerged @ fpstore::Error::Unmerged { .. }) => {
                tell(Event::Unmerged(&unmerged));
                Ok(())
            }
            finished => Ok(finished.map(drop)?),
        }
    }
}

fn removed_row<'a>(
    entry: &Entry<'a>,
    dropped: &'a Dropped,
    others: &'a OtherIds,
    width: Width,
) -> RemovedRow<'a> {
    RemovedRow {
        fingerprint: width.hex(entry.fingerprint),
        other: width.hex(dropped.other_fingerprint),
        distance: entry.fingerprint.distance(dropped.other_fingerprint),
        similarity: dropped.similarity,
        id: Some(entry.id),
        other_id: others.get(dropped).map(Id::as_ref),
        side: match dropped.other {
            KeptDocument::Stored(..) => Side::Stored,
            KeptDocument::New(_) => Side::New,
        },
        reason: dropped.reason,
        other_store: match dropped.other {
            KeptDocument::Stored(_, store) => store,
            KeptDocument::New(_) => StoreIndex::default(),
        },
        other_store_name: None,
    }
}

/// A document with a fingerprint, and whether it is kept.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct DecidedDocument<'a> {
    /// The number of the document's file among all input files.
    pub file: u32,
    /// The number of the document's line, row or record in the file, numbered as in reports of bad
    /// records; 0 if the file is a single document.
    pub record: u64,
    /// The fingerprint of the document.
    pub fingerprint: Fingerprint,
    /// If the document is removed or annotated: the reason and the kept document.
    pub removed: Option<RemovedRow<'a>>,
    /// If the document is removed because of another new document: the record number of that
    /// document.
    pub other_record: Option<u64>,
}
