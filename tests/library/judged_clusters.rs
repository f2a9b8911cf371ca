//! Clusters that obey labelled pairs match their definition, document by document.

use std::collections::BTreeSet;

use crate::common::joins::join_options;
use crate::common::{Random, Record, oracle, scheme_named, store_of};
use fpstore::join::{Clusters, Fate, JudgedPairs, KeepRule, LabelFile, clusters, judged_clusters};
use fpstore::{Error, Id};

/// A fingerprint and an id.
type Document = (u64, String);

/// A labelled pair: two ids, and whether they are duplicates.
type Row = (String, String, bool);

fn judged(rows: &[Row]) -> Option<JudgedPairs> {
    let line = |(one, other, same): &Row| format!("{one}\t{other}\t{}\n", u8::from(*same));
    let text: String = rows.iter().map(line).collect();
    JudgedPairs::new(&LabelFile::parse(&text).unwrap()).ok()
}

/// The clusters of two or more documents, computed by the definition from all pairs.
fn expected(documents: &[Document], rows: &[Row], k: u32) -> BTreeSet<BTreeSet<String>> {
    let mut sorted = documents.to_vec();
    sorted.sort();
    let count = sorted.len();
    let distance = |one: usize, other: usize| oracle::distance(sorted[one].0, sorted[other].0);
    let place = |id: &str| sorted.iter().position(|document| document.1 == id);
    let known = |same: bool| -> Vec<(usize, usize)> {
        let rows = rows.iter().filter(|row| row.2 == same);
        rows.filter_map(|row| Some((place(&row.0)?, place(&row.1)?))).collect()
    };
    let (same, different) = (known(true), known(false));
    let linked = |one: usize, other: usize| {
        distance(one, other) <= k || same.contains(&(one, other)) || same.contains(&(other, one))
    };
    let mut found = BTreeSet::new();
    for component in oracle::components(count, linked) {
        let is_in =
            |(one, other): &&(usize, usize)| component.contains(one) && component.contains(other);
        let mut sets: Vec<BTreeSet<usize>> = vec![component.iter().copied().collect()];
        if different.iter().any(|pair| is_in(&pair)) {
            sets = component.iter().map(|&at| BTreeSet::from([at])).collect();
            let mut pairs: Vec<(u32, usize, usize)> = Vec::new();
            for &one in &component {
                let others = component.iter().filter(|&&other| one < other);
                pairs.extend(others.map(|&other| (distance(one, other), one, other)));
            }
            pairs.retain(|pair| pair.0 <= k);
            pairs.sort_unstable();
            let first = same.iter().filter(is_in).map(|&(one, other)| (0, one, other));
            for (_, one, other) in first.chain(pairs) {
                let set_of = |at: usize| sets.iter().position(|set| set.contains(&at)).unwrap();
                let (a, b) = (set_of(one), set_of(other));
                let both: BTreeSet<usize> = &sets[a] | &sets[b];
                if a != b && !different.iter().any(|(x, y)| both.contains(x) && both.contains(y)) {
                    sets[a] = both;
                    sets.swap_remove(b);
                }
            }
        }
        let ids = |set: &BTreeSet<usize>| set.iter().map(|&at| sorted[at].1.clone()).collect();
        found.extend(sets.iter().filter(|set| set.len() > 1).map(ids));
    }
    found
}

fn found_sets(found: &Clusters) -> BTreeSet<BTreeSet<String>> {
    let mut sets = BTreeSet::new();
    let mut next = 1;
    found
        .for_each(|cluster| {
            assert_eq!(cluster.number, next);
            next += 1;
            let ids = cluster.members.iter().flat_map(|member| &member.ids);
            let ids: BTreeSet<String> = ids.map(ToString::to_string).collect();
            assert_eq!(cluster.size, ids.len() as u64);
            let center = cluster.representative().fingerprint;
            let mut seen = BTreeSet::new();
            for member in &cluster.members {
                assert_eq!(member.distance, member.fingerprint.distance(center));
                assert!(seen.insert(member.fingerprint), "a member of a cluster twice");
            }
            sets.insert(ids);
            Ok::<(), Error>(())
        })
        .unwrap();
    sets
}

/// Compares the clusters with the definition, and the kept documents with the clusters.
fn check(documents: &[Document], rows: &[Row], k: u32, name: &str) {
    let records: Vec<Record> =
        documents.iter().map(|(value, id)| (*value, Some(Id::Text(id.as_str().into())))).collect();
    let temp = store_of(&records, scheme_named("2"));
    let pairs = judged(rows).unwrap();
    let (found, obeyed) =
        judged_clusters(&temp.store, &join_options(k, 2), &pairs, |id| id).unwrap();
    let wanted = expected(documents, rows, k);
    let sets = found_sets(&found);
    assert_eq!(sets, wanted, "{name}, k={k}, {rows:?}");
    let known: BTreeSet<&str> = documents.iter().map(|(_, id)| id.as_str()).collect();
    let mut distinct = BTreeSet::new();
    for (one, other, _) in rows {
        distinct.insert((one.min(other), one.max(other)));
    }
    let all = distinct.len() as u64;
    let is_known =
        |(one, other): &&(&String, &String)| known.contains(&***one) && known.contains(&***other);
    let obeyed_count = distinct.iter().filter(is_known).count() as u64;
    assert_eq!(obeyed.duplicate_count + obeyed.different_count, obeyed_count, "{name}");
    assert_eq!(obeyed.unknown_count, all - obeyed_count, "{name}");
    for rule in [KeepRule::Representative, KeepRule::SmallestId, KeepRule::LargestCluster] {
        let (mut kept, mut count) = (BTreeSet::new(), 0);
        found
            .for_each_document(rule, |fate, _, id| {
                count += 1;
                if fate == Fate::Keep {
                    kept.insert(id.unwrap().to_string());
                }
                Ok::<(), Error>(())
            })
            .unwrap();
        assert_eq!(count, documents.len());
        if rule == KeepRule::LargestCluster {
            let most = sets.iter().map(BTreeSet::len).max();
            assert!(kept.is_empty() == sets.is_empty());
            assert!(most.is_none_or(|most| most == kept.len() && sets.contains(&kept)));
            continue;
        }
        let clustered: usize = sets.iter().map(BTreeSet::len).sum();
        assert_eq!(kept.len(), documents.len() - clustered + sets.len(), "{name}, {rule}");
        for set in &sets {
            let own: Vec<&String> = set.intersection(&kept).collect();
            assert_eq!(own.len(), 1, "{name}, {rule}");
            assert!(rule != KeepRule::SmallestId || own[0] == set.first().unwrap());
        }
    }
}

/// Labelled pairs without contradictions; some ids are not in the store.
fn rows(documents: &[Document], count: usize, random: &mut Random) -> Vec<Row> {
    let mut rows: Vec<Row> = Vec::new();
    for _ in 0..count {
        let mut id = || match random.below(12) {
            0 => format!("unknown {}", random.below(3)),
            _ => documents[random.below(documents.len() as u64) as usize].1.clone(),
        };
        let (one, other) = (id(), id());
        rows.push((one, other, random.below(3) == 0));
        if judged(&rows).is_none() {
            rows.pop();
        }
    }
    rows
}

fn document(value: u64, id: impl ToString) -> Document {
    (value, id.to_string())
}

fn row(one: impl ToString, other: impl ToString, same: bool) -> Row {
    (one.to_string(), other.to_string(), same)
}

#[test]
fn judged_clusters_are_what_the_definition_says() {
    for seed in 0..40 {
        let mut random = Random::new(7000 + seed);
        // The values vary in few bits, which gives chains, ties and copies; their centers are far
        // apart.
        let bits = 4 + random.below(8);
        let centers: Vec<u64> = (0..3).map(|_| random.next()).collect();
        let count = 2 + random.below(90);
        let documents: Vec<Document> = (0..count)
            .map(|at| {
                let low = random.below(1 << bits) * 0x101;
                let center = centers[random.below(3) as usize];
                document(center ^ low, format!("{}-{at}", random.below(count)))
            })
            .collect();
        for (k, pairs) in [(0, 9), (1, 3), (2, 40), (3, 12), (5, 100)] {
            let rows = rows(&documents, pairs, &mut random);
            check(&documents, &rows, k, &format!("seed {seed}"));
        }
    }
}

#[test]
fn few_documents_and_equal_ones_are_judged_as_many_are() {
    check(&[], &[row("a", "b", true), row("a", "c", false)], 3, "none");
    check(&[document(5, "a")], &[row("a", "b", false)], 3, "one");
    for distance in 0..6 {
        for same in [true, false] {
            // The distances include k and k + 1.
            let two = [document(0, "a"), document((1 << distance) - 1, "b")];
            check(&two, &[row("b", "a", same)], 3, "two");
        }
    }
    let equal: Vec<Document> = (0..30).map(|at| document(77, format!("{at:02}"))).collect();
    check(&equal, &[], 2, "equal");
    check(&equal, &[row("00", "29", false)], 2, "equal, two apart");
    let apart: Vec<Row> = (1..10).map(|at| row("05", format!("{:02}", at + 15), false)).collect();
    check(&equal, &apart, 0, "equal, many apart");
    let mut random = Random::new(71);
    for _ in 0..10 {
        check(&equal, &rows(&equal, 60, &mut random), 1, "equal, random");
    }
}

/// Labels contain number ids as digits. The caller extracts the compared part of each stored id.
#[test]
fn ids_are_compared_as_texts_that_the_caller_finds() {
    let numbers: Vec<Record> =
        [(1, 9), (1, 10), (3, 11)].map(|(value, id)| (value, Some(Id::U64(id)))).into();
    let temp = store_of(&numbers, scheme_named("2"));
    let pairs = judged(&[row(9, 10, false)]).unwrap();
    let (found, obeyed) =
        judged_clusters(&temp.store, &join_options(1, 1), &pairs, |id| id).unwrap();
    assert_eq!(obeyed.different_count, 1);
    // Of equally near documents, the document whose id is the smaller text comes first.
    assert_eq!(found_sets(&found), BTreeSet::from([BTreeSet::from(["10".into(), "11".into()])]));
    let longer: Vec<Record> = numbers
        .iter()
        .map(|(value, id)| (*value, id.as_ref().map(|id| Id::Text(format!("x{id}").into()))))
        .collect();
    let temp = store_of(&longer, scheme_named("2"));
    let (found, _) =
        judged_clusters(&temp.store, &join_options(1, 1), &pairs, |id| &id[1..]).unwrap();
    assert_eq!(found_sets(&found), BTreeSet::from([BTreeSet::from(["x10".into(), "x11".into()])]));
}

#[test]
fn an_id_of_several_records_cannot_be_judged() {
    let twice: Vec<Record> =
        [(1, "a"), (5, "b"), (9, "a")].map(|(value, id)| (value, Some(Id::Text(id.into())))).into();
    let temp = store_of(&twice, scheme_named("2"));
    let options = join_options(3, 1);
    let cluster = |rows: &[Row]| {
        judged_clusters(&temp.store, &options, &judged(rows).unwrap(), |id| id).map(|found| found.1)
    };
    assert_eq!(cluster(&[row("b", "c", false)]).unwrap().unknown_count, 1);
    let refused = cluster(&[row("a", "b", false)]).unwrap_err().to_string();
    assert!(refused.contains("several records have the id 'a'"), "{refused}");
}

/// Without labelled pairs, the clusters are the ordinary clusters, with the same numbers, members
/// and order.
#[test]
fn no_judged_pairs_change_nothing() {
    let mut random = Random::new(72);
    let records: Vec<Record> =
        (0..300).map(|at| (random.below(1 << 9), Some(Id::U64(at)))).collect();
    let temp = store_of(&records, scheme_named("2"));
    let (options, none) = (join_options(1, 2), JudgedPairs::default());
    let all = |found: &Clusters| {
        let mut all = Vec::new();
        found
            .for_each(|cluster| {
                all.push(cluster.clone());
                Ok::<(), Error>(())
            })
            .unwrap();
        all
    };
    let (found, _) = judged_clusters(&temp.store, &options, &none, |id| id).unwrap();
    let method = fpstore::join::ClusterMethod::Components;
    assert_eq!(all(&found), all(&clusters(&temp.store, &options, method).unwrap()));
}
