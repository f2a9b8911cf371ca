//! A cleaning, step by step.
//!
//! The work has four steps, and each leaves files in a [`Job`], so that the same settings go on where
//! earlier work was stopped:
//!
//! 1. `hash` reads the documents, some files at a time, and keeps a spool of each such batch: places,
//!    fingerprints and ids.
//! 2. `decide` finds the near documents, and decides which are dropped and why.
//! 3. `write` copies the files without the dropped documents; each appears when it is complete.
//! 4. [`Cleaned`] lists the dropped documents and the others, and adds the others to a store.

use std::path::{Path, PathBuf};

use super::account::Account;
use super::decide::Decisions;
use super::decided::DecidedDocument;
use super::dropped::{Dropped, Other};
use super::error::{Error, Result};
use super::event::Event;
use super::job::{DECISIONS, Job};
use super::loss::{LossLimit, largest_above};
use super::manifest::{self, Manifest};
use super::other_ids::OtherIds;
use super::overview::Overview;
use super::settings::Cleaner;
use super::spool::{Entry, Spools};
use super::targets::Targets;
use super::work::{DECIDE, READ, WRITE, Work};
use super::write::{self, Written};
use super::{decide, hash, room, survey};
use crate::base::section::StoreIndex;
use crate::store::rows::{RemovedRow, Side};
use crate::writing::writer::Writer;
use fpstore_base::watch::Phase;
use fpstore_base::{Fingerprint, Id, IdRef, Width};

impl<'a> Cleaner<'a> {
    /// Does all the work: [`Cleaner::begin`], [`Cleaning::run`] and [`Cleaned::finish`].
    ///
    /// # Errors
    ///
    /// As these.
    pub fn run(self) -> Result<Account> {
        match self.begin()? {
            Some(cleaning) => cleaning.run()?.finish(),
            None => Ok(Account { was_added_before: true, ..Account::default() }),
        }
    }

    /// Checks the settings, finds the files, locks the store if documents are added, and begins the
    /// work or goes on with it. `None` if the store has added the documents of the same run before, so
    /// that nothing is to be done.
    ///
    /// # Errors
    ///
    /// * [`Error::Store`] with [`InvalidOptions`](crate::Error::InvalidOptions) if settings do not
    ///   fit, an output would overwrite an input, or an input can be read only once; and if the store
    ///   is locked or has another recipe.
    /// * [`Error::Text`] if files cannot be found or copied.
    /// * [`Error::Exists`], [`Error::Ended`], [`Error::InUse`] and [`Error::Unfinished`] of the output.
    pub fn begin(self) -> Result<Option<Cleaning<'a>>> {
        let mut work = Work::new(self)?;
        let Cleaner { output, replace, add, resources, .. } = &work.settings;
        let new_fields = work.settings.new_fields();
        let originals = work.originals(&new_fields);
        let targets =
            output.as_deref().map(|output| Targets::new(&originals, output)).transpose()?;
        let run = add.as_ref().and_then(|options| options.run.clone());
        let is_known = |run: &str| work.stored.as_ref().is_some_and(|it| it.has_run(run));
        let job = match &targets {
            Some(targets) => {
                // With the same name of the run it is told below that nothing is to be done.
                let has_added = |name: &str| run.as_deref() != Some(name) && is_known(name);
                Job::open(&targets.job_folder(), &work.describe(), *replace, has_added)?
            }
            None => Job::scratch(&work.temp_dir)?,
        };
        if let Some(targets) = targets.as_ref().filter(|_| !job.is_resumed()) {
            // A job that has not begun is none.
            if run.as_deref().is_some_and(is_known) {
                return job.finish().map(|()| None);
            }
            if !replace {
                targets.check_free(add.is_some()).map_err(|exists| {
                    job.give_up();
                    match exists {
                        Error::Exists { path, .. } if job.has_ended() => Error::Ended { path },
                        exists => exists,
                    }
                })?;
            }
        }
        let run = run.unwrap_or_else(|| job.run().into());
        let temp_dir = resources.temp_dir.clone().unwrap_or_else(|| job.folder().into());
        // The lock is taken before the store is read, so that no other process adds the same records.
        let writer = match (add, &work.stored) {
            (Some(options), Some(stored)) => {
                let recipe = work.settings.source.recipe();
                let options = options.clone().run(run.clone()).recipe(recipe);
                Some(Writer::with_options(stored.info().path, options)?)
            }
            _ => None,
        };
        if let Some(writer) = &writer {
            work.stored = Some(writer.store().clone());
        }
        work.temp_dir = temp_dir;
        Ok(Some(Cleaning { work, job, targets, writer, run }))
    }
}

/// A cleaning that has begun.
pub struct Cleaning<'a> {
    pub(super) work: Work<'a>,
    job: Job,
    targets: Option<Targets>,
    writer: Option<Writer>,
    /// The name under which the store remembers that it has added the documents.
    run: String,
}

impl<'a> Cleaning<'a> {
    /// Whether earlier work goes on. Its outputs may be there.
    pub fn is_resumed(&self) -> bool {
        self.job.is_resumed()
    }

    /// Removes the folder of the work if nothing is done yet; for a caller that cannot go on with it.
    pub fn give_up(&self) {
        self.job.give_up();
    }

    /// Reads the documents, decides which are removed, and writes the outputs.
    ///
    /// # Errors
    ///
    /// * [`Error::TooMuchLost`] if more is removed than [`Cleaner::max_loss`] allows.
    /// * [`Error::Text`] if documents cannot be read or copied.
    /// * [`Error::Store`] from joins, if an output cannot be written, or if the observer ends the
    ///   work. The same settings then go on from there.
    pub fn run(self) -> Result<Cleaned<'a>> {
        let Cleaning { work, job, targets, run, .. } = &self;
        let was_added = job.is_resumed() && work.stored.as_ref().is_some_and(|it| it.has_run(run));
        let mut is_first = true;
        loop {
            work.steps.begin(READ);
            let spools = hash::run(work, job).inspect_err(|_| job.give_up())?;
            // Work that has come to decisions has told them.
            let is_told = !std::mem::take(&mut is_first) || job.has(DECISIONS);
            if !is_told && spools.repeated_ids().count > 0 {
                work.tell(Event::RepeatedIds(spools.repeated_ids()));
            }
            // Settings that do not fit the documents are given again with others, which could not go on
            // from here.
            work.steps.begin(DECIDE);
            let decisions = check_fields(work, &spools)
                .and_then(|()| decide::run(work, job, &spools, was_added))
                .inspect_err(|error| {
                    if error.is_refusal() && !was_added {
                        job.drop_all();
                    }
                })?;
            // What the store has added is decided.
            if let Some(limit) = work.settings.max_loss.filter(|_| !was_added) {
                check_loss(work, &spools, &decisions, limit)?;
            }
            let Written { failed, of_passages } = match targets {
                Some(targets) => {
                    work.steps.begin(WRITE);
                    if !work.settings.skip_space_check {
                        room::check(work, &spools, &decisions, targets)?;
                    }
                    write::run(work, job, &spools, &decisions, targets)?
                }
                None => Written::default(),
            };
            if failed.is_empty() {
                let cleaned = Cleaned { spools, decisions, of_passages, cleaning: self };
                cleaned.check_sums()?;
                return Ok(cleaned);
            }
            // A document may be kept instead of others only if it is copied. So without those of
            // these files, everything is decided again.
            let known = spools.left_out().into_iter().map(|number| number as u32);
            job.leave_out(&known.chain(failed).collect::<Vec<_>>())?;
        }
    }
}

/// Refuses fields of sources and addresses that no document has: they are most likely misspelt.
fn check_fields(work: &Work<'_>, spools: &Spools) -> Result<()> {
    if spools.len() == 0 {
        return Ok(());
    }
    let (source, url) = (work.settings.named_source_field(), work.settings.judged_url_field());
    let missing = [
        (source.filter(|_| !spools.has_source()), "which says where it comes from"),
        (url.filter(|_| !spools.has_address()), "which holds its address"),
    ];
    match missing.into_iter().find_map(|(field, what)| Some((field?, what))) {
        Some((field, what)) => {
            Err(Error::refused(format!("no document has the field '{field}', {what}")))
        }
        None => Ok(()),
    }
}

/// Ends the work if more would be removed than the limit allows.
fn check_loss(
    work: &Work<'_>,
    spools: &Spools,
    decisions: &Decisions,
    limit: LossLimit,
) -> Result<()> {
    let losses = survey::losses(work, spools, &decisions.dropped)?;
    let Some(loss) = largest_above(&losses, limit) else { return Ok(()) };
    let overview = survey::overview(work, spools, decisions)?;
    Err(Error::TooMuchLost { loss: Box::new(loss.clone()), limit, overview: Box::new(overview) })
}

/// A cleaning whose outputs are written. [`Cleaned::finish`] ends it.
#[must_use = "the work is not done before finish"]
pub struct Cleaned<'a> {
    pub(super) cleaning: Cleaning<'a>,
    pub(super) spools: Spools,
    pub(super) decisions: Decisions,
    /// See [`Written::of_passages`].
    of_passages: (u64, u64),
}

impl Cleaned<'_> {
    /// The width of the fingerprints: 64 bits, unless they were ready and their form says otherwise.
    pub fn width(&self) -> Width {
        self.cleaning.work.settings.source.width()
    }

    /// What became of the documents.
    pub fn account(&self) -> Account {
        let counts = self.spools.counts();
        let is_new = |other: &Other| matches!(other, Other::New(_));
        let near_new_count =
            self.decisions.dropped.iter().filter(|it| is_new(&it.other)).count() as u64;
        let removed_count = self.decisions.dropped.len();
        let kept_count = counts.document_count - removed_count;
        let targets = self.cleaning.targets.as_ref();
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
            added_count: if self.cleaning.writer.is_some() { kept_count } else { 0 },
            file_count: targets.map_or(0, |it| it.count_without(&self.spools)),
            uncopied_count,
            left_out_count: self.spools.left_out_count(),
            was_added_before: false,
        }
    }

    /// What is removed, at a glance. The documents are counted again, and the beginnings of a few are
    /// read from their files.
    ///
    /// # Errors
    ///
    /// [`Error::Store`] if the files of the work cannot be read or the observer ends it.
    pub fn overview(&self) -> Result<Overview> {
        survey::overview(&self.cleaning.work, &self.spools, &self.decisions)
    }

    /// The manifest of the work: its settings, its judgement, its counts, and the digests of the files
    /// that were read and written. `lists` are further files that the caller has written; `-`, which is
    /// standard output, is none. All of these files are read again.
    ///
    /// # Errors
    ///
    /// [`Error::Store`] if a file cannot be read or the observer ends the work.
    pub fn manifest(&self, overview: &Overview, lists: &[PathBuf]) -> Result<Manifest> {
        let Cleaning { work, targets, .. } = &self.cleaning;
        let is_whole = |number: &usize| !self.spools.leaves_out(*number);
        let inputs = (0..work.files.len()).filter(is_whole);
        let inputs = inputs.filter_map(|number| work.files.get(number, &work.options));
        let inputs: Vec<PathBuf> = inputs.map(|file| file.path().to_path_buf()).collect();
        let copies = targets.iter().flat_map(|targets| {
            let copies = (0..work.files.len()).filter(is_whole);
            let copies = copies.filter_map(|number| targets.copy_of(number));
            copies.map(Path::to_path_buf).chain(targets.kept_files.clone())
        });
        let outputs: Vec<PathBuf> = {
            let lists = lists.iter().filter(|path| *path != Path::new("-"));
            copies.chain(lists.cloned()).collect()
        };
        let mut settings = work.describe();
        if let Some(settings) = settings.as_object_mut() {
            // What has a place of its own, or says how the files are read on this machine.
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

    /// Calls `each` with each document that is removed or annotated, in order.
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

    /// Calls `each` with each document that has a fingerprint, in order: what became of it, and because
    /// of which other one. Takes 8 bytes of memory for each.
    ///
    /// # Errors
    ///
    /// As [`Cleaned::for_each_removed`].
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
                Some(Other::New(number)) => records.get(number.index()).copied(),
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

    /// Calls `each` with the fingerprint and the id of each document that is kept, in order.
    ///
    /// # Errors
    ///
    /// As [`Cleaned::for_each_removed`].
    pub fn for_each_kept<E: From<Error>>(
        &self,
        mut each: impl FnMut(Fingerprint, IdRef<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        self.for_each(|entry, dropped| match dropped {
            None => each(entry.fingerprint, entry.id),
            Some(_) => Ok(()),
        })
    }

    /// Calls `each` with each document, and with the reason if it is dropped.
    fn for_each<E: From<Error>>(
        &self,
        mut each: impl FnMut(&Entry<'_>, Option<&Dropped>) -> Result<(), E>,
    ) -> Result<(), E> {
        let watch = self.cleaning.work.watch(Phase::Publish, None);
        self.spools.try_each(|number, entry| {
            watch.tick(1).map_err(Error::from)?;
            each(&entry, self.decisions.dropped.get(number))
        })
    }

    /// Checks that each document that was read is kept, dropped for one that is kept or stored, or
    /// left out with its file.
    fn check_sums(&self) -> Result<()> {
        let mut count = 0;
        self.spools.each(|number, _| {
            count += 1;
            let other = self.decisions.dropped.get(number).map(|dropped| &dropped.other);
            match other {
                Some(Other::New(other)) if self.decisions.dropped.get(*other).is_some() => {
                    let number = number.0;
                    Err(Error::refused(format!("document {number} was dropped for a dropped one")))
                }
                _ => Ok(()),
            }
        })?;
        let account = self.account();
        if count != account.document_count() {
            let reason =
                format!("{count} documents were read, {} decided", account.document_count());
            return Err(Error::refused(reason));
        }
        Ok(())
    }

    /// Adds the documents that are kept to the store, if they are to be added, and ends the work.
    /// Documents of files that could not be copied are not added.
    ///
    /// # Errors
    ///
    /// [`Error::Store`] of the store. The same settings then go on from there.
    pub fn finish(mut self) -> Result<Account> {
        let account = self.account();
        if let Some(writer) = self.cleaning.writer.take() {
            self.cleaning.work.steps.begin_last();
            self.add_to(writer)?;
        }
        let Cleaning { job, work, .. } = self.cleaning;
        // All has taken effect, so this is no failure of the cleaning.
        if let Err(error) = job.finish() {
            work.tell(Event::NotRemoved(&error));
        }
        Ok(account)
    }

    fn add_to(&self, mut writer: Writer) -> Result<()> {
        // Earlier work of this job may have added them, and was stopped then.
        if writer.store().has_run(&self.cleaning.run) {
            return Ok(());
        }
        self.spools.each(|number, entry| {
            if self.decisions.dropped.get(number).is_none() {
                writer.push_sketched(entry.fingerprint, entry.id, entry.sketch)?;
            }
            Ok(())
        })?;
        match writer.finish() {
            // The documents are in the store: trying again would add them again.
            Err(unmerged @ crate::Error::Unmerged { .. }) => {
                self.cleaning.work.tell(Event::Unmerged(&unmerged));
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
            Other::Stored(..) => Side::Stored,
            Other::New(_) => Side::New,
        },
        reason: dropped.reason,
        other_store: match dropped.other {
            Other::Stored(_, store) => store,
            Other::New(_) => StoreIndex::default(),
        },
    }
}
