//! The steps of a cleaning.
//!
//! Each step leaves files in a [`Job`], so that a later run with the same settings can resume an
//! interrupted cleaning:
//!
//! 1. `hash` reads the documents in batches of files, and writes a spool of each batch: positions
//!    in the files, fingerprints and ids.
//! 2. `decide` finds near-duplicates, and decides which documents are dropped and why.
//! 3. `write` copies the files without the dropped documents; each copy appears when it is
//!    complete.
//! 4. [`Cleaned`] lists the dropped and the kept documents, and adds the kept ones to a store.

use super::account::Account;
use super::cleaned::Cleaned;
use super::decide::Decisions;
use super::error::{Error, Result};
use super::event::Event;
use super::job::{DECISIONS, Job};
use super::loss::{LossLimit, largest_above};
use super::settings::Cleaner;
use super::spool::Spools;
use super::targets::Targets;
use super::work::{DECIDE, READ, WRITE, Work};
use super::write::{self, Written};
use super::{decide, hash, room, survey};
use fpstore::Writer;
use fpstore_documents::Error as TextError;

impl<'a> Cleaner<'a> {
    /// Does all the work: [`Cleaner::begin`], [`Cleaning::run`] and [`Cleaned::finish`].
    ///
    /// # Errors
    ///
    /// The errors of these three methods.
    pub fn run(self) -> Result<Account> {
        match self.begin()? {
            Some(cleaning) => cleaning.run()?.finish(),
            None => Ok(Account { was_added_before: true, ..Account::default() }),
        }
    }

    /// Checks the settings, finds the files, locks the store if documents are added, and begins or
    /// resumes the work. Returns `None` if the store already contains the documents of the same run
    /// and the outputs exist: nothing is left to do.
    ///
    /// # Errors
    ///
    /// * [`Error::Store`] with [`InvalidOptions`](fpstore::Error::InvalidOptions) for invalid
    ///   settings, an output that would overwrite an input, or an input that can be read only once;
    ///   and if the store is locked or has another recipe.
    /// * [`Error::Text`] if files cannot be found or copied.
    /// * [`Error::Exists`], [`Error::Ended`], [`Error::InUse`] and [`Error::Unfinished`] for an
    ///   output that cannot be written.
    /// * [`Error::KnownRun`] if the store already contains the documents of the same run and an
    ///   output is missing: all documents would be near stored ones, and none would be kept.
    pub fn begin(self) -> Result<Option<Cleaning<'a>>> {
        let mut work = Work::new(self)?;
        let Cleaner { output, replace, add, resources, .. } = &work.settings;
        let new_fields = work.settings.new_fields();
        let originals = work.originals(&new_fields);
        let targets =
            output.as_deref().map(|output| Targets::new(&originals, output)).transpose()?;
        let run = add.as_ref().and_then(|options| options.run.clone());
        let is_known = |run: &str| work.stored.as_ref().is_some_and(|it| it.has_run(run));
        let stored_path = work.stored.as_ref().map(|stored| stored.info().path);
        // The result for a run whose documents are already in the store. They were added after its
        // outputs were complete.
        let known = |run: &str| {
            let missing = targets.as_ref().and_then(Targets::missing);
            if targets.is_some() && missing.is_none() {
                return Ok(None);
            }
            let store = stored_path.clone().unwrap_or_default();
            Err(Error::KnownRun { run: run.into(), store, missing: missing.cloned() })
        };
        if let (Some(targets), Some(run)) = (&targets, run.as_deref())
            && is_known(run)
            && !targets.job_folder().exists()
        {
            return known(run);
        }
        let mut job = match &targets {
            Some(targets) => {
                // The case that the store already contains this run is handled below.
                let has_added = |name: &str| run.as_deref() != Some(name) && is_known(name);
                Job::open(&targets.job_folder(), &work.describe(), *replace, has_added)?
            }
            None => match run.as_deref().filter(|run| is_known(run)) {
                Some(run) => return known(run),
                None => Job::scratch(&work.temp_dir)?,
            },
        };
        if let Some(targets) = targets.as_ref().filter(|_| !job.is_resumed()) {
            // This job is new, but the store already contains the run: the job is removed.
            if let Some(run) = run.as_deref().filter(|run| is_known(run)) {
                job.finish()?;
                return known(run);
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
        // The lock is taken before the store is read, so that no other process adds the same
        // records.
        let writer = match (add, &work.stored) {
            (Some(options), Some(stored)) => {
                let recipe = work.settings.source.recipe();
                let options = options.clone().run(run.clone()).recipe(recipe);
                Some(Writer::with_options(stored.info().path, options)?)
            }
            _ => None,
        };
        if let Some(writer) = &writer {
            // Another process may have added the documents while this one waited for the lock.
            if !job.is_resumed() && writer.store().has_run(&run) {
                job.finish()?;
                return known(&run);
            }
        }
        let temp_dir = match &resources.temp_dir {
            Some(folder) => folder.clone(),
            None => job.make_working_space()?,
        };
        if let Some(writer) = &writer {
            work.stored = Some(writer.store().clone());
        }
        work.temp_dir = temp_dir;
        Ok(Some(Cleaning { work, job, targets, writer, run }))
    }
}

/// A cleaning that is ready to run, with checked settings.
pub struct Cleaning<'a> {
    work: Work<'a>,
    job: Job,
    targets: Option<Targets>,
    writer: Option<Writer>,
    /// The name of the run, which the store records when it adds the documents.
    run: String,
}

impl<'a> Cleaning<'a> {
    /// Whether an interrupted cleaning is resumed. Some of its outputs may already exist.
    pub fn is_resumed(&self) -> bool {
        self.job.is_resumed()
    }

    /// Removes the folder of the work if no work is done yet, for a caller that cannot continue.
    pub fn give_up(&self) {
        self.job.give_up();
    }

    /// Reads the documents, decides which are removed, and writes the outputs.
    ///
    /// # Errors
    ///
    /// * [`Error::TooMuchLost`] if more documents are removed than [`Cleaner::max_loss`] allows.
    /// * [`Error::Text`] if documents cannot be read or copied.
    /// * [`Error::Store`] if a join fails, an output cannot be written, or the observer ends the
    ///   work. A later run with the same settings resumes the work.
    pub fn run(self) -> Result<Cleaned<'a>> {
        let Cleaning { work, job, targets, run, .. } = &self;
        let was_added = job.is_resumed() && work.stored.as_ref().is_some_and(|it| it.has_run(run));
        let mut is_first = true;
        loop {
            work.steps.begin(READ);
            let spools = hash::run(work, job).inspect_err(|_| job.give_up())?;
            // A resumed job with decisions has already reported repeated ids.
            let is_told = !std::mem::take(&mut is_first) || job.has(DECISIONS);
            if !is_told && spools.repeated_ids().count > 0 {
                work.tell(Event::RepeatedIds(spools.repeated_ids()));
            }
            // After invalid settings the job is removed: the user corrects the settings, and a
            // cleaning with other settings cannot resume it.
            work.steps.begin(DECIDE);
            let decisions = check_fields(work, &spools)
                .and_then(|()| decide::run(work, job, &spools, was_added))
                .inspect_err(|error| {
                    if error.is_refusal() && !was_added {
                        job.drop_all();
                    }
                })?;
            // Documents already added to the store are not checked: they cannot be decided again.
            if let Some(limit) = work.settings.max_loss.filter(|_| !was_added) {
                check_loss(work, &spools, &decisions, limit)?;
            }
            let Written { failed, of_passages } = match targets {
                Some(targets) => {
                    work.steps.begin(WRITE);
                    if !work.settings.skip_space_check {
                        room::check(work, &spools, &decisions, targets)?;
                    }
                    write::run(work, job, &spools, &decisions, targets).inspect_err(|error| {
                        // A file has changed: the next run of this job reads all files again.
                        if matches!(error, Error::Text(TextError::Changed { .. })) && !was_added {
                            job.forget_read();
                        }
                    })?
                }
                None => Written::default(),
            };
            if failed.is_empty() {
                let Cleaning { work, mut job, targets, writer, run } = self;
                job.remove_working_space();
                let cleaned =
                    Cleaned { work, job, targets, writer, run, spools, decisions, of_passages };
                cleaned.check_sums()?;
                return Ok(cleaned);
            }
            // A document may be kept instead of others only if it is copied. So everything is
            // decided again without the documents of the failed files.
            let known = spools.left_out().into_iter().map(|number| number as u32);
            job.leave_out(&known.chain(failed).collect::<Vec<_>>())?;
        }
    }
}

/// Refuses a source or address field that no document has: its name is probably misspelt.
fn check_fields(work: &Work<'_>, spools: &Spools) -> Result<()> {
    if spools.len() == 0 {
        return Ok(());
    }
    let (source, url) = (work.settings.named_source_field(), work.settings.judged_url_field());
    let missing = [
        (source.filter(|_| !spools.has_source()), "with the source of the documents"),
        (url.filter(|_| !spools.has_address()), "with an address"),
    ];
    match missing.into_iter().find_map(|(field, what)| Some((field?, what))) {
        Some((field, what)) => {
            Err(Error::refused(format!("no document has the field '{field}' {what}")))
        }
        None => Ok(()),
    }
}

/// Returns an error if more documents would be removed than the limit allows.
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
