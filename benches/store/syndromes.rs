//! Compares syndrome tables to tables of whole values: bytes, and the distribution of query
//! times, for single queries, batches, and queries with ids. One thread, data in memory.
//!
//! All stores contain the same fingerprints and ids. They take turns, each with other queries than
//! the previous store, so that no store finds its pages in the cache; all answers are compared
//! before the timing.
//!
//! - `FPSTORE_BENCH_N=100000000` measures only that number of fingerprints.
//! - `FPSTORE_BENCH_FILE=prints.hex` measures the fingerprints of a file with one per line in hex.
//! - `FPSTORE_BENCH_K=5` queries within 5 bits instead of 3, with stores tuned for it.
//! - `FPSTORE_BENCH_SCHEMES=halves,halves-syndrome12` compares these schemes.
#![deny(unsafe_code)]

mod data;

use std::time::Instant;

use data::{Counts, Spread, query_mix};
use fpstore::join::{BatchMode, JoinOptions, search_many};
use fpstore::{
    BuildOptions, Builder, Error, Fingerprint, Limits, SchemeChoice, Searcher, Store, Warm,
};
use tempfile::TempDir;

const COUNTS: [usize; 2] = [1_000_000, 10_000_000];
const COUNT_IN_TESTS: usize = 10_000;
const SCHEMES: &str = "halves,halves-syndrome11,halves-syndrome12,halves-syndrome14";
/// Number of queries that a store answers before the next store is measured.
const TURN: usize = 500;
const QUERIES: usize = 60_000;
const CHECKED: usize = 20_000;
/// Number of queries in a batch.
const BATCH: usize = 100_000;
const BATCHES: usize = 3;

fn main() {
    let k: u32 = setting("FPSTORE_BENCH_K").map_or(3, |k| k.parse().expect("K is a number"));
    let schemes = setting("FPSTORE_BENCH_SCHEMES").unwrap_or_else(|| SCHEMES.into());
    let schemes: Vec<&str> = schemes.split(',').collect();
    let Counts { counts, measuring, .. } = Counts::from_env(&COUNTS, COUNT_IN_TESTS);
    if let Some(path) = setting("FPSTORE_BENCH_FILE") {
        measure(&path, &read(&path), &schemes, k, measuring);
        return;
    }
    for count in counts {
        for spread in Spread::ALL {
            let name = format!("{} {count}", spread.name());
            measure(&name, &spread.fingerprints(count), &schemes, k, measuring);
        }
    }
}

fn setting(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

fn read(path: &str) -> Vec<u64> {
    let text = std::fs::read_to_string(path).unwrap_or_else(|fault| panic!("{path}: {fault}"));
    let value = |line: &str| {
        let hex = line.split(char::is_whitespace).next().unwrap_or_default();
        u64::from_str_radix(hex, 16).unwrap_or_else(|fault| panic!("{path}: '{line}': {fault}"))
    };
    text.lines().filter(|line| !line.is_empty()).map(value).collect()
}

/// A store with one scheme, and the times of its queries.
struct Contender {
    name: String,
    store: Store,
    searcher: Searcher,
    nanos: Vec<u32>,
    with_ids: Vec<u32>,
    batches: Vec<f64>,
    looked_up: u64,
    _folder: TempDir,
}

impl Contender {
    fn new(name: &str, values: &[u64], k: u32) -> Self {
        let folder = tempfile::tempdir().expect("the system gives a directory");
        let scheme = SchemeChoice::named(name, k).unwrap_or_else(|fault| panic!("{fault}"));
        let options = BuildOptions::default().scheme(scheme);
        let path = folder.path().join("bench.fps");
        let mut builder = Builder::with_options(path, options).expect("the directory is new");
        for (id, &value) in (0..).zip(values) {
            builder.push(Fingerprint::new(value), id).expect("the disk has room");
        }
        let store = builder.finish().expect("the disk has room");
        store.warm(Warm::All).expect("the file is sound");
        Contender {
            name: name.into(),
            searcher: store.searcher(),
            store,
            nanos: Vec::new(),
            with_ids: Vec::new(),
            batches: Vec::new(),
            looked_up: 0,
            _folder: folder,
        }
    }

    fn answer(&mut self, needle: u64, k: u32) -> Vec<(u64, u32)> {
        let answer = self.searcher.search(Fingerprint::new(needle), k).expect("the file is sound");
        answer.hits().map(|hit| (hit.fingerprint().value(), hit.distance())).collect()
    }

    fn time(&mut self, needles: &[u64], k: u32, with_ids: bool) {
        let mut ids = 0_u64;
        for &needle in needles {
            let start = Instant::now();
            let answer =
                self.searcher.search(Fingerprint::new(needle), k).expect("the file is sound");
            if with_ids {
                for hit in answer.hits() {
                    ids += hit.ids().count() as u64;
                }
            }
            let nanos = start.elapsed().as_nanos() as u32;
            self.looked_up += answer.outcome().stats.candidates;
            if with_ids { self.with_ids.push(nanos) } else { self.nanos.push(nanos) }
        }
        std::hint::black_box(ids);
    }

    /// A checksum of the answers to a batch, and nanoseconds per query.
    fn batch(&self, needles: &[Fingerprint], k: u32) -> (u64, f64) {
        let (start, mut sum) = (Instant::now(), 0_u64);
        let (options, limits) = (JoinOptions::new(k).threads(1), Limits::default());
        search_many(&self.store, needles, &options, &limits, BatchMode::Probe, |_, answer| {
            for hit in answer.hits() {
                sum = sum.wrapping_add(hit.fingerprint().value());
            }
            Ok::<(), Error>(())
        })
        .expect("the file is sound");
        (sum, start.elapsed().as_nanos() as f64 / needles.len() as f64)
    }
}

fn measure(name: &str, values: &[u64], schemes: &[&str], k: u32, measuring: bool) {
    let mut contenders: Vec<Contender> =
        schemes.iter().map(|scheme| Contender::new(scheme, values, k)).collect();
    let (queries, checked) =
        if measuring { (QUERIES, CHECKED) } else { (2 * TURN * schemes.len(), 500) };
    let slow = if k > 4 { 10 } else { 1 };
    let needles = query_mix(values, queries / slow);
    for &needle in needles.iter().take(checked / slow) {
        let expected = contenders[0].answer(needle, k);
        for contender in &mut contenders[1..] {
            assert_eq!(contender.answer(needle, k), expected, "{}: {needle:016x}", contender.name);
        }
    }
    let chunks: Vec<&[u64]> = needles.chunks(TURN).collect();
    let count = contenders.len();
    for turn in 0..chunks.len() {
        for place in 0..count {
            let number = (turn + place) % count;
            let chunk = chunks[(turn + number * (chunks.len() / count).max(1)) % chunks.len()];
            contenders[number].time(chunk, k, turn % 3 == 2);
        }
    }
    let batch: Vec<Fingerprint> =
        needles.iter().cycle().take(BATCH.min(needles.len() * 2)).map(|&v| v.into()).collect();
    for round in 0..if measuring { BATCHES } else { 1 } {
        let mut expected = None;
        for place in 0..count {
            let (sum, nanos) = contenders[(round + place) % count].batch(&batch, k);
            assert_eq!(*expected.get_or_insert(sum), sum, "batches tell other matches");
            contenders[(round + place) % count].batches.push(nanos);
        }
    }
    if measuring {
        print(name, &mut contenders, k);
    }
}

fn print(name: &str, contenders: &mut [Contender], k: u32) {
    println!("\n{name}, k = {k}; nanoseconds a query\n");
    println!("| scheme | B a fingerprint | p50 | mean | p99 | with ids p50 | batch | compared |");
    println!("|---|---:|---:|---:|---:|---:|---:|---:|");
    for contender in contenders.iter_mut() {
        let info = contender.store.info();
        let segment = &info.segments[0];
        let bits: f64 = segment.tables.iter().filter_map(|of| of.bits_per_fingerprint).sum();
        let asked = contender.nanos.len() + contender.with_ids.len();
        let [nanos, with_ids] = [&mut contender.nanos, &mut contender.with_ids];
        nanos.sort_unstable();
        with_ids.sort_unstable();
        contender.batches.sort_by(f64::total_cmp);
        let at = |of: &[u32], share: f64| of[(of.len() as f64 * share) as usize];
        let mean = nanos.iter().map(|&n| f64::from(n)).sum::<f64>() / nanos.len() as f64;
        println!(
            "| {} | {:.2} | {} | {mean:.0} | {} | {} | {:.0} | {:.2} |",
            contender.name,
            bits / 8.0,
            at(nanos, 0.5),
            at(nanos, 0.99),
            at(with_ids, 0.5),
            contender.batches[contender.batches.len() / 2],
            contender.looked_up as f64 / asked as f64,
        );
    }
    println!("\nsections of the last, in bytes a fingerprint:");
    if let Some(last) = contenders.last() {
        let info = last.store.info();
        let n = info.segments[0].fingerprint_count as f64;
        for section in &info.segments[0].sections {
            if section.section.table().is_some() && section.len > 0 {
                println!("- {}: {:.3}", section.section, section.len as f64 / n);
            }
        }
    }
}
