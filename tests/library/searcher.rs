//! The guarantees of searches to programs that link the library.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use crate::common::{
    Random, Record, add, assert_exact, clustered, needles, number, scan, scheme_named, skewed,
    store_of, uniform,
};
use fpstore::join::{BatchMode, JoinOptions, nearest_many};
use fpstore::{
    Answer, BuildOptions, CutBy, Error, Fingerprint, Limits, Searcher, Store, Warm, Writer,
    WriterOptions,
};

/// An allocator that counts the allocations of the current thread.
struct Counting;

thread_local! {
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
}

// SAFETY: each method passes its arguments unchanged to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let _ = ALLOCATIONS.try_with(|count| count.set(count.get() + 1));
        // SAFETY: the caller upholds the contract of `alloc`, which `System.alloc` has, too.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the caller upholds the contract of `dealloc`, and `alloc` got `pointer` from
        // `System`.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

#[test]
fn a_search_allocates_nothing_once_its_memory_has_grown() {
    let records = clustered(50_000, 3);
    let temp = store_of(&records, scheme_named("4"));
    let mut searcher = temp.store.searcher();
    let needles = needles(&records, 200, 4, 9);
    let mut rounds = Vec::new();
    for _ in 0..2 {
        let before = ALLOCATIONS.get();
        let mut ids = 0;
        for &needle in &needles {
            for k in [0, 3, 5, 40] {
                let answer = searcher.search(Fingerprint::new(needle), k).unwrap();
                ids += answer.hits().flat_map(|hit| hit.ids()).filter(Result::is_ok).count();
            }
        }
        assert!(ids > 0);
        rounds.push(ALLOCATIONS.get() - before);
    }
    assert!(rounds[0] > 0, "the counter counts");
    assert_eq!(rounds[1], 0);
}

#[test]
fn stores_and_searchers_go_to_other_threads() {
    fn shared<T: Send + Sync + Clone + 'static>() {}
    fn sent<T: Send + 'static>() {}
    shared::<Store>();
    sent::<Searcher>();
    fn error<T: std::error::Error + Send + Sync + 'static>() {}
    error::<Error>();

    let records = clustered(20_000, 4);
    let temp = store_of(&records, scheme_named("2"));
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let (store, records) = (temp.store.clone(), &records);
            scope.spawn(move || {
                let needles = needles(records, 100, 3, thread);
                assert_exact(&store, records, &needles, 3, "thread");
            });
        }
    });
}

#[test]
fn a_limit_keeps_the_nearest_and_says_that_it_cut() {
    let records = skewed(20_000, 6);
    for name in ["1", "2", "14"] {
        let temp = store_of(&records, scheme_named(name));
        let mut searcher = temp.store.searcher();
        let mut cuts = 0;
        for needle in needles(&records, 40, 3, 5) {
            for k in [2, 6, 64] {
                let all = scan(&records, needle, k);
                for most in [0, 1, 7, 2000, all.len(), all.len() + 1] {
                    let limits = Limits::default().limit(most);
                    let answer =
                        searcher.search_with(Fingerprint::new(needle), k, &limits).unwrap();
                    let cut = all.len() > most;
                    assert_eq!(answer.outcome().cut, cut, "{name}, k={k}, at most {most}");
                    assert_eq!(answer.outcome().cut_by, cut.then_some(CutBy::Limit));
                    let nearest = &all[..most.min(all.len())];
                    assert_eq!(answer.to_matches().unwrap(), nearest);
                    cuts += u32::from(cut);
                }
            }
        }
        assert!(cuts > 100);
    }
}

#[test]
fn the_nearest_of_many_queries_are_those_of_a_scan() {
    for (records, seed) in
        [(uniform(20_000, 8), 1), (clustered(20_000, 9), 2), (skewed(5_000, 6), 3)]
    {
        let temp = store_of(&records, scheme_named("4"));
        add(&temp.path(), &records[..100], BuildOptions::default());
        temp.store.refresh().unwrap();
        let needles = needles(&records, 100, 6, seed);
        let queries: Vec<Fingerprint> = needles.iter().copied().map(Fingerprint::new).collect();
        let doubled: Vec<Record> = records.iter().chain(&records[..100]).cloned().collect();
        let mut settled = 0;
        for (k, count) in [(0, 1), (3, 2), (8, 5), (12, 1), (20, 30), (64, 3), (8, 0)] {
            for mode in [BatchMode::Auto, BatchMode::Probe, BatchMode::Pass] {
                let mut is_known = vec![false; queries.len()];
                let options = JoinOptions::new(k);
                let check = |at: usize, answer: Answer<'_>| {
                    let mut expected = scan(&doubled, needles[at], k);
                    expected.truncate(count);
                    assert_eq!(answer.to_matches().unwrap(), expected, "k={k}, {count}, {mode:?}");
                    assert!(!std::mem::replace(&mut is_known[at], true));
                    settled += 1;
                    Ok::<(), Error>(())
                };
                let left =
                    nearest_many(&temp.store, &queries, count, &options, mode, check).unwrap();
                let others = (0..queries.len()).filter(|at| !is_known[*at]);
                assert_eq!(left, others.collect::<Vec<_>>());
                assert!(mode != BatchMode::Probe || left.len() == queries.len());
            }
        }
        assert!(settled > 500);
    }
}

/// A search finds more records than it keeps at once, and the nearest of them are deleted. Deleted
/// records must neither displace other records nor be in answers.
#[test]
fn deleted_records_neither_fill_a_limit_nor_come_back_through_one() {
    let needle = 0x9c3a_51e7_0b6d_f284_u64;
    let mut random = Random::new(9);
    let mut part = |first: u64| {
        let near = |random: &mut Random, flips: u32| random.flip(needle, flips);
        let values: Vec<u64> = (0..2800)
            .map(|at| match at {
                0..60 => near(&mut random, 1 + at % 2),
                60..760 => near(&mut random, 4),
                _ => random.next(),
            })
            .collect();
        let records: Vec<Record> =
            values.into_iter().zip(first..).map(|(value, id)| (value, number(id))).collect();
        records
    };
    let parts = [part(0), part(10_000)];
    let temp = store_of(&parts[0], scheme_named("2"));
    add(&temp.path(), &parts[1], BuildOptions::default().scheme(scheme_named("2")));
    let gone: Vec<u64> = parts.iter().flat_map(|part| part[..60].iter().map(|of| of.0)).collect();
    let options = WriterOptions::default().compact(false);
    let mut writer = Writer::with_options(temp.path(), options).unwrap();
    let deleted: Vec<Fingerprint> = gone.iter().copied().map(Fingerprint::new).collect();
    writer.delete_fingerprints(&deleted).unwrap();
    let store = writer.finish().unwrap();
    let mut live = parts.concat();
    live.retain(|record| !gone.contains(&record.0));
    let expected = scan(&live, needle, 4);
    assert!(expected.len() > 1024);
    let mut searcher = store.searcher();
    for is_gathered in [false, true] {
        for most in [1, 3, 40, 2000] {
            let limits = Limits::default().limit(most);
            let answer = searcher.search_with(Fingerprint::new(needle), 4, &limits).unwrap();
            assert_eq!(answer.outcome().cut, expected.len() > most, "{is_gathered}, {most}");
            let found = answer.to_matches().unwrap();
            assert_eq!(found, expected[..most.min(expected.len())], "{is_gathered}, {most}");
        }
        for query in 0..1000_u64 {
            let _ = searcher.search(query.into(), 3).unwrap();
        }
        let stats = searcher.search(7.into(), 3).unwrap().outcome().stats;
        assert!(stats.probes <= 8, "one of each block, in one table or two");
    }
}

#[test]
fn a_limit_on_work_stops_and_says_so() {
    let records = uniform(50_000, 7);
    let temp = store_of(&records, scheme_named("2"));
    let mut searcher = temp.store.searcher();
    let needle = Fingerprint::new(records[0].0);
    let limits = Limits::default().max_compared(1000);
    let scanned = searcher.search_with(needle, 50, &limits).unwrap().outcome();
    assert!(scanned.cut && scanned.stats.scanned <= 1256, "{scanned:?}");
    assert_eq!(scanned.cut_by, Some(CutBy::MaxCompared));
    // After a cut by `max_compared`, even matches nearer than the two returned can be missing.
    let two = searcher.search_with(needle, 50, &limits.limit(2)).unwrap();
    assert_eq!((two.len(), two.outcome().cut_by), (2, Some(CutBy::MaxCompared)));
    let few = searcher.search_with(needle, 3, &limits).unwrap();
    assert!(!few.outcome().cut);
    assert_eq!(few.to_matches().unwrap(), scan(&records, needle.value(), 3));
}

#[test]
fn a_warm_store_has_no_page_left_to_check() {
    let mut random = Random::new(1);
    let records = uniform(30_000, 8);
    let temp = store_of(&records, scheme_named("2"));
    let cold = temp.store.query(Fingerprint::new(random.next()), 3);
    assert_eq!(cold.unwrap(), []);
    assert!(temp.store.warm(Warm::Hot).unwrap().pages > 0);
    assert!(temp.store.warm(Warm::All).unwrap().pages > 100);
    let mut searcher = temp.store.searcher();
    for (value, _) in &records[..100] {
        let outcome = searcher.search(Fingerprint::new(*value), 3).unwrap().outcome();
        assert_eq!(outcome.stats.pages_checked, 0);
    }
}

/// A fingerprint with very many ids does not slow down reading the ids of its neighbours.
#[test]
fn the_ids_of_a_neighbour_of_many_ids_are_found() {
    let mut records: Vec<Record> = (0..40_000).map(|id| (500, number(id))).collect();
    records.extend((0..1000).map(|value| (value, number(1_000_000 + value))));
    let temp = store_of(&records, scheme_named("2"));
    for value in [499, 500, 501, 0, 999] {
        let expected = scan(&records, value, 0);
        assert_eq!(temp.store.query(Fingerprint::new(value), 0).unwrap(), expected);
    }
}

#[test]
fn counters_tell_what_a_query_took() {
    let records = uniform(100_000, 10);
    let temp = store_of(&records, scheme_named("2"));
    let mut searcher = temp.store.searcher();
    let work = searcher.search(Fingerprint::new(records[5].0), 3).unwrap().outcome().stats;
    // Block numbers have 11 bits, so each table needs 1 + 11 probes.
    assert_eq!(work.probes, 24);
    assert!(work.candidates >= 1 && work.candidates < 100, "{work:?}");
    assert_eq!(work.scanned, 0);
    let plans = temp.store.plans(3).unwrap();
    assert_eq!(plans.len(), 1);
    assert!(temp.store.plans(65).is_err());
}

#[test]
fn opening_what_is_no_store_says_what_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let missing = Store::open(folder.path().join("none.fps"));
    assert!(matches!(missing, Err(Error::NoStore { .. })));
    let other = Store::open(folder.path());
    assert!(matches!(other, Err(Error::NotAStore { .. })));
    let file = folder.path().join("file");
    std::fs::write(&file, "x").unwrap();
    assert!(matches!(Store::open(&file), Err(Error::NotAStore { .. })));
}
