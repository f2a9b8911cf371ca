//! Designs: which blocks of bits make up the mask of each table.
//!
//! A design defines how blocks are joined to masks; a [`Member`] of a family is a design over
//! blocks of given widths. Published designs cite their source. Nothing here depends on stores or
//! data: the planner passes blocks that it has chosen for the data.

use crate::bytes::permutation::{Permutation, Permuted};

/// How blocks of bits are joined to masks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Design {
    /// This number of disjoint blocks, with one table for each.
    Blocks(u32),
    /// A mask for every choice of all blocks except k. As k flips touch at most k blocks, some mask
    /// contains no flip.
    ///
    /// # Source
    ///
    /// Manku, Jain and Das Sarma, WWW 2007, section 3.1 (5 choose 2 for k = 3).
    Choose { blocks: u32, k: u32 },
    /// The covering designs with this many tables, for k = 3: C(6,4,3), C(8,5,3), C(11,6,3), the
    /// 14 planes of AG(3,2), and the complements of the 15 planes of PG(3,2).
    Covering(u32),
    /// The affine hyperplanes of AG(k,2): any k points lie in some hyperplane, so the parallel
    /// hyperplane contains none of them.
    Hyperplanes { k: u32 },
    /// For k = 3: each mask joins one of 4 blocks of 16 bits and one of 4 quarters of the other
    /// bits.
    ///
    /// # Source
    ///
    /// Manku, Jain and Das Sarma, WWW 2007, section 3.1.
    Nested16,
}

impl Design {
    /// The number of blocks.
    pub(crate) fn block_count(&self) -> u32 {
        match *self {
            Design::Blocks(count) | Design::Choose { blocks: count, .. } => count,
            Design::Covering(14) => 8,
            Design::Covering(tables) => tables,
            Design::Hyperplanes { k } => 1 << k,
            Design::Nested16 => 4,
        }
    }

    /// The number of tables; `None` if it overflows.
    pub(crate) fn table_count(&self) -> Option<usize> {
        match *self {
            Design::Blocks(count) | Design::Covering(count) => usize::try_from(count).ok(),
            Design::Choose { blocks, k } => (1..=u128::from(k))
                .try_fold(1_u128, |product, i| {
                    Some(product.checked_mul(u128::from(blocks).checked_sub(i)? + 1)? / i)
                })
                .and_then(|tables| usize::try_from(tables).ok()),
            Design::Hyperplanes { k } => Some((2 << k) - 2),
            Design::Nested16 => Some(16),
        }
    }

    /// Whether the design requires blocks cut from the most significant bit.
    pub(crate) fn is_natural_only(&self) -> bool {
        *self == Design::Nested16
    }

    /// The masks over `blocks`, of which there must be [`Design::block_count`].
    pub(crate) fn masks(&self, blocks: &[u64]) -> Vec<u64> {
        match *self {
            Design::Blocks(_) => blocks.to_vec(),
            Design::Choose { blocks: count, k } => {
                let mut masks = Vec::new();
                choose_rest(blocks, (count - k) as usize, 0, &mut masks);
                masks
            }
            Design::Covering(15) => odd_parity_15(blocks),
            Design::Covering(tables) => unions(blocks, covering(tables)),
            Design::Hyperplanes { k } => hyperplanes(blocks, k),
            Design::Nested16 => nested_16(blocks),
        }
    }
}

/// A member of a family: a design and the widths of its blocks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Member {
    pub(crate) design: Design,
    /// Bits of each block; they sum to 64.
    pub(crate) widths: Vec<u32>,
}

impl Member {
    /// The design over blocks whose widths differ by at most one bit.
    pub(crate) fn even(design: Design) -> Self {
        Member { design, widths: even_widths(64, design.block_count()) }
    }

    /// The masks over blocks cut from the most significant bit.
    pub(crate) fn masks(&self) -> Vec<u64> {
        self.design.masks(&blocks_of_widths(&self.widths))
    }

    /// The name that [`Scheme::named`](crate::Scheme::named) accepts for distance `k`.
    pub(crate) fn name(&self, k: u32) -> String {
        let even = self.widths == even_widths(64, self.design.block_count());
        match self.design {
            Design::Blocks(1) => "archive".into(),
            Design::Blocks(2) if even => "halves".into(),
            Design::Blocks(count) if even => format!("blocks-{count}"),
            Design::Blocks(_) => {
                let widths: Vec<String> = self.widths.iter().map(u32::to_string).collect();
                format!("blocks-{}", widths.join("+"))
            }
            Design::Choose { blocks, k: own } if own == k => format!("choose-{blocks}"),
            Design::Choose { blocks, k: own } => format!("choose-{blocks}-for-{own}"),
            Design::Covering(tables) => format!("covering-{tables}"),
            Design::Hyperplanes { .. } => "hyperplanes".into(),
            Design::Nested16 => "nested-16".into(),
        }
    }
}

/// The masks of a covering design, each as a list of blocks: any 3 blocks are outside some mask.
fn covering(tables: u32) -> &'static [&'static [usize]] {
    match tables {
        6 => COVERING_6_4_3,
        8 => COVERING_8_5_3,
        11 => COVERING_11_6_3,
        14 => PLANES_OF_AG_3_2,
        _ => unreachable!("the families name no other covering design"),
    }
}

/// The complements of covering design C(6,4,3): any 3 of 6 blocks are outside one of these pairs.
const COVERING_6_4_3: &[&[usize]] = &[&[0, 3], &[0, 4], &[1, 2], &[1, 5], &[2, 5], &[3, 4]];

/// The complements of covering design C(8,5,3): any 3 of 8 blocks are outside one of these triples.
const COVERING_8_5_3: &[&[usize]] = &[
    &[0, 2, 3],
    &[0, 4, 5],
    &[0, 6, 7],
    &[1, 2, 5],
    &[1, 3, 7],
    &[1, 4, 6],
    &[2, 4, 7],
    &[3, 5, 6],
];

/// The complements of covering design C(11,6,3): any 3 of 11 blocks are outside one of these fives.
const COVERING_11_6_3: &[&[usize]] = &[
    &[0, 1, 4, 8, 10],
    &[0, 1, 5, 6, 7],
    &[0, 2, 3, 7, 10],
    &[0, 2, 4, 6, 9],
    &[0, 3, 5, 8, 9],
    &[1, 2, 3, 6, 8],
    &[1, 2, 5, 9, 10],
    &[1, 3, 4, 7, 9],
    &[2, 4, 5, 7, 8],
    &[3, 4, 5, 6, 10],
    &[6, 7, 8, 9, 10],
];

/// The 14 planes of the affine space AG(3,2), whose points are the 8 bytes.
const PLANES_OF_AG_3_2: &[&[usize]] = &[
    &[0, 2, 4, 6],
    &[1, 3, 5, 7],
    &[0, 1, 4, 5],
    &[2, 3, 6, 7],
    &[0, 3, 4, 7],
    &[1, 2, 5, 6],
    &[0, 1, 2, 3],
    &[4, 5, 6, 7],
    &[0, 2, 5, 7],
    &[1, 3, 4, 6],
    &[0, 1, 6, 7],
    &[2, 3, 4, 5],
    &[0, 3, 5, 6],
    &[1, 2, 4, 7],
];

/// Blocks of these widths, cut from the most significant bit.
pub(crate) fn blocks_of_widths(widths: &[u32]) -> Vec<u64> {
    let mut below = 64;
    widths
        .iter()
        .map(|&width| {
            below -= width;
            (u64::MAX >> (64 - width)) << below
        })
        .collect()
}

/// `count` widths that sum to `bits` and differ by at most one; the wider ones come first.
pub(crate) fn even_widths(bits: u32, count: u32) -> Vec<u32> {
    (0..count).map(|i| bits / count + u32::from(i < bits % count)).collect()
}

fn unions(blocks: &[u64], designs: &[&[usize]]) -> Vec<u64> {
    designs.iter().map(|design| design.iter().fold(0, |mask, &b| mask | blocks[b])).collect()
}

/// For every choice of `wanted` blocks from `blocks`: appends their union with `mask` to `out`.
fn choose_rest(blocks: &[u64], wanted: usize, mask: u64, out: &mut Vec<u64>) {
    if wanted == 0 {
        out.push(mask);
        return;
    }
    for first in 0..=blocks.len() - wanted {
        choose_rest(&blocks[first + 1..], wanted - 1, mask | blocks[first], out);
    }
}

/// The points of the projective space PG(3,2) are blocks 1 to 15; the mask of table `a` joins the
/// points with an odd inner product with `a`; these points are the complement of a plane.
fn odd_parity_15(blocks: &[u64]) -> Vec<u64> {
    (1..=15).map(|a| half(blocks, 1, a, 1)).collect()
}

/// For every normal vector except zero: one mask for each of the two halves of the points.
fn hyperplanes(blocks: &[u64], k: u32) -> Vec<u64> {
    (1..1 << k).flat_map(|normal| [0, 1].map(|side| half(blocks, 0, normal, side))).collect()
}

/// The union of the blocks whose points have an inner product with `normal` of parity `side`. The
/// points of the blocks are consecutive numbers from `first` on.
fn half(blocks: &[u64], first: u32, normal: u32, side: u32) -> u64 {
    let points = (first..).zip(blocks);
    let joined = points.filter(|(point, _)| (point & normal).count_ones() % 2 == side);
    joined.fold(0, |mask, (_, block)| mask | block)
}

/// Masks that join one of the 4 blocks and one of 4 quarters of the other bits.
fn nested_16(blocks: &[u64]) -> Vec<u64> {
    let mut masks = Vec::new();
    for &outer in blocks {
        let rest = Permutation::new(!outer);
        for inner in blocks_of_widths(&[12, 12, 12, 12, 16]).into_iter().take(4) {
            masks.push(outer | rest.invert(Permuted(inner)).value());
        }
    }
    masks
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn designs_have_as_many_tables_as_they_say() {
        for design in [
            Design::Blocks(5),
            Design::Choose { blocks: 6, k: 3 },
            Design::Choose { blocks: 7, k: 2 },
            Design::Covering(6),
            Design::Covering(8),
            Design::Covering(11),
            Design::Covering(14),
            Design::Covering(15),
            Design::Hyperplanes { k: 4 },
            Design::Nested16,
        ] {
            let masks = Member::even(design).masks();
            assert_eq!(Some(masks.len()), design.table_count(), "{design:?}");
        }
        assert_eq!(Design::Choose { blocks: 64, k: 33 }.table_count(), Some(1777090076065542336));
    }
}
