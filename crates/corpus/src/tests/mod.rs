//! Interrupts a cleaning at any point, changes its files, outputs, inputs or store before it is
//! resumed, and compares the result with an undisturbed cleaning.

mod power_loss;

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use fpstore_documents::DocumentOptions;
use fpstore_text::{TextHasher, TextRecipe};

use super::*;
use crate::steps::counter::{assert_not_quadratic, steps_of};
use fpstore::{Builder, Fingerprint, IdRef, Observer, Phase, Store, Writer, WriterOptions};
use fpstore_base::Resources;
use fpstore_disk::fail_points::{self, Fault};

fn source(options: DocumentOptions) -> DocumentSource {
    DocumentSource::of_texts(TextHasher::new(&TextRecipe::default()).unwrap(), options)
}

/// A line of JSON for each number; documents whose numbers are equal modulo `kinds` are
/// near-duplicates.
fn lines(name: &str, numbers: std::ops::Range<u64>, kinds: u64) -> String {
    let line = |number: u64| {
        let kind = number % kinds;
        let words: Vec<String> =
            (0..40).map(|at| format!("w{}", (kind + 7) * (at + 3) % 997)).collect();
        format!("{{\"id\":\"{name}{number}\",\"text\":\"{} {number}\"}}\n", words.join(" "))
    };
    numbers.map(line).collect()
}

/// A folder with documents in `in`, and a store that contains some of them.
fn site() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    fs::create_dir_all(at("in/b")).unwrap();
    fs::write(at("in/a.jsonl"), lines("a", 0..30, 12)).unwrap();
    fs::write(at("in/b/c.jsonl"), lines("c", 6..20, 17)).unwrap();
    fs::write(at("in/d.jsonl"), lines("d", 0..5, 99)).unwrap();
    fs::write(at("old.jsonl"), lines("old", 0..3, 12)).unwrap();
    let options =
        fpstore::BuildOptions::default().recipe(source(DocumentOptions::default()).recipe());
    let mut builder = Builder::with_options(at("store.fps"), options).unwrap();
    let old = source(DocumentOptions::default());
    old.ingest(&[at("old.jsonl")], |fingerprint, id, sketch| {
        builder.push_sketched(fingerprint, id, sketch)
    })
    .unwrap();
    builder.finish().unwrap();
    folder
}

fn one_thread(observer: Option<Observer>) -> Resources {
    Resources { threads: Some(1), observer, ..Resources::default() }
}

fn cleaner(folder: &Path) -> Cleaner<'static> {
    let options = DocumentOptions::default().skip_bad(true).threads(1);
    Cleaner {
        output: Some(folder.join("out/")),
        against: Some(Store::open(folder.join("store.fps")).unwrap()),
        within: true,
        add: Some(WriterOptions::default().threads(1)),
        resources: one_thread(None),
        ..Cleaner::new(source(options), [folder.join("in")])
    }
}

/// The outputs, and the ids of each fingerprint of the store.
type Result = (BTreeMap<PathBuf, Vec<u8>>, Vec<(u64, Vec<String>)>);

fn result(folder: &Path) -> Result {
    let mut files = BTreeMap::new();
    let mut folders = vec![folder.join("out")];
    while let Some(one) = folders.pop() {
        for entry in fs::read_dir(one).unwrap() {
            let path = entry.unwrap().path();
            // Not compared: the job folder remains if its files cannot be removed.
            if path.ends_with(".fpstore-dedup") {
                continue;
            } else if path.is_dir() {
                folders.push(path);
            } else {
                let below = path.strip_prefix(folder).unwrap().to_path_buf();
                files.insert(below, fs::read(path).unwrap());
            }
        }
    }
    let mut records = Vec::new();
    Store::open(folder.join("store.fps"))
        .unwrap()
        .for_each(|hit| {
            let ids = hit.ids().map(|id| Ok(id?.to_string())).collect::<fpstore::Result<_>>()?;
            records.push((hit.fingerprint().value(), ids));
            Ok::<(), fpstore::Error>(())
        })
        .unwrap();
    (files, records)
}

/// The result of an undisturbed cleaning.
fn undisturbed() -> Result {
    let folder = site();
    let account = cleaner(folder.path()).run().unwrap();
    assert_eq!((account.document_count(), account.added_count), (49, account.kept_count));
    assert!(account.near_new_count > 10 && account.near_stored_count > 3, "{account:?}");
    result(folder.path())
}

/// Runs a cleaning until all outputs are written, and does not finish it.
fn unfinished(folder: &Path) {
    drop(cleaner(folder).begin().unwrap().unwrap().run().unwrap());
    assert!(folder.join("out/.fpstore-dedup/decisions").exists());
}

#[test]
fn a_cleaning_goes_on_whichever_operation_failed() {
    let expected = undisturbed();
    let (mut stopped, mut left) = (0, 0);
    for fault in [Fault::Full, Fault::Broken] {
        for fails_at in 1.. {
            let folder = site();
            fail_points::plan(folder.path(), fails_at, fault);
            let done = cleaner(folder.path()).run();
            let passed = fail_points::forget(folder.path()).len() as u64;
            let case = format!("{fault:?} at operation {fails_at}: {done:?}");
            if done.is_err() {
                stopped += 1;
                cleaner(folder.path()).run().unwrap_or_else(|error| panic!("{case}: {error}"));
            }
            assert!(result(folder.path()) == expected, "{case}");
            if folder.path().join("out/.fpstore-dedup").exists() {
                // The work is done; only its folder remains to be removed.
                match cleaner(folder.path()).run() {
                    Ok(_) | Err(Error::Exists { .. } | Error::Ended { .. }) => {}
                    Err(again) => panic!("{case}: {again}"),
                }
                assert!(result(folder.path()) == expected, "{case}");
                left += 1;
            }
            if passed < fails_at {
                assert!(done.is_ok() && fails_at > 20, "{case}");
                break;
            }
        }
    }
    assert!(stopped > 40, "{stopped} cleanings were stopped");
    assert!(left > 6, "{left} left files that could not be removed");
}

/// If the disk is full, the cleaning ends with an error that reports this, and the next run
/// completes it.
#[test]
fn a_full_disk_is_told_while_features_are_compared() {
    let similar = |folder: &Path| {
        let options = DocumentOptions::default().skip_bad(true).threads(1);
        Cleaner {
            output: Some(folder.join("out/")),
            confirm: Some(0.8),
            resources: one_thread(None),
            ..Cleaner::new(source(options), [folder.join("in")])
        }
    };
    let folder = site();
    let expected = similar(folder.path()).run().unwrap();
    assert!(expected.near_new_count > 10, "{expected:?}");
    for fails_at in 1.. {
        let folder = site();
        fail_points::plan(folder.path(), fails_at, Fault::Full);
        let done = similar(folder.path()).run();
        let passed = fail_points::forget(folder.path()).len() as u64;
        if let Err(error) = done {
            let why = fpstore_base::chain(&error);
            assert!(why.contains("no storage space"), "operation {fails_at}: {why}");
            assert_eq!(similar(folder.path()).run().unwrap(), expected, "operation {fails_at}");
        }
        if passed < fails_at {
            assert!(fails_at > 20);
            break;
        }
    }
}

#[test]
fn a_disk_without_room_for_the_copies_is_told_before_the_first_one() {
    let expected = undisturbed();
    let folder = site();
    let has_output = || folder.path().join("out/a.jsonl").exists();
    fail_points::limit_space(folder.path(), Some(100));
    let refused = cleaner(folder.path()).run().unwrap_err();
    assert!(
        matches!(&refused, Error::Store(fpstore::Error::NoSpace { free: 100, .. })),
        "{refused}"
    );
    assert!(!has_output());
    // The work can be resumed without the check of the free space, or once there is enough space.
    let is_skipped = Cleaner { skip_space_check: true, ..cleaner(folder.path()) };
    let is_skipped = is_skipped.begin().unwrap().unwrap();
    assert!(is_skipped.is_resumed());
    drop(is_skipped);
    fail_points::limit_space(folder.path(), None);
    cleaner(folder.path()).run().unwrap();
    assert_eq!(result(folder.path()), expected);
}

/// A cleaning that is interrupted at any observer call and resumed, even with damaged feature
/// files, writes the same outputs.
#[test]
fn a_cleaning_that_confirms_goes_on_wherever_the_observer_has_ended_it() {
    let similar = |folder: &Path, observer: Option<Observer>| {
        let options = DocumentOptions::default().skip_bad(true).threads(1);
        Cleaner {
            output: Some(folder.join("out/")),
            confirm: Some(0.8),
            resources: one_thread(observer),
            ..Cleaner::new(source(options), [folder.join("in")])
        }
    };
    let folder = site();
    similar(folder.path(), None).run().unwrap();
    let expected = result(folder.path());
    let mut ended = BTreeMap::new();
    for calls in 0.. {
        let folder = site();
        let (left, last) = (Mutex::new(calls), Arc::new(Mutex::new(None)));
        let seen = Arc::clone(&last);
        let observer = Observer::new(move |progress| {
            *seen.lock().unwrap() = Some(progress.phase);
            let mut left = left.lock().unwrap();
            *left -= 1;
            if *left < 0 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        let done = similar(folder.path(), Some(observer)).run();
        let Err(error) = done else { break };
        assert!(matches!(error, Error::Store(fpstore::Error::Interrupted)), "{calls}: {error}");
        let phase = last.lock().unwrap().unwrap();
        *ended.entry(phase).or_insert(0) += 1;
        let job = folder.path().join("out/.fpstore-dedup");
        if job.join("features-0").exists() && calls % 2 == 1 {
            let mut bytes = fs::read(job.join("features-0")).unwrap();
            let middle = bytes.len() / 2;
            bytes[middle] ^= 1;
            fs::write(job.join("features-0"), bytes).unwrap();
        }
        similar(folder.path(), None).run().unwrap();
        assert!(result(folder.path()) == expected, "{calls}");
    }
    for phase in [Phase::Join, Phase::Cluster] {
        assert!(ended.contains_key(&phase), "{phase:?} of {ended:?}");
    }
}

/// Changes a bit of each file of the job, or truncates or removes the file.
#[test]
fn damaged_files_of_the_work_are_made_again() {
    let expected = undisturbed();
    for name in ["spool-0", "decisions", "written", "job.json"] {
        for damage in 0..3 {
            let folder = site();
            unfinished(folder.path());
            let path = folder.path().join("out/.fpstore-dedup").join(name);
            let mut bytes = fs::read(&path).unwrap();
            match damage {
                0 => fs::remove_file(&path).unwrap(),
                1 => fs::write(&path, &bytes[..bytes.len() / 2]).unwrap(),
                _ => {
                    let middle = bytes.len() / 2;
                    bytes[middle] ^= 1;
                    fs::write(&path, &bytes).unwrap();
                }
            }
            let case = format!("{name}, damage {damage}");
            // Without the description, existing outputs are replaced only with `replace`.
            let cleaner = Cleaner { replace: name == "job.json", ..cleaner(folder.path()) };
            cleaner.run().unwrap_or_else(|error| panic!("{case}: {error}"));
            assert!(result(folder.path()) == expected, "{case}");
        }
    }
}

/// The files of the job folder, by name.
fn work_files(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let entries = fs::read_dir(folder.join("out/.fpstore-dedup")).unwrap();
    let file = |entry: fs::DirEntry| {
        let bytes = fs::read(entry.path()).unwrap();
        (entry.file_name().into_string().unwrap(), bytes)
    };
    entries.map(|entry| file(entry.unwrap())).collect()
}

/// Each file is intact by itself, but has the name of another file, or belongs to a cleaning of
/// other files.
#[test]
fn files_of_the_work_under_other_names_or_of_other_work_are_made_again() {
    let expected = undisturbed();
    let other = site();
    fs::write(other.path().join("in/a.jsonl"), lines("other", 40..70, 14)).unwrap();
    unfinished(other.path());
    let of_other = work_files(other.path());
    let names = ["spool-0", "spool-1", "decisions", "written", "job.json"];
    let swaps = names.iter().flat_map(|one| names.iter().map(move |two| (*one, *two)));
    for (one, two) in swaps.filter(|(one, two)| one <= two) {
        let folder = site();
        unfinished(folder.path());
        let own = work_files(folder.path());
        let put = |name: &str, bytes: &[u8]| {
            fs::write(folder.path().join("out/.fpstore-dedup").join(name), bytes).unwrap();
        };
        if one == two {
            put(one, &of_other[one]);
        } else {
            put(one, &own[two]);
            put(two, &own[one]);
        }
        let case = format!("{one} and {two}");
        // Without the description, existing outputs are replaced only with `replace`.
        let replace = [one, two].contains(&"job.json");
        let cleaner = Cleaner { replace, ..cleaner(folder.path()) };
        cleaner.run().unwrap_or_else(|error| panic!("{case}: {error}"));
        assert!(result(folder.path()) == expected, "{case}");
    }
}

/// The cleaning is interrupted after it added its documents to the store, before it removed its
/// folder. A new cleaning would find all documents in the store and write empty outputs.
#[test]
fn work_whose_documents_are_added_is_not_given_up() {
    let expected = undisturbed();
    for damage in ["none", "a bit", "gone"] {
        let folder = site();
        let at = |name: &str| folder.path().join(name);
        let cleaned = cleaner(folder.path()).begin().unwrap().unwrap().run().unwrap();
        let files = work_files(folder.path());
        cleaned.finish().unwrap();
        fs::create_dir(at("out/.fpstore-dedup")).unwrap();
        let put = |name: &str, bytes: &[u8]| {
            fs::write(at("out/.fpstore-dedup").join(name), bytes).unwrap();
        };
        files.iter().for_each(|(name, bytes)| put(name, bytes));
        match damage {
            "gone" => fs::remove_file(at("out/.fpstore-dedup/job.json")).unwrap(),
            "a bit" => put("job.json", &[&files["job.json"][..], b"x"].concat()),
            _ => {}
        }
        fs::write(at("in/new.jsonl"), lines("new", 200..203, 999)).unwrap();
        for replace in [false, true] {
            let refused =
                Cleaner { replace, ..cleaner(folder.path()) }.run().unwrap_err().to_string();
            assert!(refused.contains("its outputs are complete"), "{damage}: {refused}");
        }
        assert!(result(folder.path()) == expected, "{damage}");
        fs::remove_file(at("in/new.jsonl")).unwrap();
        if damage == "none" {
            assert_eq!(cleaner(folder.path()).run().unwrap().document_count(), 49);
            assert!(result(folder.path()) == expected && !at("out/.fpstore-dedup").exists());
        }
    }
}

/// Events of the first attempt are not reported again, and its files are not read again.
#[test]
fn a_resumed_cleaning_reads_each_list_once_and_is_silent_about_what_was_told() {
    let folder = site();
    let text = fs::read_to_string(folder.path().join("in/d.jsonl")).unwrap();
    fs::write(folder.path().join("in/again.jsonl"), text).unwrap();
    let told = std::sync::Mutex::new(0);
    let listener = |event: Event<'_>| {
        *told.lock().unwrap() += u32::from(matches!(event, Event::RepeatedIds(_)));
    };
    let steps_of_run = || {
        steps_of(|| {
            let cleaner = Cleaner { listener: Some(&listener), ..cleaner(folder.path()) };
            let cleaning = cleaner.begin().unwrap().unwrap();
            drop(cleaning.run().unwrap());
        })
    };
    let (first, second) = (steps_of_run(), steps_of_run());
    assert_eq!(*told.lock().unwrap(), 1);
    assert!((54..=first).contains(&second), "{first} steps, then {second}");
    // All decisions are made again, which takes as many steps as the first time.
    fs::remove_file(folder.path().join("out/.fpstore-dedup/decisions")).unwrap();
    assert_eq!(steps_of_run(), first);
}

#[test]
fn an_output_that_is_gone_is_written_again_and_one_that_was_changed_is_not_lost() {
    let expected = undisturbed();
    let folder = site();
    let output = folder.path().join("out/a.jsonl");
    unfinished(folder.path());
    fs::remove_file(&output).unwrap();
    cleaner(folder.path()).run().unwrap();
    assert!(result(folder.path()) == expected);

    let folder = site();
    let output = folder.path().join("out/a.jsonl");
    unfinished(folder.path());
    fs::OpenOptions::new().append(true).open(&output).unwrap().write_all(b"mine\n").unwrap();
    let refused = cleaner(folder.path()).run().unwrap_err();
    assert!(matches!(refused, Error::Exists { .. }), "{refused}");
    assert!(fs::read(&output).unwrap().ends_with(b"mine\n"));
    Cleaner { replace: true, ..cleaner(folder.path()) }.run().unwrap();
    assert!(result(folder.path()) == expected);
}

/// Decisions based on an older snapshot of the store are repeated, with all dependent steps.
#[test]
fn a_store_that_has_changed_is_compared_with_again() {
    let add = |folder: &Path| {
        let mut writer = Writer::open(folder.join("store.fps")).unwrap();
        let options = DocumentOptions::default();
        source(options)
            .ingest(&[folder.join("in/a.jsonl")], |fingerprint, id, sketch| {
                writer.push_sketched(fingerprint, id, sketch)
            })
            .unwrap();
        writer.finish().unwrap();
    };
    let folder = site();
    add(folder.path());
    let account = cleaner(folder.path()).run().unwrap();
    let expected = (account, result(folder.path()));

    let folder = site();
    unfinished(folder.path());
    add(folder.path());
    let account = cleaner(folder.path()).run().unwrap();
    assert!((account, result(folder.path())) == expected, "{account:?}");

    // A run with another name does not resume the job.
    let folder = site();
    unfinished(folder.path());
    let options = WriterOptions::default().run(Some("tonight".into()));
    let refused = Cleaner { add: Some(options), ..cleaner(folder.path()) };
    let refused = refused.run().unwrap_err().to_string();
    assert!(refused.ends_with("other settings: run"), "{refused}");
}

/// Compresses with gzip and drops the last bytes.
fn damaged_gzip(text: &str, cut: usize) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(text.as_bytes()).unwrap();
    let mut bytes = encoder.finish().unwrap();
    bytes.truncate(bytes.len() - cut);
    bytes
}

/// The documents of a partly unreadable file are in no output, so they cause no removal of other
/// documents, and are not added to the store.
#[test]
fn documents_of_a_damaged_file_displace_no_others() {
    let folder = site();
    let text = lines("c", 0..2000, 2000);
    fs::write(folder.path().join("in/a.jsonl.gz"), damaged_gzip(&text, 500)).unwrap();
    fs::write(folder.path().join("in/z.jsonl"), lines("z", 100..140, 2000)).unwrap();
    let events = std::sync::Mutex::new(Vec::new());
    let listener = |event: Event<'_>| {
        if let Event::Read(summary) = event {
            events.lock().unwrap().extend(summary.bad_files.clone());
        }
    };
    let account = Cleaner { listener: Some(&listener), ..cleaner(folder.path()) }.run().unwrap();
    assert_eq!(account.uncopied_count, 1);
    assert!(account.left_out_count > 500, "{account:?}");
    assert_eq!(account.kept_count + account.removed_count(), 49 + 40);
    let events = events.into_inner().unwrap();
    assert!(events[0].ends_with("before that were left out"), "{events:?}");
    let (files, records) = result(folder.path());
    let healthy = String::from_utf8(files[Path::new("out/z.jsonl")].clone()).unwrap();
    assert!(healthy.lines().count() >= 35, "{}", healthy.lines().count());
    assert!(!files.contains_key(Path::new("out/a.jsonl.gz")));
    assert!(!folder.path().join("out/.fpstore-dedup").exists());
    // Each record of the store is in an output or was stored before.
    let all: Vec<u8> = files.into_values().flatten().collect();
    let all = String::from_utf8(all).unwrap();
    for id in records.iter().flat_map(|(_, ids)| ids).filter(|id| !id.starts_with("old")) {
        assert!(all.contains(&format!("\"id\":\"{id}\"")), "{id}");
    }
}

#[test]
fn the_work_on_outputs_does_not_grow_with_the_square_of_the_files() {
    assert_not_quadratic(8, |count| {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("in")).unwrap();
        for file in 0..count as u64 {
            let path = folder.path().join(format!("in/{file}.jsonl"));
            fs::write(path, lines("a", file..file + 1, 99)).unwrap();
        }
        let options = DocumentOptions::default().threads(1);
        let cleaner = Cleaner {
            output: Some(folder.path().join("out/")),
            resources: one_thread(None),
            ..Cleaner::new(source(options), [folder.path().join("in")])
        };
        let mut kept = 0;
        let steps = steps_of(|| kept = cleaner.run().unwrap().kept_count);
        assert_eq!(kept, count as u64);
        steps
    });
}

/// A symbolic link in place of the job folder, as another user could create it.
#[cfg(unix)]
#[test]
fn nothing_behind_a_link_is_removed() {
    let folder = site();
    let victim = folder.path().join("victim");
    fs::create_dir_all(victim.join("sub")).unwrap();
    fs::write(victim.join("thesis.txt"), "precious").unwrap();
    fs::create_dir(folder.path().join("out")).unwrap();
    std::os::unix::fs::symlink(&victim, folder.path().join("out/.fpstore-dedup")).unwrap();
    for replace in [false, true] {
        let refused = Cleaner { replace, ..cleaner(folder.path()) }.run().unwrap_err();
        let why = fpstore_base::chain(&refused);
        assert!(why.contains("a symbolic link"), "{why}");
    }
    assert_eq!(fs::read(victim.join("thesis.txt")).unwrap(), b"precious");
    assert!(victim.join("sub").is_dir());
}

/// The contents of all files below a folder. Linked folders are not entered.
#[cfg(unix)]
fn tree(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut files = BTreeMap::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        match path.is_dir() && !path.is_symlink() {
            true => files.extend(tree(&path)),
            false => drop(files.insert(path.clone(), fs::read(&path).unwrap_or_default())),
        }
    }
    files
}

/// A user with permission to rename in the output folder moves the job folder away at any moment
/// and puts a link to other files in its place.
#[cfg(unix)]
#[test]
fn a_link_that_takes_the_place_of_the_folder_of_the_work_is_not_followed() {
    let expected = undisturbed();
    let (mut swapped_count, mut swapped_at) = (0, 0);
    loop {
        let folder = site();
        let at = |name: &str| folder.path().join(name);
        fs::create_dir_all(at("victim/.fpstore-work-abcdef")).unwrap();
        for name in
            ["decisions", "job.json", "spool-0", "spool-1", "connections", "left-out", "lock"]
        {
            fs::write(at("victim").join(name), format!("precious {name}")).unwrap();
        }
        fs::write(at("victim/.fpstore-abcdef.tmp"), "precious").unwrap();
        fs::write(at("victim/.fpstore-work-abcdef/precious"), "precious").unwrap();
        let before = tree(&at("victim"));
        let (work, moved) = (at("out/.fpstore-dedup"), at("moved"));
        let (victim, calls) = (at("victim"), Mutex::new(0));
        let observer = {
            Observer::new(move |_| {
                let mut calls = calls.lock().unwrap();
                if !work.exists() {
                    return ControlFlow::Continue(());
                }
                if *calls == swapped_at {
                    fs::rename(&work, &moved).unwrap();
                    std::os::unix::fs::symlink(&victim, &work).unwrap();
                }
                *calls += 1;
                ControlFlow::Continue(())
            })
        };
        let resources = one_thread(Some(observer));
        let done = Cleaner { resources, ..cleaner(folder.path()) }.run();
        let was_swapped = at("moved").exists();
        assert_eq!(tree(&at("victim")), before, "swapped at call {swapped_at}: {done:?}");
        if !was_swapped {
            break;
        }
        swapped_count += 1;
        // If the cleaning succeeds nevertheless, its result is complete.
        if done.is_ok() {
            assert!(result(folder.path()) == expected, "swapped at call {swapped_at}");
        }
        swapped_at += 1 + swapped_at / 8;
    }
    assert!(swapped_count > 5, "{swapped_count}");
}

/// The output folder named by the user can be a link; a folder below it cannot.
#[cfg(unix)]
#[test]
fn nothing_is_written_through_a_link_below_the_output() {
    let expected = undisturbed();
    let folder = site();
    let at = |name: &str| folder.path().join(name);
    fs::create_dir_all(at("victim")).unwrap();
    fs::write(at("victim/c.jsonl"), "precious").unwrap();
    fs::create_dir(at("real")).unwrap();
    std::os::unix::fs::symlink(at("real"), at("out")).unwrap();
    std::os::unix::fs::symlink(at("victim"), at("real/b")).unwrap();
    for replace in [false, true] {
        let refused = Cleaner { replace, ..cleaner(folder.path()) }.run().unwrap_err().to_string();
        assert!(refused.contains("out/b is a symbolic link"), "{refused}");
        assert!(!at("real/a.jsonl").exists());
    }
    // The link is created after the work has begun.
    fs::remove_file(at("real/b")).unwrap();
    let cleaning = cleaner(folder.path()).begin().unwrap().unwrap();
    std::os::unix::fs::symlink(at("victim"), at("real/b")).unwrap();
    let refused = cleaning.run().err().unwrap();
    let why = fpstore_base::chain(&refused);
    assert!(why.contains("out/b is a symbolic link"), "{why}");
    assert_eq!(fs::read(at("victim/c.jsonl")).unwrap(), b"precious");
    fs::remove_file(at("real/b")).unwrap();
    cleaner(folder.path()).run().unwrap();
    assert!(result(folder.path()) == expected);
}

/// An input is replaced by a different text of the same length, with the same modification time.
#[test]
fn a_replaced_input_is_another_one_whatever_its_times_say() {
    let folder = site();
    unfinished(folder.path());
    let path = folder.path().join("in/a.jsonl");
    let found = fs::metadata(&path).unwrap();
    let text = fs::read_to_string(&path).unwrap().replace("\"a5\"", "\"z5\"");
    fs::remove_file(&path).unwrap();
    fs::write(&path, text).unwrap();
    let file = fs::File::options().write(true).open(&path).unwrap();
    file.set_modified(found.modified().unwrap()).unwrap();
    drop(file);
    let now = fs::metadata(&path).unwrap();
    assert_eq!((now.len(), now.modified().ok()), (found.len(), found.modified().ok()));
    let refused = cleaner(folder.path()).run().unwrap_err().to_string();
    assert!(refused.ends_with("other settings: files"), "{refused}");
    Cleaner { replace: true, ..cleaner(folder.path()) }.run().unwrap();
    let kept = fs::read_to_string(folder.path().join("out/a.jsonl")).unwrap();
    assert!(kept.contains("\"z5\"") && !kept.contains("\"a5\""));
}

/// The store contains all documents of an earlier run with the same name. If the run were repeated,
/// each document would be removed as a duplicate of itself.
#[test]
fn a_run_that_the_store_knows_is_refused_where_no_output_has_its_documents() {
    let folder = site();
    let of_run = |name: &str| {
        let options = DocumentOptions::default().skip_bad(true).threads(1);
        let add = WriterOptions::default().run(Some(name.into())).wait(fpstore::Waiting::FOREVER);
        Cleaner {
            against: Some(Store::open(folder.path().join("store.fps")).unwrap()),
            within: true,
            add: Some(add),
            ..Cleaner::new(source(options), [folder.path().join("in")])
        }
    };
    let account = of_run("n1").run().unwrap();
    assert!(account.kept_count > 10 && account.added_count == account.kept_count);
    let stored = || Store::open(folder.path().join("store.fps")).unwrap();
    let (generation, ids) = (stored().generation(), stored().info().id_count());
    let refused = of_run("n1").run().unwrap_err();
    assert!(matches!(&refused, Error::KnownRun { run, .. } if run == "n1"), "{refused}");
    // Another process ends the same run after this process has checked, but before this process
    // takes the lock.
    let writer = Writer::with_options(
        folder.path().join("store.fps"),
        WriterOptions::default().run(Some("n2".into())),
    );
    let writer = writer.unwrap();
    let waiting = of_run("n2");
    std::thread::scope(|scope| {
        let waiting = scope.spawn(move || waiting.run());
        writer.finish().unwrap();
        let refused = waiting.join().unwrap().unwrap_err();
        assert!(matches!(&refused, Error::KnownRun { run, .. } if run == "n2"), "{refused}");
    });
    assert_eq!((stored().generation(), stored().info().id_count()), (generation + 1, ids));
}

/// The ids of the documents in JSON Lines.
fn ids_of(lines: &str) -> Vec<String> {
    let id = |line: &str| serde_json::from_str::<serde_json::Value>(line).unwrap()["id"].clone();
    lines.lines().map(|line| id(line).as_str().unwrap().to_string()).collect()
}

/// The numbers of documents in the second batch continue the first batch: a document listed as
/// removed is in no output, and every other document is in an output.
#[test]
fn lists_and_outputs_of_several_batches_agree() {
    let folder = site();
    let mut all = Vec::new();
    for name in ["in/a.jsonl", "in/b/c.jsonl", "in/d.jsonl"] {
        all.extend(ids_of(&fs::read_to_string(folder.path().join(name)).unwrap()));
    }
    all.sort();
    let cleaned = cleaner(folder.path()).begin().unwrap().unwrap().run().unwrap();
    let mut removed = Vec::new();
    cleaned
        .for_each_removed(|row| {
            let (id, other) = (row.id.unwrap().to_string(), row.other_id.unwrap().to_string());
            assert_ne!(id, other);
            removed.push((id, other));
            Ok::<(), Error>(())
        })
        .unwrap();
    let mut listed = Vec::new();
    let list = |_: Fingerprint, id: IdRef<'_>| {
        listed.push(id.to_string());
        Ok::<(), Error>(())
    };
    cleaned.for_each_kept(list).unwrap();
    drop(cleaned);
    let (outputs, _) = result(folder.path());
    let mut kept = Vec::new();
    for bytes in outputs.values() {
        kept.extend(ids_of(str::from_utf8(bytes).unwrap()));
    }
    kept.sort();
    listed.sort();
    assert_eq!(kept, listed);
    assert!(removed.iter().any(|(id, _)| id.starts_with('d') || id.starts_with('c')));
    for (id, other) in &removed {
        assert!(kept.contains(other) || other.starts_with("old"), "{id} is near {other}");
    }
    let mut found: Vec<String> =
        kept.into_iter().chain(removed.into_iter().map(|(id, _)| id)).collect();
    found.sort();
    assert_eq!(found, all);
}
