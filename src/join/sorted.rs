//! Near pairs in order: in memory, or in temporary files.

use super::options::{JoinInput, JoinOptions};
use super::pair::{Pair, near_pairs, near_pairs_across};
use crate::error::{Error, Result};
use crate::fingerprint::Fingerprint;
use crate::id::IdRef;
use crate::sort::{RecordBatch, RecordSorter, Resources, SortedRecords};

/// Pairs by ascending first fingerprint, then second: in memory, or in temporary files.
///
/// The partners of one fingerprint are held together: at k = 3 these are 43 744 at most.
#[derive(Debug)]
pub struct SortedPairs {
    records: SortedRecords,
}

impl SortedPairs {
    /// How many there are.
    pub fn len(&self) -> u64 {
        self.records.count
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Hands all pairs to `each`, in order. It can be done any number of times.
    ///
    /// # Errors
    ///
    /// [`Error::Io`] if temporary files cannot be read, and whatever `each` returns.
    pub fn for_each<E: From<Error>>(
        &self,
        mut each: impl FnMut(Pair) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut group = Group::default();
        let mut failed = None;
        let passed = self.records.pass(|first, second| {
            let Some(IdRef::U64(second)) = second.get() else { return Ok(()) };
            let handed = if first == group.first { Ok(()) } else { group.hand_over(&mut each) };
            group.first = first;
            group.seconds.push(second);
            handed.map_err(|error| {
                failed = Some(error);
                Error::Interrupted
            })
        });
        match failed {
            Some(error) => Err(error),
            None => {
                passed?;
                group.hand_over(&mut each)
            }
        }
    }
}

/// The pairs of one first fingerprint.
#[derive(Default)]
struct Group {
    first: u64,
    seconds: Vec<u64>,
}

impl Group {
    fn hand_over<E>(&mut self, each: &mut impl FnMut(Pair) -> Result<(), E>) -> Result<(), E> {
        self.seconds.sort_unstable();
        let first = Fingerprint::new(self.first);
        let pair = |second| Pair { first, second: Fingerprint::new(second) };
        self.seconds.drain(..).try_for_each(|second| each(pair(second)))
    }
}

/// Finds every pair of different fingerprints of a set within `options.k` bits, each once, and sorts them.
///
/// # Errors
///
/// As [`near_pairs`], and [`Error::TooManyPairs`] past `options.max_pairs`.
///
/// # Examples
///
/// ```
/// use fpstore::{Fingerprint, JoinOptions, sorted_pairs};
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
    let mut sorting = Sorting::new(options)?;
    let options = sorting.options(options);
    near_pairs(input, &options, |pairs| sorting.push(pairs))?;
    sorting.finish()
}

/// Finds every pair of a fingerprint of `new` and one of `stored` within `options.k` bits, each
/// once, and sorts them.
///
/// # Errors
///
/// As [`near_pairs_across`], and [`Error::TooManyPairs`] past `options.max_pairs`.
pub fn sorted_pairs_across<'a, 'b>(
    new: impl Into<JoinInput<'a>>,
    stored: impl Into<JoinInput<'b>>,
    options: &JoinOptions,
) -> Result<SortedPairs> {
    let mut sorting = Sorting::new(options)?;
    let options = sorting.options(options);
    near_pairs_across(new, stored, &options, |pairs| sorting.push(pairs))?;
    sorting.finish()
}

/// Sorts pairs within a part of the memory.
pub(super) struct Sorting {
    sorter: RecordSorter,
    resources: Resources,
    pub(super) most: u64,
    /// Pairs of documents that are counted but not sorted one by one.
    pub(super) unsorted: u64,
}

/// The part of the memory that sorting gets.
const SORTING_SHARE: u64 = 4;

impl Sorting {
    pub(super) fn new(options: &JoinOptions) -> Result<Self> {
        options.check()?;
        let resources = options.resources()?;
        let most = options.max_pairs.unwrap_or(u64::MAX);
        let own = Resources { memory: resources.memory / SORTING_SHARE, ..resources.clone() };
        let sorter = RecordSorter::new(own, false);
        Ok(Sorting { sorter, resources, most, unsorted: 0 })
    }

    /// The options for the join, which gets the rest of the memory.
    pub(super) fn options(&self, options: &JoinOptions) -> JoinOptions {
        let held = self.resources.memory / SORTING_SHARE;
        JoinOptions { held: options.held + held, ..options.clone() }
    }

    pub(super) fn push(&mut self, pairs: &[Pair]) -> Result<()> {
        let mut batch = RecordBatch::default();
        for pair in pairs {
            batch.push(pair.first.value(), IdRef::U64(pair.second.value()));
        }
        self.sorter.push_batch(&batch)?;
        self.check()
    }

    fn check(&self) -> Result<()> {
        if self.sorter.count() + self.unsorted > self.most {
            return Err(Error::TooManyPairs { most: self.most });
        }
        Ok(())
    }

    pub(super) fn finish(self) -> Result<SortedPairs> {
        Ok(SortedPairs { records: self.sorter.finish()? })
    }
}
