//! Cuts bits into blocks, if possible into blocks that are leading bits of a table. Values that
//! agree on such a block are adjacent in the table, so a join need not divide values by it.

/// Cuts the bits set in `varying` into `blocks` blocks of consecutive bits, most significant first,
/// whose lengths differ by at most one bit.
pub(in crate::join) fn even_blocks(varying: u64, blocks: u32) -> Vec<u64> {
    let bits = varying.count_ones();
    let mut left = varying;
    (0..blocks)
        .map(|block| {
            let end = (u64::from(block) + 1) * u64::from(bits) / u64::from(blocks);
            let start = u64::from(block) * u64::from(bits) / u64::from(blocks);
            (start..end).fold(0, |mask, _| {
                let highest = 1 << (63 - left.leading_zeros());
                left ^= highest;
                mask | highest
            })
        })
        .collect()
}

/// Whether the bits of `block` are the leading bits of a table with this mask.
pub(in crate::join) fn leads_with(mask: u64, block: u64) -> bool {
    let after = block.trailing_zeros();
    mask >> after << after == block
}

/// The `count` most significant set bits of `mask`, or all set bits if there are fewer.
pub(in crate::join) fn first_bits(mask: u64, count: u32) -> u64 {
    let mut left = mask;
    for _ in 0..count {
        left &= !(1_u64 << 63).checked_shr(left.leading_zeros()).unwrap_or(0);
    }
    mask & !left
}

/// Cuts the bits of `varying` into `count` blocks of similar length: first as many blocks as fit
/// into the leading bits of tables with these masks, then blocks of the remaining bits.
pub(super) fn led_blocks(varying: u64, count: u32, masks: &[u64]) -> Vec<u64> {
    let bits = varying.count_ones();
    let mut leads = Vec::new();
    let (mut taken, mut rest, mut len) = (0, count, (bits + count / 2) / count);
    for &mask in masks {
        let unfit = mask & (!varying | taken);
        let lead = mask & !u64::MAX.checked_shr(unfit.leading_zeros()).unwrap_or(0);
        let blocks = lead.count_ones() * count / bits;
        if blocks > 0 {
            taken |= lead;
            rest -= blocks;
            len = len.min(lead.count_ones() / blocks);
            leads.push((lead, blocks));
        }
    }
    if rest == 0 {
        return leads.iter().flat_map(|&(lead, blocks)| even_blocks(lead, blocks)).collect();
    }
    let led = leads
        .iter()
        .flat_map(|&(lead, blocks)| even_blocks(first_bits(lead, blocks * len), blocks));
    let mut all: Vec<u64> = led.collect();
    let left = varying & !all.iter().fold(0, |all, block| all | block);
    // If too few bits remain for the missing blocks, the bits are cut evenly.
    if left.count_ones() < rest * (len / 2).max(1) {
        return even_blocks(varying, count);
    }
    all.extend(even_blocks(left, rest));
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_leads_where_no_other_bit_of_the_mask_comes_before_its_last() {
        assert!(leads_with(0xff00, 0xff00) && leads_with(0xff0f, 0xff00));
        assert!(!leads_with(0x1ff00, 0xff00), "a bit before");
        assert!(!leads_with(0xf700, 0xff00) && !leads_with(0xff00, 0xff0f), "a bit is missing");
        assert!(leads_with(0xf0ff_0001, 0xf0f0_0000) && !leads_with(0xf1f0_0000, 0xf0f0_0000));
        assert_eq!(first_bits(0xf0f0, 5), 0xf080);
        assert_eq!((first_bits(0xf0f0, 64), first_bits(0, 3)), (0xf0f0, 0));
    }

    #[test]
    fn blocks_lead_in_tables_that_have_room_for_them() {
        let halves = [u64::MAX << 32, u64::MAX >> 32];
        let five = led_blocks(u64::MAX, 5, &halves);
        let bits: Vec<u32> = five.iter().map(|block| block.count_ones()).collect();
        assert_eq!(bits, [13, 13, 13, 13, 12]);
        assert!(leads_with(halves[0], five[0]) && leads_with(halves[0], five[0] | five[1]));
        assert!(leads_with(halves[1], five[2]) && leads_with(halves[1], five[2] | five[3]));
        assert_eq!(five[4], 0x3f_0000_003f);
        // In a table with all bits in natural order, the leading blocks are those of an even cut.
        assert_eq!(led_blocks(u64::MAX, 5, &[u64::MAX]), even_blocks(u64::MAX, 5));
        assert_eq!(led_blocks(u64::MAX, 5, &[]), even_blocks(u64::MAX, 5));
        assert_eq!(led_blocks(0xffff, 4, &halves), even_blocks(0xffff, 4));
    }

    #[test]
    fn blocks_are_disjoint_and_hold_all_bits() {
        let quarters = [0xffff_u64 << 48, 0xffff << 32, 0xffff << 16, 0xffff];
        let overlapping = [0xff00_ff00_u64 << 32, u64::MAX << 40, 0xff0f_0f0f_0f0f_0f0f, 1, 0];
        for masks in [&[u64::MAX << 32, u64::MAX >> 32][..], &quarters, &overlapping] {
            for varying in [u64::MAX, u64::MAX >> 7, 0x0f0f_f0f0_3fff_ff01, 0xffff_ffff, 0b1011] {
                for count in 1..=varying.count_ones().min(24) {
                    let blocks = led_blocks(varying, count, masks);
                    assert_eq!(blocks.len(), count as usize);
                    let all = blocks.iter().fold(0, |all, &block| {
                        assert!(block != 0 && all & block == 0, "{varying:x} {count} {masks:x?}");
                        all | block
                    });
                    assert_eq!(all, varying);
                }
            }
        }
    }
}
