//! Compares a commit of segment files, which uses hard links, with an import, which copies and
//! verifies each byte: wall-clock seconds.
//!
//! `FPSTORE_BENCH_SEGMENTS` and `FPSTORE_BENCH_SEGMENT_MB` set the number of files and their size
//! in megabytes: 200 of 60 by default, 12 GB in the directory of temporary files (`TMPDIR`).
#![deny(unsafe_code)]

#[path = "../../tests/common/random.rs"]
mod random;

use std::path::{Path, PathBuf};
use std::time::Instant;

use fpstore::writer::{CommitOptions, commit};
use fpstore::{BuildOptions, Builder, Fingerprint, Scheme, SegmentReceipt, Writer, WriterOptions};
use random::Random;

/// Long ids make large files quickly; a commit does not read them.
const ID_LEN: usize = 60_000;
const ROUNDS: usize = 5;
/// The number of imported segments: importing all of them would need twice the disk space.
const IMPORTED: usize = 10;

fn main() {
    let measuring = std::env::args().any(|argument| argument == "--bench");
    let number = |name: &str| std::env::var(name).ok().and_then(|n| n.parse::<usize>().ok());
    let or = |name: &str, usual: usize| if measuring { number(name).unwrap_or(usual) } else { 2 };
    let count = or("FPSTORE_BENCH_SEGMENTS", 200);
    let megabytes = or("FPSTORE_BENCH_SEGMENT_MB", 60);
    let folder = tempfile::tempdir().expect("the system gives a directory");
    let folder = folder.path();
    let receipts: Vec<SegmentReceipt> =
        (0..count).map(|part| segment(folder, part, megabytes * 1_000_000)).collect();
    let bytes: u64 = receipts.iter().map(|receipt| receipt.file_len).sum();
    println!("{count} segments, {:.2} GB", bytes as f64 / 1e9);
    println!("| what | seconds, median | least to most |");
    println!("|---|---:|---:|");
    let rounds = if measuring { ROUNDS } else { 1 };
    let path = |round: usize| folder.join(format!("pages-{round}.fps"));
    print_row(&format!("commit of {count} into nothing"), rounds, |round| {
        let done = commit(path(round), &receipts, &CommitOptions::default());
        assert_eq!(done.expect("they are sound").added, count as u64);
    });
    print_row("the same again, which changes nothing", rounds, |round| {
        let done = commit(path(round), &receipts, &CommitOptions::default());
        assert_eq!(done.expect("they are sound").repeated, count as u64);
    });
    let some: Vec<PathBuf> = receipts.iter().take(IMPORTED).map(|of| of.path.clone()).collect();
    print_row(&format!("import of {}", some.len()), rounds.min(2), |round| {
        let path = folder.join(format!("imported-{round}.fps"));
        Builder::with_options(&path, options()).and_then(Builder::finish).expect("it is new");
        let writer = WriterOptions::default().compact(false);
        let mut writer = Writer::with_options(&path, writer).expect("nobody else writes");
        writer.import(&some).expect("they are sound");
        drop(writer);
        std::fs::remove_dir_all(&path).expect("it is ours");
    });
}

fn options() -> BuildOptions {
    BuildOptions::default().scheme(Scheme::named("1", 3).expect("it is a family")).threads(1)
}

/// Writes a segment file of about `len` bytes.
fn segment(folder: &Path, part: usize, len: usize) -> SegmentReceipt {
    let mut random = Random::new(part as u64 + 1);
    let path = folder.join(format!("part-{part:03}.fps"));
    let mut builder = Builder::segment_file(path, options()).expect("the name is free");
    let tail = "x".repeat(ID_LEN - 16);
    for _ in 0..len / ID_LEN {
        let value = random.next();
        let id = format!("{value:016x}{tail}");
        builder.push(Fingerprint::new(value), id.as_str()).expect("there is space on the disk");
    }
    builder.finish_segment().expect("there is space on the disk")
}

fn print_row(name: &str, rounds: usize, act: impl Fn(usize)) {
    let mut seconds: Vec<f64> = (0..rounds)
        .map(|round| {
            let start = Instant::now();
            act(round);
            start.elapsed().as_secs_f64()
        })
        .collect();
    seconds.sort_unstable_by(f64::total_cmp);
    let (median, most) = (seconds[seconds.len() / 2], seconds[seconds.len() - 1]);
    println!("| {name} | {median:.3} | {:.3} to {most:.3} |", seconds[0]);
}
