//! One window after the other.

use super::looks::{AllFn, BitsFn, GlanceFn, Lanes, NearSums, SumFn};
use super::{NearHead, Needle, Progress, Stretch, WINDOW_LEN};
use crate::section::{BlockIndex, Rank};

/// With more near bytes than this, all sums at once cost less than a sum up to each.
const SUMS_MAX: u32 = 6;

/// A window of gaps of which all are whole, and what comes before it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Window<'a> {
    pub(super) bytes: &'a [u8; WINDOW_LEN],
    /// Bytes with the high bit set, and those that end a gap; none that does not belong here.
    pub(super) open: u64,
    pub(super) ends: u64,
    /// The head before the first gap, below the bits that name the block.
    pub(super) inner: u64,
    /// The rank of its value.
    pub(super) rank: u64,
}

impl Window<'_> {
    /// Whether all gaps have eight bytes at most: a window of longer ones could carry a sum past the end of the numbers.
    #[inline(always)]
    fn has_short_gaps(&self) -> bool {
        let two = self.open & self.open >> 1;
        let four = two & two >> 2;
        four & four >> 4 == 0
    }

    /// The sum of the gaps that end at these bits or before: all bits up to one that ends a gap.
    #[inline(always)]
    fn sum_to(&self, upto: u64, sum: &impl SumFn) -> u64 {
        // Bytes that are the first part of a gap, the second, and so on: nearly all of them are one of these two.
        let second = self.open << 1;
        let third = second & self.open << 2;
        let ones = sum(self.bytes, upto & !second);
        let mut total = ones + (sum(self.bytes, upto & second & !third) << 7);
        let (mut later, mut before) = (third & upto, 2);
        while later != 0 {
            let next = later & self.open << (before + 1);
            total += sum(self.bytes, later & !next) << (7 * before);
            (later, before) = (next, before + 1);
        }
        total
    }

    /// Adds those of the heads at `perhaps` that are near; `false` if a gap is too long.
    #[inline(always)]
    pub(super) fn add_near(
        &self,
        perhaps: u64,
        block: BlockIndex,
        spare: u32,
        needle: Needle,
        found: &mut Vec<NearHead>,
        lanes: &Lanes<impl BitsFn, impl BitsFn, impl GlanceFn, impl SumFn, impl AllFn>,
    ) -> bool {
        if !self.has_short_gaps() {
            return false;
        }
        // Where many seem near, one sum tells whether that is worth a look at all.
        let upto = u64::MAX >> self.ends.leading_zeros();
        if perhaps.count_ones() <= SUMS_MAX
            || self.inner + self.sum_to(upto, &lanes.sum) >= needle.range(spare).0
        {
            self.add_near_of_any(perhaps, block, spare, needle, found, lanes);
        }
        true
    }

    /// Adds those of the heads at `perhaps` that are near, in the way that suits their number; all gaps are short.
    #[inline(always)]
    fn add_near_of_any(
        &self,
        perhaps: u64,
        block: BlockIndex,
        spare: u32,
        needle: Needle,
        found: &mut Vec<NearHead>,
        lanes: &Lanes<impl BitsFn, impl BitsFn, impl GlanceFn, impl SumFn, impl AllFn>,
    ) {
        if perhaps.count_ones() > SUMS_MAX {
            self.add_near_of_many(block, spare, needle, found, lanes);
        } else {
            self.add_near_of_few(perhaps, block, spare, needle, found, lanes);
        }
    }

    /// Where the lowest byte may hold any bits, all values seem near.
    #[inline(always)]
    fn add_near_of_many(
        &self,
        block: BlockIndex,
        spare: u32,
        needle: Needle,
        found: &mut Vec<NearHead>,
        lanes: &Lanes<impl BitsFn, impl BitsFn, impl GlanceFn, impl SumFn, impl AllFn>,
    ) {
        let (sums, near) = (lanes.all)(
            self.bytes,
            self.open,
            NearSums {
                before: self.inner as u32,
                inner: needle.inner as u32,
                mask: needle.mask as u32,
                spare,
                head_before: needle.head_in(block, self.inner) as u32,
                head: needle.head as u32,
                k: needle.k,
                len: 64 - self.ends.leading_zeros() as usize,
            },
        );
        let mut near = near & self.ends;
        let low_sum =
            |bit: u64| sums.get(bit.trailing_zeros() as usize).copied().unwrap_or_default();
        // Gaps of three bytes, even 64 of them, stay within 32 bits; after longer ones the sum is taken anew.
        let mut long = self.ends & self.open << 1 & self.open << 2 & self.open << 3;
        let (mut whole, mut since) = (0, 0);
        // Pushed one by one, each would wait for the length that the one before it left in memory.
        let (start, mut count) = (found.len(), 0);
        found.resize(start + near.count_ones() as usize, NearHead::default());
        let slots = found.get_mut(start..).unwrap_or_default();
        while near != 0 {
            let bit = near & near.wrapping_neg();
            let longs = long & (bit | (bit - 1));
            if longs != 0 {
                let end = 1 << (63 - longs.leading_zeros());
                (whole, since) = (self.sum_to(end | (end - 1), &lanes.sum), low_sum(end));
                long ^= longs;
            }
            let inner = self.inner + whole + u64::from(low_sum(bit).wrapping_sub(since));
            let head = needle.head_in(block, inner);
            let before = u64::from((self.ends & (bit - 1)).count_ones());
            if let Some(slot) = slots.get_mut(count) {
                *slot = NearHead { rank: Rank(self.rank + before), head };
            }
            // What lies above 32 bits was not compared.
            count += usize::from(needle.is_near(inner, head, spare));
            near ^= bit;
        }
        found.truncate(start + count);
    }

    /// Takes the whole sum up to each of a few.
    #[inline(always)]
    fn add_near_of_few(
        &self,
        mut perhaps: u64,
        block: BlockIndex,
        spare: u32,
        needle: Needle,
        found: &mut Vec<NearHead>,
        lanes: &Lanes<impl BitsFn, impl BitsFn, impl GlanceFn, impl SumFn, impl AllFn>,
    ) {
        while perhaps != 0 {
            let bit = perhaps & perhaps.wrapping_neg();
            let inner = self.inner + self.sum_to(bit | (bit - 1), &lanes.sum);
            let head = needle.head_in(block, inner);
            let before = u64::from((self.ends & (bit - 1)).count_ones());
            let len = found.len();
            // Without a branch: which ones are near cannot be foreseen.
            found.push(NearHead { rank: Rank(self.rank + before), head });
            found.truncate(len + usize::from(needle.is_near(inner, head, spare)));
            perhaps ^= bit;
        }
    }
}

/// Adds the near heads of a stretch; see [`Kernel::search`](super::Kernel::search).
#[inline(always)]
pub(super) fn search_with(
    heads: &[u8],
    stretch: &mut Stretch,
    needle: Needle,
    found: &mut Vec<NearHead>,
    enough: usize,
    lanes: &Lanes<impl BitsFn, impl BitsFn, impl GlanceFn, impl SumFn, impl AllFn>,
) -> Progress {
    // No sum of a window comes near the end of the numbers, as long as the one before it does not.
    const INNER_MAX: u64 = 1 << 62;
    let (low, _) = needle.range(stretch.spare);
    while stretch.start < stretch.end {
        let rest = heads.get(stretch.start as usize..);
        let (Some(bytes), true) =
            (rest.and_then(|rest| rest.first_chunk()), stretch.inner < INNER_MAX)
        else {
            return Progress::HandedBack;
        };
        let left = stretch.end - stretch.start;
        let open = (lanes.open)(bytes);
        let ends = u64::MAX >> (WINDOW_LEN as u64).saturating_sub(left) & !open;
        // A gap that goes on behind the window is left for the next one.
        let taken = u64::from(64 - ends.leading_zeros());
        let value_count = u64::from(ends.count_ones());
        // More gaps than values are handed back before the first that is too many.
        let too_many = stretch.rank_end.saturating_sub(stretch.rank) < value_count;
        if ends == 0 || (left <= WINDOW_LEN as u64 && taken != left) || too_many {
            return Progress::HandedBack;
        }
        let upto = u64::MAX >> (64 - taken);
        let open = open & upto;
        let window = Window { bytes, open, ends, inner: stretch.inner, rank: stretch.rank };
        if !window.has_short_gaps() {
            return Progress::HandedBack;
        }
        let total = window.sum_to(upto, &lanes.sum);
        let after = stretch.inner + total;
        if after >= low {
            let glance = (lanes.glance)(bytes, stretch.inner as u8, stretch.spare);
            let overlong = open << 1 & (lanes.zero)(bytes) & ends;
            let perhaps = glance.perhaps & ends;
            if overlong != 0 {
                return Progress::HandedBack;
            }
            window.add_near_of_any(perhaps, stretch.block, stretch.spare, needle, found, lanes);
        }
        stretch.start += taken;
        stretch.rank += value_count;
        if stretch.start < stretch.end {
            stretch.inner = after;
            if after > stretch.last {
                return Progress::Done;
            }
            if found.len() >= enough {
                return Progress::More;
            }
        }
    }
    match stretch.rank == stretch.rank_end {
        true => Progress::Done,
        false => Progress::HandedBack,
    }
}
