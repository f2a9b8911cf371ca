//! Finds near pairs of fingerprints: in any order, sorted, as pairs of documents, or as a sample
//! for people to judge.
//!
//! The sample is found by searches, all other pairs by a run of the join engine.

#[cfg(feature = "write")]
pub(in crate::join) mod document_lookup;
#[cfg(feature = "write")]
pub(in crate::join) mod document_pairs;
#[cfg(feature = "write")]
pub(crate) mod nearest_others;
#[cfg(feature = "write")]
pub(in crate::join) mod sampled_pairs;
#[cfg(feature = "write")]
pub(in crate::join) mod sorted_pairs;

use crate::base::error::{Error, Result};
use crate::join::engine::callback::CallbackError;
use crate::join::engine::finder::ValuePair;
use crate::join::engine::one_join::Join;
use crate::join::engine::values::JoinValues;
use crate::join::options::{JoinInput, JoinOptions};
use crate::join::shares::{JoinPlan, PlanReads};
use fpstore_base::Fingerprint;

/// Two fingerprints within the distance of a join.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Pair {
    /// The smaller fingerprint; in a join of two sets, the fingerprint from the first set.
    pub first: Fingerprint,
    /// The other fingerprint.
    pub second: Fingerprint,
}

impl Pair {
    /// The distance of the two fingerprints in bits.
    pub fn distance(&self) -> u32 {
        self.first.distance(self.second)
    }
}

/// Finds every pair of different fingerprints of a set within the distance of the options, each
/// once, in any order, and calls `each` with some pairs at a time, on one thread at a time.
///
/// Pairs are not kept, so memory stays within the budget of the options. If the fingerprints of a
/// store do not fit into memory, the store is read again for each pass. For pairs in order see
/// [`sorted_pairs`].
///
/// With a [share](JoinOptions::share), finds the pairs of that share. The share of a store is
/// defined by its [`JoinPlan::of`]: it reads a range of some tables if the store has suitable
/// tables, otherwise all fingerprints.
///
/// [`sorted_pairs`]: crate::join::sorted_pairs
///
/// # Errors
///
/// * [`Error::InvalidDistance`] if the distance is above 64, [`Error::InvalidOptions`] if the
///   memory is too small for the number of threads, or if the share or the segment does not exist.
/// * [`Error::Corrupt`] if a store is damaged.
/// * [`Error::TooManyPairs`] if there are more pairs than the options allow.
/// * [`Error::Interrupted`] if the observer ends the join.
/// * Any error that `each` returns.
///
/// Before an error `each` may have been called with some pairs.
///
/// # Examples
///
/// ```
/// use fpstore::Fingerprint;
/// use fpstore::join::{JoinOptions, near_pairs};
///
/// let pages = [0b0000, 0b0111, 0b1111].map(Fingerprint::new);
/// let mut distances = Vec::new();
/// near_pairs(pages.as_slice(), &JoinOptions::new(3), |pairs| {
///     distances.extend(pairs.iter().map(|pair| pair.distance()));
///     Ok::<(), fpstore::Error>(())
/// })?;
/// distances.sort();
/// assert_eq!(distances, [1, 3]);
/// # Ok::<(), fpstore::Error>(())
/// ```
///
/// # Source
///
/// Manku, Jain and Das Sarma, "Detecting Near-Duplicates for Web Crawling", WWW 2007: near
/// fingerprints agree on some blocks of bits. Here a pair is found only at the first blocks on
/// which it agrees, so found pairs need not be remembered.
pub fn near_pairs<'a, E: From<Error> + Send>(
    input: impl Into<JoinInput<'a>>,
    options: &JoinOptions,
    each: impl FnMut(&[Pair]) -> Result<(), E> + Send,
) -> Result<(), E> {
    options.check()?;
    let input = input.into();
    let part = match input {
        JoinInput::Fingerprints(_) => None,
        JoinInput::Store(store) => Some(store.pinned()),
        JoinInput::Segment(store, number) => Some(store.part(&[number])),
    };
    if options.share.count > 1
        && options.k < 64
        && let Some(store) = part
    {
        let plan = JoinPlan::of(&store, options.k)?;
        if plan.reads() == PlanReads::Ranges {
            return plan.pairs_of_share(&store, options, each);
        }
    }
    let resources = options.budget()?;
    let values = JoinValues::open(input, resources.memory / 2, resources.threads)?;
    emit_pairs(options, ascending, each, |emit| {
        Join::new(vec![values], options, resources).run(emit)
    })
}

/// Calls `run`, which runs a join, and passes the pairs that it finds to `each`; `pair_of` makes a
/// pair of two found values.
pub(in crate::join) fn emit_pairs<E: From<Error> + Send>(
    options: &JoinOptions,
    pair_of: impl Fn(ValuePair) -> Pair + Sync,
    mut each: impl FnMut(&[Pair]) -> Result<(), E> + Send,
    run: impl FnOnce(&mut (dyn FnMut(&mut Vec<ValuePair>) -> Result<()> + Send)) -> Result<()>,
) -> Result<(), E> {
    let mut batch = Vec::new();
    let (mut count, most) = (0, options.pairs_max());
    let mut failed = CallbackError::default();
    let joined = run(&mut |found| {
        batch.clear();
        batch.extend(found.drain(..).map(&pair_of));
        count += batch.len() as u64;
        if count > most {
            return Err(Error::TooManyPairs { most });
        }
        failed.check(each(&batch))
    });
    failed.result(joined)
}

/// The pair of two values of one set: the smaller value comes first.
pub(in crate::join) fn ascending((one, other): ValuePair) -> Pair {
    Pair { first: one.min(other).into(), second: one.max(other).into() }
}

/// Finds every pair of a fingerprint of `new` and a fingerprint of `stored` within the distance of
/// the options, equal fingerprints included, each once, in any order, and calls `each` with some
/// pairs at a time, on one thread at a time.
///
/// # Errors
///
/// The errors of [`near_pairs`], and [`Error::RecipeMismatch`] if two stores have different
/// recipes.
///
/// # Examples
///
/// ```
/// use fpstore::Fingerprint;
/// use fpstore::join::{JoinOptions, near_pairs_across};
///
/// let new = [7, 8].map(Fingerprint::new);
/// let stored = [7, 0xff00].map(Fingerprint::new);
/// let mut found = Vec::new();
/// near_pairs_across(new.as_slice(), stored.as_slice(), &JoinOptions::new(3), |pairs| {
///     found.extend(pairs.iter().map(|pair| (pair.first.value(), pair.second.value())));
///     Ok::<(), fpstore::Error>(())
/// })?;
/// assert_eq!(found, [(7, 7)]);
/// # Ok::<(), fpstore::Error>(())
/// ```
pub fn near_pairs_across<'a, 'b, E: From<Error> + Send>(
    new: impl Into<JoinInput<'a>>,
    stored: impl Into<JoinInput<'b>>,
    options: &JoinOptions,
    each: impl FnMut(&[Pair]) -> Result<(), E> + Send,
) -> Result<(), E> {
    options.check()?;
    let (new, stored) = (new.into(), stored.into());
    new.check_recipe(&stored)?;
    let resources = options.budget()?;
    let new = JoinValues::open(new, resources.memory / 4, resources.threads)?;
    let memory = (resources.memory / 2).saturating_sub(new.memory_len());
    let stored = JoinValues::open(stored, memory, resources.threads)?;
    let pair_of = |(first, second): ValuePair| Pair { first: first.into(), second: second.into() };
    emit_pairs(options, pair_of, each, |emit| {
        Join::new(vec![new, stored], options, resources).run(emit)
    })
}
