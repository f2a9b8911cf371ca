//! How a set is split so that near values meet: blocks of bits, some of which a near pair must
//! agree on.

/// More tables than this never pay.
const TABLES_MAX: f64 = 1000.0;
/// Blocks that a pair agrees on at the least; more make prefixes longer and tables many.
const AGREEING_MAX: u32 = 4;
/// Nanoseconds to look at a value in one table.
const NANOS_PER_LOOK: f64 = 3.0;
/// Nanoseconds to put a value into its part.
const NANOS_PER_MOVE: f64 = 5.0;
/// Nanoseconds to compare two values that met by a chain.
const NANOS_PER_MEETING: f64 = 2.0;
/// Nanoseconds to compare two values side by side.
const NANOS_PER_COMPARISON: f64 = 0.8;
/// Sets of at most so many are compared each with each.
const FEW: u64 = 24;

/// A choice of `agreeing + k` blocks: at most `k` flips leave at least `agreeing` of them alone.
///
/// A pair belongs to the table of the first `agreeing` blocks that it agrees on, and to no other:
/// the blocks before the last of them that are not among them are where it must differ.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Split {
    blocks: Vec<u64>,
    agreeing: usize,
    nanos: u64,
}

/// What a pair of one table agrees on, and where it must differ.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Table {
    /// The first of the blocks that it agrees on.
    pub(super) first: usize,
    /// The bits of all of them.
    pub(super) agree: u64,
    /// Each of these blocks must differ.
    pub(super) differ: Vec<u64>,
}

impl Split {
    /// The cheapest split of the `varying` bits for `count` values, `pairs` of which would be compared
    /// without one; `None` if comparing each with each is cheaper still.
    pub(super) fn choose(varying: u64, count: u64, pairs: f64, k: u32) -> Option<Split> {
        if count <= FEW {
            return None;
        }
        let bits = varying.count_ones();
        let mut least = pairs * NANOS_PER_COMPARISON;
        let mut best = None;
        for agreeing in 1..=AGREEING_MAX {
            let blocks = k + agreeing;
            let tables = choices(blocks, agreeing);
            if blocks > bits || tables > TABLES_MAX {
                break;
            }
            let shared = f64::from(bits) * f64::from(agreeing) / f64::from(blocks);
            let meetings = pairs / 2_f64.powf(shared);
            let nanos = count as f64 * f64::from(k + 1) * NANOS_PER_MOVE
                + tables * (count as f64 * NANOS_PER_LOOK + meetings * NANOS_PER_MEETING);
            if nanos < least {
                least = nanos;
                best = Some((blocks, agreeing));
            }
        }
        let (blocks, agreeing) = best?;
        Some(Split {
            blocks: even_blocks(varying, blocks),
            agreeing: agreeing as usize,
            nanos: least as u64,
        })
    }

    /// Nanoseconds that it is expected to take on one thread, for values that are spread evenly.
    pub(super) fn expected_nanos(&self) -> u64 {
        self.nanos
    }

    /// The blocks that can be the first that a pair agrees on, in order.
    pub(super) fn firsts(&self) -> &[u64] {
        &self.blocks[..=self.blocks.len() - self.agreeing]
    }

    /// The tables whose first block is the one at `first`.
    pub(super) fn tables(&self, first: usize) -> Vec<Table> {
        let start =
            Table { first, agree: self.blocks[first], differ: self.blocks[..first].to_vec() };
        let mut tables = Vec::new();
        self.extend(start, first + 1, self.agreeing - 1, &mut tables);
        tables
    }

    /// Lists the tables that agree on `more` blocks from the one at `from` on.
    fn extend(&self, begun: Table, from: usize, more: usize, tables: &mut Vec<Table>) {
        if more == 0 {
            tables.push(begun);
            return;
        }
        let mut skipped = begun.differ;
        for next in from..=self.blocks.len() - more {
            let agree = begun.agree | self.blocks[next];
            let longer = Table { first: begun.first, agree, differ: skipped.clone() };
            self.extend(longer, next + 1, more - 1, tables);
            skipped.push(self.blocks[next]);
        }
    }
}

/// The bits set in `varying`, from the most significant on, in so many blocks of about one length.
fn even_blocks(varying: u64, blocks: u32) -> Vec<u64> {
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

/// C(n, r).
fn choices(n: u32, r: u32) -> f64 {
    (1..=r).fold(1.0, |product, i| product * f64::from(n - r + i) / f64::from(i))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn splits(varying: u64, k: u32) -> Vec<Split> {
        let bits = varying.count_ones();
        let blocks = |agreeing: u32| (agreeing + k).min(bits);
        (1..=AGREEING_MAX)
            .filter(|agreeing| agreeing + k <= bits)
            .map(|agreeing| Split {
                blocks: even_blocks(varying, blocks(agreeing)),
                agreeing: agreeing as usize,
                nanos: 0,
            })
            .collect()
    }

    /// Whichever way up to k bits flip, a pair belongs to exactly one table.
    #[test]
    fn every_difference_belongs_to_exactly_one_table() {
        for varying in [0xfff_u64, 0x8421_1248_00ff_0000, 0x7] {
            for k in 0..=4 {
                for split in splits(varying, k) {
                    let tables: Vec<Table> =
                        (0..split.firsts().len()).flat_map(|first| split.tables(first)).collect();
                    let mut diff = 0_u64;
                    loop {
                        if diff.count_ones() <= k {
                            let homes = tables.iter().filter(|table| {
                                diff & table.agree == 0
                                    && table.differ.iter().all(|block| diff & block != 0)
                            });
                            assert_eq!(homes.count(), 1, "{split:x?}, k={k}, {diff:x}");
                        }
                        // The next subset of the varying bits.
                        diff = diff.wrapping_sub(varying) & varying;
                        if diff == 0 {
                            break;
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn blocks_share_all_bits_evenly() {
        assert_eq!(even_blocks(u64::MAX, 4), [0xffff << 48, 0xffff << 32, 0xffff << 16, 0xffff]);
        let fifths = even_blocks(u64::MAX, 5);
        assert_eq!(fifths.iter().fold(0, |all, block| all ^ block), u64::MAX);
        assert!(fifths.iter().all(|block| [12, 13].contains(&block.count_ones())));
        assert_eq!(even_blocks(0b1011, 3), [8, 2, 1]);
    }

    #[test]
    fn the_paper_s_ten_tables_are_chosen_for_ten_million_at_three() {
        let pairs = |n: f64| n * n / 2.0;
        let split = Split::choose(u64::MAX, 10_000_000, pairs(1e7), 3).unwrap();
        assert_eq!((split.blocks.len(), split.agreeing), (5, 2));
        assert_eq!(
            (0..split.firsts().len()).map(|first| split.tables(first).len()).sum::<usize>(),
            10
        );
        assert_eq!(Split::choose(u64::MAX, 20, pairs(20.0), 3), None);
        assert_eq!(Split::choose(0b11, 4, 6.0, 3), None);
    }
}
