//! The life of a store on a disk that loses power at each change: the store is complete, in the
//! state before or after the change, and all changes reported as done are present.

use std::collections::HashMap;
use std::path::Path;

use super::*;
use crate::writing::writer::Expiry;
use fpstore_disk::change::{Change, recorder};
use fpstore_disk::fail_points::{self, Fault};
use fpstore_disk::power_loss::{Disk, Replayed};
use fpstore_disk::tree::Tree;

/// The maximum number of disk states that are tried for a loss of power at each change.
/// `FPSTORE_POWER_LOSS_STATES` sets another maximum.
const STATES: usize = 300;

type Act = fn(&Path) -> Result<()>;

fn writer(folder: &Path) -> Result<Writer> {
    Writer::with_options(folder.join("store.fps"), options())
}

fn build(folder: &Path, values: std::ops::Range<u64>, label: &str) -> Result<()> {
    let scheme = Scheme::named("2", 3).unwrap();
    let options = BuildOptions::default().scheme(scheme).label(label).replace(true);
    let mut builder = Builder::with_options(folder.join("store.fps"), options)?;
    for i in values {
        builder.push(Fingerprint::new(value(i)), i)?;
    }
    builder.finish().map(drop)
}

/// All kinds of changes of a store, from its first build to its replacement. Each act changes the
/// records at most once.
const LIFE: [(&str, Act); 14] = [
    ("build", |folder| build(folder, 0..120, "2026-09")),
    ("add", |folder| {
        let mut writer = writer(folder)?;
        for i in 100..260 {
            writer.push(Fingerprint::new(value(i)), format!("page {i}").as_str())?;
        }
        writer.finish().map(drop)
    }),
    ("add without ids", |folder| {
        let mut writer = writer(folder)?;
        (250..300).try_for_each(|i| writer.push_bare(Fingerprint::new(value(i))))?;
        writer.finish().map(drop)
    }),
    ("delete ids", |folder| {
        writer(folder)?
            .delete_ids((0..40).map(IdRef::U64).chain([IdRef::Text("page 112")]))
            .map(drop)
    }),
    ("delete fingerprints", |folder| {
        let wanted: Vec<Fingerprint> = (20..140).map(|i| Fingerprint::new(value(i))).collect();
        writer(folder)?.delete_fingerprints(&wanted).map(drop)
    }),
    ("import", |folder| writer(folder)?.import(&[folder.join("other.fps")]).map(drop)),
    ("compact each label", |folder| writer(folder)?.compact(&Compaction::All).map(drop)),
    ("delete again", |folder| writer(folder)?.delete_ids([IdRef::Text("page 200")]).map(drop)),
    ("compact beside", |folder| {
        let mut compactor = Compactor::with_options(folder.join("store.fps"), options())?;
        compactor.compact(&Compaction::One).map(drop)
    }),
    ("expire nothing", |folder| {
        writer(folder)?.expire(&Expiry::before("2026-01").all(true)).map(drop)
    }),
    ("add and merge", |folder| {
        let options = options().compact(true);
        let mut writer = Writer::with_options(folder.join("store.fps"), options)?;
        (400..430).try_for_each(|i| writer.push(Fingerprint::new(value(i)), i))?;
        writer.finish().map(drop)
    }),
    ("expire all", |folder| writer(folder)?.expire(&Expiry::before("2027").all(true)).map(drop)),
    ("replace", |folder| build(folder, 700..760, "")),
    ("export", |folder| {
        export(&Store::open(folder.join("store.fps"))?, folder.join("shipped.fps"), None).map(drop)
    }),
];

/// The records of the store at `path`; `None` if there is no store.
fn records_in(path: &Path) -> Option<Records> {
    path.join("MANIFEST").exists().then(|| all_records(path))
}

/// The recorded acts of [`LIFE`]: the files before the acts, all changes of files, and the records
/// of both stores before the first act and after each act.
struct Recorded {
    folder: tempfile::TempDir,
    before: Tree,
    changes: Vec<Change>,
    states: Vec<[Option<Records>; 2]>,
}

fn is_lock(name: &str) -> bool {
    ["LOCK", "COMPACT", "PUBLISH"].contains(&name)
}

fn record() -> Recorded {
    let folder = tempfile::tempdir().unwrap();
    let options = BuildOptions::default().scheme(Scheme::named("4", 3).unwrap());
    let mut other = Builder::with_options(folder.path().join("other.fps"), options).unwrap();
    (500..520).for_each(|i| other.push(Fingerprint::new(value(i)), i).unwrap());
    other.finish().unwrap();
    let both =
        |folder: &Path| ["store.fps", "shipped.fps"].map(|name| records_in(&folder.join(name)));
    let before = Tree::read(folder.path(), is_lock);
    let mut states = vec![both(folder.path())];
    recorder::start(folder.path());
    for (name, act) in LIFE {
        act(folder.path()).unwrap_or_else(|error| panic!("{name}: {error}"));
        recorder::acknowledge(folder.path());
        states.push(both(folder.path()));
    }
    let changes = recorder::stop(folder.path());
    Recorded { folder, before, changes, states }
}

/// Opens and verifies the stores that a loss of power left. Returns the records of both stores.
fn read(folder: &Path) -> Result<[Option<Records>; 2], String> {
    let [store, shipped] = ["store.fps", "shipped.fps"].map(|name| {
        let path = folder.join(name);
        let store = match Store::open(&path) {
            Ok(store) => store,
            Err(Error::NoStore { .. }) => return Ok(None),
            Err(error) => return Err(format!("{name} does not open: {error}")),
        };
        let report = crate::verify(&path, &crate::VerifyOptions::default().samples(1))
            .map_err(|error| error.to_string())?;
        if !report.is_sound() {
            return Err(format!("{name}: {:?}", report.faults));
        }
        let records = records_of(&store);
        for (&stored, _) in records.iter().step_by(records.len() / 3 + 1) {
            let needle = stored ^ 5;
            let found = store.query(Fingerprint::new(needle), 3).unwrap();
            let found: Vec<u64> = found.iter().map(|one| one.fingerprint.value()).collect();
            let distance = |other: u64| (other ^ needle).count_ones();
            let mut near: Vec<u64> =
                records.keys().copied().filter(|&other| distance(other) <= 3).collect();
            near.sort_by_key(|&other| (distance(other), other));
            assert_eq!(found, near, "{name}");
        }
        Ok(Some(records))
    });
    Ok([store?, shipped?])
}

/// Adds a record to each store that a loss of power left.
fn write(folder: &Path, found: &[Option<Records>; 2], case: &str) {
    for (name, records) in ["store.fps", "shipped.fps"].iter().zip(found) {
        let (path, Some(records)) = (folder.join(name), records) else { continue };
        assert_clean(&path, case);
        let mut writer = Writer::with_options(&path, options()).unwrap();
        writer.push(Fingerprint::new(3), "after the loss").unwrap();
        let mut expected = records.clone();
        expected.entry(3).or_default().push("after the loss".into());
        assert_eq!(records_of(&writer.finish().unwrap()), expected, "{case}: {name}");
    }
}

/// The results for the examined trees of files, by the keys of the trees.
type Examined = HashMap<u64, Result<[Option<Records>; 2], String>>;

/// Replays `changes`, losing power at each change from number `from` on. The error describes the
/// files whose records match neither the state before nor the state after the current act.
fn replay(
    recorded: &Recorded,
    changes: &[Change],
    from: usize,
    examined: &mut Examined,
    replayed: &mut Replayed,
) -> Result<(), String> {
    let limit = std::env::var("FPSTORE_POWER_LOSS_STATES").map_or(STATES, |n| n.parse().unwrap());
    let mut state = 11_u64;
    let mut pick = |below: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (state >> 33) as usize % below
    };
    let mut disk = Disk::of(&recorded.before, recorded.folder.path());
    for (number, change) in changes.iter().enumerate() {
        disk.change(change);
        if number < from {
            continue;
        }
        // All acknowledged acts must be present; the current act may be present, too.
        let done = disk.acknowledged;
        let allowed = &recorded.states[done..recorded.states.len().min(done + 2)];
        let act = LIFE.get(done).map_or("the end", |(name, _)| name);
        disk.lose_power(limit, &mut pick, replayed, |tree| {
            let case = || format!("{act}, after change {number}, {change:?}: {:?}", tree.names());
            let count = examined.len();
            let found = examined.entry(tree.key()).or_insert_with(|| {
                let folder = tempfile::tempdir().unwrap();
                tree.write_to(folder.path());
                let found = read(folder.path());
                if let Ok(found) = &found
                    && count.is_multiple_of(8)
                {
                    write(folder.path(), found, &case());
                }
                found
            });
            match found {
                Ok(found) if allowed.contains(found) => Ok(()),
                Ok(_) => Err(format!("{}: neither before nor after", case())),
                Err(fault) => Err(format!("{}: {fault}", case())),
            }
        })?;
    }
    let (left, real) = (disk.now(), Tree::read(recorded.folder.path(), is_lock));
    assert_eq!(left.names(), real.names());
    assert!(left.key() == real.key(), "a file was written past the recorder");
    Ok(())
}

#[test]
fn a_loss_of_power_leaves_the_store_of_before_or_after_each_change() {
    let recorded = record();
    let changes = &recorded.changes;
    let (mut examined, mut replayed) = (Examined::new(), Replayed::default());
    let done = replay(&recorded, changes, 0, &mut examined, &mut replayed);
    println!("{} changes, {replayed:?}, {} different", changes.len(), examined.len());
    done.unwrap();
    assert!(changes.len() > 200 && examined.len() > 500, "nothing was tried");
}

/// The replay detects each missing sync, and renames in the wrong order.
#[test]
fn a_missing_sync_or_a_rename_too_early_loses_a_store() {
    let recorded = record();
    let all = &recorded.changes;
    let mut examined = Examined::new();
    let mut fault = |changes: &[Change], from: usize| {
        replay(&recorded, changes, from, &mut examined, &mut Replayed::default()).err()
    };
    let without = |is_left_out: fn(&Change) -> bool| -> Vec<Change> {
        all.iter().filter(|change| !is_left_out(change)).cloned().collect()
    };
    let no_sync = fault(&without(|change| matches!(change, Change::Sync(_))), 0).unwrap();
    assert!(no_sync.contains("does not open"), "{no_sync}");
    let no_names = without(|change| matches!(change, Change::SyncDirectory(_)));
    let no_names = fault(&no_names, 0).unwrap();
    assert!(no_names.contains("does not open"), "{no_names}");

    // A writer that opens a store syncs the manifest and the directory, in case its predecessor did
    // not. Here every predecessor did, so these syncs are not counted. Some systems do not sync a
    // manifest that is only read; there the directory is synced first.
    let is_final = |at: usize| matches!(&all[at], Change::Sync(path) if path.ends_with("MANIFEST"));
    let opens = |at: usize| is_final(at) || matches!(all[at], Change::Acknowledge);
    let is_sync = |at: &usize| match all[*at] {
        Change::Sync(_) => !is_final(*at),
        Change::SyncDirectory(_) => !(*at > 0 && opens(*at - 1)),
        _ => false,
    };
    let syncs: Vec<usize> = (0..all.len()).filter(is_sync).collect();
    let is_noticed = |at: &usize| fault(&[&all[..*at], &all[at + 1..]].concat(), *at).is_some();
    let noticed = syncs.iter().copied().filter(is_noticed).count();
    println!("{noticed} of {} syncs are missed if they are left out", syncs.len());
    // Some syncs are redundant: one of two suffices if there are no new files, or if the directory
    // does not have its final name yet.
    assert!(noticed * 10 > syncs.len() * 9);

    // The manifest gets its name before the sync of the directory that should precede it.
    let is_manifest =
        |change: &Change| matches!(change, Change::Rename { to, .. } if to.ends_with("MANIFEST"));
    let mut swapped = all.clone();
    for at in 1..swapped.len() {
        if is_manifest(&swapped[at]) && matches!(swapped[at - 1], Change::SyncDirectory(_)) {
            swapped.swap(at - 1, at);
        }
    }
    assert!(fault(&swapped, 0).is_some());
}

/// A writer that died or hit a disk error at any operation of a commit: records reported as stored
/// by its successor survive a loss of power.
#[test]
fn what_a_writer_finds_stored_is_durable_whichever_operation_ended_its_predecessor() {
    let record = NewRecord::new(Fingerprint::new(0xff), fpstore_base::Id::U64(1));
    let mut stored_after_an_error = 0;
    for fails_at in 1.. {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("store.fps");
        drop(Builder::new(&path).unwrap().finish().unwrap());
        let before = Tree::read(folder.path(), is_lock);
        recorder::start(folder.path());
        let mut first = Writer::with_options(&path, options()).unwrap();
        first.push_record(&record).unwrap();
        fail_points::plan(folder.path(), fails_at, Fault::Broken);
        let committed = first.commit();
        drop(first);
        let passed = fail_points::forget(folder.path()).len() as u64;
        let mut next = CheckedWriter::new(&path, options());
        let is_stored = matches!(next.check_and_add(&record, 3).unwrap(), Verdict::Stored(_));
        drop(next);
        let mut disk = Disk::of(&before, folder.path());
        recorder::stop(folder.path()).iter().for_each(|change| disk.change(change));
        if is_stored {
            stored_after_an_error += u32::from(committed.is_err());
            let lost = disk.lose_power(STATES, &mut |_| 0, &mut Replayed::default(), |tree| {
                let left = tempfile::tempdir().unwrap();
                tree.write_to(left.path());
                let records = all_records(&left.path().join("store.fps"));
                if records.contains_key(&0xff) { Ok(()) } else { Err("it is lost".into()) }
            });
            lost.unwrap_or_else(|why| panic!("operation {fails_at}, {committed:?}: {why}"));
        }
        if passed < fails_at {
            break;
        }
    }
    assert!(stored_after_an_error >= 2, "{stored_after_an_error}");
}
