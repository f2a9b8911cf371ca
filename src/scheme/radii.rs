//! Choosing the radii for a distance: proven to cover it, and as cheap as the search finds.

use super::Radius;
use super::cost::UnitCosts;
use super::cover::covers;
use super::effort::{Effort, TableShape};

/// Steps of proof that one choice may take; masks from a file may be made to be hard.
const PROOF_STEPS: u64 = 200_000;
/// Steps of proof that lowering one radius may take.
const LOWERING_STEPS: u64 = 2_000;
/// How many tables the search tries as the start of a family of disjoint masks.
const DISJOINT_STARTS: usize = 16;

/// How a query at some distance is answered.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Choice {
    pub(crate) way: Way,
    /// The steps of a query for a stored fingerprint.
    pub(crate) effort: Effort,
    pub(crate) expected_nanos: f64,
}

impl Choice {
    /// How many tables take part.
    #[cfg(feature = "build")]
    pub(crate) fn table_count(&self) -> u64 {
        match &self.way {
            Way::Probe { radii } => radii.iter().flatten().count() as u64,
            Way::Scan { .. } => 1,
        }
    }
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Way {
    /// Probe the tables, each within its radius.
    Probe { radii: Vec<Radius> },
    /// Decode this table and compare every value.
    Scan { table: usize },
}

/// The tables of a segment, and what steps cost there.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Terms<'a> {
    pub(crate) masks: &'a [u64],
    /// One for each mask.
    pub(crate) shapes: &'a [TableShape],
    pub(crate) costs: &'a UnitCosts,
}

impl Terms<'_> {
    /// The cheapest way found to answer distance `k`.
    ///
    /// A pass over one table is always a way, so there is an answer for every `k` and any masks.
    pub(crate) fn choose(&self, k: u32) -> Choice {
        let mut best = self.price(Way::Scan { table: 0 }, k);
        let prices = Prices::new(self, k);
        let mut steps = PROOF_STEPS;
        for start in starts(self.masks) {
            let Some(radii) = cheapest_from(start, self.masks, &prices, k, &mut steps) else {
                continue;
            };
            let choice = self.price(Way::Probe { radii }, k);
            if choice.expected_nanos < best.expected_nanos {
                best = choice;
            }
        }
        best
    }

    /// What a way takes; radii must cover `k`.
    pub(crate) fn price(&self, way: Way, k: u32) -> Choice {
        let (effort, footprint) = match &way {
            Way::Scan { table } => {
                let scanned = self.shapes.get(*table).map_or(0, |shape| shape.value_count) as f64;
                (Effort { scanned, ..Effort::default() }, 0.0)
            }
            Way::Probe { radii } => {
                let in_play = self.shapes.iter().zip(radii).filter(|(_, radius)| radius.is_some());
                let footprint = in_play.map(|(shape, _)| shape.hot_len).sum();
                (self.effort(radii, k, 1.0), footprint)
            }
        };
        let expected_nanos = self.costs.nanos(&effort, footprint);
        Choice { way, effort, expected_nanos }
    }

    /// The steps of a query for a stored fingerprint (`own` 1) or for another like it (0).
    pub(crate) fn effort(&self, radii: &[Radius], k: u32, own: f64) -> Effort {
        let mut effort = Effort::default();
        for (shape, radius) in self.shapes.iter().zip(radii) {
            if let Some(radius) = *radius {
                effort += shape.probe_effort(radius, k, own);
            }
        }
        effort
    }
}

/// What each table costs at each radius, so that the search need not ask again.
struct Prices(Vec<Vec<f64>>);

impl Prices {
    fn new(terms: &Terms<'_>, k: u32) -> Self {
        // As if all tables took part: which do is not known yet.
        let footprint = terms.shapes.iter().map(|shape| shape.hot_len).sum();
        let fixed = terms.costs.nanos(&Effort::default(), footprint);
        let price = |shape: &TableShape, radius: u32| {
            let effort = shape.probe_effort(radius, k, 1.0);
            terms.costs.nanos(&effort, footprint) - fixed
        };
        let prices = |shape| (0..=k).map(|radius| price(shape, radius)).collect();
        Prices(terms.shapes.iter().map(prices).collect())
    }

    fn of(&self, table: usize, radius: Radius) -> f64 {
        radius.map_or(0.0, |r| self.0[table][r as usize])
    }
}

/// Sets of tables from which the lowering of radii starts: all of them, and families of
/// disjoint masks, which lowering one table at a time would not find in a large scheme.
fn starts(masks: &[u64]) -> Vec<Vec<bool>> {
    let mut starts = vec![vec![true; masks.len()]];
    for first in 0..masks.len().min(DISJOINT_STARTS) {
        let mut used = 0;
        let mut members = vec![false; masks.len()];
        for index in (0..masks.len()).cycle().skip(first).take(masks.len()) {
            if masks[index] & used == 0 {
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

/// The least equal radius at which the member tables cover `k`, then lowered table by table,
/// largest saving first and later tables first among equals, as long as the proof holds.
fn cheapest_from(
    members: Vec<bool>,
    masks: &[u64],
    prices: &Prices,
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
    // Once lowering a table fails it fails for good: the others only get lower.
    let mut open = members;
    loop {
        let saving = |t: usize| prices.of(t, radii[t]) - prices.of(t, lowered(radii[t]));
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
        // What cannot be proven in time is as good as wrong: the radius stays.
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
    use super::super::families::masks_of;
    use super::*;

    fn choose(masks: &[u64], k: u32, value_count: u64) -> Option<Vec<Radius>> {
        let head_bits = super::super::cut::uniform_head_bits(value_count);
        let block_bits = super::super::cut::block_bits(value_count, 64 - head_bits);
        let shape = |mask: &u64| TableShape {
            prefix_bits: mask.count_ones(),
            block_bits,
            head_bits,
            value_count,
            hot_len: 1.2 * value_count as f64,
            extra_len: 0.0,
            density: super::super::Density::uniform(),
        };
        let shapes: Vec<TableShape> = masks.iter().map(shape).collect();
        let costs = &UnitCosts::SHIPPED;
        match (Terms { masks, shapes: &shapes, costs }).choose(k).way {
            Way::Probe { radii } => Some(radii),
            Way::Scan { .. } => None,
        }
    }

    fn radii_of(name: &str, k: u32, value_count: u64) -> Option<Vec<Radius>> {
        choose(&masks_of(name, 3).unwrap(), k, value_count)
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
            let masks = masks_of(name, k).unwrap();
            let radii = choose(&masks, k, 1_000_000_000);
            let radii = radii.unwrap_or_else(|| panic!("{name}, k={k}: scan"));
            assert!(radii.iter().all(|&radius| radius == Some(0)), "{name}, k={k}");
        }
    }

    #[test]
    fn whatever_is_chosen_covers_the_distance() {
        for (name, _) in super::super::FAMILY_NAMES.iter().filter(|(n, _)| n.len() <= 2) {
            let masks = masks_of(name, 3).unwrap();
            for k in 0..=10 {
                for value_count in [0, 1, 1000, 1_000_000_000] {
                    if let Some(radii) = radii_of(name, k, value_count) {
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
    fn a_large_distance_is_a_scan() {
        for k in [20, 40, 64] {
            assert_eq!(radii_of("2", k, 1_000_000), None, "k={k}");
        }
    }
}
