//! Designs: which blocks of bits make up the mask of each table.

/// How blocks of bits are put together to masks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Design {
    /// So many disjoint blocks, a table each.
    Blocks(u32),
    /// Every choice of all but k of the blocks: k flips spoil at most k blocks.
    ///
    /// # Source
    ///
    /// Manku, Jain and Das Sarma, WWW 2007, section 3.1 (5 choose 2 for k = 3).
    Choose { blocks: u32, k: u32 },
    /// C(6,4,3), for k = 3.
    Covering6,
    /// C(8,5,3), for k = 3.
    Covering8,
    /// C(11,6,3), for k = 3.
    Covering11,
    /// The planes of AG(3,2), for k = 3.
    Covering14,
    /// The complements of the planes of PG(3,2), for k = 3.
    Covering15,
    /// The affine hyperplanes of AG(k,2): k points always miss one of them, since they lie in
    /// the other half of some pair.
    Hyperplanes { k: u32 },
}

impl Design {
    /// How many blocks it is made of.
    pub(crate) fn block_count(&self) -> u32 {
        match *self {
            Design::Blocks(count) | Design::Choose { blocks: count, .. } => count,
            Design::Covering6 => 6,
            Design::Covering8 | Design::Covering14 => 8,
            Design::Covering11 => 11,
            Design::Covering15 => 15,
            Design::Hyperplanes { k } => 1 << k,
        }
    }

    /// How many tables it has, if that is a number to speak of.
    pub(crate) fn table_count(&self) -> Option<usize> {
        match *self {
            Design::Blocks(count) => usize::try_from(count).ok(),
            Design::Choose { blocks, k } => (1..=u128::from(k))
                .try_fold(1_u128, |product, i| {
                    Some(product.checked_mul(u128::from(blocks).checked_sub(i)? + 1)? / i)
                })
                .and_then(|tables| usize::try_from(tables).ok()),
            Design::Covering6 => Some(COVERING_6_4_3.len()),
            Design::Covering8 => Some(COVERING_8_5_3.len()),
            Design::Covering11 => Some(COVERING_11_6_3.len()),
            Design::Covering14 => Some(PLANES_OF_AG_3_2.len()),
            Design::Covering15 => Some(15),
            Design::Hyperplanes { k } => Some((2 << k) - 2),
        }
    }

    /// The masks over these blocks, as many as [`Design::block_count`] says.
    pub(crate) fn masks(&self, blocks: &[u64]) -> Vec<u64> {
        match *self {
            Design::Blocks(_) => blocks.to_vec(),
            Design::Choose { blocks: count, k } => {
                let mut masks = Vec::new();
                choose_rest(blocks, (count - k) as usize, 0, &mut masks);
                masks
            }
            Design::Covering6 => unions(blocks, COVERING_6_4_3),
            Design::Covering8 => unions(blocks, COVERING_8_5_3),
            Design::Covering11 => unions(blocks, COVERING_11_6_3),
            Design::Covering14 => unions(blocks, PLANES_OF_AG_3_2),
            Design::Covering15 => odd_parity_15(blocks),
            Design::Hyperplanes { k } => hyperplanes(blocks, k),
        }
    }
}

/// Covering design C(6,4,3) by complements: any 3 of 6 blocks miss one of these pairs.
const COVERING_6_4_3: &[&[usize]] = &[&[0, 3], &[0, 4], &[1, 2], &[1, 5], &[2, 5], &[3, 4]];

/// Covering design C(8,5,3) by complements.
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

/// Covering design C(11,6,3) by complements.
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

/// The 14 planes of the affine space AG(3,2) over the 8 bytes.
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

/// `count` disjoint blocks of the 64 bits; the wider ones come first.
pub(crate) fn even_blocks(count: u32) -> Vec<u64> {
    blocks_of_widths(&even_widths(64, count))
}

fn unions(blocks: &[u64], designs: &[&[usize]]) -> Vec<u64> {
    designs.iter().map(|design| design.iter().fold(0, |mask, &b| mask | blocks[b])).collect()
}

/// Appends `mask` joined with each choice of `wanted` of `blocks`, first blocks first.
fn choose_rest(blocks: &[u64], wanted: usize, mask: u64, out: &mut Vec<u64>) {
    if wanted == 0 {
        out.push(mask);
        return;
    }
    for first in 0..=blocks.len() - wanted {
        choose_rest(&blocks[first + 1..], wanted - 1, mask | blocks[first], out);
    }
}

/// The points of the projective space PG(3,2) as blocks 1 to 15; table `a` takes the points
/// with an odd inner product with `a`, the complement of a plane.
fn odd_parity_15(blocks: &[u64]) -> Vec<u64> {
    (1..=15_u32)
        .map(|a| {
            (1..=15_u32)
                .zip(blocks)
                .filter(|(x, _)| (a & x).count_ones() % 2 == 1)
                .fold(0, |mask, (_, block)| mask | block)
        })
        .collect()
}

/// Both halves of the points for every direction but none.
fn hyperplanes(blocks: &[u64], k: u32) -> Vec<u64> {
    let half = |normal: u32, side: u32| {
        (0..1_u32 << k)
            .zip(blocks)
            .filter(|(point, _)| (point & normal).count_ones() % 2 == side)
            .fold(0, |mask, (_, block)| mask | block)
    };
    (1..1 << k).flat_map(|normal| [half(normal, 0), half(normal, 1)]).collect()
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
            Design::Covering6,
            Design::Covering8,
            Design::Covering11,
            Design::Covering14,
            Design::Covering15,
            Design::Hyperplanes { k: 4 },
        ] {
            let masks = design.masks(&even_blocks(design.block_count()));
            assert_eq!(Some(masks.len()), design.table_count(), "{design:?}");
        }
        assert_eq!(Design::Choose { blocks: 64, k: 33 }.table_count(), Some(1777090076065542336));
    }
}
