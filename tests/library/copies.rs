//! General tools copy a store while it changes: each copy is one generation of the store, or is
//! rejected. docs/operations.md lists the result for each tool.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use fpstore::writer::{BackupOptions, backup, export_linked};
use fpstore::{Builder, Fingerprint, Store};

use super::backup::change;
use crate::common::{Ends, Random, records_of};

type Records = BTreeMap<u64, Vec<String>>;
/// The generation of a copy, and its records.
type Content = (u64, Records);

/// Number of copies made with each tool.
const COPIES: usize = 4;

/// A tool that copies a folder: its name, and its arguments before the two paths.
const TOOLS: [(&str, &[&str]); 4] =
    [("tar", &[]), ("cp", &["-r"]), ("cp", &["-r", "--reflink=always"]), ("rsync", &["-a"])];

/// Copies a folder. Returns whether the tool reported success; `None` if the tool cannot be used
/// here.
fn copy(tool: (&str, &[&str]), from: &Path, to: &Path) -> Option<bool> {
    let (name, args) = tool;
    let run = |args: &[&OsStr]| {
        let done = Command::new(name).args(args).output().ok()?;
        Some((done.status.success(), String::from_utf8_lossy(&done.stderr).into_owned()))
    };
    let mut all: Vec<&OsStr> = args.iter().map(OsStr::new).collect();
    let slashed = PathBuf::from(format!("{}/", from.display()));
    match name {
        "tar" => {
            let packed = to.with_extension("tar");
            std::fs::create_dir(to).unwrap();
            let (from, to) = (from.as_os_str(), to.as_os_str());
            let (done, _) =
                run(&["-cf".as_ref(), packed.as_ref(), "-C".as_ref(), from, ".".as_ref()])?;
            run(&["-xf".as_ref(), packed.as_ref(), "-C".as_ref(), to])?;
            Some(done)
        }
        "rsync" => {
            all.extend([slashed.as_os_str(), to.as_os_str()]);
            Some(run(&all)?.0)
        }
        _ => {
            all.extend([from.as_os_str(), to.as_os_str()]);
            let (done, told) = run(&all)?;
            // Without reflink support, cp reports an error for each file.
            (done || !told.contains("failed to clone")).then_some(done)
        }
    }
}

/// The generation and the records of a copy, if it can be opened and every byte is intact.
fn content(copy: &Path) -> Option<Content> {
    let store = Store::open(copy).ok()?;
    let is_sound = fpstore::verify(copy, &Default::default()).is_ok_and(|report| report.is_sound());
    is_sound.then(|| (store.generation(), records_of(&store)))
}

#[test]
fn a_copy_of_a_living_store_is_a_state_of_it_or_refused_whatever_the_tool() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let path = at("store.fps");
    let mut builder = Builder::new(&path).unwrap();
    let mut random = Random::new(3);
    (0..3000).for_each(|at| builder.push(Fingerprint::new(random.next()), at).unwrap());
    // The records above have number ids; this record and later ones have text ids.
    builder.push(Fingerprint::new(1), "text").unwrap();
    builder.finish().unwrap();
    let states: Mutex<Vec<Records>> = Mutex::default();
    let note = || states.lock().unwrap().push(records_of(&Store::open(&path).unwrap()));
    note();
    let is_over = AtomicBool::new(false);
    let mut found: Vec<(String, bool, Option<Content>)> = Vec::new();
    std::thread::scope(|scope| {
        // Ends the other threads even if an assertion fails, because the scope waits for them.
        let _ends = Ends(&is_over);
        scope.spawn(|| {
            let mut random = Random::new(11);
            let mut step = 0;
            while !is_over.load(Ordering::Relaxed) {
                change(&path, step, &mut random);
                note();
                step += 1;
            }
        });
        for round in 0..COPIES {
            for (number, tool) in TOOLS.into_iter().enumerate() {
                let name = format!("{} {}", tool.0, tool.1.join(" "));
                // The tool copies the store itself, which changes during the copy.
                let to = at(&format!("{round}-{number}-living"));
                let Some(done) = copy(tool, &path, &to) else {
                    println!("{name}: not to be had here, so it was not tried");
                    continue;
                };
                found.push((name.clone(), done, content(&to)));
                // The tool copies the results of `backup` and `export --hard-link`, which do not
                // change.
                let to_backup = at("backup.fps");
                backup(&Store::open(&path).unwrap(), &to_backup, &BackupOptions::default())
                    .unwrap();
                let linked = at(&format!("{round}-{number}-linked.fps"));
                export_linked(&Store::open(&path).unwrap(), &linked, None).unwrap();
                for from in [to_backup, linked] {
                    let to = from.with_extension(format!("{round}-{number}-copy"));
                    assert_eq!(copy(tool, &from, &to), Some(true), "{name}");
                    let copied = content(&to);
                    assert!(copied.is_some(), "{name} of {}", from.display());
                    found.push((format!("{name} of {}", from.display()), true, copied));
                }
            }
        }
    });
    let states = states.into_inner().unwrap();
    let mut refused = BTreeMap::<&str, (usize, usize)>::new();
    for (name, done, content) in &found {
        match content {
            // A step can make two changes. `states` lacks the generation between them, which has
            // the same records as the one before or after it.
            Some((generation, records)) => {
                assert!(states.contains(records), "{name}: generation {generation}");
            }
            None => {
                let count = refused.entry(name).or_default();
                count.0 += 1;
                count.1 += usize::from(*done);
            }
        }
    }
    for (name, (count, silent)) in refused {
        println!(
            "{name}: {count} of {COPIES} copies were refused; of {silent} it had said nothing"
        );
    }
}

/// Snapshots made with `cp -al` and `rsync --link-dest` add hard links to the files of a store,
/// which is harmless.
#[test]
fn a_snapshot_of_hard_links_stays_as_it_was_and_the_store_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let (path, snapshot, kept) = (at("store.fps"), at("snapshot.fps"), at("kept.fps"));
    let mut builder = Builder::new(&path).unwrap();
    (0..300).for_each(|at| builder.push(Fingerprint::new(at * 99), at).unwrap());
    builder.push(Fingerprint::new(1), "text").unwrap();
    let store = builder.finish().unwrap();
    let before = records_of(&store);
    let linked = Command::new("cp").arg("-al").args([&path, &snapshot]).status();
    if !linked.is_ok_and(|status| status.success()) {
        println!("cp -al: not to be had here, so it was not tried");
        return;
    }
    // rsync makes hard links to the files that the snapshot already contains.
    let link = format!("--link-dest={}", snapshot.display());
    let (from, to) = (format!("{}/", path.display()), format!("{}/", kept.display()));
    let synced = Command::new("rsync").args(["-a", &link, &from, &to]).status();
    let has_synced = synced.is_ok_and(|status| status.success());
    if !has_synced {
        println!("rsync --link-dest: not to be had here, so it was not tried");
    }
    let mut random = Random::new(5);
    (0..10).for_each(|step| change(&path, step, &mut random));
    assert_eq!(content(&snapshot).unwrap().1, before);
    assert!(!has_synced || content(&kept).unwrap().1 == before);
    assert!(content(&path).is_some());
}
