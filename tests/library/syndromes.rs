//! Tables with syndromes give the same answers as tables of whole values, take fewer bytes, and
//! represent the same set of fingerprints.

use std::collections::BTreeMap;

use crate::common::joins::{join_options, pairs};
use crate::common::{
    Random, Record, TempStore, add, assert_exact, clustered, needles, number, oracle, push_all,
    samples, scan, scheme_named, store_of, uniform, values_of,
};
use fpstore::join::{BatchMode, JoinPlan, PlanReads, document_pairs, search_many};
use fpstore::plan::PlanPath;
use fpstore::profile::{GapClass, profile};
use fpstore::{
    BuildOptions, Builder, Error, Fingerprint, Limits, Match, Scheme, SchemeChoice, Store, Writer,
    WriterOptions, verify,
};

/// A word whose syndrome of 12 bits is 0: if two values differ by it in their upper halves, they
/// have equal keys in the table of lower halves.
const LIKE_NOTHING: u64 = 0x65c;
/// The suffixes of layouts, in scheme names, that depend on the data.
const LAYOUTS: [&str; 3] = ["-live", "-dealt", "-sorted"];

fn halves(bits: u32) -> Scheme {
    scheme_named("2").with_syndromes(bits).unwrap()
}

/// The number of syndrome bits of the second table, and its bits per fingerprint.
fn second_table(store: &Store) -> (u32, f64) {
    let table = &store.info().segments[0].tables[1];
    (table.syndrome_bits, table.bits_per_fingerprint.unwrap())
}

#[test]
fn values_with_equal_keys_are_each_found_once_with_each_id_once() {
    // Groups of values with equal lower halves, some larger than one pass of a search.
    let mut records: Vec<Record> = Vec::new();
    for (lower, size) in [(1_u64, 2_u64), (2, 70), (3, 600), (4, 5000)] {
        for at in 0..size {
            let upper = 0xa5a5_0000 ^ ((at / 2) << 13) ^ ((at % 2) * LIKE_NOTHING);
            records.push((upper << 32 | lower, number(lower << 32 | at)));
        }
    }
    // With 60 000 random values, the table does not count as crowded and keeps its syndromes.
    records.extend(uniform(60_000, 61));
    let temp = store_of(&records, halves(12));
    assert_eq!(second_table(&temp.store).0, 12);
    for k in 1..=7 {
        let mut asked = needles(&records, 60, k, 62);
        // Needles that are three bits away from each of two values with the same key.
        asked.extend((1..=4_u64).map(|lower| (0xa5a5_0000 ^ 0x61c) << 32 ^ 0x200 << 32 ^ lower));
        assert_exact(&temp.store, &records, &asked, k, "equal keys");
    }
    assert!(verify(temp.path(), &samples(50)).unwrap().is_sound());
}

/// Values in clusters around a few thousand centers, so that plans probe many tables.
fn crowds(count: u64, seed: u64) -> Vec<Record> {
    let mut random = Random::new(seed);
    let value = |random: &mut Random| match random.below(10) {
        0..6 => random.below(1 << 12),
        6 => random.next(),
        _ => {
            let near = random.below(1 << 12);
            random.flip(near, 2)
        }
    };
    (0..count).map(|id| (value(&mut random), number(id))).collect()
}

fn built(records: &[Record], scheme: impl Into<SchemeChoice>) -> TempStore {
    let folder = tempfile::tempdir().unwrap();
    let options = BuildOptions::default().scheme(scheme);
    let mut builder = Builder::with_options(folder.path().join("store.fps"), options).unwrap();
    push_all(&mut builder, records);
    TempStore { store: builder.finish().unwrap(), folder }
}

/// Fails unless every search and every join returns each match once, and each of its ids once.
fn assert_each_once(temp: &TempStore, records: &[Record], case: &str) {
    let store = &temp.store;
    for k in [1, 2, 3, 4, 8] {
        let asked = needles(records, if k < 4 { 30 } else { 8 }, k, 81);
        assert_exact(store, records, &asked, k, case);
        let expected: Vec<Vec<Match>> =
            asked.iter().map(|&needle| scan(records, needle, k)).collect();
        let mut searcher = store.searcher();
        for (&needle, expected) in asked.iter().zip(&expected) {
            let limits = Limits::default().limit(3);
            let answer = searcher.search_with(needle.into(), k, &limits).unwrap();
            assert_eq!(answer.outcome().cut, expected.len() > 3, "{case}, k={k}");
            let found = answer.to_matches().unwrap();
            assert_eq!(found, expected[..expected.len().min(3)], "{case}, k={k}, limit");
            let nearest = searcher.nearest(needle.into(), 5, k).unwrap();
            let found = nearest.to_matches().unwrap();
            assert_eq!(found, expected[..expected.len().min(5)], "{case}, k={k}, nearest");
        }
        let queries: Vec<Fingerprint> = asked.iter().copied().map(Fingerprint::new).collect();
        for mode in [BatchMode::Probe, BatchMode::Walk, BatchMode::Pass] {
            let (options, limits) = (join_options(k, 2), Limits::default());
            let each = |at: usize, answer: fpstore::Answer<'_>| {
                let counted: u64 = answer.hits().map(|hit| hit.id_count().unwrap()).sum();
                let ids = expected[at].iter().map(|found| found.ids.len() as u64).sum();
                assert_eq!((answer.len(), counted), (expected[at].len(), ids), "{case}, k={k}");
                assert_eq!(answer.to_matches()?, expected[at], "{case}, k={k}, {mode:?}");
                Ok::<(), Error>(())
            };
            search_many(store, &queries, &options, &limits, mode, each).unwrap();
        }
    }
    let joined = if records.len() > 2000 { &[][..] } else { &[1, 2] };
    for &k in joined {
        let expected = oracle::pairs(values_of(records), k);
        assert!(pairs(store, &join_options(k, 2)) == expected, "{case}, k={k}, pairs");
        let of_documents = document_pairs(store, &join_options(k, 1), false).unwrap().len();
        let expected = oracle::pairs_of_positions(values_of(records), k).len() as u64;
        assert_eq!(of_documents, expected, "{case}, k={k}, pairs of documents");
    }
    let report = verify(temp.path(), &samples(100)).unwrap();
    assert!(report.is_sound(), "{case}: {:?}", report.faults);
}

/// Whether a search probes the last table, which has syndromes, and also a table between it and the
/// first table.
fn probes_between(store: &Store, k: u32) -> bool {
    let tables = &store.info().segments[0].tables;
    let PlanPath::Probe { tables: probed } = &store.plans(k).unwrap()[0].path else { return false };
    let last = tables.last().unwrap();
    last.syndrome_bits > 0
        && tables[0].mask == !last.mask
        && probed.len() > 2
        && probed.last().unwrap().table == last.table
}

/// The last table stores syndromes of the bits outside its mask, which are the mask of the first
/// table. Tables between these two can find the same match.
#[test]
fn a_match_comes_once_where_other_tables_lie_between_two_halves() {
    let (many, few) = (crowds(6000, 82), crowds(1500, 82));
    let (upper, middle) = (u64::MAX << 32, 0xffff_ffff << 16);
    let mine = |masks: &[u64], bits: u32| {
        let scheme = Scheme::from_masks(masks.to_vec(), 3).unwrap();
        SchemeChoice::from(scheme.with_syndromes(bits).unwrap())
    };
    let named = |name: &str| SchemeChoice::named(name, 6).unwrap();
    for (case, scheme, records) in [
        ("choose-4-for-2-syndrome6", named("choose-4-for-2-syndrome6"), &many),
        ("choose-4-for-2-syndrome12", named("choose-4-for-2-syndrome12"), &many),
        ("choose-4-for-2-syndrome12", named("choose-4-for-2-syndrome12"), &few),
        ("choose-8-for-4-syndrome12", named("choose-8-for-4-syndrome12"), &few),
        ("masks of one's own", mine(&[upper, middle, !middle, !upper], 12), &few),
        ("three masks", mine(&[middle, upper, !middle], 8), &few),
    ] {
        let temp = built(records, scheme);
        let is_between = (1..=7).any(|k| probes_between(&temp.store, k));
        assert!(is_between || records.len() < 6000, "{case}: no table between is probed");
        assert_each_once(&temp, records, case);
    }
}

/// With layouts that depend on the data, a table and its complement need not be the two halves of
/// the bits.
#[test]
fn a_match_comes_once_whatever_layout_tables_with_syndromes_have() {
    let mut random = Random::new(83);
    let crowded = crowds(1000, 84);
    let wide: Vec<Record> = (0..1000).map(|id| (random.next(), number(id))).collect();
    for (records, kind) in [(&crowded, "crowded"), (&wide, "wide")] {
        for masks in ["halves", "choose-4-for-2", "choose-8-for-4"] {
            let layouts = if masks.starts_with("choose-8") { &["-dealt"][..] } else { &LAYOUTS };
            for layout in layouts {
                let name = format!("{masks}{layout}-syndrome12");
                let temp = built(records, SchemeChoice::named(&name, 6).unwrap());
                assert_each_once(&temp, records, &format!("{name}, {kind}"));
            }
        }
    }
}

#[test]
fn a_second_table_with_syndromes_takes_less_and_a_crowded_one_stays_whole() {
    let records = uniform(100_000, 63);
    let whole = store_of(&records, scheme_named("2"));
    let (bits, before) = second_table(&whole.store);
    assert_eq!(bits, 0);
    for wanted in [11, 12, 16] {
        let smaller = store_of(&records, halves(wanted));
        let (bits, after) = second_table(&smaller.store);
        assert_eq!(bits, wanted);
        // The 32 bits outside of the mask are replaced by the syndrome.
        let saved = before - after;
        assert!((saved - f64::from(32 - wanted)).abs() < 0.5, "{wanted}: {saved}");
    }
    // The upper half has only four values, so the tails are shorter than a syndrome.
    let crowded: Vec<Record> =
        (0..100_000_u64).map(|at| ((at % 4) << 32 | at.wrapping_mul(0x9e37_79b9), None)).collect();
    let temp = store_of(&crowded, halves(12));
    let info = temp.store.info();
    assert!(info.segments[0].tables[0].syndrome_bits == 0);
    assert_exact(&temp.store, &crowded, &needles(&crowded, 50, 3, 64), 3, "crowded");
}

#[test]
fn limits_nearest_and_batches_answer_as_with_whole_values() {
    let records = clustered(20_000, 65);
    let (whole, smaller) = (store_of(&records, scheme_named("2")), store_of(&records, halves(11)));
    let asked = needles(&records, 300, 3, 66);
    let (mut one, mut other) = (whole.store.searcher(), smaller.store.searcher());
    for &needle in &asked {
        let needle = Fingerprint::new(needle);
        for most in [1, 2, 5] {
            let limits = Limits::default().limit(most);
            let cut = other.search_with(needle, 3, &limits).unwrap().len();
            assert_eq!(cut, one.search(needle, 3).unwrap().len().min(most));
        }
        let nearest = |searcher: &mut fpstore::Searcher| {
            let answer = searcher.nearest(needle, 3, 8).unwrap();
            answer.hits().map(|hit| (hit.fingerprint(), hit.distance())).collect::<Vec<_>>()
        };
        assert_eq!(nearest(&mut other), nearest(&mut one));
    }
}

/// A store of segments with and without syndromes, later merged into either kind, with deletions
/// before and after the merge.
#[test]
fn stores_grow_shrink_and_merge_with_and_without_syndromes() {
    let mut random = Random::new(67);
    let temp = store_of(&[], halves(12));
    let mut model: BTreeMap<u64, Vec<u64>> = BTreeMap::new();
    let mut next_id = 0;
    for round in 0..12 {
        let scheme = if round % 3 == 2 { scheme_named("2") } else { halves(11 + round % 2) };
        let options = WriterOptions::default().scheme(scheme).compact(false).threads(1);
        let mut writer = Writer::with_options(temp.path(), options).unwrap();
        for _ in 0..150 {
            let value = match model.len() as u64 {
                len if len > 0 && random.below(2) == 0 => {
                    let near = *model.keys().nth(random.below(len) as usize).unwrap();
                    let flips = random.below(4) as u32;
                    random.flip(near, flips)
                }
                _ => random.next(),
            };
            writer.push(Fingerprint::new(value), next_id).unwrap();
            model.entry(value).or_default().push(next_id);
            next_id += 1;
        }
        writer.commit().unwrap();
        drop(writer);
        let gone: Vec<u64> = (0..20).map(|_| random.below(next_id)).collect();
        let mut writer = Writer::open(temp.path()).unwrap();
        writer.delete_ids(gone.iter().map(|&id| fpstore::IdRef::U64(id))).unwrap();
        drop(writer);
        model.retain(|_, ids| {
            ids.retain(|id| !gone.contains(id));
            !ids.is_empty()
        });
        if round % 4 == 3 {
            Writer::open(temp.path()).unwrap().compact(&fpstore::writer::Compaction::One).unwrap();
        }
        let records: Vec<Record> =
            model.iter().flat_map(|(&v, ids)| ids.iter().map(move |&id| (v, number(id)))).collect();
        let store = Store::open(temp.path()).unwrap();
        assert_exact(&store, &records, &needles(&records, 40, 3, 68 + round as u64), 3, "grown");
        let report = verify(temp.path(), &samples(20)).unwrap();
        assert!(report.is_sound(), "round {round}: {:?}", report.faults);
    }
}

#[test]
fn a_join_in_shares_reads_ranges_of_whole_tables_alone() {
    let records = clustered(4000, 69);
    let whole = store_of(&records, scheme_named("2"));
    let smaller = store_of(&records, halves(12));
    let reads = |store: &Store| JoinPlan::of(store, 1).unwrap().reads();
    assert_ne!(reads(&whole.store), reads(&smaller.store));
}

/// A table has the mask that the plan needs, but stores syndromes, while the plan reads values.
#[test]
fn a_plan_is_refused_once_a_segment_names_what_the_plan_reads() {
    let records = clustered(2000, 75);
    let temp = store_of(&records[..1000], scheme_named("2"));
    let plan = JoinPlan::of(&temp.store, 1).unwrap();
    assert_eq!(plan.reads(), PlanReads::Ranges);
    let store = add(&temp.path(), &records[1000..], BuildOptions::default().scheme(halves(12)));
    assert_eq!(store.info().segments[1].tables[1].syndrome_bits, 12);
    for count in [1, 4] {
        for number in 0..count {
            let options = join_options(1, 1).share(fpstore::join::Share { number, count });
            let refused = plan.pairs_of_share(&store, &options, |_| Ok::<(), Error>(()));
            let refused = refused.unwrap_err().to_string();
            assert!(refused.contains("has no table with the mask 00000000ffffffff"), "{refused}");
            assert!(refused.contains("make a new plan of the store"), "{refused}");
        }
    }
    let plan = JoinPlan::of(&store, 1).unwrap();
    assert_eq!(plan.reads(), PlanReads::Everything);
    let mut found = Vec::new();
    for number in 0..4 {
        let options = join_options(1, 1).share(fpstore::join::Share { number, count: 4 });
        plan.pairs_of_share(&store, &options, |some| {
            found.extend(some.iter().map(|pair| (pair.first.value(), pair.second.value())));
            Ok::<(), Error>(())
        })
        .unwrap();
    }
    found.sort_unstable();
    assert_eq!(found, oracle::pairs(values_of(&records), 1));
}

/// If few bits of the data vary, no mask is long enough for syndromes, and some blocks of a layout
/// have no bits.
#[test]
fn a_scheme_that_is_accepted_by_its_name_is_built_of_any_data() {
    let few: Vec<Record> = (0..2000).map(|value| (value % 40, number(value))).collect();
    let some = uniform(300, 76).into_iter().map(|(value, id)| (value & 0xff_ffff, id)).collect();
    for records in [few, some, uniform(3, 77), Vec::new()] {
        for masks in ["halves", "choose-4-for-2", "blocks-3", "blocks-40", "nested-16", "16", "11"]
        {
            for syndromes in ["", "-syndrome", "-syndrome12"] {
                for layout in LAYOUTS {
                    let name = format!("{masks}{layout}{syndromes}");
                    let Ok(scheme) = SchemeChoice::named(&name, 3) else { panic!("{name}") };
                    let temp = built(&records, scheme);
                    assert_exact(&temp.store, &records, &[0, 7, 1 << 40], 2, &name);
                }
            }
        }
    }
    // These schemes are invalid for any data, so their names are rejected.
    for name in ["blocks-4-syndrome12", "archive-live-syndrome12", "blocks-40-syndrome"] {
        assert!(SchemeChoice::named(name, 3).is_err(), "{name}");
    }
}

#[test]
fn names_of_schemes_reach_syndromes_and_bad_ones_are_refused() {
    let built = |name: &str| {
        let folder = tempfile::tempdir().unwrap();
        let scheme = SchemeChoice::named(name, 3).unwrap();
        let options = fpstore::BuildOptions::default().scheme(scheme);
        let path = folder.path().join("store.fps");
        let mut builder = fpstore::Builder::with_options(path, options).unwrap();
        for (value, _) in uniform(3000, 70) {
            builder.push_bare(Fingerprint::new(value)).unwrap();
        }
        second_table(&builder.finish().unwrap()).0
    };
    assert_eq!(built("halves"), 0);
    assert_eq!(built("halves-syndrome14"), 14);
    assert_eq!(built("halves-syndrome"), 12);
    for (name, named) in [
        ("halves-syndrome5", "6 to 21"),
        ("blocks-4-syndrome12", "at least 32 bits"),
        ("archive-syndrome12", "at least 32 bits"),
    ] {
        let error = SchemeChoice::named(name, 3).unwrap_err().to_string();
        assert!(error.contains(named), "{name}: {error}");
    }
    assert!(scheme_named("2").with_syndromes(22).is_err());
    assert_eq!(halves(12).with_syndromes(0).unwrap(), scheme_named("2"));
}

/// A store can grow even if the heads of a table extend far into the bits outside the mask, so that
/// heads and syndromes tell apart more errors than the longest syndrome alone.
#[test]
fn a_crowded_table_with_syndromes_has_a_scheme_by_which_it_grows() {
    let mut random = Random::new(73);
    let records: Vec<Record> =
        (0..100_000).map(|_| (random.next() << 32 | random.below(1024), None)).collect();
    let temp = store_of(&records, halves(12));
    let segment = temp.store.info().segments[0].clone();
    assert_eq!(segment.tables[1].syndrome_bits, 11);
    assert_eq!(segment.scheme().unwrap().masks(), halves(12).masks());
    let mut writer = Writer::open(temp.path()).unwrap();
    writer.push_bare(Fingerprint::new(5)).unwrap();
    writer.commit().unwrap();
    drop(writer);
    assert_exact(
        &Store::open(temp.path()).unwrap(),
        &[records, vec![(5, None)]].concat(),
        &needles(&[(5, None)], 20, 3, 74),
        3,
        "grown",
    );
}

/// Statistics of a table with syndromes: groups are exact as in a table of whole values; lengths of
/// gaps begin at the bits that the table stores.
#[test]
fn statistics_of_a_table_with_syndromes_say_what_it_knows_and_no_more() {
    let records = uniform(20_000, 65);
    let [whole, named] =
        [0, 12].map(|bits| profile(&store_of(&records, halves(bits)).store).unwrap());
    assert_eq!(whole.scheme().unwrap(), halves(0));
    assert_eq!(named.scheme().unwrap(), halves(12));
    let [whole, named] = [&whole.tables[1], &named.tables[1]];
    assert_eq!(named.groups, whole.groups);
    assert_eq!(named.largest_groups, whole.largest_groups);
    assert_eq!(named.candidates_per_probe, whole.candidates_per_probe);
    // 32 bits are hashed, so the bit lengths of longer gaps are known to within one bit.
    let at_most = |gaps: &[GapClass], bits| -> u64 {
        gaps.iter().filter(|gap| gap.bits <= bits).map(|gap| gap.count).sum()
    };
    assert!(named.gaps.first().unwrap().bits >= 32);
    for bits in 33..64 {
        let counted = at_most(&named.gaps, bits);
        assert!(at_most(&whole.gaps, bits - 1) <= counted, "{bits}");
        assert!(counted <= at_most(&whole.gaps, bits + 1), "{bits}");
    }
    let uniform: f64 = named.gaps.iter().map(|gap| gap.uniform).sum();
    assert!((uniform - 19_999.0).abs() < 2.0, "{uniform}");
}
