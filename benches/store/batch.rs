//! Batches of a million queries, compared with single queries: medians of rounds in turn.
#![deny(unsafe_code)]

mod data;

use std::time::Instant;

use data::{Spread, count_name, query_mix};
use fpstore::join::{BatchMode, JoinOptions, search_many};
use fpstore::{Builder, Error, Fingerprint, Limits, Store, Warm};

const K: u32 = 3;
const ROUNDS: usize = 5;

fn main() {
    let measuring = std::env::args().any(|argument| argument == "--bench");
    let asked = |name: &str| std::env::var(name).ok().and_then(|n| n.parse().ok());
    let count = if measuring { asked("FPSTORE_BENCH_N").unwrap_or(10_000_000) } else { 10_000 };
    let queries =
        if measuring { asked("FPSTORE_BENCH_QUERIES").unwrap_or(1_000_000) } else { 1000 };
    println!("| case | contender | queries a second, median | least to most | times one by one |");
    println!("|---|---|---:|---:|---:|");
    for spread in Spread::ALL {
        compare(spread, count, queries, if measuring { ROUNDS } else { 1 });
    }
}

fn compare(spread: Spread, count: usize, query_count: usize, rounds: usize) {
    let folder = tempfile::tempdir().expect("the system gives a directory");
    let stored = spread.fingerprints(count);
    let queries = query_mix(&stored, query_count);
    let queries: Vec<Fingerprint> = queries.into_iter().map(Fingerprint::new).collect();
    let mut builder = Builder::new(folder.path().join("bench.fps")).expect("the directory is new");
    for value in &stored {
        builder.push_bare(Fingerprint::new(*value)).expect("there is room");
    }
    drop(stored);
    let store = builder.finish().expect("the store fits the disk");
    store.warm(Warm::All).expect("the store is sound");
    let one_by_one = || {
        let mut searcher = store.searcher();
        let mut sum = 0;
        for &query in &queries {
            let answer = searcher.search(query, K).expect("the store is sound");
            sum = answer.hits().fold(sum, |sum, hit| told(sum, query, hit.fingerprint()));
        }
        sum
    };
    let many = |threads, mode| many(&store, &queries, threads, mode);
    let contenders: [(&str, &dyn Fn() -> u64); 6] = [
        ("one by one, 1 thread", &one_by_one),
        ("at once by probes, 1 thread", &|| many(1, BatchMode::Probe)),
        ("at once by probes, 2 threads", &|| many(2, BatchMode::Probe)),
        ("at once in passes, 1 thread", &|| many(1, BatchMode::Pass)),
        ("at once in passes, 2 threads", &|| many(2, BatchMode::Pass)),
        ("at once, the cheaper way, 2 threads", &|| many(2, BatchMode::Auto)),
    ];
    let mut rates = vec![Vec::new(); contenders.len()];
    let mut expected = None;
    for round in 0..rounds {
        for place in 0..contenders.len() {
            let number = (round + place) % contenders.len();
            let start = Instant::now();
            let sum = contenders[number].1();
            rates[number].push(query_count as f64 / start.elapsed().as_secs_f64());
            let expected = *expected.get_or_insert(sum);
            assert_eq!(sum, expected, "{} finds others", contenders[number].0);
        }
    }
    for (number, (name, _)) in contenders.iter().enumerate() {
        let ratios = rates[number].iter().zip(&rates[0]).map(|(a, b)| a / b).collect();
        let ([least, median, most], [_, ratio, _]) =
            (spread_of(rates[number].clone()), spread_of(ratios));
        println!(
            "| batch/k{K}/{}/{} | {name} | {median:.0} | {least:.0} to {most:.0} | {ratio:.2} |",
            count_name(count),
            spread.name()
        );
    }
}

fn many(store: &Store, queries: &[Fingerprint], threads: usize, mode: BatchMode) -> u64 {
    let options = JoinOptions::new(K).threads(threads);
    let mut sum = 0;
    search_many(store, queries, &options, &Limits::default(), mode, |at, answer| {
        sum = answer.hits().fold(sum, |sum, hit| told(sum, queries[at], hit.fingerprint()));
        Ok::<(), Error>(())
    })
    .expect("the store is sound");
    sum
}

/// Extends a checksum by a match; the result depends on the order of the matches.
fn told(sum: u64, query: Fingerprint, found: Fingerprint) -> u64 {
    (sum.rotate_left(5) ^ query.value()).wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ found.value()
}

/// The minimum, the median and the maximum of the values.
fn spread_of(mut values: Vec<f64>) -> [f64; 3] {
    values.sort_unstable_by(f64::total_cmp);
    [0, values.len() / 2, values.len() - 1].map(|at| values[at])
}
