//! The exhaustive proof that radii over masks miss no pattern of at most k flips.

use super::Radius;

/// The bits that lie in exactly the same masks; only how many of them flip matters.
struct Atom {
    /// Which of the tables in play have the atom inside their mask.
    tables: Vec<usize>,
    bits: u32,
}

/// Whether every pattern of at most `k` flips leaves some table with at most its radius of
/// them inside its mask. `None` once `steps` are used up without an answer.
///
/// A counterexample puts at least `radius + 1` flips into every mask in play. The search for
/// one takes a table that still lacks flips and tries each atom of its mask in turn; an atom
/// that was tried is closed for the later tries, so no pattern comes up twice.
pub(super) fn covers(masks: &[u64], radii: &[Radius], k: u32, steps: &mut u64) -> Option<bool> {
    let in_play: Vec<(u64, u32)> =
        masks.iter().zip(radii).filter_map(|(&mask, &r)| Some((mask, r?))).collect();
    let needs: Vec<u32> = in_play.iter().map(|&(_, radius)| radius.saturating_add(1)).collect();
    let atoms = atoms_of(&in_play);
    let free: Vec<u32> = atoms.iter().map(|atom| atom.bits).collect();
    let mut search = Search { atoms: &atoms, steps };
    search.counterexample(&needs, &free, k).map(|found| !found)
}

fn atoms_of(in_play: &[(u64, u32)]) -> Vec<Atom> {
    let mut atoms: Vec<Atom> = Vec::new();
    for bit in 0..64 {
        let tables: Vec<usize> = (0..in_play.len())
            .filter(|&t| in_play.get(t).is_some_and(|(mask, _)| mask >> bit & 1 == 1))
            .collect();
        match atoms.iter_mut().find(|atom| atom.tables == tables) {
            Some(atom) => atom.bits += 1,
            None if tables.is_empty() => {}
            None => atoms.push(Atom { tables, bits: 1 }),
        }
    }
    atoms
}

struct Search<'a> {
    atoms: &'a [Atom],
    steps: &'a mut u64,
}

impl Search<'_> {
    /// Whether at most `budget` flips, on bits still free, meet all needs.
    fn counterexample(&mut self, needs: &[u32], free: &[u32], budget: u32) -> Option<bool> {
        *self.steps = self.steps.checked_sub(1)?;
        let Some(&most) = needs.iter().max().filter(|&&most| most > 0) else {
            return Some(true);
        };
        if most > budget {
            return Some(false);
        }
        // One flip serves at most as many lacking tables as its atom lies in.
        let widest = self
            .open_atoms(free)
            .map(|(_, atom)| atom.tables.iter().filter(|&&t| lacks(needs, t)).count() as u64)
            .max()
            .unwrap_or(0);
        let lacking: u64 = needs.iter().map(|&need| u64::from(need)).sum();
        if lacking > u64::from(budget) * widest {
            return Some(false);
        }
        let Some(table) = self.scarcest_table(needs, free) else {
            return Some(false);
        };
        let mut free = free.to_vec();
        let choices: Vec<usize> = self
            .open_atoms(&free)
            .filter(|(_, atom)| atom.tables.contains(&table))
            .map(|(index, _)| index)
            .collect();
        for choice in choices {
            let atom = &self.atoms[choice];
            let mut needs = needs.to_vec();
            for &t in &atom.tables {
                needs[t] = needs[t].saturating_sub(1);
            }
            free[choice] -= 1;
            if self.counterexample(&needs, &free, budget - 1)? {
                return Some(true);
            }
            free[choice] = 0;
        }
        Some(false)
    }

    fn open_atoms<'f>(
        &self,
        free: &'f [u32],
    ) -> impl Iterator<Item = (usize, &Atom)> + use<'_, 'f> {
        self.atoms.iter().enumerate().filter(move |&(index, _)| free[index] > 0)
    }

    /// The lacking table with the fewest atoms left to try; `None` if some table cannot be met.
    fn scarcest_table(&self, needs: &[u32], free: &[u32]) -> Option<usize> {
        let mut atom_count = vec![0_u32; needs.len()];
        let mut bit_count = vec![0_u32; needs.len()];
        for (index, atom) in self.open_atoms(free) {
            for &t in &atom.tables {
                atom_count[t] += 1;
                bit_count[t] += free[index];
            }
        }
        if needs.iter().zip(&bit_count).any(|(need, bits)| need > bits) {
            return None;
        }
        (0..needs.len()).filter(|&t| lacks(needs, t)).min_by_key(|&t| atom_count[t])
    }
}

fn lacks(needs: &[u32], table: usize) -> bool {
    needs[table] > 0
}

#[cfg(test)]
mod tests {
    use super::super::families::masks_of;
    use super::*;

    fn proven(masks: &[u64], radii: &[Radius], k: u32) -> bool {
        covers(masks, radii, k, &mut 10_000_000_u64).unwrap()
    }

    /// Bit by bit, over all C(64, 3) = 41 664 patterns of weight 3.
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
    fn every_family_covers_three_flips_with_the_radii_of_the_design() {
        for (name, tables, radii) in [
            ("1", 1, vec![3]),
            ("2", 2, vec![1, 1]),
            ("3", 3, vec![1, 0, 0]),
            ("4", 4, vec![0; 4]),
            ("6", 6, vec![0; 6]),
            ("8", 8, vec![0; 8]),
            ("10", 10, vec![0; 10]),
            ("11", 11, vec![0; 11]),
            ("14", 14, vec![0; 14]),
            ("15", 15, vec![0; 15]),
            ("16", 16, vec![0; 16]),
            ("20", 20, vec![0; 20]),
        ] {
            let masks = masks_of(name, 3).unwrap();
            assert_eq!(masks.len(), tables, "{name}");
            let radii: Vec<Radius> = radii.into_iter().map(Some).collect();
            assert!(by_patterns(&masks, &radii), "{name}");
            assert!(proven(&masks, &radii, 3), "{name}");
        }
    }

    #[test]
    fn general_families_cover_their_distance() {
        for k in 1..=6 {
            let masks = masks_of("hyperplanes", k).unwrap();
            assert_eq!(masks.len(), (2 << k) - 2);
            assert!(masks.iter().all(|mask| mask.count_ones() == 32));
            assert!(proven(&masks, &vec![Some(0); masks.len()], k), "hyperplanes, k={k}");
        }
        for (blocks, k) in [(4, 1), (5, 2), (6, 3), (7, 3), (8, 5)] {
            let masks = masks_of(&format!("choose-{blocks}"), k).unwrap();
            assert!(proven(&masks, &vec![Some(0); masks.len()], k), "choose-{blocks}, k={k}");
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

    /// Small fingerprints of 8 bits, all patterns, random masks and radii.
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
}
