//! The builder: takes records in any order, writes one segment, and publishes it as a new store or
//! as a further segment of a store.
//!
//! [`RecordBuffer`] collects the records and sorts them into a [`SegmentBuild`], which writes the
//! file. The writer uses both for added records and for merges.

mod choice;
mod options;
mod receipt;
mod record_buffer;
mod segment_build;
mod segment_file;
mod segment_ids;
mod space;
pub(crate) mod temporary;
#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};

pub use choice::SchemeChoice;
pub use options::BuildOptions;
pub use receipt::SegmentReceipt;
pub(crate) use record_buffer::RecordBuffer;
pub use segment_build::BuildReport;
pub(crate) use segment_build::SegmentBuild;
pub(crate) use space::check as check_space_for;

use crate::base::error::{Error, Result};
use crate::base::id_policy::IdPolicy;
use crate::store::Store;
use crate::writing::directory::{Destination, OpenMode};
use crate::writing::input::{InputEstimate, InputOptions, InputSummary};
use crate::writing::labels::{check_label, check_names};
use crate::writing::sort::SortResources;
use fpstore_base::{Fingerprint, IdRef, Width};
use fpstore_disk::parent_of;

/// Makes a store from fingerprints in any order.
///
/// The same records give the same segment file, byte for byte, whatever the memory, the threads and
/// the order of the fingerprints; the ids of one fingerprint keep their input order. Records beyond
/// [`BuildOptions::memory`] are sorted in temporary files that vanish with the process. The
/// manifest contains a random id of the store, see [`BuildOptions::store_id`].
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
    destination: Target,
    options: BuildOptions,
    resources: SortResources,
    records: RecordBuffer,
}

/// The output of a builder.
#[derive(Debug)]
enum Target {
    Store(Box<Destination>),
    /// The path of a segment file outside any store.
    File(PathBuf),
}

impl Target {
    /// A directory on the disk of the target, for temporary files.
    fn scratch_directory(&self) -> &Path {
        match self {
            Target::Store(destination) => destination.scratch_directory(),
            Target::File(path) => parent_of(path),
        }
    }
}

impl Builder {
    /// A builder of a store in the directory `path`, which must be missing or empty.
    ///
    /// # Errors
    ///
    /// The same as [`Builder::with_options`].
    pub fn new(path: impl Into<PathBuf>) -> Result<Self> {
        Builder::with_options(path, BuildOptions::default())
    }

    /// A builder with the given options.
    ///
    /// # Errors
    ///
    /// * [`Error::StoreExists`] if a store exists and may not be replaced.
    /// * [`Error::NotAStore`] if the directory contains other files; these are never replaced.
    /// * [`Error::Locked`] if another process is writing to the store or making it, and still does
    ///   so after [`BuildOptions::wait`].
    /// * [`Error::InvalidOptions`] if the memory is too little for the threads.
    /// * [`Error::Io`] if a file operation fails, or if the directory for temporary files does not
    ///   exist.
    pub fn with_options(path: impl Into<PathBuf>, options: BuildOptions) -> Result<Self> {
        let mode = if options.replace { OpenMode::Replace } else { OpenMode::Create };
        let destination = Destination::acquire(path.into(), mode, options.patience())?;
        Builder::start(Target::Store(destination.into()), options)
    }

    /// A builder of a further segment of the store in the directory `path`. The store gives the old
    /// answers until the segment is complete. [`BuildOptions::replace`] and
    /// [`BuildOptions::store_id`] are ignored; [`BuildOptions::sketch_len`] is taken from the
    /// store.
    ///
    /// # Errors
    ///
    /// * [`Error::NoStore`], [`Error::NotAStore`] if there is no store.
    /// * [`Error::RecipeMismatch`] if the fingerprints of the store have another recipe.
    /// * [`Error::InvalidOptions`] if the labels of the store are dates of one form and the given
    ///   label is not.
    /// * The errors of [`Builder::with_options`].
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
        let destination = Destination::acquire(path.clone(), OpenMode::Change, options.patience())?;
        let store = Store::map(&path)?;
        if let Some(recipe) = store.recipe()
            && recipe != options.recipe
        {
            let (store, given) = (recipe, options.recipe);
            return Err(Error::RecipeMismatch { store, given });
        }
        check_label(&options.label, &store.snapshot())?;
        let options = options.sketch_len(store.sketch_len());
        Builder::start(Target::Store(destination.into()), options)
    }

    fn start(destination: Target, options: BuildOptions) -> Result<Self> {
        check_names(&options.label, None)?;
        if options.recipe.is_unknown_external() {
            let reason =
                format!("the recipe 'external' has an invalid width, expected {}", Width::EXPECTED);
            return Err(Error::InvalidOptions { reason });
        }
        let beside = || destination.scratch_directory().to_path_buf();
        let resources = SortResources::of(&options.resources, beside)?;
        let (ids, sketch_len) = (options.ids, options.sketch_len);
        if ids == IdPolicy::None && sketch_len > 0 {
            let reason = "sketches are stored with ids, and this store has no ids".into();
            return Err(Error::InvalidOptions { reason });
        }
        let observer = options.resources.observer.clone();
        let records = RecordBuffer::new(ids, sketch_len.into(), &resources, observer)
            .of_width(options.recipe.width());
        Ok(Builder { destination, options, resources, records })
    }

    /// Takes a fingerprint with an id. A repeated record is stored again; answers contain it once.
    ///
    /// # Errors
    ///
    /// * [`Error::InvalidId`] if the id cannot be stored: a text that is empty, longer than 65 535
    ///   bytes or contains NUL, CR or LF; or a text that is not a number if the ids are of the
    ///   `u64` kind.
    /// * [`Error::TooWide`] if the fingerprint has more bits than the recipe allows.
    /// * [`Error::Io`] if memory is full and the temporary files cannot be written.
    /// * [`Error::Interrupted`] if the observer ends the build.
    pub fn push<'a>(&mut self, fingerprint: Fingerprint, id: impl Into<IdRef<'a>>) -> Result<()> {
        self.records.push(fingerprint, id.into(), &[])
    }

    /// Takes a fingerprint with an id and a sketch of its document; see
    /// [`BuildOptions::sketch_len`].
    ///
    /// # Errors
    ///
    /// The errors of [`Builder::push`], and [`Error::InvalidOptions`] if the sketch has another
    /// length.
    pub fn push_sketched<'a>(
        &mut self,
        fingerprint: Fingerprint,
        id: impl Into<IdRef<'a>>,
        sketch: &[u8],
    ) -> Result<()> {
        self.records.push(fingerprint, id.into(), sketch)
    }

    /// Takes a fingerprint without an id.
    ///
    /// # Errors
    ///
    /// The errors of [`Builder::push`], except [`Error::InvalidId`].
    pub fn push_bare(&mut self, fingerprint: Fingerprint) -> Result<()> {
        self.records.push_bare(fingerprint)
    }

    /// Takes all records of the file at `path`, or of standard input if it is `-`, read and parsed
    /// on all threads. The width of the fingerprints is the width of the recipe. Files with names
    /// that end in `.gz` or `.zst` are decompressed.
    ///
    /// # Errors
    ///
    /// * [`Error::BadInput`] with the name of the input and the position of the first bad record,
    ///   unless `options` skip bad records.
    /// * [`Error::Io`] if the input cannot be read or decompressed, or a temporary file cannot
    ///   be written.
    /// * [`Error::Interrupted`] if the observer ends the build.
    pub fn read(&mut self, path: &Path, options: &InputOptions) -> Result<InputSummary> {
        self.read_and_inspect(path, options, |_| {})
    }

    /// Like [`Builder::read`], but also calls `inspect` with each fingerprint, in unspecified
    /// order.
    ///
    /// # Errors
    ///
    /// The same as [`Builder::read`].
    pub fn read_and_inspect(
        &mut self,
        path: &Path,
        options: &InputOptions,
        mut inspect: impl FnMut(Fingerprint),
    ) -> Result<InputSummary> {
        let mut inspect = |key| inspect(Fingerprint::new(key));
        self.records.read(path, options, |batch| batch.keys().for_each(&mut inspect))
    }

    /// The number of records taken so far.
    pub fn record_count(&self) -> u64 {
        self.records.count()
    }

    /// Announces an estimate of the input, so that progress reports contain a total. With
    /// `check_space`, also checks that the disks have enough room.
    ///
    /// # Errors
    ///
    /// [`Error::NoSpace`] if a disk is too full.
    pub fn expect(&mut self, input: &InputEstimate, check_space: bool) -> Result<()> {
        self.records.expect(input.record_count);
        if check_space {
            let directory = self.destination.scratch_directory();
            space::check(input, &self.options.scheme, &self.resources, directory)?;
        }
        Ok(())
    }

    /// Sorts, writes and publishes the store, and opens it.
    ///
    /// # Errors
    ///
    /// * [`Error::TooLarge`] if there are more fingerprints than a segment can hold.
    /// * [`Error::InvalidPlan`] if no scheme fits the budget, [`Error::InvalidDistance`] if the
    ///   distance of the [`SchemeChoice`] is above 64.
    /// * [`Error::StoreExists`] if another process made a store at the path in the meantime.
    /// * [`Error::Io`] if a file operation fails, [`Error::Interrupted`] if the observer ends the
    ///   build. Then no new store is made, and an existing store is unchanged.
    /// * [`Error::InEffect`] if a file operation failed after the build took effect: the new store
    ///   or segment exists.
    pub fn finish(self) -> Result<Store> {
        self.finish_and_report().map(|(store, _)| store)
    }

    /// Like [`Builder::finish`], but also returns a report.
    ///
    /// # Errors
    ///
    /// The same as [`Builder::finish`].
    pub fn finish_and_report(self) -> Result<(Store, BuildReport)> {
        let Builder { destination, options, records, .. } = self;
        let Target::Store(destination) = destination else {
            let reason = "this builder makes a segment file: end it with finish_segment".into();
            return Err(Error::InvalidOptions { reason });
        };
        let mut destination = *destination;
        let mut build = records.sort(|_| Ok(options.scheme.clone()))?;
        loop {
            let (path, mode) = (destination.path.clone(), destination.mode);
            let (patience, left) = (destination.patience.clone(), destination.left.clone());
            match publish(destination, &options, &mut build) {
                // Another process made a store at the path meanwhile: replace that store, too.
                Err(Error::StoreExists { .. }) if mode == OpenMode::Replace => {
                    destination = Destination::acquire(path, mode, patience)?;
                }
                published => {
                    let store = published?;
                    return Ok((store, BuildReport { left, ..build.into_report() }));
                }
            }
        }
    }
}

/// Writes a segment and publishes it as the last segment of the store or as the only one of a new
/// store.
fn publish(
    destination: Destination,
    options: &BuildOptions,
    build: &mut SegmentBuild,
) -> Result<Store> {
    let directory = destination.open(options.store_id)?;
    let segment = build.write(directory.new_segment()?, &options.recipe, &options.label)?;
    let mut transaction = directory.begin()?;
    let mut segments = transaction.segments().to_vec();
    segments.push(transaction.add_segment(segment, None)?);
    let generation = transaction.commit(segments)?;
    directory.finish(generation)
}
