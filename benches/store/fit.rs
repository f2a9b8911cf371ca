//! Prints a row for each scheme, n and k: the measured time of a query, and the steps that the cost
//! model expects. `tools/fit_costs.py` fits the unit costs to these rows.
//!
//!     for run in 1 2 3; do cargo bench --bench fit > steps.$run.tsv; done
//!     python3 tools/fit_costs.py steps.*.tsv
#![deny(unsafe_code)]

mod clock;
mod data;

use std::hint::black_box;

use data::{Spread, query_mix};
use fpstore::plan::{Budget, PlanPath, PlanRequest, Sample, SchemeEstimate};
use fpstore::{
    BuildOptions, Builder, Fingerprint, Scheme, Searcher, Section, Store, TableIndex, Warm,
};

/// The schemes timed at each n.
const CASES: [(usize, &[&str]); 4] = [
    (10_000, &["1", "2", "3", "4", "6", "10", "14", "20"]),
    (100_000, &["1", "2", "3", "4", "6", "10", "14", "20"]),
    (1_000_000, &["1", "2", "3", "4", "6", "10", "14"]),
    (10_000_000, &["1", "2", "3", "4", "6"]),
];
/// The cases under `cargo test`, which only checks that the bench runs.
const CASES_IN_TESTS: [(usize, &[&str]); 1] = [(10_000, &["2", "4"])];
const QUERY_COUNT: usize = 30_000;
const ROUNDS: usize = 9;
/// Time limit of a round; the remaining queries are skipped.
const ROUND_NANOS: f64 = 25e6;

fn main() {
    let measuring = std::env::args().any(|argument| argument == "--bench");
    let cases: &[(usize, &[&str])] = if measuring { &CASES } else { &CASES_IN_TESTS };
    println!(
        "n\tscheme\tk\tway\tnanos\texpected\tfootprint\ttables\tprobes\tlines\tblocks\tchunks\twhole_chunks\tranges\t\
         heads_passed\theads_compared\textra_bytes\tcandidates\tscanned\twork_probes\twork_candidates"
    );
    for &(count, schemes) in cases {
        let fingerprints = Spread::Uniform.fingerprints(count);
        for &name in schemes {
            let scheme = Scheme::named(name, 3).expect("a family");
            time(name, &fingerprints, &scheme, None);
        }
    }
    // Data with constant bits: they cause long gaps, or blocks with many values if a mask contains
    // them.
    for (kind, mask) in [("crowded", u64::MAX >> 20), ("extended", 0xffff_ffff)] {
        for count in if measuring { vec![10_000, 100_000, 1_000_000] } else { vec![2_000] } {
            let mut fingerprints = Spread::Uniform.fingerprints(count);
            fingerprints.iter_mut().for_each(|value| *value &= mask);
            fingerprints.sort_unstable();
            fingerprints.dedup();
            let picked = fingerprints.iter().map(|&value| Fingerprint::new(value));
            let sample = Sample::pick(picked, 1 << 16).expect("enough of them");
            let budget = Budget::BytesPerFingerprint(40.0);
            let count = fingerprints.len() as u64;
            let request = PlanRequest::new(count, 3).sample(sample.clone()).budget(budget);
            let plan = request.plan().expect("a large budget");
            let live = plan.estimates.iter().filter(|e| e.within_budget && e.hot_micros < 20.0);
            for estimate in live.step_by(if measuring { 4 } else { 40 }) {
                let name = format!("{kind} {}", estimate.name);
                time(&name, &fingerprints, &estimate.scheme, Some(&sample));
            }
        }
    }
}

/// Prints the rows of one scheme.
fn time(name: &str, fingerprints: &[u64], scheme: &Scheme, sample: Option<&Sample>) {
    let queries = query_mix(fingerprints, QUERY_COUNT);
    let folder = tempfile::tempdir().expect("the system gives a directory");
    let options = BuildOptions::default().scheme(scheme.clone());
    let mut builder = Builder::with_options(folder.path().join("fit.fps"), options)
        .expect("the directory is new");
    fingerprints
        .iter()
        .for_each(|&value| builder.push_bare(Fingerprint::new(value)).expect("a bare value"));
    let store = builder.finish().expect("the store fits the disk");
    store.warm(Warm::All).expect("the store is whole");
    for k in 0..=7 {
        let request = PlanRequest::new(store.info().fingerprint_count(), k);
        let request = request.sample(sample.cloned());
        let estimate = request.estimate(name, scheme).expect("a distance");
        row(&store, &queries, &estimate, k);
    }
}

fn row(store: &Store, queries: &[u64], estimate: &SchemeEstimate, k: u32) {
    let (name, steps) = (&estimate.name, estimate.estimate);
    let expected = estimate.hot_micros * 1000.0;
    let n = store.info().fingerprint_count();
    let plan = store.plans(k).expect("a distance").remove(0);
    let (path, tables) = match &plan.path {
        PlanPath::Probe { tables } => ("probe", tables.iter().map(|t| t.table).collect()),
        PlanPath::Scan { table } => ("scan", vec![*table]),
    };
    // The block boundaries of an estimate may differ from the actual ones; if the searcher then
    // chose another way than the estimate, there is no row.
    if (path == "scan") != estimate.radii.is_none() {
        return;
    }
    let mut searcher = store.searcher();
    // The minimum over the rounds, because other load on the machine only adds to their times.
    let rounds = (0..ROUNDS).map(|_| ask(&mut searcher, queries, k).0);
    let nanos = rounds.fold(f64::INFINITY, f64::min);
    let (_, probes, candidates) = ask(&mut searcher, queries, k);
    println!(
        "{n}\t{name}\t{k}\t{path}\t{nanos:.1}\t{expected:.1}\t{}\t{}\t{}\t{}\t{:.2}\t{:.2}\t{:.2}\t{:.2}\t{:.2}\t{:.2}\t{:.2}\t{:.3}\t{}\t{probes:.2}\t{candidates:.3}",
        footprint(store, &tables),
        steps.tables,
        steps.probes,
        steps.lines,
        steps.blocks,
        steps.chunks,
        steps.whole_chunks,
        steps.ranges,
        steps.heads_passed,
        steps.heads_compared,
        steps.extra_bytes,
        steps.candidates,
        steps.scanned,
    );
}

/// Bytes of the indexes and heads of these tables.
fn footprint(store: &Store, tables: &[TableIndex]) -> u64 {
    let info = store.info();
    let hot = |section: &Section| match section {
        Section::PrefixIndex(table) | Section::Heads(table) => tables.contains(table),
        _ => false,
    };
    let sections = info.segments.iter().flat_map(|segment| &segment.sections);
    sections.filter(|info| hot(&info.section)).map(|info| info.len).sum()
}

/// Runs the queries. Returns nanoseconds, probes and candidates per query.
fn ask(searcher: &mut Searcher, queries: &[u64], k: u32) -> (f64, f64, f64) {
    let start = clock::nanos();
    let (mut asked, mut probes, mut candidates) = (0_u32, 0, 0);
    for &needle in queries {
        let answer = searcher.search(Fingerprint::new(needle), k).expect("the store is whole");
        let work = black_box(&answer).outcome().stats;
        probes += work.probes;
        candidates += work.candidates;
        asked += 1;
        if (asked == 1 || asked == 8 || asked.is_multiple_of(64))
            && clock::nanos() - start > ROUND_NANOS
        {
            break;
        }
    }
    let asked = f64::from(asked);
    ((clock::nanos() - start) / asked, probes as f64 / asked, candidates as f64 / asked)
}
