//! A compaction preserves what a writer adds, deletes and expires at the same time.

use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};

use crate::common::{Random, make_empty, names_of, records_of, samples, scheme_named};
use fpstore::writer::{Compacted, Compaction, Compactor, Expiry, PlannedMerge};
use fpstore::{
    BuildOptions, Builder, Error, Fingerprint, Id, IdRef, Observer, Store, Writer, WriterOptions,
    verify,
};

fn options(label: &str) -> WriterOptions {
    WriterOptions::default().scheme(scheme_named("2")).label(label).compact(false).threads(1)
}

fn writer(path: &Path) -> Writer {
    Writer::with_options(path, options("")).unwrap()
}

fn add(path: &Path, label: &str, records: &[(u64, Option<u64>)]) {
    let mut writer = Writer::with_options(path, options(label)).unwrap();
    for &(value, id) in records {
        match id {
            Some(id) => writer.push(Fingerprint::new(value), id).unwrap(),
            None => writer.push_bare(Fingerprint::new(value)).unwrap(),
        }
    }
    writer.commit().unwrap();
}

fn make(path: &Path) {
    make_empty(path, scheme_named("2"));
}

/// Compacts the store, and calls `act` when progress is reported for the `at`-th time.
fn compact_and(
    path: &Path,
    what: Compaction,
    at: u32,
    act: impl FnOnce() + Send + 'static,
) -> (Result<Compacted, Error>, bool) {
    let (count, act) = (AtomicU32::new(0), Mutex::new(Some(act)));
    let act = Arc::new(act);
    let inner = Arc::clone(&act);
    let options = options("").observer(Observer::new(move |_| {
        if count.fetch_add(1, Ordering::Relaxed) == at
            && let Some(act) = inner.lock().unwrap().take()
        {
            act();
        }
        ControlFlow::Continue(())
    }));
    let done = Compactor::with_options(path, options).unwrap().compact(&what);
    let has_acted = act.lock().unwrap().is_none();
    (done, has_acted)
}

/// Records with shared fingerprints and ids, some records without an id.
fn some_records(random: &mut Random, pool: &[u64]) -> Vec<(u64, Option<u64>)> {
    let count = 1 + random.below(20);
    let record = |_| {
        let value = pool[random.below(pool.len() as u64) as usize];
        (value, (random.below(4) > 0).then(|| random.below(60)))
    };
    (0..count).map(record).collect()
}

/// A change of a store.
type Act = Box<dyn Fn(&Path) + Send + Sync>;

/// Two stores get the same changes, one of them during a merge: both contain the same records
/// afterwards.
#[test]
fn whatever_happens_meanwhile_happens_to_the_merged_segment() {
    let mut acted = 0;
    let mut conflicted = 0;
    for seed in 0..100 {
        let mut random = Random::new(seed);
        let pool: Vec<u64> = (0..25).map(|_| random.next()).collect();
        let folder = tempfile::tempdir().unwrap();
        let (path, twin) = (folder.path().join("store.fps"), folder.path().join("twin.fps"));
        let both = [path.clone(), twin.clone()];
        both.iter().for_each(|path| make(path));
        let labels = ["a", "a", "b"];
        for _ in 0..2 + random.below(4) {
            let label = labels[random.below(3) as usize];
            let records = some_records(&mut random, &pool);
            both.iter().for_each(|path| add(path, label, &records));
            if random.below(3) == 0 {
                let id = random.below(60);
                for path in &both {
                    writer(path).delete_ids([IdRef::U64(id)]).unwrap();
                }
            }
        }
        let before = records_of(&Store::open(&path).unwrap());
        // Choose the changes once, to make them later in both stores.
        let mut acts: Vec<Act> = Vec::new();
        for _ in 0..1 + random.below(3) {
            match random.below(8) {
                0..=2 => {
                    let ids: Vec<u64> =
                        (0..1 + random.below(30)).map(|_| random.below(60)).collect();
                    acts.push(Box::new(move |path| {
                        writer(path).delete_ids(ids.iter().map(|&id| IdRef::U64(id))).unwrap();
                    }));
                }
                3..=5 => {
                    let values: Vec<Fingerprint> = (0..1 + random.below(8))
                        .map(|_| Fingerprint::new(pool[random.below(25) as usize]))
                        .collect();
                    acts.push(Box::new(move |path| {
                        writer(path).delete_fingerprints(&values).unwrap();
                    }));
                }
                6 => {
                    let records = some_records(&mut random, &pool);
                    acts.push(Box::new(move |path| add(path, "c", &records)));
                }
                _ => acts.push(Box::new(|path| {
                    writer(path).expire(&Expiry::before("b").all(true)).unwrap();
                })),
            }
        }
        let acts = Arc::new(acts);
        let what = [Compaction::All, Compaction::One][random.below(2) as usize];
        let inner = (Arc::clone(&acts), path.clone());
        let at = random.below(3) as u32;
        let (done, has_acted) =
            compact_and(&path, what, at, move || inner.0.iter().for_each(|act| act(&inner.1)));
        let done = done.unwrap();
        conflicted += done.conflicted;
        let case = format!("seed {seed}, {what:?} at {at}: {done:?}");
        let store = Store::open(&path).unwrap();
        if has_acted {
            acted += 1;
            acts.iter().for_each(|act| act(&twin));
            let expected = records_of(&Store::open(&twin).unwrap());
            let found = records_of(&store);
            // Deleting the last id of a fingerprint also deletes its records without ids under the
            // same label. After a merge of several labels, this can be more records.
            if what == Compaction::All || found != expected {
                let lost: Vec<_> = expected.iter().filter(|of| !found.contains_key(of.0)).collect();
                assert!(
                    what == Compaction::One && lost.iter().all(|(_, ids)| ids.is_empty())
                        || found == expected,
                    "{case}"
                );
            }
        } else {
            assert_eq!(records_of(&store), before, "{case}");
        }
        assert!(verify(&path, &samples(3)).unwrap().is_sound(), "{case}");
        drop(store);
        drop(Writer::open(&path).unwrap());
        let live = Store::open(&path).unwrap().info();
        let deletions =
            live.segments.iter().filter(|of| of.deleted_ids > 0 || of.deleted_fingerprints > 0);
        let names = names_of(&path);
        assert_eq!(names.len(), 1 + live.segments.len() + deletions.count(), "{case}: {names:?}");
    }
    assert!(acted > 60, "{acted}");
    assert!(conflicted > 2, "{conflicted}");
}

fn filled(folder: &Path) -> std::path::PathBuf {
    let path = folder.join("store.fps");
    make(&path);
    for segment in 0..4 {
        let records: Vec<_> = (0..50).map(|i| (1_000_003 * (i + 40 * segment), Some(i))).collect();
        add(&path, "", &records);
    }
    path
}

#[test]
fn adding_and_deleting_go_on_while_a_throttled_merge_runs() {
    let folder = tempfile::tempdir().unwrap();
    let path = filled(folder.path());
    let (started, has_started) = std::sync::mpsc::channel();
    let (go_on, may_go_on) = std::sync::mpsc::channel::<()>();
    let may_go_on = Mutex::new(may_go_on);
    let options = options("").max_rate(1 << 30).observer(Observer::new(move |_| {
        let _ = started.send(());
        // Blocks the merge until the sender is dropped; later calls return at once.
        let _ = may_go_on.lock().unwrap().recv();
        ControlFlow::Continue(())
    }));
    let compacted = {
        let path = path.clone();
        std::thread::spawn(move || {
            Compactor::with_options(&path, options).unwrap().compact(&Compaction::One)
        })
    };
    has_started.recv().unwrap();
    // The compaction has started but is not published: a writer can add and delete, but not merge.
    let mut writer =
        Writer::with_options(&path, WriterOptions::default().scheme(scheme_named("2"))).unwrap();
    assert!(matches!(
        writer.compact(&Compaction::All),
        Err(Error::Compacting { process: Some(_), .. })
    ));
    for value in 1..=5 {
        writer.push(Fingerprint::new(value), value).unwrap();
        writer.commit().unwrap();
    }
    assert_eq!(
        writer.delete_fingerprints(&[Fingerprint::new(0), Fingerprint::new(3)]).unwrap().found,
        2
    );
    let store = writer.finish().unwrap();
    assert_eq!(store.info().segments.len(), 10, "no one merged");
    drop(go_on);
    let done = compacted.join().unwrap().unwrap();
    assert_eq!((done.merged, done.made, done.conflicted), (5, 1, 0));
    assert!(store.refresh().unwrap());
    let info = store.info();
    assert_eq!(info.segments.len(), 6);
    assert_eq!((info.segments[0].deleted_fingerprints, info.segments[0].deleted_ids), (1, 1));
    assert_eq!(store.query(Fingerprint::new(4), 0).unwrap()[0].ids, [Id::U64(4)]);
    assert!(store.query(Fingerprint::new(0), 0).unwrap().is_empty());
    assert!(store.query(Fingerprint::new(3), 0).unwrap().is_empty());
    assert!(verify(&path, &samples(20)).unwrap().is_sound());
}

/// If a compaction merged segments that a writer adds meanwhile, it might never end.
#[test]
fn segments_that_are_added_while_a_compaction_runs_are_left_alone() {
    for what in [Compaction::All, Compaction::Tier] {
        let folder = tempfile::tempdir().unwrap();
        let path = filled(folder.path());
        let inner = path.clone();
        let (done, has_acted) = compact_and(&path, what, 1, move || {
            (0..40).for_each(|value| add(&inner, "", &[(value, Some(value))]));
        });
        let done = done.unwrap();
        assert!(has_acted && done.made > 0, "{what:?}: {done:?}");
        let segments = Store::open(&path).unwrap().info().segments;
        let added = segments.iter().filter(|segment| segment.fingerprint_count == 1).count();
        assert_eq!(added, 40, "{what:?}: {done:?}");
    }
}

#[test]
fn a_store_that_is_replaced_meanwhile_stays_replaced() {
    let folder = tempfile::tempdir().unwrap();
    let path = filled(folder.path());
    let inner = path.clone();
    let (done, has_acted) = compact_and(&path, Compaction::All, 1, move || {
        let options = BuildOptions::default().scheme(scheme_named("2")).replace(true);
        let mut builder = Builder::with_options(&inner, options).unwrap();
        builder.push(Fingerprint::new(77), 7).unwrap();
        builder.finish().unwrap();
    });
    let done = done.unwrap();
    assert!(has_acted);
    assert_eq!((done.merged, done.conflicted), (0, 1));
    assert_eq!(records_of(&Store::open(&path).unwrap()).into_keys().collect::<Vec<_>>(), [77]);
}

/// An interrupted merge leaves no files, even if it was waiting for a lock when interrupted.
#[test]
fn a_compactor_that_is_told_to_end_leaves_the_store_as_it_was() {
    let folder = tempfile::tempdir().unwrap();
    let path = filled(folder.path());
    let before = names_of(&path);
    for at in 0..2 {
        let count = AtomicU32::new(0);
        let options = options("").observer(Observer::new(move |_| {
            if count.fetch_add(1, Ordering::Relaxed) < at {
                ControlFlow::Continue(())
            } else {
                ControlFlow::Break(())
            }
        }));
        let done = Compactor::with_options(&path, options).unwrap().compact(&Compaction::One);
        assert!(matches!(done, Err(Error::Interrupted)), "{at}: {done:?}");
        assert_eq!(names_of(&path), before);
    }
}

#[test]
fn what_a_compaction_would_do_is_what_it_does() {
    let folder = tempfile::tempdir().unwrap();
    for seed in 0..40 {
        let mut random = Random::new(900 + seed);
        let path = folder.path().join(format!("{seed}.fps"));
        make(&path);
        let mut next = 0;
        for _ in 0..random.below(12) {
            // Distinct fingerprints, because equal ones are counted only during the merge.
            let most = [3, 30, 300][random.below(3) as usize];
            let count = 1 + random.below(most);
            let records: Vec<_> = (next..next + count).map(|value| (value, Some(value))).collect();
            next += count;
            add(&path, ["", "a", "b"][random.below(3) as usize], &records);
        }
        let gone = (0..next).filter(|value| value % (2 + seed % 5) == 0);
        let gone: Vec<_> = gone.map(Fingerprint::new).collect();
        writer(&path).delete_fingerprints(&gone).unwrap();
        for what in [Compaction::Tier, Compaction::All, Compaction::Rewrite, Compaction::One] {
            let planned = Store::open(&path).unwrap().compacting(&what);
            let done = Compactor::open(&path).unwrap().compact(&what).unwrap();
            let sums = |of: fn(&PlannedMerge) -> u64| planned.iter().map(of).sum::<u64>();
            assert_eq!(sums(|merge| merge.segments), done.merged, "seed {seed}, {what:?}");
            let deleted = sums(|merge| merge.deleted_fingerprints);
            assert_eq!(deleted, done.deleted_fingerprints, "seed {seed}, {what:?}");
            let again = Store::open(&path).unwrap().compacting(&what);
            assert!(what == Compaction::Rewrite || again.is_empty(), "{again:?}");
        }
    }
}

/// A million records, added a thousand at a time: 10, 100 and 1000 batches are merged into one
/// segment each, and at most ten times the bytes of the final store are written.
#[test]
fn a_thousand_writers_leave_one_segment() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.fps");
    make(&path);
    let (mut written, mut count, mut most) = (0, 0, 0);
    let mut seen = BTreeSet::new();
    let mut random = Random::new(10);
    for batch in 1..=1000 {
        let options = WriterOptions::default().scheme(scheme_named("2")).threads(1);
        let mut writer = Writer::with_options(&path, options).unwrap();
        for i in 0..1000 {
            writer.push(Fingerprint::new(random.next()), 1000 * batch + i).unwrap();
        }
        seen.insert(writer.commit_alone().unwrap().segment.unwrap());
        written += writer.written_len();
        let segments = writer.finish().unwrap().info().segments;
        written +=
            segments.iter().filter(|of| seen.insert(of.number)).map(|of| of.file_len).sum::<u64>();
        count += segments.len();
        most = most.max(segments.len());
        if [10, 100, 1000].contains(&batch) {
            assert_eq!(segments.len(), 1, "after {batch}");
        }
    }
    let info = Store::open(&path).unwrap().info();
    assert_eq!(info.fingerprint_count(), 1_000_000);
    // The merge rule leaves, for each decimal digit of the number of batches, 0, 1, 2, 1, 2, 3, 1,
    // 2, 3 or 4 segments if the digit is 0, 1, 2, 3, 4, 5, 6, 7, 8 or 9.
    assert_eq!((most, count), (12, 5701));
    let times = written as f64 / info.file_len() as f64;
    assert!((8.0..10.0).contains(&times), "{times} times the store");
}
