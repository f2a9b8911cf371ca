//! Lists the probes of queries: the blocks within the radius of each table, and their positions in
//! the file.

use super::collector::Collector;
use super::pass::{Probe, ProbePass, QueryProbes};
use crate::base::error::Result;
use crate::base::section::BlockIndex;
use crate::search::kernel::BlockProbe;
use crate::search::table_query::Flips;
use crate::segment::IndexReader;

/// Number of probes in a pass; more would only take more memory, not save time.
const PROBES_PER_PASS: usize = 512;

impl<C: Collector> ProbePass<'_, C> {
    /// Lists the probes of all queries. Runs the pass whenever its list is full, and at the end.
    pub(super) fn list_all(mut self) -> Result<()> {
        for position in 0..self.context.queries.len() {
            self.list(position as u32)?;
        }
        self.run()
    }

    /// Lists the blocks of all prefixes within the radius of one query.
    fn list(&mut self, position: u32) -> Result<()> {
        let (query, table) = self.context.query(position);
        let index = table.index_reader();
        // If the mask is shorter than the block number, several blocks share a prefix.
        let free = query.free_leading;
        let home = table.block_of(query.permuted).0 >> free;
        if free == 0 && query.radius <= 1 && (query.leading as usize) < PROBES_PER_PASS {
            // The case of nearly all queries: probe the home block, and the blocks whose number
            // differs from the home block number in one bit.
            let count = 1 + query.radius * query.leading;
            if self.buffers.probes.len() + count as usize > PROBES_PER_PASS {
                self.run()?;
            }
            self.buffers.probes.extend((0..count).map(|number| {
                // Number 0 flips no bit.
                let block = BlockIndex(home ^ (1_u64 << number) >> 1);
                index.prefetch(block);
                Probe { block, remaining: if number == 0 { query.radius } else { 0 } }
            }));
            self.end_run(position);
            return Ok(());
        }
        for (flips, weight) in Flips::new(query.leading, query.radius) {
            let first = (home ^ flips) << free;
            for block in (first..first + (1 << free)).map(BlockIndex) {
                index.prefetch(block);
                self.buffers.probes.push(Probe { block, remaining: query.radius - weight });
                if self.buffers.probes.len() == PROBES_PER_PASS {
                    self.end_run(position);
                    self.run()?;
                }
            }
            if self.collector.is_exhausted() {
                break;
            }
        }
        self.end_run(position);
        Ok(())
    }

    /// Searches the given block for each query.
    pub(super) fn list_blocks(mut self, blocks: &[BlockIndex]) -> Result<()> {
        for (position, &block) in (0..).zip(blocks) {
            let (query, table) = self.context.query(position);
            let errors = (table.block_of(query.permuted).0 ^ block.0).count_ones();
            let remaining = query.radius.saturating_sub(errors);
            self.buffers.probes.push(Probe { block, remaining });
            self.end_run(position);
            if self.buffers.probes.len() == PROBES_PER_PASS {
                self.run()?;
            }
        }
        self.run()
    }

    fn end_run(&mut self, query: u32) {
        let end = self.buffers.probes.len();
        self.buffers.query_probes.push(QueryProbes { query, end, is_verified: false });
    }

    /// Looks up all listed probes in the prefix index.
    pub(super) fn look_up(&mut self) -> Result<()> {
        let (probes, blocks) = (&mut self.buffers.probes, &mut self.buffers.blocks);
        self.collector.stats().probes += probes.len() as u64;
        // The buffer never shrinks; its blocks of earlier passes are overwritten before they are
        // read.
        if blocks.len() < probes.len() {
            blocks.resize(probes.len(), BlockProbe::default());
        }
        let (mut start, mut found) = (0, 0);
        for of_query in &mut self.buffers.query_probes {
            let index = self.context.query(of_query.query).1.index_reader();
            let (probes, blocks) = (&probes[start..of_query.end], &mut blocks[found..]);
            start = of_query.end;
            let count;
            (count, of_query.is_verified) = look_up(&index, probes, blocks)?;
            found += count;
            of_query.end = found;
        }
        probes.clear();
        Ok(())
    }

    /// Starts reading the pages with the index entries of all probes.
    pub(super) fn readahead_entries(&self) {
        let mut start = 0;
        for of_query in &self.buffers.query_probes {
            let (_, table) = self.context.query(of_query.query);
            let probes = &self.buffers.probes[start..of_query.end];
            probes.iter().for_each(|probe| table.readahead_entry(probe.block));
            start = of_query.end;
        }
    }

    /// Starts reading the pages with the heads of all blocks.
    pub(super) fn readahead_heads(&self) {
        let mut start = 0;
        for of_query in &self.buffers.query_probes {
            let (_, table) = self.context.query(of_query.query);
            let blocks = &self.buffers.blocks[start..of_query.end];
            blocks.iter().for_each(|block| table.readahead_heads(&block.span));
            start = of_query.end;
        }
    }
}

/// Writes the non-empty blocks of `probes` to the start of `blocks`. Returns their number, and
/// whether all of their heads are verified.
#[inline(never)]
fn look_up(
    index: &IndexReader<'_>,
    probes: &[Probe],
    blocks: &mut [BlockProbe],
) -> Result<(usize, bool)> {
    let (mut count, mut is_verified) = (0, true);
    for &Probe { block, remaining } in probes {
        let span = index.span(block)?;
        index.prefetch_heads(&span);
        is_verified &= index.has_verified_heads(&span);
        if let Some(slot) = blocks.get_mut(count) {
            *slot = BlockProbe { block, span, remaining };
        }
        // Counts without a branch: whether a block is empty is unpredictable.
        count += usize::from(span.rank_end != span.rank_start);
    }
    Ok((count, is_verified))
}
