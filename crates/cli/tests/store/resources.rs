//! Long commands respect `--memory` and `--threads`, and report their progress.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::Output;

use crate::common::Random;
use crate::common::program::{program, text};

fn build(folder: &Path, args: &[&str]) -> Output {
    program(&[&["build"], args].concat(), folder).output().unwrap()
}

fn stderr(output: &Output) -> String {
    text(output.stderr.clone())
}

/// Numeric ids first, text ids later, and some invalid lines.
fn lines(folder: &Path) {
    let mut random = Random::new(81);
    let mut text = String::new();
    for line in 0..400_000 {
        let value = random.next();
        match line {
            _ if line % 50_000 == 49_999 => writeln!(text, "no fingerprint"),
            0..200_000 => writeln!(text, "{value:016x}\t{line}"),
            _ => writeln!(text, "{value:016x}\tpage {line}"),
        }
        .unwrap();
    }
    fs::write(folder.join("lines.tsv"), text).unwrap();
}

#[test]
fn memory_threads_and_folder_do_not_change_the_store() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    lines(folder);
    fs::create_dir(folder.join("scratch")).unwrap();
    let ways: [&[&str]; 3] = [
        &[],
        &["--threads", "1", "--memory", "48MiB", "--temp-dir", "scratch"],
        &["--threads", "3", "--memory", "64MiB"],
    ];
    let mut first = None;
    for (number, way) in ways.iter().enumerate() {
        let store = format!("{number}.fps");
        let args = [&["lines.tsv", "--skip-bad", "-s", &store], *way].concat();
        let output = build(folder, &args);
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        let err = stderr(&output);
        assert!(err.contains("8 bad records skipped"), "{err}");
        assert!(err.contains("line 50000: "), "{err}");
        assert!(err.contains("399 992 records, 399 992 fingerprints, 399 992 ids"), "{err}");
        assert_eq!(err.contains("temporary files"), number > 0, "{err}");
        let bytes = fs::read(folder.join(&store).join("segment-0000000000000001.fps")).unwrap();
        match &first {
            None => first = Some(bytes),
            Some(first) => assert!(*first == bytes, "{way:?}"),
        }
    }
    assert_eq!(fs::read_dir(folder.join("scratch")).unwrap().count(), 0);
}

#[test]
fn what_cannot_work_is_refused_with_what_would() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    fs::write(folder.join("few.tsv"), "1\n2\nxyz\n").unwrap();
    for (args, expected) in [
        (&["--memory", "10MiB", "--threads", "2"][..], "56.0 MiB are the least"),
        (&["--memory", "lots"], "invalid value 'lots'"),
        (&["--threads", "0"], "--threads"),
        (&["--temp-dir", "absent"], "cannot put temporary files into absent"),
        (&["--temp-dir", "few.tsv"], "cannot put temporary files into few.tsv"),
        (&[], "few.tsv: line 3: 'xyz' is not a fingerprint"),
    ] {
        let output = build(folder, &[&["few.tsv"], args].concat());
        assert_eq!(output.status.code(), Some(2), "{args:?}");
        let err = stderr(&output);
        assert!(err.contains(expected), "{args:?}: {err}");
        assert!(!folder.join("store.fps").exists());
    }
    let output = build(folder, &["few.tsv"]);
    let err = stderr(&output);
    assert!(
        err.starts_with("fpstore: 2 records were read before this; nothing was written\n"),
        "{err}"
    );
}

#[test]
fn progress_is_shown_on_demand_and_never_by_itself_in_a_pipe() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    fs::write(folder.join("few.tsv"), "1\n2\n").unwrap();
    let plain = stderr(&build(folder, &["few.tsv"]));
    assert_eq!(plain.lines().count(), 4, "{plain}");
    assert!(!plain.contains('\u{1b}') && !plain.contains('['), "{plain}");
    let quiet = stderr(&build(folder, &["few.tsv", "-f", "--quiet"]));
    assert_eq!(quiet, "");
    let never = stderr(&build(folder, &["few.tsv", "-f", "--progress", "never"]));
    assert_eq!(never.lines().count(), 4, "{never}");
    let always = build(folder, &["few.tsv", "-f", "--progress", "always"]);
    assert_eq!(always.status.code(), Some(0));
}
