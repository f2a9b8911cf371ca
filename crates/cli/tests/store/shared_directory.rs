//! Tests stores in directories that other users can read or write: locks, and links, pipes and
//! files of other users in place of store files.
#![cfg(unix)]

use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::Path;
use std::sync::mpsc::sync_channel;
use std::time::Duration;

use fpstore::{BuildOptions, Builder, Error, IdRef, Observer, Phase, Store, Writer, WriterOptions};

use crate::common::program::{TestDir, make_pipe, text};

/// A folder with a store of two segments; one has a deletion.
fn dir() -> TestDir {
    let dir = TestDir::with("in.tsv", "0123456789abcdef\t1001\n1111111111111111\t1002\n");
    dir.ok(&["build", "in.tsv", "-q"], "");
    dir.ok(&["add", "in.tsv", "-q", "--no-compact", "--label", "b"], "");
    dir.ok(&["delete", "--id", "1002", "-q"], "");
    dir
}

/// The names of the lock files, each with a command that takes the lock.
const LOCKS: [(&str, &[&str]); 3] = [
    ("LOCK", &["add", "in.tsv", "--no-compact"]),
    ("PUBLISH", &["delete", "--id", "1001"]),
    ("COMPACT", &["compact", "--one"]),
];

#[test]
fn a_link_in_the_place_of_a_lock_is_refused_and_its_target_stays() {
    for (name, command) in LOCKS {
        let dir = dir();
        dir.write("victim", "precious\n");
        let lock = dir.path("store.fps").join(name);
        symlink("../victim", &lock).unwrap();
        let (_, err) = dir.run(command, 2);
        assert!(
            err.contains(&format!("cannot lock store.fps/{name}: it is a symbolic link")),
            "{err}"
        );
        fs::remove_file(&lock).unwrap();
        fs::hard_link(dir.path("victim"), &lock).unwrap();
        // If the lock file is a hard link, as in a copy made by `cp -al`, only this name of the
        // file is removed, and its content is not changed.
        dir.run(command, 0);
        assert!(!lock.exists());
        assert_eq!(dir.read("victim"), "precious\n");
        dir.run(&["verify"], 0);
    }
}

/// A lock file with any other content than the number of a process is somebody's file, and is not
/// overwritten.
#[test]
fn a_lock_file_that_holds_anything_but_a_process_number_is_not_written() {
    let dir = dir();
    dir.write("store.fps/LOCK", "precious\n");
    let writer = Writer::open(dir.path("store.fps")).unwrap();
    assert_eq!(dir.read("store.fps/LOCK"), "precious\n");
    drop(writer);
    dir.write("store.fps/LOCK", "12\n");
    let _writer = Writer::open(dir.path("store.fps")).unwrap();
    assert_eq!(dir.read("store.fps/LOCK"), format!("{}\n", std::process::id()));
}

#[test]
fn a_pipe_or_directory_in_the_place_of_a_file_is_refused_at_once() {
    for make in [make_pipe, |path: &Path| {
        let _ = fs::remove_file(path);
        fs::create_dir(path).unwrap();
    }] {
        for (name, command) in LOCKS {
            let dir = dir();
            make(&dir.path("store.fps").join(name));
            let (_, err) = dir.run(command, 2);
            assert!(err.contains("writers make a plain file"), "{err}");
        }
        for kind in ["MANIFEST", "segment-", "deletion-"] {
            let dir = dir();
            let names = fs::read_dir(dir.path("store.fps")).unwrap();
            let mut names = names.map(|entry| entry.unwrap().path());
            let is_kind = |path: &std::path::PathBuf| {
                path.file_name().unwrap().to_str().unwrap().starts_with(kind)
            };
            make(&names.find(is_kind).unwrap());
            for (command, status) in
                [(["info"].as_slice(), 2), (&["verify"], 1), (&["add", "in.tsv"], 2)]
            {
                let (_, err) = dir.run(command, status);
                assert!(err.contains("not a plain file"), "{kind}: {err}");
            }
        }
    }
}

/// A build removes only temporary directories that dead builds of the same user left; other
/// directories with such names are kept and reported.
#[test]
fn only_directories_that_are_provably_of_a_dead_build_are_removed() {
    let dir = TestDir::with("in.tsv", "0000000000000001\ta\n");
    for gone in [".new.fps.tmp-AAAAAA/LOCK", ".new.fps.tmp-BBBBBB/.tmp-123abc"] {
        dir.write(gone, "");
    }
    dir.write(".new.fps.tmp-BBBBBB/LOCK", "1\n");
    dir.write(".new.fps.tmp-BBBBBB/segment-0000000000000001.fps", "");
    fs::create_dir(dir.path(".new.fps.tmp-CCCCCC")).unwrap();
    let kept = [
        ".new.fps.tmp-DDDDDD/sub/f",
        ".new.fps.tmp-EEEEEE/thesis.tex",
        ".new.fps.tmp-mine/LOCK",
        ".new.fps.tmp-FFFFFF/segment-0000000000000001.fps",
    ];
    kept.iter().for_each(|name| dir.write(name, "x"));
    dir.write(".new.fps.tmp-DDDDDD/LOCK", "");
    dir.write(".new.fps.tmp-EEEEEE/LOCK", "");
    fs::create_dir(dir.path(".new.fps.tmp-GGGGGG")).unwrap();
    make_pipe(&dir.path(".new.fps.tmp-GGGGGG/LOCK"));
    let old = std::time::SystemTime::now() - Duration::from_secs(7200);
    for name in ["DDDDDD", "FFFFFF"] {
        let directory = fs::File::open(dir.path(&format!(".new.fps.tmp-{name}"))).unwrap();
        directory.set_modified(old).unwrap();
    }
    let (_, err) = dir.run(&["build", "in.tsv", "-s", "new.fps"], 0);
    let left = ["DDDDDD", "EEEEEE", "FFFFFF", "GGGGGG", "mine"];
    for name in left {
        assert!(err.contains(&format!(".new.fps.tmp-{name}: ")), "{name}: {err}");
    }
    kept.iter().for_each(|name| assert_eq!(dir.read(name), "x", "{name}"));
    let names = left.map(|name| format!(".new.fps.tmp-{name}"));
    let mut names: Vec<&str> = names.iter().map(String::as_str).collect();
    names.extend(["in.tsv", "new.fps"]);
    dir.assert_files(&names);
}

/// To take an advisory lock it is enough to open the file for reading. So users who can only read
/// the directory must not be able to open the lock file.
#[test]
fn lock_files_are_only_open_to_those_who_may_write_to_the_directory() {
    let dir = dir();
    let path = dir.path("store.fps");
    for (of_directory, expected) in [(0o755, 0o600), (0o2775, 0o660), (0o777, 0o666)] {
        fs::set_permissions(&path, fs::Permissions::from_mode(of_directory)).unwrap();
        // If others can open an existing lock file, its permissions are restricted.
        dir.write("store.fps/LOCK", "");
        fs::set_permissions(path.join("LOCK"), fs::Permissions::from_mode(0o644)).unwrap();
        let mut writer = Writer::open(&path).unwrap();
        assert_eq!(fs::metadata(path.join("LOCK")).unwrap().mode() & 0o777, expected);
        writer.push(7.into(), 7).unwrap();
        writer.commit().unwrap();
        let mode = |name: &str| fs::metadata(path.join(name)).unwrap().mode() & 0o777;
        assert_eq!(mode("MANIFEST"), of_directory & 0o444 | 0o200);
        drop(writer);
        assert!(!path.join("LOCK").exists());
    }
}

/// If a lock file is removed and created again while two writers wait for it, they must not both
/// hold the lock.
#[test]
fn a_lock_whose_file_was_removed_and_made_again_is_held_once() {
    let dir = dir();
    let path = dir.path("store.fps");
    std::thread::scope(|scope| {
        for part in 0..4_u64 {
            let path = &path;
            scope.spawn(move || {
                let options = WriterOptions::default().wait(Duration::MAX).compact(false);
                for i in 0..10 {
                    let mut writer = Writer::with_options(path, options.clone()).unwrap();
                    writer.push((100 * part + i).into(), 100 * part + i).unwrap();
                    writer.commit().unwrap();
                }
            });
        }
    });
    assert_eq!(Store::open(&path).unwrap().info().segments.len(), 42);
    dir.run(&["verify"], 0);
}

#[test]
fn a_writer_waits_for_another_and_may_be_told_to_stop() {
    let dir = dir();
    let path = dir.path("store.fps");
    let first = Writer::open(&path).unwrap();
    let refused = Writer::open(&path);
    assert!(
        matches!(refused, Err(Error::Locked { process: Some(id), .. }) if id == std::process::id())
    );
    // This observer ends a wait for the lock at once.
    let stop = Observer::new(|_| std::ops::ControlFlow::Break(()));
    let options = WriterOptions::default().wait(Duration::MAX).observer(stop);
    assert!(matches!(Writer::with_options(&path, options), Err(Error::Interrupted)));
    // The first writer releases the lock when the second one waits for it.
    let (waits, waited) = sync_channel(1);
    let tell = Observer::new(move |progress| {
        if progress.phase == Phase::Wait {
            let _ = waits.try_send(());
        }
        std::ops::ControlFlow::Continue(())
    });
    std::thread::scope(|scope| {
        scope.spawn(move || {
            waited.recv().unwrap();
            drop(first);
        });
        let options = WriterOptions::default().wait(Duration::MAX).observer(tell);
        let mut writer = Writer::with_options(&path, options).unwrap();
        assert_eq!(writer.delete_ids([IdRef::Text("1001")]).unwrap().found, 1);
    });
}

#[test]
fn commands_that_write_wait_for_their_turn() {
    let dir = dir();
    let path = dir.path("store.fps");
    let commands: [&[&str]; 5] = [
        &["add", "in.tsv"],
        &["delete", "--id", "1001"],
        &["expire", "--before", "c"],
        &["build", "in.tsv", "--force"],
        &["import", "other.fps"],
    ];
    dir.ok(&["build", "-", "-s", "other.fps", "-q"], "0000000000000007\tx\n");
    for command in commands {
        let writer = Writer::open(&path).unwrap();
        let (_, err) = dir.run(command, 2);
        assert!(err.contains("to wait until it has finished, use --wait"), "{command:?}: {err}");
        dir.run(&[command, &["--wait=0.01"]].concat(), 2);
        let mut child = dir.command(&[command, &["--wait"]].concat()).spawn().unwrap();
        let mut line = String::new();
        let mut err = BufReader::new(child.stderr.take().unwrap());
        err.read_line(&mut line).unwrap();
        assert!(line.starts_with("fpstore: waiting for another process"), "{command:?}: {line}");
        drop(writer);
        // Reads all messages, so that the command is not blocked by a full pipe.
        let rest: Vec<String> = err.lines().map(Result::unwrap).collect();
        assert!(child.wait().unwrap().success(), "{command:?}: {rest:?}");
    }
}

/// If two builds make the same store, the second one fails at its start, not after hours of work.
#[test]
fn the_name_of_a_new_store_is_reserved_while_it_is_built() {
    let dir = TestDir::with("in.tsv", "0000000000000001\ta\n");
    let path = dir.path("new.fps");
    let first = Builder::new(&path).unwrap();
    assert!(matches!(Builder::new(&path), Err(Error::Locked { .. })));
    for command in
        [["build", "in.tsv", "-s", "new.fps"].as_slice(), &["build", "in.tsv", "-fs", "new.fps"]]
    {
        let (_, err) = dir.run(command, 2);
        let expected = format!("process {} is writing to new.fps", std::process::id());
        assert!(err.contains(&expected), "{err}");
    }
    let waits = dir.command(&["build", "in.tsv", "-s", "new.fps", "--wait"]).spawn().unwrap();
    let waiting = BuildOptions::default().replace(true).wait(Duration::MAX);
    std::thread::scope(|scope| {
        let second = scope.spawn(|| Builder::with_options(&path, waiting).unwrap().finish());
        std::thread::sleep(Duration::from_millis(100));
        first.finish().unwrap();
        second.join().unwrap().unwrap();
    });
    let output = waits.wait_with_output().unwrap();
    let err = text(output.stderr);
    assert!(
        output.status.code() == Some(2) && err.contains("there is a store at new.fps"),
        "{err}"
    );
    dir.assert_files(&["in.tsv", "new.fps"]);
    drop(Builder::new(dir.path("third.fps")).unwrap());
    dir.assert_files(&["in.tsv", "new.fps"]);
}

/// A deletion file that is too long for its segment is refused before it is read.
#[test]
fn a_deletion_file_of_many_gigabytes_is_refused_unread() {
    let dir = dir();
    let names = fs::read_dir(dir.path("store.fps")).unwrap();
    let path = names
        .map(|entry| entry.unwrap().path())
        .find(|path| path.file_name().unwrap().to_str().unwrap().starts_with("deletion-"));
    let path = path.unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
    fs::File::options().write(true).open(&path).unwrap().set_len(1 << 40).unwrap();
    let (_, err) = dir.run(&["info"], 2);
    assert!(err.contains("1099511627776 bytes") && err.contains("R-25"), "{err}");
}

/// A forged manifest with huge counts of deletions is refused: no memory is allocated for them.
#[test]
fn a_manifest_with_impossible_counts_of_deletions_is_refused() {
    let dir = dir();
    let path = dir.path("store.fps/MANIFEST");
    let intact = fs::read(&path).unwrap();
    // The offsets of the counts of deleted fingerprints and deleted ids of the first segment, see
    // format-spec.md 6.2.
    for at in [80, 88] {
        for count in [3, 1 << 40, u64::MAX - 1, u64::MAX] {
            let mut bytes = intact.clone();
            bytes[at..at + 8].copy_from_slice(&count.to_le_bytes());
            let end = bytes.len() - 4;
            let crc = crc32fast::hash(&bytes[..end]).to_le_bytes();
            bytes[end..].copy_from_slice(&crc);
            fs::write(&path, &bytes).unwrap();
            for command in [&["info"][..], &["delete", "--id", "1001"], &["compact", "--one"]] {
                let (_, err) = dir.run(command, 2);
                assert!(err.contains("R-25") || err.contains("R-22"), "{at}, {count}: {err}");
            }
            assert_eq!(fs::read(&path).unwrap(), bytes);
        }
    }
    fs::write(&path, intact).unwrap();
    dir.run(&["verify"], 0);
}

/// One store can contain two equal segments, and they can be imported; importing a segment that the
/// store already has is an error.
#[test]
fn a_store_with_two_equal_segments_can_be_exported_and_imported_once() {
    let dir = TestDir::with("in.tsv", "0000000000000001\ta\n0000000000000002\tb\n");
    dir.ok(&["build", "in.tsv", "--label", "a", "-q"], "");
    dir.ok(&["add", "in.tsv", "--label", "b", "-q"], "");
    dir.ok(&["export", "-o", "shipped.fps", "-q"], "");
    dir.ok(&["build", "-", "-s", "other.fps", "-q"], "0000000000000007\tx\n");
    let (_, err) = dir.run(&["import", "shipped.fps", "shipped.fps", "-s", "other.fps"], 2);
    assert!(err.contains("has the same contents as"), "{err}");
    dir.run(&["import", "shipped.fps", "-s", "other.fps"], 0);
    let labels = Store::open(dir.path("other.fps")).unwrap().info().segments;
    let labels: Vec<String> = labels.into_iter().map(|of| of.label).collect();
    assert_eq!(labels, ["", "a", "b"]);
    let (_, err) = dir.run(&["import", "shipped.fps", "-s", "other.fps"], 2);
    assert!(err.contains("has the same contents as"), "{err}");
    dir.run(&["verify", "-s", "other.fps"], 0);
}

/// A `--budget` larger than the disk is no error: the space that a build needs depends on the
/// number of fingerprints.
#[test]
fn a_large_budget_is_not_taken_for_the_space_that_is_needed() {
    let dir = TestDir::with("in.tsv", "");
    dir.write_fingerprints("in.tsv", (0..1000).map(|i: u64| i.wrapping_mul(0x9e37_79b9_7f4a_7c15)));
    dir.run(&["build", "in.tsv", "--budget", "900TB"], 0);
    dir.run(&["add", "in.tsv", "--budget", "900TB"], 0);
}

/// If the records were added but merging failed, `add` warns and its status is 0, so that a script
/// does not add them again.
#[test]
fn an_add_whose_merge_fails_warns_and_succeeds() {
    let dir = TestDir::with("in.tsv", "0000000000000001\ta\n");
    dir.ok(&["build", "in.tsv", "-q"], "");
    dir.ok(&["add", "in.tsv", "--no-compact", "-q"], "");
    // Damages the values of a table, which `add` reads only when it merges segments.
    let segment = dir.path("store.fps/segment-0000000000000001.fps");
    fs::set_permissions(&segment, fs::Permissions::from_mode(0o644)).unwrap();
    let mut bytes = fs::read(&segment).unwrap();
    bytes[0x4000] ^= 1;
    fs::write(&segment, bytes).unwrap();
    dir.write("more.tsv", "0000000000000002\tb\n");
    let (_, err) = dir.run(&["add", "more.tsv"], 0);
    assert!(err.contains("warning: the records are added, but merging segments failed"), "{err}");
    assert_eq!(Store::open(dir.path("store.fps")).unwrap().info().segments.len(), 3);
}

/// A writer removes pipes and links that are named like its leftover files, without opening them.
#[test]
fn a_pipe_or_link_named_like_an_orphan_holds_no_writer_up() {
    let dir = dir();
    dir.write("victim", "precious\n");
    make_pipe(&dir.path("store.fps/segment-00000000000000ff.fps"));
    symlink("../victim", dir.path("store.fps/segment-00000000000000fe.fps")).unwrap();
    fs::create_dir(dir.path("store.fps/segment-00000000000000fd.fps")).unwrap();
    for command in [&["add", "in.tsv", "--no-compact", "-q"][..], &["compact", "-q"]] {
        dir.run(command, 0);
    }
    let kind = |name: &str| {
        let path = dir.path(&format!("store.fps/segment-00000000000000{name}.fps"));
        fs::symlink_metadata(path).ok().map(|found| (found.is_file(), found.is_dir()))
    };
    // A folder with the name of a segment is kept, and the new segment gets the next number.
    assert_eq!(["ff", "fe", "fd"].map(kind), [None, Some((true, false)), Some((false, true))]);
    assert_eq!(dir.read("victim"), "precious\n");
}

/// Workflow engines pass files between tasks as symbolic links, which they remove afterwards.
#[test]
fn a_commit_of_a_symbolic_link_takes_the_file_that_it_leads_to() {
    let dir = TestDir::with("in.tsv", "0123456789abcdef\ta\n");
    fs::create_dir(dir.path("task")).unwrap();
    fs::create_dir(dir.path("stage")).unwrap();
    dir.run(&["build", "in.tsv", "--segment-file", "task/part.fps", "-q"], 0);
    for (number, target) in [(1, dir.path("task/part.fps")), (2, "../task/part.fps".into())] {
        let store = format!("store-{number}.fps");
        let link = dir.path("stage/part.fps");
        let _ = fs::remove_file(&link);
        symlink(&target, &link).unwrap();
        dir.run(&["commit", "stage/part.fps", "-s", &store, "-q"], 0);
        let placed = dir.path(&store).join("segment-0000000000000001.fps");
        assert!(fs::symlink_metadata(&placed).unwrap().is_file(), "{target:?}");
    }
    fs::remove_dir_all(dir.path("task")).unwrap();
    fs::remove_dir_all(dir.path("stage")).unwrap();
    for store in ["store-1.fps", "store-2.fps"] {
        let (out, _) = dir.run(&["query", "0123456789abcdef", "-s", store], 0);
        assert_eq!(out, "0123456789abcdef\t0123456789abcdef\t0\ta\n");
    }
}

/// A segment file cannot be opened for writing by others while it is written: a process with such a
/// descriptor could still change it later.
#[test]
fn nobody_else_can_write_to_a_segment_file_while_it_grows() {
    let shared = tempfile::tempdir().unwrap();
    fs::set_permissions(shared.path(), fs::Permissions::from_mode(0o1777)).unwrap();
    let path = shared.path().join("part.fps");
    let folder = shared.path().to_path_buf();
    let observer = Observer::new(move |progress| {
        if progress.phase == Phase::Tables {
            for entry in fs::read_dir(&folder).unwrap() {
                let mode = entry.unwrap().metadata().unwrap().mode();
                assert_eq!(mode & 0o022, 0, "{mode:o} while it grows");
            }
        }
        std::ops::ControlFlow::Continue(())
    });
    let mut builder =
        Builder::segment_file(&path, BuildOptions::default().observer(observer)).unwrap();
    builder.push(1.into(), "a").unwrap();
    builder.finish_segment().unwrap();
    assert_eq!(fs::metadata(&path).unwrap().mode() & 0o222, 0);
}
