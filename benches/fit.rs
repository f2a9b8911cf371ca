//! What queries take beside the steps that the cost model expects: a row for each scheme, n and
//! k, from which the unit costs are fitted (`tools/fit_costs.py`).
//!
//!     for run in 1 2 3; do cargo bench --bench fit > steps.$run.tsv; done
//!     python3 tools/fit_costs.py steps.*.tsv
#![deny(unsafe_code)]

mod data;

use std::hint::black_box;
use std::time::{Duration, Instant};

use data::{Spread, query_mix};
use fpstore::{
    BuildOptions, Builder, Fingerprint, Plan, Scheme, Searcher, Section, Store, TableIndex, Warm,
};

/// The schemes that are timed at each n.
const CASES: [(usize, &[&str]); 4] = [
    (10_000, &["1", "2", "3", "4", "6", "10", "14", "20"]),
    (100_000, &["1", "2", "3", "4", "6", "10", "14", "20"]),
    (1_000_000, &["1", "2", "3", "4", "6", "10", "14"]),
    (10_000_000, &["1", "2", "3", "4", "6"]),
];
/// Enough to see that everything runs, when cargo tests rather than measures.
const CASES_IN_TESTS: [(usize, &[&str]); 1] = [(10_000, &["2", "4"])];
const QUERY_COUNT: usize = 30_000;
const ROUNDS: usize = 9;
/// A round ends after so long, whether all queries were asked or not.
const ROUND_TIME: Duration = Duration::from_millis(25);

fn main() {
    let measuring = std::env::args().any(|argument| argument == "--bench");
    let cases: &[(usize, &[&str])] = if measuring { &CASES } else { &CASES_IN_TESTS };
    println!(
        "n\tscheme\tk\tway\tnanos\texpected\tfootprint\ttables\tprobes\tlines\tblocks\tranges\t\
         heads_passed\theads_compared\tcandidates\tscanned\twork_probes\twork_candidates"
    );
    for &(count, schemes) in cases {
        let fingerprints = Spread::Uniform.fingerprints(count);
        let queries = query_mix(&fingerprints, QUERY_COUNT);
        for &name in schemes {
            let folder = tempfile::tempdir().expect("the system gives a directory");
            let scheme = Scheme::named(name, 3).expect("a family");
            let options = BuildOptions::default().scheme(scheme);
            let mut builder = Builder::with_options(folder.path().join("fit.fps"), options)
                .expect("the directory is new");
            fingerprints.iter().for_each(|&value| builder.push_bare(Fingerprint::new(value)));
            let store = builder.finish().expect("the store fits the disk");
            store.warm(Warm::All).expect("the store is whole");
            for k in 0..=7 {
                row(&store, &queries, name, k);
            }
        }
    }
}

fn row(store: &Store, queries: &[u64], name: &str, k: u32) {
    let n = store.info().fingerprint_count();
    let plan = store.plans(k).expect("a distance").remove(0);
    let (way, expected, effort, tables) = match &plan {
        Plan::Probe { tables, expected_nanos, effort, .. } => {
            ("probe", *expected_nanos, *effort, tables.iter().map(|t| t.table).collect())
        }
        Plan::Scan { table, expected_nanos, effort, .. } => {
            ("scan", *expected_nanos, *effort, vec![*table])
        }
        other => panic!("{other:?}"),
    };
    let mut searcher = store.searcher();
    // The least: what disturbs a round only ever adds to it.
    let rounds = (0..ROUNDS).map(|_| ask(&mut searcher, queries, k).0);
    let nanos = rounds.fold(f64::INFINITY, f64::min);
    let (_, probes, candidates) = ask(&mut searcher, queries, k);
    println!(
        "{n}\t{name}\t{k}\t{way}\t{nanos:.1}\t{expected:.1}\t{}\t{}\t{}\t{}\t{:.2}\t{:.2}\t{:.2}\t{:.2}\t{:.3}\t{}\t{probes:.2}\t{candidates:.3}",
        footprint(store, &tables),
        effort.tables,
        effort.probes,
        effort.lines,
        effort.blocks,
        effort.ranges,
        effort.heads_passed,
        effort.heads_compared,
        effort.candidates,
        effort.scanned,
    );
}

/// Bytes of indexes and heads of these tables.
fn footprint(store: &Store, tables: &[TableIndex]) -> u64 {
    let info = store.info();
    let hot = |section: &Section| match section {
        Section::PrefixIndex(table) | Section::Heads(table) => tables.contains(table),
        _ => false,
    };
    let sections = info.segments.iter().flat_map(|segment| &segment.sections);
    sections.filter(|info| hot(&info.section)).map(|info| info.len).sum()
}

/// Nanoseconds, probes and candidates a query.
fn ask(searcher: &mut Searcher, queries: &[u64], k: u32) -> (f64, f64, f64) {
    let start = Instant::now();
    let (mut asked, mut probes, mut candidates) = (0_u32, 0, 0);
    for &needle in queries {
        let answer = searcher.search(Fingerprint::new(needle), k).expect("the store is whole");
        let work = black_box(&answer).outcome().work;
        probes += work.probes;
        candidates += work.candidates;
        asked += 1;
        if asked.is_multiple_of(64) && start.elapsed() > ROUND_TIME {
            break;
        }
    }
    let asked = f64::from(asked);
    (start.elapsed().as_nanos() as f64 / asked, probes as f64 / asked, candidates as f64 / asked)
}
