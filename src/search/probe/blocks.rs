//! Searches blocks for candidates: values whose head is near the head of the needle.

use super::candidates::Candidates;
use super::collector::Collector;
use super::context::Context;
use super::pass::{LookUps, ProbePass, look_up};
use crate::base::error::{Error, Fault, Result};
use crate::base::limits::VALUES_PER_RANGE;
use crate::base::section::Rank;
use crate::format::codec::Heads;
use crate::scheme::combinations_up_to;
use crate::search::kernel::{BlockProbe, NearHead, Needle, Progress};
use crate::search::table_query::{Flips, TableQuery};
use crate::segment::TableReader;

/// Number of candidates whose tails are compared together.
const CANDIDATES_PER_PASS: usize = 512;

impl<C: Collector> ProbePass<'_, C> {
    /// Searches all blocks of the pass and collects their candidates.
    pub(super) fn search_blocks(&mut self) -> Result<()> {
        let mut start = 0;
        for of_query in &self.buffers.query_probes {
            let (query, table) = self.context.query(of_query.query);
            let blocks = &self.buffers.blocks[start..of_query.end];
            start = of_query.end;
            let mut search = BlockSearch {
                context: &self.context,
                position: of_query.query,
                query,
                table,
                candidates: &mut self.buffers.candidates,
                look_ups: &mut self.buffers.look_ups,
                collector: self.collector,
            };
            if !of_query.is_verified {
                search.verify(blocks)?;
            }
            search.search_all(blocks, &mut self.buffers.fallback)?;
        }
        self.buffers.query_probes.clear();
        Ok(())
    }
}

/// Searches blocks of one table for one query.
struct BlockSearch<'a, C> {
    context: &'a Context<'a>,
    /// The position of `query` among all queries of the search.
    position: u32,
    query: &'a TableQuery,
    table: TableReader<'a>,
    candidates: &'a mut Candidates,
    look_ups: &'a mut Option<Box<LookUps>>,
    collector: &'a mut C,
}

impl<C: Collector> BlockSearch<'_, C> {
    /// Verifies the pages with the heads of all blocks.
    fn verify(&self, blocks: &[BlockProbe]) -> Result<()> {
        let heads = &self.table.heads;
        blocks.iter().try_for_each(|BlockProbe { span, .. }| {
            self.table.bytes(heads, span.heads_start, span.heads_len()).map(drop)
        })
    }

    /// Searches short blocks in one call of the kernel, and the blocks left by the kernel one by
    /// one.
    fn search_all(&mut self, blocks: &[BlockProbe], fallback: &mut Vec<usize>) -> Result<()> {
        let heads = self.table.heads_and_after();
        let (codec, needle) =
            (self.table.descriptor.codec, self.query.kernel_needle(0, self.context.k));
        let found_before = self.candidates.len();
        let near = &mut self.candidates.near;
        self.context.kernel.find_near(codec, heads, blocks, needle, near, fallback);
        self.candidates.close(self.position, self.table, found_before);
        for &number in fallback.iter() {
            self.search_one(&blocks[number])?;
        }
        Ok(())
    }

    /// Searches one block separately: a long block, or a block that the kernel did not read.
    fn search_one(&mut self, probe: &BlockProbe) -> Result<()> {
        let block = self.table.block(probe.block, &probe.span)?;
        let (query, k) = (self.query, self.context.k);
        let ranges = combinations_up_to(query.inner_masked, probe.remaining);
        if probe.span.value_count() as f64 <= ranges * VALUES_PER_RANGE {
            return self.search_from(block.heads(), probe, query.kernel_needle(0, k));
        }
        // Each needle has one combination of the allowed errors flipped, so its masked bits must
        // match exactly.
        let exact = BlockProbe { remaining: 0, ..*probe };
        for (flips, _) in Flips::new(query.inner_masked, probe.remaining) {
            let needle = query.kernel_needle(flips, k);
            let heads = block.heads_from(needle.lowest_head(probe.block));
            self.search_from(heads.map_err(|fault| self.located(probe, fault))?, &exact, needle)?;
        }
        Ok(())
    }

    /// Collects the candidates among the heads of a block that `heads` has not read yet.
    fn search_from(
        &mut self,
        mut heads: Heads<'_>,
        probe: &BlockProbe,
        needle: Needle,
    ) -> Result<()> {
        let (section, kernel) = (self.table.heads_and_after(), self.context.kernel);
        loop {
            let found_before = self.candidates.len();
            let near = &mut self.candidates.near.heads;
            let progress =
                kernel.search(section, &mut heads, probe, needle, near, CANDIDATES_PER_PASS);
            self.candidates.close(self.position, self.table, found_before);
            match progress {
                Progress::Done => return Ok(()),
                Progress::Unsupported => return self.walk(heads, probe, needle),
                Progress::More => {}
            }
            if self.compare()? {
                return Ok(());
            }
        }
    }

    /// Decodes one by one the heads that the kernel cannot read, and returns the error if a head is
    /// damaged.
    #[cold]
    fn walk(&mut self, mut heads: Heads<'_>, probe: &BlockProbe, needle: Needle) -> Result<()> {
        let mut some = [0; 64];
        loop {
            let rank = probe.span.rank_start + heads.position();
            let filled = heads.fill(&mut some).map_err(|fault| self.located(probe, fault))?;
            let found_before = self.candidates.len();
            let near = (rank..).map(Rank).zip(&some[..filled]);
            let near = near.filter(|&(_, &head)| needle.is_near_in(probe, head));
            let near = near.map(|(rank, &head)| NearHead { rank, head });
            self.candidates.near.heads.extend(near);
            self.candidates.close(self.position, self.table, found_before);
            let is_full = self.candidates.len() >= CANDIDATES_PER_PASS;
            if filled < some.len() || (is_full && self.compare()?) {
                return Ok(());
            }
        }
    }

    /// The error for a fault in the heads of a block.
    #[cold]
    fn located(&self, probe: &BlockProbe, fault: Fault) -> Error {
        self.table.corrupt(&self.table.heads, probe.span.heads_start, fault)
    }

    /// Compares the candidates collected so far, because one block can contain any number of them.
    /// Returns whether a limit of the search is reached.
    fn compare(&mut self) -> Result<bool> {
        self.candidates.compare(self.context, self.collector)?;
        look_up(&mut self.candidates.named, self.look_ups, self.context, self.collector)?;
        Ok(self.collector.is_exhausted())
    }
}
