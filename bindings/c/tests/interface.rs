//! Compiles `interface.c` as C and as C++, links it with the shared and the static library, and
//! runs it. Also compares the exported names of the library with the header.
#![cfg(target_os = "linux")]

use std::ffi::{CString, OsStr};
use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::mem::MaybeUninit;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::ptr::{null, null_mut};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use fpstore::{Builder, Fingerprint, Store, Writer, WriterOptions};
use fpstore_capi::{
    FpsAnswer, fps_close, fps_find_id, fps_open, fps_refresh, fps_searcher_free, fps_searcher_new,
};

/// The folder of the libraries that cargo has built for this test.
fn libraries() -> PathBuf {
    std::env::current_exe().unwrap().parent().unwrap().to_path_buf()
}

fn run(command: &mut Command) -> String {
    let done = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let text = String::from_utf8_lossy(&done.stderr).into_owned();
    assert!(done.status.success(), "{command:?}: {text}");
    assert!(!text.contains("warning"), "{command:?}: {text}");
    String::from_utf8(done.stdout).unwrap()
}

/// A store of clustered fingerprints, the file of its values, and a damaged store.
fn stores(folder: &Path) -> [PathBuf; 3] {
    let mut state = 20071108_u64;
    let mut next = || {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        state ^ state >> 29
    };
    let mut values: Vec<u64> = (0..3000).map(|_| next()).collect();
    for at in 0..2000 {
        let near = values[at] ^ 1 << (next() % 64) ^ 1 << (next() % 64);
        values.push(near);
    }
    values.sort_unstable();
    values.dedup();
    let [store, bytes, damaged] = ["store.fps", "values", "damaged.fps"].map(|it| folder.join(it));
    let mut builder = Builder::new(&store).unwrap();
    for (number, &value) in values.iter().enumerate() {
        builder.push(Fingerprint::new(value), format!("page {number}").as_str()).unwrap();
    }
    builder.finish().unwrap();
    fs::write(&bytes, values.iter().flat_map(|value| value.to_ne_bytes()).collect::<Vec<_>>())
        .unwrap();
    let mut builder = Builder::new(&damaged).unwrap();
    builder.push(Fingerprint::new(7), "a").unwrap();
    builder.finish().unwrap();
    let manifest = damaged.join("MANIFEST");
    let mut damage = fs::read(&manifest).unwrap();
    let middle = damage.len() / 2;
    damage[middle] ^= 1;
    fs::write(&manifest, damage).unwrap();
    [store, bytes, damaged]
}

#[test]
fn programs_in_c_and_c_plus_plus_get_the_answers_of_a_scan() {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/interface.c");
    let libraries = libraries();
    let shared = libraries.join("libfpstore_capi.so");
    let archive = libraries.join("libfpstore_capi.a");
    let sanitized = &["-fsanitize=address,undefined", "-fno-sanitize-recover=all"][..];
    let is_there = |command: &str| Command::new(command).arg("--version").output().is_ok();
    let valgrind = ["valgrind", "-q", "--error-exitcode=9", "--leak-check=full"];
    // The compiler, its language, the library to link, more options, the program that runs the test
    // (none or valgrind), and the number of rounds of each thread.
    for (compiler, language, library, more, runner, rounds) in [
        ("cc", ["c", "-std=gnu11"], &shared, &[][..], &[][..], "2000"),
        ("cc", ["c", "-std=gnu11"], &archive, &[], &[], "2000"),
        ("cc", ["c", "-std=gnu11"], &shared, sanitized, &[], "200"),
        ("cc", ["c", "-std=gnu11"], &shared, &[], &valgrind, "5"),
        ("c++", ["c++", "-std=gnu++17"], &shared, &[], &[], "2000"),
        ("c++", ["c++", "-std=gnu++17"], &archive, sanitized, &[], "200"),
    ] {
        if runner.first().is_some_and(|runner| !is_there(runner)) {
            continue;
        }
        let folder = tempfile::tempdir().unwrap();
        let [store, values, damaged] = stores(folder.path());
        // The program finds the shared library by its SONAME.
        std::os::unix::fs::symlink(&shared, folder.path().join("libfpstore.so.0")).unwrap();
        let program = folder.path().join("interface");
        run(Command::new(compiler)
            .arg("-x")
            .args(language)
            .args(["-O1", "-g", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-pthread"])
            .args(more)
            .arg(&source)
            .args(["-x", "none"])
            .arg(library)
            .args(["-lm", "-ldl", "-o"])
            .arg(&program));
        let mut words: Vec<&OsStr> = runner.iter().map(OsStr::new).collect();
        words.extend([&program, &store, &values, &damaged].map(|path| path.as_os_str()));
        words.push(OsStr::new(rounds));
        let mut command = Command::new(words[0]);
        command.args(&words[1..]).env("LD_LIBRARY_PATH", folder.path());
        let printed = run_beside_changes(&mut command, &store);
        assert_eq!(printed, "threads\ndone\n", "{language:?} with {library:?}, {more:?}");
    }
}

/// Runs a program. Once it has printed its first line, adds a stored record again and again, until
/// the program ends.
fn run_beside_changes(command: &mut Command, store: &Path) -> String {
    let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap());
    let mut printed = String::new();
    lines.read_line(&mut printed).unwrap();
    let mut record = None;
    Store::open(store)
        .unwrap()
        .for_each(|hit| {
            record.get_or_insert(hit.to_match()?);
            Ok::<(), fpstore::Error>(())
        })
        .unwrap();
    let record = record.unwrap();
    while child.try_wait().unwrap().is_none() {
        let mut writer = Writer::open(store).unwrap();
        writer.push(record.fingerprint, record.ids[0].as_ref()).unwrap();
        writer.commit().unwrap();
    }
    lines.read_to_string(&mut printed).unwrap();
    assert!(child.wait().unwrap().success(), "{command:?}");
    printed
}

/// The manifests of two generations replace each other while ids are searched.
#[test]
fn an_id_and_the_generation_of_its_answer_are_of_one_state() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.fps");
    let place = path.join("MANIFEST");
    let mut builder = Builder::new(&path).unwrap();
    builder.push(Fingerprint::new(7), "always").unwrap();
    builder.finish().unwrap();
    let without = fs::read(&place).unwrap();
    let mut writer = Writer::with_options(&path, WriterOptions::default().compact(false)).unwrap();
    writer.push(Fingerprint::new(8), "sometimes").unwrap();
    writer.commit().unwrap();
    let with = fs::read(&place).unwrap();
    drop(writer);

    let path_of_c = CString::new(path.to_str().unwrap()).unwrap();
    let (mut store, mut searcher) = (null_mut(), null_mut());
    let is_over = AtomicBool::new(false);
    // SAFETY: all pointers are to live values, and no handle is used after it was freed.
    unsafe {
        assert_eq!(fps_open(path_of_c.as_ptr(), null(), &mut store, null_mut(), 0), 0);
        assert_eq!(fps_searcher_new(store, &mut searcher, null_mut(), 0), 0);
        let shared = &*store;
        thread::scope(|scope| {
            scope.spawn(|| {
                for round in 0.. {
                    if is_over.load(Ordering::Relaxed) {
                        return;
                    }
                    let new = path.join("new");
                    fs::write(&new, if round % 2 == 0 { &without } else { &with }).unwrap();
                    fs::rename(&new, &place).unwrap();
                    assert_eq!(fps_refresh(shared, 0, null_mut(), null_mut(), 0), 0);
                }
            });
            let mut seen = [0, 0];
            for _ in 0..400_000 {
                let mut answer = MaybeUninit::<FpsAnswer>::zeroed().assume_init();
                let id = "sometimes";
                let found =
                    fps_find_id(searcher, id.as_ptr().cast(), id.len(), &mut answer, null_mut(), 0);
                let is_there = answer.hit_count == 1;
                if (found, answer.generation) != (0, 1 + u64::from(is_there)) {
                    is_over.store(true, Ordering::Relaxed);
                    panic!("generation {}, {} hits", answer.generation, answer.hit_count);
                }
                seen[usize::from(is_there)] += 1;
            }
            is_over.store(true, Ordering::Relaxed);
            assert!(seen[0] > 10 && seen[1] > 10, "{seen:?}");
        });
        fps_searcher_free(searcher);
        fps_close(store);
    }
}

#[test]
fn the_library_exports_the_functions_of_the_header_and_nothing_else() {
    let shared = libraries().join("libfpstore_capi.so");
    let listed = run(Command::new("nm").args(["-D", "--defined-only"]).arg(&shared));
    let mut exported: Vec<&str> =
        listed.lines().filter_map(|line| line.split_whitespace().nth(2)).collect();
    exported.sort_unstable();
    let header = include_str!("../fpstore.h");
    let code: String = header.split("*/").map(|part| part.split("/*").next().unwrap()).collect();
    let mut declared: Vec<&str> = code
        .match_indices('(')
        .filter_map(|(at, _)| {
            let name = code[..at].rsplit(|c: char| !(c.is_alphanumeric() || c == '_')).next()?;
            name.starts_with("fps_").then_some(name)
        })
        .collect();
    declared.sort_unstable();
    declared.dedup();
    assert_eq!(exported, declared);
    assert!(declared.len() > 12);
    let dynamic = run(Command::new("readelf").args(["-d"]).arg(&shared));
    assert!(dynamic.contains("Library soname: [libfpstore.so.0]"), "{dynamic}");
}
