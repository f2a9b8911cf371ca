//! The masks that the planner considers: designs, over blocks laid out for the data.

use crate::planner::statistics::Statistics;
use crate::scheme::Scheme;
use crate::scheme::designs::{Design, blocks_of_widths, even_widths};

/// Bits with less information than this are left out of masks: they tell no values apart.
const DEAD_ENTROPY: f64 = 0.02;
/// Above so many tables one layout must do: what is gained by others shrinks, the work does not.
const TABLES_IN_ALL_LAYOUTS: usize = 8;
/// Designs of more tables are not considered.
const TABLES_MAX: usize = 64;

/// Masks with a name for people.
#[derive(Clone, Debug)]
pub(super) struct Candidate {
    pub(super) name: String,
    pub(super) masks: Vec<u64>,
}

/// How blocks are cut from the 64 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Layout {
    /// From the most significant bit, dead bits too.
    Natural,
    /// From the most significant bit, without dead bits, equal in information.
    Live,
    /// Bits dealt in order, each to the block that lacks most information.
    Dealt,
    /// As dealt, the bits with most information first.
    Sorted,
}

/// Everything to consider for distance `k`: the smallest first, for any `value_count`.
pub(super) fn candidates(k: u32, statistics: Option<&Statistics>) -> Vec<Candidate> {
    let mut found: Vec<Candidate> = Vec::new();
    let mut add = |name: String, masks: Vec<u64>| {
        let usable = Scheme::from_masks(masks.clone(), k).is_ok();
        if usable && found.iter().all(|other| other.masks != masks) {
            found.push(Candidate { name, masks });
        }
    };
    for design in designs(k) {
        let tables = design.table_count().unwrap_or(usize::MAX);
        if tables > TABLES_MAX {
            continue;
        }
        for widths in widths_of(design, k) {
            for layout in layouts(statistics, tables) {
                let blocks = blocks(&widths, layout, statistics);
                add(name_of(design, &widths, layout), design.masks(&blocks));
            }
        }
    }
    if k == 3
        && let Ok(nested) = Scheme::named("16", 3)
    {
        add("nested-16".into(), nested.masks().to_vec());
    }
    found
}

/// Designs for `k`, and those for less that larger radii stretch to it.
fn designs(k: u32) -> Vec<Design> {
    let mut designs: Vec<Design> = (1..=(k + 1).min(10)).map(Design::Blocks).collect();
    let chosen = |k: u32| (k + 2..=k + 4).map(move |blocks| Design::Choose { blocks, k });
    if k <= 8 {
        designs.extend(chosen(k));
    }
    for less in 1..k.min(4) {
        designs.extend(chosen(less).take(2));
    }
    if k >= 3 {
        designs.extend([
            Design::Covering6,
            Design::Covering8,
            Design::Covering11,
            Design::Covering14,
            Design::Covering15,
        ]);
    }
    if k == 4 || k == 5 {
        designs.push(Design::Hyperplanes { k });
    }
    designs
}

/// Widths of the blocks. Tables that forgive more get wider blocks: their flips cost probes,
/// and so do the values that share a short prefix.
fn widths_of(design: Design, k: u32) -> Vec<Vec<u32>> {
    let count = design.block_count();
    let mut all = vec![even_widths(64, count)];
    if let Design::Blocks(blocks @ 2..) = design
        && blocks <= k + 1
    {
        // Radii sum to k - blocks + 1, so this many tables forgive one flip more.
        let wider = (k + 1 - blocks) % blocks;
        for extra in (1..=6).map(|step| 2 * step) {
            if wider == 0 || 64 / blocks + extra > 48 {
                break;
            }
            let wide = (64 / blocks + extra).min(64);
            let rest = 64_u32.saturating_sub(wider * wide);
            if rest >= 4 * (blocks - wider) {
                let mut widths = vec![wide; wider as usize];
                widths.extend(even_widths(rest, blocks - wider));
                all.push(widths);
            }
        }
    }
    all
}

fn layouts(statistics: Option<&Statistics>, tables: usize) -> Vec<Layout> {
    match statistics {
        None => vec![Layout::Natural],
        Some(_) if tables <= TABLES_IN_ALL_LAYOUTS => {
            vec![Layout::Natural, Layout::Live, Layout::Dealt, Layout::Sorted]
        }
        Some(_) => vec![Layout::Natural, Layout::Dealt],
    }
}

/// Disjoint blocks whose shares of the bits, or of the information, are as their widths.
fn blocks(widths: &[u32], layout: Layout, statistics: Option<&Statistics>) -> Vec<u64> {
    let Some(statistics) = statistics.filter(|_| layout != Layout::Natural) else {
        return blocks_of_widths(widths);
    };
    let mut bits: Vec<(u32, f64)> = (0..64)
        .rev()
        .map(|bit| (bit, statistics.entropy(bit)))
        .filter(|&(_, entropy)| entropy >= DEAD_ENTROPY)
        .collect();
    if layout == Layout::Sorted {
        bits.sort_by(|a, b| b.1.total_cmp(&a.1));
    }
    let all_widths = f64::from(widths.iter().sum::<u32>());
    let all_entropy: f64 = bits.iter().map(|&(_, entropy)| entropy).sum();
    let wanted: Vec<f64> =
        widths.iter().map(|&width| f64::from(width) / all_widths * all_entropy).collect();
    let mut blocks = vec![0_u64; widths.len()];
    let mut held = vec![0.0; widths.len()];
    let mut current = 0;
    for (bit, entropy) in bits {
        let at = match layout {
            Layout::Live => {
                // The next block starts where this one would hold more than half a bit too much.
                let full = held[current] + entropy / 2.0 > wanted[current];
                current += usize::from(full && current + 1 < blocks.len());
                current
            }
            _ => {
                let lack = |at: &usize| (held[*at] + entropy / 2.0) / wanted[*at];
                let by_lack = |a: &usize, b: &usize| lack(a).total_cmp(&lack(b));
                (0..blocks.len()).min_by(by_lack).unwrap_or(0)
            }
        };
        blocks[at] |= 1 << bit;
        held[at] += entropy;
    }
    blocks
}

fn name_of(design: Design, widths: &[u32], layout: Layout) -> String {
    let even = widths == even_widths(64, design.block_count());
    let name = match design {
        Design::Blocks(1) => "archive".into(),
        Design::Blocks(2) if even => "halves".into(),
        Design::Blocks(count) if even => format!("blocks-{count}"),
        Design::Blocks(_) => {
            let widths: Vec<String> = widths.iter().map(u32::to_string).collect();
            format!("blocks {}", widths.join("+"))
        }
        Design::Choose { blocks, k } => format!("choose {k} of {blocks}"),
        Design::Covering6 => "covering-6".into(),
        Design::Covering8 => "covering-8".into(),
        Design::Covering11 => "covering-11".into(),
        Design::Covering14 => "covering-14".into(),
        Design::Covering15 => "covering-15".into(),
        Design::Hyperplanes { k } => format!("hyperplanes-{k}"),
    };
    match layout {
        Layout::Natural => name,
        Layout::Live => format!("{name}, live bits"),
        Layout::Dealt => format!("{name}, dealt bits"),
        Layout::Sorted => format!("{name}, sorted bits"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fingerprint::Fingerprint;
    use crate::planner::sample::Sample;

    /// Spread values under a mask.
    fn statistics_of(mask: u64) -> Statistics {
        let values = (1..4000_u64).map(|i| i.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let values = values.map(|value| Fingerprint::new((value ^ value >> 29) & mask));
        Statistics::new(&Sample::of_kind(values).unwrap(), 1_000_000)
    }

    #[test]
    fn dead_bits_are_left_out_and_live_ones_shared_out() {
        let statistics = statistics_of(0xffff_ffff);
        for layout in [Layout::Live, Layout::Dealt, Layout::Sorted] {
            let found = blocks(&[32, 32], layout, Some(&statistics));
            assert_eq!(found[0] & found[1], 0);
            assert_eq!(found[0] | found[1], 0xffff_ffff, "{layout:?}");
            let [a, b] = [found[0].count_ones(), found[1].count_ones()];
            assert!(a.abs_diff(b) <= 2, "{layout:?}: {a}, {b}");
        }
        assert_eq!(blocks(&[32, 32], Layout::Live, Some(&statistics))[0] >> 32, 0);
        let natural = blocks(&[32, 32], Layout::Natural, Some(&statistics));
        assert_eq!(natural, [0xffff_ffff_0000_0000, 0xffff_ffff]);
    }

    #[test]
    fn every_candidate_is_a_scheme_and_each_comes_once() {
        let statistics = statistics_of(u64::MAX >> 20);
        for k in [0, 1, 2, 3, 4, 5, 7, 9, 20, 64] {
            for statistics in [None, Some(&statistics)] {
                let found = candidates(k, statistics);
                assert!(!found.is_empty());
                for (at, candidate) in found.iter().enumerate() {
                    assert!(candidate.masks.len() <= TABLES_MAX);
                    assert!(found[..at].iter().all(|other| other.masks != candidate.masks));
                }
            }
        }
        let names: Vec<String> = candidates(3, None).into_iter().map(|c| c.name).collect();
        for name in ["archive", "halves", "blocks-4", "covering-6", "nested-16", "choose 3 of 5"] {
            assert!(names.iter().any(|n| n == name), "{name}: {names:?}");
        }
    }
}
