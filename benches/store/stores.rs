//! Compares queries of twelve stores opened as one with queries of one store of all their records:
//! medians of rounds in turn.
#![deny(unsafe_code)]

mod data;

use std::time::Instant;

use data::{Counts, Spread, count_name, query_mix};
use fpstore::join::{BatchMode, JoinOptions, search_many};
use fpstore::{Builder, Error, Fingerprint, Limits, Store, Stores, Warm};

const K: u32 = 3;
const STORES: usize = 12;
const ROUNDS: usize = 9;

/// Runs all queries on a store, and returns a checksum of the answers.
type Way<'a> = &'a dyn Fn(&Store) -> u64;

fn main() {
    let counts = Counts::from_env(&[1_200_000], 12_000);
    let rounds = if counts.measuring { ROUNDS } else { 1 };
    let queries = if counts.measuring { 100_000 } else { 1000 };
    println!(
        "| case | contender | microseconds a query, median | least to most | times one store |"
    );
    println!("|---|---|---:|---:|---:|");
    for count in counts.counts {
        for spread in Spread::ALL {
            compare(spread, count, queries, rounds);
        }
    }
}

fn compare(spread: Spread, count: usize, query_count: usize, rounds: usize) {
    let folder = tempfile::tempdir().expect("the system gives a directory");
    let stored = spread.fingerprints(count);
    let queries = query_mix(&stored, query_count);
    let queries: Vec<Fingerprint> = queries.into_iter().map(Fingerprint::new).collect();
    let build = |name: &str, values: &[u64]| -> Store {
        let mut builder = Builder::new(folder.path().join(name)).expect("the directory is new");
        for value in values {
            builder.push_bare(Fingerprint::new(*value)).expect("there is room");
        }
        builder.finish().expect("the store fits the disk")
    };
    let one = build("all.fps", &stored);
    let parts = stored.chunks(count.div_ceil(STORES)).enumerate();
    let parts: Vec<Store> = parts.map(|(at, part)| build(&format!("{at}.fps"), part)).collect();
    let stores = Stores::of(&parts).expect("the stores go together");
    for store in [&one, stores.as_store()] {
        store.warm(Warm::All).expect("the store is sound");
    }
    let one_by_one = |store: &Store| {
        let mut searcher = store.searcher();
        let mut sum = 0;
        for &query in &queries {
            let answer = searcher.search(query, K).expect("the store is sound");
            sum = answer.hits().fold(sum, |sum, hit| told(sum, query, hit.fingerprint()));
        }
        sum
    };
    let at_once = |store: &Store| {
        let options = JoinOptions::new(K).threads(2);
        let (limits, mode) = (Limits::default(), BatchMode::Auto);
        let mut sum = 0;
        search_many(store, &queries, &options, &limits, mode, |at, answer| {
            sum = answer.hits().fold(sum, |sum, hit| told(sum, queries[at], hit.fingerprint()));
            Ok::<(), Error>(())
        })
        .expect("the store is sound");
        sum
    };
    // Each way of querying: first one store, then twelve.
    let ways: [(&str, Way<'_>); 2] =
        [("one by one, 1 thread", &one_by_one), ("at once, 2 threads", &at_once)];
    for (way, ask) in ways {
        let contenders = [("one store", &one), ("twelve stores", stores.as_store())];
        let mut micros = [Vec::new(), Vec::new()];
        let mut expected = None;
        for round in 0..rounds {
            for place in 0..contenders.len() {
                let number = (round + place) % contenders.len();
                let start = Instant::now();
                let sum = ask(contenders[number].1);
                micros[number].push(start.elapsed().as_secs_f64() * 1e6 / query_count as f64);
                assert_eq!(sum, *expected.get_or_insert(sum), "{way} finds others");
            }
        }
        for (number, (name, _)) in contenders.iter().enumerate() {
            let ratios = micros[number].iter().zip(&micros[0]).map(|(a, b)| a / b).collect();
            let ([least, median, most], [_, ratio, _]) =
                (spread_of(micros[number].clone()), spread_of(ratios));
            println!(
                "| stores/k{K}/{}/{} | {name}, {way} | {median:.2} | {least:.2} to {most:.2} | \
                 {ratio:.2} |",
                count_name(count),
                spread.name()
            );
        }
    }
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
