//! A join gives the same pairs as a comparison of all fingerprints, in a fixed order, and a batch
//! of queries gets the same answers as single queries.

use std::env;
use std::fs::File;
use std::path::{Path, PathBuf};

use crate::common::{Random, Record, clustered, needles, skewed, store_of, uniform};
use fpstore::input::{InputOptions, read_records};
use fpstore::join::{
    BatchMode, JoinOptions, Shard, document_pairs, near_pairs, near_pairs_across, search_many,
    sorted_pairs, sorted_pairs_across,
};
use fpstore::{Error, Fingerprint, Limits, Match, Scheme, Store};

/// Two documents: fingerprints, distance, ids.
type Row = (u64, u64, u32, Option<String>, Option<String>);

/// Every pair of records, as `document_pairs` has them.
fn brute(records: &[Record], k: u32, distinct: bool) -> Vec<Row> {
    let mut sorted: Vec<(u64, usize)> =
        records.iter().enumerate().map(|(at, record)| (record.0, at)).collect();
    sorted.sort_unstable();
    let mut rows = Vec::new();
    for (at, &(first, one)) in sorted.iter().enumerate() {
        for &(second, other) in &sorted[at + 1..] {
            let distance = (first ^ second).count_ones();
            if distance <= k && !(distinct && first == second) {
                let id = |at: usize| records[at].1.as_ref().map(|id| id.to_string());
                rows.push((first, second, distance, one, other, id(one), id(other)));
            }
        }
    }
    rows.sort_by_key(|row| (row.0, row.1, row.3, row.4));
    rows.into_iter().map(|row| (row.0, row.1, row.2, row.5, row.6)).collect()
}

fn rows(store: &Store, options: &JoinOptions, distinct: bool) -> Vec<Row> {
    let pairs = document_pairs(store, options, distinct).unwrap();
    let mut rows: Vec<Row> = Vec::new();
    pairs
        .for_each(|row| {
            let [first, second] =
                [row.first_id, row.second_id].map(|id| id.map(|id| id.to_string()));
            let (one, other) = (row.pair.first.value(), row.pair.second.value());
            rows.push((one, other, row.pair.distance(), first, second));
            Ok::<(), Error>(())
        })
        .unwrap();
    assert_eq!(rows.len() as u64, pairs.len());
    rows
}

fn options(k: u32, threads: usize) -> JoinOptions {
    JoinOptions::new(k).threads(threads)
}

#[test]
fn pairs_of_documents_are_those_of_each_with_each() {
    for (name, records) in [
        ("uniform", uniform(1500, 81)),
        ("clustered", clustered(1500, 82)),
        ("skewed", skewed(900, 83)),
    ] {
        for scheme in ["1", "4"] {
            let temp = store_of(&records, Scheme::named(scheme, 3).unwrap());
            for k in [0, 1, 3, 6] {
                for distinct in [false, true] {
                    let expected = brute(&records, k, distinct);
                    for threads in [1, 2] {
                        let found = rows(&temp.store, &options(k, threads), distinct);
                        assert!(found == expected, "{name}, {scheme}, k={k}, {distinct}");
                    }
                }
            }
        }
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
        let temp = store_of(records, Scheme::named("2", 3).unwrap());
        for k in [0, 3, 64] {
            let mut expected = brute(records, k, false);
            if records.iter().any(|record| record.1.is_none()) {
                // Records without ids are one document for each fingerprint.
                expected.retain(|row| row.2 > 0);
                expected.dedup();
            }
            assert_eq!(rows(&temp.store, &options(k, 2), false), expected, "{records:?}, k={k}");
        }
    }
}

/// A center, and values at exactly `k` and `k + 1` flips from it in all kinds of places.
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
        near_pairs_across(center.as_slice(), fingerprints.as_slice(), &options(k, 1), |pairs| {
            assert!(pairs.iter().all(|pair| pair.distance() <= k));
            near += pairs.iter().filter(|pair| pair.distance() == k).count();
            Ok::<(), Error>(())
        })
        .unwrap();
        let mut at_k: Vec<u64> = values
            .into_iter()
            .filter(|value| (value ^ center[0].value()).count_ones() == k)
            .collect();
        at_k.sort_unstable();
        at_k.dedup();
        assert_eq!(near, at_k.len(), "k={k}");
    }
}

#[test]
fn a_million_copies_are_counted_not_listed() {
    let records: Vec<Record> = (0..100_000).map(|at| (9, crate::common::number(at))).collect();
    let temp = store_of(&records, Scheme::named("1", 3).unwrap());
    let pairs = document_pairs(&temp.store, &options(3, 1), false).unwrap();
    assert_eq!(pairs.len(), 100_000 * 99_999 / 2);
    let limited = options(3, 1).max_pairs(1_000_000);
    let refused = document_pairs(&temp.store, &limited, false);
    assert!(matches!(refused, Err(Error::TooManyPairs { most: 1_000_000 })));
    assert!(document_pairs(&temp.store, &limited, true).unwrap().is_empty());
}

#[test]
fn the_limit_on_pairs_is_exact() {
    let temp = store_of(&clustered(2000, 85), Scheme::named("1", 3).unwrap());
    let count = document_pairs(&temp.store, &options(3, 2), false).unwrap().len();
    let limited = options(3, 2).max_pairs(count);
    assert_eq!(document_pairs(&temp.store, &limited, false).unwrap().len(), count);
    let limited = options(3, 2).max_pairs(count - 1);
    assert!(document_pairs(&temp.store, &limited, false).is_err());
}

#[test]
fn shards_and_segments_of_a_store_find_each_pair_once() {
    let temp = store_of(&clustered(5000, 86), Scheme::named("14", 3).unwrap());
    let collect = |options: &JoinOptions, by_segment: bool| {
        let mut found = Vec::new();
        let each = |pairs: &[fpstore::join::Pair]| {
            found.extend_from_slice(pairs);
            Ok::<(), Error>(())
        };
        let joined = if by_segment {
            near_pairs(fpstore::join::JoinInput::Segment(&temp.store, 0), options, each)
        } else {
            near_pairs(&temp.store, options, each)
        };
        joined.unwrap();
        found
    };
    let mut whole = collect(&options(3, 2), false);
    whole.sort_unstable();
    let mut shards = Vec::new();
    for number in 0..5 {
        let shard = Shard { number, count: 5 };
        shards.extend(collect(&options(3, 1).shard(shard), true));
    }
    shards.sort_unstable();
    assert_eq!(whole, shards);
    let wrong = options(3, 1).shard(Shard { number: 5, count: 5 });
    assert!(matches!(
        near_pairs(&temp.store, &wrong, |_| Ok::<(), Error>(())),
        Err(Error::InvalidOptions { .. })
    ));
    let missing = fpstore::join::JoinInput::Segment(&temp.store, 1);
    assert!(near_pairs(missing, &options(3, 1), |_| Ok::<(), Error>(())).is_err());
    assert!(matches!(
        near_pairs(&temp.store, &options(65, 1), |_| Ok::<(), Error>(())),
        Err(Error::InvalidDistance { k: 65 })
    ));
}

#[test]
fn many_queries_get_the_answers_of_each() {
    for (name, records) in
        [("clustered", clustered(3000, 87)), ("skewed", skewed(2000, 88)), ("empty", vec![])]
    {
        for scheme in ["1", "2", "4"] {
            let temp = store_of(&records, Scheme::named(scheme, 3).unwrap());
            for k in [0, 3, 5, 20] {
                let needles = needles(&records, 300, k, 89);
                let queries: Vec<Fingerprint> =
                    needles.iter().copied().map(Fingerprint::new).collect();
                for limit in [None, Some(2)] {
                    let limits =
                        limit.map_or(Limits::default(), |n| Limits::default().max_matches(n));
                    let mut searcher = temp.store.searcher();
                    let expected: Vec<(bool, Vec<Match>)> = queries
                        .iter()
                        .map(|&query| {
                            let answer = searcher.search_with(query, k, &limits).unwrap();
                            (answer.outcome().cut, answer.to_matches().unwrap())
                        })
                        .collect();
                    for mode in [BatchMode::Auto, BatchMode::Probe, BatchMode::Pass] {
                        let mut found = Vec::new();
                        let options = options(k, 2);
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
    let (left, right) = (
        store_of(&new, Scheme::named("2", 3).unwrap()),
        store_of(&stored, Scheme::named("1", 3).unwrap()),
    );
    let pairs = sorted_pairs_across(&left.store, &right.store, &options(3, 2)).unwrap();
    let mut found = Vec::new();
    pairs
        .for_each(|pair| {
            found.push((pair.first.value(), pair.second.value()));
            Ok::<(), Error>(())
        })
        .unwrap();
    let mut expected = Vec::new();
    for (one, _) in &new {
        expected.extend(
            stored.iter().filter(|(other, _)| (one ^ other).count_ones() <= 3).map(|s| (*one, s.0)),
        );
    }
    expected.sort_unstable();
    expected.dedup();
    assert!(found == expected);
}

#[test]
fn the_near_pairs_of_real_fingerprints_are_those_that_came_with_them() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests").join("data");
    for (name, k_max) in
        [("tlsh_malware_w0", 3), ("pdq_video_frames_a", 3), ("noto_emoji_phash64", 6)]
    {
        assert_pairs(&folder, name, k_max);
    }
    let Some(data) = env::var_os("FPSTORE_DATA") else { return };
    let folder = PathBuf::from(data).join("fingerprints");
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
    let mut values: Vec<Fingerprint> = Vec::new();
    read_records(&folder.join(format!("{name}.hex.zst")), &InputOptions::default(), |record| {
        values.push(record.fingerprint);
        Ok::<(), Error>(())
    })
    .unwrap();
    let list = folder.join(format!("{name}.pairs_le{k_max}.tsv.zst"));
    let list = String::from_utf8(zstd::decode_all(File::open(list).unwrap()).unwrap()).unwrap();
    let mut listed: Vec<(u64, u64)> = list
        .lines()
        .skip(1)
        .map(|line| {
            let mut columns = line.split('\t').map(|hex| u64::from_str_radix(hex, 16).unwrap());
            let (one, other) = (columns.next().unwrap(), columns.next().unwrap());
            (one.min(other), one.max(other))
        })
        .collect();
    listed.sort_unstable();
    assert!(!listed.is_empty(), "{name}");
    for k in 0..=k_max {
        let near: Vec<(u64, u64)> =
            listed.iter().copied().filter(|(a, b)| (a ^ b).count_ones() <= k).collect();
        let mut found = Vec::new();
        sorted_pairs(values.as_slice(), &options(k, 2))
            .unwrap()
            .for_each(|pair| {
                found.push((pair.first.value(), pair.second.value()));
                Ok::<(), Error>(())
            })
            .unwrap();
        assert!(found == near, "{name}, k={k}: {} found, {} listed", found.len(), near.len());
    }
}
