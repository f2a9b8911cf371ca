//! Compares finding the nearest match within a distance with finding all matches: medians of rounds
//! in turn.
#![deny(unsafe_code)]

mod data;
mod turns;

use data::{Random, Spread, count_name};
use fpstore::{BuildOptions, Builder, Fingerprint, Searcher, Store, Warm};
use turns::{CaseTimes, Contender};

fn main() {
    let measuring = std::env::args().any(|argument| argument == "--bench");
    let asked = std::env::var("FPSTORE_BENCH_N").ok().and_then(|n| n.parse().ok());
    let count = if measuring { asked.unwrap_or(1_000_000) } else { 10_000 };
    let values = Spread::Clustered.fingerprints(count);
    let folder = tempfile::tempdir().expect("the system gives a directory");
    let mut builder =
        Builder::with_options(folder.path().join("bench.fps"), BuildOptions::default())
            .expect("the directory is new");
    for value in &values {
        builder.push_bare(Fingerprint::new(*value)).expect("there is room");
    }
    let store = builder.finish().expect("the store fits the disk");
    store.warm(Warm::All).expect("the store is sound");
    let mut random = Random::new(3);
    let mut rows: Vec<CaseTimes> = Vec::new();
    for k in [3, 5, 8] {
        for kind in ["stored", "near", "random"] {
            let queries: Vec<u64> = (0..if k == 8 { 300 } else { 3000 })
                .map(|_| match kind {
                    "stored" => random.pick(&values),
                    "near" => {
                        let value = random.pick(&values);
                        random.flip(value, 2)
                    }
                    _ => random.next(),
                })
                .collect();
            let case = format!("{} clustered, k = {k}, {kind}", count_name(count));
            rows.push(compare(&store, case, k, &queries));
        }
    }
    if measuring {
        turns::print(&rows);
    }
}

/// A way to find the nearest match; returns its distance.
type Ask = Box<dyn Fn(&mut Searcher, Fingerprint) -> u32>;

fn compare(store: &Store, case: String, k: u32, queries: &[u64]) -> CaseTimes {
    let len = store.info().file_len();
    let contender = |name, run: Ask| {
        let mut searcher = store.searcher();
        let run = move |queries: &[u64]| {
            queries.iter().map(|&query| u64::from(run(&mut searcher, query.into()))).sum()
        };
        Contender { name, len, queries, run: Box::new(run) }
    };
    let distance =
        |answer: fpstore::Answer<'_>| answer.hits().next().map_or(99, |hit| hit.distance());
    let all = move |searcher: &mut Searcher, needle: Fingerprint| {
        distance(searcher.search(needle, k).expect("the store is sound"))
    };
    let nearest = move |searcher: &mut Searcher, needle: Fingerprint| {
        distance(searcher.nearest(needle, 1, k).expect("the store is sound"))
    };
    let contenders =
        vec![contender("search", Box::new(all)), contender("nearest, one", Box::new(nearest))];
    turns::take(case, store.info().fingerprint_count(), contenders)
}
