//! Tests that other processes can read a store while it changes, and that a killed writer loses no
//! acknowledged record.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::Stdio;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::common::program::{program, test_process};
use crate::common::{Ends, Random, make_empty, names_of, records_of, samples, scheme_named};
use fpstore::writer::{Compaction, Compactor};
use fpstore::{
    BuildOptions, Builder, Error, Fingerprint, Searcher, Store, Writer, WriterOptions, verify,
};

/// A fingerprint that is added with each block; its ids are the numbers of the added blocks.
const MARKER: u64 = 0x5555_5555_5555_5555;
/// The number of fingerprints in a block, which is added in one commit.
const BLOCK_LEN: u64 = 10;

/// The fingerprint of a block at a position. It is far from all other fingerprints.
fn value(block: u64, at: u64) -> u64 {
    Random::new(block * BLOCK_LEN + at).next()
}

fn make(path: &Path) {
    let options = BuildOptions::default().scheme(scheme_named("2"));
    let mut builder = Builder::with_options(path, options).unwrap();
    builder.push(Fingerprint::new(MARKER), 0).unwrap();
    (0..BLOCK_LEN).for_each(|at| builder.push(Fingerprint::new(value(0, at)), at).unwrap());
    builder.finish().unwrap();
}

/// Adds blocks one by one, merges segments, and deletes each block once three later ones are added.
fn write_blocks(path: &Path, count: u64) {
    let mut writer =
        Writer::with_options(path, WriterOptions::default().scheme(scheme_named("2"))).unwrap();
    for block in 1..=count {
        writer.push(Fingerprint::new(MARKER), block).unwrap();
        for at in 0..BLOCK_LEN {
            writer.push(Fingerprint::new(value(block, at)), BLOCK_LEN * block + at).unwrap();
        }
        writer.commit().unwrap();
        if block >= 3 {
            let gone: Vec<Fingerprint> =
                (0..BLOCK_LEN).map(|at| Fingerprint::new(value(block - 3, at))).collect();
            assert_eq!(writer.delete_fingerprints(&gone).unwrap().found, BLOCK_LEN);
        }
        if block % 40 == 0 {
            match writer.compact(&Compaction::One) {
                // Another process is compacting the store at the moment, which is fine.
                Err(Error::Compacting { .. }) => {}
                done => assert!(done.unwrap().made > 0),
            }
        }
        if block % 16 == 0 {
            // A new writer removes old files that readers had kept open.
            drop(writer);
            writer = Writer::with_options(path, WriterOptions::default().scheme(scheme_named("2")))
                .unwrap();
        }
    }
}

/// Checks that a snapshot is one that the writer committed. Returns the number of its last block.
fn check_state(searcher: &mut Searcher, random: &mut Random) -> u64 {
    let marker = searcher.search(Fingerprint::new(MARKER), 0).unwrap().to_matches().unwrap();
    let blocks: Vec<u64> = marker[0].ids.iter().map(|id| id.to_string().parse().unwrap()).collect();
    let last = *blocks.last().unwrap();
    assert!(blocks.iter().copied().eq(0..=last), "all markers, in order");
    let mut is_there = |block: u64| {
        let mut there = Vec::new();
        for at in 0..BLOCK_LEN {
            let flips = random.below(4) as u32;
            let needle = random.flip(value(block, at), flips);
            let found = searcher.search(Fingerprint::new(needle), 3).unwrap();
            let found = found.to_matches().unwrap();
            if let [one] = found.as_slice() {
                assert_eq!(one.fingerprint.value(), value(block, at));
                assert_eq!(one.ids.len(), 1);
                assert_eq!(one.ids[0].to_string(), (BLOCK_LEN * block + at).to_string());
            }
            assert!(found.len() < 2);
            there.push(found.len() == 1);
        }
        assert!(there.iter().all(|one| *one == there[0]), "block {block} of {last} in part");
        there[0]
    };
    for block in last.saturating_sub(2)..=last {
        assert!(is_there(block), "block {block} of {last} is missing");
    }
    // The block three before the last may be deleted or not: its deletion is a separate commit.
    if last >= 3 {
        is_there(last - 3);
    }
    for block in [last + 1, last.saturating_sub(4), last / 2] {
        if block > last || block + 3 < last {
            assert!(!is_there(block), "block {block} of {last} is there");
        }
    }
    last
}

const CHILD: &str = "store::live::child_that_reads_without_pause";

#[test]
fn readers_in_other_processes_never_notice() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.fps");
    make(&path);
    let count = std::env::var("FPSTORE_TEST_BLOCKS").map_or(120, |n| n.parse().unwrap());
    let readers: Vec<_> = ["refresh", "open", "hold"]
        .into_iter()
        .map(|method| {
            test_process(CHILD)
                .arg("--ignored")
                .env("FPSTORE_TEST_STORE", &path)
                .env("FPSTORE_TEST_METHOD", method)
                .stdout(Stdio::piped())
                .stderr(Stdio::piped())
                .spawn()
                .unwrap()
        })
        .collect();
    // The reading processes start before the first change.
    for method in ["refresh", "open", "hold"] {
        while !folder.path().join(method).exists() {
            std::thread::sleep(Duration::from_millis(5));
        }
    }
    let is_done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let _ends = Ends(&is_done);
        // Another thread compacts the store all the time, in parallel with the writer.
        scope.spawn(|| {
            while !is_done.load(Ordering::Relaxed) {
                let options = WriterOptions::default().scheme(scheme_named("2"));
                let mut compactor = Compactor::with_options(&path, options).unwrap();
                compactor.compact(&Compaction::All).unwrap();
                drop(compactor);
                std::thread::sleep(Duration::from_millis(30));
            }
        });
        write_blocks(&path, count);
    });
    fs::write(folder.path().join("stop"), "").unwrap();
    for reader in readers {
        let output = reader.wait_with_output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout);
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{text}\n{said}");
        if std::env::var("FPSTORE_TEST_BLOCKS").is_ok() {
            println!("{}", text.lines().find(|line| line.contains("states")).unwrap_or_default());
        }
    }
    assert!(verify(&path, &samples(50)).unwrap().is_sound());
    drop(Writer::open(&path).unwrap());
    let live = Store::open(&path).unwrap().info();
    let deletions = live.segments.iter().filter(|of| of.deleted_fingerprints > 0).count();
    let expected = 1 + live.segments.len() + deletions;
    assert_eq!(names_of(&path).len(), expected, "no file is left over");
}

#[test]
#[ignore = "is run by the test above, in a process of its own"]
fn child_that_reads_without_pause() {
    let path = std::env::var("FPSTORE_TEST_STORE").unwrap();
    let (path, method) = (Path::new(&path), std::env::var("FPSTORE_TEST_METHOD").unwrap());
    let folder = path.parent().unwrap();
    let mut random = Random::new(method.len() as u64);
    let mut store = Store::open(path).unwrap();
    let mut searcher = store.searcher();
    let (mut last, mut generation, mut states, mut changes) = (0, 0, 0, 0);
    fs::write(folder.join(&method), "").unwrap();
    while !folder.join("stop").exists() {
        match method.as_str() {
            "open" => {
                store = Store::open(path).unwrap();
                searcher = store.searcher();
            }
            "hold" if states % 50 != 49 => {}
            _ => {
                store.refresh().unwrap();
                searcher.follow(&store);
            }
        }
        let now = searcher.generation();
        assert!(now >= generation, "generation {now} after {generation}");
        changes += u64::from(now > generation);
        generation = now;
        let found = check_state(&mut searcher, &mut random);
        assert!(found >= last, "block {found} after {last}");
        last = found;
        states += 1;
    }
    println!("{method}: {states} states checked, {changes} changes seen, up to block {last}");
}

/// After a kill at any time, the store contains all acknowledged records, and no record that was
/// not sent or whose predecessor is missing.
#[test]
fn a_killed_writer_loses_nothing_that_it_acknowledged() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let path = folder.join("store.fps");
    make_empty(&path, scheme_named("2"));
    let mut random = Random::new(77);
    let mut kept: BTreeMap<u64, Vec<String>> = BTreeMap::new();
    let follow = ["add", "--follow", "--batch-count", "25", "--threads", "1"];
    // Measures how long a command takes on this machine under its current load, and kills at random
    // moments within that time.
    let since = Instant::now();
    let mut next = 50_u64;
    let mut command = program(&follow, folder);
    command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = command.spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    for id in 0..next {
        writeln!(input, "{:016x}\t{id}", value(id, 0)).unwrap();
        kept.insert(value(id, 0), vec![id.to_string()]);
    }
    drop(input);
    assert!(child.wait().unwrap().success());
    let (typical, mut added) = (since.elapsed(), 0);
    for round in 0..200 {
        let pause = typical.mul_f64(random.below(2000) as f64 / 1000.0);
        if round % 4 == 3 {
            // Kills compactions and deletions. A killed deletion is complete or has no effect.
            let gone: Vec<u64> = kept.keys().copied().filter(|_| random.below(3) == 0).collect();
            let list: String = gone.iter().map(|value| format!("{value:016x}\n")).collect();
            fs::write(folder.join("gone.txt"), list).unwrap();
            let args: &[&str] = match round % 8 {
                3 => &["compact", "--one", "--threads", "1"],
                _ => &["delete", "--fingerprints", "gone.txt", "--threads", "1"],
            };
            let mut command = program(args, folder);
            let silent = command.stdout(Stdio::null()).stderr(Stdio::null());
            let mut child = silent.spawn().unwrap();
            std::thread::sleep(pause);
            child.kill().unwrap();
            child.wait().unwrap();
            let found = records_of(&Store::open(&path).unwrap());
            if found != kept {
                assert!(round % 8 != 3, "round {round}: a merge changed something");
                gone.iter().for_each(|value| drop(kept.remove(value)));
                assert!(found == kept, "round {round}: deleted in part");
            }
            continue;
        }
        let mut command = program(&follow, folder);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().unwrap();
        let mut input = child.stdin.take().unwrap();
        let first = next;
        let sender = std::thread::spawn(move || {
            let mut sent = first;
            while sent < first + 20_000
                && writeln!(input, "{:016x}\t{sent}", value(sent, 0)).is_ok()
            {
                sent += 1;
            }
            sent
        });
        std::thread::sleep(pause);
        child.kill().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let last = lines.map_while(Result::ok).last();
        let durable: u64 = last.map_or(0, |line| line.split('\t').next().unwrap().parse().unwrap());
        child.wait().unwrap();
        next = sender.join().unwrap();
        let found = records_of(&Store::open(&path).unwrap());
        let new = found.len() - kept.len();
        added += new;
        assert!(new as u64 >= durable, "round {round}: {durable} acknowledged, {new} there");
        for id in first..first + new as u64 {
            kept.insert(value(id, 0), vec![id.to_string()]);
        }
        assert!(found == kept, "round {round}: not the first {new} that were sent");
        if round % 20 == 0 {
            assert!(verify(&path, &samples(10)).unwrap().is_sound());
        }
    }
    assert!(added > 0, "no command lived long enough to add anything");
    drop(Writer::open(&path).unwrap());
    let live = Store::open(&path).unwrap().info();
    let deletions = live.segments.iter().filter(|of| of.deleted_fingerprints > 0).count();
    assert_eq!(names_of(&path).len(), 1 + live.segments.len() + deletions);
    assert!(verify(&path, &samples(50)).unwrap().is_sound());
}
