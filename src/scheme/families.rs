//! The families of masks that have a name.
//!
//! Blocks are cut from the most significant bit. Where a family is a published design, its
//! function says which; that each covers what it promises is proven in the tests of `cover`.

use crate::error::{Error, Result};

/// The names that [`Scheme::named`](crate::Scheme::named) takes, with what they stand for.
pub const FAMILY_NAMES: &[(&str, &str)] = &[
    ("1", "archive: one table over all 64 bits"),
    ("2", "two halves of 32 bits"),
    ("3", "three blocks of 26, 19 and 19 bits"),
    ("4", "four blocks of 16 bits"),
    ("6", "covering-6: pairs of 6 blocks, for k = 3"),
    ("8", "covering-8: triples of 8 bytes, for k = 3"),
    ("10", "choose-5 for k = 3: pairs of 5 blocks"),
    ("11", "covering-11: fives of 11 blocks, for k = 3"),
    ("14", "covering-14: fours of 8 bytes, for k = 3"),
    ("15", "covering-15: eights of 15 blocks, for k = 3"),
    ("16", "nested-16: a block of 4, then a quarter of the rest, for k = 3"),
    ("20", "choose-6 for k = 3: triples of 6 blocks"),
    ("blocks-M", "M disjoint blocks, M from 1 to 64"),
    ("choose-R", "every choice of R-k of R blocks, R from k+1 to 64"),
    ("hyperplanes", "2^(k+1)-2 halves of 2^k blocks, k from 1 to 5"),
];

/// The masks of the family called `name`, for distance `k` where the family depends on it.
pub(super) fn masks_of(name: &str, k: u32) -> Result<Vec<u64>> {
    let number = |prefix: &str| name.strip_prefix(prefix)?.parse::<u32>().ok();
    match name {
        "1" | "archive" => Ok(vec![u64::MAX]),
        "2" | "halves" => Ok(even_blocks(2)),
        "3" => Ok(blocks_of_widths(&[26, 19, 19])),
        "4" => Ok(even_blocks(4)),
        "6" | "covering-6" => Ok(unions(&even_blocks(6), COVERING_6_4_3)),
        "8" | "covering-8" => Ok(unions(&even_blocks(8), COVERING_8_5_3)),
        "10" => choices(5, 3),
        "11" | "covering-11" => Ok(unions(&even_blocks(11), COVERING_11_6_3)),
        "14" | "covering-14" => Ok(unions(&even_blocks(8), PLANES_OF_AG_3_2)),
        "15" | "covering-15" => Ok(odd_parity_15()),
        "16" | "nested-16" => Ok(nested_16()),
        "20" => choices(6, 3),
        "hyperplanes" => hyperplanes(k),
        _ => match (number("blocks-"), number("choose-")) {
            (Some(count @ 1..=64), _) => Ok(even_blocks(count)),
            (_, Some(count)) => choices(count, k),
            _ => {
                let known: Vec<&str> = FAMILY_NAMES.iter().map(|(name, _)| *name).collect();
                refuse(format!("'{name}' is no family, expected one of {}", known.join(", ")))
            }
        },
    }
}

fn refuse(reason: String) -> Result<Vec<u64>> {
    Err(Error::InvalidScheme { reason })
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

fn blocks_of_widths(widths: &[u32]) -> Vec<u64> {
    let mut below = 64;
    widths
        .iter()
        .map(|&width| {
            below -= width;
            (u64::MAX >> (64 - width)) << below
        })
        .collect()
}

/// `count` disjoint blocks of the 64 bits; the wider ones come first.
fn even_blocks(count: u32) -> Vec<u64> {
    let widths: Vec<u32> = (0..count).map(|i| 64 / count + u32::from(i < 64 % count)).collect();
    blocks_of_widths(&widths)
}

fn unions(blocks: &[u64], designs: &[&[usize]]) -> Vec<u64> {
    designs.iter().map(|design| design.iter().fold(0, |mask, &b| mask | blocks[b])).collect()
}

/// Every choice of `count - k` of `count` blocks: k flips spoil at most k blocks.
///
/// # Source
///
/// Manku, Jain and Das Sarma, WWW 2007, section 3.1 (5 choose 2 for k = 3).
fn choices(count: u32, k: u32) -> Result<Vec<u64>> {
    if k > 63 {
        return refuse(format!("choose-{count}: there is none for k = {k}, blocks-M takes any k"));
    }
    if count <= k || count > 64 {
        return refuse(format!("choose-{count}: the number must be {} to 64 for k = {k}", k + 1));
    }
    let most = super::Scheme::TABLE_COUNT_MAX as u128;
    let table_count = (1..=u128::from(k)).try_fold(1_u128, |product, i| {
        product.checked_mul(u128::from(count) - i + 1).map(|next| next / i)
    });
    if table_count.is_none_or(|tables| tables > most) {
        return refuse(format!("choose-{count} for k = {k} has more than {most} tables"));
    }
    let blocks = even_blocks(count);
    let mut masks = Vec::new();
    choose_rest(&blocks, (count - k) as usize, 0, &mut masks);
    Ok(masks)
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
fn odd_parity_15() -> Vec<u64> {
    let blocks = even_blocks(15);
    (1..=15_u32)
        .map(|a| {
            (1..=15_u32)
                .zip(&blocks)
                .filter(|(x, _)| (a & x).count_ones() % 2 == 1)
                .fold(0, |mask, (_, block)| mask | block)
        })
        .collect()
}

/// One of 4 blocks of 16 bits, then one of 4 quarters of the other 48.
///
/// # Source
///
/// Manku, Jain and Das Sarma, WWW 2007, section 3.1.
fn nested_16() -> Vec<u64> {
    let quarters: Vec<u64> = even_blocks(4);
    let mut masks = Vec::new();
    for &outer in &quarters {
        let rest = crate::bits::permutation::Permutation::new(!outer);
        for inner in blocks_of_widths(&[12, 12, 12, 12, 16]).into_iter().take(4) {
            let inner = rest.invert(crate::bits::permutation::Permuted(inner));
            masks.push(outer | inner.value());
        }
    }
    masks
}

/// The affine hyperplanes of AG(k,2) over 2^k blocks: k points always miss one of them,
/// since they lie in the other half of some pair.
fn hyperplanes(k: u32) -> Result<Vec<u64>> {
    // With 6 there would be 126 tables, which no one would store.
    if !(1..=5).contains(&k) {
        return refuse(format!("hyperplanes: k must be 1 to 5, not {k}"));
    }
    let blocks = even_blocks(1 << k);
    let half = |normal: u32, side: u32| {
        (0..1_u32 << k)
            .zip(&blocks)
            .filter(|(point, _)| (point & normal).count_ones() % 2 == side)
            .fold(0, |mask, (_, block)| mask | block)
    };
    Ok((1..1 << k).flat_map(|normal| [half(normal, 0), half(normal, 1)]).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prefix_bits_are_those_of_the_design() {
        for (name, low, high) in [
            ("1", 64, 64),
            ("2", 32, 32),
            ("3", 19, 26),
            ("4", 16, 16),
            ("6", 21, 22),
            ("8", 24, 24),
            ("10", 25, 26),
            ("11", 28, 30),
            ("14", 32, 32),
            ("15", 32, 35),
            ("16", 28, 28),
            ("20", 31, 33),
        ] {
            let bits: Vec<u32> =
                masks_of(name, 3).unwrap().iter().map(|mask| mask.count_ones()).collect();
            assert_eq!((bits.iter().min(), bits.iter().max()), (Some(&low), Some(&high)), "{name}");
        }
    }

    #[test]
    fn hyperplanes_for_three_are_the_planes_of_the_design() {
        let mut general = masks_of("hyperplanes", 3).unwrap();
        let mut listed = masks_of("14", 3).unwrap();
        general.sort_unstable();
        listed.sort_unstable();
        assert_eq!(general, listed);
    }

    #[test]
    fn names_that_have_no_member_say_what_would_work() {
        for (name, k, named) in [
            ("7", 3, "expected one of 1, 2, 3, 4"),
            ("choose-3", 3, "4 to 64"),
            ("choose-64", 32, "more than 256"),
            ("hyperplanes", 6, "1 to 5"),
            ("blocks-65", 3, "expected one of"),
        ] {
            let error = masks_of(name, k).unwrap_err().to_string();
            assert!(error.contains(named), "{error}");
        }
    }
}
