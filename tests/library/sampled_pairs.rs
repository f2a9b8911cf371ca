//! Compares the pairs that are sampled for labelling with a scan.

use std::collections::HashSet;

use crate::common::{Random, make_empty, scheme_named};
use fpstore::join::{JoinOptions, sampled_pairs};
use fpstore::{BuildOptions, Builder, Error, Fingerprint, Store};

fn store_of(path: &std::path::Path, values: &[u64], with_ids: bool) -> Store {
    let options = BuildOptions::default().scheme(scheme_named("2"));
    let mut builder = Builder::with_options(path, options).unwrap();
    for (id, &value) in (0_u64..).zip(values) {
        match with_ids {
            true => builder.push(Fingerprint::new(value), id).unwrap(),
            false => builder.push_bare(Fingerprint::new(value)).unwrap(),
        }
    }
    builder.finish().unwrap()
}

#[test]
fn pairs_to_judge_are_nearest_ones_of_every_distance() {
    let folder = tempfile::tempdir().unwrap();
    let mut random = Random::new(20_261_125);
    // A hundred values, each stored twice, and for each a value at each distance from 1 to 10.
    let mut values = Vec::new();
    for _ in 0..100 {
        let base = random.next();
        values.extend([base, base]);
        values.extend((1..=10).map(|distance| base ^ ((1 << distance) - 1) << random.below(50)));
    }
    let store = store_of(&folder.path().join("a.fps"), &values, true);
    let nearest = |of: u64| {
        let others = values.iter().filter(|&&other| other != of);
        others.map(|&other| (other ^ of).count_ones()).min().unwrap()
    };
    for (k, count) in [(24, 30), (24, 500), (4, 30), (0, 10), (64, 1)] {
        let pairs = sampled_pairs(&store, &JoinOptions::new(k), count).unwrap();
        assert!(pairs.len() <= count, "{k}, {count}");
        let mut seen = HashSet::new();
        let mut by_distance = [0; 65];
        for found in &pairs {
            let distance = found.pair.distance();
            by_distance[distance as usize] += 1;
            assert!(distance <= k);
            let ids = [&found.first_id, &found.second_id].map(|id| id.to_string());
            let of_ids = ids.clone().map(|id| values[id.parse::<usize>().unwrap()]);
            assert_eq!(of_ids, [found.pair.first.value(), found.pair.second.value()]);
            assert!(ids[0] != ids[1] && seen.insert(ids), "no pair comes twice");
            let is_nearest = of_ids.iter().any(|&value| nearest(value) == distance);
            assert!(distance == 0 || is_nearest, "{found:?}");
        }
        let most = by_distance.iter().max().unwrap();
        if k == 24 && count == 30 {
            assert!(pairs.len() == 30 && *most <= 8, "{by_distance:?}");
        }
        assert_eq!(pairs, sampled_pairs(&store, &JoinOptions::new(k), count).unwrap());
    }
}

#[test]
fn few_records_and_records_without_ids_give_few_pairs() {
    let folder = tempfile::tempdir().unwrap();
    let count = |store: &Store| sampled_pairs(store, &JoinOptions::new(24), 30).unwrap().len();
    make_empty(&folder.path().join("none.fps"), scheme_named("2"));
    let cases: [(&[u64], usize); 5] =
        [(&[], 0), (&[7], 0), (&[7, 7], 1), (&[7, 15], 1), (&[0, u64::MAX], 0)];
    for (number, (values, expected)) in cases.into_iter().enumerate() {
        let path = folder.path().join(format!("{number}.fps"));
        assert_eq!(count(&store_of(&path, values, true)), expected, "{values:?}");
    }
    assert_eq!(count(&store_of(&folder.path().join("bare.fps"), &[7, 7, 15], false)), 0);
    let store = Store::open(folder.path().join("none.fps")).unwrap();
    assert_eq!(count(&store), 0);
    let refused = sampled_pairs(&store, &JoinOptions::new(65), 30).unwrap_err();
    assert!(matches!(refused, Error::InvalidDistance { k: 65 }), "{refused}");
}
