//! All pairs within 3 bits, compared with ten permuted and sorted copies: medians of rounds in
//! turn. With `FPSTORE_BENCH_K=12`, all pairs within 12 bits, on one thread and on two.
#![deny(unsafe_code)]

mod data;
mod pairs_baseline;

use std::fmt::Debug;
use std::time::Instant;

use data::{Spread, count_name};
use fpstore::join::{ClusterMethod, JoinOptions, clusters, near_pairs};
use fpstore::{BuildOptions, Builder, Error, Fingerprint, Scheme, Store};
use tempfile::TempDir;

const ROUNDS: usize = 7;
const ROUNDS_OF_STORES: usize = 3;

fn main() {
    let measuring = std::env::args().any(|argument| argument == "--bench");
    let number = |name: &str| std::env::var(name).ok().and_then(|n| n.parse::<usize>().ok());
    let asked = number("FPSTORE_BENCH_N");
    let counts = match (measuring, asked) {
        (false, _) => vec![10_000],
        (true, Some(count)) => vec![count],
        (true, None) => vec![1_000_000, 10_000_000],
    };
    println!("| case | contender | seconds, median | least to most | times the first |");
    println!("|---|---|---:|---:|---:|");
    let most = number("FPSTORE_BENCH_ROUNDS").unwrap_or(ROUNDS);
    let rounds = if measuring { most } else { 1 };
    if let Some(k) = number("FPSTORE_BENCH_K") {
        for (count, spread) in counts.iter().flat_map(|&n| Spread::ALL.map(|spread| (n, spread))) {
            within(k as u32, spread, count, rounds);
        }
        return;
    }
    for count in counts {
        for spread in Spread::ALL {
            compare(spread, count, rounds);
        }
        if measuring {
            bounded(count, rounds.min(ROUNDS_OF_STORES));
            crowded(count, rounds.min(ROUNDS_OF_STORES));
        }
    }
}

/// Joins a store with memory for all its fingerprints, and with at most 1 GiB.
fn bounded(count: usize, rounds: usize) {
    let folder = tempfile::tempdir().expect("the system gives a directory");
    let values = Spread::Clustered.fingerprints(count);
    let store = store_of(&folder, "all.fps", values.into_iter().zip(0..), false);
    let join = |memory: u64, threads| {
        let options = JoinOptions::new(3).memory(memory).threads(threads);
        let mut sum = Sum::default();
        near_pairs(&store, &options, |pairs| {
            pairs.iter().for_each(|pair| sum.add(pair.first.value(), pair.second.value()));
            Ok::<(), Error>(())
        })
        .expect("the store is sound");
        sum
    };
    let little = (1 << 30).min(11 * count as u64).max(64 << 20);
    let whole = || join(64 << 30, 2);
    let in_little = || join(little, 2);
    let contenders: [Contender<'_, Sum>; 2] =
        [("all in memory, 2 threads", &whole), ("1 GiB or 11 bytes each, 2 threads", &in_little)];
    take_turns(&format!("join/k3/{}/store", count_name(count)), &contenders, rounds);
}

/// Measures clusters of distinct values, and clusters of the same values and a tenth more values
/// that are all equal.
fn crowded(count: usize, rounds: usize) {
    let folder = tempfile::tempdir().expect("the system gives a directory");
    let equal = count / 10;
    let values = Spread::Clustered.fingerprints(count - equal);
    let copies = std::iter::repeat_n(values[0], equal);
    let (plain, with_copies) =
        (values.iter().copied().zip(0..), values.iter().copied().chain(copies).zip(0..));
    let plain = store_of(&folder, "plain.fps", plain, true);
    let with_copies = store_of(&folder, "copies.fps", with_copies, true);
    let cluster = |store: &Store| {
        let found = clusters(store, &JoinOptions::new(3), ClusterMethod::Components);
        let mut count = 0;
        found
            .and_then(|found| {
                found.for_each(|_| {
                    count += 1;
                    Ok::<(), Error>(())
                })
            })
            .expect("the store is sound");
        count > 0
    };
    let (plain, with_copies) = (|| cluster(&plain), || cluster(&with_copies));
    let contenders: [Contender<'_, bool>; 2] =
        [("no copies", &plain), ("a tenth more, all equal", &with_copies)];
    take_turns(&format!("cluster/k3/{}", count_name(count)), &contenders, rounds);
}

fn store_of(
    folder: &TempDir,
    name: &str,
    records: impl Iterator<Item = (u64, u64)>,
    with_ids: bool,
) -> Store {
    let scheme = Scheme::named("1", 3).expect("an archive is a family");
    let options = BuildOptions::default().scheme(scheme);
    let path = folder.path().join(name);
    let mut builder = Builder::with_options(path, options).expect("the directory is new");
    for (value, id) in records {
        let fingerprint = Fingerprint::new(value);
        let pushed =
            if with_ids { builder.push(fingerprint, id) } else { builder.push_bare(fingerprint) };
        pushed.expect("there is space on the disk");
    }
    builder.finish().expect("the store fits the disk")
}

fn compare(spread: Spread, count: usize, rounds: usize) {
    let values = distinct(spread, count);
    let fingerprints: Vec<Fingerprint> = values.iter().copied().map(Fingerprint::new).collect();
    let one = || joined(&fingerprints, 3, 1);
    let two = || joined(&fingerprints, 3, 2);
    let baseline = || {
        let mut sum = Sum::default();
        pairs_baseline::near_pairs(&values, |a, b| sum.add(a, b));
        sum
    };
    let contenders: [Contender<'_, Sum>; 3] = [
        ("ten sorted copies, 1 thread", &baseline),
        ("fpstore, 1 thread", &one),
        ("fpstore, 2 threads", &two),
    ];
    let case = format!("join/k3/{}/{}", count_name(count), spread.name());
    take_turns(&case, &contenders, rounds);
}

fn within(k: u32, spread: Spread, count: usize, rounds: usize) {
    let values = distinct(spread, count);
    let fingerprints: Vec<Fingerprint> = values.into_iter().map(Fingerprint::new).collect();
    let one = || joined(&fingerprints, k, 1);
    let two = || joined(&fingerprints, k, 2);
    let contenders: [Contender<'_, Sum>; 2] =
        [("fpstore, 1 thread", &one), ("fpstore, 2 threads", &two)];
    take_turns(&format!("join/k{k}/{}/{}", count_name(count), spread.name()), &contenders, rounds);
}

fn distinct(spread: Spread, count: usize) -> Vec<u64> {
    let mut values = spread.fingerprints(count);
    values.sort_unstable();
    values.dedup();
    values
}

type Contender<'a, R> = (&'a str, &'a dyn Fn() -> R);

/// Runs the contenders in turn; all must return the same result. Prints medians of times and
/// ratios.
fn take_turns<R: Copy + PartialEq + Debug>(
    case: &str,
    contenders: &[Contender<'_, R>],
    rounds: usize,
) {
    let mut seconds = vec![Vec::new(); contenders.len()];
    let mut told = None;
    for round in 0..rounds {
        for place in 0..contenders.len() {
            let number = (round + place) % contenders.len();
            let start = Instant::now();
            let answer = contenders[number].1();
            seconds[number].push(start.elapsed().as_secs_f64());
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

fn joined(fingerprints: &[Fingerprint], k: u32, threads: usize) -> Sum {
    let options = JoinOptions::new(k).threads(threads);
    let mut sum = Sum::default();
    near_pairs(fingerprints, &options, |pairs| {
        pairs.iter().for_each(|pair| sum.add(pair.first.value(), pair.second.value()));
        Ok::<(), Error>(())
    })
    .expect("values in memory can be joined");
    sum
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
