//! The families of masks that have a name.
//!
//! Blocks are cut from the most significant bit. Where a family is a published design, its
//! function says which; that each covers what it promises is proven in the tests of `cover`.

use super::designs::{Design, blocks_of_widths, even_blocks};
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
    let design = match name {
        "1" | "archive" => Design::Blocks(1),
        "2" | "halves" => Design::Blocks(2),
        "3" => return Ok(blocks_of_widths(&[26, 19, 19])),
        "4" => Design::Blocks(4),
        "6" | "covering-6" => Design::Covering6,
        "8" | "covering-8" => Design::Covering8,
        "10" => choices(5, 3)?,
        "11" | "covering-11" => Design::Covering11,
        "14" | "covering-14" => Design::Covering14,
        "15" | "covering-15" => Design::Covering15,
        "16" | "nested-16" => return Ok(nested_16()),
        "20" => choices(6, 3)?,
        "hyperplanes" => hyperplanes(k)?,
        _ => match (number("blocks-"), number("choose-")) {
            (Some(count @ 1..=64), _) => Design::Blocks(count),
            (_, Some(count)) => choices(count, k)?,
            _ => {
                let known: Vec<&str> = FAMILY_NAMES.iter().map(|(name, _)| *name).collect();
                let reason = format!("'{name}' is no family, expected one of {}", known.join(", "));
                return Err(Error::InvalidScheme { reason });
            }
        },
    };
    Ok(design.masks(&even_blocks(design.block_count())))
}

fn refuse(reason: String) -> Result<Design> {
    Err(Error::InvalidScheme { reason })
}

fn choices(count: u32, k: u32) -> Result<Design> {
    if k > 63 {
        return refuse(format!("choose-{count}: there is none for k = {k}, blocks-M takes any k"));
    }
    if count <= k || count > 64 {
        return refuse(format!("choose-{count}: the number must be {} to 64 for k = {k}", k + 1));
    }
    let most = super::Scheme::TABLE_COUNT_MAX;
    let design = Design::Choose { blocks: count, k };
    if design.table_count().is_none_or(|tables| tables > most) {
        return refuse(format!("choose-{count} for k = {k} has more than {most} tables"));
    }
    Ok(design)
}

fn hyperplanes(k: u32) -> Result<Design> {
    // With 6 there would be 126 tables, which no one would store.
    if !(1..=5).contains(&k) {
        return refuse(format!("hyperplanes: k must be 1 to 5, not {k}"));
    }
    Ok(Design::Hyperplanes { k })
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
