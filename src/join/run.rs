//! A join: values divided by their first block into parts that fit the cache, and the parts looked
//! through on all threads; in rounds, where not all parts fit into memory together.

use std::ops::Range;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use super::chains::part;
use super::near::{Finder, Group, PART_COUNT, RawPair, part_bits};
use super::options::{JoinOptions, Share};
use super::source::Source;
use super::split::{Split, Table};
use crate::error::Result;
use crate::sort::Resources;
use crate::watch::{Phase, Watch};

/// Values compared with all others at a time where there is no better way.
const RANGE_COUNT: usize = 1 << 10;

/// One set with itself, or one with another.
#[derive(Debug)]
pub(super) struct Join<'a> {
    /// One source, or the asking one and the held one.
    pub(super) sources: Vec<Source<'a>>,
    pub(super) k: u32,
    pub(super) share: Share,
    pub(super) resources: Resources,
    watch: Watch,
}

/// Takes pairs on one thread at a time; the vector comes back empty.
type Take<'a> = Mutex<&'a mut (dyn FnMut(&mut Vec<RawPair>) -> Result<()> + Send)>;

impl<'a> Join<'a> {
    pub(super) fn new(
        sources: Vec<Source<'a>>,
        options: &JoinOptions,
        resources: Resources,
    ) -> Self {
        let watch = options.watch(Phase::Join, None);
        Join { sources, k: options.k, share: options.share, resources, watch }
    }

    /// Finds all pairs, in any order, each once.
    pub(super) fn run(
        mut self,
        take: &mut (dyn FnMut(&mut Vec<RawPair>) -> Result<()> + Send),
    ) -> Result<()> {
        let take = Mutex::new(take);
        let count: u64 = self.sources.iter().map(Source::count_max).sum();
        let pairs = match self.sources.as_slice() {
            [one] => one.count_max() as f64 * (one.count_max() as f64 - 1.0) / 2.0,
            _ => self.sources.iter().map(|source| source.count_max() as f64).product(),
        };
        if pairs < 1.0 {
            return Ok(());
        }
        let varying = self.varying()?;
        let Some(split) = Split::choose(varying, count, pairs, self.k) else {
            self.watch = self.watch.next(Phase::Join, Some(count));
            return self.compare_all(&take);
        };
        self.watch = self.watch.next(Phase::Join, Some(count * split.firsts().len() as u64));
        let bits = part_bits(usize::try_from(count).unwrap_or(usize::MAX));
        // Each share needs a part to itself.
        let bits = bits.max(self.share.count.next_power_of_two().ilog2());
        let counts = self.count_parts(&split, bits)?;
        let mut buffer = Vec::new();
        for (first, &block) in split.firsts().iter().enumerate() {
            let tables = split.tables(first);
            let counts = &counts[first];
            for parts in self.rounds(counts, bits) {
                let round = Round { join: &self, block, bits, tables: &tables, parts };
                round.run(counts, &mut buffer, &take)?;
            }
        }
        Ok(())
    }

    /// The bits in which not all values are alike.
    fn varying(&self) -> Result<u64> {
        let (mut any, mut all) = (0, u64::MAX);
        for source in &self.sources {
            source.pass(0, 1, |run| {
                for value in run {
                    any |= value;
                    all &= value;
                }
                self.watch.report()
            })?;
        }
        Ok(any & !all)
    }

    /// How many values of each piece of each source fall into each part, for each first block.
    fn count_parts(&self, split: &Split, bits: u32) -> Result<Vec<PartCounts>> {
        let pieces = self.pieces();
        let count_piece = |&(source, piece, pieces): &(usize, usize, usize)| {
            let mut counts = vec![vec![0_usize; 1 << bits]; split.firsts().len()];
            self.sources[source].pass(piece, pieces, |run| {
                for (&block, counts) in split.firsts().iter().zip(&mut counts) {
                    for &value in run {
                        counts[part(value, block, 0, bits)] += 1;
                    }
                }
                self.watch.report()
            })?;
            Ok(counts)
        };
        let counted = side_by_side(&pieces, count_piece)?;
        let of_first = |first: usize| {
            let of_pieces = counted.iter().map(|counts| counts[first].clone());
            PartCounts { pieces: pieces.iter().copied().zip(of_pieces).collect() }
        };
        Ok((0..split.firsts().len()).map(of_first).collect())
    }

    /// The pieces of all sources: source, piece, pieces.
    fn pieces(&self) -> Vec<(usize, usize, usize)> {
        let of = |(number, source): (usize, &Source<'_>)| {
            let pieces = source.pieces(self.resources.threads);
            (0..pieces).map(move |piece| (number, piece, pieces)).collect::<Vec<_>>()
        };
        self.sources.iter().enumerate().flat_map(of).collect()
    }

    /// Ranges of parts that fit into memory together.
    fn rounds(&self, counts: &PartCounts, bits: u32) -> Vec<Range<usize>> {
        let parts = 1 << bits;
        let held: u64 = self.sources.iter().map(Source::memory_len).sum();
        let room = (self.resources.memory.saturating_sub(held) / 8).max(1) as usize;
        let mut rounds: Vec<Range<usize>> = Vec::new();
        let mut filled = 0;
        for part in (0..parts).filter(|&part| self.share.has(part, parts)) {
            let count = counts.of_part(part);
            match rounds.last_mut() {
                Some(round) if filled + count <= room => {
                    round.end = part + 1;
                    filled += count;
                }
                _ => {
                    rounds.push(part..part + 1);
                    filled = count;
                }
            }
        }
        rounds
    }

    /// Compares each with each, where nothing better is known.
    fn compare_all(&self, take: &Take<'_>) -> Result<()> {
        let Some(asking) = self.sources.first() else { return Ok(()) };
        let asking = asking.values()?;
        let held = self.sources.get(1).map(Source::values).transpose()?;
        let ranges = asking.len().div_ceil(RANGE_COUNT);
        let next = AtomicUsize::new(0);
        self.on_all_threads(take, |finder, take| {
            while let Some(number) = Some(next.fetch_add(1, Ordering::Relaxed))
                && number < ranges
            {
                if number as u32 % self.share.count != self.share.number {
                    continue;
                }
                let start = number * RANGE_COUNT;
                let range = start..asking.len().min(start + RANGE_COUNT);
                self.watch.tick(range.len() as u64)?;
                match &held {
                    None => finder.find_in_range(&asking, range, take)?,
                    Some(held) => finder.find_across(&asking[range], held, take)?,
                }
            }
            Ok(())
        })
    }

    /// Runs `work` on each thread with a finder of its own.
    fn on_all_threads(
        &self,
        take: &Take<'_>,
        work: impl Fn(&mut Finder, super::near::Sink<'_>) -> Result<()> + Sync,
    ) -> Result<()> {
        let on_thread = |_: &usize| {
            let mut finder = Finder::new(self.k);
            let mut sink = |found: &mut Vec<RawPair>| {
                // A crowd may have more pairs than anyone waits for.
                self.watch.report()?;
                (take.lock().unwrap_or_else(PoisonError::into_inner))(found)
            };
            work(&mut finder, &mut sink)?;
            finder.hand_over(&mut sink)
        };
        let threads: Vec<usize> = (0..self.resources.threads.max(1)).collect();
        side_by_side(&threads, on_thread).map(drop)
    }
}

/// How many values of each piece fall into each part.
#[derive(Debug)]
struct PartCounts {
    pieces: Vec<((usize, usize, usize), Vec<usize>)>,
}

impl PartCounts {
    fn of_part(&self, part: usize) -> usize {
        self.pieces.iter().map(|(_, counts)| counts[part]).sum()
    }
}

/// Some parts of one first block.
struct Round<'a> {
    join: &'a Join<'a>,
    block: u64,
    bits: u32,
    tables: &'a [Table],
    parts: Range<usize>,
}

impl Round<'_> {
    /// Brings the values of the parts together in the buffer, then looks through each part.
    fn run(&self, counts: &PartCounts, buffer: &mut Vec<AtomicU64>, take: &Take<'_>) -> Result<()> {
        // Where each part of each piece begins; the pieces of a source lie side by side.
        let mut at = 0;
        let mut starts = vec![Vec::with_capacity(self.parts.len()); counts.pieces.len()];
        let mut sides: Vec<Vec<Range<usize>>> = Vec::with_capacity(self.parts.len());
        for part in self.parts.clone() {
            let mut ranges = vec![at..at; self.join.sources.len()];
            for (number, ((source, ..), counts)) in counts.pieces.iter().enumerate() {
                starts[number].push(at);
                if ranges[*source].is_empty() {
                    ranges[*source].start = at;
                }
                at += counts[part];
                ranges[*source].end = at;
            }
            sides.push(ranges);
        }
        if buffer.len() < at {
            buffer.resize_with(at, AtomicU64::default);
        }
        let pieces: Vec<_> = counts.pieces.iter().map(|(piece, _)| *piece).zip(starts).collect();
        side_by_side(&pieces, |(piece, starts)| self.scatter(*piece, starts.clone(), buffer))?;
        self.look_through(&sides, buffer, take)
    }

    /// Puts the values of a piece where their parts are. Each place belongs to one piece, so relaxed stores
    /// do; that the threads end before anyone reads orders them.
    fn scatter(
        &self,
        (source, piece, pieces): (usize, usize, usize),
        mut next: Vec<usize>,
        buffer: &[AtomicU64],
    ) -> Result<()> {
        let all = self.parts.len() == 1 << self.bits;
        self.join.sources[source].pass(piece, pieces, |run| {
            for &value in run {
                let part = part(value, self.block, 0, self.bits);
                if all || self.parts.contains(&part) {
                    let at = &mut next[part - self.parts.start];
                    buffer[*at].store(value, Ordering::Relaxed);
                    *at += 1;
                }
            }
            self.join.watch.report()
        })
    }

    fn look_through(
        &self,
        sides: &[Vec<Range<usize>>],
        buffer: &[AtomicU64],
        take: &Take<'_>,
    ) -> Result<()> {
        let next = AtomicUsize::new(0);
        self.join.on_all_threads(take, |finder, take| {
            let mut local: [Vec<u64>; 2] = std::array::from_fn(|_| Vec::with_capacity(PART_COUNT));
            while let Some(ranges) = sides.get(next.fetch_add(1, Ordering::Relaxed)) {
                for (local, range) in local.iter_mut().zip(ranges) {
                    let values = &buffer[range.clone()];
                    local.clear();
                    local.extend(values.iter().map(|value| value.load(Ordering::Relaxed)));
                }
                let [one, other] = &mut local;
                let count = one.len() + other.len();
                let mut group = match ranges.len() {
                    1 => Group::Within(one),
                    _ => Group::Across(one, other),
                };
                finder.find_in_part(&mut group, self.block, self.bits, self.tables, take)?;
                self.join.watch.tick(count as u64)?;
            }
            Ok(())
        })
    }
}

/// Does the work for each item on a thread of its own, the last one on this one.
pub(super) fn side_by_side<T: Sync, R: Send>(
    items: &[T],
    work: impl Fn(&T) -> Result<R> + Sync,
) -> Result<Vec<R>> {
    let Some((last, others)) = items.split_last() else { return Ok(Vec::new()) };
    std::thread::scope(|scope| {
        let work = &work;
        let running: Vec<_> = others.iter().map(|item| scope.spawn(move || work(item))).collect();
        let own = work(last);
        let mut done = Vec::with_capacity(items.len());
        for thread in running {
            done.push(thread.join().expect("joining does not panic")?);
        }
        done.push(own?);
        Ok(done)
    })
}
