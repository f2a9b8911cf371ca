//! Chooses the access path of a segment for a distance: a scan, or probes within radii that are
//! proven to cover the distance.
//!
//! The search starts with equal radii for all tables, and with equal radii for sets of tables with
//! disjoint masks, each as low as the proof of cover allows. Then it repeatedly lowers the radius
//! that saves the most, as long as the proof holds. The cheapest result is compared with a scan.
//! The search is greedy, so it may miss the cheapest radii, but it never returns radii without a
//! proof.

use super::estimate::CostEstimate;
use super::probe::TableModel;
use super::unit_costs::UnitCosts;
use crate::scheme::{Radius, covers};

/// Maximum number of proof steps for one choice: proofs for masks from a file may take very long.
const PROOF_STEPS: u64 = 200_000;
/// Maximum number of proof steps to lower one radius.
const LOWERING_STEPS: u64 = 2_000;
/// The number of tables that are tried as the first of a set of tables with disjoint masks.
const DISJOINT_STARTS: usize = 16;

/// The method by which a segment answers queries for a distance.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum AccessPath {
    /// Probe the tables, each within its radius.
    Probe { radii: Vec<Radius> },
    /// Decode this table and compare every value.
    Scan { table: usize },
}

/// An access path and its expected cost.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct PathPlan {
    pub(crate) path: AccessPath,
    /// The steps of a query for a stored fingerprint.
    pub(crate) estimate: CostEstimate,
    pub(crate) expected_nanos: f64,
}

impl PathPlan {
    /// The number of tables that the path reads.
    pub(crate) fn table_count(&self) -> u64 {
        match &self.path {
            AccessPath::Probe { radii } => radii.iter().flatten().count() as u64,
            AccessPath::Scan { .. } => 1,
        }
    }
}

/// The tables of a segment, and the unit costs by which access paths are compared.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PathPlanner<'a> {
    pub(crate) masks: &'a [u64],
    /// One model for each mask.
    pub(crate) tables: &'a [TableModel],
    pub(crate) costs: &'a UnitCosts,
}

impl PathPlanner<'_> {
    /// The cheapest access path found for distance `k`.
    ///
    /// A scan of one table is always possible, so there is a path for every `k` and any masks.
    pub(crate) fn choose(&self, k: u32) -> PathPlan {
        let mut best = self.price(AccessPath::Scan { table: 0 }, k);
        let costs = ProbeCosts::new(self, k);
        let mut steps = PROOF_STEPS;
        let usable: Vec<bool> = self.tables.iter().map(|table| table.answers(k)).collect();
        for start in starts(self.masks, &usable) {
            let Some(radii) = cheapest_from(start, self.masks, &costs, k, &mut steps) else {
                continue;
            };
            let plan = self.price(AccessPath::Probe { radii }, k);
            if plan.expected_nanos < best.expected_nanos {
                best = plan;
            }
        }
        best
    }

    /// The expected cost of an access path; radii must cover `k`.
    pub(crate) fn price(&self, path: AccessPath, k: u32) -> PathPlan {
        let (estimate, footprint) = match &path {
            AccessPath::Scan { table } => {
                let scanned = self.tables.get(*table).map_or(0, |table| table.value_count) as f64;
                (CostEstimate { scanned, ..CostEstimate::default() }, 0.0)
            }
            AccessPath::Probe { radii } => {
                let mut estimate = CostEstimate::default();
                let mut footprint = 0.0;
                for (table, radius) in self.tables.iter().zip(radii) {
                    if let Some(radius) = *radius {
                        estimate += table.probe(radius, k, 1.0);
                        footprint += table.hot_len;
                    }
                }
                (estimate, footprint)
            }
        };
        let expected_nanos = self.costs.nanos(&estimate, footprint);
        PathPlan { path, estimate, expected_nanos }
    }
}

/// The cost of each table at each radius, computed once for all starts.
struct ProbeCosts(Vec<Vec<f64>>);

impl ProbeCosts {
    fn new(planner: &PathPlanner<'_>, k: u32) -> Self {
        // The footprint of probing all tables, since the tables are not chosen yet.
        let footprint = planner.tables.iter().map(|table| table.hot_len).sum();
        let fixed = planner.costs.nanos(&CostEstimate::default(), footprint);
        let cost = |table: &TableModel, radius: u32| {
            planner.costs.nanos(&table.probe(radius, k, 1.0), footprint) - fixed
        };
        let costs = |table| (0..=k).map(|radius| cost(table, radius)).collect();
        ProbeCosts(planner.tables.iter().map(costs).collect())
    }

    fn of(&self, table: usize, radius: Radius) -> f64 {
        radius.map_or(0.0, |r| self.0[table][r as usize])
    }
}

/// Sets of usable tables, from each of which a search for the cheapest radii starts: the set of all
/// tables, and sets with disjoint masks, which the first search would miss in a large scheme.
fn starts(masks: &[u64], usable: &[bool]) -> Vec<Vec<bool>> {
    let mut starts = vec![usable.to_vec()];
    for first in 0..masks.len().min(DISJOINT_STARTS) {
        let mut used = 0;
        let mut members = vec![false; masks.len()];
        for index in (0..masks.len()).cycle().skip(first).take(masks.len()) {
            if usable[index] && masks[index] & used == 0 {
                used |= masks[index];
                members[index] = true;
            }
        }
        if !starts.contains(&members) {
            starts.push(members);
        }
    }
    starts
}

/// Finds the least equal radius at which the member tables cover `k`, and lowers the radii one by
/// one as long as the proof holds: the largest saving first, and of equal savings the last table
/// first.
fn cheapest_from(
    members: Vec<bool>,
    masks: &[u64],
    costs: &ProbeCosts,
    k: u32,
    steps: &mut u64,
) -> Option<Vec<Radius>> {
    let equal = |radius: u32| members.iter().map(|&m| m.then_some(radius)).collect::<Vec<Radius>>();
    let mut radii = None;
    for radius in 0..=k {
        if covers(masks, &equal(radius), k, steps)? {
            radii = Some(equal(radius));
            break;
        }
    }
    let mut radii = radii?;
    // A table whose radius could not be lowered is not tried again: the other radii only get lower,
    // so its radius is still needed.
    let mut open = members;
    loop {
        let saving = |t: usize| costs.of(t, radii[t]) - costs.of(t, lowered(radii[t]));
        let next = (0..open.len())
            .filter(|&t| open[t] && radii[t].is_some())
            .max_by(|&a, &b| saving(a).total_cmp(&saving(b)));
        let Some(table) = next else {
            return Some(radii);
        };
        let kept = radii[table];
        radii[table] = lowered(kept);
        let mut allowed = LOWERING_STEPS.min(*steps);
        *steps -= allowed;
        // Without a proof, or if the proof takes too many steps, the radius is not lowered.
        if covers(masks, &radii, k, &mut allowed) != Some(true) {
            radii[table] = kept;
            open[table] = false;
        }
        *steps += allowed;
    }
}

fn lowered(radius: Radius) -> Radius {
    radius.and_then(|r| r.checked_sub(1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::limits::ERRORS_MAX;
    use crate::plan::cut;
    use crate::plan::density::Density;
    use crate::plan::probe::SyndromeModel;
    use crate::scheme::{PROMISES, Scheme};

    fn masks_of(name: &str, k: u32) -> Vec<u64> {
        Scheme::named(name, k).unwrap().masks().to_vec()
    }

    fn choose(masks: &[u64], k: u32, value_count: u64) -> Option<Vec<Radius>> {
        choose_by(masks, k, value_count, None, &UnitCosts::SHIPPED)
    }

    /// The chosen radii if the tables after the first have these syndromes; `None` for a scan.
    fn choose_by(
        masks: &[u64],
        k: u32,
        value_count: u64,
        syndromes: Option<SyndromeModel>,
        costs: &UnitCosts,
    ) -> Option<Vec<Radius>> {
        let head_bits = cut::uniform_head_bits(value_count);
        let block_bits = cut::block_bits(value_count, 64 - head_bits);
        let table = |mask: &u64| TableModel {
            prefix_bits: mask.count_ones(),
            block_bits,
            head_bits,
            value_count,
            hot_len: 1.2 * value_count as f64,
            extra_len: 0.0,
            density: Density::uniform(),
            syndromes: None,
        };
        let mut tables: Vec<TableModel> = masks.iter().map(table).collect();
        tables.iter_mut().skip(1).for_each(|table| table.syndromes = syndromes);
        match (PathPlanner { masks, tables: &tables, costs }).choose(k).path {
            AccessPath::Probe { radii } => Some(radii),
            AccessPath::Scan { .. } => None,
        }
    }

    fn radii_of(name: &str, k: u32, value_count: u64) -> Option<Vec<Radius>> {
        choose(&masks_of(name, 3), k, value_count)
    }

    #[test]
    fn two_halves_get_the_radii_of_the_design() {
        let n = 1_000_000_000;
        for (k, expected) in [
            (0, [Some(0), None]),
            (1, [Some(0), Some(0)]),
            (2, [Some(1), Some(0)]),
            (3, [Some(1), Some(1)]),
            (4, [Some(2), Some(1)]),
            (5, [Some(2), Some(2)]),
            (7, [Some(3), Some(3)]),
        ] {
            assert_eq!(radii_of("2", k, n).unwrap(), expected, "k={k}");
        }
    }

    #[test]
    fn every_family_probes_all_tables_at_three_with_the_radii_of_the_design() {
        for name in ["4", "6", "8", "10", "14", "15", "16", "20"] {
            let radii = radii_of(name, 3, 1_000_000_000).unwrap();
            assert!(radii.iter().all(|r| r.is_none_or(|r| r <= 1)), "{name}: {radii:?}");
        }
        assert_eq!(radii_of("3", 3, 1_000_000_000).unwrap(), [Some(1), Some(0), Some(0)]);
    }

    #[test]
    fn general_families_are_probed_at_radius_0() {
        for (name, k) in [("hyperplanes", 2), ("hyperplanes", 5), ("choose-10", 3), ("choose-7", 4)]
        {
            let masks = masks_of(name, k);
            let radii = choose(&masks, k, 1_000_000_000);
            let radii = radii.unwrap_or_else(|| panic!("{name}, k={k}: scan"));
            assert!(radii.iter().all(|&radius| radius == Some(0)), "{name}, k={k}");
        }
    }

    #[test]
    fn whatever_is_chosen_covers_the_distance() {
        for &(name, promised, _) in PROMISES {
            let masks = masks_of(name, promised);
            for k in 0..=10 {
                for value_count in [0, 1, 1000, 1_000_000_000] {
                    if let Some(radii) = choose(&masks, k, value_count) {
                        let mut steps = u64::MAX;
                        assert_eq!(
                            covers(&masks, &radii, k, &mut steps),
                            Some(true),
                            "{name} k={k}"
                        );
                    }
                }
            }
        }
    }

    #[test]
    fn tables_with_syndromes_are_probed_up_to_seven_bits_whatever_look_ups_cost() {
        let free = UnitCosts { look_up: 0.0, touch: [0.0; 7], ..UnitCosts::SHIPPED };
        for (name, bits) in [("2", 12), ("14", 12), ("20", 21)] {
            let masks = masks_of(name, 3);
            let syndromes = Some(SyndromeModel { bits, hashed_bits: 32 });
            for k in 0..=20 {
                let radii = choose_by(&masks, k, 1 << 40, syndromes, &free).unwrap();
                let named = radii.iter().skip(1).any(Option::is_some);
                assert!(k <= ERRORS_MAX || !named, "{name}, k={k}: {radii:?}");
                assert!(!(2..=ERRORS_MAX).contains(&k) || named, "{name}, k={k}: {radii:?}");
            }
        }
    }

    #[test]
    fn a_large_distance_is_a_scan() {
        for k in [20, 40, 64] {
            assert_eq!(radii_of("2", k, 1_000_000), None, "k={k}");
        }
    }
}
