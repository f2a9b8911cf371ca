//! A join finds the same pairs as comparing all records, in a fixed order. A batch of queries gets
//! the same answers as single queries.

use std::path::Path;

use crate::common::joins::{Row, in_order, join_options, pairs, rows};
use crate::common::real::{extract, full_collection, records, table};
use crate::common::{
    Random, Record, clustered, needles, oracle, scheme_named, skewed, store_of, uniform, values_of,
};
use fpstore::join::{
    BatchMode, JoinInput, Share, dedup, document_pairs, near_pairs, near_pairs_across, search_many,
    sorted_pairs, sorted_pairs_across,
};
use fpstore::{BuildOptions, Builder, Error, Fingerprint, Limits, Match};

/// Every pair of distinct records within `k` bits, in the form of `document_pairs`.
fn expected_rows(records: &[Record], k: u32, distinct: bool) -> Vec<Row> {
    let records = oracle::once(records.iter().cloned());
    let id = |at: usize| records[at].1.clone();
    oracle::pairs_of_positions(values_of(&records), k)
        .into_iter()
        .filter(|((first, second), _)| !distinct || first != second)
        .map(|((first, second), (one, other))| {
            (first, second, oracle::distance(first, second), id(one), id(other))
        })
        .collect()
}

#[test]
fn pairs_of_documents_are_those_of_each_with_each() {
    for (name, records) in [
        ("uniform", uniform(1500, 81)),
        ("clustered", clustered(1500, 82)),
        ("skewed", skewed(900, 83)),
    ] {
        for scheme in ["1", "4"] {
            let temp = store_of(&records, scheme_named(scheme));
            for k in [0, 1, 3, 6] {
                for distinct in [false, true] {
                    let expected = expected_rows(&records, k, distinct);
                    for threads in [1, 2] {
                        let found = rows(&temp.store, &join_options(k, threads), distinct);
                        assert!(found == expected, "{name}, {scheme}, k={k}, {distinct}");
                        let options = join_options(k, threads);
                        let count = document_pairs(&temp.store, &options, distinct).unwrap().len();
                        assert_eq!(count, expected.len() as u64, "{name}, {scheme}, k={k}");
                    }
                }
            }
        }
    }
}

/// An error returned by the callback ends a join and is returned to the caller.
#[test]
fn the_error_of_a_callback_is_that_of_the_join() {
    let temp = store_of(&clustered(2000, 84), scheme_named("2"));
    let options = join_options(6, 2);
    let mut calls = 0;
    let done = near_pairs(&temp.store, &options, |_| {
        calls += 1;
        Err::<(), Box<dyn std::error::Error + Send + Sync>>("enough".into())
    });
    assert_eq!((done.unwrap_err().to_string().as_str(), calls), ("enough", 1));
}

/// A join of stores with different recipes is refused: their fingerprints cannot be compared.
#[test]
fn stores_of_two_recipes_are_not_joined() {
    let temp = store_of(&clustered(200, 85), scheme_named("2"));
    let folder = tempfile::tempdir().unwrap();
    let recipe = fpstore_text::TextRecipe::default().to_recipe();
    let options = BuildOptions::default().recipe(recipe);
    let mut builder = Builder::with_options(folder.path().join("texts.fps"), options).unwrap();
    builder.push(Fingerprint::new(1), 1).unwrap();
    let texts = builder.finish().unwrap();
    for (new, stored) in [(&temp.store, &texts), (&texts, &temp.store)] {
        let refused = dedup(new, Some(stored), true, &join_options(3, 1)).unwrap_err();
        assert!(matches!(refused, Error::RecipeMismatch { .. }), "{refused}");
    }
}

#[test]
fn edges_are_answered() {
    let id = |at: u64| Some(fpstore::Id::U64(at));
    let sets: [Vec<Record>; 6] = [
        vec![],
        vec![(7, id(1))],
        vec![(7, id(1)), (8, id(2))],
        (0..50).map(|at| (7, id(at))).collect(),
        vec![(0, id(1)), (u64::MAX, id(2))],
        vec![(5, None), (5, None), (4, None)],
    ];
    for records in &sets {
        let temp = store_of(records, scheme_named("2"));
        for k in [0, 3, 64] {
            let expected = expected_rows(records, k, false);
            assert_eq!(
                rows(&temp.store, &join_options(k, 2), false),
                expected,
                "{records:?}, k={k}"
            );
        }
    }
}

/// Pairs of a center and a value with exactly `k` or `k + 1` flipped bits, at many positions.
#[test]
fn exactly_k_is_near_and_one_more_is_not() {
    let mut random = Random::new(84);
    for k in 0..=6 {
        let center = random.next();
        let mut values = vec![center];
        for _ in 0..200 {
            values.push(random.flip(center, k));
            values.push(random.flip(center, k + 1));
        }
        let fingerprints: Vec<Fingerprint> = values.iter().copied().map(Fingerprint::new).collect();
        let center = [Fingerprint::new(center)];
        let mut near = 0;
        near_pairs_across(
            center.as_slice(),
            fingerprints.as_slice(),
            &join_options(k, 1),
            |pairs| {
                assert!(pairs.iter().all(|pair| pair.distance() <= k));
                near += pairs.iter().filter(|pair| pair.distance() == k).count();
                Ok::<(), Error>(())
            },
        )
        .unwrap();
        let mut at_k: Vec<u64> = values
            .into_iter()
            .filter(|&value| oracle::distance(value, center[0].value()) == k)
            .collect();
        at_k.sort_unstable();
        at_k.dedup();
        assert_eq!(near, at_k.len(), "k={k}");
    }
}

#[test]
fn a_million_copies_are_counted_not_listed() {
    let records: Vec<Record> = (0..100_000).map(|at| (9, crate::common::number(at))).collect();
    let temp = store_of(&records, scheme_named("1"));
    let pairs = document_pairs(&temp.store, &join_options(3, 1), false).unwrap();
    assert_eq!(pairs.len(), 100_000 * 99_999 / 2);
    let limited = join_options(3, 1).max_pairs(1_000_000);
    let refused = document_pairs(&temp.store, &limited, false);
    assert!(matches!(refused, Err(Error::TooManyPairs { most: 1_000_000 })));
    assert!(document_pairs(&temp.store, &limited, true).unwrap().is_empty());
}

#[test]
fn the_limit_on_pairs_is_exact() {
    let temp = store_of(&clustered(2000, 85), scheme_named("1"));
    let count = document_pairs(&temp.store, &join_options(3, 2), false).unwrap().len();
    let limited = join_options(3, 2).max_pairs(count);
    assert_eq!(document_pairs(&temp.store, &limited, false).unwrap().len(), count);
    let limited = join_options(3, 2).max_pairs(count - 1);
    assert!(document_pairs(&temp.store, &limited, false).is_err());
}

#[test]
fn shares_and_segments_of_a_store_find_each_pair_once() {
    let temp = store_of(&clustered(5000, 86), scheme_named("14"));
    let whole = pairs(&temp.store, &join_options(3, 2));
    let of_share = |number: u32| {
        let options = join_options(3, 1).share(Share { number, count: 5 });
        pairs(JoinInput::Segment(&temp.store, 0), &options)
    };
    let mut shares: Vec<_> = (0..5).flat_map(of_share).collect();
    shares.sort_unstable();
    assert_eq!(whole, shares);
    let wrong = join_options(3, 1).share(Share { number: 5, count: 5 });
    assert!(matches!(
        near_pairs(&temp.store, &wrong, |_| Ok::<(), Error>(())),
        Err(Error::InvalidOptions { .. })
    ));
    let missing = JoinInput::Segment(&temp.store, 1);
    assert!(near_pairs(missing, &join_options(3, 1), |_| Ok::<(), Error>(())).is_err());
    assert!(matches!(
        near_pairs(&temp.store, &join_options(65, 1), |_| Ok::<(), Error>(())),
        Err(Error::InvalidDistance { k: 65 })
    ));
}

#[test]
fn many_queries_get_the_answers_of_each() {
    for (name, records) in
        [("clustered", clustered(3000, 87)), ("skewed", skewed(2000, 88)), ("empty", vec![])]
    {
        for scheme in ["1", "2", "4"] {
            let temp = store_of(&records, scheme_named(scheme));
            for k in [0, 3, 5, 20] {
                let needles = needles(&records, 300, k, 89);
                let queries: Vec<Fingerprint> =
                    needles.iter().copied().map(Fingerprint::new).collect();
                for limit in [None, Some(2)] {
                    let limits = limit.map_or(Limits::default(), |n| Limits::default().limit(n));
                    let mut searcher = temp.store.searcher();
                    let expected: Vec<(bool, Vec<Match>)> = queries
                        .iter()
                        .map(|&query| {
                            let answer = searcher.search_with(query, k, &limits).unwrap();
                            (answer.outcome().cut, answer.to_matches().unwrap())
                        })
                        .collect();
                    for mode in
                        [BatchMode::Auto, BatchMode::Probe, BatchMode::Walk, BatchMode::Pass]
                    {
                        let mut found = Vec::new();
                        let options = join_options(k, 2);
                        search_many(
                            &temp.store,
                            &queries,
                            &options,
                            &limits,
                            mode,
                            |at, answer| {
                                assert_eq!(at, found.len());
                                let matches = answer.to_matches()?;
                                assert_eq!(answer.len(), matches.len());
                                found.push((answer.outcome().cut, matches));
                                Ok::<(), Error>(())
                            },
                        )
                        .unwrap();
                        assert!(found == expected, "{name}, {scheme}, k={k}, {mode:?}, {limit:?}");
                    }
                }
            }
        }
    }
}

#[test]
fn new_and_stored_pairs_are_sorted() {
    let (new, stored) = (clustered(800, 90), clustered(1200, 90));
    let (left, right) = (store_of(&new, scheme_named("2")), store_of(&stored, scheme_named("1")));
    let pairs = sorted_pairs_across(&left.store, &right.store, &join_options(3, 2)).unwrap();
    let found = in_order(&pairs);
    let [new, stored] = [new, stored].map(|records| values_of(&records).collect::<Vec<u64>>());
    let expected = oracle::pairs_across(&new, &stored, 3);
    assert!(found == expected);
}

#[test]
fn the_near_pairs_of_real_fingerprints_are_those_that_came_with_them() {
    for (name, k_max) in
        [("tlsh_malware_w0", 3), ("pdq_video_frames_a", 3), ("noto_emoji_phash64", 6)]
    {
        assert_pairs(&extract(), name, k_max);
    }
    let Some(folder) = full_collection() else { return };
    for (name, k_max) in [
        ("tlsh_malware_w0", 3),
        ("pdq_video_frames_a", 3),
        ("noto_emoji_phash64", 6),
        ("text_simhash_all", 3),
    ] {
        assert_pairs(&folder, name, k_max);
    }
}

fn assert_pairs(folder: &Path, name: &str, k_max: u32) {
    let stored = records(&folder.join(format!("{name}.hex.zst")));
    let fingerprints: Vec<Fingerprint> = values_of(&stored).map(Fingerprint::new).collect();
    let list = folder.join(format!("{name}.pairs_le{k_max}.tsv.zst"));
    let pair = |[one, other, _]: [String; 3]| {
        let [one, other] = [one, other].map(|hex| u64::from_str_radix(&hex, 16).unwrap());
        (one.min(other), one.max(other))
    };
    let mut listed: Vec<(u64, u64)> =
        table(&list, "hex1\thex2\tdistance").into_iter().map(pair).collect();
    listed.sort_unstable();
    assert!(!listed.is_empty(), "{name}");
    for k in 0..=k_max {
        let near: Vec<(u64, u64)> =
            listed.iter().copied().filter(|(a, b)| oracle::distance(*a, *b) <= k).collect();
        let found = in_order(&sorted_pairs(fingerprints.as_slice(), &join_options(k, 2)).unwrap());
        assert!(found == near, "{name}, k={k}: {} found, {} listed", found.len(), near.len());
    }
}
