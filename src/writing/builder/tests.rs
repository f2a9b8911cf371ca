//! Tests of builds that spill to temporary files, and of builds in which each file operation fails
//! once. Memory limits and fan-in are tiny, so that small inputs follow the code paths of large
//! inputs.

use std::fs;
use std::path::Path;
use std::process::Command;

use super::*;
use crate::scheme::Scheme;
use crate::segment::budget::MEMORY_MIN;
use fpstore_base::Id;
use fpstore_disk::FailPoint;
use fpstore_disk::fail_points::{self, Fault};

/// The ids of a test store.
#[derive(Clone, Copy, Debug)]
enum Ids {
    None,
    Numbers,
    /// Numbers first, texts later, some bare records, and one fingerprint with very many ids.
    Mixed,
}

const ALL_IDS: [Ids; 3] = [Ids::None, Ids::Numbers, Ids::Mixed];

fn records(count: u64, ids: Ids) -> Vec<(u64, Option<Id>)> {
    let value = |i: u64| match i % 7 {
        0 => 0,
        1 => (i / 2) << 3,
        _ => (i / 2).wrapping_mul(0x9e37_79b9_7f4a_7c15),
    };
    let id = |i: u64| match ids {
        Ids::None => None,
        Ids::Numbers => Some(Id::U64(i * 1000)),
        Ids::Mixed if i.is_multiple_of(5) => None,
        Ids::Mixed if i < count / 2 || i.is_multiple_of(3) => Some(Id::U64(i)),
        Ids::Mixed => Some(Id::Text(format!("page {i}").into())),
    };
    (0..count).map(|i| (value(i), id(i))).collect()
}

/// Options with a given scheme of two tables, so that hundreds of builds run without the planner.
fn halves() -> BuildOptions {
    BuildOptions::default().scheme(Scheme::named("2", 3).unwrap())
}

fn build(path: &Path, options: BuildOptions, records: &[(u64, Option<Id>)]) -> Result<Store> {
    let mut builder = Builder::with_options(path, options)?;
    for (value, id) in records {
        match id {
            Some(id) => builder.push(Fingerprint::new(*value), id.as_ref())?,
            None => builder.push_bare(Fingerprint::new(*value))?,
        }
    }
    builder.finish()
}

fn only_segment(path: &Path) -> Vec<u8> {
    let mut segments: Vec<_> = fs::read_dir(path)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.to_string_lossy().contains("segment-"))
        .collect();
    assert_eq!(segments.len(), 1);
    fs::read(segments.remove(0)).unwrap()
}

fn all_records(store: &Store) -> Vec<(u64, Vec<Id>)> {
    let mut all = Vec::new();
    let listed = store.for_each(|hit| {
        let ids: Result<Vec<Id>> = hit.ids().map(|id| id.map(IdRef::to_id)).collect();
        all.push((hit.fingerprint().value(), ids?));
        Ok::<(), Error>(())
    });
    listed.unwrap();
    all.sort();
    all
}

/// The expected contents of a store, computed with a map.
fn expected(records: &[(u64, Option<Id>)]) -> Vec<(u64, Vec<Id>)> {
    let mut map = std::collections::BTreeMap::<u64, Vec<Id>>::new();
    let any_text = records.iter().any(|(_, id)| matches!(id, Some(Id::Text(_))));
    for (value, id) in records {
        let ids = map.entry(*value).or_default();
        ids.extend(
            id.iter().map(|id| if any_text { Id::Text(id.to_string().into()) } else { id.clone() }),
        );
    }
    map.into_iter().collect()
}

#[test]
fn memory_and_threads_do_not_change_a_byte() {
    for scheme in ["2", "3", "0000ffff00ff00ff\nffff0000ff00ff00\n"] {
        let scheme =
            Scheme::named(scheme, 3).or_else(|_| Scheme::from_mask_list(scheme, 1)).unwrap();
        for ids in ALL_IDS {
            let records = records(30_000, ids);
            let mut first = None;
            for (memory, threads) in [(1 << 30, 1), (MEMORY_MIN, 1), (MEMORY_MIN, 3), (1 << 19, 2)]
            {
                let folder = tempfile::tempdir().unwrap();
                let path = folder.path().join("store.fps");
                let options = BuildOptions::default().scheme(scheme.clone());
                let options = options.memory(memory).threads(threads);
                let store = build(&path, options, &records).unwrap();
                let bytes = only_segment(&path);
                match &first {
                    Some(first) => assert!(*first == bytes, "{ids:?}, {memory} bytes"),
                    None => {
                        assert!(all_records(&store) == expected(&records), "{ids:?}");
                        assert!(
                            crate::verify(&path, &crate::VerifyOptions::default().samples(20))
                                .unwrap()
                                .is_sound()
                        );
                        first = Some(bytes);
                    }
                }
            }
        }
    }
}

#[test]
fn temporary_files_are_counted_and_only_made_when_memory_is_short() {
    let folder = tempfile::tempdir().unwrap();
    for (memory, spills) in [(1 << 30, false), (MEMORY_MIN, true)] {
        let path = folder.path().join(format!("{memory}.fps"));
        let options = BuildOptions::default().memory(memory);
        let mut builder = Builder::with_options(&path, options).unwrap();
        for i in 0..10_000_u64 {
            let spread = i.wrapping_mul(0x9e37_79b9_7f4a_7c15);
            builder.push_bare(Fingerprint::new(spread)).unwrap();
        }
        let (_, report) = builder.finish_and_report().unwrap();
        assert_eq!(report.temporary_len > 0, spills);
        assert_eq!(report.record_count, 10_000);
    }
    let refused = Builder::with_options(
        folder.path().join("x.fps"),
        BuildOptions::default().memory(MEMORY_MIN - 1),
    );
    assert!(matches!(refused, Err(Error::InvalidOptions { .. })));
    let options = BuildOptions::default().temp_dir(folder.path().join("absent"));
    assert!(matches!(
        Builder::with_options(folder.path().join("x.fps"), options),
        Err(Error::Io { .. })
    ));
}

#[test]
fn an_observer_sees_every_phase_and_may_end_the_build() {
    use std::ops::ControlFlow;
    use std::sync::{Arc, Mutex};

    use fpstore_base::watch::{Observer, Phase};

    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.fps");
    let records = records(200_000, Ids::Numbers);
    let seen = Arc::new(Mutex::new(Vec::new()));
    let noted = seen.clone();
    let observer = Observer::new(move |progress| {
        noted.lock().unwrap().push(progress.phase);
        ControlFlow::Continue(())
    });
    build(&path, halves().observer(observer), &records).unwrap();
    let mut phases = seen.lock().unwrap().clone();
    phases.dedup();
    assert_eq!(
        phases,
        [Phase::Read, Phase::Sort, Phase::Plan, Phase::Tables, Phase::Ids, Phase::Publish]
    );
    let old = only_segment(&path);
    for phase in phases {
        let observer = Observer::new(move |progress| {
            if progress.phase == phase { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        let options = halves().replace(true).observer(observer);
        let ended = build(&path, options, &records);
        assert!(matches!(ended, Err(Error::Interrupted)), "{phase:?}");
        assert!(only_segment(&path) == old);
        assert_eq!(fs::read_dir(&path).unwrap().count(), 2);
    }
}

/// A folder with a store to be replaced and a path for a new store.
struct Site {
    folder: tempfile::TempDir,
    new: Vec<(u64, Option<Id>)>,
}

const OLD: [(u64, Option<Id>); 1] = [(7, None)];

impl Site {
    fn new(ids: Ids) -> Self {
        let folder = tempfile::tempdir().unwrap();
        build(&folder.path().join("old.fps"), halves(), &OLD).unwrap();
        Site { folder, new: records(3000, ids) }
    }

    fn build(&self, name: &str) -> Result<Store> {
        let options = halves().replace(true).memory(MEMORY_MIN).threads(2);
        build(&self.folder.path().join(name), options, &self.new)
    }

    /// Checks that each store is complete, in the old state or in the new state.
    fn check(&self) {
        for name in ["old.fps", "new.fps"] {
            let path = self.folder.path().join(name);
            if name == "new.fps" && !path.exists() {
                continue;
            }
            let found = all_records(&Store::open(&path).unwrap());
            let is_old = name == "old.fps" && found == expected(&OLD);
            assert!(is_old || found == expected(&self.new), "{name}");
            assert!(
                crate::verify(&path, &crate::VerifyOptions::default().samples(5))
                    .unwrap()
                    .is_sound()
            );
        }
    }

    /// Builds both stores again, and checks that each has one segment and no other file is left.
    fn check_clean(&self) {
        for name in ["old.fps", "new.fps"] {
            self.build(name).unwrap();
            let mut names: Vec<String> = fs::read_dir(self.folder.path().join(name))
                .unwrap()
                .map(|entry| entry.unwrap().file_name().into_string().unwrap())
                .collect();
            names.sort();
            assert_eq!(names.len(), 2, "{names:?}");
        }
        assert_eq!(fs::read_dir(self.folder.path()).unwrap().count(), 2);
        self.check();
    }
}

#[test]
fn no_store_is_harmed_whichever_operation_fails() {
    let mut kinds = std::collections::BTreeSet::new();
    for ids in ALL_IDS {
        let site = Site::new(ids);
        let root = site.folder.path().to_path_buf();
        for name in ["old.fps", "new.fps"] {
            for fault in [Fault::Full, Fault::Broken] {
                for fails_at in 1.. {
                    fail_points::plan(&root, fails_at, fault);
                    let built = site.build(name);
                    let steps = fail_points::forget(&root);
                    kinds.extend(steps.iter().copied());
                    let was_hit = steps.len() as u64 >= fails_at;
                    site.check();
                    let failed_at = steps.get(fails_at as usize - 1).copied();
                    // A build succeeds even if it cannot remove old files. If it cannot lock a new
                    // directory, it creates another one.
                    let may_pass =
                        matches!(failed_at, None | Some(FailPoint::Remove | FailPoint::Lock));
                    assert!(was_hit || built.is_ok(), "{name}, no operation failed");
                    assert!(
                        may_pass || built.is_err(),
                        "{name}, operation {fails_at} {failed_at:?}"
                    );
                    drop(built);
                    let _ = fs::remove_dir_all(root.join("new.fps"));
                    if !was_hit {
                        assert!(fails_at > 15, "only {fails_at} operations");
                        break;
                    }
                }
            }
        }
        site.check_clean();
    }
    use FailPoint::{
        Create, Lock, Protect, Remove, Rename, RenameReport, Sync, SyncDirectory, Write,
    };
    let all = [Create, Lock, Write, Protect, Sync, Rename, RenameReport, Remove, SyncDirectory];
    assert_eq!(kinds.into_iter().collect::<Vec<_>>(), all);
}

/// The name of [`child_that_dies_at_a_fail_point`] in the test harness.
fn child() -> String {
    let module = module_path!().split_once("::").unwrap().1;
    format!("{module}::child_that_dies_at_a_fail_point")
}

/// Runs a build in a separate process that dies at one operation, as from kill -9.
#[test]
fn a_process_that_dies_at_any_operation_harms_no_store() {
    let site = Site::new(Ids::Mixed);
    for name in ["old.fps", "new.fps"] {
        for fails_at in 1.. {
            let status = Command::new(std::env::current_exe().unwrap())
                .args(["--exact", &child(), "--ignored", "--nocapture"])
                .env("FPSTORE_TEST_SITE", site.folder.path())
                .env("FPSTORE_TEST_NAME", name)
                .env("FPSTORE_TEST_STEP", fails_at.to_string())
                .output()
                .unwrap()
                .status;
            site.check();
            if status.success() {
                assert!(fails_at > 15, "only {fails_at} operations");
                break;
            }
            let _ = fs::remove_dir_all(site.folder.path().join("new.fps"));
        }
    }
    site.check_clean();
}

#[test]
#[ignore = "is run by the test above, in a process of its own"]
fn child_that_dies_at_a_fail_point() {
    let variable = |name: &str| std::env::var(name).unwrap();
    let root = std::path::PathBuf::from(variable("FPSTORE_TEST_SITE"));
    fail_points::plan(&root, variable("FPSTORE_TEST_STEP").parse().unwrap(), Fault::Abort);
    let options = halves().replace(true).memory(MEMORY_MIN).threads(2);
    let path = root.join(variable("FPSTORE_TEST_NAME"));
    build(&path, options, &records(3000, Ids::Mixed)).unwrap();
}
