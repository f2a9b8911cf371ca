//! What a join takes, and what it may use.

use std::path::PathBuf;

use crate::build::share_out;
use crate::error::{Error, Result};
use crate::fingerprint::Fingerprint;
use crate::sort::Resources;
use crate::store::Store;
use crate::watch::{Observer, Phase, Watch};

/// Fingerprints to be joined. Each counts once, however often it is there.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum JoinInput<'a> {
    /// These, in any order. If they are not sorted and distinct a copy is made that is.
    Fingerprints(&'a [Fingerprint]),
    /// All of a store.
    Store(&'a Store),
    /// Those of one segment of a store, by its position in [`StoreInfo`](crate::StoreInfo).
    Segment(&'a Store, usize),
}

impl JoinInput<'_> {
    /// Fingerprints of two recipes cannot be compared; those in memory have none.
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

/// A part of a join, for work that is spread over processes or machines. The parts of the same
/// join together find each pair once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Share {
    /// Which part, counted from 0.
    pub number: u32,
    /// How many parts there are, 1 to 1024.
    pub count: u32,
}

impl Share {
    /// All of it.
    pub const WHOLE: Share = Share { number: 0, count: 1 };
    const COUNT_MAX: u32 = 1024;

    /// Whether the share has this part of so many.
    pub(super) fn has(self, part: usize, parts: usize) -> bool {
        part * self.count as usize / parts == self.number as usize
    }
}

/// How to join.
///
/// # Examples
///
/// ```
/// use fpstore::JoinOptions;
///
/// let mut options = JoinOptions::new(3);
/// options.memory = Some(1 << 30);
/// options.threads = Some(2);
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct JoinOptions {
    /// The distance in bits, inclusive, 0 to 64.
    pub k: u32,
    /// Bytes of memory that the join may take, at least
    /// [`BuildOptions::memory_min`](crate::BuildOptions::memory_min); `None` is a quarter of what the
    /// machine or its control group has. What does not fit is read again or goes to temporary
    /// files; only fingerprints that agree on the whole first block of bits are held together. What is found is the same for any.
    pub memory: Option<u64>,
    /// Threads that work at a time; `None` is one for each core.
    pub threads: Option<usize>,
    /// The directory for temporary files, which vanish with the process; `None` is the one that the
    /// system has for them.
    pub temp_dir: Option<PathBuf>,
    /// Who is told how far the join is, and may end it.
    pub observer: Option<Observer>,
    /// Which part of the join to do.
    pub share: Share,
    /// How many pairs may be found before it ends with
    /// [`Error::TooManyPairs`](crate::Error::TooManyPairs).
    pub max_pairs: Option<u64>,
    /// Bytes of the memory that are taken by something else.
    pub(super) held: u64,
}

impl JoinOptions {
    /// Everything within `k` bits.
    pub fn new(k: u32) -> Self {
        JoinOptions {
            k,
            memory: None,
            threads: None,
            temp_dir: None,
            observer: None,
            share: Share::WHOLE,
            max_pairs: None,
            held: 0,
        }
    }

    pub(super) fn check(&self) -> Result<()> {
        if self.k > 64 {
            return Err(Error::InvalidDistance { k: self.k });
        }
        let Share { number, count } = self.share;
        if count == 0 || count > Share::COUNT_MAX || number >= count {
            let reason = format!(
                "share {number} of {count}, expected a number below a count of 1 to {}",
                Share::COUNT_MAX
            );
            return Err(Error::InvalidOptions { reason });
        }
        Ok(())
    }

    pub(super) fn resources(&self) -> Result<Resources> {
        let folder = self.temp_dir.clone().unwrap_or_else(std::env::temp_dir);
        std::fs::read_dir(&folder).map_err(Error::io("put temporary files into", &folder))?;
        let mut resources = share_out(self.memory, self.threads, folder)?;
        resources.memory = resources.memory.saturating_sub(self.held);
        Ok(resources)
    }

    pub(super) fn watch(&self, phase: Phase, total: Option<u64>) -> Watch {
        Watch::new(self.observer.clone(), phase, total)
    }
}
