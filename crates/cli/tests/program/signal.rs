//! Tests that a signal ends every command that waits for input, for a named pipe, or for the reader
//! of its output. If a command does not end, the test does not end either.
#![cfg(target_os = "linux")]

use std::fs;
use std::io::{Read, Write};
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Stdio};
use std::thread::sleep;
use std::time::Duration;

use crate::common::program::{TestDir, make_pipe, signal, text};

fn dir() -> TestDir {
    let dir = TestDir::with("pages.tsv", "0000000000000001\ta\n0000000000000002\tb\n");
    dir.write("text.txt", "one two three four five six seven eight");
    dir.write("labels.tsv", "a\tb\t1\n");
    dir.ok(&["build", "pages.tsv", "-s", "store.fps", "-q"], "");
    make_pipe(&dir.path("pipe"));
    fs::create_dir(dir.path("folder")).unwrap();
    make_pipe(&dir.path("folder/a.txt"));
    dir
}

/// The arguments of every command that reads standard input or a file.
const READERS: &[&[&str]] = &[
    &["build", "-s", "new.fps"],
    &["build", "--docs", "-s", "new.fps"],
    &["add"],
    &["fingerprint"],
    &["df", "-o", "new.df"],
    &["query", "--from"],
    &["pairs"],
    &["cluster"],
    &["dedup", "--within"],
    &["dedup", "-s", "store.fps"],
    &["stats"],
    &["plan", "--sample"],
    &["delete", "--ids"],
    &["delete", "--fingerprints"],
    &["compare", "text.txt"],
    &["evaluate", "--pairs", "labels.tsv", "--docs"],
    &["evaluate", "--docs", "text.txt", "--pairs"],
];

/// Waits until the process sleeps in three successive checks, or has ended.
fn wait_until_it_waits(child: &Child) {
    let status = format!("/proc/{}/status", child.id());
    let mut asleep = 0;
    while asleep < 3 {
        let text = fs::read_to_string(&status).unwrap_or_default();
        match text.lines().find_map(|line| line.strip_prefix("State:")).map(str::trim) {
            Some(state) if state.starts_with('S') => asleep += 1,
            Some(state) if !state.starts_with('Z') => asleep = 0,
            _ => return,
        }
        sleep(Duration::from_millis(10));
    }
}

fn assert_ends(mut child: Child, case: &str) {
    wait_until_it_waits(&child);
    signal(&child, "TERM");
    let status = child.wait().unwrap();
    let mut err = String::new();
    child.stderr.take().unwrap().read_to_string(&mut err).unwrap();
    let is_ended = status.code() == Some(130) || status.signal().is_some();
    assert!(is_ended, "{case}: {status:?}: {err}");
    assert!(!err.contains("panicked"), "{case}: {err}");
}

#[test]
fn the_first_signal_ends_a_command_that_waits_for_standard_input() {
    for args in READERS {
        // SIGTERM and not SIGINT, which processes ignore if the tests run in the background.
        let dir = dir();
        let mut child = dir.command(&[args, &["-"][..]].concat()).spawn().unwrap();
        let input = child.stdin.take();
        assert_ends(child, &format!("{args:?}"));
        drop(input);
        assert!(!dir.path("new.fps").exists() && !dir.path("new.df").exists());
    }
}

#[test]
fn the_first_signal_ends_a_command_that_waits_for_a_named_pipe() {
    for args in READERS {
        for file in ["pipe", "folder", "folder/a.txt"] {
            // These commands also take folders, in which pipes are skipped, so they do not wait.
            let takes_folders =
                args.contains(&"--docs") || args[0] == "fingerprint" || args[0] == "df";
            if file == "folder" && (!takes_folders || args.ends_with(&["--pairs"])) {
                continue;
            }
            let dir = dir();
            let child = dir.command(&[args, &[file][..]].concat()).spawn().unwrap();
            if file == "folder" {
                let output = child.wait_with_output().unwrap();
                let err = text(output.stderr);
                assert_eq!(output.status.code(), Some(2), "{args:?} {file}: {err}");
                assert!(err.contains("neither file nor folder"), "{args:?} {file}: {err}");
            } else {
                assert_ends(child, &format!("{args:?} {file}"));
            }
        }
    }
}

/// The test opens the pipe for writing but sends no data.
#[test]
fn the_first_signal_ends_a_command_whose_pipe_is_silent() {
    for args in READERS {
        let dir = dir();
        let child = dir.command(&[args, &["pipe"][..]].concat()).spawn().unwrap();
        let writer = fs::File::options().write(true).open(dir.path("pipe")).unwrap();
        assert_ends(child, &format!("{args:?}"));
        drop(writer);
    }
}

#[test]
fn streams_end_at_the_first_signal_with_what_they_took() {
    for args in [
        &["add", "--follow", "--batch-count", "1000", "--batch-seconds", "1000"][..],
        &["dedup", "-s", "store.fps", "--add", "-", "--batch-seconds", "1000"],
    ] {
        let dir = dir();
        let mut child = dir.command(args).spawn().unwrap();
        let mut input = child.stdin.take().unwrap();
        input.write_all(b"ff00ff00ff00ff00\tnew\n").unwrap();
        if args[0] == "dedup" {
            let mut answer = [0; 4];
            child.stdout.as_mut().unwrap().read_exact(&mut answer).unwrap();
            assert_eq!(&answer, b"new\t");
        }
        wait_until_it_waits(&child);
        signal(&child, "TERM");
        let output = child.wait_with_output().unwrap();
        drop(input);
        assert_eq!(output.status.code(), Some(130), "{args:?}: {}", text(output.stderr));
        if args[0] == "dedup" {
            assert!(dir.ok(&["dump"], "").contains("ff00ff00ff00ff00\tnew\n"));
        }
    }
}

/// The test holds the pipe of the output open but reads no data.
#[test]
fn the_first_signal_ends_a_command_that_waits_for_its_reader() {
    let dir = dir();
    dir.write_fingerprints("many.tsv", (0..20_000_u64).map(|i| i << 40 | i));
    dir.ok(&["build", "many.tsv", "-s", "many.fps", "-q"], "");
    for args in [
        &["pairs", "-s", "many.fps", "-k", "5"][..],
        &["query", "--from", "many.tsv", "-s", "many.fps"],
        &["dedup", "--within", "many.tsv", "-k", "0"],
    ] {
        let mut child = dir.command(args).stdin(Stdio::null()).spawn().unwrap();
        child.stdout.as_mut().unwrap().read_exact(&mut [0; 100]).unwrap();
        assert_ends(child, &format!("{args:?}"));
    }
    // The command waits, because the test never opens the pipe for reading.
    let child = dir.command(&["dump", "-s", "many.fps", "-o", "pipe"]).spawn().unwrap();
    assert_ends(child, "dump");
}
