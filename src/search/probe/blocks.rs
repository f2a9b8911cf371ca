//! From probes to blocks, and from blocks to the values whose head is near enough.

use super::{Group, Pass, Probe, Run, Sink, near_blocks, near_probes};
use crate::error::Result;
use crate::format::heads::{Block, Heads};
use crate::format::near_heads::{Job, NearHead, Progress, Stretch};
use crate::scheme::{VALUES_PER_RANGE, combinations_up_to};
use crate::search::entry::Entry;
use crate::search::flips::Flips;
use crate::section::Rank;
use crate::segment::{Blocks, Table};

/// Candidates whose tails are fetched together.
const CANDIDATES_PER_PASS: usize = 512;

/// Writes the blocks of probes of one table that have values into `jobs`, which has room for all, and says how many
/// they are and whether all their heads lie on pages that were checked before.
fn find_run(
    blocks: &Blocks<'_>,
    probes: impl Iterator<Item = Probe>,
    jobs: &mut [Job],
    pages_checked: &mut u64,
) -> Result<(usize, bool)> {
    let (mut count, mut checked) = (0, true);
    for Probe { block, spare } in probes {
        let span = blocks.span(block, pages_checked)?;
        if span.value_count() > 0
            && let Some(job) = jobs.get_mut(count)
        {
            blocks.prefetch_heads(&span);
            checked &= blocks.has_checked_heads(&span);
            *job = Job { block, span, spare };
            count += 1;
        }
    }
    Ok((count, checked))
}

/// As [`find_run`] where nothing is left to check, as it is nearly always; else `None`.
#[inline(never)]
fn find_near(blocks: &Blocks<'_>, home: u64, entry: &Entry, jobs: &mut [Job]) -> Option<usize> {
    let mut count = 0;
    let mut spare = entry.radius;
    let done = blocks.spans_at_once(near_blocks(home, entry), |block, span| {
        if let Some(job) = jobs.get_mut(count) {
            *job = Job { block, span, spare };
        }
        spare = 0;
        // Empty ones need no further visit. Which they are cannot be foreseen: no branch.
        count += usize::from(span.rank_end != span.rank_start);
    });
    done.then_some(count)
}

impl<S: Sink> Pass<'_, S> {
    /// Looks the blocks up.
    pub(super) fn find_blocks(&mut self) -> Result<()> {
        let work = self.sink.work();
        work.probes += self.probe_count as u64;
        // Grows once; what is left of earlier queries is overwritten before it is read.
        if self.jobs.len() < self.probe_count {
            self.jobs.resize(self.probe_count, Job::default());
        }
        let (mut listed, mut found) = (0, 0);
        for run in &mut *self.runs {
            let entry = &self.entries[run.entry as usize];
            let blocks = self.segment.blocks(&self.tables[entry.table]);
            let jobs = self.jobs.get_mut(found..).unwrap_or_default();
            let pages_checked = &mut work.pages_checked;
            let (count, checked) = match run.near {
                Some(home) => match find_near(&blocks, home, entry, jobs) {
                    Some(count) => (count, true),
                    None => find_run(&blocks, near_probes(home, entry), jobs, pages_checked)?,
                },
                None => {
                    let probes = self.probes.get(listed..run.probes_end).unwrap_or_default();
                    listed = run.probes_end;
                    find_run(&blocks, probes.iter().copied(), jobs, pages_checked)?
                }
            };
            found += count;
            (run.checked, run.jobs_end) = (checked, found);
        }
        self.probes.clear();
        self.probe_count = 0;
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
            self.walk_in_lanes(run, jobs, entry, table)
        };
        let walked = runs.iter().try_for_each(&mut walk);
        runs.clear();
        (*self.jobs, *self.runs) = (jobs, runs);
        walked
    }

    /// Walks short blocks all in one call, and the others one by one.
    fn walk_in_lanes(
        &mut self,
        run: &Run,
        jobs: &[Job],
        entry: &Entry,
        table: &Table,
    ) -> Result<()> {
        for job in jobs.iter().filter(|_| !run.checked) {
            let (start, len) = (job.span.heads_start, job.span.heads_len());
            let pages_checked = &mut self.sink.work().pages_checked;
            self.segment.bytes(&table.heads, start, len, pages_checked)?;
        }
        let heads = self.segment.bytes_from(&table.heads);
        let found_before = self.near.heads.len();
        self.kernel.find(heads, jobs, entry.near_needle(0, self.sink.k()), self.near);
        self.take_near(run.entry, table, found_before);
        for at in 0..self.near.left.len() {
            let number = self.near.left[at];
            self.walk(&jobs[number], run.entry, entry, table)?;
        }
        Ok(())
    }

    /// Makes candidates of the near heads from one on: all are of this entry.
    #[inline]
    fn take_near(&mut self, entry: u32, table: &Table, from: usize) {
        let found = self.near.heads.get(from..).unwrap_or_default();
        found.iter().for_each(|near| self.segment.prefetch_tail(table, near.rank));
        let end = self.near.heads.len();
        match self.groups.last_mut() {
            Some(last) if last.entry == entry => last.end = end,
            _ if end > from => self.groups.push(Group { entry, end }),
            _ => {}
        }
    }

    /// Collects the candidates among the heads of a block many gaps at a time: those that have at most `spare` other bits
    /// than the needle with `flips`, up to `high`. Says whether there is nothing more; else the heads go on
    /// where it stopped.
    fn search_in_lanes(
        &mut self,
        job: &Job,
        (number, entry, table): (u32, &Entry, &Table),
        heads: &mut Heads<'_>,
        (flips, spare): (u64, u32),
        high: u64,
    ) -> Result<bool> {
        let first_head = table.first_head(job.block);
        let (position, head, len) = heads.place();
        let mut stretch = Stretch {
            block: job.block,
            start: job.span.heads_end - len as u64,
            end: job.span.heads_end,
            inner: head.wrapping_sub(first_head),
            rank: job.span.rank_start + position,
            rank_end: job.span.rank_end,
            spare,
            last: high.wrapping_sub(first_head),
        };
        let bytes = self.segment.bytes_from(&table.heads);
        let needle = entry.near_needle(flips, self.sink.k());
        loop {
            let near = &mut self.near.heads;
            let found_before = near.len();
            let came = self.kernel.search(bytes, &mut stretch, needle, near, CANDIDATES_PER_PASS);
            self.take_near(number, table, found_before);
            if came == Progress::HandedBack {
                let position = stretch.rank - job.span.rank_start;
                let head = first_head.wrapping_add(stretch.inner);
                heads.skip_to((position, head, (stretch.end - stretch.start) as usize));
            }
            if came != Progress::More {
                return Ok(came == Progress::Done);
            }
            // A prefix can have any number of values; the scratch keeps its bounds.
            self.compare_candidates()?;
            if self.sink.exhausted() {
                return Ok(true);
            }
        }
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
        if self.search_in_lanes(job, (number, entry, table), &mut heads, (flips, 0), high)? {
            return Ok(());
        }
        loop {
            let found_before = self.near.heads.len();
            let visited = heads.visit_range(low, high, |position, head| {
                if entry.passes(head, k) {
                    self.near
                        .heads
                        .push(NearHead { rank: Rank(job.span.rank_start + position), head });
                }
                self.near.heads.len() < CANDIDATES_PER_PASS
            });
            let located = |fault| self.segment.corrupt(&table.heads, job.span.heads_start, fault);
            self.take_near(number, table, found_before);
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
        let whole = (0, job.spare);
        if self.search_in_lanes(job, (number, entry, table), &mut heads, whole, u64::MAX)? {
            return Ok(());
        }
        let mut rank = job.span.rank_start + heads.place().0;
        let mut run = [0; 64];
        loop {
            let located = |fault| self.segment.corrupt(&table.heads, job.span.heads_start, fault);
            let filled = heads.fill(&mut run).map_err(located)?;
            let found_before = self.near.heads.len();
            let near = (rank..).map(Rank).zip(&run[..filled]);
            let near = near.filter(|&(_, &head)| entry.passes(head, k));
            self.near.heads.extend(near.map(|(rank, &head)| NearHead { rank, head }));
            self.take_near(number, table, found_before);
            if filled < run.len() {
                return Ok(());
            }
            rank += filled as u64;
            if self.near.heads.len() >= CANDIDATES_PER_PASS {
                self.compare_candidates()?;
                if self.sink.exhausted() {
                    return Ok(());
                }
            }
        }
    }
}
