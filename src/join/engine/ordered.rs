//! Reads values in the order of a table: values that agree on a leading block of it are adjacent.

use std::ops::Range;
use std::sync::Arc;

use super::values::{JoinValues, Piece};
use crate::base::error::Result;
use crate::base::side_by_side::Part;
use crate::bytes::permutation::Permutation;
use crate::join::shares::range::TableOfStore;
use fpstore_base::Fingerprint;

/// The mask of a table in natural order, which is ascending order.
const NATURAL: u64 = u64::MAX;

/// The values of a side in the order of a table, read a range at a time.
#[derive(Debug)]
pub(super) enum Ordered<'a> {
    /// Fingerprints of the caller, ascending.
    Fingerprints(&'a [Fingerprint]),
    /// Values in memory, ascending.
    Values(Arc<Vec<u64>>),
    Stored(TableOfStore),
}

impl JoinValues<'_> {
    /// The masks of the tables in whose order the values can be read.
    pub(super) fn orders(&self) -> Vec<u64> {
        if let Some(store) = self.tables() {
            let tables = TableOfStore::all(store).into_iter();
            return tables.filter(TableOfStore::knows_deleted).map(|table| table.mask).collect();
        }
        self.ordered(NATURAL).map_or(Vec::new(), |_| vec![NATURAL])
    }

    /// The values in the order of the table with this mask, if they can be read in this order.
    pub(super) fn ordered(&self, mask: u64) -> Option<Ordered<'_>> {
        let is_natural = |mask: u64| Permutation::new(mask).is_identity();
        match self {
            JoinValues::Borrowed(fingerprints) if is_natural(mask) => {
                return Some(Ordered::Fingerprints(fingerprints));
            }
            JoinValues::Owned { values, ascends: true, .. } if is_natural(mask) => {
                return Some(Ordered::Values(Arc::clone(values)));
            }
            _ => {}
        }
        let store = self.tables()?;
        let is_same = |of: u64| of == mask || is_natural(of) && is_natural(mask);
        let table = TableOfStore::all(store).into_iter().find(|table| is_same(table.mask))?;
        table.knows_deleted().then_some(Ordered::Stored(table))
    }
}

impl Ordered<'_> {
    /// For each prefix of `bits` bits (1 to 63), an upper bound of the number of values with it.
    pub(super) fn counts(&self, bits: u32) -> Result<Vec<u64>> {
        (0..1 << bits)
            .map(|prefix| match self {
                Ordered::Fingerprints(all) => Ok(range(all, bits, prefix).len() as u64),
                Ordered::Values(all) => Ok(range(all, bits, prefix).len() as u64),
                Ordered::Stored(table) => Ok(table.clone().with_prefix(bits, prefix)?.count_max),
            })
            .collect()
    }

    /// Calls `each` with the values whose first `bits` bits (1 to 63), in the order of the table,
    /// are `prefix`, some values at a time. The values of each segment of a store are passed in the
    /// order of the table.
    pub(super) fn read(
        &self,
        bits: u32,
        prefix: u64,
        mut each: impl FnMut(&[u64]) -> Result<()>,
    ) -> Result<()> {
        match self {
            Ordered::Fingerprints(all) => {
                JoinValues::Borrowed(&all[range(all, bits, prefix)]).read(Piece::whole(0), each)
            }
            Ordered::Values(all) => each(&all[range(all, bits, prefix)]),
            Ordered::Stored(table) => {
                table.clone().with_prefix(bits, prefix)?.read(Part::WHOLE, &mut each)
            }
        }
    }

    /// Whether the values are from several segments, so that a value may be read more than once.
    /// Then only the values of each segment are in order.
    pub(super) fn may_repeat(&self) -> bool {
        match self {
            Ordered::Fingerprints(_) | Ordered::Values(_) => false,
            Ordered::Stored(table) => table.may_repeat(),
        }
    }

    /// Advises the system that all values will be read in order, or that this has ended.
    pub(super) fn advise(&self, is_sequential: bool) {
        if let Ordered::Stored(table) = self {
            table.advise(is_sequential);
        }
    }
}

/// The positions of the values with a prefix in an ascending slice.
fn range<T: Copy + Into<Fingerprint>>(all: &[T], bits: u32, prefix: u64) -> Range<usize> {
    let shift = 64 - bits;
    let before = |limit: u64| all.partition_point(|&of| of.into().value() >> shift < limit);
    before(prefix)..before(prefix + 1)
}
