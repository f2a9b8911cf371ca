//! Compares the results of joins with a comparison of all pairs of values.

use proptest::prelude::*;

use super::*;
use crate::join::engine::finder::PairFinder;
use crate::join::engine::one_join::Join;
use crate::join::engine::sides::SidesMut;
use crate::join::engine::values::JoinValues;
use crate::join::grouping::disjoint_sets::DisjointSets;
use crate::{Error, Fingerprint};

#[path = "../../tests/common/oracle.rs"]
pub(crate) mod oracle;
#[path = "../../tests/common/random.rs"]
pub(crate) mod random;

use random::Random;

fn fingerprints(values: &[u64]) -> Vec<Fingerprint> {
    values.iter().copied().map(Fingerprint::new).collect()
}

fn values_of(pair: &Pair) -> (u64, u64) {
    (pair.first.value(), pair.second.value())
}

fn found<'a>(input: impl Into<JoinInput<'a>>, options: &JoinOptions) -> Vec<(u64, u64)> {
    let mut found = Vec::new();
    near_pairs(input, options, |pairs| {
        found.extend(pairs.iter().map(values_of));
        Ok::<(), Error>(())
    })
    .unwrap();
    found.sort_unstable();
    found
}

fn joined(values: &[u64], options: &JoinOptions) -> Vec<(u64, u64)> {
    found(fingerprints(values).as_slice(), options)
}

/// `count` values that are skewed in several ways.
fn skewed(count: usize, seed: u64) -> Vec<u64> {
    let mut random = Random::new(seed);
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
        let values = skewed(count, seed)[..count].to_vec();
        for k in 0..=6 {
            let expected = oracle::pairs(&values, k);
            let options = JoinOptions::new(k);
            for options in [
                options.clone().threads(1),
                options.clone().threads(3),
                options.clone().threads(2).memory(1 << 14),
            ] {
                assert_eq!(joined(&values, &options), expected, "{count} values, k={k}");
            }
        }
    }
}

/// A partition that alone exceeds the memory is joined separately, with a blocking of other bits.
#[test]
fn skewed_partitions_that_do_not_fit_are_joined_by_themselves() {
    let mut values = skewed(9000, 11);
    // Most values agree on the leading bits, so on the first blocks of every blocking.
    values.iter_mut().skip(1000).for_each(|value| *value = *value & 0x0f_ffff_ffff | 0x77 << 57);
    values.sort_unstable();
    values.dedup();
    for k in [0, 1, 3, 5] {
        let expected = oracle::pairs(&values, k);
        for (threads, memory) in [(1, 1 << 14), (2, 1 << 15), (3, 1 << 16)] {
            let options = JoinOptions::new(k).threads(threads).memory(memory);
            assert_eq!(joined(&values, &options), expected, "k={k}, {memory} bytes");
            for count in [2, 5] {
                let of_share =
                    |number: u32| joined(&values, &options.clone().share(Share { number, count }));
                let mut found: Vec<_> = (0..count).flat_map(of_share).collect();
                found.sort_unstable();
                assert_eq!(found, expected, "k={k}, {memory} bytes, {count} shares");
            }
        }
    }
}

/// With little memory, values are read again for each pass, and pairs are sorted in files.
#[test]
fn memory_does_not_change_what_is_found() {
    let values = skewed(6000, 9);
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
    stores.push(overlapping_segments(&values, &folder.path().join("many")));
    let expected = oracle::pairs(&values, 3);
    let distinct = stores[0].info().fingerprint_count();
    for store in &stores {
        for (memory, threads) in [(1 << 14, 1), (1 << 15, 3), (1 << 18, 2), (1 << 30, 1)] {
            let options = JoinOptions::new(3).memory(memory).threads(threads);
            let options = options.temp_dir(folder.path().to_path_buf());
            let mut found = Vec::new();
            let pairs = sorted_pairs(store, &options).unwrap();
            assert_eq!(pairs.len(), expected.len() as u64);
            pairs
                .for_each(|pair| {
                    found.push(values_of(&pair));
                    Ok::<(), Error>(())
                })
                .unwrap();
            assert!(found == expected, "{memory} bytes, {threads} threads");
            let across = sorted_pairs_across(&stores[0], store, &options).unwrap();
            assert_eq!(across.len(), 2 * expected.len() as u64 + distinct);
            let queries = fingerprints(&values[..500]);
            for mode in [BatchMode::Probe, BatchMode::Walk, BatchMode::Pass] {
                let mut searcher = store.searcher();
                let limits = crate::Limits::default();
                search_many(store, &queries, &options, &limits, mode, |at, answer| {
                    let one = searcher.search(queries[at], 3)?.to_matches()?;
                    assert_eq!(answer.to_matches()?, one, "{mode:?}, {memory} bytes");
                    Ok::<(), Error>(())
                })
                .unwrap();
            }
        }
        let options = JoinOptions::new(3).memory(1 << 14).threads(1);
        let refused = clusters(store, &options, ClusterMethod::Star);
        assert!(matches!(refused, Err(Error::InvalidOptions { .. })));
    }
}

/// A store of several segments; each also contains half of the values of the segment before it.
fn overlapping_segments(values: &[u64], path: &std::path::Path) -> crate::Store {
    let options = || crate::BuildOptions::default().scheme(crate::Scheme::named("2", 3).unwrap());
    let mut store = crate::Builder::with_options(path, options()).unwrap().finish().unwrap();
    for start in (0..values.len()).step_by(500) {
        let mut builder = crate::Builder::append(path, options()).unwrap();
        for (&value, id) in values.iter().zip(0_u64..).skip(start).take(1000) {
            builder.push(Fingerprint::new(value), id).unwrap();
        }
        store = builder.finish().unwrap();
    }
    store
}

/// Processes that share a join can have different memory limits.
#[test]
fn shares_fit_together_whatever_the_memory_of_each() {
    let values = skewed(9000, 12);
    let folder = tempfile::tempdir().unwrap();
    let store = overlapping_segments(&values, &folder.path().join("many"));
    let expected = oracle::pairs(&values, 3);
    for count in [3, 7] {
        let of_share = |number: u32| {
            let (memory, threads) = [(1 << 14, 1), (1 << 30, 2), (1 << 16, 3)][number as usize % 3];
            let options = JoinOptions::new(3).memory(memory).threads(threads);
            found(&store, &options.share(Share { number, count }))
        };
        let mut found: Vec<_> = (0..count).flat_map(of_share).collect();
        found.sort_unstable();
        assert!(found == expected, "{count} shares");
    }
}

#[test]
fn shares_of_a_join_find_each_pair_once() {
    let values = skewed(4000, 7);
    for k in [0, 1, 3, 30] {
        let expected = oracle::pairs(&values, k);
        for count in [2, 3, 50] {
            let mut found: Vec<(u64, u64)> = (0..count)
                .flat_map(|number| {
                    joined(&values, &JoinOptions::new(k).share(Share { number, count }))
                })
                .collect();
            found.sort_unstable();
            assert_eq!(found, expected, "k={k}, {count} shares");
        }
    }
}

/// Values near three centres, like near-duplicates of three templates, and some unrelated values.
fn templates(count: usize, seed: u64) -> Vec<u64> {
    let mut random = Random::new(seed);
    let centers: Vec<u64> = (0..3).map(|_| random.next()).collect();
    let mut values: Vec<u64> = (0..count)
        .map(|at| match random.next() {
            any if at % 16 == 0 => any,
            any => centers[any as usize % 3] ^ random.next() & random.next() & 0x3fff << (any % 3),
        })
        .collect();
    values.sort_unstable();
    values.dedup();
    values
}

/// The name of the component of each value, and the number of values passed to the callbacks.
fn connected(values: &[u64], options: &JoinOptions) -> (Vec<u32>, usize) {
    let told = std::sync::Mutex::new(Vec::new());
    let connect = |group: &[u64]| {
        told.lock().unwrap().extend(group.iter().map(|&value| (group[0], value)));
        Ok(())
    };
    let side = JoinValues::owned(values.to_vec());
    let join = Join::new(vec![side], options, options.budget().unwrap()).connecting(&connect);
    join.run(&mut |found| {
        told.lock().unwrap().append(found);
        Ok(())
    })
    .unwrap();
    let told = told.into_inner().unwrap();
    let mut sets = DisjointSets::new(values.len() as u32);
    let at = |value: u64| values.binary_search(&value).unwrap() as u32;
    told.iter().for_each(|&(one, other)| sets.union(at(one), at(other)));
    ((0..values.len() as u32).map(|at| sets.find(at)).collect(), told.len())
}

#[test]
fn what_near_pairs_connect_is_in_one_set() {
    for (values, k) in [
        (templates(3000, 31), 3),
        (templates(3000, 32), 7),
        (templates(900, 33), 12),
        (skewed(3000, 34), 4),
        (skewed(3000, 35), 0),
    ] {
        let mut values = values;
        values.sort_unstable();
        values.dedup();
        for (threads, memory) in [(1, 1 << 30), (3, 1 << 15)] {
            let (set_of, _) =
                connected(&values, &JoinOptions::new(k).threads(threads).memory(memory));
            let at = |value: u64| values.binary_search(&value).unwrap();
            for (one, other) in oracle::pairs(&values, k) {
                assert_eq!(set_of[at(one)], set_of[at(other)], "{one:x} {other:x} k={k}");
            }
        }
    }
}

/// Four times as many copies of templates have sixteen times as many near pairs, but the number of
/// pairs and values passed to the callbacks must grow only with the number of copies.
#[test]
fn what_connects_copies_of_templates_grows_with_their_number() {
    let told = |count: usize| {
        let values = templates(count, 36);
        (connected(&values, &JoinOptions::new(7).threads(1)).1 as f64, values.len() as f64)
    };
    let ((few, few_values), (many, many_values)) = (told(8_000), told(32_000));
    assert!(many / few < 2.0 * many_values / few_values, "{few} of {few_values}, {many}");
}

#[test]
fn values_that_agree_on_many_bits_are_blocked_by_the_others() {
    let mut random = Random::new(8);
    let mut values: Vec<u64> = (0..20_000).map(|_| random.next() >> 42 << 7 | 0x77 << 50).collect();
    values.sort_unstable();
    values.dedup();
    let mut found = Vec::new();
    let mut emit = |pairs: &mut Vec<(u64, u64)>| {
        found.extend(pairs.drain(..).map(|(a, b)| (a.min(b), a.max(b))));
        Ok(())
    };
    PairFinder::new(2).find(SidesMut::Within(&mut values), &mut emit).unwrap();
    found.sort_unstable();
    assert_eq!(found, oracle::pairs(&values, 2));
}

proptest! {
    #[test]
    fn two_sets_are_joined(seed: u64, few in 0..40_usize, many in 0..3000_usize, k in 0..7_u32) {
        let all = skewed(few + many + 2, seed);
        let (mut new, mut stored) = (all[..few + many / 2].to_vec(), all[few..].to_vec());
        for set in [&mut new, &mut stored] {
            set.sort_unstable();
            set.dedup();
        }
        let expected = oracle::pairs_across(&new, &stored, k);
        let mut found = Vec::new();
        let [left, right] = [&new, &stored].map(|set| {
            let mut of_set = fingerprints(set);
            of_set.reverse();
            of_set
        });
        near_pairs_across(left.as_slice(), right.as_slice(), &JoinOptions::new(k), |pairs| {
            found.extend(pairs.iter().map(values_of));
            Ok::<(), Error>(())
        })
        .unwrap();
        found.sort_unstable();
        prop_assert_eq!(found, expected);
    }
}
