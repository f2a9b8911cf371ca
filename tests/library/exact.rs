//! For every k, a search finds each value within k bits once and no other value.

use crate::common::{
    Random, Record, add, assert_exact, clustered, needles, number, records_of, scan, scheme_named,
    schemes, skewed, store_of, uniform,
};
use fpstore::{BuildOptions, Fingerprint, Id, Scheme};

#[test]
fn every_flip_of_up_to_three_bits_finds_the_original_in_every_scheme() {
    let original = 0x0123_4567_89ab_cdef_u64;
    let others = uniform(300, 41);
    let mut records = others.clone();
    records.push((original, number(999)));
    for (name, scheme) in schemes(3) {
        let temp = store_of(&records, scheme);
        let mut searcher = temp.store.searcher();
        let mut masks = 0;
        for (mask, weight) in masks_of_weight_up_to_three() {
            let answer = searcher.search(Fingerprint::new(original ^ mask), 3).unwrap();
            let hits: Vec<_> =
                answer.hits().map(|hit| (hit.fingerprint(), hit.distance())).collect();
            assert_eq!(hits, [(Fingerprint::new(original), weight)], "{name}, mask {mask:016x}");
            masks += 1;
        }
        assert_eq!(masks, 43_745);
    }
}

fn masks_of_weight_up_to_three() -> Vec<(u64, u32)> {
    let bits: Vec<u64> = (0..64).map(|bit| 1 << bit).collect();
    let mut masks = vec![0];
    for a in 0..64 {
        masks.push(bits[a]);
        for b in a + 1..64 {
            masks.push(bits[a] | bits[b]);
            masks.extend(bits[b + 1..].iter().map(|c| bits[a] | bits[b] | c));
        }
    }
    masks.into_iter().map(|mask| (mask, mask.count_ones())).collect()
}

#[test]
fn small_sets_of_every_kind_are_answered_as_by_a_scan() {
    let sets: Vec<(&str, Vec<Record>)> = vec![
        ("none", vec![]),
        ("one zero", vec![(0, number(1))]),
        ("one of ones", vec![(u64::MAX, None)]),
        ("two", vec![(0, number(5)), (u64::MAX, number(6))]),
        ("two neighbours", vec![(6, number(5)), (7, number(5))]),
        ("all equal", (0..1000).map(|id| (0x5555, number(id))).collect()),
        ("uniform", uniform(1000, 1)),
        ("clustered", clustered(1000, 2)),
        ("skewed", skewed(1000, 3)),
    ];
    for (name, scheme) in schemes(3) {
        for (set, records) in &sets {
            let temp = store_of(records, scheme.clone());
            for k in 0..=8 {
                let needles = needles(records, 40, k, 7 + u64::from(k));
                assert_exact(&temp.store, records, &needles, k, &format!("{name}, {set}"));
            }
        }
    }
}

#[test]
fn a_hundred_thousand_are_answered_as_by_a_scan() {
    for (set, records) in [
        ("uniform", uniform(100_000, 11)),
        ("clustered", clustered(100_000, 12)),
        ("skewed", skewed(100_000, 13)),
    ] {
        for (name, scheme) in schemes(3) {
            let temp = store_of(&records, scheme);
            for k in 0..=8 {
                let needles = needles(&records, 12, k, 17 + u64::from(k));
                assert_exact(&temp.store, &records, &needles, k, &format!("{name}, {set}"));
            }
        }
    }
}

#[test]
fn any_distance_up_to_64_is_answered() {
    let records = clustered(3000, 21);
    for (name, scheme) in schemes(3) {
        let temp = store_of(&records, scheme);
        for k in 9..=64 {
            let needles = needles(&records, 7, k, u64::from(k));
            assert_exact(&temp.store, &records, &needles, k, name);
        }
        let beyond = temp.store.query(Fingerprint::new(0), 65);
        assert!(matches!(beyond, Err(fpstore::Error::InvalidDistance { k: 65 })));
    }
}

#[test]
fn general_families_and_masks_of_ones_own_are_exact() {
    let records = clustered(5000, 31);
    let mut random = Random::new(32);
    let mut cases: Vec<(String, Scheme)> = Vec::new();
    for (name, k) in
        [("blocks-5", 4), ("blocks-64", 63), ("choose-4", 2), ("choose-9", 7), ("hyperplanes", 4)]
    {
        cases.push((name.into(), Scheme::named(name, k).unwrap()));
    }
    for _ in 0..10 {
        let masks: Vec<u64> = (0..1 + random.below(4)).map(|_| random.next() | 1).collect();
        cases.push((format!("{masks:x?}"), Scheme::from_masks(masks, 3).unwrap()));
    }
    cases.push(("one bit".into(), Scheme::from_masks(vec![1, 1 << 63], 3).unwrap()));
    // Other tables are between the first table and the tables with syndromes.
    for bits in [6, 12] {
        let masks = vec![u64::MAX << 32, 0xffff_ffff << 16, !0 << 48 | 0xffff, u64::MAX >> 32];
        for scheme in [
            Scheme::from_masks(masks, 3).unwrap(),
            scheme_named("choose-4-for-2"),
            scheme_named("choose-8-for-4"),
        ] {
            cases.push((format!("syndromes, {bits} bits"), scheme.with_syndromes(bits).unwrap()));
        }
    }
    let crowded = skewed(6000, 33);
    for (name, scheme) in cases {
        for records in [&records, &crowded] {
            let temp = store_of(records, scheme.clone());
            for k in 0..=6 {
                let needles = needles(records, 15, k, u64::from(k));
                assert_exact(&temp.store, records, &needles, k, &name);
            }
        }
    }
}

#[test]
fn repeats_in_long_lists_of_ids_are_skipped() {
    let mut random = Random::new(35);
    for (count, distinct) in [(6, 3), (7, 9), (8, 9), (9, 40), (40, 12), (3000, 400), (3000, 9000)]
    {
        let ascending = (0..count / 2).map(|at| 3 * at);
        let ids: Vec<u64> = ascending.chain((0..count).map(|_| random.below(distinct))).collect();
        for is_text in [false, true] {
            let id = |&id: &u64| {
                if is_text { Id::Text(format!("page {id}").into()) } else { Id::U64(id) }
            };
            let records: Vec<Record> = ids.iter().map(|at| (7, Some(id(at)))).collect();
            let (first, second) = records.split_at(records.len() / 3);
            let temp = store_of(first, scheme_named("2"));
            let store = add(&temp.path(), second, BuildOptions::default());
            assert_exact(&store, &records, &[7], 0, &format!("{count} ids, texts: {is_text}"));
            assert_eq!(records_of(&store)[&7].len(), records.len());
        }
    }
}

#[test]
fn ids_come_in_input_order_each_once() {
    let text = |id: &str| Some(Id::Text(id.into()));
    let records: Vec<Record> = vec![
        (7, text("b")),
        (5, text("x")),
        (7, text("a")),
        (9, None),
        (7, text("b")),
        (7, None),
        (5, text("\u{4e2d}\u{6587} id, with: anything\t")),
    ];
    let temp = store_of(&records, scheme_named("14"));
    for needle in [5, 7, 9, 4] {
        assert_eq!(
            temp.store.query(Fingerprint::new(needle), 3).unwrap(),
            scan(&records, needle, 3)
        );
    }
}
