//! Compares a store that grew in small batches, with merges, with a store built at once: bytes
//! written and query times.
#![deny(unsafe_code)]

mod clock;
mod data;

use std::path::Path;

use data::{Spread, count_name, query_mix};
use fpstore::{BuildOptions, Builder, Fingerprint, Scheme, Searcher, Store, Writer, WriterOptions};

const K: u32 = 3;
/// The number of records in a batch.
const BATCH_LEN: usize = 1000;
/// Odd, so that the median is the time of one round.
const ROUNDS: usize = 21;

fn main() {
    let measuring = std::env::args().any(|argument| argument == "--bench");
    let asked = std::env::var("FPSTORE_BENCH_N").ok().and_then(|text| text.parse().ok());
    let count = asked.unwrap_or(if measuring { 1_000_000 } else { 10_000 });
    let folder = tempfile::tempdir().expect("the system gives a directory");
    let fingerprints = Spread::Uniform.fingerprints(count);
    for scheme in [Some(Scheme::named("2", K).expect("two halves")), None] {
        for writers in [Writers::One, Writers::Each] {
            compare(folder.path(), &fingerprints, scheme.as_ref(), writers);
        }
    }
}

/// How the batches are added.
#[derive(Clone, Copy, PartialEq)]
enum Writers {
    /// One writer for all batches, as in `add --follow`.
    One,
    /// A new writer for each batch, as with one `add` command per batch.
    Each,
}

fn compare(folder: &Path, fingerprints: &[u64], scheme: Option<&Scheme>, writers: Writers) {
    let case = format!(
        "life/k{K}/{}/{}/{}",
        count_name(fingerprints.len()),
        if scheme.is_some() { "halves" } else { "auto" },
        if writers == Writers::One { "one-writer" } else { "writer-each" },
    );
    let (grown, whole) = (folder.join("grown.fps"), folder.join("whole.fps"));
    let queries = query_mix(fingerprints, 30_000);
    let mut build = BuildOptions::default();
    if let Some(scheme) = scheme {
        build = build.scheme(scheme.clone());
    }
    let whole = build_whole(&whole, build.clone(), fingerprints);

    Builder::with_options(&grown, build).and_then(Builder::finish).expect("a new directory");
    let before = written_by_process();
    let mut options = WriterOptions::default();
    if let Some(scheme) = scheme {
        options = options.scheme(scheme.clone());
    }
    let open = || Writer::with_options(&grown, options.clone()).expect("the store was just made");
    let mut writer = open();
    let followed = Store::open(&grown).expect("it was just made");
    let mut follower = followed.searcher();
    let mut looks: Vec<f64> = Vec::new();
    let mut followed_for = 0.0;
    let mut counts = Vec::new();
    for (number, batch) in fingerprints.chunks(BATCH_LEN).enumerate() {
        for (at, &value) in batch.iter().enumerate() {
            let id = (number * BATCH_LEN + at) as u64;
            writer.push(Fingerprint::new(value), id).expect("memory is enough");
        }
        writer.commit().expect("the disk has room");
        if writers == Writers::Each {
            writer.finish().expect("the disk has room");
            writer = open();
        }
        // One searcher follows the store and runs a query for each new record. The time includes
        // loading data into its caches.
        let start = clock::nanos();
        followed.refresh().expect("the store is whole");
        follower.follow(&followed);
        let following = (clock::nanos() - start) / BATCH_LEN as f64;
        followed_for += following;
        let first = number * BATCH_LEN % (queries.len() - BATCH_LEN);
        looks.push(following + time(&mut follower, &queries[first..first + BATCH_LEN]).0);
        counts.push(writer.store().info().segments.len());
    }
    let grown = writer.finish().expect("the disk has room");
    let final_len = grown.info().file_len();
    println!("{case}: {} segments at the end, {final_len} bytes", grown.info().segments.len());
    if let (Some(before), Some(after)) = (before, written_by_process()) {
        let written = after - before;
        println!(
            "  {written} bytes written, {:.2} times the store",
            written as f64 / final_len as f64
        );
    }

    let (mut one, mut other) = (grown.searcher(), whole.searcher());
    let mut ratios = Vec::new();
    let mut times = Vec::new();
    for round in 0..ROUNDS {
        // The two stores alternate as the first one of a round.
        let (grown, whole) = match round % 2 {
            0 => (time(&mut one, &queries), time(&mut other, &queries)),
            _ => {
                let whole = time(&mut other, &queries);
                (time(&mut one, &queries), whole)
            }
        };
        assert_eq!(grown.1, whole.1, "both find the same");
        ratios.push(grown.0 / whole.0);
        times.push(whole.0);
    }
    let at_once = median(&mut times);
    println!("  {:.0} ns a query of the store built at once", at_once);
    println!("  {:.2} times as long in the one that grew, median of {ROUNDS}", median(&mut ratios));
    let most = counts.iter().max().copied().unwrap_or_default();
    let mean = counts.iter().sum::<usize>() as f64 / counts.len().max(1) as f64;
    let mut while_growing: Vec<f64> = looks.iter().map(|nanos| nanos / at_once).collect();
    println!(
        "  while it grew: {mean:.1} segments in the mean, {most} at most; a query takes {:.2} times as \
         long as that in the mean, {:.2} in the median; following the store is {:.2} of it",
        while_growing.iter().sum::<f64>() / while_growing.len().max(1) as f64,
        median(&mut while_growing),
        followed_for / counts.len().max(1) as f64 / at_once
    );
    drop((one, other, grown, whole));
    for name in ["grown.fps", "whole.fps"] {
        std::fs::remove_dir_all(folder.join(name)).expect("it was made here");
    }
}

fn build_whole(path: &Path, options: BuildOptions, fingerprints: &[u64]) -> Store {
    let mut builder = Builder::with_options(path, options).expect("a new directory");
    for (id, &value) in (0_u64..).zip(fingerprints) {
        builder.push(Fingerprint::new(value), id).expect("memory is enough");
    }
    builder.finish().expect("the disk has room")
}

/// Nanoseconds of CPU time per query, and the number of matches.
fn time(searcher: &mut Searcher, queries: &[u64]) -> (f64, usize) {
    let start = clock::nanos();
    let mut found = 0;
    for &query in queries {
        found += searcher.search(Fingerprint::new(query), K).expect("the store is whole").len();
    }
    ((clock::nanos() - start) / queries.len() as f64, found)
}

fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}

/// Bytes that this process has written, where the system reports them.
fn written_by_process() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/io").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("wchar: "))?;
    line.trim().parse().ok()
}
