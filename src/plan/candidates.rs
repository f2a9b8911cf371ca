//! The schemes that the planner considers: members of families, over blocks laid out for the data.

use crate::base::error::Result;
use crate::plan::layout::Layout;
use crate::plan::sample_model::SampleModel;
use crate::scheme::designs::{Design, Member, even_widths};
use crate::scheme::{FAMILIES, Scheme, member};

/// Up to this number of tables every layout is considered. With more tables the other layouts
/// gain less, and they take as long to estimate.
const TABLES_IN_ALL_LAYOUTS: usize = 8;
/// Designs of more tables are not considered.
const TABLES_MAX: usize = 64;

/// A scheme to estimate.
#[derive(Clone, Debug)]
pub(super) struct Candidate {
    pub(super) name: String,
    pub(super) masks: Vec<u64>,
}

/// Every scheme to consider for distance `k`, the plainest first.
pub(super) fn candidates(k: u32, model: Option<&SampleModel>) -> Vec<Candidate> {
    let mut found: Vec<Candidate> = Vec::new();
    for design in FAMILIES.iter().flat_map(|family| (family.planned)(k)) {
        let tables = design.table_count().unwrap_or(usize::MAX);
        if tables > TABLES_MAX {
            continue;
        }
        for widths in widths_of(design, k) {
            let member = Member { design, widths };
            for layout in layouts(design, model, tables) {
                let masks = masks_of(&member, layout, model);
                let usable = Scheme::from_masks(masks.clone(), k).is_ok();
                if usable && found.iter().all(|other| other.masks != masks) {
                    found.push(Candidate { name: layout.name(&member.name(k)), masks });
                }
            }
        }
    }
    found
}

/// The scheme that a name stands for, which may end in a layout: `halves-live`. Without a model
/// of the data every layout is the natural one.
pub(crate) fn scheme_by_name(name: &str, k: u32, model: Option<&SampleModel>) -> Result<Scheme> {
    let (design, layout) = Layout::split(name);
    Scheme::from_masks(masks_of(&member(design, k)?, layout, model), k)
}

/// Whether the name of a scheme ends in a layout that depends on the data.
pub(crate) fn has_data_layout(name: &str) -> bool {
    Layout::split(name).1 != Layout::Natural
}

fn masks_of(member: &Member, layout: Layout, model: Option<&SampleModel>) -> Vec<u64> {
    member.design.masks(&layout.blocks(&member.widths, model))
}

/// Widths of the blocks to consider. Tables with a larger radius get wider blocks: a flip costs
/// probes, and values that share a short prefix cost candidates.
fn widths_of(design: Design, k: u32) -> Vec<Vec<u32>> {
    let count = design.block_count();
    let mut all = vec![even_widths(64, count)];
    if let Design::Blocks(blocks @ 2..) = design
        && blocks <= k + 1
    {
        // Radii sum to k - blocks + 1, so this many tables have a radius larger by one.
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

fn layouts(design: Design, model: Option<&SampleModel>, tables: usize) -> Vec<Layout> {
    if model.is_none() || design.is_natural_only() {
        vec![Layout::Natural]
    } else if tables <= TABLES_IN_ALL_LAYOUTS {
        vec![Layout::Natural, Layout::Live, Layout::Dealt, Layout::Sorted]
    } else {
        vec![Layout::Natural, Layout::Dealt]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::profile::Sample;
    use fpstore_base::Fingerprint;

    #[test]
    fn every_candidate_is_a_scheme_that_its_name_finds_and_each_comes_once() {
        let values = (1..4000_u64).map(|i| i.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let values = values.map(|value| Fingerprint::new((value ^ value >> 29) & (u64::MAX >> 20)));
        let model = SampleModel::new(&Sample::of_kind(values).unwrap(), 1_000_000);
        for k in [0, 1, 2, 3, 4, 5, 7, 9, 20, 64] {
            for model in [None, Some(&model)] {
                let found = candidates(k, model);
                assert!(!found.is_empty());
                for (at, candidate) in found.iter().enumerate() {
                    assert!(candidate.masks.len() <= TABLES_MAX);
                    assert!(found[..at].iter().all(|other| other.masks != candidate.masks));
                    let named = scheme_by_name(&candidate.name, k, model).unwrap();
                    assert_eq!(named.masks(), candidate.masks, "{}, k={k}", candidate.name);
                }
            }
        }
        let names: Vec<String> = candidates(3, None).into_iter().map(|c| c.name).collect();
        for name in ["archive", "halves", "blocks-4", "covering-6", "nested-16", "choose-5"] {
            assert!(names.iter().any(|n| n == name), "{name}: {names:?}");
        }
    }
}
