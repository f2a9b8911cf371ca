//! Compares a join in 200 shares with one join, and stores of many segments with stores of one:
//! medians of rounds in turn, in seconds of processor time on one thread.
//!
//! `FPSTORE_BENCH_N` sets the number of fingerprints, `FPSTORE_BENCH_ROUNDS` the rounds.
#![deny(unsafe_code)]

mod clock;
mod data;

use std::fmt::Debug;
use std::path::Path;

use data::{Spread, count_name, query_mix};
use fpstore::join::{
    BatchMode, JoinInput, JoinOptions, JoinPlan, PlanReads, Share, near_pairs, search_many,
};
use fpstore::{BuildOptions, Builder, Error, Fingerprint, Limits, Scheme, Store};

const K: u32 = 3;
const SHARES: u32 = 200;
const ROUNDS: usize = 3;

fn main() {
    let measuring = std::env::args().any(|argument| argument == "--bench");
    let number = |name: &str| std::env::var(name).ok().and_then(|n| n.parse::<usize>().ok());
    let asked = number("FPSTORE_BENCH_N").unwrap_or(10_000_000);
    let count = if measuring { asked } else { 20_000 };
    let rounds = if measuring { number("FPSTORE_BENCH_ROUNDS").unwrap_or(ROUNDS) } else { 1 };
    let folder = tempfile::tempdir().expect("the system gives a directory");
    let values = Spread::Clustered.fingerprints(count);
    let store = |name: &str, scheme, segments| {
        store_of(&folder.path().join(name), &values, scheme, segments)
    };
    println!("| case | contender | seconds, median | least to most | times the first |");
    println!("|---|---|---:|---:|---:|");
    let name = count_name(count);
    for scheme in ["blocks-5", "blocks-4"] {
        for segments in [1, 32] {
            let store = store(&format!("{scheme}-{segments}"), scheme, segments);
            ranges(&format!("shares/k3/{name}/{scheme}/{segments}-segments"), &store, rounds);
        }
    }
    let crowded = crowded(&values);
    let store_of_crowds = store_of(&folder.path().join("crowded"), &crowded, "blocks-4", 32);
    ranges(&format!("shares/k3/{name}/crowded/32-segments"), &store_of_crowds, rounds);
    everything(&format!("shares/k3/{name}/halves"), &store("halves", "2", 1), rounds);
    let (one, many) = (store("one", "2", 1), store("many", "2", 128));
    passes(&name, &one, &many, &values, rounds);
    empty(&name, &folder.path().join("many"), &many, &values, rounds);
}

/// Compares one join with all its shares, each of which reads only its ranges of the store.
fn ranges(case: &str, store: &Store, rounds: usize) {
    let plan = JoinPlan::of(store, K).expect("there is a plan for 3 bits");
    assert_eq!(plan.reads(), PlanReads::Ranges);
    let whole = || joined(store, &options());
    let shares = || all_shares(store, SHARES);
    take_turns(case, &[("one join", &whole), ("200 shares", &shares)], rounds);
    let mut slowest: f64 = 0.0;
    for number in 0..SHARES {
        let start = clock::nanos();
        joined(store, &options().share(Share { number, count: SHARES }));
        slowest = slowest.max(clock::nanos() - start);
    }
    println!("| {case} | the slowest share | {:.4} | | |", slowest / 1e9);
}

/// The same values, but a tenth of them agree on their first 16 bits.
fn crowded(values: &[u64]) -> Vec<u64> {
    let crowd = |(at, &value): (usize, &u64)| match at % 10 {
        0 => value & (u64::MAX >> 16) | 0x1234 << 48,
        _ => value,
    };
    values.iter().enumerate().map(crowd).collect()
}

/// Compares one join with eight shares, each of which reads the whole store.
fn everything(case: &str, store: &Store, rounds: usize) {
    let whole = || joined(store, &options());
    let shares = || all_shares(store, 8);
    take_turns(case, &[("one join", &whole), ("8 shares, of everything", &shares)], rounds);
}

/// Compares joins and batches over one segment and over 128 segments of the same fingerprints.
fn passes(name: &str, one: &Store, many: &Store, values: &[u64], rounds: usize) {
    let case = format!("join/k3/{name}/in-memory");
    let [of_one, of_many] = [one, many].map(|store| move || joined(store, &options()));
    take_turns(&case, &[("1 segment", &of_one), ("128 segments", &of_many)], rounds);

    let case = format!("join/k3/{name}/little-memory");
    let little = BuildOptions::memory_min(1).max(8 * values.len() as u64);
    let [of_one, of_many] =
        [one, many].map(|store| move || joined(store, &options().memory(little)));
    take_turns(&case, &[("1 segment", &of_one), ("128 segments", &of_many)], rounds);

    let queries = query_mix(values, values.len() / 10);
    let queries: Vec<Fingerprint> = queries.into_iter().map(Fingerprint::new).collect();
    let case = format!("batch/k3/{name}/by-passes");
    let answered = |store| batch(store, &queries, BatchMode::Pass);
    let (of_one, of_many) = (|| answered(one), || answered(many));
    take_turns(&case, &[("1 segment", &of_one), ("128 segments", &of_many)], rounds);
}

/// Compares batches of ten queries before and after an empty segment is added.
fn empty(name: &str, path: &Path, store: &Store, values: &[u64], rounds: usize) {
    let with_empty =
        Builder::append(path, BuildOptions::default()).and_then(Builder::finish).expect("it grows");
    let queries: Vec<Fingerprint> =
        query_mix(values, 1000).into_iter().map(Fingerprint::new).collect();
    let asked = |store| {
        let mut sum = Sum::default();
        for queries in queries.chunks(10) {
            let Sum(count, of_pairs) = batch(store, queries, BatchMode::Auto);
            sum = Sum(sum.0 + count, sum.1.wrapping_add(of_pairs));
        }
        sum
    };
    let (before, after) = (|| asked(store), || asked(&with_empty));
    let case = format!("batch/k3/{name}/10-queries-100-times");
    take_turns(&case, &[("128 segments", &before), ("and an empty one", &after)], rounds);
}

fn options() -> JoinOptions {
    JoinOptions::new(K).threads(1).memory(16 << 30)
}

fn joined<'a>(input: impl Into<JoinInput<'a>>, options: &JoinOptions) -> Sum {
    let mut sum = Sum::default();
    near_pairs(input, options, |pairs| {
        pairs.iter().for_each(|pair| sum.add(pair.first.value(), pair.second.value()));
        Ok::<(), Error>(())
    })
    .expect("the store is sound");
    sum
}

fn all_shares(store: &Store, count: u32) -> Sum {
    (0..count).fold(Sum::default(), |sum, number| {
        let Sum(more, of_pairs) = joined(store, &options().share(Share { number, count }));
        Sum(sum.0 + more, sum.1.wrapping_add(of_pairs))
    })
}

fn batch(store: &Store, queries: &[Fingerprint], mode: BatchMode) -> Sum {
    let mut sum = Sum::default();
    search_many(store, queries, &options(), &Limits::default(), mode, |at, answer| {
        answer.hits().for_each(|hit| sum.add(queries[at].value(), hit.fingerprint().value()));
        Ok::<(), Error>(())
    })
    .expect("the store is sound");
    sum
}

/// Builds a store without ids, with the given number of segments.
fn store_of(path: &Path, values: &[u64], scheme: &str, segments: usize) -> Store {
    let scheme = Scheme::named(scheme, K).expect("it is a family");
    let mut store = None;
    for part in values.chunks(values.len().div_ceil(segments)) {
        let options = BuildOptions::default().scheme(scheme.clone());
        let builder = match store {
            None => Builder::with_options(path, options),
            Some(_) => Builder::append(path, options),
        };
        let mut builder = builder.expect("the directory is ours");
        for &value in part {
            builder.push_bare(Fingerprint::new(value)).expect("there is space on the disk");
        }
        store = Some(builder.finish().expect("the store fits the disk"));
    }
    store.expect("there are values")
}

type Contender<'a> = (&'a str, &'a dyn Fn() -> Sum);

/// Runs the contenders in turn; all must return the same result. Prints medians of times and
/// ratios.
fn take_turns(case: &str, contenders: &[Contender<'_>], rounds: usize) {
    let mut seconds = vec![Vec::new(); contenders.len()];
    let mut told = None;
    for round in 0..rounds {
        for place in 0..contenders.len() {
            let number = (round + place) % contenders.len();
            let start = clock::nanos();
            let answer = contenders[number].1();
            seconds[number].push((clock::nanos() - start) / 1e9);
            assert_eq!(*told.get_or_insert(answer), answer, "{} differs", contenders[number].0);
        }
    }
    for (number, (name, _)) in contenders.iter().enumerate() {
        let ratios: Vec<f64> =
            seconds[number].iter().zip(&seconds[0]).map(|(a, b)| a / b).collect();
        let [least, median, most] = quartiles(&seconds[number]);
        let [_, ratio, _] = quartiles(&ratios);
        println!("| {case} | {name} | {median:.3} | {least:.3} to {most:.3} | {ratio:.2} |");
    }
}

/// The number of pairs and a checksum that does not depend on their order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Sum(u64, u64);

impl Sum {
    fn add(&mut self, one: u64, other: u64) {
        self.0 += 1;
        let distance = (one ^ other).count_ones();
        let both = one.wrapping_add(other).wrapping_mul(2 * u64::from(distance) + 1);
        self.1 = self.1.wrapping_add(both);
    }
}

/// The minimum, the median and the maximum of the values.
fn quartiles(values: &[f64]) -> [f64; 3] {
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    [0, sorted.len() / 2, sorted.len() - 1].map(|at| sorted[at])
}
