//! The read-only values that all steps of a search of one segment share.

use std::cell::Cell;

use crate::scheme::Radius;
use crate::search::kernel::Kernel;
use crate::search::table_query::TableQuery;
use crate::segment::{Segment, TableReader};

#[derive(Clone, Copy)]
pub(super) struct Context<'a> {
    pub(super) segment: &'a Segment,
    pub(super) radii: &'a [Radius],
    pub(super) queries: &'a [TableQuery],
    pub(super) kernel: Kernel,
    pub(super) k: u32,
    pub(super) pages_checked: &'a Cell<u64>,
}

impl<'a> Context<'a> {
    /// The query at a position of the list, and the table that it searches.
    #[inline(always)]
    pub(super) fn query(&self, position: u32) -> (&'a TableQuery, TableReader<'a>) {
        let query = &self.queries[position as usize];
        let table = self.segment.table(query.table).expect("queries are made of tables");
        (query, table.counting(self.pages_checked))
    }

    /// The position of the first table whose radius covers the difference `diff` between a stored
    /// value and the needle. Only this table reports the hit.
    #[inline]
    pub(super) fn reporting_table(&self, diff: u64) -> Option<usize> {
        reporting_table(self.segment, self.radii, diff)
    }
}

/// See [`Context::reporting_table`].
#[inline]
pub(in crate::search) fn reporting_table(
    segment: &Segment,
    radii: &[Radius],
    diff: u64,
) -> Option<usize> {
    let masks = segment.header().tables.iter().map(|table| table.mask.0);
    masks.zip(radii).position(|(mask, radius)| {
        radius.is_some_and(|radius| (diff & mask).count_ones() <= radius)
    })
}
