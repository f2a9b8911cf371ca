//! From probes to blocks, and from blocks to the values whose head is near enough.

use super::{Candidate, Pass, Probe, Run, Sink};
use crate::error::Result;
use crate::format::heads::Block;
use crate::format::near_heads::{Job, Needle};
use crate::scheme::{VALUES_PER_RANGE, combinations_up_to};
use crate::search::entry::Entry;
use crate::search::flips::Flips;
use crate::section::Rank;
use crate::segment::{Blocks, Table};

/// Candidates whose tails are fetched together.
const CANDIDATES_PER_PASS: usize = 512;

/// Adds the blocks of probes of one table that have values, and says whether all their heads lie
/// on pages that were checked before.
fn find_run(
    blocks: &Blocks<'_>,
    probes: &[Probe],
    jobs: &mut Vec<Job>,
    pages_checked: &mut u64,
) -> Result<bool> {
    let mut checked = true;
    for &Probe { block, spare } in probes {
        let span = blocks.span(block, pages_checked)?;
        if span.value_count() > 0 {
            checked &= blocks.prefetch_heads(&span);
            jobs.push(Job { block, span, spare });
        }
    }
    Ok(checked)
}

impl<S: Sink> Pass<'_, S> {
    /// Looks the blocks up; empty ones need no further visit.
    pub(super) fn find_blocks(&mut self) -> Result<()> {
        self.jobs.clear();
        let work = self.sink.work();
        work.probes += self.probes.len() as u64;
        let mut start = 0;
        for run in &mut *self.runs {
            let table = &self.tables[self.entries[run.entry as usize].table];
            let probes = &self.probes[start..run.probes_end];
            let blocks = self.segment.blocks(table);
            run.checked = find_run(&blocks, probes, self.jobs, &mut work.pages_checked)?;
            run.jobs_end = self.jobs.len();
            start = run.probes_end;
        }
        self.probes.clear();
        Ok(())
    }

    /// Decodes heads and collects the values whose head is near enough.
    pub(super) fn walk_blocks(&mut self) -> Result<()> {
        // Taken so that candidates can be compared while they are walked; the memory comes back.
        let (jobs, mut runs) = (std::mem::take(self.jobs), std::mem::take(self.runs));
        let mut start = 0;
        let mut walk = |run: &Run| {
            let jobs = &jobs[start..run.jobs_end];
            start = run.jobs_end;
            let (entry, table) = self.entry(run.entry);
            match entry.near_needle() {
                Some(needle) => self.walk_in_lanes(run, jobs, entry, table, needle),
                None => jobs.iter().try_for_each(|job| self.walk(job, run.entry, entry, table)),
            }
        };
        let walked = runs.iter().try_for_each(&mut walk);
        runs.clear();
        (*self.jobs, *self.runs) = (jobs, runs);
        walked
    }

    /// Walks plain blocks many gaps at a time, and the others one by one.
    fn walk_in_lanes(
        &mut self,
        run: &Run,
        jobs: &[Job],
        entry: &Entry,
        table: &Table,
        needle: Needle,
    ) -> Result<()> {
        for job in jobs.iter().filter(|_| !run.checked) {
            let (start, len) = (job.span.heads_start, job.span.heads_len());
            let pages_checked = &mut self.sink.work().pages_checked;
            self.segment.bytes(&table.heads, start, len, pages_checked)?;
        }
        self.near.clear();
        let heads = self.segment.bytes_from(&table.heads);
        self.kernel.find(heads, jobs, needle, self.near);
        let k = self.sink.k();
        for found in &self.near.heads {
            let head = entry.head(found.block, found.inner);
            if entry.passes(head, k) {
                let rank = Rank(found.rank);
                self.segment.prefetch_tail(table, rank);
                self.candidates.push(Candidate { entry: run.entry, rank, head });
            }
        }
        for at in 0..self.near.left.len() {
            let number = self.near.left[at];
            self.walk(&jobs[number], run.entry, entry, table)?;
        }
        Ok(())
    }

    /// Walks one block.
    fn walk(&mut self, job: &Job, number: u32, entry: &Entry, table: &Table) -> Result<()> {
        let pages_checked = &mut self.sink.work().pages_checked;
        let block = self.segment.block(table, job.block, &job.span, pages_checked)?;
        if job.spare == 0 {
            return self.collect(job, number, entry, table, &block, 0);
        }
        let ranges = combinations_up_to(entry.inner_masked, job.spare);
        if job.span.value_count() as f64 <= ranges * VALUES_PER_RANGE {
            return self.collect_all(job, number, entry, table, &block);
        }
        for (flips, _) in Flips::new(entry.inner_masked, job.spare) {
            self.collect(job, number, entry, table, &block, flips)?;
        }
        Ok(())
    }

    /// Collects the candidates in the range of heads that the needle has with these flips.
    fn collect(
        &mut self,
        job: &Job,
        number: u32,
        entry: &Entry,
        table: &Table,
        block: &Block<'_>,
        flips: u64,
    ) -> Result<()> {
        let (low, high) = entry.range(job.block, flips);
        let k = self.sink.k();
        let located = |fault| self.segment.corrupt(&table.heads, job.span.heads_start, fault);
        let mut heads = block.heads_from(low).map_err(located)?;
        loop {
            let visited = heads.visit_range(low, high, |position, head| {
                if entry.passes(head, k) {
                    let rank = Rank(job.span.rank_start + position);
                    self.segment.prefetch_tail(table, rank);
                    self.candidates.push(Candidate { entry: number, rank, head });
                }
                self.candidates.len() < CANDIDATES_PER_PASS
            });
            let located = |fault| self.segment.corrupt(&table.heads, job.span.heads_start, fault);
            if !visited.map_err(located)? {
                return Ok(());
            }
            // A prefix can have any number of values; the scratch keeps its bounds.
            self.compare_candidates()?;
            if self.sink.exhausted() {
                return Ok(());
            }
        }
    }

    /// Collects the candidates among all heads of a block.
    fn collect_all(
        &mut self,
        job: &Job,
        number: u32,
        entry: &Entry,
        table: &Table,
        block: &Block<'_>,
    ) -> Result<()> {
        let k = self.sink.k();
        let mut heads = block.heads();
        let mut rank = job.span.rank_start;
        let mut run = [0; 64];
        loop {
            let located = |fault| self.segment.corrupt(&table.heads, job.span.heads_start, fault);
            let filled = heads.fill(&mut run).map_err(located)?;
            for (rank, &head) in (rank..).map(Rank).zip(&run[..filled]) {
                if entry.passes(head, k) {
                    self.segment.prefetch_tail(table, rank);
                    self.candidates.push(Candidate { entry: number, rank, head });
                }
            }
            if filled < run.len() {
                return Ok(());
            }
            rank += filled as u64;
            if self.candidates.len() >= CANDIDATES_PER_PASS {
                self.compare_candidates()?;
                if self.sink.exhausted() {
                    return Ok(());
                }
            }
        }
    }
}
