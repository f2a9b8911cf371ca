//! One thread that walks a part of a table, tile after tile.

use std::cell::Cell;
use std::ops::Range;
use std::sync::atomic::Ordering;

use super::pass::{Hits, TablePass};
use super::sorted::Sorted;
use crate::base::error::Result;
use crate::base::section::{BlockIndex, Rank};
use crate::bytes::packing;
use crate::bytes::permutation::Permuted;
use crate::format::prefix_index::{self, BlockSpan};
use crate::scheme::Radius;
use crate::search::batch::{BatchSearcher, BatchTable};
use crate::search::kernel::Kernel;
use crate::search::kernel::lanes::{ItemHead, LaneLayout, Survivors, Tile};
use crate::search::probe::{NamedValue, Namer, reporting_table};
use crate::search::snapshot::SegmentHit;
use crate::segment::{ReadAhead, TableKind, TableReader, WholeTable};

/// With this mean number of probes per block or more, all blocks of a tile are decoded.
const PROBES_PER_BLOCK: u64 = 2;
/// With at most this mean number of blocks per probe, all heads of a tile are verified together.
const BLOCKS_PER_PROBE: u64 = 8;
/// Maximum number of queries that are probed together, for blocks without lanes.
const PROBED_TOGETHER: usize = 256;
/// The radii for looking up named values.
const EXACT: [Radius; 1] = [Some(0)];

/// How a block of a tile is searched.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Mark {
    Unused,
    /// The block is decoded into lanes, or will be.
    Lanes,
    /// The block cannot have lanes, so it is probed.
    Other,
}

/// The buffers and the results of one thread.
pub(super) struct Worker<'a> {
    pass: &'a TablePass<'a>,
    kernel: Kernel,
    tile: Tile,
    survivors: Survivors,
    near: Vec<ItemHead>,
    marks: Vec<Mark>,
    spans: Vec<(u32, BlockSpan)>,
    /// Blocks without lanes, which are probed.
    others: Vec<u32>,
    searcher: BatchSearcher,
    /// Whether there are too many hits, so that the walk stops.
    is_full: bool,
    pub(super) found: Hits,
    /// The values that remain to be looked up in the first table.
    pub(super) named: Vec<NamedValue>,
}

/// The sorted values that search a tile: `own` have their home block in the tile, `flipped` in a
/// tile whose number differs in one bit.
struct Items<'a> {
    sorted: &'a Sorted,
    layout: &'a LaneLayout,
    own: Range<usize>,
    flipped: Vec<Range<usize>>,
}

impl<'a> Items<'a> {
    fn new(sorted: &'a Sorted, layout: &'a LaneLayout, tile: u64) -> Self {
        let flips = if layout.is_flipped { layout.block_bits - layout.tile_bits } else { 0 };
        let flipped = (0..flips).map(|bit| sorted.of_tile(tile ^ 1 << bit));
        let flipped = flipped.filter(|items| !items.is_empty()).collect();
        Items { sorted, layout, own: sorted.of_tile(tile), flipped }
    }

    fn is_empty(&self) -> bool {
        self.own.is_empty() && self.flipped.is_empty()
    }

    /// Calls `each` with the position of each item and, within the tile, of each block that it
    /// searches.
    #[inline(always)]
    fn for_each_block(&self, mut each: impl FnMut(usize, usize)) {
        let low = |item: usize| self.layout.low_of(self.sorted.values[item]);
        let flips = if self.layout.is_flipped { self.layout.tile_bits } else { 0 };
        for item in self.own.clone() {
            let low = low(item);
            (0..=flips).for_each(|number| each(item, low ^ (1 << number) >> 1));
        }
        self.flipped.iter().flat_map(Range::clone).for_each(|item| each(item, low(item)));
    }
}

impl<'a> Worker<'a> {
    pub(super) fn new(pass: &'a TablePass<'a>) -> Self {
        Worker {
            pass,
            kernel: Kernel::detect(),
            tile: Tile::default(),
            survivors: Survivors::default(),
            near: Vec::new(),
            marks: Vec::new(),
            spans: Vec::new(),
            others: Vec::new(),
            searcher: BatchSearcher::default(),
            is_full: false,
            found: Hits::new(),
            named: Vec::new(),
        }
    }

    pub(super) fn run(&mut self, tiles: Range<u64>) -> Result<()> {
        let pass = self.pass;
        let Some(table) = pass.walk.segment.table(pass.position) else { return Ok(()) };
        let mut ahead = TableAhead::new(table, &tiles, pass.layout.tile_bits);
        let (queries, count) =
            (pass.queries.len() as u64, 1 << (pass.layout.block_bits - pass.layout.tile_bits));
        for tile in tiles {
            if pass.found_count.load(Ordering::Relaxed) > pass.walk.found_max {
                break;
            }
            let before = self.found.len();
            self.walk_tile(table, tile, &mut ahead)?;
            pass.found_count.fetch_add(self.found.len() - before, Ordering::Relaxed);
            if pass.sorted.is_some() {
                let until = |tiles: u64| queries * tiles / count;
                (pass.walk.report)(until(tile + 1) - until(tile))?;
            }
        }
        Ok(())
    }

    fn walk_tile(
        &mut self,
        table: TableReader<'_>,
        tile: u64,
        ahead: &mut Option<TableAhead<'_>>,
    ) -> Result<()> {
        let pass = self.pass;
        let asked = pass.sorted.as_ref().map(|sorted| Items::new(sorted, &pass.layout, tile));
        let named = pass.sorted_named.as_ref().map(|sorted| Items::new(sorted, &pass.exact, tile));
        let all = || asked.iter().chain(&named);
        if all().all(Items::is_empty) {
            return Ok(());
        }
        let first_block = tile << pass.layout.tile_bits;
        self.mark(all());
        self.decode(table, first_block, ahead);
        if let Some(items) = &asked {
            self.search(table, first_block, items, |worker, items| worker.compare(table, items))?;
        }
        if let Some(items) = &named {
            self.search(table, first_block, items, |worker, items| worker.find(table, items))?;
        }
        if !self.others.is_empty() {
            let Worker { others, marks, .. } = self;
            others.iter().for_each(|&block| marks[block as usize] = Mark::Other);
            if let Some(items) = &asked {
                self.search_others(first_block, items, false)?;
            }
            if let Some(items) = &named {
                self.search_others(first_block, items, true)?;
            }
        }
        Ok(())
    }

    /// Marks the blocks of a tile that will be decoded.
    fn mark<'b>(&mut self, all: impl Iterator<Item = &'b Items<'b>> + Clone) {
        let len = 1 << self.pass.layout.tile_bits;
        self.marks.clear();
        if self.probes_per_block() >= PROBES_PER_BLOCK as f64 {
            self.marks.resize(len, Mark::Lanes);
            return;
        }
        self.marks.resize(len, Mark::Unused);
        let marks = &mut self.marks;
        all.for_each(|items| items.for_each_block(|_, block| marks[block] = Mark::Lanes));
    }

    /// The mean number of probes for each block of the table.
    fn probes_per_block(&self) -> f64 {
        let TablePass { sorted, sorted_named, layout, .. } = self.pass;
        let count =
            |sorted: &Option<Sorted>| sorted.as_ref().map_or(0, |it| it.values.len() as u64);
        let for_each = if layout.is_flipped { 1 + layout.block_bits } else { 1 };
        let probes = count(sorted) * u64::from(for_each) + count(sorted_named);
        probes as f64 / 2_f64.powi(layout.block_bits as i32)
    }

    /// Decodes the marked blocks of a tile.
    fn decode(
        &mut self,
        table: TableReader<'_>,
        first_block: u64,
        ahead: &mut Option<TableAhead<'_>>,
    ) {
        let index = table.index_reader();
        self.spans.clear();
        self.others.clear();
        for (low, _) in (0..).zip(&self.marks).filter(|(_, mark)| **mark != Mark::Unused) {
            match index.span(BlockIndex(first_block + u64::from(low))) {
                Ok(span) => {
                    index.prefetch_heads(&span);
                    self.spans.push((low, span));
                }
                // The later search of this block returns the error.
                Err(_) => self.others.push(low),
            }
        }
        if let (Some((_, first)), Some((_, last))) = (self.spans.first(), self.spans.last()) {
            if let Some(ahead) = ahead {
                ahead.advance(first_block, first);
            }
            if self.probes_per_block() * BLOCKS_PER_PROBE as f64 >= 1.0
                && let Some(len) = last.heads_end.checked_sub(first.heads_start)
            {
                let _ = table.bytes(&table.heads, first.heads_start, len);
            }
        }
        let others = &mut self.others;
        self.spans.retain(|(low, span)| {
            let is_verified = span.value_count() == 0
                || index.has_verified_heads(span)
                || table.bytes(&table.heads, span.heads_start, span.heads_len()).is_ok();
            if !is_verified {
                others.push(*low);
            }
            is_verified
        });
        self.tile.clear(self.marks.len());
        self.kernel.decode_tile(table.heads_and_after(), &self.spans, &mut self.tile, others);
    }

    /// Compares items with the decoded blocks. Calls `compare` whenever the buffer of near heads is
    /// full.
    fn search(
        &mut self,
        table: TableReader<'_>,
        first_block: u64,
        items: &Items<'_>,
        mut compare: impl FnMut(&mut Self, &Sorted) -> Result<()>,
    ) -> Result<()> {
        let Items { sorted, layout, own, flipped } = items;
        let values = &sorted.values;
        let mut compare_survivors = |worker: &mut Self| {
            let Worker { kernel, tile, survivors, near, .. } = worker;
            kernel.near_heads(tile, values, layout, first_block, survivors, near);
            near.iter().for_each(|near| table.prefetch_tail(near.rank));
            compare(worker, sorted)
        };
        let runs = flipped.iter().map(|run| (run, false)).chain([(own, true)]);
        for (run, in_tile) in runs {
            let mut from = run.start;
            while from < run.end && !self.is_full {
                let Worker { kernel, tile, survivors, .. } = self;
                let items = (from, run.end);
                from = kernel.probe_tile(tile, values, items, layout, in_tile, survivors);
                if from < run.end {
                    compare_survivors(self)?;
                }
            }
        }
        compare_survivors(self)
    }

    /// Compares the tails of the near heads and adds the hits, or lists the values they name.
    fn compare(&mut self, table: TableReader<'_>, sorted: &Sorted) -> Result<()> {
        match table.kind() {
            TableKind::Whole(table) => self.compare_tails(table, sorted)?,
            TableKind::Syndromes(table) => {
                let pass = self.pass;
                let pages_checked = Cell::new(0);
                let walk = (pass.walk.segment, pass.walk.radii, pass.walk.k);
                let mut namer = Namer::new(walk, pass.position, table, self.kernel, &pages_checked);
                for near in std::mem::take(&mut self.near) {
                    let query = sorted.ids[near.item as usize];
                    let value = Permuted(sorted.values[near.item as usize]);
                    namer.name((near.rank, near.head), value, query, &mut self.named)?;
                    if self.named.len() > pass.named_max {
                        self.look_up()?;
                    }
                }
            }
        }
        self.near.clear();
        self.stop_if_full();
        Ok(())
    }

    /// Stops the walk if there are more than twice `found_max` hits.
    fn stop_if_full(&mut self) {
        let found = self.found.len() + self.pass.found_count.load(Ordering::Relaxed);
        self.is_full |= found > self.pass.walk.found_max.saturating_mul(2);
    }

    /// Retains the near heads whose whole value is within `k` bits of the value of their item.
    fn retain_near(&mut self, table: WholeTable<'_>, sorted: &Sorted, k: u32) -> Result<()> {
        let tails = table.tails();
        for near in &self.near {
            if !tails.are_verified(near.rank, near.rank) {
                table.tail(near.rank)?;
            }
        }
        self.kernel.retain_near_values(tails.packed(), &sorted.values, k, &mut self.near);
        Ok(())
    }

    fn compare_tails(&mut self, table: WholeTable<'_>, sorted: &Sorted) -> Result<()> {
        let pass = self.pass;
        let walk = pass.walk;
        self.retain_near(table, sorted, walk.k)?;
        for &ItemHead { rank, head: value, item } in &self.near {
            let query = sorted.ids[item as usize];
            let fingerprint = table.permutation.invert(Permuted(value));
            let needle = table.permutation.invert(Permuted(sorted.values[item as usize]));
            let diff = fingerprint.value() ^ needle.value();
            if reporting_table(walk.segment, walk.radii, diff) != Some(pass.position) {
                continue;
            }
            let distance = diff.count_ones();
            if walk.needs_first_rank && pass.position > 0 {
                self.named.push(NamedValue { fingerprint, query, distance });
            } else {
                let (segment, table) = (walk.number, table.index);
                let hit = SegmentHit { distance, fingerprint, segment, table, rank };
                self.found.push((query, hit));
            }
        }
        if self.named.len() > pass.named_max {
            self.look_up()?;
        }
        Ok(())
    }

    /// Adds the near heads that equal a looked-up value, as hits of the query that named it.
    fn find(&mut self, table: TableReader<'_>, sorted: &Sorted) -> Result<()> {
        let Some(table) = table.whole() else { return Ok(()) };
        self.retain_near(table, sorted, 0)?;
        for near in std::mem::take(&mut self.near) {
            let named = self.pass.named[sorted.ids[near.item as usize] as usize];
            self.take_named(named, near.rank);
        }
        Ok(())
    }

    /// Adds the hit of a looked-up value, which was found at `rank`, to its query.
    fn take_named(&mut self, named: NamedValue, rank: Rank) {
        let NamedValue { fingerprint, query, distance } = named;
        let segment = self.pass.walk.number;
        let table = crate::base::section::TableIndex(0);
        self.found.push((query, SegmentHit { distance, fingerprint, segment, table, rank }));
    }

    /// Looks up all listed values now, because there are more than the list may hold.
    #[cold]
    fn look_up(&mut self) -> Result<()> {
        let mut named = std::mem::take(&mut self.named);
        let walk = self.pass.walk;
        if let Some(first) = walk.segment.first_table() {
            named.sort_unstable_by_key(|named| first.permutation.apply(named.fingerprint));
        }
        let mut hits = Vec::new();
        let values = (0..).zip(&named).map(|(number, named)| (number, named.fingerprint));
        self.searcher.search(&self.batch_table(true), values, &mut hits)?;
        for (number, hit) in hits {
            self.take_named(named[number as usize], hit.rank);
        }
        named.clear();
        self.named = named;
        Ok(())
    }

    /// The table to probe within the radii, or within 0 bits for look-ups of named values.
    fn batch_table(&self, is_exact: bool) -> BatchTable<'a> {
        let (walk, position) = (self.pass.walk, self.pass.position);
        let (radii, table, k) =
            if is_exact { (&EXACT[..], 0, 0) } else { (walk.radii, position, walk.k) };
        let found_max = walk.found_max;
        BatchTable { segment: walk.segment, number: walk.number, radii, table, k, found_max }
    }

    /// Probes the blocks without lanes, for each item that searches them.
    fn search_others(&mut self, first_block: u64, items: &Items<'_>, is_named: bool) -> Result<()> {
        let (mut runs, mut part) = (vec![items.own.clone()], Vec::new());
        runs.extend(items.flipped.iter().cloned());
        let marks = std::mem::take(&mut self.marks);
        for (number, run) in runs.into_iter().enumerate() {
            for start in run.clone().step_by(PROBED_TOGETHER) {
                let some = start..(start + PROBED_TOGETHER).min(run.end);
                let (own, flipped) = if number == 0 { (some, vec![]) } else { (0..0, vec![some]) };
                let some = Items { sorted: items.sorted, layout: items.layout, own, flipped };
                some.for_each_block(|item, block| {
                    if marks[block] == Mark::Other {
                        part.push((item, block));
                    }
                });
                if part.len() >= PROBED_TOGETHER {
                    self.probe_others(first_block, items.sorted, &part, is_named)?;
                    part.clear();
                }
            }
        }
        self.marks = marks;
        self.probe_others(first_block, items.sorted, &part, is_named)
    }

    fn probe_others(
        &mut self,
        first_block: u64,
        sorted: &Sorted,
        wanted: &[(usize, usize)],
        is_named: bool,
    ) -> Result<()> {
        let pass = self.pass;
        if wanted.is_empty() || self.is_full {
            return Ok(());
        }
        let needle = |id: u32| match is_named {
            true => pass.named[id as usize].fingerprint,
            false => pass.queries[id as usize],
        };
        let probes = wanted.iter().map(|&(item, block)| {
            let id = sorted.ids[item];
            (id, needle(id), BlockIndex(first_block + block as u64))
        });
        let mut hits = Vec::new();
        self.searcher.search_blocks(&self.batch_table(is_named), probes, &mut hits)?;
        for (id, hit) in hits {
            if is_named {
                self.take_named(pass.named[id as usize], hit.rank);
            } else if pass.walk.needs_first_rank && pass.position > 0 && hit.table.0 > 0 {
                let SegmentHit { distance, fingerprint, .. } = hit;
                self.named.push(NamedValue { fingerprint, query: id, distance });
            } else {
                self.found.push((id, hit));
            }
        }
        self.stop_if_full();
        Ok(())
    }
}

/// Readahead for the sections of a part of a table.
struct TableAhead<'a> {
    entries: ReadAhead<'a>,
    heads: ReadAhead<'a>,
    tails: ReadAhead<'a>,
    stored_bits: u32,
}

impl<'a> TableAhead<'a> {
    /// `None` if the position of the part in the file cannot be read.
    fn new(table: TableReader<'a>, tiles: &Range<u64>, tile_bits: u32) -> Option<Self> {
        let blocks = tiles.start << tile_bits..(tiles.end << tile_bits).checked_sub(1)?;
        let first = table.span(BlockIndex(blocks.start)).ok()?;
        let last = table.span(BlockIndex(blocks.end)).ok()?;
        let entry = |block: u64| prefix_index::entry_offset(BlockIndex(block));
        let tail = |rank: u64| packing::load_offset(rank, table.stored_bits);
        let entries = entry(blocks.start)..entry(blocks.end) + prefix_index::ENTRY_LEN;
        let tails = tail(first.rank_start)..tail(last.rank_end) + packing::GUARD_LEN;
        Some(TableAhead {
            entries: table.read_ahead(&table.entries, entries),
            heads: table.read_ahead(&table.heads, first.heads_start..last.heads_end),
            tails: table.read_ahead(&table.tails, tails),
            stored_bits: table.stored_bits,
        })
    }

    /// Reads ahead of the given block in all sections.
    fn advance(&mut self, first_block: u64, span: &BlockSpan) {
        self.entries.advance(prefix_index::entry_offset(BlockIndex(first_block)));
        self.heads.advance(span.heads_start);
        self.tails.advance(packing::load_offset(span.rank_start, self.stored_bits));
    }
}
