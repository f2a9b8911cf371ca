//! Several stores searched together answer like a scan of all their records, and return the store
//! of each id.

use std::collections::{BTreeMap, BTreeSet};

use crate::common::joins::{fingerprints_of, join_options};
use crate::common::{
    Random, Record, TempStore, add, clustered, needles, number, oracle, scheme_named, schemes,
    skewed, store_of, uniform, values_of,
};
use fpstore::join::{
    BatchMode, ClusterMethod, Share, clusters, dedup, document_pairs, near_pairs,
    near_pairs_across, search_many,
};
use fpstore::writer::{BackupOptions, backup};
use fpstore::{
    BuildOptions, Builder, Error, Fingerprint, Id, IdRef, Limits, OpenOptions, Recipe, Scheme,
    Store, StoreIndex, Stores, Width, Writer, WriterOptions,
};

/// A match as plain values: distance, fingerprint, store, ids.
type Found = (u32, u64, usize, Vec<Id>);

/// The expected result, from a scan of the records of these stores.
fn scan(parts: &[Vec<Record>], needle: u64, k: u32) -> Vec<Found> {
    let mut found: BTreeMap<(u32, u64, usize), Vec<Id>> = BTreeMap::new();
    for (store, records) in parts.iter().enumerate() {
        for (distance, value, at) in oracle::scan(values_of(records), needle, k) {
            found.entry((distance, value, store)).or_default().extend(records[at].1.clone());
        }
    }
    let plain = |((distance, value, store), ids)| (distance, value, store, oracle::once(ids));
    found.into_iter().map(plain).collect()
}

fn plain(found: Vec<(StoreIndex, fpstore::Match)>) -> Vec<Found> {
    let plain = |(store, found): (StoreIndex, fpstore::Match)| {
        (found.distance, found.fingerprint.value(), store.0, found.ids)
    };
    found.into_iter().map(plain).collect()
}

/// The answer of a search or of a batch as plain values.
fn of_answer(answer: &fpstore::Answer<'_>) -> Vec<Found> {
    let parts = answer.hits().flat_map(|hit| hit.stores());
    plain(parts.map(|(store, hit)| (store, hit.to_match().unwrap())).collect())
}

fn handles(temps: &[TempStore]) -> Vec<Store> {
    temps.iter().map(|temp| temp.store.clone()).collect()
}

/// Builds a store of each part; the stores have different schemes and tuned distances.
fn stores_of(parts: &[Vec<Record>]) -> (Vec<TempStore>, Stores) {
    let schemes = [
        scheme_named("2"),
        Scheme::named("4", 6).unwrap(),
        scheme_named("14"),
        Scheme::named("2", 1).unwrap(),
        schemes(3).pop().unwrap().1,
    ];
    let schemes = schemes.into_iter().cycle();
    let temps: Vec<TempStore> =
        parts.iter().zip(schemes).map(|(records, scheme)| store_of(records, scheme)).collect();
    let stores = Stores::of(&handles(&temps)).unwrap();
    (temps, stores)
}

/// Divides records into overlapping parts: each part begins with the last records of the previous
/// part.
fn parts_of(records: &[Record], count: usize) -> Vec<Vec<Record>> {
    let len = records.len() / count;
    let part =
        |at: usize| records[(at * len).saturating_sub(at.min(1) * 9)..(at + 1) * len].to_vec();
    (0..count).map(part).collect()
}

fn cases() -> Vec<(String, Vec<Vec<Record>>)> {
    let sets = [
        ("uniform", uniform(1500, 701)),
        ("clustered", clustered(1500, 702)),
        ("skewed", skewed(900, 703)),
    ];
    let mut cases = Vec::new();
    for (name, records) in sets {
        for count in [1, 2, 5] {
            cases.push((format!("{name} in {count}"), parts_of(&records, count)));
        }
        let mut with_empty = parts_of(&records, 3);
        with_empty.insert(0, Vec::new());
        with_empty.insert(2, Vec::new());
        cases.push((format!("{name} with empty ones"), with_empty));
        let bare = records.iter().map(|record| (record.0, None)).collect();
        let twice = vec![records.clone(), bare, records[..100].to_vec()];
        cases.push((format!("{name} twice, once without ids"), twice));
    }
    cases.push(("empty alone".into(), vec![Vec::new(), Vec::new()]));
    cases
}

#[test]
fn searches_of_several_stores_find_what_a_scan_of_all_finds_and_where() {
    for (name, parts) in cases() {
        let (_temps, stores) = stores_of(&parts);
        assert_eq!(stores.len(), parts.len());
        let mut searcher = stores.searcher();
        for k in [0, 3, 7, 20] {
            for needle in needles(&parts.concat(), 60, k.min(8), 704) {
                let expected = scan(&parts, needle, k);
                let case = format!("{name}, k={k}, {needle:016x}");
                assert_eq!(plain(stores.query(needle.into(), k).unwrap()), expected, "{case}");
                let answer = searcher.search(needle.into(), k).unwrap();
                assert!(!answer.outcome().cut);
                assert_eq!(of_answer(&answer), expected, "{case}");
            }
        }
    }
}

/// The matches of the first `count` fingerprints, and whether there are more.
fn nearest_of(mut found: Vec<Found>, count: usize) -> (Vec<Found>, bool) {
    let all: Vec<(u32, u64)> = found.iter().map(|of| (of.0, of.1)).collect();
    let distinct: Vec<&(u32, u64)> =
        all.chunk_by(|a, b| a == b).map(|same| &same[0]).take(count).collect();
    let before = found.len();
    found.retain(|of| distinct.contains(&&(of.0, of.1)));
    let is_cut = found.len() < before;
    (found, is_cut)
}

#[test]
fn the_nearest_of_several_stores_and_cut_answers_are_those_of_a_scan() {
    for (name, parts) in cases() {
        let (_temps, stores) = stores_of(&parts);
        let mut searcher = stores.searcher();
        for needle in needles(&parts.concat(), 40, 3, 705) {
            let case = format!("{name}, {needle:016x}");
            for count in [1, 3, 10] {
                let (nearest, _) = nearest_of(scan(&parts, needle, 64), count);
                assert_eq!(
                    plain(stores.nearest(needle.into(), count, 64).unwrap()),
                    nearest,
                    "{case}"
                );
                let (kept, is_cut) = nearest_of(scan(&parts, needle, 12), count);
                let limits = Limits::default().limit(count);
                let answer = searcher.search_with(needle.into(), 12, &limits).unwrap();
                assert_eq!(answer.outcome().cut, is_cut, "{case}");
                assert_eq!(of_answer(&answer), kept, "{case}");
            }
        }
    }
}

#[test]
fn batches_over_several_stores_get_the_answers_of_a_scan_in_every_mode() {
    for (name, parts) in cases() {
        let (_temps, stores) = stores_of(&parts);
        for k in [0, 3, 7] {
            let asked = needles(&parts.concat(), 80, k, 706);
            let queries: Vec<Fingerprint> = asked.iter().copied().map(Fingerprint::new).collect();
            for mode in [BatchMode::Auto, BatchMode::Probe, BatchMode::Walk, BatchMode::Pass] {
                for limit in [None, Some(2)] {
                    let (options, limits) = (join_options(k, 2), Limits::default().limit(limit));
                    let mut count = 0;
                    let all = stores.as_store();
                    search_many(all, &queries, &options, &limits, mode, |at, answer| {
                        let (expected, is_cut) =
                            nearest_of(scan(&parts, asked[at], k), limit.unwrap_or(usize::MAX));
                        assert_eq!(of_answer(&answer), expected, "{name}, k={k}, {mode:?}");
                        assert_eq!(answer.outcome().cut, is_cut, "{name}, k={k}, {mode:?}");
                        count += 1;
                        Ok::<(), Error>(())
                    })
                    .unwrap();
                    assert_eq!(count, queries.len());
                }
            }
        }
    }
}

/// One store has a record k bits from the needle, another store a record k + 1 bits from it.
#[test]
fn what_is_k_bits_away_is_found_and_what_is_one_more_is_not() {
    let mut random = Random::new(707);
    for k in 0..=8 {
        let needle = random.next();
        let (near, far) = (random.flip(needle, k), random.flip(needle, k + 1));
        let mut parts = parts_of(&uniform(300, 708), 5);
        parts[0].push((far, number(1 << 40)));
        parts[4].push((near, number(1 << 41)));
        let (_temps, stores) = stores_of(&parts);
        let found = plain(stores.query(needle.into(), k).unwrap());
        assert_eq!(found, [(k, near, 4, vec![Id::U64(1 << 41)])], "k={k}");
        let found = plain(stores.query(needle.into(), k + 1).unwrap());
        assert_eq!(found.len(), 2, "k={k}");
        assert_eq!(found[1], (k + 1, far, 0, vec![Id::U64(1 << 40)]));
    }
}

#[test]
fn records_are_found_by_their_ids_in_each_store_that_has_them() {
    let parts = parts_of(&clustered(600, 709), 5);
    let (_temps, stores) = stores_of(&parts);
    let ids: Vec<IdRef<'_>> = (0..700).map(IdRef::U64).collect();
    let found = stores.as_store().find_ids(&ids, None).unwrap();
    for (id, found) in ids.iter().zip(found) {
        let mut expected: Vec<(u64, usize)> = Vec::new();
        for (store, records) in parts.iter().enumerate() {
            let own =
                records.iter().filter(|of| of.1.as_ref().is_some_and(|it| it.as_ref() == *id));
            expected.extend(own.map(|of| (of.0, store)));
        }
        expected.sort_unstable();
        let found: Vec<(u64, usize)> =
            found.iter().map(|of| (of.fingerprint.value(), of.store.0)).collect();
        assert_eq!(found, expected, "{id}");
    }
}

/// A document as plain values: fingerprint, store, id.
type Document = (u64, usize, Option<Id>);

/// The documents of all stores in the order of pairs; equal records count once in each store.
fn documents_of(parts: &[Vec<Record>]) -> Vec<Document> {
    let mut documents: Vec<(u64, usize, usize, Option<Id>)> = Vec::new();
    for (store, records) in parts.iter().enumerate() {
        let records = oracle::once(records.iter().cloned()).into_iter().enumerate();
        documents.extend(records.map(|(at, (value, id))| (value, store, at, id)));
    }
    documents.sort_by_key(|of| (of.0, of.1, of.2));
    documents.into_iter().map(|(value, store, _, id)| (value, store, id)).collect()
}

fn pairs_of(
    all: &Store,
    options: &fpstore::join::JoinOptions,
    distinct: bool,
) -> Vec<[Document; 2]> {
    let pairs = document_pairs(all, options, distinct).unwrap();
    let mut found = Vec::new();
    let listed = pairs.for_each(|pair| {
        let (first, second) = fingerprints_of(&pair.pair);
        let id = |id: Option<IdRef<'_>>| id.map(IdRef::to_id);
        found.push([
            (first, pair.first_store.0, id(pair.first_id)),
            (second, pair.second_store.0, id(pair.second_id)),
        ]);
        Ok::<(), Error>(())
    });
    listed.unwrap();
    assert_eq!(pairs.len(), found.len() as u64);
    found
}

fn expected_pairs(parts: &[Vec<Record>], k: u32, distinct: bool) -> Vec<[Document; 2]> {
    let documents = documents_of(parts);
    oracle::pairs_of_positions(documents.iter().map(|of| of.0), k)
        .into_iter()
        .filter(|(values, _)| !distinct || values.0 != values.1)
        .map(|(_, (one, other))| [documents[one].clone(), documents[other].clone()])
        .collect()
}

#[test]
fn near_pairs_within_and_between_stores_are_those_of_each_with_each() {
    for (name, parts) in cases() {
        let (_temps, stores) = stores_of(&parts);
        let all = stores.as_store();
        for k in [0, 3, 6] {
            for distinct in [false, true] {
                let expected = expected_pairs(&parts, k, distinct);
                let options = join_options(k, 2);
                let least = options.clone().memory(BuildOptions::memory_min(2));
                assert!(pairs_of(all, &options, distinct) == expected, "{name}, k={k}, {distinct}");
                assert!(pairs_of(all, &least, distinct) == expected, "{name}, k={k}, least memory");
                let most = options.max_pairs(expected.len() as u64);
                assert!(pairs_of(all, &most, distinct) == expected, "{name}, k={k}, --max-pairs");
                if let Some(less) = (expected.len() as u64).checked_sub(1) {
                    let cut = document_pairs(all, &most.max_pairs(less), distinct);
                    assert!(matches!(cut, Err(Error::TooManyPairs { .. })), "{name}, k={k}");
                }
            }
            let mut found = Vec::new();
            near_pairs(all, &join_options(k, 1), |pairs| {
                found.extend(pairs.iter().map(fingerprints_of));
                Ok::<(), Error>(())
            })
            .unwrap();
            found.sort_unstable();
            assert_eq!(found, oracle::pairs(values_of(&parts.concat()), k), "{name}, k={k}");
        }
    }
}

#[test]
fn shares_of_the_pairs_of_several_stores_have_each_pair_once() {
    let parts = parts_of(&clustered(3000, 710), 3);
    let bare = parts[0].iter().map(|of| (of.0, None)).collect();
    let parts = [parts, vec![bare]].concat();
    let (_temps, stores) = stores_of(&parts);
    for distinct in [false, true] {
        let mut expected = expected_pairs(&parts, 3, distinct);
        let mut found = Vec::new();
        for number in 0..5 {
            let options = join_options(3, 1).share(Share { number, count: 5 });
            found.extend(pairs_of(stores.as_store(), &options, distinct));
        }
        found.sort();
        expected.sort();
        assert!(found == expected, "distinct: {distinct}");
    }
}

/// New records are compared with the records of all stores, and the kept record of a duplicate
/// names its store.
#[test]
fn new_records_are_deduplicated_against_all_stores() {
    for few in [false, true] {
        for (name, parts) in cases() {
            let (_temps, stores) = stores_of(&parts);
            let all = parts.concat();
            let mut new = needles(&all, if few { 20 } else { 300 }, 3, 711);
            new.sort_unstable();
            new.dedup();
            let records: Vec<Record> = new.iter().copied().zip((0..).map(number)).collect();
            let temp = store_of(&records, scheme_named("1"));
            let all = Some(stores.as_store());
            let done = dedup(&temp.store, all, false, &join_options(3, 2)).unwrap();
            let mut expected = Vec::new();
            for (value, id) in &records {
                let documents = documents_of(&parts);
                let near = oracle::scan(documents.iter().map(|of| of.0), *value, 3);
                let Some(&(_, nearest, _)) = near.first() else { continue };
                let same = documents.iter().filter(|of| of.0 == nearest);
                let other = same.min_by_key(|of| (of.2.is_none(), of.2.clone(), of.1)).unwrap();
                expected.push(((*value, id.clone()), other.clone()));
            }
            let mut found = Vec::new();
            done.for_each_dropped(|row| {
                let (own, other) = fingerprints_of(&row.pair);
                let id = |id: Option<IdRef<'_>>| id.map(IdRef::to_id);
                assert!(row.is_stored);
                found.push(((own, id(row.id)), (other, row.other_store.0, id(row.other_id))));
                Ok::<(), Error>(())
            })
            .unwrap();
            assert!(found == expected, "{name}, few: {few}");
        }
    }
}

#[test]
fn a_store_is_joined_with_several_others() {
    let parts = parts_of(&clustered(2000, 712), 5);
    let (_temps, stores) = stores_of(&parts);
    let records = clustered(2000, 713);
    let records: Vec<Record> = records.into_iter().chain(parts[3].clone()).collect();
    let temp = store_of(&records, scheme_named("2"));
    let (new, stored): (Vec<u64>, Vec<u64>) =
        (values_of(&records).collect(), values_of(&parts.concat()).collect());
    let mut found = Vec::new();
    near_pairs_across(&temp.store, stores.as_store(), &join_options(3, 2), |pairs| {
        found.extend(pairs.iter().map(fingerprints_of));
        Ok::<(), Error>(())
    })
    .unwrap();
    found.sort_unstable();
    assert_eq!(found, oracle::pairs_across(&new, &stored, 3));
    let grouped =
        clusters(stores.as_store(), &join_options(3, 1), ClusterMethod::default()).unwrap();
    let mut groups = Vec::new();
    grouped
        .for_each(|cluster| {
            let mut own: Vec<u64> =
                cluster.members.iter().map(|member| member.fingerprint.value()).collect();
            own.sort_unstable();
            groups.push(own);
            Ok::<(), Error>(())
        })
        .unwrap();
    groups.sort();
    groups.retain(|group| group.len() > 1);
    let distinct: Vec<u64> =
        stored.iter().copied().collect::<BTreeSet<u64>>().into_iter().collect();
    let near = |one: usize, other: usize| oracle::distance(distinct[one], distinct[other]) <= 3;
    let mut expected: Vec<Vec<u64>> = oracle::components(distinct.len(), near)
        .into_iter()
        .map(|group| group.into_iter().map(|at| distinct[at]).collect())
        .collect();
    expected.retain(|group: &Vec<u64>| group.len() > 1);
    assert_eq!(groups, expected);
}

fn refusal(stores: Result<Stores, Error>) -> String {
    match stores {
        Err(Error::InvalidOptions { reason }) => reason,
        other => panic!("{other:?}"),
    }
}

#[test]
fn stores_that_cannot_be_asked_as_one_are_refused_by_name() {
    let (one, other) =
        (store_of(&uniform(10, 714), scheme_named("2")), tempfile::tempdir().unwrap());
    let narrow = other.path().join("narrow.fps");
    let options = BuildOptions::default().recipe(Recipe::external_of(Width::new(32).unwrap()));
    let mut builder = Builder::with_options(&narrow, options).unwrap();
    builder.push(7_u64.into(), 1_u64).unwrap();
    builder.finish().unwrap();
    let empty = other.path().join("empty.fps");
    Builder::new(&empty).unwrap().finish().unwrap();

    let reason = refusal(Stores::open([one.path(), one.path()]));
    let name = one.path().display().to_string();
    assert!(reason.contains(&format!("{name} is named twice")), "{reason}");
    let copy = other.path().join("copy.fps");
    backup(&one.store, &copy, &BackupOptions::default()).unwrap();
    let reason = refusal(Stores::open([&one.path(), &empty, &copy]));
    assert!(reason.contains(&name) && reason.contains("copy.fps are the same store"), "{reason}");

    let reason = refusal(Stores::open([&one.path(), &narrow]));
    assert!(reason.contains(&name) && reason.contains("narrow.fps cannot be queried"), "{reason}");
    assert!(reason.contains("bits=32"), "{reason}");
    assert!(refusal(Stores::open::<&str>([])).contains("no store"));
    let generation = OpenOptions::default().generation(1);
    assert!(refusal(Stores::with_options([&empty], generation)).contains("generation"));

    let both = Stores::open([&one.path(), &empty]).unwrap();
    assert!(
        refusal(Stores::of(&[both.as_store().clone()]))
            .contains("already a view of several stores")
    );
    assert!(Store::log(&[both.as_store().clone()]).is_err());
    let to = other.path().join("backup.fps");
    assert!(backup(both.as_store(), &to, &BackupOptions::default()).is_err());
    assert!(matches!(Stores::open(["none.fps"]), Err(Error::NoStore { .. })));
}

#[test]
fn a_refresh_shows_the_new_states_of_all_stores_or_of_none() {
    let parts = parts_of(&uniform(200, 715), 2);
    let (temps, stores) = stores_of(&parts);
    let held = stores.as_store().clone();
    let mut searcher = stores.searcher();
    assert!(!stores.refresh().unwrap());
    let before = held.generation();
    assert_eq!(stores.generations(), [1, 1]);
    let delete = |path| {
        let options = WriterOptions::default().compact(false);
        let mut writer = Writer::with_options(path, options).unwrap();
        writer.delete_fingerprints(&[parts[1][50].0.into()]).unwrap();
        writer.finish().unwrap();
    };
    add(&temps[0].path(), &[(7, number(1))], BuildOptions::default().scheme(scheme_named("2")));
    delete(temps[1].path());
    assert!(stores.query(7.into(), 0).unwrap().is_empty());
    assert!(stores.clone().refresh().unwrap());
    assert!(held.generation() > before);
    assert_eq!(stores.generations(), [2, 2]);
    assert_eq!(plain(stores.query(7.into(), 0).unwrap()), [(0, 7, 0, vec![Id::U64(1)])]);
    assert!(stores.query(parts[1][50].0.into(), 0).unwrap().is_empty());
    assert!(searcher.search(7.into(), 0).unwrap().is_empty());
    searcher.follow(stores.as_store());
    assert_eq!(searcher.search(7.into(), 0).unwrap().len(), 1);

    // One store is replaced by a store of another width; its records must not be returned.
    let narrow =
        BuildOptions::default().replace(true).recipe(Recipe::external_of(Width::new(32).unwrap()));
    let mut builder = Builder::with_options(temps[1].path(), narrow).unwrap();
    builder.push(7_u64.into(), 9_u64).unwrap();
    builder.finish().unwrap();
    assert!(stores.refresh().is_err());
    assert_eq!(plain(stores.query(7.into(), 0).unwrap()), [(0, 7, 0, vec![Id::U64(1)])]);
}

/// Snapshots of one or several stores with equal manifest digests give the same answers.
#[test]
fn the_digest_of_several_stores_changes_with_each_of_them() {
    let temps = [uniform(20, 731), uniform(20, 732)].map(|part| store_of(&part, scheme_named("2")));
    let digest = |stores: &Stores| stores.as_store().info().manifest_digest;
    let stores = Stores::of(&handles(&temps)).unwrap();
    let before = digest(&stores);
    assert_eq!(digest(&Stores::open(temps.iter().map(TempStore::path)).unwrap()), before);
    let mut seen = vec![before];
    seen.extend(temps.iter().map(|temp| temp.store.info().manifest_digest));
    let reversed = Stores::open(temps.iter().rev().map(TempStore::path)).unwrap();
    seen.push(digest(&reversed));
    for temp in &temps {
        add(&temp.path(), &uniform(1, 733), BuildOptions::default());
        assert!(stores.refresh().unwrap());
        seen.push(digest(&stores));
    }
    for (at, one) in seen.iter().enumerate() {
        assert!(!seen[..at].contains(one), "{at}: {seen:x?}");
    }
}
