//! The inputs of a join, and the options of all joins.

use std::path::PathBuf;

use crate::budget::share_out;
use crate::error::{Error, Result};
use crate::sort::Resources;
use crate::store::Store;
use fpstore_base::Fingerprint;
use fpstore_base::watch::{Observer, Phase, Watch};

/// Fingerprints to be joined. A fingerprint that occurs several times counts once.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum JoinInput<'a> {
    /// These, in any order. If they are not sorted and distinct, the join makes a copy that is.
    Fingerprints(&'a [Fingerprint]),
    /// All fingerprints of a store.
    Store(&'a Store),
    /// The fingerprints of one segment of a store, by its position in
    /// [`StoreInfo::segments`](crate::info::StoreInfo::segments).
    Segment(&'a Store, usize),
}

impl JoinInput<'_> {
    /// Refuses two stores of different recipes. Fingerprints in memory have no recipe.
    pub(super) fn check_recipe(&self, other: &JoinInput<'_>) -> Result<()> {
        let recipe = |input: &JoinInput<'_>| match input {
            JoinInput::Fingerprints(_) => None,
            JoinInput::Store(store) | JoinInput::Segment(store, _) => store.recipe(),
        };
        match (recipe(other), recipe(self)) {
            (Some(store), Some(given)) if store != given => {
                Err(Error::RecipeMismatch { store, given })
            }
            _ => Ok(()),
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

/// A part of a join, for work that is spread over processes or machines. The shards of one join
/// find each pair once together, whatever the memory and threads of each; [`JoinPlan`] says what a
/// shard of a store reads.
///
/// [`JoinPlan`]: crate::join::JoinPlan
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shard {
    /// The number of the shard, counted from 0.
    pub number: u32,
    /// The number of shards, 1 to 1024.
    pub count: u32,
}

impl Shard {
    /// The only shard of a join that is not divided.
    pub const WHOLE: Shard = Shard { number: 0, count: 1 };
    const COUNT_MAX: u32 = 1024;

    /// Whether the shard has the partition number `partition` of `partitions`.
    pub(super) fn contains(self, partition: usize, partitions: usize) -> bool {
        partition * self.count as usize / partitions == self.number as usize
    }
}

/// How to join.
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
    memory: Option<u64>,
    threads: Option<usize>,
    temp_dir: Option<PathBuf>,
    observer: Option<Observer>,
    pub(super) shard: Shard,
    max_pairs: Option<u64>,
    /// Bytes of the memory that the caller of the join uses itself.
    reserved: u64,
}

impl JoinOptions {
    /// All pairs within `k` bits, inclusive, 0 to 64.
    pub fn new(k: u32) -> Self {
        JoinOptions {
            k,
            memory: None,
            threads: None,
            temp_dir: None,
            observer: None,
            shard: Shard::WHOLE,
            max_pairs: None,
            reserved: 0,
        }
    }

    /// Sets the bytes of memory that the join may take, at least
    /// [`BuildOptions::memory_min`](crate::BuildOptions::memory_min). The default is a quarter of
    /// the memory of the machine or its control group.
    ///
    /// What does not fit is read again or goes to temporary files. The pairs are the same for
    /// any memory.
    #[must_use]
    pub fn memory(mut self, bytes: impl Into<Option<u64>>) -> Self {
        self.memory = bytes.into();
        self
    }

    /// Sets the number of threads that work at the same time. The default is one for each core.
    #[must_use]
    pub fn threads(mut self, threads: impl Into<Option<usize>>) -> Self {
        self.threads = threads.into();
        self
    }

    /// Sets the directory for temporary files, which vanish with the process. The default is the
    /// system's.
    #[must_use]
    pub fn temp_dir(mut self, directory: impl Into<Option<PathBuf>>) -> Self {
        self.temp_dir = directory.into();
        self
    }

    /// Sets the observer, which gets the progress of the join and may end it.
    #[must_use]
    pub fn observer(mut self, observer: impl Into<Option<Observer>>) -> Self {
        self.observer = observer.into();
        self
    }

    /// Sets which shard of the join to do. The default is [`Shard::WHOLE`].
    #[must_use]
    pub fn shard(mut self, shard: Shard) -> Self {
        self.shard = shard;
        self
    }

    /// Sets the largest number of pairs. With one more the join ends with
    /// [`Error::TooManyPairs`](crate::Error::TooManyPairs). The default is any number.
    #[must_use]
    pub fn max_pairs(mut self, count: impl Into<Option<u64>>) -> Self {
        self.max_pairs = count.into();
        self
    }

    /// The same options with `bytes` more of the memory used by the caller of the join.
    pub(super) fn reserve(&self, bytes: u64) -> Self {
        JoinOptions { reserved: self.reserved + bytes, ..self.clone() }
    }

    /// The largest number of pairs.
    pub(super) fn pairs_max(&self) -> u64 {
        self.max_pairs.unwrap_or(u64::MAX)
    }

    pub(super) fn check(&self) -> Result<()> {
        if self.k > 64 {
            return Err(Error::InvalidDistance { k: self.k });
        }
        let Shard { number, count } = self.shard;
        if count == 0 || count > Shard::COUNT_MAX || number >= count {
            let reason = format!(
                "shard {number} of {count}, expected a number below a count of 1 to {}",
                Shard::COUNT_MAX
            );
            return Err(Error::InvalidOptions { reason });
        }
        Ok(())
    }

    pub(super) fn resources(&self) -> Result<Resources> {
        let folder = self.temp_dir.clone().unwrap_or_else(std::env::temp_dir);
        std::fs::read_dir(&folder).map_err(Error::io("put temporary files into", &folder))?;
        let mut resources = share_out(self.memory, self.threads, folder)?;
        resources.memory = resources.memory.saturating_sub(self.reserved);
        Ok(resources)
    }

    pub(super) fn watch(&self, phase: Phase, total: Option<u64>) -> Watch {
        Watch::new(self.observer.clone(), phase, total)
    }
}
