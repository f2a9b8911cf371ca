//! Tests that long commands keep within `--memory` and `--threads`, and report their progress.

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

/// Writes an input whose first ids are numbers and later ones texts, with some invalid lines.
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
        (&["--memory", "10MiB", "--threads", "2"][..], "at least 56.0 MiB are needed"),
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

/// Writes 24 000 records with ids of 2 000 bytes, more than 48 MB in total, and builds a store of
/// them.
#[cfg(target_os = "linux")]
fn long_ids(folder: &Path) {
    let mut random = Random::new(7);
    let line = |number| format!("{:016x}\t{number:2000}\n", random.next());
    fs::write(folder.join("long.tsv"), (0..24_000).map(line).collect::<String>()).unwrap();
    assert!(build(folder, &["long.tsv", "-s", "long.fps", "-q"]).status.success());
}

/// Runs the program through another command: `words`, then the program and `args`.
#[cfg(target_os = "linux")]
fn behind(words: &[&str], args: &[&str], folder: &Path) -> Output {
    let program = program(&[], folder);
    let mut command = std::process::Command::new(words[0]);
    command.args(&words[1..]).arg(program.get_program()).args(args).current_dir(folder);
    command.output().unwrap()
}

/// The program detects a memory limit of a control group of version 1, here of the parent of its
/// own group. Needs the permission to create groups.
#[cfg(target_os = "linux")]
#[test]
fn the_memory_of_a_control_group_limits_builds_joins_and_stores_in_memory() {
    let groups = fs::read_to_string("/proc/self/cgroup").unwrap();
    let own = groups.lines().find_map(|line| line.split_once(":memory:/"));
    let Some((_, own)) = own else { return };
    let name = format!("fpstore-test-{}", std::process::id());
    let outer = Path::new("/sys/fs/cgroup/memory").join(own).join(name);
    let inner = outer.join("inner");
    if fs::create_dir_all(&inner).is_err() {
        return;
    }
    let limit = outer.join("memory.limit_in_bytes");
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    long_ids(folder);
    let enters = ["sh", "-c", "echo $$ >$0/cgroup.procs; exec \"$@\"", inner.to_str().unwrap()];
    let mut outputs = Vec::new();
    for (mib, args) in [
        (40, &["query", "0", "-s", "long.fps", "--access", "memory"][..]),
        (64, &["build", "long.tsv", "-s", "new.fps"]),
        (64, &["pairs", "long.tsv", "-k", "3"]),
    ] {
        fs::write(&limit, (mib << 20_u64).to_string()).unwrap();
        outputs.push(behind(&enters, args, folder));
    }
    fs::remove_dir(&inner).unwrap();
    fs::remove_dir(&outer).unwrap();
    let codes: Vec<_> = outputs.iter().map(|output| output.status.code()).collect();
    let said = outputs.iter().map(stderr).collect::<String>();
    assert_eq!(codes, [Some(2), Some(0), Some(1)], "{said}");
    assert!(said.contains("more than the 41943040 bytes of memory"), "{said}");
}

/// The program detects a memory limit of a control group of version 2. The test mounts plain files
/// in place of the hierarchy; needs the permission to mount.
#[cfg(target_os = "linux")]
#[test]
fn the_memory_of_a_group_of_version_2_is_seen() {
    let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap();
    let mount = mounts.lines().find(|line| line.contains(" - cgroup2 "));
    let Some(place) = mount.and_then(|line| line.split(' ').nth(4)) else { return };
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    lines(folder);
    assert!(build(folder, &["lines.tsv", "--skip-bad", "-s", "long.fps", "-q"]).status.success());
    let service = folder.join("groups/test.slice/test.service");
    fs::create_dir_all(&service).unwrap();
    fs::write(folder.join("groups/cgroup.controllers"), "memory\n").unwrap();
    for (of, limit) in [(service.parent().unwrap(), "1048576\n"), (&service, "max\n")] {
        fs::write(of.join("memory.max"), limit).unwrap();
        fs::write(of.join("memory.current"), "65536\n").unwrap();
        fs::write(of.join("memory.stat"), "anon 4096\n").unwrap();
    }
    fs::write(folder.join("own"), "0::/test.slice/test.service\n").unwrap();
    let script =
        "mount --bind groups $0 && mount --bind own /proc/$$/cgroup && exec \"$@\"; exit 77";
    let words = ["unshare", "-m", "sh", "-c", script, place];
    let output = behind(&words, &["query", "0", "-s", "long.fps", "--access", "memory"], folder);
    let said = stderr(&output);
    if said.contains("unshare: ") || output.status.code() == Some(77) {
        return;
    }
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("more than the 1048576 bytes of memory"), "{said}");
}
