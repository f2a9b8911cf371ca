//! Tables with syndromes answer as others do, from fewer bytes, and hold the set that they should.

use std::collections::BTreeMap;

use crate::common::{
    Random, Record, assert_exact, clustered, needles, number, samples, scheme_named, store_of,
    uniform,
};
use fpstore::doctor::{GapClass, profile};
use fpstore::join::JoinPlan;
use fpstore::{Fingerprint, Limits, Scheme, SchemeChoice, Store, Writer, WriterOptions, verify};

/// A word whose syndrome of 12 bits is 0: two values whose upper halves differ by it have equal
/// keys in a table of lower halves.
const LIKE_NOTHING: u64 = 0x65c;

fn halves(bits: u32) -> Scheme {
    scheme_named("2").with_syndromes(bits).unwrap()
}

/// Bits a fingerprint of the second table.
fn second_table(store: &Store) -> (u32, f64) {
    let table = &store.info().segments[0].tables[1];
    (table.syndrome_bits, table.bits_per_fingerprint.unwrap())
}

#[test]
fn values_with_equal_keys_are_each_found_once_with_each_id_once() {
    // Families that share a lower half, of all sizes up to several passes of a query.
    let mut records: Vec<Record> = Vec::new();
    for (lower, size) in [(1_u64, 2_u64), (2, 70), (3, 600), (4, 5000)] {
        for at in 0..size {
            let upper = 0xa5a5_0000 ^ ((at / 2) << 13) ^ ((at % 2) * LIKE_NOTHING);
            records.push((upper << 32 | lower, number(lower << 32 | at)));
        }
    }
    // So many others that the table is not taken for crowded.
    records.extend(uniform(60_000, 61));
    let temp = store_of(&records, halves(12));
    assert_eq!(second_table(&temp.store).0, 12);
    for k in 1..=7 {
        let mut asked = needles(&records, 60, k, 62);
        // Halfway between two values of one key: each is three bits away.
        asked.extend((1..=4_u64).map(|lower| (0xa5a5_0000 ^ 0x61c) << 32 ^ 0x200 << 32 ^ lower));
        assert_exact(&temp.store, &records, &asked, k, "equal keys");
    }
    assert!(verify(temp.path(), &samples(50)).unwrap().is_sound());
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
        // 32 bits that are not under the mask are left out.
        let saved = before - after;
        assert!((saved - f64::from(32 - wanted)).abs() < 0.5, "{wanted}: {saved}");
    }
    // An upper half of four values: the tails are shorter than a syndrome.
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

/// Segments with and without syndromes side by side, then merged into one of either kind, with
/// deletions before and after.
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

/// Heads that reach deep into the bits outside the mask tell more errors apart than a syndrome may
/// have bits. A store of such a table grows as any other.
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

/// The statistics of a table that names values are those of the same table of whole values: groups
/// exactly, gaps in classes from the bits on that the table knows.
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
    // 32 bits are hashed, so the length of a longer gap is known but for one bit.
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
