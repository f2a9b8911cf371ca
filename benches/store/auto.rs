//! Compares the scheme chosen by the planner with every other scheme within the same budget.
//! Prints a table of median times for all kinds of data, n and k. Times are CPU times of the
//! thread, so other load on the machine changes them little.
//!
//!     cargo bench --bench auto                            # up to 10^6
//!     FPSTORE_BENCH_N=10000000 cargo bench --bench auto   # one n; 0: only the repository's data
#![deny(unsafe_code)]

mod clock;
mod data;

use std::collections::HashMap;
use std::hint::black_box;

use data::{Counts, Spread, query_mix};
use fpstore::plan::{PlanRequest, Sample, SchemeEstimate};
use fpstore::{BuildOptions, Builder, Fingerprint, Scheme, Searcher, Store, Warm};
use tempfile::TempDir;

const COUNTS: [usize; 3] = [10_000, 100_000, 1_000_000];
/// The number of fingerprints under `cargo test`, which only checks that the bench runs.
const COUNT_IN_TESTS: usize = 2_000;
const DISTANCES: std::ops::RangeInclusive<u32> = 1..=7;
const QUERY_COUNT: usize = 3_000;
/// The number of rounds of all contenders in turn, and then of the fastest contenders.
const ROUNDS: usize = 3;
const FINAL_ROUNDS: usize = 15;
const FINALISTS: usize = 4;
const ROUND_NANOS: f64 = 12e6;

fn main() {
    let Counts { counts, chosen, .. } = Counts::from_env(&COUNTS, COUNT_IN_TESTS);
    println!("| data | n | k | auto | us | expected | best other | us | auto / other | others |");
    println!("|---|---:|---:|---|---:|---:|---|---:|---:|---:|");
    let mut worst = 0.0_f64;
    for &count in counts.iter().filter(|&&count| count > 0) {
        for (name, values) in made(count) {
            worst = worst.max(compare(name, values));
        }
    }
    if chosen.is_none_or(|count| count == 0) {
        for name in [
            "noto_emoji_phash64.hex",
            "pdq_video_frames_a.hex",
            "tang_store.tsv",
            "tlsh_malware_w0.hex",
        ] {
            worst = worst.max(compare(name, shipped(name)));
        }
    }
    println!("\nThe largest ratio is {worst:.2}.");
}

/// Synthetic data.
fn made(count: usize) -> Vec<(&'static str, Vec<u64>)> {
    let even = Spread::Uniform.fingerprints(count);
    let keep = |mask: u64| even.iter().map(|value| value & mask).collect::<Vec<u64>>();
    vec![
        ("uniform", even.clone()),
        ("clustered", Spread::Clustered.fingerprints(count)),
        ("20 dead leading bits", keep(u64::MAX >> 20)),
        ("20 dead bits here and there", keep(0xf3f0_7fcf_0fc3_fbcf)),
        ("32 bits, zero-extended", keep(0xffff_ffff)),
    ]
}

/// The fingerprints of a file in `tests/data`.
fn shipped(name: &str) -> Vec<u64> {
    let path = format!("{}/tests/data/{name}.zst", env!("CARGO_MANIFEST_DIR"));
    let mut values = Vec::new();
    fpstore::input::read_records(
        path.as_ref(),
        &fpstore::input::InputOptions::default(),
        |record| {
            values.push(record.fingerprint.value());
            Ok::<(), fpstore::Error>(())
        },
    )
    .expect("the data are there");
    values
}

/// Stores of one data set, keyed by their masks, built at the first use.
struct Stores {
    values: Vec<u64>,
    folder: TempDir,
    made: HashMap<Vec<u64>, Store>,
}

impl Stores {
    fn get(&mut self, scheme: &Scheme) -> Store {
        let path = self.folder.path().join(format!("{}.fps", self.made.len()));
        let values = &self.values;
        let make = || {
            let options = BuildOptions::default().scheme(scheme.clone());
            let mut builder = Builder::with_options(path, options).expect("the directory is new");
            values.iter().for_each(|&value| {
                builder.push_bare(Fingerprint::new(value)).expect("a bare value")
            });
            let store = builder.finish().expect("the store fits the disk");
            store.warm(Warm::All).expect("the store is whole");
            store
        };
        self.made.entry(scheme.masks().to_vec()).or_insert_with(make).clone()
    }
}

/// Prints a row for each k and returns the largest ratio.
fn compare(name: &str, mut values: Vec<u64>) -> f64 {
    values.sort_unstable();
    values.dedup();
    let picked = Sample::pick(values.iter().map(|&value| Fingerprint::new(value)), 1 << 16);
    let sample = picked.expect("enough of them");
    let queries = query_mix(&values, QUERY_COUNT);
    let count = values.len();
    let folder = tempfile::tempdir().expect("the system gives a directory");
    let mut stores = Stores { values, folder, made: HashMap::new() };
    let mut worst = 0.0_f64;
    for k in DISTANCES {
        let request = PlanRequest::new(count as u64, k).sample(sample.clone());
        let plan = request.plan().expect("two tables fit the default budget");
        let schemes: Vec<&SchemeEstimate> =
            plan.estimates.iter().filter(|estimate| estimate.within_budget).collect();
        let chosen = schemes.iter().position(|e| e.chosen).expect("one is chosen");
        let mut contenders: Vec<Contender> =
            schemes.iter().map(|e| Contender::new(stores.get(&e.scheme).searcher())).collect();
        contenders[chosen].stays = true;
        take_turns(&mut contenders, &queries, k, ROUNDS);
        let mut times: Vec<f64> =
            contenders.iter().filter(|c| !c.stays).map(Contender::median).collect();
        times.sort_unstable_by(f64::total_cmp);
        let bound = times.get(FINALISTS - 1).copied().unwrap_or(f64::INFINITY);
        contenders.iter_mut().for_each(|c| c.stays |= c.median() <= bound);
        contenders.iter_mut().for_each(|c| c.nanos.clear());
        take_turns(&mut contenders, &queries, k, FINAL_ROUNDS);
        let auto = contenders[chosen].median();
        let best = (0..contenders.len())
            .filter(|&at| at != chosen && !contenders[at].nanos.is_empty())
            .min_by(|&a, &b| contenders[a].median().total_cmp(&contenders[b].median()));
        let (other, other_name) = best.map_or((f64::INFINITY, "none"), |at| {
            (contenders[at].median(), schemes[at].name.as_str())
        });
        println!(
            "| {name} | {count} | {k} | {} | {:.2} | {:.2} | {other_name} | {:.2} | {:.2} | {} |",
            schemes[chosen].name,
            auto / 1000.0,
            schemes[chosen].hot_micros,
            other / 1000.0,
            auto / other,
            schemes.len() - 1,
        );
        worst = worst.max(auto / other);
    }
    worst
}

struct Contender {
    searcher: Searcher,
    /// Whether the contender takes part in the final rounds.
    stays: bool,
    nanos: Vec<f64>,
}

impl Contender {
    fn new(searcher: Searcher) -> Self {
        Contender { searcher, stays: false, nanos: Vec::new() }
    }

    fn median(&self) -> f64 {
        let mut sorted = self.nanos.clone();
        sorted.sort_unstable_by(f64::total_cmp);
        sorted.get(sorted.len() / 2).copied().unwrap_or(f64::INFINITY)
    }

    /// Runs a round, and returns nanoseconds per query. Skips the last queries of a long round.
    fn round(&mut self, queries: &[u64], k: u32) -> f64 {
        let start = clock::nanos();
        let mut asked = 0_u32;
        for &needle in queries {
            let answer = self.searcher.search(Fingerprint::new(needle), k);
            black_box(answer.expect("the store is whole").len());
            asked += 1;
            if (asked == 1 || asked == 8 || asked.is_multiple_of(64))
                && clock::nanos() - start > ROUND_NANOS
            {
                break;
            }
        }
        (clock::nanos() - start) / f64::from(asked)
    }
}

/// Runs rounds in turn: first with all contenders, in the final rounds only with those that stay.
fn take_turns(contenders: &mut [Contender], queries: &[u64], k: u32, rounds: usize) {
    let first = rounds == ROUNDS;
    for round in 0..rounds {
        for contender in contenders.iter_mut().filter(|c| first || c.stays) {
            // Queries differ between rounds, but all contenders get the same queries.
            let from = round * 997 % queries.len();
            let nanos = contender.round(&queries[from..], k);
            contender.nanos.push(nanos);
        }
    }
}
