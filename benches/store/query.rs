//! Single queries, data in memory, one thread: fpstore, raw tables, a linear scan.
//!
//! Criterion times each contender separately. For the final table they take turns over the same
//! queries, so that other load on the machine slows down all of them equally.
//! `FPSTORE_BENCH_N=100000000` prints only the table for that many fingerprints.
#![deny(unsafe_code)]

mod baseline;
mod data;
mod turns;

use std::hint::black_box;
use std::time::Duration;

use baseline::{LinearScan, Matches, RawBucketed};
use criterion::Criterion;
use data::{Counts, QUERY_COUNT, Spread, count_name, query_mix};
use fpstore::{BuildOptions, Builder, Fingerprint, Scheme, Searcher, Store, Warm};
use tempfile::TempDir;
use turns::{CaseTimes, Contender};

const K: u32 = 3;
const COUNTS: [usize; 3] = [100_000, 1_000_000, 10_000_000];
/// The number of fingerprints under `cargo test`, which only checks that the bench runs.
const COUNT_IN_TESTS: usize = 10_000;
/// Number of queries whose answers are compared between all contenders before the timing.
const CHECKED_COUNT: usize = 6_000;
/// The number of values that a scan compares in a round, which limits the number of its queries.
const SCANNED_PER_ROUND: usize = 20_000_000;

fn main() {
    let Counts { counts, chosen, measuring } = Counts::from_env(&COUNTS, COUNT_IN_TESTS);
    let mut criterion = Criterion::default()
        .sample_size(10)
        .warm_up_time(Duration::from_millis(300))
        .measurement_time(Duration::from_millis(700))
        .configure_from_args();
    let mut rows = Vec::new();
    for count in counts {
        for spread in Spread::ALL {
            let case = Case::new(spread, count);
            case.check();
            if chosen.is_none() {
                case.time_alone(&mut criterion);
            }
            if measuring {
                rows.push(case.take_turns());
            }
        }
    }
    turns::print(&rows);
    criterion.final_summary();
}

/// One data set in all representations, with its queries.
struct Case {
    spread: Spread,
    count: usize,
    queries: Vec<u64>,
    /// A store whose pages were verified by queries. Each query still tests the bits that record
    /// the verified pages.
    touched: Store,
    /// The same files, verified completely at once, so that queries need not test those bits.
    warmed: Store,
    bucketed: RawBucketed,
    linear: LinearScan,
    _folder: TempDir,
}

impl Case {
    fn new(spread: Spread, count: usize) -> Self {
        let fingerprints = spread.fingerprints(count);
        let queries = query_mix(&fingerprints, QUERY_COUNT);
        let bucketed = RawBucketed::new(&fingerprints);
        let linear = LinearScan::new(&fingerprints);
        let folder = tempfile::tempdir().expect("the system gives a directory");
        let path = folder.path().join("bench.fps");
        let scheme = Scheme::named("2", K).expect("two halves are a family");
        let options = BuildOptions::default().scheme(scheme);
        let mut builder = Builder::with_options(&path, options).expect("the directory is new");
        fingerprints
            .into_iter()
            .for_each(|value| builder.push_bare(Fingerprint::new(value)).unwrap());
        let touched = builder.finish().expect("the store fits the disk");
        let warmed = Store::open(&path).expect("the store was just made");
        warmed.warm(Warm::All).expect("the store is whole");
        Case { spread, count, queries, touched, warmed, bucketed, linear, _folder: folder }
    }

    /// Fails unless all contenders return the same matches. Also loads all pages that they need.
    fn check(&self) {
        let name = (self.spread.name(), self.count);
        let (mut touched, mut warmed) = (self.touched.searcher(), self.warmed.searcher());
        let (mut found, mut expected) = (Matches::new(), Matches::new());
        for &needle in &self.queries[..CHECKED_COUNT] {
            self.bucketed.search(needle, &mut expected);
            for searcher in [&mut touched, &mut warmed] {
                ask(searcher, needle, |distance, value| found.push((distance, value)));
                assert_eq!(found, expected, "{name:?}, needle {needle:016x}");
                found.clear();
            }
        }
        for &needle in self.scanned() {
            self.bucketed.search(needle, &mut expected);
            self.linear.search(needle, &mut found);
            assert_eq!(found, expected, "{name:?}, needle {needle:016x}");
        }
        ask_all(&mut touched, &self.queries);
        for searcher in [&mut touched, &mut warmed] {
            let pages_checked = ask_all(searcher, &self.queries).pages_checked;
            assert_eq!(pages_checked, 0, "{name:?}: a page was not yet verified");
        }
    }

    /// The queries that the scan answers.
    fn scanned(&self) -> &[u64] {
        &self.queries[..(SCANNED_PER_ROUND / self.count).clamp(3, QUERY_COUNT)]
    }

    fn time_alone(&self, criterion: &mut Criterion) {
        let mut group = criterion.benchmark_group(format!("query/k{K}/{}", count_name(self.count)));
        let name = |who: &str| format!("{}-{who}", self.spread.name());
        let mut searcher = self.touched.searcher();
        let mut matches = Matches::new();

        let mut needles = self.queries.iter().copied().cycle();
        group.bench_function(name("fpstore"), |bencher| {
            bencher.iter(|| {
                let needle = needles.next().expect("a cycle has no end");
                ask(&mut searcher, needle, |distance, value| {
                    black_box((distance, value));
                })
            });
        });
        let mut needles = self.queries.iter().copied().cycle();
        group.bench_function(name("bucketed"), |bencher| {
            bencher.iter(|| {
                let needle = needles.next().expect("a cycle has no end");
                self.bucketed.search(needle, &mut matches);
                black_box(&matches).len()
            });
        });
        let mut needles = self.queries.iter().copied().cycle();
        group.bench_function(name("scan"), |bencher| {
            bencher.iter(|| {
                let needle = needles.next().expect("a cycle has no end");
                self.linear.search(needle, &mut matches);
                black_box(&matches).len()
            });
        });
        group.finish();
    }

    fn take_turns(&self) -> CaseTimes {
        let (mut touched, mut warmed) = (self.touched.searcher(), self.warmed.searcher());
        let mut matches = Matches::new();
        let mut also_matches = Matches::new();
        let info = self.touched.info();
        let contenders = vec![
            Contender {
                name: "fpstore",
                len: info.file_len(),
                queries: &self.queries,
                run: Box::new(|queries| ask_all(&mut touched, queries).sum),
            },
            Contender {
                name: "fpstore, warmed",
                len: info.file_len(),
                queries: &self.queries,
                run: Box::new(|queries| ask_all(&mut warmed, queries).sum),
            },
            Contender {
                name: "raw bucketed",
                len: self.bucketed.memory_len() as u64,
                queries: &self.queries,
                run: Box::new(|queries| {
                    fold_all(queries, &mut matches, |needle, m| self.bucketed.search(needle, m))
                }),
            },
            Contender {
                name: "linear scan",
                len: 8 * info.fingerprint_count(),
                queries: self.scanned(),
                run: Box::new(|queries| {
                    fold_all(queries, &mut also_matches, |needle, m| self.linear.search(needle, m))
                }),
            },
        ];
        let case = format!("{}, {}", count_name(self.count), self.spread.name());
        turns::take(case, info.fingerprint_count(), contenders)
    }
}

/// The sum of the answers to many queries.
#[derive(Default)]
struct AnswerSum {
    /// A checksum: equal for equal matches.
    sum: u64,
    pages_checked: u64,
}

/// Calls `take` with each match of one query and returns the number of pages verified.
fn ask(searcher: &mut Searcher, needle: u64, mut take: impl FnMut(u32, u64)) -> u64 {
    let answer = searcher.search(Fingerprint::new(needle), K).expect("the store is whole");
    answer.hits().for_each(|hit| take(hit.distance(), hit.fingerprint().value()));
    answer.outcome().stats.pages_checked
}

fn ask_all(searcher: &mut Searcher, queries: &[u64]) -> AnswerSum {
    let mut told = AnswerSum::default();
    for &needle in queries {
        let sum = &mut told.sum;
        let pages = ask(searcher, needle, |distance, value| add(sum, distance, value));
        told.pages_checked += pages;
    }
    told
}

fn fold_all(
    queries: &[u64],
    matches: &mut Matches,
    mut search: impl FnMut(u64, &mut Matches),
) -> u64 {
    let mut sum = 0;
    for &needle in queries {
        search(needle, matches);
        matches.iter().for_each(|&(distance, value)| add(&mut sum, distance, value));
    }
    sum
}

fn add(sum: &mut u64, distance: u32, value: u64) {
    *sum = sum.wrapping_add(value.rotate_left(distance));
}
