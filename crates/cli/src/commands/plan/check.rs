//! The expected cost of the queries of a store beside the measured one.

use std::io::Write;
use std::time::Instant;

use fpstore::plan::{PlanRequest, Sample, UnitCosts};
use fpstore::{Fingerprint, SearchStats, Store};
use serde::Serialize;

use crate::args::report_args::ReportOut;
use crate::output::text::{ReportFormat, counted};

/// The most queries that are measured; each is for a stored fingerprint.
const QUERY_COUNT: usize = 2000;
/// Rounds of queries; the fastest counts, since other stats of the machine only adds.
const ROUNDS: usize = 5;

/// Runs queries for a sample of the store and prints expected and measured numbers.
pub(crate) fn run(
    store: &Store,
    k: u32,
    costs: UnitCosts,
    mut to: ReportOut,
) -> anyhow::Result<()> {
    let sample = Sample::of_store(store)?;
    let needles: Vec<Fingerprint> = sample.fingerprints().take(QUERY_COUNT).collect();
    let expected = Expected::of(store, k, &sample, costs)?;
    let found = Measured::of(store, k, &needles)?;
    let rows = [
        Row::new("bytes of tables", expected.tables_len, found.tables_len),
        Row::new("probes", expected.probes, found.probes),
        Row::new("candidates", expected.candidates, found.candidates),
        Row::new("values scanned", expected.scanned, found.scanned),
        Row::new("microseconds, planner", expected.micros, found.micros),
        Row::new("microseconds, --explain", expected.explained_micros, found.micros),
    ];
    match to.format {
        ReportFormat::Json => {
            let report = Report { k, queries: needles.len(), rows: &rows };
            to.write_json(&report)?;
        }
        ReportFormat::Text => {
            let out = &mut to.out;
            let queries =
                counted(needles.len() as u64, "stored fingerprint", "stored fingerprints");
            writeln!(out, "k = {k}; means of queries for {queries}, data in memory\n")?;
            writeln!(out, "{:<24} {:>14} {:>14} {:>7}", "", "expected", "found", "ratio")?;
            for row in rows {
                let ratio = row.ratio.map_or("-".into(), |ratio| format!("{ratio:.2}"));
                let (expected, found) = (row.expected, row.found);
                writeln!(out, "{:<24} {expected:>14.2} {found:>14.2} {ratio:>7}", row.what)?;
            }
        }
    }
    to.finish()?;
    Ok(())
}

#[derive(Serialize)]
struct Report<'a> {
    k: u32,
    queries: usize,
    rows: &'a [Row],
}

#[derive(Serialize)]
struct Row {
    what: &'static str,
    expected: f64,
    found: f64,
    /// Expected divided by found; `null` where nothing was found.
    ratio: Option<f64>,
}

impl Row {
    fn new(what: &'static str, expected: f64, found: f64) -> Row {
        let ratio = (found > 0.0).then(|| expected / found);
        Row { what, expected, found, ratio }
    }
}

/// Sums over the segments of the store.
#[derive(Default)]
struct Expected {
    tables_len: f64,
    probes: f64,
    candidates: f64,
    scanned: f64,
    micros: f64,
    explained_micros: f64,
}

impl Expected {
    fn of(store: &Store, k: u32, sample: &Sample, costs: UnitCosts) -> anyhow::Result<Self> {
        let explained_micros = store.expected_nanos(k)? / 1000.0;
        let mut sum = Expected { explained_micros, ..Expected::default() };
        for segment in &store.info().segments {
            let scheme = segment.scheme()?;
            let request = PlanRequest::new(segment.fingerprint_count.max(1), k).costs(costs);
            let estimate = request.sample(sample.clone()).estimate("stored", &scheme)?;
            sum.tables_len += estimate.tables_len;
            sum.probes += estimate.estimate.probes;
            sum.candidates += estimate.estimate.candidates + estimate.estimate.look_ups;
            sum.scanned += estimate.estimate.scanned;
            sum.micros += estimate.hot_micros;
        }
        Ok(sum)
    }
}

/// Means over the queries.
struct Measured {
    tables_len: f64,
    probes: f64,
    candidates: f64,
    scanned: f64,
    micros: f64,
}

impl Measured {
    fn of(store: &Store, k: u32, needles: &[Fingerprint]) -> anyhow::Result<Self> {
        let mut searcher = store.searcher();
        let (mut micros, mut query_count, mut sum) = (f64::INFINITY, 0, SearchStats::default());
        for _ in 0..ROUNDS {
            // The first round touches every page.
            (sum, query_count) = (SearchStats::default(), 0);
            let start = Instant::now();
            for &needle in needles {
                sum += searcher.search(needle, k)?.outcome().stats;
                query_count += 1;
                if start.elapsed().as_millis() > 500 {
                    break;
                }
            }
            micros =
                micros.min(start.elapsed().as_secs_f64() * 1e6 / f64::from(query_count.max(1)));
        }
        let mean = |count: u64| count as f64 / f64::from(query_count.max(1));
        let info = store.info();
        let tables = info.segments.iter().flat_map(|segment| {
            let n = segment.fingerprint_count as f64;
            segment.tables.iter().filter_map(move |t| Some(t.bits_per_fingerprint? * n / 8.0))
        });
        Ok(Measured {
            tables_len: tables.sum(),
            probes: mean(sum.probes),
            candidates: mean(sum.candidates),
            scanned: mean(sum.scanned),
            micros,
        })
    }
}
