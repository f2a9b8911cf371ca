//! Tests of the index against a scan of all values, and of pending records after failed commits.

mod apart;

use super::near_index::NearIndex;
use super::pending::Pending;
use super::*;
use crate::Builder;
use crate::base::steps::counter::{assert_not_quadratic, steps_of};
use crate::join::tests::random::Random;
use fpstore_base::{Fingerprint, Id};
use fpstore_disk::fail_points::{self, Fault};
use {crate::writing::writer::Compaction, std::time::Instant};

fn index_of(values: &[u64]) -> NearIndex {
    let mut index = NearIndex::default();
    values.iter().for_each(|&value| index.push(Fingerprint::new(value)));
    index
}

/// The position and distance of the nearest value, the first among equally near values.
fn scan(values: &[u64], needle: u64, k: u32) -> Option<(usize, u32)> {
    let distances = values.iter().map(|value| (value ^ needle).count_ones());
    distances.enumerate().filter(|found| found.1 <= k).min_by_key(|found| found.1)
}

/// Isolated values, clusters, the smallest and largest values, and some duplicates.
fn mixed(count: usize, seed: u64) -> Vec<u64> {
    let mut random = Random::new(seed);
    let mut values = vec![0, u64::MAX, 0];
    while values.len() < count {
        let old = random.pick(&values);
        let distance = random.below(12) as u32;
        values.push(match random.below(4) {
            0 => random.flip(old, distance),
            1 => old & 0xffff_0000_ffff_0000,
            2 => values.len() as u64,
            _ => random.next(),
        });
    }
    values
}

/// The tested numbers of values give an index without blocks, with new, full or rebuilt blocks.
#[test]
fn the_index_gives_the_first_of_the_nearest_as_a_pass_does() {
    for count in [0, 1, 3, 128, 129, 258, 259, 519, 5000, 40_000] {
        let values = mixed(count.max(3), count as u64);
        let values = &values[..count];
        let mut index = index_of(values);
        if count == 5000 {
            // Three blocks, as for a million values.
            index.choose_blocks(1 << 20);
        }
        let mut random = Random::new(7 << 40 | count as u64);
        for round in 0..200 {
            let near = if values.is_empty() { 5 } else { random.pick(values) };
            let k = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 16, 20, 32, 63, 64][round % 17];
            let exact = random.flip(near, k);
            let beyond = random.flip(near, (k + 1).min(64));
            for needle in [near, exact, beyond, random.next(), 0, u64::MAX] {
                let found = index.nearest(Fingerprint::new(needle), k, |_| true);
                assert_eq!(found, scan(values, needle, k), "{count}: {needle:016x} within {k}");
            }
        }
    }
}

/// The number of comparisons for each record does not depend on the number of earlier records.
#[test]
fn what_is_compared_for_each_record_does_not_grow_with_their_number() {
    for (k, most) in [(0, 20), (3, 80), (7, 400)] {
        for count in [25_000, 50_000, 100_000, 400_000] {
            let mut random = Random::new(k.into());
            let mut index = NearIndex::default();
            let mut compared = 0_u64;
            for at in 0..count {
                let value = Fingerprint::new(random.next());
                // Only every 16th record is looked up, to keep the test short.
                if at % 16 == 0 {
                    index.each_candidate(value, k, |_| compared += 16);
                }
                index.push(value);
            }
            assert!(compared < most * count, "{compared} for {count} records and k = {k}");
        }
    }
}

/// Removing the last pending records does not visit the records before them.
#[test]
fn forgetting_the_last_records_does_not_grow_with_those_before() {
    assert_not_quadratic(300, |count| {
        let mut random = Random::new(count as u64);
        let mut pending = Pending::default();
        let push = |pending: &mut Pending, value: u64| {
            pending.push(record(value, value)).unwrap();
        };
        let values: Vec<u64> = (0..count).map(|_| random.next()).collect();
        values.iter().for_each(|&value| push(&mut pending, value));
        steps_of(|| {
            for value in &values {
                (0..3).for_each(|at| push(&mut pending, value ^ (1 << at)));
                pending.forget(count..);
            }
            let nearest = pending.nearest(&NewRecord::new((values[7] ^ 4).into(), None), 2, None);
            assert_eq!((pending.records().len(), nearest), (count, Some((7, 1))));
        })
    });
}

#[test]
fn after_some_are_forgotten_the_others_are_found_where_they_are() {
    let mut values = mixed(2000, 4);
    let mut pending = Pending::default();
    values.iter().for_each(|&value| pending.push(record(value, 0)).unwrap());
    let mut random = Random::new(5);
    while values.len() > 10 {
        let (one, other) =
            (random.below(values.len() as u64 + 1), random.below(values.len() as u64));
        let range = one.min(other) as usize..one.max(other) as usize;
        let range = range.start..range.end.min(range.start + 150);
        pending.forget(range.clone());
        values.drain(range);
        for _ in 0..20 {
            let distance = random.below(6) as u32;
            let near = random.pick(&values);
            let needle = random.flip(near, distance);
            let found = pending.nearest(&NewRecord::new(needle.into(), None), 4, None);
            assert_eq!(found, scan(&values, needle, 4), "{needle:016x} of {}", values.len());
        }
    }
}

fn options() -> WriterOptions {
    WriterOptions::default().threads(1).compact(false)
}

/// An empty store in its own folder.
fn empty() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.fps");
    Builder::new(&path).unwrap().finish().unwrap();
    (folder, path)
}

fn record(value: u64, id: u64) -> NewRecord {
    NewRecord::new(Fingerprint::new(value), Id::U64(id))
}

/// The verdict as text: for a near record, whether it is stored or pending, its fingerprint, its
/// distance, and its ids if it is stored.
fn ask(writer: &mut CheckedWriter, value: u64, id: u64) -> String {
    match writer.check_and_add(&record(value, id), 3).unwrap() {
        Verdict::Added => "added".into(),
        Verdict::Stored(hit) => {
            let ids: Vec<String> = hit.ids().map(|id| id.unwrap().to_string()).collect();
            format!("stored {:x} at {} {ids:?}", hit.fingerprint().value(), hit.distance())
        }
        Verdict::Pending { record, distance } => {
            format!("pending {:x} at {distance}", record.fingerprint.value())
        }
        Verdict::Cut => "cut".into(),
    }
}

/// All ids of the store, in the order of the fingerprints.
fn stored(path: &std::path::Path) -> Vec<String> {
    let mut ids = Vec::new();
    let listed = Store::open(path).unwrap().for_each(|hit| -> Result<()> {
        for id in hit.ids() {
            ids.push(id?.to_string());
        }
        Ok(())
    });
    listed.unwrap();
    ids
}

#[test]
fn the_nearest_is_named_and_of_equally_near_ones_the_stored_one() {
    let (_folder, path) = empty();
    let mut writer = CheckedWriter::new(&path, options());
    assert_eq!(ask(&mut writer, 0x00ff, 1), "added");
    assert_eq!(ask(&mut writer, 0x00fe, 2), "pending ff at 1");
    writer.commit().unwrap();
    assert_eq!(ask(&mut writer, 0x0fff, 3), "added");
    assert_eq!(ask(&mut writer, 0x03ff, 4), "stored ff at 2 [\"1\"]");
    assert_eq!(ask(&mut writer, 0x07ff, 5), "pending fff at 1");
    assert_eq!(ask(&mut writer, 0x0f00_0000, 6), "added");
    writer.forget(1..);
    assert_eq!(writer.pending(), [record(0x0fff, 3)]);
    assert_eq!(ask(&mut writer, 0x0f00_0000, 7), "added");
    writer.commit().unwrap();
    assert_eq!(ask(&mut writer, 0x0f00_0010, 8), "stored f000000 at 1 [\"7\"]");
    assert_eq!(stored(&path), ["1", "3", "7"]);
}

/// Each file operation of a commit fails once. Then all records are still pending, and in the end
/// each record is in the store once.
#[test]
fn after_a_failed_commit_all_is_pending_and_the_next_one_adds_it_once() {
    for fault in [Fault::Full, Fault::Broken] {
        for fails_at in 1.. {
            let (folder, path) = empty();
            let mut writer = CheckedWriter::new(&path, options());
            for at in 1..=3 {
                assert_eq!(ask(&mut writer, 0xff << (16 * at), at), "added");
            }
            let before = writer.pending().to_vec();
            fail_points::plan(folder.path(), fails_at, fault);
            let committed = writer.commit();
            let passed = fail_points::forget(folder.path()).len() as u64;
            let case = format!("{fault:?} at operation {fails_at}: {committed:?}");
            if matches!(committed, Ok(_) | Err(Error::InEffect { .. })) {
                assert!(writer.pending().is_empty(), "{case}");
            } else {
                assert_eq!(writer.pending(), before, "{case}");
            }
            writer.commit().unwrap();
            assert!(writer.pending().is_empty(), "{case}");
            assert_eq!(stored(&path), ["1", "2", "3"], "{case}");
            if passed < fails_at {
                assert!(fails_at > 5, "{case}");
                break;
            }
        }
    }
}

#[test]
fn a_record_that_cannot_be_kept_is_refused_by_itself() {
    let (_folder, path) = empty();
    let mut writer = CheckedWriter::new(&path, options());
    let sketched = NewRecord { sketch: [1].into(), ..record(5, 5) };
    assert!(writer.check_and_add(&sketched, 3).is_err());
    let unnamed = NewRecord { id: Some(Id::Text("".into())), ..record(5, 5) };
    assert!(writer.check_and_add(&unnamed, 3).is_err());
    assert!(writer.check_and_add(&record(5, 5), 65).is_err());
    assert_eq!(ask(&mut writer, 5, 6), "added");
    assert_eq!(writer.commit().unwrap().report.record_count, 1);
}

#[test]
fn others_write_between_turns_and_what_they_wrote_is_found() {
    let (_folder, path) = empty();
    let mut writer = CheckedWriter::new(&path, options());
    assert_eq!(ask(&mut writer, 0xffff, 1), "added");
    writer.give_way(true);
    assert!(Writer::with_options(&path, options()).is_err(), "a record is pending");
    writer.commit().unwrap();
    writer.give_way(false);
    assert!(writer.is_held(), "the turn was short");
    writer.give_way(true);
    let mut other = Writer::with_options(&path, options()).unwrap();
    other.push(Fingerprint::new(0xffff_0000_0000), 2).unwrap();
    other.commit().unwrap();
    drop(other);
    assert_eq!(ask(&mut writer, 0xffff_0000_0001, 3), "stored ffff00000000 at 1 [\"2\"]");
    writer.writer().unwrap().delete_fingerprints(&[Fingerprint::new(0xffff)]).unwrap();
    assert_eq!(ask(&mut writer, 0xffff, 4), "added");
    assert_eq!(writer.finish().unwrap().info().id_count(), 2);
}

/// After a failed commit, another process adds one of the pending records, and another id for the
/// fingerprint of a second record: the first record is not added twice, and the second is added.
#[test]
fn what_is_stored_exactly_after_a_failed_commit_is_not_added_again() {
    let (folder, path) = empty();
    let mut writer = CheckedWriter::new(&path, options());
    let records = [(0xff, 1), (0xff_0000, 2), (0xff_0000_0000, 3)];
    for (value, id) in records {
        assert_eq!(ask(&mut writer, value, id), "added");
    }
    fail_points::plan(folder.path(), 1, Fault::Full);
    assert!(writer.commit().is_err());
    fail_points::forget(folder.path());
    let mut other = Writer::with_options(&path, options()).unwrap();
    // A store keeps a number as a text if other ids are texts.
    other.push(Fingerprint::new(0xff), "1").unwrap();
    other.push(Fingerprint::new(0xff), "more").unwrap();
    other.push(Fingerprint::new(0xff_0000), "other").unwrap();
    other.commit().unwrap();
    drop(other);
    assert_eq!(writer.pending().len(), 3);
    writer.writer().unwrap();
    let left: Vec<u64> = writer.pending().iter().map(|of| of.fingerprint.value()).collect();
    assert_eq!(left, [0xff_0000, 0xff_0000_0000]);
    assert_eq!(writer.commit().unwrap().report.record_count, 2);
    assert_eq!(stored(&path), ["1", "more", "other", "2", "3"]);
}

/// A turn starts with the current store, which may have been replaced by another store of the same
/// generation.
#[cfg_attr(windows, ignore = "a store that is mapped cannot be removed there")]
#[test]
fn a_turn_that_is_ended_frees_the_lock_and_the_next_one_sees_what_is_there() {
    let (_folder, path) = empty();
    let mut writer = CheckedWriter::new(&path, options());
    assert!(!writer.is_held());
    assert_eq!(ask(&mut writer, 0xff, 1), "added");
    assert!(writer.is_held());
    writer.end_turn();
    assert!(!writer.is_held());
    drop(Writer::with_options(&path, options()).unwrap());
    assert_eq!(writer.pending(), [record(0xff, 1)]);
    std::fs::remove_dir_all(&path).unwrap();
    let mut builder = Builder::new(&path).unwrap();
    builder.push(Fingerprint::new(0xff_0000), 2).unwrap();
    assert_eq!(builder.finish().unwrap().generation(), 1);
    assert_eq!(ask(&mut writer, 0xff_0001, 3), "stored ff0000 at 1 [\"2\"]");
    assert_eq!(writer.finish().unwrap().info().id_count(), 2);
}

/// The store changes by additions, deletions and merges; most comparisons pause at a deadline.
#[test]
fn what_is_nearest_ahead_is_what_a_scan_of_each_later_state_finds() {
    for k in [0, 3, 9, 20, 64] {
        let (_folder, path) = empty();
        let mut random = Random::new(u64::from(k) + 77);
        let mut live = mixed(400, k.into());
        let needles: Vec<Fingerprint> = (0..150)
            .map(|_| {
                let (near, distance) = (random.pick(&live), random.below(12) as u32);
                Fingerprint::new(random.flip(near, distance))
            })
            .collect();
        let mut ahead = Ahead::new(needles.iter().copied(), k);
        let mut writer = Writer::with_options(&path, options()).unwrap();
        let mut first = live.split_off(0);
        for round in 0..12 {
            let add: Vec<u64> = first.drain(..first.len().min(60)).collect();
            for value in add.iter().filter(|value| !live.contains(value)).collect::<Vec<_>>() {
                writer.push(Fingerprint::new(*value), *value).unwrap();
            }
            live.extend(add);
            live.sort_unstable();
            live.dedup();
            writer.commit().unwrap();
            if round % 3 == 1 {
                let gone: Vec<u64> = (0..40).map(|_| random.pick(&live)).collect();
                live.retain(|value| !gone.contains(value));
                writer
                    .delete_fingerprints(
                        &gone.into_iter().map(Fingerprint::new).collect::<Vec<_>>(),
                    )
                    .unwrap();
            }
            if round % 4 == 3 {
                writer.compact(&Compaction::All).unwrap();
            }
            ahead.set_out(writer.store());
            let limits = Limits::default();
            let mut slices = 0;
            loop {
                // In the first rounds a call compares one item, in the last rounds all items.
                let end = (round < 8).then(Instant::now);
                match ahead.compare(&limits, end, slices > 0 || round < 4).unwrap() {
                    ComparisonProgress::All => break,
                    ComparisonProgress::Cut => panic!("there is no limit"),
                    ComparisonProgress::Some => slices += 1,
                }
            }
            assert!(ahead.is_at(writer.store()), "{k}, {round}");
            for (needle, found) in needles.iter().zip(ahead.nearest()) {
                let near = live.iter().map(|value| Fingerprint::new(*value));
                let near = near.filter(|value| value.distance(*needle) <= k);
                let expected = near.min_by_key(|value| (value.distance(*needle), *value));
                assert_eq!(found, expected, "{needle:?} within {k} in round {round}");
            }
        }
    }
}
