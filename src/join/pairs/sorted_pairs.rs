//! Finds near pairs in order, and keeps them in memory or in temporary files.
//!
//! A join finds pairs in any order. An external sort sorts them by first fingerprint. Pairs with
//! the same first fingerprint are then sorted in memory by second fingerprint.

use super::{Pair, near_pairs, near_pairs_across};
use crate::base::error::{Error, Result};
use crate::join::engine::callback::CallbackError;
use crate::join::options::{JoinInput, JoinOptions};
use crate::writing::sort::{RecordBatch, RecordSorter, SortResources, SortedRecords};
use fpstore_base::{Fingerprint, IdRef};

/// Near pairs, sorted by first, then by second fingerprint; in memory or in temporary files.
///
/// The pairs with the same first fingerprint are in memory together: at most 43 744 pairs at k = 3.
#[derive(Debug)]
pub struct SortedPairs {
    records: SortedRecords,
}

impl SortedPairs {
    /// The number of pairs.
    pub fn len(&self) -> u64 {
        self.records.count
    }

    /// Whether there is no pair.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Calls `each` with each pair, in order. Can be called any number of times.
    ///
    /// # Errors
    ///
    /// [`Error::Io`] if temporary files cannot be read, and any error that `each` returns.
    pub fn for_each<E: From<Error>>(
        &self,
        mut each: impl FnMut(Pair) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut partners = Partners::default();
        let mut failed = CallbackError::default();
        let passed = self.records.pass(|first, second| {
            let Some(IdRef::U64(second)) = second.get() else { return Ok(()) };
            if first != partners.first {
                failed.check(partners.flush(&mut each))?;
                partners.first = first;
            }
            partners.seconds.push(second);
            Ok(())
        });
        failed.result(passed)?;
        partners.flush(&mut each)
    }
}

/// A first fingerprint and all second fingerprints of its pairs.
#[derive(Default)]
struct Partners {
    first: u64,
    seconds: Vec<u64>,
}

impl Partners {
    /// Calls `each` with the pairs of this first fingerprint in order, and removes the pairs.
    fn flush<E>(&mut self, each: &mut impl FnMut(Pair) -> Result<(), E>) -> Result<(), E> {
        self.seconds.sort_unstable();
        let first = Fingerprint::new(self.first);
        let pair = |second| Pair { first, second: Fingerprint::new(second) };
        self.seconds.drain(..).try_for_each(|second| each(pair(second)))
    }
}

/// Finds every pair of different fingerprints of a set within the distance of the options, each
/// once, and sorts them.
///
/// # Errors
///
/// The same as [`near_pairs`].
///
/// # Examples
///
/// ```
/// use fpstore::Fingerprint;
/// use fpstore::join::{JoinOptions, sorted_pairs};
///
/// let pages = [0b1111, 0b0000, 0b0111].map(Fingerprint::new);
/// let pairs = sorted_pairs(pages.as_slice(), &JoinOptions::new(3))?;
/// let mut seconds = Vec::new();
/// pairs.for_each(|pair| {
///     seconds.push(pair.second.value());
///     Ok::<(), fpstore::Error>(())
/// })?;
/// assert_eq!(seconds, [0b0111, 0b1111]);
/// # Ok::<(), fpstore::Error>(())
/// ```
pub fn sorted_pairs<'a>(
    input: impl Into<JoinInput<'a>>,
    options: &JoinOptions,
) -> Result<SortedPairs> {
    let (mut sorter, options) = PairSorter::new(options)?;
    near_pairs(input, &options, |pairs| sorter.push(pairs))?;
    sorter.finish()
}

/// Finds every pair of a fingerprint of `new` and a fingerprint of `stored` within the distance of
/// the options, each once, and sorts them.
///
/// # Errors
///
/// The same as [`near_pairs_across`].
pub fn sorted_pairs_across<'a, 'b>(
    new: impl Into<JoinInput<'a>>,
    stored: impl Into<JoinInput<'b>>,
    options: &JoinOptions,
) -> Result<SortedPairs> {
    let (mut sorter, options) = PairSorter::new(options)?;
    near_pairs_across(new, stored, &options, |pairs| sorter.push(pairs))?;
    sorter.finish()
}

/// The sorter gets the memory divided by this number, the join gets the rest.
const SORTER_DIVISOR: u64 = 4;

/// Sorts the pairs of a join, and limits their number.
pub(in crate::join) struct PairSorter {
    sorter: RecordSorter,
    pub(in crate::join) most: u64,
    /// Number of pairs of documents that count against the limit without being pushed.
    pub(in crate::join) unsorted: u64,
}

impl PairSorter {
    /// A sorter, and the options of a join that runs while the sorter takes its part of the memory.
    pub(in crate::join) fn new(options: &JoinOptions) -> Result<(Self, JoinOptions)> {
        options.check()?;
        let resources = options.sort_resources()?;
        let memory = resources.memory / SORTER_DIVISOR;
        let sorter = RecordSorter::new(SortResources { memory, ..resources }, false);
        let sorter = PairSorter { sorter, most: options.pairs_max(), unsorted: 0 };
        Ok((sorter, options.reserve(memory)))
    }

    pub(in crate::join) fn push(&mut self, pairs: &[Pair]) -> Result<()> {
        let mut batch = RecordBatch::default();
        for pair in pairs {
            batch.push(pair.first.value(), IdRef::U64(pair.second.value()));
        }
        self.sorter.push_batch(&batch)?;
        if self.sorter.count() + self.unsorted > self.most {
            return Err(Error::TooManyPairs { most: self.most });
        }
        Ok(())
    }

    pub(in crate::join) fn finish(self) -> Result<SortedPairs> {
        Ok(SortedPairs { records: self.sorter.finish()? })
    }
}
