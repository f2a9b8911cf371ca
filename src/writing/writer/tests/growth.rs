//! Growth of work with the number of segments: with four times as many segments, no change of a
//! store takes much more than four times as many steps. A store can have 65 536 segments.

use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use super::*;
use crate::base::steps::counter::{assert_not_quadratic, steps_of};
use crate::format::manifest::{FILE_NAME, segment_file_name};
use crate::writing::builder::SegmentReceipt;
use crate::writing::writer::merge::CONFLICTS_MAX;
use fpstore_base::watch::{Observer, Phase};

/// The number of segments in the small case; the large case has four times as many.
const FEW: usize = 16;

/// The first fingerprint of a part. The second fingerprint of the part differs from it in all bits.
fn first_of(part: usize) -> Fingerprint {
    Fingerprint::new(value(2 * part as u64 + 2))
}

/// Makes `count` segment files of two fingerprints each.
fn make_parts(folder: &Path, count: usize) -> Vec<SegmentReceipt> {
    let part = |at: usize| {
        let options = BuildOptions::default().scheme(Scheme::named("2", 3).unwrap()).threads(1);
        let path = folder.join(format!("part-{at:04}.fps"));
        let mut builder = Builder::segment_file(path, options).unwrap();
        builder.push(first_of(at), at as u64).unwrap();
        builder.push(Fingerprint::new(!first_of(at).value()), at as u64 + 1000).unwrap();
        builder.finish_segment().unwrap()
    };
    (0..count).map(part).collect()
}

/// Makes a store of the segments `parts`, each with its own label.
fn store_of(parts: &[SegmentReceipt]) -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.fps");
    commit(&path, parts, &CommitOptions::default()).unwrap();
    let mut manifest = read_manifest(&path).unwrap();
    for (at, entry) in manifest.segments.iter_mut().enumerate() {
        entry.label = format!("{at:04}");
    }
    fs::write(path.join(FILE_NAME), manifest.encode()).unwrap();
    (folder, path)
}

fn add(path: &Path) {
    let mut writer = Writer::with_options(path, options()).unwrap();
    writer.push(Fingerprint::new(1), 1).unwrap();
    writer.commit().unwrap();
}

#[test]
fn no_work_grows_with_the_square_of_the_segments() {
    let folder = tempfile::tempdir().unwrap();
    let parts = make_parts(folder.path(), 8 * FEW);
    // Refreshing a store.
    assert_not_quadratic(FEW, |count| {
        let (_folder, path) = store_of(&parts[..count]);
        let store = Store::open(&path).unwrap();
        add(&path);
        steps_of(|| assert!(store.refresh().unwrap()))
    });
    // Removing orphaned files.
    assert_not_quadratic(FEW, |count| {
        let (_folder, path) = store_of(&parts[..count]);
        let orphans = (0..count as u64).map(|at| path.join(segment_file_name(5000 + at)));
        orphans.clone().for_each(|orphan| fs::write(orphan, []).unwrap());
        let steps = steps_of(|| drop(Writer::with_options(&path, options()).unwrap()));
        assert!(orphans.into_iter().all(|orphan| !orphan.exists()));
        steps
    });
    // Committing segment files, both new and known segments.
    assert_not_quadratic(FEW, |count| {
        let (_folder, path) = store_of(&parts[..count]);
        steps_of(|| {
            let done = commit(&path, &parts[..2 * count], &CommitOptions::default()).unwrap();
            assert_eq!((done.added, done.repeated), (count as u64, count as u64));
        })
    });
    // Importing segment files.
    assert_not_quadratic(FEW, |count| {
        let (_folder, path) = store_of(&parts[..count]);
        let mut writer = Writer::with_options(&path, options()).unwrap();
        let sources: Vec<PathBuf> =
            parts[count..2 * count].iter().map(|part| part.path.clone()).collect();
        steps_of(|| assert_eq!(writer.import(&sources).unwrap().segments, count as u64))
    });
    // Repairing a store with many damaged segments.
    assert_not_quadratic(FEW, |count| {
        let (_folder, path) = store_of(&parts[..count]);
        for entry in read_manifest(&path).unwrap().segments.iter().step_by(2) {
            fs::remove_file(path.join(entry.file_name())).unwrap();
        }
        let report = crate::verify(&path, &crate::VerifyOptions::default()).unwrap();
        assert_eq!(report.damaged.len(), count / 2);
        steps_of(|| assert_eq!(repair(&report, Duration::ZERO).unwrap().kept.len(), count / 2))
    });
    // Selecting the segments of a store by many labels.
    assert_not_quadratic(FEW, |count| {
        let (_folder, path) = store_of(&parts[..count]);
        let store = Store::open(&path).unwrap();
        let labels: Vec<String> = (0..count).map(|at| format!("{at:04}")).collect();
        steps_of(|| assert_eq!(store.with_labels(&labels).unwrap().info().segments.len(), count))
    });
    // Deleting the last ids of fingerprints under many labels.
    assert_not_quadratic(FEW, |count| {
        let (_folder, path) = store_of(&parts[..count]);
        let mut writer = Writer::with_options(&path, options()).unwrap();
        let ids = (0..count as u64).map(IdRef::U64);
        steps_of(|| assert_eq!(writer.delete_ids(ids).unwrap().fingerprints, count as u64))
    });
    // Answering from many segments with deletions.
    assert_not_quadratic(FEW, |count| {
        let (_folder, path) = store_of(&parts[..count]);
        let mut writer = Writer::with_options(&path, options()).unwrap();
        let gone: Vec<Fingerprint> = (0..count).map(first_of).collect();
        assert_eq!(writer.delete_fingerprints(&gone).unwrap().found, count as u64);
        let mut searcher = writer.store().searcher();
        steps_of(|| {
            assert_eq!(searcher.search(Fingerprint::new(0), 64).unwrap().len(), count);
        })
    });
}

/// Each merge loses its work because another process removes one of its segments meanwhile.
#[test]
fn a_compaction_that_others_disturb_again_and_again_gives_up() {
    let folder = tempfile::tempdir().unwrap();
    let parts = make_parts(folder.path(), 2 * CONFLICTS_MAX as usize);
    for (what, label) in [(Compaction::One, None), (Compaction::All, Some("same"))] {
        let (_folder, path) = store_of(&parts);
        if let Some(label) = label {
            let mut manifest = read_manifest(&path).unwrap();
            manifest.segments.iter_mut().for_each(|entry| entry.label = label.into());
            fs::write(path.join(FILE_NAME), manifest.encode()).unwrap();
        }
        let merges = AtomicU64::new(0);
        let of_store = path.clone();
        let observer = Observer::new(move |progress| {
            if progress.phase == Phase::Read && progress.done == 0 {
                // Remove a segment, like an expiry, but independent of labels.
                let number = merges.fetch_add(1, Ordering::Relaxed);
                let mut manifest = read_manifest(&of_store).unwrap();
                manifest.segments.remove(0);
                manifest.generation += 1;
                fs::write(of_store.join(FILE_NAME), manifest.encode()).unwrap();
                assert!(number < CONFLICTS_MAX, "it goes on");
            }
            ControlFlow::Continue(())
        });
        let before = read_manifest(&path).unwrap().segments.len();
        let options = options().observer(observer);
        let done = Compactor::with_options(&path, options).unwrap().compact(&what);
        assert!(matches!(done, Err(Error::Locked { process: None, .. })), "{what:?}: {done:?}");
        let left = read_manifest(&path).unwrap().segments.len();
        assert_eq!(left, before - CONFLICTS_MAX as usize, "{what:?}");
        assert!(crate::verify(&path, &crate::VerifyOptions::default()).unwrap().is_sound());
    }
}
