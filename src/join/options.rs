//! The inputs of a join, and the options of all joins.

use crate::base::error::{Error, Result, check_distance};
use crate::segment::budget::WorkBudget;
use crate::store::Store;
#[cfg(feature = "write")]
use crate::writing::sort::SortResources;
use fpstore_base::watch::{Phase, Watch};
use fpstore_base::{Fingerprint, Resources, resource_setters, setters};

/// However much memory the caller of a join uses, the join gets at least the memory budget divided
/// by this number.
const RESERVED_DIVISOR: u64 = 4;

/// The fingerprints to join. A fingerprint that occurs several times counts once.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum JoinInput<'a> {
    /// A list of fingerprints, in any order. If the list is not sorted and distinct, the join makes
    /// a sorted copy.
    Fingerprints(&'a [Fingerprint]),
    /// All fingerprints of a store.
    Store(&'a Store),
    /// The fingerprints of one segment of a store, given by the position of the segment in
    /// [`StoreInfo::segments`](crate::info::StoreInfo::segments).
    Segment(&'a Store, usize),
}

impl JoinInput<'_> {
    /// Returns an error for two stores with different recipes. Fingerprints in memory have no
    /// recipe, but must fit the width of the store.
    pub(super) fn check_recipe(&self, other: &JoinInput<'_>) -> Result<()> {
        match (self, other) {
            (JoinInput::Fingerprints(list), input) | (input, JoinInput::Fingerprints(list)) => {
                let Some(store) = input.store() else { return Ok(()) };
                let snapshot = store.snapshot();
                list.iter().try_for_each(|fingerprint| snapshot.check_needle(*fingerprint))
            }
            _ => match [other, self].map(|input| input.store().and_then(Store::recipe)) {
                [Some(store), Some(given)] if store != given => {
                    Err(Error::RecipeMismatch { store, given })
                }
                _ => Ok(()),
            },
        }
    }

    fn store(&self) -> Option<&Store> {
        match self {
            JoinInput::Fingerprints(_) => None,
            JoinInput::Store(store) | JoinInput::Segment(store, _) => Some(store),
        }
    }
}

impl<'a> From<&'a Store> for JoinInput<'a> {
    fn from(store: &'a Store) -> Self {
        JoinInput::Store(store)
    }
}

impl<'a> From<&'a [Fingerprint]> for JoinInput<'a> {
    fn from(fingerprints: &'a [Fingerprint]) -> Self {
        JoinInput::Fingerprints(fingerprints)
    }
}

/// A part of a join, for work that is spread over processes or machines. The shares of one join
/// together find each pair once; processes may use different memory and threads. [`JoinPlan`]
/// describes the input of a share of a store.
///
/// [`JoinPlan`]: crate::join::JoinPlan
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Share {
    /// The number of the share, counted from 0.
    pub number: u32,
    /// The number of shares, 1 to 1024.
    pub count: u32,
}

impl Share {
    /// The only share of a join that is not divided.
    pub const WHOLE: Share = Share { number: 0, count: 1 };
    const COUNT_MAX: u32 = 1024;

    /// Whether partition number `partition` of `partitions` belongs to the share.
    pub(super) fn contains(self, partition: usize, partitions: usize) -> bool {
        partition * self.count as usize / partitions == self.number as usize
    }
}

/// The options of a join.
///
/// # Examples
///
/// ```
/// use fpstore::join::JoinOptions;
///
/// let options = JoinOptions::new(3).memory(1 << 30).threads(2);
/// ```
#[derive(Clone, Debug)]
pub struct JoinOptions {
    pub(super) k: u32,
    resources: Resources,
    pub(super) share: Share,
    max_pairs: Option<u64>,
    /// Bytes of the memory budget that the caller of the join uses itself.
    reserved: u64,
}

impl JoinOptions {
    /// Options for pairs within `k` bits, inclusive; `k` is 0 to 64.
    pub fn new(k: u32) -> Self {
        JoinOptions {
            k,
            resources: Resources::default(),
            share: Share::WHOLE,
            max_pairs: None,
            reserved: 0,
        }
    }

    resource_setters!();

    setters! {
        /// Sets the share of the join to compute. The default is [`Share::WHOLE`].
        share: Share,
        /// Sets the maximum number of pairs. If there are more, the join ends with
        /// [`Error::TooManyPairs`](crate::Error::TooManyPairs). The default is no limit.
        max_pairs: impl Into<Option<u64>>,
    }

    /// The same options with another distance.
    pub(super) fn at(&self, k: u32) -> Self {
        JoinOptions { k, ..self.clone() }
    }

    /// The same options, but `bytes` more bytes of the memory are for the caller of the join.
    pub(super) fn reserve(&self, bytes: u64) -> Self {
        JoinOptions { reserved: self.reserved + bytes, ..self.clone() }
    }

    /// The maximum number of pairs; `u64::MAX` without a limit.
    pub(super) fn pairs_max(&self) -> u64 {
        self.max_pairs.unwrap_or(u64::MAX)
    }

    pub(super) fn check(&self) -> Result<()> {
        check_distance(self.k)?;
        let Share { number, count } = self.share;
        if count == 0 || count > Share::COUNT_MAX || number >= count {
            let reason = format!(
                "share {number} of {count}, expected 1 to {} shares with numbers from 0",
                Share::COUNT_MAX
            );
            return Err(Error::InvalidOptions { reason });
        }
        Ok(())
    }

    /// The memory and threads of the join.
    pub(super) fn budget(&self) -> Result<WorkBudget> {
        if let Some(folder) = &self.resources.temp_dir {
            std::fs::read_dir(folder).map_err(Error::io("put temporary files into", folder))?;
        }
        let WorkBudget { memory, threads } = WorkBudget::of(&self.resources)?;
        // With very little memory a join would read its input very many times. It therefore gets a
        // minimum, even if the join and its caller together then exceed the budget.
        let least = memory / RESERVED_DIVISOR;
        Ok(WorkBudget { memory: memory.saturating_sub(self.reserved).max(least), threads })
    }

    /// The memory and threads of the join, and its directory for temporary files.
    #[cfg(feature = "write")]
    pub(super) fn sort_resources(&self) -> Result<SortResources> {
        let WorkBudget { memory, threads } = self.budget()?;
        let folder = SortResources::of(&self.resources, std::env::temp_dir)?.folder;
        Ok(SortResources { memory, threads, folder })
    }

    pub(super) fn watch(&self, phase: Phase, total: Option<u64>) -> Watch {
        Watch::new(self.resources.observer.clone(), phase, total)
    }
}
