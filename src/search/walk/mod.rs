//! A batch of queries as one forward walk of each table of a segment.
//!
//! A *tile* is a run of neighbouring blocks. The queries are sorted once for each table by their
//! home block, the block of their own value. The queries within one error of a tile are then a few
//! runs of the sorted list: the queries whose home block is in the tile (the error is below the
//! block number or in its low bits), and, for each high bit of the block number, the queries whose
//! home block is in the tile that differs in that bit. So no list of pairs of a query and a block
//! is made, each block is decoded once, and the pages of a table are read from the first to the
//! last.
//!
//! ```text
//! for each table, the first one last:
//!     sort the queries by home block; in the first table also the values to look up
//!     for each tile that a query searches, forward:
//!         decode its blocks into lanes                    kernel/lanes.rs
//!         compare the queries of each run with the blocks that they search
//!         compare the tails of near heads, or list the values named by their syndromes
//! ```
//!
//! Tables with syndromes come first, because the values that they name are looked up in the walk of
//! the first table. A block without lanes is searched as for a single query (`probe`), which also
//! reports the faults of damaged blocks.

mod pass;
mod sorted;
#[cfg(all(test, feature = "write"))]
mod tests;
mod tile;

use std::sync::atomic::{AtomicUsize, Ordering};

use crate::base::error::Result;
use crate::base::side_by_side::{Part, results_on_threads};
use fpstore_base::Fingerprint;
use pass::Hits;
pub(crate) use pass::{Walk, fits};
use tile::Worker;

/// The number of parts of a table for each thread, if there are several threads.
const PARTS_FOR_A_THREAD: usize = 4;

impl Walk<'_> {
    /// The hits of all queries, in any order; `None` if there are more than `found_max`.
    pub(crate) fn find(&self, queries: &[Fingerprint]) -> Result<Option<Hits>> {
        let found_count = AtomicUsize::new(0);
        let (mut found, mut named) = (Hits::new(), Vec::new());
        for position in (0..self.radii.len()).rev() {
            let Some(table) = self.segment.table(position) else { continue };
            if self.radii[position].is_none() && (position > 0 || named.is_empty()) {
                continue;
            }
            let pass = self.pass(queries, position, table, &named, &found_count);
            let tiles = 0..1_u64 << (table.descriptor.block_bits - pass.layout.tile_bits);
            let count = if self.threads < 2 { 1 } else { self.threads * PARTS_FOR_A_THREAD };
            let parts = Part::all(count.min(tiles.end as usize));
            let walked = results_on_threads(self.threads, &parts, |part| {
                let mut worker = Worker::new(&pass);
                worker.run(part.of(tiles.clone()))?;
                Ok((worker.found, worker.named))
            })?;
            if found_count.load(Ordering::Relaxed) > self.found_max {
                return Ok(None);
            }
            drop(pass);
            for (mut hits, mut values) in walked {
                found.append(&mut hits);
                named.append(&mut values);
            }
        }
        Ok(Some(found))
    }
}
