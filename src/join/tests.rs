//! Joins against each with each.

use proptest::prelude::*;

use super::near::{Finder, Group};
use super::*;
use crate::Fingerprint;

fn brute(values: &[u64], k: u32) -> Vec<(u64, u64)> {
    let mut values = values.to_vec();
    values.sort_unstable();
    values.dedup();
    let mut pairs = Vec::new();
    for (at, &one) in values.iter().enumerate() {
        let near = values[at + 1..].iter().filter(|&other| (one ^ other).count_ones() <= k);
        pairs.extend(near.map(|&other| (one, other)));
    }
    pairs
}

fn joined(values: &[u64], options: &JoinOptions) -> Vec<(u64, u64)> {
    let fingerprints: Vec<Fingerprint> = values.iter().copied().map(Fingerprint::new).collect();
    let mut found = Vec::new();
    near_pairs(fingerprints.as_slice(), options, |pairs| {
        found.extend(pairs.iter().map(|pair| (pair.first.value(), pair.second.value())));
        Ok(())
    })
    .unwrap();
    found.sort_unstable();
    found
}

struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }
}

/// Values in which crowds of several kinds hide.
fn crowds(count: usize, seed: u64) -> Vec<u64> {
    let mut random = Random(seed);
    let mut values = vec![0, u64::MAX];
    while values.len() < count {
        let value = random.next();
        values.push(match random.next() % 6 {
            0 => value >> 44,
            1 => value & 0x00ff_0000_00f0_0000 | 0x1234,
            2 => {
                let center = 0x5555_aaaa_0f0f_f0f0_u64;
                (0..value % 7).fold(center, |v, _| v ^ 1 << (random.next() % 64))
            }
            3 => values[value as usize % values.len()] ^ 1 << (value >> 58),
            _ => value,
        });
    }
    values
}

#[test]
fn pairs_are_those_of_each_with_each() {
    for (count, seed) in [(0, 1), (1, 2), (2, 3), (30, 4), (500, 5), (3000, 6)] {
        let values = crowds(count, seed)[..count].to_vec();
        for k in 0..=6 {
            let expected = brute(&values, k);
            for (threads, memory) in [(1, None), (3, None), (2, Some(1 << 14))] {
                let options = JoinOptions { threads: Some(threads), memory, ..JoinOptions::new(k) };
                assert_eq!(joined(&values, &options), expected, "{count} values, k={k}");
            }
        }
    }
}

/// A part that alone is too large for the memory is joined by itself, split by other bits.
#[test]
fn crowds_that_do_not_fit_are_joined_by_themselves() {
    let mut values = crowds(9000, 11);
    // Most agree on the first blocks of any split.
    values.iter_mut().skip(1000).for_each(|value| *value = *value & 0x0f_ffff_ffff | 0x77 << 57);
    values.sort_unstable();
    values.dedup();
    for k in [0, 1, 3, 5] {
        let expected = brute(&values, k);
        for (threads, memory) in [(1, 1 << 14), (2, 1 << 15), (3, 1 << 16)] {
            let (threads, memory) = (Some(threads), Some(memory));
            let options = JoinOptions { threads, memory, ..JoinOptions::new(k) };
            assert_eq!(joined(&values, &options), expected, "k={k}, {memory:?} bytes");
            for count in [2, 5] {
                let of_share = |number: u32| {
                    let share = Share { number, count };
                    joined(&values, &JoinOptions { share, ..options.clone() })
                };
                let mut found: Vec<_> = (0..count).flat_map(of_share).collect();
                found.sort_unstable();
                assert_eq!(found, expected, "k={k}, {memory:?} bytes, {count} shares");
            }
        }
    }
}

/// What does not fit into memory is read again, and sorted in files.
#[test]
fn memory_does_not_change_what_is_found() {
    let values = crowds(6000, 9);
    let folder = tempfile::tempdir().unwrap();
    let mut stores = Vec::new();
    for (name, scheme) in [("one", "1"), ("other", "14")] {
        let scheme = crate::Scheme::named(scheme, 3).unwrap();
        let options = crate::BuildOptions::default().scheme(scheme);
        let mut builder = crate::Builder::with_options(folder.path().join(name), options).unwrap();
        for (&value, id) in values.iter().zip(0_u64..) {
            builder.push(Fingerprint::new(value), id).unwrap();
        }
        stores.push(builder.finish().unwrap());
    }
    let expected = brute(&values, 3);
    for store in &stores {
        for (memory, threads) in [(1 << 14, 1), (1 << 15, 3), (1 << 18, 2), (1 << 30, 1)] {
            let mut options = JoinOptions::new(3);
            (options.memory, options.threads) = (Some(memory), Some(threads));
            options.temp_dir = Some(folder.path().into());
            let mut found = Vec::new();
            let pairs = sorted_pairs(store, &options).unwrap();
            assert_eq!(pairs.len(), expected.len() as u64);
            pairs
                .for_each(|pair| {
                    found.push((pair.first.value(), pair.second.value()));
                    Ok::<(), crate::Error>(())
                })
                .unwrap();
            assert!(found == expected, "{memory} bytes, {threads} threads");
            let across = sorted_pairs_across(&stores[0], store, &options).unwrap();
            let distinct = store.info().fingerprint_count();
            assert_eq!(across.len(), 2 * expected.len() as u64 + distinct);
            let queries: Vec<Fingerprint> =
                values[..500].iter().copied().map(Fingerprint::new).collect();
            for mode in [BatchMode::Probe, BatchMode::Pass] {
                let mut searcher = store.searcher();
                let limits = crate::Limits::default();
                search_many(store, &queries, &options, &limits, mode, |at, answer| {
                    let one = searcher.search(queries[at], 3)?.to_matches()?;
                    assert_eq!(answer.to_matches()?, one, "{mode:?}, {memory} bytes");
                    Ok::<(), crate::Error>(())
                })
                .unwrap();
            }
        }
        let mut options = JoinOptions::new(3);
        (options.memory, options.threads) = (Some(1 << 14), Some(1));
        let refused = clusters(store, &options, ClusterMethod::Star);
        assert!(matches!(refused, Err(crate::Error::InvalidOptions { .. })));
    }
}

#[test]
fn shares_of_a_join_find_each_pair_once() {
    let values = crowds(4000, 7);
    for k in [0, 1, 3, 30] {
        let expected = brute(&values, k);
        for count in [2, 3, 50] {
            let mut found: Vec<(u64, u64)> = (0..count)
                .flat_map(|number| {
                    let share = Share { number, count };
                    joined(&values, &JoinOptions { share, ..JoinOptions::new(k) })
                })
                .collect();
            found.sort_unstable();
            assert_eq!(found, expected, "k={k}, {count} shares");
        }
    }
}

#[test]
fn crowds_are_taken_apart() {
    let mut random = Random(8);
    let mut values: Vec<u64> = (0..20_000).map(|_| random.next() >> 42 << 7 | 0x77 << 50).collect();
    values.sort_unstable();
    values.dedup();
    let mut found = Vec::new();
    let mut take = |pairs: &mut Vec<(u64, u64)>| {
        found.extend(pairs.drain(..).map(|(a, b)| (a.min(b), a.max(b))));
        Ok(())
    };
    Finder::new(2).find(Group::Within(&mut values), &mut take).unwrap();
    found.sort_unstable();
    assert_eq!(found, brute(&values, 2));
}

proptest! {
    #[test]
    fn two_sets_are_joined(seed: u64, few in 0..40_usize, many in 0..3000_usize, k in 0..7_u32) {
        let all = crowds(few + many + 2, seed);
        let (mut new, mut stored) = (all[..few + many / 2].to_vec(), all[few..].to_vec());
        for set in [&mut new, &mut stored] {
            set.sort_unstable();
            set.dedup();
        }
        let mut expected: Vec<(u64, u64)> = Vec::new();
        for &one in &new {
            let near = stored.iter().filter(|&other| (one ^ other).count_ones() <= k);
            expected.extend(near.map(|&other| (one, other)));
        }
        let fingerprints = |set: &[u64]| -> Vec<Fingerprint> {
            set.iter().rev().copied().map(Fingerprint::new).collect()
        };
        let mut found = Vec::new();
        let (left, right) = (fingerprints(&new), fingerprints(&stored));
        near_pairs_across(left.as_slice(), right.as_slice(), &JoinOptions::new(k), |pairs| {
            found.extend(pairs.iter().map(|pair| (pair.first.value(), pair.second.value())));
            Ok(())
        })
        .unwrap();
        found.sort_unstable();
        prop_assert_eq!(found, expected);
    }
}
