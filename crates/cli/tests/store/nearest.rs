//! Tests that searches for the nearest fingerprints find the same as a scan, with any tables,
//! segments and deletions.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use fpstore::writer::Compaction;
use fpstore::{Builder, CutBy, Error, Fingerprint, Id, Limits, Store, Warm, Writer, WriterOptions};

use crate::common::program::TestDir;
use crate::common::{
    Random, Record, clustered, make_empty, needles, scan, scheme_named, schemes, skewed, store_of,
    uniform,
};

const K_MAX: [u32; 9] = [0, 1, 2, 3, 5, 8, 12, 30, 64];

fn check(store: &Store, records: &[Record], needles: &[u64], case: &str) {
    let mut searcher = store.searcher();
    for &needle in needles {
        let all = scan(records, needle, 64);
        for k_max in K_MAX {
            let within = all.partition_point(|found| found.distance <= k_max);
            for count in [0, 1, 2, 7, 100, all.len(), all.len() + 1] {
                let answer = searcher.nearest(Fingerprint::new(needle), count, k_max).unwrap();
                let expected = &all[..within.min(count)];
                assert_eq!(answer.len(), expected.len(), "{case}, {count} within {k_max}");
                assert_eq!(
                    answer.to_matches().unwrap(),
                    expected,
                    "{case}, {count} within {k_max}"
                );
            }
        }
    }
}

#[test]
fn the_nearest_are_those_of_a_scan() {
    for (name, scheme) in schemes(3) {
        for records in [uniform(1200, 1), clustered(1200, 2), skewed(1200, 3)] {
            let temp = store_of(&records, scheme.clone());
            check(&temp.store, &records, &needles(&records, 3, 4, 5), name);
        }
    }
}

#[test]
fn small_stores_have_all_that_there_is() {
    for values in [&[][..], &[7], &[7, u64::MAX], &[0; 5], &[0, u64::MAX, 1, 1 << 63]] {
        let records: Vec<Record> =
            (1..).zip(values).map(|(id, &value)| (value, Some(Id::U64(id)))).collect();
        let temp = store_of(&records, scheme_named("2"));
        check(&temp.store, &records, &[0, 7, u64::MAX, 0xff], "few");
    }
    let temp = store_of(&[], scheme_named("2"));
    let refused = temp.store.searcher().nearest(Fingerprint::new(0), 1, 65).unwrap_err();
    assert!(matches!(refused, Error::InvalidDistance { k: 65 }));
}

/// The fingerprints are in several segments, and deleted neighbours must not be found.
#[test]
fn segments_and_deletions_do_not_change_the_nearest() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.fps");
    let mut random = Random::new(4);
    let mut records: Vec<Record> = Vec::new();
    make_empty(&path, scheme_named("4"));
    let mut writer = Writer::with_options(&path, WriterOptions::default().compact(false)).unwrap();
    for segment in 0..4_u64 {
        for number in 0..1200_u64 {
            // Dense groups around five centers; each segment contains a part of each group.
            let center = (number % 5).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            let flips =
                (0..random.next() % 9).fold(0, |flips, _| flips | 1 << (random.next() % 64));
            let id = segment * 10_000 + number;
            records.push((center ^ flips, Some(Id::U64(id))));
            writer.push(Fingerprint::new(center ^ flips), id).unwrap();
        }
        writer.commit().unwrap();
    }
    let mut gone: Vec<u64> = Vec::new();
    records.retain(|(value, id)| {
        let is_gone = value.count_ones() % 3 == 1;
        if let (true, Some(Id::U64(id))) = (is_gone, id) {
            gone.push(*id);
        }
        !is_gone
    });
    let store = Store::open(&path).unwrap();
    let mut searcher = store.searcher();
    writer.delete_ids(gone.iter().copied().map(fpstore::IdRef::U64)).unwrap();
    let centers: Vec<u64> = (0..5_u64).map(|n| n.wrapping_mul(0x9e37_79b9_7f4a_7c15)).collect();
    check(writer.store(), &records, &centers, "deleted");
    // A search before the change: the searcher must make a new plan after it follows the store.
    let _ = searcher.nearest(Fingerprint::new(centers[1]), 3, 12).unwrap();
    store.refresh().unwrap();
    searcher.follow(&store);
    let all = scan(&records, centers[1], 12);
    let answer = searcher.nearest(Fingerprint::new(centers[1]), 3, 12).unwrap();
    assert_eq!(answer.to_matches().unwrap(), all[..3]);
    writer.compact(&Compaction::All).unwrap();
    check(writer.store(), &records, &centers, "merged");
}

#[test]
fn the_program_finds_the_nearest_one_by_one_and_from_files() {
    let records = clustered(2000, 9);
    let lines: Vec<String> = records.iter().map(|(value, _)| format!("{value:016x}\tid")).collect();
    let dir = TestDir::with("pages.tsv", &format!("{}\n", lines.join("\n")));
    dir.ok(&["build", "pages.tsv", "-s", "pages.fps", "-q"], "");
    let asked: Vec<String> =
        needles(&records, 150, 4, 7).iter().map(|value| format!("{value:016x}")).collect();
    dir.write("asked.txt", format!("{}\n", asked.join("\n")));
    for k in [None, Some("0"), Some("5"), Some("12")] {
        let bound = k.unwrap_or("64");
        for format in ["tsv", "json"] {
            let ask = ["query", "-s", "pages.fps", "--format", format];
            let limit = ["--limit", "3", "-k", bound, "-q"];
            let expected = dir.ok(&[&ask[..], &limit, &["--from", "asked.txt"]].concat(), "");
            // Compared without `cut`, which answers of `--nearest` never have.
            let expected = expected.replace(",\"cut\":true", "");
            let mut nearest = [&ask[..], &["--nearest", "3"]].concat();
            nearest.extend(k.iter().flat_map(|k| ["-k", *k]));
            for threads in ["1", "2"] {
                let from = [&nearest[..], &["--from", "asked.txt", "--threads", threads]].concat();
                let found = dir.ok(&from, "");
                assert_eq!(found, expected, "{bound}");
            }
            let mut one_by_one = nearest.clone();
            one_by_one.extend(asked.iter().map(String::as_str));
            let found = dir.ok(&one_by_one, "");
            assert_eq!(found, expected, "{bound}");
        }
    }
    let (out, _) = dir.run(&["query", "--nearest", "1", "-k", "0", "1", "-s", "pages.fps"], 1);
    assert_eq!(out, "");
}

/// A search stops at its first check if the deadline has passed or the flag to stop is set, and
/// otherwise never.
#[test]
fn a_deadline_and_a_flag_cut_the_answer() {
    let records = clustered(20_000, 11);
    let temp = store_of(&records, scheme_named("2"));
    let mut searcher = temp.store.searcher();
    let (needle, now) = (Fingerprint::new(records[7].0), Instant::now());
    let late = Limits::default().deadline(now + Duration::from_secs(100_000));
    let past = Limits::default().deadline(now);
    let all = scan(&records, needle.value(), 40);
    let complete = |searcher: &mut fpstore::Searcher| {
        let answer = searcher.search_with(needle, 40, &late).unwrap();
        assert!(!answer.outcome().cut && answer.len() == all.len());
    };
    let cut = |searcher: &mut fpstore::Searcher, limits: &Limits, by: CutBy| {
        let answer = searcher.search_with(needle, 40, limits).unwrap();
        assert!(answer.outcome().cut && answer.outcome().stats.scanned < 2000);
        assert_eq!(answer.outcome().cut_by, Some(by));
        let answer = searcher.nearest_with(needle, 20_000, 64, limits).unwrap();
        assert!(answer.outcome().cut && answer.len() < 20_000);
        assert_eq!(answer.outcome().cut_by, Some(by));
    };
    complete(&mut searcher);
    cut(&mut searcher, &past, CutBy::Deadline);
    complete(&mut searcher);
    let flag = Arc::new(AtomicBool::new(false));
    searcher.stop_flag(Arc::clone(&flag));
    complete(&mut searcher);
    flag.store(true, Ordering::Relaxed);
    cut(&mut searcher, &late, CutBy::Stop);
    searcher.stop_flag(None);
    complete(&mut searcher);
}

/// Warming a store checks all its pages, so that a later search need not check any.
#[cfg_attr(windows, ignore = "no mapped file can be changed there")]
#[test]
fn a_warm_refresh_shows_a_state_that_is_warm() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.fps");
    let records = uniform(5000, 12);
    Builder::new(&path).unwrap().finish().unwrap();
    let store = Store::open(&path).unwrap();
    assert!(!store.refresh_warm(Warm::All).unwrap());
    // Without merging segments, because a merge would read the damaged segment.
    let mut writer = Writer::with_options(&path, WriterOptions::default().compact(false)).unwrap();
    for (value, id) in &records {
        writer.push(Fingerprint::new(*value), id.as_ref().unwrap().as_ref()).unwrap();
    }
    writer.commit().unwrap();
    assert!(store.refresh_warm(Warm::All).unwrap());
    let mut searcher = store.searcher();
    for (value, _) in &records[..100] {
        let answer = searcher.search(Fingerprint::new(*value), 3).unwrap();
        assert_eq!(answer.outcome().stats.pages_checked, 0);
        assert!(!answer.is_empty());
    }
    // If the new snapshot is damaged, the refresh is an error, and the old snapshot is searched.
    writer.push(Fingerprint::new(1), 1).unwrap();
    writer.commit().unwrap();
    let newest = writer.store().info().segments.last().unwrap().path.clone();
    let mut bytes = std::fs::read(&newest).unwrap();
    // Damages the second page after the header: the first is the recipe, the second the prefix
    // index.
    bytes[2 * 4096] ^= 1;
    let replaced = folder.path().join("damaged");
    std::fs::write(&replaced, &bytes).unwrap();
    std::fs::rename(&replaced, &newest).unwrap();
    assert!(store.refresh_warm(Warm::Hot).is_err());
    assert_eq!(store.info().segments.len(), 2);
    assert!(store.searcher().search(Fingerprint::new(records[0].0), 0).unwrap().len() == 1);
}
