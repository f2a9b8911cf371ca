//! The schemes that the planner considers: members of families, over blocks laid out for the data.

use crate::base::error::Result;
use crate::base::limits::ERRORS_MAX;
use crate::plan::layout::Layout;
use crate::plan::sample_model::SampleModel;
use crate::plan::syndromes::{Syndromes, suitable_bits, with_syndromes};
use crate::scheme::designs::{Design, Member, even_widths};
use crate::scheme::{FAMILIES, Scheme, member};

/// Designs of up to this number of tables are considered in every layout, larger designs only in
/// the natural and the dealt one: other layouts gain less there, but take as long to estimate.
const TABLES_IN_ALL_LAYOUTS: usize = 8;
/// Designs with more tables than this are not considered.
const TABLES_MAX: usize = 64;

/// A scheme whose size and speed are to be estimated.
#[derive(Clone, Debug)]
pub(super) struct Candidate {
    pub(super) name: String,
    pub(super) masks: Vec<u64>,
    /// The length of syndromes in the tables after the first, in bits; 0 for whole values.
    pub(super) syndrome_bits: u32,
}

impl Candidate {
    /// A scheme whose tables hold whole values.
    pub(super) fn whole(name: String, masks: Vec<u64>) -> Self {
        Candidate { name, masks, syndrome_bits: 0 }
    }

    /// The same masks with syndromes. Their length is the suitable length for `count` fingerprints
    /// plus `extra` bits. `None` unless there are two tables and syndromes support `k`.
    fn with_syndromes(&self, count: u64, k: u32, extra: u32) -> Option<Self> {
        if self.masks.len() != 2 || !(1..=ERRORS_MAX).contains(&k) {
            return None;
        }
        let syndrome_bits = suitable_bits(count, k) + extra;
        let scheme = Scheme::from_masks(self.masks.clone(), k).ok()?;
        scheme.with_syndromes(syndrome_bits).ok()?;
        let name = with_syndromes(&self.name, syndrome_bits);
        Some(Candidate { name, masks: self.masks.clone(), syndrome_bits })
    }
}

/// Every scheme to consider for `count` fingerprints and distance `k`, the simplest first.
pub(super) fn candidates(count: u64, k: u32, model: Option<&SampleModel>) -> Vec<Candidate> {
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
                    found.push(Candidate::whole(layout.name(&member.name(k)), masks));
                }
            }
        }
    }
    // Unevenly distributed fingerprints, as a sample may show, can need longer syndromes.
    let extra = if model.is_some() { [0, 2, 4].as_slice() } else { &[0] };
    let with = |extra: &u32| {
        found.iter().filter_map(|whole| whole.with_syndromes(count, k, *extra)).collect::<Vec<_>>()
    };
    let smaller: Vec<Candidate> = extra.iter().flat_map(with).collect();
    found.extend(smaller);
    found
}

/// The scheme with this name, for `count` fingerprints. The name may end with a layout
/// (`halves-live`) and with syndromes (`halves-syndrome`). Without a model of the data every layout
/// is the natural one. A name accepted without a model is accepted with any model: if the data do
/// not allow the layout, the natural layout replaces it, and if no mask of the layout is long
/// enough for syndromes, the tables hold whole values.
pub(crate) fn scheme_by_name(
    name: &str,
    count: u64,
    k: u32,
    model: Option<&SampleModel>,
) -> Result<Scheme> {
    let (masks, syndromes) = Syndromes::split(name)?;
    let (design, layout) = Layout::split(masks);
    let member = member(design, k)?;
    let scheme = |layout| Scheme::from_masks(masks_of(&member, layout, model), k);
    let scheme = scheme(layout).or_else(|_| scheme(Layout::Natural))?;
    match scheme.clone().with_syndromes(syndromes.bits_for(count, k)) {
        Err(_) if layout != Layout::Natural && scheme.masks().len() > 1 => Ok(scheme),
        done => done,
    }
}

/// Whether the scheme of this name depends on the data, because of its layout or because of the
/// length of its syndromes.
pub(crate) fn depends_on_data(name: &str) -> bool {
    let split = Syndromes::split(name);
    split.is_ok_and(|(masks, syndromes)| {
        Layout::split(masks).1 != Layout::Natural || syndromes == Syndromes::Suitable
    })
}

fn masks_of(member: &Member, layout: Layout, model: Option<&SampleModel>) -> Vec<u64> {
    member.design.masks(&layout.blocks(&member.widths, model))
}

/// The lists of block widths to consider: even widths, and lists in which the tables with a larger
/// radius have wider blocks, so that their probes find fewer candidates.
fn widths_of(design: Design, k: u32) -> Vec<Vec<u32>> {
    let count = design.block_count();
    let mut all = vec![even_widths(64, count)];
    if let Design::Blocks(blocks @ 2..) = design
        && blocks <= k + 1
    {
        // Radii sum to k - blocks + 1, so this many tables have a radius that is larger by one than
        // the radius of the other tables.
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
                let found = candidates(1_000_000, k, model);
                assert!(!found.is_empty());
                for (at, candidate) in found.iter().enumerate() {
                    assert!(candidate.masks.len() <= TABLES_MAX);
                    let same = |other: &Candidate| {
                        (&other.masks, other.syndrome_bits)
                            == (&candidate.masks, candidate.syndrome_bits)
                    };
                    assert!(!found[..at].iter().any(same));
                    let named = scheme_by_name(&candidate.name, 1_000_000, k, model).unwrap();
                    assert_eq!(named.masks(), candidate.masks, "{}, k={k}", candidate.name);
                    assert_eq!(named.syndrome_bits(), candidate.syndrome_bits);
                }
            }
        }
        let names: Vec<String> =
            candidates(1_000_000, 3, None).into_iter().map(|c| c.name).collect();
        for name in [
            "archive",
            "halves",
            "halves-syndrome12",
            "blocks-4",
            "covering-6",
            "nested-16",
            "choose-5",
        ] {
            assert!(names.iter().any(|n| n == name), "{name}: {names:?}");
        }
    }
}
