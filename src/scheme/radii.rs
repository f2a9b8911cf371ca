//! Choosing the radii for a distance: proven to cover it, and as cheap as the search finds.

use super::Radius;
use super::cost::TableShape;
use super::cover::covers;

/// Steps of proof that one choice may take; masks from a file may be made to be hard.
const PROOF_STEPS: u64 = 200_000;
/// Steps of proof that lowering one radius may take.
const LOWERING_STEPS: u64 = 2_000;
/// How many tables the search tries as the start of a family of disjoint masks.
const DISJOINT_STARTS: usize = 16;

/// How a query at some distance is answered.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Choice {
    /// Probe the tables, each within its radius.
    Probe { radii: Vec<Radius>, expected_nanos: f64 },
    /// Decode this table and compare every value.
    Scan { table: usize, expected_nanos: f64 },
}

/// The cheapest way found to answer distance `k`; `shapes` has one entry a mask.
///
/// A pass over one table is always a way, so there is an answer for every `k` and any masks.
pub(crate) fn choose_radii(masks: &[u64], shapes: &[TableShape], k: u32) -> Choice {
    let scan_nanos = shapes.first().map_or(0.0, TableShape::scan_nanos);
    let mut best = Choice::Scan { table: 0, expected_nanos: scan_nanos };
    let mut least = scan_nanos;
    let mut steps = PROOF_STEPS;
    for start in starts(masks) {
        let Some(radii) = cheapest_from(start, masks, shapes, k, &mut steps) else {
            continue;
        };
        let expected_nanos = total_nanos(&radii, shapes);
        if expected_nanos < least {
            least = expected_nanos;
            best = Choice::Probe { radii, expected_nanos };
        }
    }
    best
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
    shapes: &[TableShape],
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
        let saving = |t: usize| {
            let now = table_nanos(radii[t], &shapes[t]);
            now - table_nanos(lowered(radii[t]), &shapes[t])
        };
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

fn table_nanos(radius: Radius, shape: &TableShape) -> f64 {
    radius.map_or(0.0, |r| shape.probe_nanos(r))
}

fn total_nanos(radii: &[Radius], shapes: &[TableShape]) -> f64 {
    radii.iter().zip(shapes).map(|(&radius, shape)| table_nanos(radius, shape)).sum()
}

#[cfg(test)]
mod tests {
    use super::super::families::masks_of;
    use super::*;

    fn shapes(masks: &[u64], value_count: u64) -> Vec<TableShape> {
        let block_bits = (value_count / 32).max(1).ilog2();
        masks
            .iter()
            .map(|mask| TableShape { prefix_bits: mask.count_ones(), block_bits, value_count })
            .collect()
    }

    fn radii_of(name: &str, k: u32, value_count: u64) -> Option<Vec<Radius>> {
        let masks = masks_of(name, 3).unwrap();
        match choose_radii(&masks, &shapes(&masks, value_count), k) {
            Choice::Probe { radii, .. } => Some(radii),
            Choice::Scan { .. } => None,
        }
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
            let choice = choose_radii(&masks, &shapes(&masks, 1_000_000_000), k);
            let Choice::Probe { radii, .. } = choice else { panic!("{name}, k={k}: scan") };
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
