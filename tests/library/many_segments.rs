//! A store of many segments gives the same answers and joins as a store of few segments, and an
//! empty segment costs no time.

use std::sync::{Arc, Mutex};

use crate::common::joins::{join_options, pairs};
use crate::common::{
    Record, TempStore, add, clustered, needles, number, oracle, scan, scheme_named, store_of,
    uniform, values_of,
};
use fpstore::join::{BatchMode, JoinInput, JoinOptions, Share, search_many};
use fpstore::{
    BuildOptions, Error, Fingerprint, Limits, Match, Observer, Phase, Searcher, Store, Writer,
    WriterOptions,
};

fn batch(
    store: &Store,
    queries: &[u64],
    options: &JoinOptions,
    mode: BatchMode,
) -> Vec<Vec<Match>> {
    let queries: Vec<Fingerprint> = queries.iter().copied().map(Fingerprint::new).collect();
    let mut answers = Vec::new();
    search_many(store, &queries, options, &Limits::default(), mode, |at, answer| {
        assert_eq!(at, answers.len());
        answers.push(answer.to_matches()?);
        Ok::<(), Error>(())
    })
    .unwrap();
    answers
}

/// A store of forty segments with common fingerprints, two schemes and deletions; some segments are
/// empty or tiny.
fn forty_segments() -> (TempStore, Vec<Record>) {
    let records = clustered(2400, 401);
    let temp = store_of(&records[..60], scheme_named("2"));
    let path = temp.path();
    for part in 1..40_usize {
        // Each segment begins with the last ten records of the previous segment.
        let range = part * 60 - 10..(part + 1) * 60;
        let range = match part % 10 {
            3 => 0..0,
            _ => range,
        };
        let scheme = scheme_named(if part % 4 == 1 { "14" } else { "2" });
        add(&path, &records[range], BuildOptions::default().scheme(scheme));
    }
    let options = WriterOptions::default().compact(false);
    let mut writer = Writer::with_options(&path, options).unwrap();
    let gone: Vec<Fingerprint> =
        records.iter().step_by(7).map(|record| Fingerprint::new(record.0)).collect();
    writer.delete_fingerprints(&gone).unwrap();
    let store = writer.finish().unwrap();
    let mut live: Vec<Record> = Vec::new();
    for part in 0..40_usize {
        let range = if part == 0 { 0..60 } else { part * 60 - 10..(part + 1) * 60 };
        if part % 10 != 3 {
            live.extend_from_slice(&records[range]);
        }
    }
    live.retain(|record| !gone.contains(&Fingerprint::new(record.0)));
    (TempStore { store, folder: temp.folder }, live)
}

#[test]
fn forty_segments_are_joined_as_one_with_much_and_with_little_memory() {
    let (temp, records) = forty_segments();
    assert!(temp.store.info().segments.len() == 40);
    for k in [0, 3, 6] {
        let expected = oracle::pairs(values_of(&records), k);
        for threads in [1, 3] {
            let options = join_options(k, threads);
            let least = options.clone().memory(BuildOptions::memory_min(threads));
            assert_eq!(pairs(&temp.store, &options), expected, "k={k}, {threads} threads");
            assert_eq!(pairs(&temp.store, &least), expected, "k={k}, least memory");
        }
    }
    let mut values = Vec::new();
    temp.store
        .for_each(|hit| {
            values.push((hit.fingerprint().value(), hit.ids().count()));
            Ok::<(), Error>(())
        })
        .unwrap();
    let mut expected: Vec<(u64, usize)> = Vec::new();
    let mut sorted = oracle::once(records);
    sorted.sort_unstable();
    for same in sorted.chunk_by(|a, b| a.0 == b.0) {
        expected.push((same[0].0, same.len()));
    }
    assert_eq!(values, expected);
}

#[test]
fn batches_over_forty_segments_get_the_answers_of_each_query() {
    let (temp, records) = forty_segments();
    for k in [0, 3, 7, 20] {
        let queries = needles(&records, 120, k.min(8), 402);
        let expected: Vec<Vec<Match>> =
            queries.iter().map(|&query| temp.store.query(query.into(), k).unwrap()).collect();
        for (query, found) in queries.iter().zip(&expected) {
            let scanned = scan(&records, *query, k);
            assert_eq!(found.len(), scanned.len(), "k={k}, {query:016x}");
        }
        for mode in [BatchMode::Auto, BatchMode::Probe, BatchMode::Walk, BatchMode::Pass] {
            for threads in [1, 2] {
                let options = join_options(k, threads);
                let found = batch(&temp.store, &queries, &options, mode);
                assert!(found == expected, "k={k}, {mode:?}, {threads} threads");
            }
        }
    }
}

/// The number of blocks that a search probes after three hundred searches: by then, the searcher
/// has gathered small segments in memory.
fn late_probes(searcher: &mut Searcher) -> u64 {
    for query in 0..300_u64 {
        let _ = searcher.search(query.into(), 3).unwrap();
    }
    searcher.search(7.into(), 3).unwrap().outcome().stats.probes
}

#[test]
fn a_searcher_that_asks_often_gathers_small_segments_and_finds_the_same() {
    let (temp, records) = forty_segments();
    let mut searcher = temp.store.searcher();
    assert_eq!(late_probes(&mut searcher), 4, "one of each block, for all segments");
    for k in [0, 1, 3, 4, 7, 8, 11, 12] {
        for query in needles(&records, 120, k, 406) {
            let expected = temp.store.query(query.into(), k).unwrap();
            let distances: Vec<u32> =
                scan(&records, query, k).iter().map(|found| found.distance).collect();
            let found = searcher.search(query.into(), k).unwrap().to_matches().unwrap();
            assert_eq!(found, expected, "k={k}, {query:016x}");
            assert!(found.iter().map(|found| found.distance).eq(distances));
            let limits = Limits::default().limit(2);
            let answer = searcher.search_with(query.into(), k, &limits).unwrap();
            assert_eq!(answer.outcome().cut, expected.len() > 2);
            assert_eq!(answer.to_matches().unwrap(), expected[..expected.len().min(2)]);
            let nearest = searcher.nearest(query.into(), 3, k).unwrap().to_matches().unwrap();
            assert_eq!(nearest, expected[..expected.len().min(3)]);
        }
    }
    // Later snapshots use the tables gathered in memory, too, but do not find deleted records in
    // them.
    let options = WriterOptions::default().compact(false);
    let mut writer = Writer::with_options(temp.path(), options).unwrap();
    let gone = Fingerprint::new(records[3].0);
    writer.delete_fingerprints(&[gone]).unwrap();
    let store = writer.finish().unwrap();
    searcher.follow(&store);
    assert!(searcher.search(gone, 0).unwrap().is_empty());
    assert_eq!(searcher.search(7.into(), 3).unwrap().outcome().stats.probes, 4);
    // Other searchers use the gathered tables from their first search on.
    for store in [&store, &temp.store] {
        assert_eq!(store.searcher().search(7.into(), 3).unwrap().outcome().stats.probes, 4);
    }
}

#[test]
fn what_is_gathered_follows_a_store_that_grows_is_merged_and_loses_records() {
    let records = clustered(9_000, 407);
    let mut live = records[..1_000].to_vec();
    let temp = store_of(&live, scheme_named("2"));
    let mut writer = Writer::open(temp.path()).unwrap();
    let store = Store::open(temp.path()).unwrap();
    let mut follower = store.searcher();
    let mut older: Vec<(Searcher, Vec<Record>)> = Vec::new();
    let mut least = usize::MAX;
    for (number, batch) in records[1_000..].chunks(250).enumerate() {
        if number % 3 == 2 {
            let gone = live[number * 31 % live.len()].0;
            writer.delete_fingerprints(&[Fingerprint::new(gone)]).unwrap();
            writer.commit().unwrap();
            live.retain(|record| record.0 != gone);
        }
        for (at, (value, _)) in (1_000 + 250 * number as u64..).zip(batch) {
            writer.push(Fingerprint::new(*value), at).unwrap();
        }
        writer.commit().unwrap();
        live.extend_from_slice(batch);
        store.refresh().unwrap();
        follower.follow(&store);
        if number % 8 == 5 {
            older.push((store.searcher(), live.clone()));
        }
        // Searchers of older snapshots still search their own snapshots, although tables of newer
        // snapshots have replaced the gathered tables in memory.
        let states = older.iter_mut().map(|(searcher, live)| (searcher, &*live));
        for (searcher, live) in states.chain([(&mut follower, &live)]) {
            for query in needles(live, 130, 3, 408 + number as u64) {
                let found = searcher.search(query.into(), 3).unwrap().to_matches().unwrap();
                assert_eq!(found, scan(live, query, 3), "{number}, {query:016x}");
            }
        }
        least = least.min(store.info().segments.len());
    }
    assert!(store.info().segments.len() > least, "segments were merged meanwhile");
}

/// The shared tables are for the newest searched snapshot. A searcher of an older snapshot keeps
/// its own tables and does not share them.
#[test]
fn a_searcher_of_an_older_state_changes_nothing_for_those_of_a_newer_one() {
    let records = uniform(3_200, 409);
    let temp = store_of(&records[..40], scheme_named("2"));
    let add = |records: &[Record]| {
        add(&temp.path(), records, BuildOptions::default().scheme(scheme_named("2")));
        assert!(temp.store.refresh().unwrap());
    };
    add(&records[40..80]);
    add(&records[80..3_080]);
    let ask = |searcher: &mut Searcher, count: u64| {
        for query in 0..count {
            let _ = searcher.search(query.into(), 3).unwrap();
        }
        searcher.search(7.into(), 3).unwrap().outcome().stats.probes
    };
    let mut older = temp.store.searcher();
    assert!(ask(&mut older, 70) > 4, "the large segment is worth more queries");
    add(&records[3_080..]);
    let mut newer = temp.store.searcher();
    assert_eq!(ask(&mut newer, 1_000), 4);
    ask(&mut older, 1_000);
    assert_eq!(ask(&mut temp.store.searcher(), 0), 4, "one of each block, for all segments");
    assert_eq!(ask(&mut newer, 0), 4);
}

#[test]
fn crowded_values_are_not_gathered() {
    let crowded = |from: u64| -> Vec<Record> {
        (from..from + 3000).map(|value| (value << 20, number(value))).collect()
    };
    let temp = store_of(&crowded(0), scheme_named("2"));
    let store = add(&temp.path(), &crowded(3000), BuildOptions::default());
    let mut searcher = store.searcher();
    let first = searcher.search(7.into(), 3).unwrap().outcome().stats.probes;
    assert_eq!((late_probes(&mut searcher), store.info().segments.len()), (first, 2));
}

/// The progress phases that a batch of ten queries reports.
fn phases(store: &Store, mode: BatchMode) -> Vec<Phase> {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let sink = Arc::clone(&seen);
    let observer = Observer::new(move |progress| {
        sink.lock().unwrap().push(progress.phase);
        std::ops::ControlFlow::Continue(())
    });
    let options = join_options(3, 1).observer(observer);
    batch(store, &(0..10).collect::<Vec<u64>>(), &options, mode);
    let seen = seen.lock().unwrap();
    seen.clone()
}

#[test]
fn an_empty_segment_does_not_turn_a_batch_into_a_pass() {
    let temp = store_of(&uniform(60_000, 403), scheme_named("2"));
    let path = temp.path();
    assert!(phases(&temp.store, BatchMode::Pass).contains(&Phase::Join));
    let joined = |store: &Store| phases(store, BatchMode::Auto).contains(&Phase::Join);
    assert!(!joined(&temp.store), "ten queries are probed");
    let store = add(&path, &[], BuildOptions::default().scheme(scheme_named("2")));
    assert_eq!(store.info().segments.len(), 2);
    assert!(!joined(&store), "nor beside an empty segment");
}

#[test]
fn an_empty_segment_is_not_imported() {
    let records = uniform(100, 404);
    let target = store_of(&records, scheme_named("2"));
    let (empty, other) =
        (store_of(&[], scheme_named("2")), store_of(&[(7, number(7))], scheme_named("2")));
    let path = |of: &TempStore| of.path();
    let options = WriterOptions::default().compact(false);
    let mut writer = Writer::with_options(path(&target), options).unwrap();
    let done = writer.import(&[path(&empty), path(&other), path(&empty)]).unwrap();
    assert_eq!((done.segments, done.fingerprints, done.empty), (1, 1, 2));
    let store = writer.finish().unwrap();
    assert_eq!(store.info().segments.len(), 2);
    assert_eq!(store.query(7.into(), 0).unwrap().len(), 1);
}

#[test]
fn one_segment_can_be_asked_alone() {
    let (temp, _) = forty_segments();
    let info = temp.store.info();
    let options = join_options(3, 1);
    let queries = needles(&[(info.segments[5].number, None)], 10, 3, 405);
    let mut pairs_of_segments = 0;
    for (at, segment) in info.segments.iter().enumerate() {
        let alone = temp.store.segment(segment.number).unwrap();
        assert_eq!(alone.info().segments, std::slice::from_ref(segment));
        assert_eq!(alone.generation(), temp.store.generation());
        assert!(!alone.refresh().unwrap());
        for (found, &query) in
            batch(&alone, &queries, &options, BatchMode::Auto).iter().zip(&queries)
        {
            assert_eq!(*found, alone.query(query.into(), 3).unwrap());
        }
        let found = pairs(&alone, &options);
        assert_eq!(found, pairs(JoinInput::Segment(&temp.store, at), &options));
        pairs_of_segments += found.len();
    }
    assert!(pairs_of_segments > 0);
    let refused = temp.store.segment(9999).unwrap_err().to_string();
    assert!(refused.contains("no segment 9999"), "{refused}");
}

/// Even if the processes of a job have different memory limits, their shares together are the join.
#[test]
fn shares_with_different_memory_and_threads_fit_together() {
    let records = clustered(30_000, 406);
    let half = records.len() / 2;
    let temp = store_of(&records[..half + 500], scheme_named("14"));
    let options = BuildOptions::default().scheme(scheme_named("14"));
    let store = add(&temp.path(), &records[half..], options);
    let expected = oracle::pairs(values_of(&records), 3);
    for count in [3, 7] {
        let mut found = Vec::new();
        for number in 0..count {
            let threads = 1 + number as usize % 3;
            let options = join_options(3, threads).share(Share { number, count });
            let least = (number % 2 == 0).then(|| BuildOptions::memory_min(threads));
            found.extend(pairs(&store, &options.memory(least)));
        }
        found.sort_unstable();
        assert!(found == expected, "{count} shares");
    }
}
