//! Compiles `interface.c` as C and as C++, links it with the shared and the static library, and runs it;
//! and compares the exported names with the header.
#![cfg(target_os = "linux")]

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use fpstore::{Builder, Fingerprint};

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
    let folder = tempfile::tempdir().unwrap();
    let [store, values, damaged] = stores(folder.path());
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/interface.c");
    let libraries = libraries();
    let shared = libraries.join("libfpstore_capi.so");
    // The program finds it by its SONAME.
    std::os::unix::fs::symlink(&shared, folder.path().join("libfpstore.so.0")).unwrap();
    let archive = libraries.join("libfpstore_capi.a");
    let sanitized = &["-fsanitize=address,undefined", "-fno-sanitize-recover=all"][..];
    let is_there = |command: &str| Command::new(command).arg("--version").output().is_ok();
    let valgrind = ["valgrind", "-q", "--error-exitcode=9", "--leak-check=full"];
    // The compiler and its language, the library, more options, the runner, and rounds of each thread.
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
        assert_eq!(run(&mut command), "done\n", "{language:?} with {library:?}, {more:?}");
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
