//! Making stores: fingerprints and ids in any order go in, a published store comes out.

mod input;
mod publish;
mod records;
mod shape;

use std::path::PathBuf;

pub use input::{InputFormat, InputOptions, InputSummary, Record, SkippedRecord, read_records};

use crate::bits::permutation::{Permutation, Permuted};
use crate::build::publish::Target;
use crate::build::records::{Records, SortedRecords};
use crate::error::{Error, Result};
use crate::fingerprint::Fingerprint;
use crate::format::header::{FINGERPRINT_COUNT_MAX, TableDescriptor};
use crate::id::IdRef;
use crate::planner::{Budget, PlanRequest, Sampler};
use crate::recipe::Recipe;
use crate::scheme::{Scheme, UnitCosts};
use crate::segment::write::{SegmentSpec, SegmentWriter};
use crate::store::Store;

/// What ids a store gets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum IdPolicy {
    /// Numbers if every id is a number in canonical decimal (`42`, not `042`), texts if any is
    /// not, none if there is none.
    #[default]
    Auto,
    /// None: ids that are given are left out.
    None,
    /// Numbers; any other id is refused.
    U64,
    /// Texts; numbers are written in decimal.
    Text,
}

/// Which tables a store gets.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum SchemeChoice {
    /// Those of a scheme.
    Fixed(Scheme),
    /// The fastest for the data at distance `k` within a budget, see
    /// [`PlanRequest`](crate::PlanRequest). The choice depends on nothing but the set of
    /// fingerprints and what stands here.
    Auto {
        /// The distance that queries will mostly ask for.
        k: u32,
        /// How much space the tables may take.
        budget: Budget,
        /// What steps cost on the machine that will answer.
        costs: UnitCosts,
    },
}

impl SchemeChoice {
    /// The scheme for so many distinct fingerprints of which `sampler` saw every one.
    pub(crate) fn resolve(&self, fingerprint_count: u64, sampler: Sampler) -> Result<Scheme> {
        match self {
            SchemeChoice::Fixed(scheme) => Ok(scheme.clone()),
            SchemeChoice::Auto { k, budget, costs } => {
                // Nothing is stored as fast as one, and no budget is too small for it.
                let budget = if fingerprint_count == 0 { &Budget::Default } else { budget };
                let request = PlanRequest::new(fingerprint_count.max(1), *k);
                let mut request = request.budget(*budget).costs(*costs);
                // Too few to learn from are too few to matter.
                request.sample = sampler.finish().ok();
                Ok(request.choose()?.scheme)
            }
        }
    }
}

impl From<Scheme> for SchemeChoice {
    fn from(scheme: Scheme) -> Self {
        SchemeChoice::Fixed(scheme)
    }
}

impl Default for SchemeChoice {
    /// The fastest at distance 3 within the default budget.
    fn default() -> Self {
        SchemeChoice::Auto { k: 3, budget: Budget::Default, costs: UnitCosts::SHIPPED }
    }
}

/// How to make a store.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct BuildOptions {
    /// The tables, and the distance they are meant for.
    pub scheme: SchemeChoice,
    /// What ids it gets.
    pub ids: IdPolicy,
    /// How the fingerprints were made.
    pub recipe: Recipe,
    /// Whether a store that is there already may be replaced. It stays as it is until the new
    /// one is whole.
    pub replace: bool,
}

impl Default for BuildOptions {
    /// The fastest scheme for distance 3 within the default budget, ids as they come, nothing
    /// replaced.
    fn default() -> Self {
        let scheme = SchemeChoice::default();
        BuildOptions { scheme, ids: IdPolicy::Auto, recipe: Recipe::external(), replace: false }
    }
}

impl BuildOptions {
    /// Sets the scheme, or how it is chosen.
    #[must_use]
    pub fn scheme(mut self, scheme: impl Into<SchemeChoice>) -> Self {
        self.scheme = scheme.into();
        self
    }

    /// Sets what ids the store gets.
    #[must_use]
    pub fn ids(mut self, ids: IdPolicy) -> Self {
        self.ids = ids;
        self
    }

    /// Sets how the fingerprints were made; ready-made ones have [`Recipe::external`].
    #[must_use]
    pub fn recipe(mut self, recipe: Recipe) -> Self {
        self.recipe = recipe;
        self
    }

    /// Sets whether a store that is there already may be replaced.
    #[must_use]
    pub fn replace(mut self, replace: bool) -> Self {
        self.replace = replace;
        self
    }
}

/// Makes a store from fingerprints in any order.
///
/// The same records give the same segment file, byte for byte, whatever their order; only the
/// ids of one fingerprint keep the order in which they came. All records are held in memory:
/// about 25 bytes each, and their ids.
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
    records: Records,
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
    /// * [`Error::Io`] if the system refuses.
    pub fn with_options(path: impl Into<PathBuf>, options: BuildOptions) -> Result<Self> {
        let target = Target::claim(path.into(), options.replace)?;
        let records = Records::new(options.ids);
        Ok(Builder { target, options, records })
    }

    /// Takes a fingerprint with an id. The same id may come again and is then kept again.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidId`] if the id cannot be stored: a text that is empty, longer than
    /// 65 535 bytes or holds NUL, CR or LF; or no number where numbers were asked for.
    pub fn push<'a>(&mut self, fingerprint: Fingerprint, id: impl Into<IdRef<'a>>) -> Result<()> {
        self.records.push(fingerprint, id.into())
    }

    /// Takes a fingerprint without an id.
    pub fn push_bare(&mut self, fingerprint: Fingerprint) {
        self.records.push_bare(fingerprint);
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
    pub fn finish(self) -> Result<Store> {
        let Builder { target, options, records } = self;
        let natural = Permutation::new(u64::MAX);
        let mut sorted = records.sort(|fingerprint| natural.apply(fingerprint));
        let fingerprint_count = sorted.fingerprint_count();
        if fingerprint_count > FINGERPRINT_COUNT_MAX {
            let reason = format!("{fingerprint_count} fingerprints, a segment holds 2^40 at most");
            return Err(Error::TooLarge { reason });
        }
        let mut sampler = Sampler::new(Sampler::CAPACITY);
        sorted.values().for_each(|value| sampler.push(natural.invert(value)));
        let scheme = options.scheme.resolve(fingerprint_count, sampler)?;
        let first = Permutation::new(first_mask(&scheme));
        if !first.is_identity() {
            sorted.permute(|value| first.apply(natural.invert(value)));
        }
        target.publish(|file| write_segment(file, &options, &scheme, &sorted))
    }
}

fn first_mask(scheme: &Scheme) -> u64 {
    *scheme.masks().first().expect("a scheme has at least one mask")
}

fn write_segment(
    file: &mut std::fs::File,
    options: &BuildOptions,
    scheme: &Scheme,
    sorted: &SortedRecords,
) -> std::io::Result<()> {
    let first = Permutation::new(first_mask(scheme));
    let spec = SegmentSpec {
        fingerprint_count: sorted.fingerprint_count(),
        table_count: scheme.masks().len(),
        tuned_k: scheme.tuned_k(),
        ids: sorted.id_layout(),
        recipe: options.recipe.clone(),
    };
    let has_ids = spec.ids.kind != crate::IdKind::None;
    let mut writer = SegmentWriter::new(file, spec)?;
    let mut values: Vec<Permuted> = sorted.values().collect();
    for (number, &mask) in scheme.masks().iter().enumerate() {
        if number > 0 {
            let permutation = Permutation::new(mask);
            values.clear();
            values.extend(sorted.values().map(|value| permutation.apply(first.invert(value))));
            values.sort_unstable();
        }
        let (tail_bits, block_bits) = shape::choose(&values);
        let descriptor = TableDescriptor { mask, tail_bits, block_bits };
        writer.table(descriptor, values.iter().copied())?;
    }
    if has_ids {
        writer.ids(sorted.id_lists())?;
    }
    writer.finish()?;
    Ok(())
}
