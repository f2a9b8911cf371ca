//! What answering takes, counted in the steps that the search makes.

use super::combinatorics::combinations_up_to;
use super::density::Density;
use std::ops::AddAssign;

/// A block is walked whole if that reads fewer values than this for each of its ranges.
pub(crate) const VALUES_PER_RANGE: f64 = 128.0;
/// Most values that the walk to a range passes: long blocks have points to start from.
const PASSED_MAX: f64 = 128.0;
/// What a step of the search for a restart point costs, in ranges.
const RANGES_PER_HALVING: f64 = 0.4;
/// Heads that the walk to a range passes in one step.
const HEADS_IN_GROUP: f64 = 8.0;
/// Blocks with more values have points to start from, and are searched for ranges.
pub(crate) const PLAIN_VALUES_MAX: u64 = 256;
/// Bytes of heads that are summed at once.
const WINDOW_LEN: f64 = 64.0;
/// Of those sums only the lowest byte is looked at first.
const GLANCE_BITS: u32 = 8;
/// Where more heads of a window than this seem near by it, all its sums are taken whole.
const SEEM_NEAR_MAX: f64 = 6.0;

/// The steps of one query, expected or counted.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Effort {
    /// Tables that take part.
    pub tables: f64,
    /// Blocks looked up in a prefix index.
    pub probes: f64,
    /// Cache lines of prefix indexes touched.
    pub lines: f64,
    /// Blocks among them that hold values, so that heads are read.
    pub blocks: f64,
    /// Windows of 64 bytes of heads that are summed at once, in the blocks where that can be done.
    pub windows: f64,
    /// Those among them of which all sums are taken whole, as the lowest byte of many seems near.
    pub whole_windows: f64,
    /// Ranges of heads looked for in the other blocks.
    pub ranges: f64,
    /// Heads passed over on the way to a range.
    pub heads_passed: f64,
    /// Heads decoded and compared one by one.
    pub heads_compared: f64,
    /// Bytes beyond the first of gaps, of the heads passed over or compared and of those in windows.
    pub extra_bytes: f64,
    /// Values whose tail is fetched and compared.
    pub candidates: f64,
    /// Values compared in a pass over a table.
    pub scanned: f64,
}

impl AddAssign for Effort {
    fn add_assign(&mut self, other: Effort) {
        self.tables += other.tables;
        self.probes += other.probes;
        self.lines += other.lines;
        self.blocks += other.blocks;
        self.windows += other.windows;
        self.whole_windows += other.whole_windows;
        self.ranges += other.ranges;
        self.heads_passed += other.heads_passed;
        self.heads_compared += other.heads_compared;
        self.extra_bytes += other.extra_bytes;
        self.candidates += other.candidates;
        self.scanned += other.scanned;
    }
}

/// What must be known of a table to expect the steps of a query.
#[derive(Clone, Debug)]
pub(crate) struct TableShape {
    pub(crate) prefix_bits: u32,
    /// The leading bits that name a block.
    pub(crate) block_bits: u32,
    /// The leading bits that are stored as heads.
    pub(crate) head_bits: u32,
    pub(crate) value_count: u64,
    /// Bytes that probes touch in no order: index and heads.
    pub(crate) hot_len: f64,
    /// Bytes of a gap between heads beyond the first.
    pub(crate) extra_len: f64,
    pub(crate) density: Density,
}

impl TableShape {
    /// The table as a reader sees it, who knows but how it was cut, and how crowded its blocks
    /// are if they are; even bits would have needed `needed` bits of head.
    #[cfg(feature = "build")]
    pub(crate) fn as_read(&self, heads_len: f64, crowded: bool, needed: u32) -> TableShape {
        let bits = (self.prefix_bits, self.block_bits, self.head_bits);
        let crowded = crowded.then(|| self.density.crowded(self.block_bits));
        TableShape {
            density: Density::of_cut(bits, needed, crowded),
            extra_len: extra_len(heads_len, self.value_count),
            ..self.clone()
        }
    }

    /// The steps to probe the table within `radius` for a query at distance `k` that is itself
    /// stored, or else resembles what is: `own` is 1 or 0.
    pub(crate) fn probe_effort(&self, radius: u32, k: u32, own: f64) -> Effort {
        let n = self.value_count as f64;
        let leading = self.prefix_bits.min(self.block_bits);
        let free = self.block_bits - leading;
        let inner = self.prefix_bits.min(self.head_bits).saturating_sub(self.block_bits);
        let in_block = self.density.sharing(self.block_bits, n);
        // Where a prefix has several blocks, those in use are as many as its values need.
        let in_prefix = self.density.sharing(leading, n);
        let used_per_prefix = if in_block > 0.0 { in_prefix / in_block } else { 1.0 };
        let filled = -(-in_block).exp_m1();
        let blocks_per_prefix = 2_f64.powi(free as i32);
        let ways = self.density.ways(leading, radius);
        let in_range = self.density.sharing(self.prefix_bits.min(self.head_bits), n);
        let neighbours = self.density.neighbours(self.block_bits, radius);
        let mut effort = Effort { tables: 1.0, ..Effort::default() };
        let mut prefixes_before = 0.0;
        for ((weight, ways), near) in (0..=radius.min(leading)).zip(&ways).zip(neighbours) {
            let prefixes = combinations_up_to(leading, weight) - prefixes_before;
            prefixes_before += prefixes;
            effort.probes += prefixes * blocks_per_prefix;
            let at_home = if weight == 0 { own } else { 0.0 };
            let blocks = ways.min(prefixes) * used_per_prefix.min(blocks_per_prefix) * filled;
            let blocks = if weight == 0 { blocks.max(own) } else { blocks };
            effort.blocks += blocks;
            // Crowded blocks among the used ones make up for the empty ones.
            let held = in_block / filled.max(f64::MIN_POSITIVE);
            let spare = radius - weight;
            let flipped = self.density.ways(inner, spare).iter().sum::<f64>();
            let in_ranges = in_range * ways * flipped;
            if held + at_home <= PLAIN_VALUES_MAX as f64 {
                let windows = blocks * windows(held * (1.0 + self.extra_len));
                let near = blocks * held * self.seems_near(spare);
                let whole = whole_share(near / windows);
                effort.windows += windows;
                effort.whole_windows += windows * whole;
                effort.heads_compared += near.max(in_ranges) * (1.0 - whole) + at_home;
                effort.extra_bytes += blocks * (held + at_home) * self.extra_len;
                continue;
            }
            let ranges = combinations_up_to(inner, spare);
            let to_walk = if spare == 0 { 0.0 } else { ranges * VALUES_PER_RANGE };
            if held + at_home <= to_walk {
                effort.ranges += blocks;
                effort.heads_compared += blocks * held + at_home + near;
                continue;
            }
            // Halving the restart points of a long block touches a line each time, and is a part of
            // the work of a range.
            let halvings = (held / PASSED_MAX).max(1.0).log2();
            effort.ranges += blocks * ranges * (1.0 + RANGES_PER_HALVING * halvings);
            effort.lines += blocks * ranges * halvings;
            // Half of a block lies before the range, half of a restart interval in a long one.
            let passed = (held / 2.0).min(PASSED_MAX / 2.0);
            let near_passed = (near / 2.0).min(PASSED_MAX / 2.0 * prefixes);
            effort.heads_passed += (blocks * passed + near_passed) * ranges;
            // Heads longer than the prefix: its range has an inside, and the group of eight in
            // which it begins is decoded one by one.
            let group = if self.head_bits > self.prefix_bits.max(self.block_bits) {
                (HEADS_IN_GROUP / 2.0).min(held) * blocks * ranges
            } else {
                0.0
            };
            effort.heads_compared += (in_ranges + group).min(blocks * ranges * held) + at_home;
        }
        if effort.windows == 0.0 {
            effort.extra_bytes += self.extra_len * (effort.heads_passed + effort.heads_compared);
        }
        effort.lines += self.lines(radius);
        let within = self.density.within((self.prefix_bits, radius), (self.head_bits, k), n);
        effort.candidates = within + own;
        effort
    }

    /// The share of the values in a block whose lowest byte is near that of a query with so many flips.
    fn seems_near(&self, flips: u32) -> f64 {
        let start = self.head_bits.saturating_sub(GLANCE_BITS).max(self.block_bits);
        self.density.share_near(start, self.prefix_bits.min(self.head_bits), flips)
    }

    /// Flips of the lowest bits that name a block stay in one line of the index.
    fn lines(&self, radius: u32) -> f64 {
        const LINE_BITS: u32 = 4;
        let leading = self.prefix_bits.min(self.block_bits);
        let free = self.block_bits - leading;
        let lines_per_prefix = 2_f64.powi(free.saturating_sub(LINE_BITS) as i32);
        let flippable = leading - LINE_BITS.saturating_sub(free).min(leading);
        combinations_up_to(flippable, radius) * lines_per_prefix
    }

    #[cfg(feature = "build")]
    /// Pages of the file that a query touches, if it finds none of them in memory.
    pub(crate) fn pages(&self, effort: &Effort, radius: u32) -> f64 {
        // A page of the index tells of 1024 blocks; a page of heads holds about so many values.
        const INDEX_BITS: u32 = 10;
        const HEADS_PER_PAGE: f64 = 3700.0;
        let n = self.value_count as f64;
        let leading = self.prefix_bits.min(self.block_bits);
        let free = self.block_bits - leading;
        let apart = |same: u32| {
            let flippable = leading - same.saturating_sub(free).min(leading);
            let per_prefix = 2_f64.powi(free.saturating_sub(same) as i32);
            (combinations_up_to(flippable, radius) * per_prefix).min(effort.probes)
        };
        let index = apart(INDEX_BITS);
        let in_block = self.density.sharing(self.block_bits, n).max(1.0);
        let blocks_per_page = (HEADS_PER_PAGE / in_block).max(1.0);
        let heads = apart(blocks_per_page.log2() as u32).min(effort.blocks)
            * (in_block / HEADS_PER_PAGE).clamp(1.0, 1.0 + effort.heads_passed);
        index + heads + effort.candidates
    }
}

/// How many windows a block takes whose bytes are so many on average.
fn windows(len: f64) -> f64 {
    // As many as begin before its end; lengths spread like counts.
    let spread = len.sqrt().max(1.0);
    let begun = |number: u32| {
        let start = WINDOW_LEN * f64::from(number);
        1.0 / (1.0 + (1.702 * (start - len) / spread).exp())
    };
    1.0 + (1..8).map(begun).sum::<f64>()
}

/// The share of windows in which more heads seem near than a few, if so many do in each.
fn whole_share(near: f64) -> f64 {
    // They spread like counts.
    1.0 / (1.0 + (1.702 * (SEEM_NEAR_MAX + 0.5 - near) / near.sqrt().max(0.5)).exp())
}

/// Bytes of a gap beyond the first, as the length of the heads tells it.
pub(crate) fn extra_len(heads_len: f64, value_count: u64) -> f64 {
    (heads_len / value_count.max(1) as f64 - 1.0).max(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn uniform(prefix_bits: u32, value_count: u64) -> TableShape {
        let head_bits = super::super::cut::uniform_head_bits(value_count);
        let block_bits = super::super::cut::block_bits(value_count, 64 - head_bits);
        TableShape {
            prefix_bits,
            block_bits,
            head_bits,
            value_count,
            hot_len: 0.0,
            extra_len: 0.0,
            density: Density::uniform(),
        }
    }

    #[test]
    fn a_radius_of_one_looks_up_a_block_for_each_bit_that_names_one() {
        let effort = uniform(32, 10_000_000).probe_effort(1, 3, 0.0);
        assert_eq!(effort.probes, 19.0);
        assert_eq!(effort.lines, 15.0);
        assert!((effort.blocks - 19.0).abs() < 1e-6);
        assert!(effort.windows >= effort.blocks && effort.windows < 1.01 * effort.blocks);
        // The lowest byte of a 256th of a block's heads in each is the query's, and at home with one of eight flips too.
        assert!((effort.heads_compared / (27.0 * 38.15 / 256.0) - 1.0).abs() < 0.05, "{effort:?}");
        assert!(effort.whole_windows < 0.01 * effort.windows);
    }

    #[test]
    fn a_short_prefix_has_many_blocks() {
        let effort = uniform(10, 10_000_000).probe_effort(0, 3, 0.0);
        assert_eq!(effort.probes, 256.0);
        assert_eq!(effort.lines, 16.0);
        // All heads share the prefix.
        assert!(effort.whole_windows > 0.99 * effort.windows, "{effort:?}");
        assert!(effort.heads_compared < 0.001 * 1e7 / 1024.0);
    }

    #[test]
    fn blocks_take_as_many_windows_as_their_bytes_begin() {
        for (len, least, most) in
            [(1.0, 1.0, 1.001), (38.0, 1.0, 1.01), (64.0, 1.4, 1.6), (100.0, 1.99, 2.1)]
        {
            let found = windows(len);
            assert!(found >= least && found <= most, "{len}: {found}");
        }
    }
}
