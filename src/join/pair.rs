//! Near pairs of fingerprints as they are found.

use super::near::RawPair;
use super::options::{JoinInput, JoinOptions};
use super::run::Join;
use super::source::Source;
use crate::error::{Error, Result};
use crate::fingerprint::Fingerprint;

/// Two fingerprints that lie within the distance asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Pair {
    /// The smaller one of a set; the asking one of two sets.
    pub first: Fingerprint,
    /// The other.
    pub second: Fingerprint,
}

impl Pair {
    /// The distance in bits.
    pub fn distance(&self) -> u32 {
        self.first.distance(self.second)
    }
}

/// Finds every pair of different fingerprints of a set within `options.k` bits, each once, in any
/// order, and hands them to `each` some at a time, on one thread at a time.
///
/// Nothing is kept of them, so memory stays within `options.memory` however many there are. Where the input is
/// too large for it, a store is read again for each part. For pairs in order see
/// [`sorted_pairs`](crate::sorted_pairs).
///
/// # Errors
///
/// * [`Error::InvalidDistance`] if `options.k` is above 64,
///   [`Error::InvalidOptions`] if the memory is too little for the threads, or
///   there is no such share or segment.
/// * [`Error::Corrupt`] if a store is damaged.
/// * [`Error::TooManyPairs`] past `options.max_pairs`.
/// * [`Error::Interrupted`] if the observer says so, and whatever `each`
///   returns.
///
/// After an error some pairs may have been handed out.
///
/// # Examples
///
/// ```
/// use fpstore::{Fingerprint, JoinOptions, near_pairs};
///
/// let pages = [0b0000, 0b0111, 0b1111].map(Fingerprint::new);
/// let mut distances = Vec::new();
/// near_pairs(pages.as_slice(), &JoinOptions::new(3), |pairs| {
///     distances.extend(pairs.iter().map(|pair| pair.distance()));
///     Ok(())
/// })?;
/// distances.sort();
/// assert_eq!(distances, [1, 3]);
/// # Ok::<(), fpstore::Error>(())
/// ```
///
/// # Source
///
/// Manku, Jain and Das Sarma, "Detecting Near-Duplicates for Web Crawling", WWW 2007: what is near
/// agrees on some blocks. That a pair counts where its first agreeing blocks are takes the place of a set.
pub fn near_pairs<'a>(
    input: impl Into<JoinInput<'a>>,
    options: &JoinOptions,
    mut each: impl FnMut(&[Pair]) -> Result<()> + Send,
) -> Result<()> {
    options.check()?;
    let resources = options.resources()?;
    let source = Source::open(input.into(), resources.memory / 2)?;
    let mut batch = Vec::new();
    let mut limit = Limit { most: options.max_pairs.unwrap_or(u64::MAX), found: 0 };
    Join::new(vec![source], options, resources).run(&mut |found| {
        batch.clear();
        batch.extend(found.drain(..).map(|(one, other)| pair_of((one.min(other), one.max(other)))));
        limit.count(batch.len())?;
        each(&batch)
    })
}

/// Finds every pair of a fingerprint of `new` and one of `stored` within `options.k` bits, also equal
/// ones, each once, in any order, and hands them to `each` some at a time, on one thread at a time.
///
/// # Errors
///
/// As [`near_pairs`], and [`Error::RecipeMismatch`] if two stores
/// hold fingerprints made in different ways.
///
/// # Examples
///
/// ```
/// use fpstore::{Fingerprint, JoinOptions, near_pairs_across};
///
/// let new = [7, 8].map(Fingerprint::new);
/// let stored = [7, 0xff00].map(Fingerprint::new);
/// let mut found = Vec::new();
/// near_pairs_across(new.as_slice(), stored.as_slice(), &JoinOptions::new(3), |pairs| {
///     found.extend(pairs.iter().map(|pair| (pair.first.value(), pair.second.value())));
///     Ok(())
/// })?;
/// assert_eq!(found, [(7, 7)]);
/// # Ok::<(), fpstore::Error>(())
/// ```
pub fn near_pairs_across<'a, 'b>(
    new: impl Into<JoinInput<'a>>,
    stored: impl Into<JoinInput<'b>>,
    options: &JoinOptions,
    mut each: impl FnMut(&[Pair]) -> Result<()> + Send,
) -> Result<()> {
    options.check()?;
    let (new, stored) = (new.into(), stored.into());
    new.check_recipe(&stored)?;
    let resources = options.resources()?;
    let new = Source::open(new, resources.memory / 4)?;
    let room = (resources.memory / 2).saturating_sub(new.memory_len());
    let stored = Source::open(stored, room)?;
    let mut batch = Vec::new();
    let mut limit = Limit { most: options.max_pairs.unwrap_or(u64::MAX), found: 0 };
    Join::new(vec![new, stored], options, resources).run(&mut |found| {
        batch.clear();
        batch.extend(found.drain(..).map(pair_of));
        limit.count(batch.len())?;
        each(&batch)
    })
}

fn pair_of((first, second): RawPair) -> Pair {
    Pair { first: Fingerprint::new(first), second: Fingerprint::new(second) }
}

/// Counts pairs, and has enough of them some time.
struct Limit {
    most: u64,
    found: u64,
}

impl Limit {
    fn count(&mut self, more: usize) -> Result<()> {
        self.found += more as u64;
        if self.found > self.most { Err(Error::TooManyPairs { most: self.most }) } else { Ok(()) }
    }
}
