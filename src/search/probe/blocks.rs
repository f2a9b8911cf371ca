//! From blocks to candidates: the values whose head is near.

use super::candidates::Candidates;
use super::{Collector, Context, ProbePass};
use crate::error::Result;
use crate::format::codec::{Block, Heads};
use crate::limits::VALUES_PER_RANGE;
use crate::scheme::combinations_up_to;
use crate::search::flips::Flips;
use crate::search::kernel::{BlockProbe, NearHead, Progress};
use crate::search::table_query::TableQuery;
use crate::section::Rank;
use crate::segment::TableReader;

/// Candidates whose tails are compared together.
const CANDIDATES_PER_PASS: usize = 512;

impl<C: Collector> ProbePass<'_, C> {
    /// Collects the candidates of all blocks.
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
    /// The position of the query.
    position: u32,
    query: &'a TableQuery,
    table: TableReader<'a>,
    candidates: &'a mut Candidates,
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

    /// Searches short blocks all in one call of the kernel, and the others one by one.
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

    /// Searches one block, which may have restart points.
    fn search_one(&mut self, probe: &BlockProbe) -> Result<()> {
        let block = self.table.block(probe.block, &probe.span)?;
        if probe.remaining == 0 {
            return self.search_range(probe, &block, 0);
        }
        let ranges = combinations_up_to(self.query.inner_masked, probe.remaining);
        if probe.span.value_count() as f64 <= ranges * VALUES_PER_RANGE {
            return self.search_whole(probe, &block);
        }
        for (flips, _) in Flips::new(self.query.inner_masked, probe.remaining) {
            self.search_range(probe, &block, flips)?;
        }
        Ok(())
    }

    /// Collects the candidates in the range of heads that the needle has with `flips`.
    fn search_range(&mut self, probe: &BlockProbe, block: &Block<'_>, flips: u64) -> Result<()> {
        let (low, high) = self.query.range(probe.block, flips);
        let table = self.table;
        let located = |fault| table.corrupt(&table.heads, probe.span.heads_start, fault);
        let mut heads = block.heads_from(low).map_err(located)?;
        // The flips of the needle are all its errors.
        let exact = BlockProbe { remaining: 0, ..*probe };
        if self.search_by_kernel(&exact, &mut heads, flips)? {
            return Ok(());
        }
        loop {
            let found_before = self.candidates.len();
            let near = &mut self.candidates.near.heads;
            let (query, k) = (self.query, self.context.k);
            let visited = heads.visit_range(low, high, |position, head| {
                if query.passes(head, k) {
                    near.push(NearHead { rank: Rank(probe.span.rank_start + position), head });
                }
                near.len() < CANDIDATES_PER_PASS
            });
            self.candidates.close(self.position, self.table, found_before);
            if !visited.map_err(located)? || self.compare()? {
                return Ok(());
            }
        }
    }

    /// Collects the candidates among all heads of a block.
    fn search_whole(&mut self, probe: &BlockProbe, block: &Block<'_>) -> Result<()> {
        let mut heads = block.heads();
        if self.search_by_kernel(probe, &mut heads, 0)? {
            return Ok(());
        }
        let table = self.table;
        let located = |fault| table.corrupt(&table.heads, probe.span.heads_start, fault);
        let mut rank = probe.span.rank_start + heads.position();
        let mut some = [0; 64];
        loop {
            let filled = heads.fill(&mut some).map_err(located)?;
            let found_before = self.candidates.len();
            let near = (rank..).map(Rank).zip(&some[..filled]);
            let near = near.filter(|&(_, &head)| self.query.passes(head, self.context.k));
            let near = near.map(|(rank, &head)| NearHead { rank, head });
            self.candidates.near.heads.extend(near);
            self.candidates.close(self.position, self.table, found_before);
            if filled < some.len() {
                return Ok(());
            }
            rank += filled as u64;
            if self.candidates.len() >= CANDIDATES_PER_PASS && self.compare()? {
                return Ok(());
            }
        }
    }

    /// Collects the candidates among the heads that are left of a block, by the kernel. Returns
    /// whether there are no more; else the portable walk must go on with `heads`.
    fn search_by_kernel(
        &mut self,
        probe: &BlockProbe,
        heads: &mut Heads<'_>,
        flips: u64,
    ) -> Result<bool> {
        let (section, kernel) = (self.table.heads_and_after(), self.context.kernel);
        let needle = self.query.kernel_needle(flips, self.context.k);
        loop {
            let found_before = self.candidates.len();
            let near = &mut self.candidates.near.heads;
            let progress = kernel.search(section, heads, probe, needle, near, CANDIDATES_PER_PASS);
            self.candidates.close(self.position, self.table, found_before);
            if progress != Progress::More {
                return Ok(progress == Progress::Done);
            }
            if self.compare()? {
                return Ok(true);
            }
        }
    }

    /// Compares the candidates so far, since a prefix can have any number of values. Returns
    /// whether a limit is reached.
    fn compare(&mut self) -> Result<bool> {
        self.candidates.compare(self.context, self.collector)?;
        Ok(self.collector.is_exhausted())
    }
}
