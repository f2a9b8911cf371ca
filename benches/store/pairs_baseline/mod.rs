//! All pairs by the published method: for each combination of two of five blocks, permute, sort,
//! and compare the values that agree on both.

/// First bit and length of the five blocks, starting at the least significant bit.
const BLOCKS: [(u32, u32); 5] = [(0, 12), (12, 13), (25, 13), (38, 13), (51, 13)];
/// The number of bits in a radix pass: three passes sort the leading 25 or 26 bits.
const DIGIT_BITS: u32 = 9;

/// Calls `found` once with every pair of values within 3 bits; the values must be distinct.
///
/// These settings were the fastest on the machine of the measurements. The sort key contains only
/// the leading bits, because values that agree on them are compared in any order. Radix passes take
/// 9 bits each, and one pass collects the counts of all digits. Whole permuted values are sorted,
/// so a comparison needs no look-up.
pub fn near_pairs(values: &[u64], mut found: impl FnMut(u64, u64)) {
    let mut permuted = vec![0; values.len()];
    let mut scratch = vec![0; values.len()];
    for one in 0..5 {
        for other in one + 1..5 {
            let order = Order::new(one, other);
            for (slot, &value) in permuted.iter_mut().zip(values) {
                *slot = order.permute(value);
            }
            sort_by_leading(&mut permuted, &mut scratch);
            let lead = order.lead();
            let mut start = 0;
            for at in 1..=permuted.len() {
                if at < permuted.len() && (permuted[at] ^ permuted[start]) >> (64 - lead) == 0 {
                    continue;
                }
                if at - start > 1 {
                    compare(&permuted[start..at], &order, &mut found);
                }
                start = at;
            }
        }
    }
}

/// Compares all pairs in a group.
fn compare(group: &[u64], order: &Order, found: &mut impl FnMut(u64, u64)) {
    for (at, &value) in group.iter().enumerate() {
        for &other in &group[..at] {
            let diff = value ^ other;
            if at_most_3(diff) && order.is_first(order.restore(diff)) {
                found(order.restore(value), order.restore(other));
            }
        }
    }
}

fn at_most_3(mut word: u64) -> bool {
    for _ in 0..3 {
        word &= word.wrapping_sub(1);
    }
    word == 0
}

/// An order of the bits in which two blocks come first.
struct Order {
    blocks: [usize; 5],
}

impl Order {
    fn new(one: usize, other: usize) -> Self {
        let mut blocks = [one, other, 0, 0, 0];
        let rest = (0..5).filter(|block| ![one, other].contains(block));
        blocks[2..].iter_mut().zip(rest).for_each(|(slot, block)| *slot = block);
        Order { blocks }
    }

    fn lead(&self) -> u32 {
        BLOCKS[self.blocks[0]].1 + BLOCKS[self.blocks[1]].1
    }

    #[inline(always)]
    fn permute(&self, value: u64) -> u64 {
        let mut out = 0;
        for block in self.blocks {
            let (shift, bits) = BLOCKS[block];
            out = out << bits | value >> shift & ((1 << bits) - 1);
        }
        out
    }

    fn restore(&self, mut permuted: u64) -> u64 {
        let mut out = 0;
        for block in self.blocks.into_iter().rev() {
            let (shift, bits) = BLOCKS[block];
            out |= (permuted & ((1 << bits) - 1)) << shift;
            permuted >>= bits;
        }
        out
    }

    /// Whether no earlier combination of two blocks also finds this difference.
    fn is_first(&self, diff: u64) -> bool {
        let mut agreeing = (0..5).filter(|&block| {
            let (shift, bits) = BLOCKS[block];
            diff >> shift & ((1 << bits) - 1) == 0
        });
        [agreeing.next(), agreeing.next()] == [Some(self.blocks[0]), Some(self.blocks[1])]
    }
}

fn sort_by_leading(values: &mut Vec<u64>, scratch: &mut Vec<u64>) {
    const SIZE: usize = 1 << DIGIT_BITS;
    let shifts = [64 - 3 * DIGIT_BITS, 64 - 2 * DIGIT_BITS, 64 - DIGIT_BITS];
    let mut counts = [[0_u32; SIZE]; 3];
    for value in values.iter() {
        for (counts, shift) in counts.iter_mut().zip(shifts) {
            counts[(value >> shift) as usize % SIZE] += 1;
        }
    }
    for (counts, shift) in counts.iter_mut().zip(shifts) {
        let mut next = 0;
        for count in counts.iter_mut() {
            next += std::mem::replace(count, next);
        }
        for value in values.iter() {
            let at = &mut counts[(value >> shift) as usize % SIZE];
            scratch[*at as usize] = *value;
            *at += 1;
        }
        std::mem::swap(values, scratch);
    }
}
