//! Asking the system for pages before they are read, while they come from a disk.

use super::{Pass, Sink, near_blocks};
use crate::format::prefix_index::{LINE_LEN, line_offset};
use crate::section::BlockIndex;

impl<S: Sink> Pass<'_, S> {
    /// Asks for the pages with the index lines of all probes.
    pub(super) fn announce_lines(&self) {
        let mut start = 0;
        for run in self.runs.iter() {
            let (entry, table) = self.entry(run.entry);
            let announce = |block: BlockIndex| {
                self.segment.announce(&table.lines, line_offset(block), LINE_LEN);
            };
            if let Some(home) = run.near {
                near_blocks(home, entry).for_each(announce);
                continue;
            }
            let probes = self.probes.get(start..run.probes_end).unwrap_or_default();
            probes.iter().map(|probe| probe.block).for_each(announce);
            start = run.probes_end;
        }
    }

    /// Asks for the pages with the heads of all blocks.
    pub(super) fn announce_heads(&self) {
        let mut start = 0;
        for run in self.runs.iter() {
            let (_, table) = self.entry(run.entry);
            for job in self.jobs.get(start..run.jobs_end).unwrap_or_default() {
                let (from, len) = (job.span.heads_start, job.span.heads_len());
                self.segment.announce(&table.heads, from, len);
            }
            start = run.jobs_end;
        }
    }

    /// Asks for the pages with the tails of all candidates.
    pub(super) fn announce_tails(&self) {
        let mut start = 0;
        for group in self.groups.iter() {
            let (_, table) = self.entry(group.entry);
            for near in self.near.heads.get(start..group.end).unwrap_or_default() {
                self.segment.announce_tail(table, near.rank);
            }
            start = group.end;
        }
    }
}
