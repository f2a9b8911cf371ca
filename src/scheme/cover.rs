//! Proves that probes of tables with given masks and radii find every value within k flipped bits.
//!
//! The proof is an exhaustive search for a counterexample over the *atoms* of the masks: sets of
//! bits that lie in exactly the same masks. Two masks of 32 bits have two atoms, so instead of
//! C(64, 3) patterns of three flips the search tries 3 + 0, 2 + 1, 1 + 2 and 0 + 3 flips.

use crate::bytes::mask::low_bits;

/// The number of flips inside its mask that a probe of a table tolerates; `None` skips the table.
pub type Radius = Option<u32>;

/// Whether for every pattern of at most `k` flips the mask of some table contains no more flips
/// than the radius of the table. Counts `steps` down and returns `None` when they are used up.
///
/// A counterexample puts at least `radius + 1` flips into the mask of every table that has a
/// radius. The search takes a table that still lacks flips and tries a flip in each atom of its
/// mask. A tried atom gets no more flips when the next atoms are tried, so no pattern occurs twice.
pub(crate) fn covers(masks: &[u64], radii: &[Radius], k: u32, steps: &mut u64) -> Option<bool> {
    let in_play: Vec<(u64, u32)> =
        masks.iter().zip(radii).filter_map(|(&mask, &r)| Some((mask, r?))).collect();
    let mut search = Search::new(&in_play, steps);
    let lacking = search.needs.iter().map(|&need| u64::from(need)).sum();
    let every_atom = low_bits(search.atoms.len() as u32);
    let every_table = TableSet::first(in_play.len());
    search.counterexample(every_table, lacking, every_atom, k).map(|found| !found)
}

/// A set of tables that have a radius, one bit each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct TableSet([u64; TABLE_COUNT_MAX / 64]);

impl TableSet {
    fn first(count: usize) -> Self {
        let mut set = TableSet::default();
        (0..count).for_each(|table| set.insert(table));
        set
    }

    fn insert(&mut self, table: usize) {
        self.0[table / 64] |= 1 << (table % 64);
    }

    fn remove(&mut self, table: usize) {
        self.0[table / 64] &= !(1 << (table % 64));
    }

    fn is_empty(&self) -> bool {
        self.0 == TableSet::default().0
    }

    fn and(&self, other: &TableSet) -> TableSet {
        TableSet(std::array::from_fn(|word| self.0[word] & other.0[word]))
    }

    fn len(&self) -> u64 {
        self.0.iter().map(|word| u64::from(word.count_ones())).sum()
    }

    fn iter(self) -> impl Iterator<Item = usize> {
        self.0
            .into_iter()
            .enumerate()
            .flat_map(|(word, bits)| bits_of(bits).map(move |b| 64 * word + b))
    }
}

/// The positions of the bits set in a word.
fn bits_of(mut word: u64) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let lowest = (word != 0).then(|| word.trailing_zeros() as usize)?;
        word &= word - 1;
        Some(lowest)
    })
}

/// The state of a search: the flips that each table lacks, and the unflipped bits of each atom.
///
/// An *atom* is a set of bits that lie in exactly the same masks, so only the number of flips in it
/// matters. There are at most 64 atoms, so a set of atoms fits into a `u64`.
struct Search<'a> {
    /// For each atom: the tables whose mask contains it.
    atoms: Vec<TableSet>,
    /// For each atom: the number of its bits that are not flipped.
    free: Vec<u32>,
    /// For each table: the set of atoms inside its mask.
    atoms_of: Vec<u64>,
    /// For each table: the number of flips still needed to exceed its radius.
    needs: Vec<u32>,
    steps: &'a mut u64,
}

impl<'a> Search<'a> {
    fn new(in_play: &[(u64, u32)], steps: &'a mut u64) -> Self {
        let needs = in_play.iter().map(|&(_, radius)| radius.saturating_add(1)).collect();
        let mut atoms: Vec<TableSet> = Vec::new();
        let mut free: Vec<u32> = Vec::new();
        for bit in 0..64 {
            let mut tables = TableSet::default();
            for (table, (mask, _)) in in_play.iter().enumerate() {
                if mask >> bit & 1 == 1 {
                    tables.insert(table);
                }
            }
            match atoms.iter().position(|atom| *atom == tables) {
                Some(atom) => free[atom] += 1,
                None if tables.is_empty() => {}
                None => {
                    atoms.push(tables);
                    free.push(1);
                }
            }
        }
        let mut atoms_of = vec![0; in_play.len()];
        for (number, atom) in atoms.iter().enumerate() {
            atom.iter().for_each(|table| atoms_of[table] |= 1 << number);
        }
        Search { atoms, free, atoms_of, needs, steps }
    }

    /// Whether at most `budget` flips on bits of the `open` atoms give the `unmet` tables all the
    /// flips they need, `lacking` in total.
    fn counterexample(
        &mut self,
        unmet: TableSet,
        lacking: u64,
        open: u64,
        budget: u32,
    ) -> Option<bool> {
        *self.steps = self.steps.checked_sub(1)?;
        if unmet.is_empty() {
            return Some(true);
        }
        // One flip counts for at most `widest` unmet tables: those whose masks contain its atom.
        let serves = |atom: usize| self.atoms[atom].and(&unmet).len();
        let widest = bits_of(open).map(serves).max().unwrap_or(0);
        if lacking > u64::from(budget) * widest {
            return Some(false);
        }
        let Some(table) = self.scarcest(unmet, open, budget) else {
            return Some(false);
        };
        let mut open = open;
        for atom in bits_of(self.atoms_of[table] & open) {
            let served = self.atoms[atom].and(&unmet);
            let mut still_unmet = unmet;
            for table in served.iter() {
                self.needs[table] -= 1;
                if self.needs[table] == 0 {
                    still_unmet.remove(table);
                }
            }
            self.free[atom] -= 1;
            let closed = open & !(1 << atom);
            let rest = if self.free[atom] == 0 { closed } else { open };
            let found = self.counterexample(still_unmet, lacking - served.len(), rest, budget - 1);
            self.free[atom] += 1;
            served.iter().for_each(|table| self.needs[table] += 1);
            if found? {
                return Some(true);
            }
            open = closed;
        }
        Some(false)
    }

    /// The unmet table with the fewest atoms left to try; `None` if one cannot get its flips.
    fn scarcest(&self, unmet: TableSet, open: u64, budget: u32) -> Option<usize> {
        let mut scarcest = None;
        let mut fewest = u32::MAX;
        for table in unmet.iter() {
            let atoms = self.atoms_of[table] & open;
            let bits: u32 = bits_of(atoms).map(|atom| self.free[atom]).sum();
            if self.needs[table] > bits.min(budget) {
                return None;
            }
            if atoms.count_ones() < fewest {
                fewest = atoms.count_ones();
                scarcest = Some(table);
            }
        }
        scarcest
    }
}

/// Maximum number of tables of a segment (rule R-6 of format-spec.md).
pub(crate) const TABLE_COUNT_MAX: usize = 256;

/// C(n,0) + C(n,1) + ... + C(n,r).
pub(crate) fn combinations_up_to(n: u32, r: u32) -> f64 {
    let mut term = 1.0;
    let mut sum = 1.0;
    for i in 1..=r.min(n) {
        term *= f64::from(n - i + 1) / f64::from(i);
        sum += term;
    }
    sum
}

/// The elementary symmetric polynomials of `weights`, degree 0 to `degree`: for weights of 1,
/// entry `i` is the number of ways to flip `i` of them.
pub(crate) fn ways_to_flip(weights: &[f64], degree: u32) -> Vec<f64> {
    let degree = degree as usize;
    let mut ways = vec![0.0; degree + 1];
    ways[0] = 1.0;
    for (seen, weight) in (1..).zip(weights) {
        for flips in (1..=degree.min(seen)).rev() {
            ways[flips] += ways[flips - 1] * weight;
        }
    }
    ways
}

#[cfg(test)]
mod tests {
    use super::super::families::{FAMILIES, PROMISES, masks_of};
    use super::*;

    fn proven(masks: &[u64], radii: &[Radius], k: u32) -> bool {
        covers(masks, radii, k, &mut 10_000_000_u64).unwrap()
    }

    /// `covers` for k = 3 by brute force, over all C(64, 3) = 41 664 patterns of weight 3.
    fn by_patterns(masks: &[u64], radii: &[Radius]) -> bool {
        (0..64_u32).all(|a| {
            (a + 1..64).all(|b| {
                (b + 1..64).all(|c| {
                    let flips = 1_u64 << a | 1 << b | 1 << c;
                    masks.iter().zip(radii).any(|(mask, radius)| {
                        radius.is_some_and(|r| (flips & mask).count_ones() <= r)
                    })
                })
            })
        })
    }

    #[test]
    fn every_family_covers_what_it_promises() {
        for family in FAMILIES {
            let promises = |&(name, ..): &(&str, u32, &[u32])| family.argument_in(name).is_some();
            assert!(PROMISES.iter().any(promises), "{} promises nothing", family.name);
        }
        for &(name, k, first) in PROMISES {
            let masks = masks_of(name, k).unwrap();
            if let Ok(count) = name.parse::<usize>() {
                assert_eq!(masks.len(), count, "{name}");
            }
            let all = first.iter().chain(std::iter::repeat(&0));
            let radii: Vec<Radius> = all.take(masks.len()).copied().map(Some).collect();
            assert!(proven(&masks, &radii, k), "{name}, k={k}");
            assert!(k != 3 || by_patterns(&masks, &radii), "{name}");
        }
    }

    #[test]
    fn general_families_cover_no_more_than_their_distance() {
        for k in 1..=5 {
            let masks = masks_of("hyperplanes", k).unwrap();
            assert_eq!(masks.len(), (2 << k) - 2);
            assert!(masks.iter().all(|mask| mask.count_ones() == 32));
        }
        for (blocks, k) in [(4, 1), (5, 2), (6, 3), (7, 3), (8, 5)] {
            let masks = masks_of(&format!("choose-{blocks}"), k).unwrap();
            assert!(!proven(&masks, &vec![Some(0); masks.len()], k + 1));
        }
    }

    #[test]
    fn disjoint_blocks_need_radii_that_sum_to_k_less_their_number_plus_one() {
        let halves = masks_of("2", 3).unwrap();
        for (k, radii) in
            [(1, [0, 0]), (2, [1, 0]), (3, [1, 1]), (4, [2, 1]), (5, [2, 2]), (7, [3, 3])]
        {
            assert!(proven(&halves, &radii.map(Some), k));
            assert!(!proven(&halves, &radii.map(Some), k + 1));
        }
        assert!(proven(&halves, &[Some(0), None], 0));
        assert!(!proven(&halves, &[Some(0), None], 1));
        assert!(!proven(&halves, &[None, None], 0));
        assert!(proven(&halves, &[Some(32), None], 64));
    }

    /// Compares the proof with a test of all patterns of 8 bits, for random masks and radii.
    #[test]
    fn the_proof_agrees_with_brute_force_on_small_masks() {
        let mut state = 20_261_121_u64;
        let mut random = move || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            state >> 33
        };
        let mut verdicts = [0; 2];
        for _ in 0..3000 {
            let tables = 1 + random() % 5;
            let masks: Vec<u64> = (0..tables).map(|_| random() % 256).collect();
            let radii: Vec<Radius> =
                (0..tables).map(|_| (random() % 4).checked_sub(1).map(|r| r as u32)).collect();
            let k = random() as u32 % 6;
            let truth = (0..256_u64).filter(|flips| flips.count_ones() <= k).all(|flips| {
                masks
                    .iter()
                    .zip(&radii)
                    .any(|(mask, radius)| radius.is_some_and(|r| (flips & mask).count_ones() <= r))
            });
            assert_eq!(proven(&masks, &radii, k), truth, "{masks:x?} {radii:?} k={k}");
            verdicts[usize::from(truth)] += 1;
        }
        assert!(verdicts[0] > 300 && verdicts[1] > 300, "{verdicts:?}");
    }

    #[test]
    fn a_proof_that_takes_too_long_is_given_up() {
        let masks = masks_of("20", 3).unwrap();
        assert_eq!(covers(&masks, &[Some(0); 20], 3, &mut 5), None);
    }

    #[test]
    fn combinations_are_summed() {
        assert_eq!(combinations_up_to(64, 3), 43_745.0);
        assert_eq!(combinations_up_to(5, 9), 32.0);
        assert_eq!(combinations_up_to(0, 4), 1.0);
    }

    #[test]
    fn ways_to_flip_equal_bits_are_combinations_and_dead_bits_have_none() {
        let ways = ways_to_flip(&[1.0; 64], 3);
        assert_eq!(ways, [1.0, 64.0, 2016.0, 41_664.0]);
        assert_eq!(ways_to_flip(&[1.0, 0.0, 1.0, 0.0], 3), [1.0, 2.0, 1.0, 0.0]);
        assert_eq!(ways_to_flip(&[], 2), [1.0, 0.0, 0.0]);
        assert_eq!(ways_to_flip(&[0.5, 2.0], 2), [1.0, 2.5, 1.0]);
    }
}
