//! One table at a time: what a batch of queries, sorted as the table is, walks along.

use crate::error::Result;
use crate::fingerprint::Fingerprint;
use crate::scheme::Radius;
use crate::search::answer::Found;
use crate::search::probe::{ProbeScratch, probe_table};
use crate::search::searcher::{Collector, Limits};
use crate::segment::Mapped;

/// Asks single tables, and keeps its memory from one needle to the next.
#[derive(Debug, Default)]
pub(crate) struct Walker {
    scratch: ProbeScratch,
    collector: Collector,
}

impl Walker {
    /// The matches within `k` bits that one table of a segment reports, if all of them are probed
    /// with `radii`; `number` is the segment's position.
    pub(crate) fn ask(
        &mut self,
        (number, segment): (usize, &Mapped),
        radii: &[Radius],
        table: usize,
        needle: Fingerprint,
        k: u32,
    ) -> Result<&[Found]> {
        self.collector.restart(needle, k, Limits::default());
        self.collector.segment = number;
        probe_table(segment, radii, table, &mut self.scratch, &mut self.collector)?;
        Ok(&self.collector.found)
    }
}
