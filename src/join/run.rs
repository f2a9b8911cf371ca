//! A join: values divided by their first block into parts that fit the cache, and the parts looked
//! through on all threads; in rounds, where not all parts fit into memory together.

use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use super::chains::part;
use super::crowd::{Crowd, PartOf};
use super::near::{Finder, PART_BITS_MAX, PART_COUNT, RawPair, part_bits};
use super::options::{JoinOptions, Share};
use super::round::{PartCounts, Round};
use super::source::Source;
use super::split::Split;
use crate::error::Result;
use crate::sort::Resources;
use crate::watch::{Phase, Watch};

/// Values compared with all others at a time where there is no better way.
const RANGE_COUNT: usize = 1 << 10;
/// A part with fewer values than this always fits into memory.
const CROWD_MIN: usize = if cfg!(test) { 64 } else { 4 * PART_COUNT };

/// One set with itself, or one with another.
#[derive(Debug)]
pub(super) struct Join<'a> {
    /// One source, or the asking one and the held one.
    pub(super) sources: Vec<Source<'a>>,
    pub(super) k: u32,
    pub(super) share: Share,
    pub(super) resources: Resources,
    pub(super) watch: Watch,
    crowd: Crowd,
}

/// Takes pairs on one thread at a time; the vector comes back empty.
pub(super) type Take<'a> = Mutex<&'a mut (dyn FnMut(&mut Vec<RawPair>) -> Result<()> + Send)>;

impl<'a> Join<'a> {
    pub(super) fn new(
        sources: Vec<Source<'a>>,
        options: &JoinOptions,
        resources: Resources,
    ) -> Self {
        let watch = options.watch(Phase::Join, None);
        let (k, share, crowd) = (options.k, options.share, Crowd::default());
        Join { sources, k, share, resources, watch, crowd }
    }

    /// Finds all pairs, in any order, each once.
    pub(super) fn run(
        mut self,
        take: &mut (dyn FnMut(&mut Vec<RawPair>) -> Result<()> + Send),
    ) -> Result<()> {
        let take = Mutex::new(take);
        let counts: Vec<u64> = self.sources.iter().map(Source::count_max).collect();
        if pair_count(&counts) < 1.0 {
            return Ok(());
        }
        if let Some(split) = self.split(&counts)? {
            let count = counts.iter().sum::<u64>() * split.firsts().len() as u64;
            self.watch = self.watch.next(Phase::Join, Some(count));
            self.meet(&split, &counts, &take)
        } else {
            self.watch = self.watch.next(Phase::Join, Some(counts.iter().sum()));
            self.compare_all(&take)
        }
    }

    /// The cheapest split for so many values of each source, if any is better than none.
    fn split(&self, counts: &[u64]) -> Result<Option<Split>> {
        let varying = self.varying()? & !self.crowd.agree;
        Ok(Split::choose(varying, counts.iter().sum(), pair_count(counts), self.k))
    }

    /// Brings values together by each first block of a split.
    fn meet(&self, split: &Split, counts: &[u64], take: &Take<'_>) -> Result<()> {
        let count = usize::try_from(counts.iter().sum::<u64>()).unwrap_or(usize::MAX);
        // Parts are small beside the memory too, so that only crowds are too large for it.
        let rooms = (count / self.room()).saturating_mul(16).max(1);
        let bits = part_bits(count).max(rooms.ilog2().min(PART_BITS_MAX));
        // Each share needs a part to itself.
        let bits = bits.max(self.share.count.next_power_of_two().ilog2());
        let counts = self.count_parts(split, bits)?;
        let mut buffer = Vec::new();
        for (first, &block) in split.firsts().iter().enumerate() {
            let tables = split.tables(first);
            let counts = &counts[first];
            for parts in self.rounds(counts, bits) {
                if parts.len() == 1 && self.is_crowded(counts, parts.start, bits) {
                    let of = PartOf { block, bits, part: parts.start };
                    self.meet_in_crowd(of, &split.firsts()[..first], counts, take)?;
                    continue;
                }
                let round = Round { join: self, block, bits, tables: &tables, parts };
                round.run(counts, &mut buffer, take)?;
            }
        }
        Ok(())
    }

    /// Whether the copies of a part that looking through it takes would not fit into memory: many
    /// values agree on the block, or there is very little memory.
    fn is_crowded(&self, counts: &PartCounts, part: usize, bits: u32) -> bool {
        let count = counts.of_part(part);
        let mean = counts.total() >> bits;
        let copies = 2 * (self.resources.threads + 2);
        let uneven = count > 8 * mean && count > self.room() / copies;
        count > CROWD_MIN && (uneven || count > self.room())
    }

    /// Joins the values of a part by themselves, split by the other bits in which they vary.
    fn meet_in_crowd(
        &self,
        of: PartOf,
        before: &[u64],
        counts: &PartCounts,
        take: &Take<'_>,
    ) -> Result<()> {
        let inner = Join {
            sources: self.sources.clone(),
            k: self.k,
            share: Share::WHOLE,
            resources: self.resources.clone(),
            watch: self.watch.clone(),
            crowd: self.crowd.within(of, before),
        };
        let sides: Vec<u64> =
            (0..self.sources.len()).map(|side| counts.of_side(side, of.part) as u64).collect();
        if pair_count(&sides) >= 1.0 {
            match inner.split(&sides)? {
                Some(split) => inner.meet(&split, &sides, take)?,
                None => inner.compare_all(take)?,
            }
        }
        self.tick(sides.iter().sum())
    }

    /// Says that so much more is done. What a crowd takes is said once it is done.
    pub(super) fn tick(&self, count: u64) -> Result<()> {
        if self.crowd.parts.is_empty() { self.watch.tick(count) } else { self.watch.report() }
    }

    /// Hands the values of a piece of a source to `each`, those of the crowd if there is one.
    pub(super) fn pass(
        &self,
        (source, piece, pieces): (usize, usize, usize),
        mut each: impl FnMut(&[u64]) -> Result<()>,
    ) -> Result<()> {
        let source = &self.sources[source];
        if self.crowd.parts.is_empty() {
            return source.pass(piece, pieces, each);
        }
        let mut own = Vec::new();
        source.pass(piece, pieces, |run| {
            own.clear();
            own.extend(run.iter().copied().filter(|&value| self.crowd.has(value)));
            each(&own)
        })
    }

    /// The bits in which not all values are alike.
    fn varying(&self) -> Result<u64> {
        let (mut any, mut all) = (0, u64::MAX);
        for source in 0..self.sources.len() {
            self.pass((source, 0, 1), |run| {
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
        let count_piece = |&piece: &(usize, usize, usize)| {
            let mut counts = vec![vec![0_usize; 1 << bits]; split.firsts().len()];
            self.pass(piece, |run| {
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
        let room = self.room();
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

    /// How many values fit into memory.
    fn room(&self) -> usize {
        let held: u64 = self.sources.iter().map(Source::memory_len).sum();
        (self.resources.memory.saturating_sub(held) / 8).max(1) as usize
    }

    /// All values of a source.
    fn values(&self, source: usize) -> Result<Arc<Vec<u64>>> {
        if self.crowd.parts.is_empty() {
            return self.sources[source].values();
        }
        let mut values = Vec::new();
        self.pass((source, 0, 1), |run| {
            values.extend_from_slice(run);
            Ok(())
        })?;
        Ok(Arc::new(values))
    }

    /// Compares each with each, where nothing better is known.
    fn compare_all(&self, take: &Take<'_>) -> Result<()> {
        let asking = self.values(0)?;
        let held = (self.sources.len() > 1).then(|| self.values(1)).transpose()?;
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
                self.tick(range.len() as u64)?;
                match &held {
                    None => finder.find_in_range(&asking, range, take)?,
                    Some(held) => finder.find_across(&asking[range], held, take)?,
                }
            }
            Ok(())
        })
    }

    /// Runs `work` on each thread with a finder of its own.
    pub(super) fn on_all_threads(
        &self,
        take: &Take<'_>,
        work: impl Fn(&mut Finder, super::near::Sink<'_>) -> Result<()> + Sync,
    ) -> Result<()> {
        let on_thread = |_: &usize| {
            let mut finder = Finder::new(self.k).within(self.crowd.agree, &self.crowd.differ);
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

/// How many pairs there are among so many values of one source, or between those of two.
fn pair_count(counts: &[u64]) -> f64 {
    match counts {
        [one] => *one as f64 * (*one as f64 - 1.0) / 2.0,
        _ => counts.iter().map(|&count| count as f64).product(),
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
