//! Measures opening a store whose files are in the page cache, with both kinds of access: mapped,
//! in constant time for any number of fingerprints, or read into memory. Then compares the queries.
#![deny(unsafe_code)]

mod data;

use std::path::Path;
use std::time::Duration;

use criterion::{BatchSize, Criterion};
use data::{Spread, count_name, query_mix};
use fpstore::{Access, Builder, Fingerprint, OpenOptions, Store, Warm};

const K: u32 = 3;
const COUNTS: [usize; 2] = [10_000, 10_000_000];
/// The number of stores that are open at a time; closing them is not timed.
const OPEN_MAX: u64 = 64;

fn main() {
    let measuring = std::env::args().any(|argument| argument == "--bench");
    let mut criterion = Criterion::default()
        .sample_size(20)
        .warm_up_time(Duration::from_millis(300))
        .measurement_time(Duration::from_secs(1))
        .configure_from_args();
    for count in if measuring { &COUNTS[..] } else { &COUNTS[..1] } {
        let folder = tempfile::tempdir().expect("the system gives a directory");
        let path = folder.path().join("bench.fps");
        let queries = make(&path, *count);
        time_open(&mut criterion, &path, *count, &queries);
        time_access(&mut criterion, &path, *count, &queries);
    }
    criterion.final_summary();
}

/// Makes a store and returns queries for it.
fn make(path: &Path, count: usize) -> Vec<u64> {
    let fingerprints = Spread::Uniform.fingerprints(count);
    let queries = query_mix(&fingerprints, 3_000);
    let mut builder = Builder::new(path).expect("the directory is new");
    fingerprints.into_iter().for_each(|value| builder.push_bare(Fingerprint::new(value)).unwrap());
    builder.finish().expect("the store fits the disk");
    queries
}

fn time_open(criterion: &mut Criterion, path: &Path, count: usize, queries: &[u64]) {
    let mut group = criterion.benchmark_group(format!("open/k{K}/{}", count_name(count)));
    let open = || Store::open(path).expect("the store was just made");
    let batch = BatchSize::NumIterations(OPEN_MAX);
    group.bench_function("cached", |bencher| bencher.iter_batched(|| (), |()| open(), batch));

    // The first query maps and verifies every page that it needs.
    let mut needles = queries.iter().copied().cycle();
    group.bench_function("cached-and-first-query", |bencher| {
        bencher.iter_batched(
            || Fingerprint::new(needles.next().expect("a cycle has no end")),
            |needle| {
                let store = open();
                let mut searcher = store.searcher();
                let found = searcher.search(needle, K).expect("the store is whole").len();
                (found, searcher)
            },
            batch,
        );
    });
    // Without changes, a refresh only reads and compares the manifest.
    let store = open();
    group.bench_function("refresh-unchanged", |bencher| {
        bencher.iter(|| store.refresh().expect("the store is whole"));
    });
    group.finish();
}

/// Measures both kinds of access in turn: opening a store, and queries of a warm store.
fn time_access(criterion: &mut Criterion, path: &Path, count: usize, queries: &[u64]) {
    let mut group = criterion.benchmark_group(format!("access/k{K}/{}", count_name(count)));
    for (name, access) in [("map", Access::Map), ("memory", Access::Memory)] {
        let open = || {
            Store::with_options(path, OpenOptions::default().access(access))
                .expect("the store was just made")
        };
        group.bench_function(format!("{name}/open"), |bencher| {
            bencher.iter_batched(|| (), |()| open(), BatchSize::PerIteration);
        });
        let store = open();
        store.warm(Warm::All).expect("the store is whole");
        let mut searcher = store.searcher();
        let mut needles = queries.iter().copied().cycle();
        group.bench_function(format!("{name}/query"), |bencher| {
            bencher.iter(|| {
                let needle = Fingerprint::new(needles.next().expect("a cycle has no end"));
                searcher.search(needle, K).expect("the store is whole").len()
            });
        });
    }
    group.finish();
}
