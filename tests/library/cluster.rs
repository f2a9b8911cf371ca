//! Clusters, and the kept and dropped documents of each, match their definitions.

use std::collections::BTreeMap;

use crate::common::joins::join_options;
use crate::common::{
    Random, Record, clustered, number, oracle, scheme_named, skewed, store_of, uniform, values_of,
};
use fpstore::join::{ClusterMethod, Fate, KeepRule, clusters, dedup};
use fpstore::{Choice, Error, Id};

/// A cluster: number, size, diameter; then fingerprint, distance and ids of each member.
type Row = (u64, u64, u32, Vec<(u64, u32, Vec<Id>)>);

/// Each fingerprint with its ids, each id once, in the order of the fingerprints.
fn nodes(records: &[Record]) -> Vec<(u64, Vec<Id>)> {
    let mut nodes: BTreeMap<u64, Vec<Id>> = BTreeMap::new();
    for (value, id) in oracle::once(records.iter().cloned()) {
        nodes.entry(value).or_default().extend(id);
    }
    nodes.into_iter().collect()
}

fn expected_rows(records: &[Record], k: u32, method: ClusterMethod) -> Vec<Row> {
    let nodes = nodes(records);
    let distance = |a: usize, b: usize| oracle::distance(nodes[a].0, nodes[b].0);
    let near = |a: usize, b: usize| distance(a, b) <= k;
    let weight = |at: usize| nodes[at].1.len().max(1) as u64;
    let mut rows = Vec::new();
    for reached in oracle::components(nodes.len(), near) {
        let connection =
            |at: usize| reached.iter().filter(|&&b| near(at, b)).map(|&b| weight(b)).sum::<u64>();
        let mut order: Vec<usize> = reached.clone();
        order.sort_by_key(|&at| {
            let by = if method == ClusterMethod::Leader { 0 } else { connection(at) };
            let id = nodes[at].1.iter().min();
            (u64::MAX - by, id.is_none(), id, nodes[at].0)
        });
        let mut left = order.clone();
        while !left.is_empty() {
            let center = left[0];
            let taken: Vec<usize> = match method {
                ClusterMethod::Components => left.clone(),
                _ => left.iter().copied().filter(|&at| near(center, at)).collect(),
            };
            left.retain(|at| !taken.contains(at));
            let mut members: Vec<usize> = taken.into_iter().filter(|&at| at != center).collect();
            members.sort_by_key(|&at| (distance(at, center), nodes[at].0));
            members.insert(0, center);
            let size: u64 = members.iter().map(|&at| weight(at)).sum();
            if size > 1 {
                let pairs = members.iter().flat_map(|a| members.iter().map(move |b| (a, b)));
                let diameter = pairs.map(|(a, b)| distance(*a, *b)).max();
                let members = members
                    .iter()
                    .map(|&at| (nodes[at].0, distance(at, center), nodes[at].1.clone()))
                    .collect();
                rows.push((rows.len() as u64 + 1, size, diameter.unwrap(), members));
            }
        }
    }
    rows
}

const METHODS: [ClusterMethod; 3] =
    [ClusterMethod::Components, ClusterMethod::Star, ClusterMethod::Leader];

/// Values around a few centers, and copies of them: large clusters and long chains.
fn families(count: u64, seed: u64) -> Vec<Record> {
    let mut random = Random::new(seed);
    let centers: Vec<u64> = (0..4).map(|_| random.next()).collect();
    let mut values: Vec<u64> = centers.clone();
    while (values.len() as u64) < count {
        let from = values[random.below(values.len() as u64) as usize];
        let flips = random.below(4) as u32;
        values.push(random.flip(from, flips));
    }
    values.into_iter().map(|value| (value, number(random.below(1000)))).collect()
}

fn sets() -> [(&'static str, Vec<Record>); 7] {
    let mut bare = clustered(400, 101);
    bare.iter_mut().step_by(3).for_each(|record| record.1 = None);
    [
        ("uniform", uniform(300, 102)),
        ("clustered", clustered(700, 103)),
        ("skewed", skewed(500, 104)),
        ("families", families(500, 105)),
        ("bare", bare),
        // So many pairs that a join cannot keep them in lists.
        ("dense", (0..512).map(|low| (0xabcd << 32 | low, number(low % 400))).collect()),
        (
            "texts",
            clustered(300, 106)
                .into_iter()
                .map(|(value, id)| (value, id.map(|id| Id::Text(format!("doc {id}").into()))))
                .collect(),
        ),
    ]
}

#[test]
fn clusters_are_what_their_method_says() {
    for (name, records) in sets() {
        for scheme in ["1", "14"] {
            let temp = store_of(&records, scheme_named(scheme));
            for k in [0, 1, 3, 6] {
                for method in METHODS {
                    let expected = expected_rows(&records, k, method);
                    let found = clusters(&temp.store, &join_options(k, 2), method).unwrap();
                    let mut rows: Vec<Row> = Vec::new();
                    found
                        .for_each(|cluster| {
                            assert!(cluster.diameter_is_exact);
                            let members = cluster.members.iter().map(|member| {
                                (member.fingerprint.value(), member.distance, member.ids.clone())
                            });
                            rows.push((
                                cluster.number,
                                cluster.size,
                                cluster.diameter,
                                members.collect(),
                            ));
                            Ok::<(), Error>(())
                        })
                        .unwrap();
                    assert_eq!(rows, expected, "{name}, {scheme}, k={k}, {method:?}");
                }
            }
        }
    }
}

/// Each document of the store is either kept or dropped, consistently with its cluster.
#[test]
fn rules_keep_one_document_of_each_cluster() {
    for (name, records) in sets() {
        let temp = store_of(&records, scheme_named("2"));
        let found = clusters(&temp.store, &join_options(3, 1), ClusterMethod::Star).unwrap();
        let stars = expected_rows(&records, 3, ClusterMethod::Star);
        for &(rule_name, rule, _) in KeepRule::NAMES {
            assert_eq!(rule_name.parse::<KeepRule>().unwrap(), rule);
            let mut expected: Vec<(Fate, u64, Option<Id>)> = Vec::new();
            let largest = stars.iter().map(|star| star.1).max();
            let largest = stars.iter().find(|star| Some(star.1) == largest).map(|star| star.0);
            for (value, ids) in nodes(&records) {
                let star = stars.iter().find(|star| star.3.iter().any(|m| m.0 == value));
                // The kept document, as its fingerprint and the position of its id.
                let position = |ids: &[Id]| {
                    let least = ids.iter().min();
                    ids.iter().position(|id| Some(id) == least).unwrap_or(0)
                };
                let kept = star.map(|star| match rule {
                    KeepRule::Representative => (star.3[0].0, position(&star.3[0].2)),
                    _ => {
                        let least = star.3.iter().min_by_key(|m| {
                            let id = m.2.iter().min();
                            (id.is_none(), id, m.0)
                        });
                        let least = least.unwrap();
                        (least.0, position(&least.2))
                    }
                });
                for at in 0..ids.len().max(1) {
                    let keeps = match rule {
                        KeepRule::LargestCluster => star.is_some_and(|s| Some(s.0) == largest),
                        _ => kept.is_none_or(|kept| kept == (value, at)),
                    };
                    let fate = if keeps { Fate::Keep } else { Fate::Drop };
                    expected.push((fate, value, ids.get(at).cloned()));
                }
            }
            let mut fates = Vec::new();
            found
                .for_each_document(rule, |fate, fingerprint, id| {
                    fates.push((fate, fingerprint.value(), id.map(|id| id.to_id())));
                    Ok::<(), Error>(())
                })
                .unwrap();
            assert!(fates == expected, "{name}, {rule:?}");
        }
    }
}

#[test]
fn clusters_that_persist_keep_their_numbers() {
    let records = clustered(1500, 107);
    let temp = store_of(&records, scheme_named("1"));
    let mut earlier: BTreeMap<Id, u64> = BTreeMap::new();
    let found = clusters(&temp.store, &join_options(3, 1), ClusterMethod::Components).unwrap();
    let mut count = 0;
    found
        .for_each(|cluster| {
            count += 1;
            let ids = cluster.members.iter().flat_map(|member| member.ids.clone());
            earlier.extend(ids.map(|id| (id, 5000 - cluster.number)));
            Ok::<(), Error>(())
        })
        .unwrap();
    assert!(count > 50);
    // Add a few documents; some of them connect two old clusters.
    let mut more = records.clone();
    let mut random = Random::new(108);
    for id in 10_000..10_200 {
        let near = more[random.below(more.len() as u64) as usize].0;
        more.push((random.flip(near, 2), number(id)));
    }
    let temp = store_of(&more, scheme_named("1"));
    let mut found = clusters(&temp.store, &join_options(3, 1), ClusterMethod::Components).unwrap();
    found.keep_numbers(5000, |_, id| earlier.get(&id?.to_id()).copied()).unwrap();
    let mut seen = std::collections::BTreeSet::new();
    let mut kept = 0;
    found
        .for_each(|cluster| {
            assert!(seen.insert(cluster.number), "{} twice", cluster.number);
            let ids = cluster.members.iter().flat_map(|member| &member.ids);
            let mut had: Vec<u64> = ids.filter_map(|id| earlier.get(id).copied()).collect();
            had.sort_unstable();
            match had.first() {
                None => assert!(cluster.number > 5000),
                // The old clusters are components, and added documents never split a component.
                Some(_) => {
                    kept += 1;
                    assert!(had.contains(&cluster.number));
                }
            }
            Ok::<(), Error>(())
        })
        .unwrap();
    assert!(kept > 50);
}

#[test]
fn crowds_of_copies_and_neighbours_are_one_cluster() {
    let mut random = Random::new(109);
    let mut records: Vec<Record> = (0..200_000).map(|id| (77 << 20, number(id))).collect();
    records.extend((0..6000).map(|id| (random.below(1 << 14), number(id))));
    let temp = store_of(&records, scheme_named("2"));
    for method in METHODS {
        let mut sizes = Vec::new();
        let mut exact = Vec::new();
        clusters(&temp.store, &join_options(2, 2), method)
            .unwrap()
            .for_each(|cluster| {
                sizes.push(cluster.size);
                exact.push(cluster.diameter_is_exact);
                Ok::<(), Error>(())
            })
            .unwrap();
        assert_eq!(sizes.iter().max(), Some(&200_000));
        if method == ClusterMethod::Components {
            assert_eq!((sizes.len(), sizes.iter().sum::<u64>()), (2, 206_000));
            assert!(exact.iter().all(|exact| *exact), "all 14 bits vary and are far apart");
        }
    }
}

/// The definition of the kept documents: visits the new documents one by one, in the order of ids.
fn expected_kept(new: &[Record], stored: &[Record], within: bool, k: u32) -> Vec<(u64, Id)> {
    let mut in_order: Vec<(Id, u64)> =
        new.iter().map(|(value, id)| (id.clone().unwrap(), *value)).collect();
    in_order.sort();
    let held = stored.len();
    let values: Vec<u64> = values_of(stored).chain(in_order.iter().map(|new| new.1)).collect();
    let near = |one: usize, other: usize| {
        (within || one < held) && oracle::distance(values[one], values[other]) <= k
    };
    let dropped = oracle::dropped(0..held, held..values.len(), near);
    let kept = (held..).zip(in_order).filter(|(at, _)| !dropped.contains_key(at));
    let mut kept: Vec<(u64, Id)> = kept.map(|(_, (id, value))| (value, id)).collect();
    kept.sort();
    kept
}

#[test]
fn what_stays_is_what_comes_first() {
    for (few, seed) in [(10, 110), (300, 111), (900, 112)] {
        // The stored records and the new records are near each other; ids are positions.
        let all = clustered(1800, seed);
        let (new, stored) = (all[1800 - few..].to_vec(), all[..1800 - few].to_vec());
        let mut new: Vec<Record> =
            new.into_iter().zip(0..).map(|((value, _), id)| (value, number(id))).collect();
        new.extend(
            families(few as u64 / 3, seed).into_iter().zip(5000..).map(|(r, id)| (r.0, number(id))),
        );
        let (left, right) =
            (store_of(&new, scheme_named("1")), store_of(&stored, scheme_named("2")));
        for k in [0, 3, 6] {
            for (against, within) in [(true, false), (true, true), (false, true)] {
                let held = against.then_some(&right.store);
                let done = dedup(&left.store, held, within, &join_options(k, 2)).unwrap();
                let mut kept = Vec::new();
                let mut count = 0;
                done.for_each_document(|fate, fingerprint, id| {
                    count += 1;
                    if fate == Fate::Keep {
                        kept.push((fingerprint.value(), id.unwrap().to_id()));
                    }
                    Ok::<(), Error>(())
                })
                .unwrap();
                assert_eq!(count, new.len());
                kept.sort();
                let against: &[Record] = if against { &stored } else { &[] };
                let expected = expected_kept(&new, against, within, k);
                assert_eq!(kept, expected, "{few} new, k={k}, within {within}");
                let mut dropped = std::collections::BTreeSet::new();
                done.for_each_dropped(|row| {
                    let (own, other) = (row.pair.first.value(), row.pair.second.value());
                    assert!(row.pair.distance() <= k);
                    assert!(dropped.insert(row.id.unwrap().to_id()));
                    let reason = (other, row.other_id.unwrap().to_id());
                    if row.is_stored {
                        let order = |(value, id): &Record| {
                            (oracle::distance(own, *value), *value, id.clone().unwrap())
                        };
                        let nearest = against.iter().min_by_key(|record| order(record)).unwrap();
                        assert_eq!(reason, (nearest.0, nearest.1.clone().unwrap()));
                    } else {
                        // The reason is the first kept document, in the order of ids, that is near
                        // this document.
                        let near = kept.iter().filter(|kept| oracle::distance(own, kept.0) <= k);
                        assert_eq!(Some(&reason), near.min_by_key(|kept| &kept.1));
                    }
                    Ok::<(), Error>(())
                })
                .unwrap();
                assert_eq!(dropped.len() + kept.len(), new.len());
            }
        }
    }
}
