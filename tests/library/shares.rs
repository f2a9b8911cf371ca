//! All shares of a join together find each pair once, whether they read ranges or whole tables; so
//! do the groups of a plan.

use std::collections::BTreeMap;
use std::path::Path;

use crate::common::joins::{Row, fingerprints_of, in_order, join_options, pairs, rows};
use crate::common::real::{extract, records};
use crate::common::{
    Random, Record, TempStore, add, clustered, number, oracle, scheme_named, skewed, store_of,
    uniform, values_of,
};
use fpstore::join::{JoinOptions, JoinPlan, PlanReads, Share, sorted_pairs};
use fpstore::{BuildOptions, Error, Fingerprint, Scheme, Store, Writer, WriterOptions};

/// A store of `records` in `count` segments; each segment also contains some records of the next
/// segment.
fn divided(records: &[Record], scheme: &str, k: u32, count: usize) -> TempStore {
    let scheme = Scheme::named(scheme, k).unwrap();
    let len = records.len().div_ceil(count).max(1);
    let part = |at: usize| &records[records.len().min(at * len)..records.len().min((at + 1) * len)];
    let temp = store_of(part(0), scheme.clone());
    let path = temp.path();
    let mut store = temp.store;
    for at in 1..count {
        let options = BuildOptions::default().scheme(scheme.clone());
        store = add(&path, part(at), options);
    }
    TempStore { store, folder: temp.folder }
}

/// The pairs of all shares, sorted; a pair that two shares find is in the list twice.
fn in_shares(store: &Store, k: u32, count: u32) -> Vec<(u64, u64)> {
    let mut found = Vec::new();
    for number in 0..count {
        let options = join_options(k, 1 + number as usize % 2);
        found.extend(pairs(store, &options.share(Share { number, count })));
    }
    found.sort_unstable();
    found
}

/// Clustered values; a tenth of all values have equal first 26 bits, another tenth equal last 26
/// bits.
fn crowds(count: u64, seed: u64) -> Vec<Record> {
    let mut random = Random::new(seed);
    let records = clustered(count, seed + 1).into_iter();
    let crowd = |(value, id): Record| match random.below(10) {
        0 => (value & (u64::MAX >> 26) | 0x1234_5678 << 36, id),
        1 => (value & (u64::MAX << 26) | 0x2a_aaaa, id),
        _ => (value, id),
    };
    records.map(crowd).collect()
}

fn reads(store: &Store, k: u32) -> PlanReads {
    JoinPlan::of(store, k).unwrap().reads()
}

#[test]
fn shares_of_ranges_are_disjoint_and_complete() {
    let sets = [
        ("uniform", uniform(1800, 501)),
        ("clustered", clustered(1800, 502)),
        ("skewed", skewed(1000, 503)),
        ("crowds", crowds(1800, 504)),
    ];
    for (set, records) in &sets {
        for k in 0..=6 {
            let expected = oracle::pairs(values_of(records), k);
            for (segments, blocks) in [(1, k + 2), (9, k + 1), (9, k + 4)] {
                let temp = divided(records, &format!("blocks-{blocks}"), k, segments);
                assert_eq!(reads(&temp.store, k), PlanReads::Ranges);
                let counts: &[u32] = if blocks == k + 2 { &[1, 7, 200] } else { &[7, 40] };
                for &count in counts {
                    let found = in_shares(&temp.store, k, count);
                    assert!(found == expected, "{set}, k={k}, blocks-{blocks}, {count} shares");
                }
            }
        }
    }
}

#[test]
fn shares_of_other_schemes_are_disjoint_and_complete() {
    let records = clustered(1500, 505);
    for (scheme, k, expected_reads) in [
        ("2", 3, PlanReads::Everything),
        ("2", 1, PlanReads::Ranges),
        ("1", 0, PlanReads::Ranges),
        ("1", 2, PlanReads::Everything),
        ("14", 3, PlanReads::Everything),
        ("choose-5-for-3", 3, PlanReads::Ranges),
        ("choose-6-for-3", 3, PlanReads::Ranges),
        ("blocks-26+19+19", 2, PlanReads::Ranges),
        ("blocks-26+19+19", 3, PlanReads::Everything),
        ("blocks-4", 5, PlanReads::Everything),
    ] {
        let expected = oracle::pairs(values_of(&records), k);
        for segments in [1, 9] {
            let temp = divided(&records, scheme, 3, segments);
            assert_eq!(reads(&temp.store, k), expected_reads, "{scheme}, k={k}");
            for count in [1, 7] {
                let found = in_shares(&temp.store, k, count);
                assert!(found == expected, "{scheme}, k={k}, {segments} segments, {count} shares");
            }
        }
    }
}

#[test]
fn few_and_equal_fingerprints_are_joined_in_shares() {
    for count in [0, 1, 2, 30] {
        for equal in [false, true] {
            let record = |id: u64| (if equal { 7 } else { 7 + id }, number(id));
            let records: Vec<Record> = (0..count).map(record).collect();
            for k in [0, 3, 64] {
                let expected = oracle::pairs(values_of(&records), k);
                for segments in [1, 9] {
                    let temp = divided(&records, "blocks-5", 3, segments);
                    for shares in [1, 7, 200] {
                        assert_eq!(in_shares(&temp.store, k, shares), expected, "{count}, k={k}");
                    }
                }
            }
        }
    }
}

/// Pairs of the extreme values and their neighbours: the last share must include `u64::MAX`.
#[test]
fn the_first_and_the_last_values_are_in_a_share() {
    let flips = [0, 1, 1 << 63, 1 << 31, 3, 1 << 63 | 1, 7 << 40];
    let ends = [0, u64::MAX, u64::MAX << 32, u64::MAX >> 32];
    let values = ends.iter().flat_map(|end| flips.iter().map(move |flip| end ^ flip));
    let mut values: Vec<u64> = values.chain(values_of(&uniform(300, 508))).collect();
    values.sort_unstable();
    values.dedup();
    let records: Vec<Record> =
        values.iter().zip(0..).map(|(&value, id)| (value, number(id))).collect();
    for k in [0, 1, 3, 6] {
        let expected = oracle::pairs(values.iter().copied(), k);
        for segments in [1, 9] {
            let temp = divided(&records, &format!("blocks-{}", k + 2), k, segments);
            assert_eq!(reads(&temp.store, k), PlanReads::Ranges);
            for count in [1, 2, 7, 64, 200] {
                let found = in_shares(&temp.store, k, count);
                assert!(found == expected, "k={k}, {segments} segments, {count} shares");
            }
        }
    }
}

/// If a segment lacks the tables of the plan, shares read the whole store, unless it is empty.
#[test]
fn a_segment_without_the_tables_makes_shares_read_everything() {
    let records = clustered(1200, 506);
    let temp = divided(&records[..1000], "blocks-5", 3, 3);
    let path = temp.path();
    let add = |records: &[Record]| {
        let options = BuildOptions::default().scheme(scheme_named("2"));
        add(&path, records, options)
    };
    let plan = JoinPlan::of(&temp.store, 3).unwrap();
    assert_eq!(reads(&add(&[]), 3), PlanReads::Ranges, "an empty segment needs no tables");
    let store = add(&records[1000..]);
    assert_eq!(reads(&store, 3), PlanReads::Everything);
    assert_eq!(in_shares(&store, 3, 7), oracle::pairs(values_of(&records), 3));
    // A plan made for an earlier snapshot does not fit the store.
    let options = JoinOptions::new(3);
    let refused = plan.pairs_of_share(&store, &options, |_| Ok::<(), Error>(())).unwrap_err();
    assert!(refused.to_string().contains("has no table with the mask"), "{refused}");
    let refused = plan.pairs_of_share(&temp.store, &JoinOptions::new(2), |_| Ok::<(), Error>(()));
    assert!(matches!(refused, Err(Error::InvalidOptions { .. })));
}

fn delete(store: &Path, records: &[Record]) -> Store {
    let gone: Vec<Fingerprint> = records.iter().map(|of| Fingerprint::new(of.0)).collect();
    let options = WriterOptions::default().compact(false);
    let mut writer = Writer::with_options(store, options).unwrap();
    writer.delete_fingerprints(&gone).unwrap();
    writer.finish().unwrap()
}

/// Few and very many deletions: joins look them up in different ways.
#[test]
fn shares_of_ranges_leave_deleted_fingerprints_out() {
    let records = clustered(4000, 507);
    for every in [3, 500] {
        for (segments, scheme) in [(1, "blocks-5"), (9, "blocks-4")] {
            let temp = divided(&records, scheme, 3, segments);
            let gone: Vec<Record> = records.iter().step_by(every).cloned().collect();
            let store = delete(&temp.path(), &gone);
            let live: Vec<Record> = records
                .iter()
                .filter(|of| gone.iter().all(|gone| gone.0 != of.0))
                .cloned()
                .collect();
            assert_eq!(reads(&store, 3), PlanReads::Ranges);
            let expected = oracle::pairs(values_of(&live), 3);
            for count in [1, 7, 40] {
                assert!(in_shares(&store, 3, count) == expected, "{every}, {segments} segments");
            }
            assert_documents(&store, &[7]);
        }
    }
}

/// Fails unless all shares together return the document pairs of the whole join.
fn assert_documents(store: &Store, counts: &[u32]) {
    for k in [0, 3] {
        for distinct in [false, true] {
            let mut expected = rows(store, &join_options(k, 1), distinct);
            expected.sort();
            for &count in counts {
                let of_share = |number| {
                    let options = join_options(k, 1);
                    rows(store, &options.share(Share { number, count }), distinct)
                };
                let mut found: Vec<Row> = (0..count).flat_map(of_share).collect();
                found.sort();
                assert!(found == expected, "k={k}, {distinct}, {count} shares");
            }
        }
    }
}

/// A fingerprint with very many documents is joined as one fingerprint; its pairs at distance 0
/// come from one share.
#[test]
fn pairs_of_documents_come_from_one_share_each() {
    let mut records = clustered(1500, 508);
    let crowd = records[77].0;
    records.extend((10_000..10_300).map(|id| (crowd, number(id))));
    records.extend((20_000..20_050).map(|id| (crowd ^ 5, number(id))));
    for (segments, scheme) in [(1, "blocks-5"), (9, "blocks-5"), (9, "2"), (1, "choose-5-for-3")] {
        let temp = divided(&records, scheme, 3, segments);
        assert_documents(&temp.store, &[1, 7, 60]);
    }
}

#[test]
fn the_pairs_of_real_fingerprints_are_found_by_shares() {
    let records = records(&extract().join("tang_store.tsv.zst"));
    for k in [2, 6] {
        let temp = divided(&records, &format!("blocks-{}", k + 2), k, 4);
        let expected = in_order(&sorted_pairs(&temp.store, &JoinOptions::new(k)).unwrap());
        assert!(!expected.is_empty());
        assert!(in_shares(&temp.store, k, 40) == expected, "k={k}");
    }
}

/// All pairs found in groups, after distributing payloads to groups as an engine would.
fn grouped(plan: &JoinPlan, records: &[Record], k: u32) -> Vec<(u64, u64)> {
    let mut groups: BTreeMap<u32, Vec<Vec<u8>>> = BTreeMap::new();
    for part in records.chunks(300) {
        let part: Vec<Fingerprint> = part.iter().map(|of| Fingerprint::new(of.0)).collect();
        // A task that is run twice must not change the result.
        for _ in 0..2 {
            plan.scatter(&part, |group, payload| {
                groups.entry(group).or_default().push(payload.to_vec());
                Ok::<(), Error>(())
            })
            .unwrap();
        }
    }
    let mut found = Vec::new();
    for (group, payloads) in &groups {
        assert!(*group < plan.group_count());
        let payloads = payloads.iter().map(Vec::as_slice);
        plan.pairs_of_group(*group, payloads, &join_options(k, 1), |pairs| {
            found.extend(pairs.iter().map(fingerprints_of));
            Ok::<(), Error>(())
        })
        .unwrap();
    }
    found.sort_unstable();
    found
}

#[test]
fn groups_of_a_plan_find_each_pair_once() {
    for (set, records) in [
        ("clustered", clustered(1500, 509)),
        ("skewed", skewed(800, 510)),
        ("crowds", crowds(1500, 511)),
        ("two", uniform(2, 512)),
        ("none", vec![]),
    ] {
        let sample: Vec<Fingerprint> =
            records.iter().step_by(3).map(|of| Fingerprint::new(of.0)).collect();
        for k in 0..=6 {
            let expected = oracle::pairs(values_of(&records), k);
            for plan in [JoinPlan::new(k).unwrap(), JoinPlan::for_sample(&sample, k).unwrap()] {
                for groups in [1, 50, 1000] {
                    let plan = plan.clone().with_groups(groups).unwrap();
                    let plan: JoinPlan = plan.to_string().parse().unwrap();
                    assert!(grouped(&plan, &records, k) == expected, "{set}, {plan}");
                }
            }
        }
    }
}

#[test]
fn a_payload_of_another_group_or_plan_is_refused() {
    let plan = JoinPlan::new(3).unwrap().with_groups(40).unwrap();
    let mut payloads: Vec<(u32, Vec<u8>)> = Vec::new();
    let values: Vec<Fingerprint> = clustered(50, 513).iter().map(|of| of.0.into()).collect();
    plan.scatter(&values, |group, payload| {
        payloads.push((group, payload.to_vec()));
        Ok::<(), Error>(())
    })
    .unwrap();
    let (group, payload) = &payloads[0];
    let ask = |plan: &JoinPlan, group: u32, payload: &[u8], options: JoinOptions| {
        plan.pairs_of_group(group, [payload], &options, |_| Ok::<(), Error>(()))
            .map_err(|error| error.to_string())
    };
    let options = JoinOptions::new(3);
    assert_eq!(ask(&plan, *group, payload, options.clone()), Ok(()));
    let refused = ask(&plan, group + 1, payload, options.clone()).unwrap_err();
    assert!(refused.contains("packed for another group"), "{refused}");
    let refused = ask(&plan, *group, &payload[1..], options.clone()).unwrap_err();
    assert!(refused.contains("not a multiple of 8"), "{refused}");
    assert!(ask(&plan, 40, payload, options.clone()).unwrap_err().contains("no group 40"));
    assert!(ask(&plan, *group, payload, JoinOptions::new(2)).is_err());
    assert!(ask(&plan, *group, payload, options.share(Share { number: 0, count: 2 })).is_err());
    assert!(plan.clone().with_groups(0).is_err() && plan.with_groups(1 << 21).is_err());
}
