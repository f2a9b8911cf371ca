//! Making stores: fingerprints and ids in any order go in, a published store comes out.

mod assembly;
mod budget;
mod choice;
mod folder;
mod input;
mod lock;
mod options;
mod publish;
mod publishing;
mod report;
mod shape;
mod space;
mod tables;
#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};

pub(crate) use assembly::Gathering;
pub(crate) use budget::share_out;
pub use choice::SchemeChoice;
pub(crate) use folder::{Folder, FreshSegment, Role, SegmentFile};
pub use input::{
    InputFormat, InputOptions, InputSummary, Record, SkippedRecord, estimate_input, read_records,
};
pub(crate) use lock::{StoreLock, lock_compaction};
pub use options::{BuildOptions, IdPolicy};
pub(crate) use publish::{Purpose, Target, open_folder, publish_new};
pub(crate) use publishing::Publishing;
pub use report::BuildReport;
pub(crate) use report::Clock;
pub use space::InputEstimate;
pub(crate) use space::check as check_space_for;

use crate::error::{Error, Result};
use crate::fingerprint::Fingerprint;
use crate::format::manifest::fault_of_label;
use crate::id::IdRef;
use crate::sort::Resources;
use crate::store::Store;
use crate::watch::Phase;

/// Makes a store from fingerprints in any order.
///
/// The same records give the same segment file, byte for byte, whatever their order, the memory
/// and the threads; only the ids of one fingerprint keep the order in which they came. What does not
/// fit into [`BuildOptions::memory`] is sorted in temporary files that vanish with the process.
///
/// # Examples
///
/// ```
/// # fn main() -> Result<(), fpstore::Error> {
/// use fpstore::{Builder, Fingerprint};
/// # let folder = tempfile::tempdir().unwrap();
/// # let path = folder.path().join("pages.fps");
///
/// let mut builder = Builder::new(&path)?;
/// builder.push(Fingerprint::new(0xc0f1_789b_ed2e_b9b8), 17)?;
/// builder.push(Fingerprint::new(0xc0f1_789b_ed2e_b9b8), 4)?;
/// let store = builder.finish()?;
/// assert_eq!(store.info().fingerprint_count(), 1);
/// assert_eq!(store.info().id_count(), 2);
/// # Ok(()) }
/// ```
#[derive(Debug)]
#[must_use = "nothing is written before finish"]
pub struct Builder {
    target: Target,
    options: BuildOptions,
    resources: Resources,
    records: Gathering,
    clock: Clock,
}

impl Builder {
    /// A builder of a store in the directory `path`, which must not exist or be empty.
    ///
    /// # Errors
    ///
    /// As [`Builder::with_options`].
    pub fn new(path: impl Into<PathBuf>) -> Result<Self> {
        Builder::with_options(path, BuildOptions::default())
    }

    /// A builder with options of your own.
    ///
    /// # Errors
    ///
    /// * [`Error::StoreExists`] if there is a store and it may not be replaced.
    /// * [`Error::NotAStore`] if there is something else; that is never replaced.
    /// * [`Error::Locked`] if another process is writing to the store.
    /// * [`Error::InvalidOptions`] if the memory is too little for the threads.
    /// * [`Error::Io`] if the system refuses, or there is no such directory for temporary files.
    pub fn with_options(path: impl Into<PathBuf>, options: BuildOptions) -> Result<Self> {
        let purpose = if options.replace { Purpose::Replace } else { Purpose::Create };
        Builder::start(Target::claim(path.into(), purpose)?, options)
    }

    /// A builder of one more segment of the store in the directory `path`, which answers as before
    /// until the segment is whole. [`BuildOptions::replace`] does not matter here.
    ///
    /// # Errors
    ///
    /// * [`Error::NoStore`], [`Error::NotAStore`] if there is no store.
    /// * [`Error::RecipeMismatch`] if its fingerprints were made in another way.
    /// * Otherwise as [`Builder::with_options`].
    ///
    /// # Examples
    ///
    /// ```
    /// # fn main() -> Result<(), fpstore::Error> {
    /// use fpstore::{BuildOptions, Builder};
    /// # let folder = tempfile::tempdir().unwrap();
    /// # let path = folder.path().join("pages.fps");
    /// # Builder::new(&path)?.finish()?;
    ///
    /// let mut builder = Builder::append(&path, BuildOptions::default().label("2026-11"))?;
    /// builder.push(0xc0f1_789b_ed2e_b9b8.into(), 17)?;
    /// let store = builder.finish()?;
    /// assert_eq!(store.info().segments.last().unwrap().label, "2026-11");
    /// # Ok(()) }
    /// ```
    pub fn append(path: impl Into<PathBuf>, options: BuildOptions) -> Result<Self> {
        let path = path.into();
        let target = Target::claim(path.clone(), Purpose::Change)?;
        if let Some(recipe) = Store::open(path)?.recipe()
            && recipe != options.recipe
        {
            let (store, given) = (recipe, options.recipe);
            return Err(Error::RecipeMismatch { store, given });
        }
        Builder::start(target, options)
    }

    fn start(target: Target, options: BuildOptions) -> Result<Self> {
        if let Some(reason) = fault_of_label(&options.label) {
            return Err(Error::InvalidOptions { reason });
        }
        let folder = match &options.temp_dir {
            Some(folder) => folder.clone(),
            None => target.temporary_folder().to_path_buf(),
        };
        std::fs::read_dir(&folder).map_err(Error::io("put temporary files into", &folder))?;
        let resources = options.resources(folder)?;
        let records = Gathering::new(options.ids, &resources, options.observer.clone());
        Ok(Builder { target, options, resources, records, clock: Clock::start() })
    }

    /// Takes a fingerprint with an id. The same id may come again and is then kept again.
    ///
    /// # Errors
    ///
    /// * [`Error::InvalidId`] if the id cannot be stored: a text that is empty, longer than
    ///   65 535 bytes or holds NUL, CR or LF; or no number where numbers were asked for.
    /// * [`Error::Io`] if memory is full and the temporary files cannot be written.
    /// * [`Error::Interrupted`] if the observer says so.
    pub fn push<'a>(&mut self, fingerprint: Fingerprint, id: impl Into<IdRef<'a>>) -> Result<()> {
        self.records.push(fingerprint, id.into())
    }

    /// Takes a fingerprint without an id.
    ///
    /// # Errors
    ///
    /// As [`Builder::push`], except that there is no id to refuse.
    pub fn push_bare(&mut self, fingerprint: Fingerprint) -> Result<()> {
        self.records.push_bare(fingerprint)
    }

    /// Takes all records of the file at `path`, or of standard input if it is `-`, read and
    /// parsed on all threads. Names that end in `.gz` or `.zst` are decompressed.
    ///
    /// # Errors
    ///
    /// * [`Error::BadInput`] with name and place for the first bad record, unless they are passed
    ///   over.
    /// * [`Error::Io`] if the input cannot be read or decompressed, or a temporary file cannot
    ///   be written.
    /// * [`Error::Interrupted`] if the observer says so.
    pub fn read(&mut self, path: &Path, options: &InputOptions) -> Result<InputSummary> {
        self.read_and_show(path, options, |_| {})
    }

    /// As [`Builder::read`], and shows each fingerprint to `show`, in no order that means anything.
    ///
    /// # Errors
    ///
    /// As [`Builder::read`].
    pub fn read_and_show(
        &mut self,
        path: &Path,
        options: &InputOptions,
        show: impl FnMut(Fingerprint),
    ) -> Result<InputSummary> {
        self.records.read(path, options, show)
    }

    /// Records taken so far.
    pub fn record_count(&self) -> u64 {
        self.records.count()
    }

    /// Says what will come, so that progress has a total, and checks that the disks have room
    /// for about as much.
    ///
    /// # Errors
    ///
    /// [`Error::NoSpace`] if a disk is too full.
    pub fn expect(&mut self, input: &InputEstimate, check_space: bool) -> Result<()> {
        self.records.expect(input.record_count);
        if check_space {
            space::check(input, &self.options, &self.resources, self.target.temporary_folder())?;
        }
        Ok(())
    }

    /// Sorts, writes and publishes the store, and opens it.
    ///
    /// # Errors
    ///
    /// * [`Error::TooLarge`] if there are more fingerprints than a segment can hold.
    /// * [`Error::InvalidPlan`] if no scheme fits the budget, [`Error::InvalidDistance`] if the
    ///   distance to choose one for is above 64.
    /// * [`Error::StoreExists`] if someone else made a store at the path in the meantime.
    /// * [`Error::Io`] if the system refuses. A store that was there before is unharmed.
    /// * [`Error::Interrupted`] if the observer says so.
    pub fn finish(self) -> Result<Store> {
        self.finish_and_report().map(|(store, _)| store)
    }

    /// As [`Builder::finish`], and says what was done.
    ///
    /// # Errors
    ///
    /// As [`Builder::finish`].
    pub fn finish_and_report(self) -> Result<(Store, BuildReport)> {
        let Builder { target, options, resources, records, mut clock } = self;
        let record_count = records.count();
        let assembly = records.assemble(|_| Ok(options.scheme.clone()), &mut clock)?;
        let store = target
            .publish(&options.label, |file| assembly.write(file, &options.recipe, &mut clock))?;
        clock.ended(Phase::Publish);
        let mut report = clock.report;
        report.record_count = record_count;
        report.fingerprint_count = assembly.fingerprint_count();
        report.temporary_len = resources.folder.most_held();
        Ok((store, report))
    }
}

impl IdPolicy {
    /// The id as it is kept, if it is.
    pub(crate) fn admit(self, id: IdRef<'_>) -> Result<Option<IdRef<'_>>> {
        let IdRef::Text(text) = id else {
            return Ok((self != IdPolicy::None).then_some(id));
        };
        if self == IdPolicy::None {
            return Ok(None);
        }
        if let Some(fault) = IdRef::fault_of_text(text) {
            let reason = format!("{fault}, expected 1 to 65535 bytes without NUL, CR or LF");
            return Err(Error::InvalidId { reason });
        }
        let number = match self {
            IdPolicy::Text => None,
            _ => IdRef::canonical_number(text),
        };
        match number {
            None if self == IdPolicy::U64 => {
                let shown: String = text.chars().take(40).flat_map(char::escape_debug).collect();
                let reason = format!("'{shown}' is no canonical decimal number of 64 bits");
                Err(Error::InvalidId { reason })
            }
            None => Ok(Some(id)),
            Some(number) => Ok(Some(IdRef::U64(number))),
        }
    }
}
