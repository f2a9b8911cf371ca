//! Building a store of a million fingerprints with numeric ids, from memory to disk.
#![deny(unsafe_code)]

mod data;

use std::time::Duration;

use criterion::{BatchSize, Criterion, Throughput};
use data::{Spread, count_name};
use fpstore::{BuildOptions, Builder, Fingerprint, IdPolicy, Scheme, Store};
use tempfile::TempDir;

const K: u32 = 3;

fn main() {
    let measuring = std::env::args().any(|argument| argument == "--bench");
    let count = if measuring { 1_000_000 } else { 10_000 };
    let mut criterion = Criterion::default()
        .sample_size(10)
        .warm_up_time(Duration::from_millis(500))
        .measurement_time(Duration::from_secs(6))
        .configure_from_args();
    let mut group = criterion.benchmark_group(format!("build/k{K}/{}", count_name(count)));
    group.throughput(Throughput::Elements(count as u64));
    for spread in Spread::ALL {
        let fingerprints = spread.fingerprints(count);
        group.bench_function(format!("{}-u64-ids", spread.name()), |bencher| {
            bencher.iter_batched(
                || tempfile::tempdir().expect("the system gives a directory"),
                |folder| (build(&folder, &fingerprints), folder),
                // One store exists at a time; the removal of a store is not timed.
                BatchSize::PerIteration,
            );
        });
    }
    group.finish();
    criterion.final_summary();
}

fn build(folder: &TempDir, fingerprints: &[u64]) -> Store {
    let scheme = Scheme::named("2", K).expect("two halves are a family");
    let options = BuildOptions::default().scheme(scheme).ids(IdPolicy::U64);
    let path = folder.path().join("bench.fps");
    let mut builder = Builder::with_options(path, options).expect("the directory is new");
    for (value, id) in fingerprints.iter().zip(0_u64..) {
        builder.push(Fingerprint::new(*value), id).expect("a number is an id");
    }
    builder.finish().expect("the store fits the disk")
}
