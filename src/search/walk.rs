//! One table at a time: what a batch of queries, sorted as the table is, walks along.

use crate::error::Result;
use crate::fingerprint::Fingerprint;
use crate::scheme::Radius;
use crate::search::answer::{Found, Work};
use crate::search::probe::{Place, ProbeScratch, Sink, probe_table};
use crate::segment::Mapped;

/// Asks single tables, and keeps its memory from one call to the next.
#[derive(Debug, Default)]
pub(crate) struct Walker {
    scratch: ProbeScratch,
    work: Work,
}

impl Walker {
    /// Adds to `found` the matches within `k` bits that one table of a segment reports for each of the
    /// numbered queries, if all tables are probed with `radii`; `number` is the segment's position.
    ///
    /// Once there are more than `room` matches, the rest may be left out.
    ///
    /// The queries share the passes over index lines, heads and tails, so hundreds of cache lines are
    /// on their way at any time.
    pub(crate) fn ask(
        &mut self,
        (number, segment): (usize, &Mapped),
        radii: &[Radius],
        table: usize,
        queries: impl Iterator<Item = (u32, Fingerprint)>,
        k: u32,
        (found, room): (&mut Vec<(u32, Found)>, usize),
    ) -> Result<()> {
        let mut sink = Many { segment: number, k, room, work: &mut self.work, found };
        probe_table(segment, radii, table, queries, &mut self.scratch, &mut sink)
    }
}

/// Takes the matches of many queries.
struct Many<'a> {
    segment: usize,
    k: u32,
    room: usize,
    work: &'a mut Work,
    found: &'a mut Vec<(u32, Found)>,
}

impl Sink for Many<'_> {
    #[inline(always)]
    fn k(&self) -> u32 {
        self.k
    }

    #[inline(always)]
    fn work(&mut self) -> &mut Work {
        self.work
    }

    #[inline(always)]
    fn exhausted(&mut self) -> bool {
        self.found.len() > self.room
    }

    fn push(&mut self, query: u32, distance: u32, fingerprint: Fingerprint, place: Place) {
        let Place { table, rank } = place;
        self.found
            .push((query, Found { distance, fingerprint, segment: self.segment, table, rank }));
    }
}
