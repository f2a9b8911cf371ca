//! One pass of a search: its steps, and the lists that each step leaves for the next.

use super::candidates::Candidates;
use super::collector::Collector;
use super::context::Context;
use crate::base::error::Result;
use crate::base::section::BlockIndex;
use crate::search::kernel::BlockProbe;

/// The lists that each step of a pass leaves for the next.
#[derive(Debug, Default)]
pub(super) struct Buffers {
    /// The probes of all queries, one query after the other.
    pub(super) probes: Vec<Probe>,
    pub(super) query_probes: Vec<QueryProbes>,
    /// The blocks of all queries; entries after the end of the last query belong to earlier passes.
    pub(super) blocks: Vec<BlockProbe>,
    /// Positions of blocks that the kernel could not read.
    pub(super) fallback: Vec<usize>,
    pub(super) candidates: Candidates,
}

impl Buffers {
    /// Forgets what an earlier search has left.
    pub(super) fn clear(&mut self) {
        self.probes.clear();
        self.query_probes.clear();
        self.candidates.clear();
    }
}

/// The steps of a search, with the buffers between them.
pub(super) struct ProbePass<'a, C> {
    pub(super) context: Context<'a>,
    pub(super) buffers: &'a mut Buffers,
    pub(super) collector: &'a mut C,
}

impl<C: Collector> ProbePass<'_, C> {
    /// Looks up, searches and compares all probes that are listed.
    pub(super) fn run(&mut self) -> Result<()> {
        let is_cold = self.context.segment.is_cold();
        if is_cold {
            self.readahead_entries();
        }
        self.look_up()?;
        if is_cold {
            self.readahead_heads();
        }
        self.search_blocks()?;
        self.buffers.candidates.compare(&self.context, self.collector)
    }
}

/// A block to look up.
#[derive(Clone, Copy, Debug)]
pub(super) struct Probe {
    pub(super) block: BlockIndex,
    /// Errors that may still be forgiven below the bits that name the block.
    pub(super) remaining: u32,
}

/// The probes of one query; they start where those of the query before it end.
#[derive(Clone, Copy, Debug)]
pub(super) struct QueryProbes {
    /// The position of the query.
    pub(super) query: u32,
    /// The end of its probes; once these are looked up, that of its blocks.
    pub(super) end: usize,
    /// Whether all heads of its blocks are verified.
    pub(super) is_verified: bool,
}
