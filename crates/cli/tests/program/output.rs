//! Tests outputs to files, links, devices and pipes, and the removal of leftovers of killed
//! processes.
#![cfg(unix)]

use std::fs;
use std::io::Read;
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt, symlink};
use std::process::{Command, Stdio};

use crate::common::program::{TestDir, make_pipe, names_in, signal, text};

const RECORDS: &str = "00000000000000ff\ta\n00000000000000fe\tb\nff00000000000000\tc\n";
const PAIR: &str = "00000000000000fe\t00000000000000ff\t1\tb\ta\n";

fn dir() -> TestDir {
    let dir = TestDir::with("pages.tsv", RECORDS);
    dir.write("docs.jsonl", "{\"id\":\"a\",\"text\":\"one two three four five six seven\"}\n");
    dir.write("labels.tsv", "a\ta\t-1\n");
    dir.ok(&["build", "pages.tsv", "-s", "store.fps", "-q"], "");
    dir
}

/// The arguments of every command that writes a file, without the file name at the end.
fn writers() -> Vec<Vec<&'static str>> {
    vec![
        vec!["pairs", "-q", "-o"],
        vec!["cluster", "-q", "-o"],
        vec!["cluster", "-q", "--keep", "representative", "-o"],
        vec!["cluster", "-q", "--format", "parquet", "-o"],
        vec!["dedup", "-q", "--within", "pages.tsv", "-o"],
        vec!["dedup", "-q", "--within", "pages.tsv", "--removed"],
        vec!["query", "ff", "-o"],
        vec!["query", "--from", "pages.tsv", "-o"],
        vec!["dump", "-o"],
        vec!["df", "docs.jsonl", "-q", "-o"],
        vec!["stats", "--html"],
        vec!["plan", "-n", "1000", "--svg"],
    ]
}

#[test]
fn a_file_is_new_or_replaced_by_force_and_open_as_the_user_wishes() {
    for args in writers() {
        let dir = dir();
        let mut shell = dir.command(&[]);
        let program = shell.get_program().to_owned();
        shell = Command::new("sh");
        shell.args(["-c", "umask 027; exec \"$0\" \"$@\""]).arg(program).args(&args).arg("out");
        shell.current_dir(dir.folder()).env("XDG_CACHE_HOME", dir.path("cache"));
        assert!(shell.output().unwrap().status.success(), "{args:?}");
        let whole = fs::read(dir.path("out")).unwrap();
        assert_eq!(fs::metadata(dir.path("out")).unwrap().mode() & 0o777, 0o640, "{args:?}");

        dir.write("out", "precious");
        let again = [&args[..], &["out"]].concat();
        let (_, err) = dir.run(&again, 2);
        assert!(err.contains("out exists; to replace it once"), "{args:?}: {err}");
        assert_eq!(dir.read("out"), "precious", "{args:?}");

        fs::set_permissions(dir.path("out"), fs::Permissions::from_mode(0o604)).unwrap();
        dir.run(&[&again[..], &["-f"]].concat(), 0);
        assert!(!whole.is_empty() && fs::read(dir.path("out")).unwrap() == whole, "{args:?}");
        assert_eq!(fs::metadata(dir.path("out")).unwrap().mode() & 0o777, 0o604, "{args:?}");

        fs::create_dir(dir.path("folder")).unwrap();
        let (_, err) = dir.run(&[&args[..], &["folder", "-f"]].concat(), 2);
        assert!(err.contains("cannot write folder: it is a directory"), "{args:?}: {err}");
        let hidden = names_in(dir.folder()).into_iter().filter(|name| name.starts_with('.'));
        assert_eq!(hidden.count(), 0, "{args:?}");
    }
}

#[test]
fn the_target_of_a_link_is_replaced_and_the_link_stays() {
    for args in writers() {
        let dir = dir();
        dir.write("there/real", "old");
        fs::set_permissions(dir.path("there/real"), fs::Permissions::from_mode(0o600)).unwrap();
        symlink("there/real", dir.path("link")).unwrap();
        dir.run(&[&args[..], &["link"]].concat(), 2);
        assert_eq!(dir.read("there/real"), "old", "{args:?}");
        dir.run(&[&args[..], &["link", "-f"]].concat(), 0);
        assert!(dir.path("link").symlink_metadata().unwrap().is_symlink(), "{args:?}");
        assert_ne!(fs::read(dir.path("there/real")).unwrap(), b"old", "{args:?}");
        assert_eq!(fs::metadata(dir.path("link")).unwrap().mode() & 0o777, 0o600, "{args:?}");
        // A link whose target does not exist: the target is created.
        symlink("there/new", dir.path("dangling")).unwrap();
        dir.run(&[&args[..], &["dangling"]].concat(), 0);
        assert!(dir.path("dangling").symlink_metadata().unwrap().is_symlink(), "{args:?}");
        assert!(dir.path("there/new").is_file(), "{args:?}");
    }
}

/// The test opens the null device through a link, so that a bug would replace only the link.
#[test]
fn devices_and_pipes_are_written_to_and_stay() {
    for args in writers() {
        let dir = dir();
        symlink("/dev/null", dir.path("null")).unwrap();
        for force in [&["null"][..], &["null", "-f"]] {
            dir.run(&[&args[..], force].concat(), 0);
            let kind = fs::metadata(dir.path("null")).unwrap().file_type();
            assert!(kind.is_char_device(), "{args:?}");
            assert!(dir.path("null").symlink_metadata().unwrap().is_symlink(), "{args:?}");
        }
        dir.run(&[&args[..], &["file"]].concat(), 0);
        make_pipe(&dir.path("pipe"));
        let from = dir.path("pipe");
        let reader = std::thread::spawn(move || fs::read(from).unwrap());
        dir.run(&[&args[..], &["pipe", "-f"]].concat(), 0);
        assert_eq!(reader.join().unwrap(), fs::read(dir.path("file")).unwrap(), "{args:?}");
        assert!(fs::metadata(dir.path("pipe")).unwrap().file_type().is_fifo(), "{args:?}");
    }
}

#[test]
fn standard_output_has_a_name() {
    let dir = dir();
    for name in ["-", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"] {
        let (out, _) = dir.run(&["pairs", "-o", name], 0);
        assert_eq!(out, PAIR, "{name}");
    }
}

#[test]
fn an_output_that_is_full_is_named() {
    let dir = dir();
    symlink("/dev/full", dir.path("full")).unwrap();
    let (_, err) = dir.run(&["dump", "-o", "full"], 2);
    assert!(err.contains("cannot write full: No space left on device"), "{err}");
    let full = fs::File::options().write(true).open("/dev/full").unwrap();
    let output = dir.command(&["dump"]).stdin(Stdio::null()).stdout(full).output().unwrap();
    let err = text(output.stderr);
    assert!(err.contains("cannot write standard output: No space left on device"), "{err}");
    assert_eq!(output.status.code(), Some(2));
}

/// By default the system kills a process that writes beyond the file size limit.
#[test]
fn a_limit_on_the_length_of_files_is_an_error_and_leaves_nothing() {
    let dir = dir();
    dir.write_fingerprints("many.tsv", (0..5000_u64).map(|i| i << 40 | i));
    dir.ok(&["build", "many.tsv", "-s", "many.fps", "-q"], "");
    let program = dir.command(&[]).get_program().to_owned();
    let mut shell = Command::new("sh");
    shell.args(["-c", "ulimit -f 8; exec \"$0\" dump -s many.fps -o out"]).arg(program);
    let output = shell.current_dir(dir.folder()).output().unwrap();
    assert_eq!(output.status.code(), Some(2), "{:?}", output.status);
    let err = text(output.stderr);
    assert!(err.contains("cannot write out: File too large"), "{err}");
    assert!(err.contains("\nfpstore: the limit on the length of files is reached"), "{err}");
    assert!(!names_in(dir.folder()).iter().any(|name| name.starts_with('.') || name == "out"));
}

/// If the limit of open files is reached at any point, the message names the limit and how to raise
/// it.
#[cfg(target_os = "linux")]
#[test]
fn a_limit_of_open_files_is_named_wherever_it_is_met() {
    let dir = dir();
    dir.write_fingerprints("many.tsv", (0..5000_u64).map(|i| i << 40 | i));
    dir.ok(&["build", "many.tsv", "-s", "many.fps", "-q"], "");
    let mut refused = 0;
    for files in [4, 6, 8, 10] {
        for command in [
            "build many.tsv -s new.fps -q --force",
            "verify -s many.fps -q",
            "dump -s many.fps -o out --force",
            "add many.tsv -s many.fps -q",
            "pairs many.tsv -k 3 -o pairs --force -q",
        ] {
            let script = format!("ulimit -n {files}; exec \"$0\" {command}");
            let mut shell = Command::new("sh");
            shell.args(["-c", &script]).arg(env!("CARGO_BIN_EXE_fpstore"));
            let output = shell.current_dir(dir.folder()).output().unwrap();
            let err = text(output.stderr);
            assert!(!err.contains("uncategorized"), "{files}: {command}: {err}");
            // The wording of glibc, and of musl.
            if ["Too many open files", "No file descriptors available"]
                .iter()
                .any(|of| err.contains(of))
            {
                assert!(
                    err.contains("'ulimit -n NUMBER' allows more"),
                    "{files}: {command}: {err}"
                );
                refused += 1;
            }
        }
    }
    assert!(refused > 3, "{refused}");
    // The store is valid after the failed commands.
    dir.run(&["verify", "-s", "many.fps", "-q"], 0);
}

#[test]
fn what_a_killed_command_leaves_has_no_name_or_is_removed_by_the_next() {
    let dir = dir();
    fs::create_dir(dir.path("tmp")).unwrap();
    make_pipe(&dir.path("pipe"));
    let args = ["dedup", "--within", "pipe", "-o", "out", "--removed", "m", "--temp-dir", "tmp"];
    let mut child = dir.command(&args).spawn().unwrap();
    // Opening the pipe blocks until the command opens it for reading. By then the command has
    // created its temporary files.
    let writer = fs::File::options().write(true).open(dir.path("pipe")).unwrap();
    signal(&child, "KILL");
    child.wait().unwrap();
    drop(writer);
    let left = names_in(dir.folder());
    assert!(!left.iter().any(|name| name.starts_with('.') || name == "out"), "{left:?}");
    assert!(names_in(&dir.path("tmp")).len() <= 1);
    dir.run(&["dedup", "--within", "pages.tsv", "--temp-dir", "tmp"], 0);
    assert_eq!(names_in(&dir.path("tmp")), [""; 0]);
}

/// Folders that other programs made are not removed, even if they are named like leftovers.
#[test]
fn folders_that_others_made_stay() {
    let dir = dir();
    let others =
        ["fpstore-results", "fpstore-a1B2c3", ".fpstore-work-a1B2c3", ".fpstore-work-mine"];
    for name in others {
        dir.write(&format!("tmp/{name}/precious"), "data");
    }
    // A real leftover, which is removed.
    dir.write("tmp/.fpstore-work-left77/.fpstore-in-use", "");
    dir.write("tmp/.fpstore-work-left77/input.fps/MANIFEST", "");
    dir.run(&["dedup", "--within", "pages.tsv", "--temp-dir", "tmp"], 0);
    let mut expected = others.to_vec();
    expected.sort_unstable();
    assert_eq!(names_in(&dir.path("tmp")), expected);
    for name in others {
        assert_eq!(dir.read(&format!("tmp/{name}/precious")), "data");
    }
}

/// Temporary folders of a running process are not treated as leftovers.
#[test]
fn temporary_folders_in_use_stay() {
    let dir = dir();
    fs::create_dir(dir.path("tmp")).unwrap();
    make_pipe(&dir.path("pipe"));
    let mut child =
        dir.command(&["dedup", "--within", "pipe", "--temp-dir", "tmp"]).spawn().unwrap();
    let mut writer = fs::File::options().write(true).open(dir.path("pipe")).unwrap();
    let held = names_in(&dir.path("tmp"));
    assert_eq!(held.len(), 1);
    dir.run(&["dedup", "--within", "pages.tsv", "--temp-dir", "tmp"], 0);
    assert_eq!(names_in(&dir.path("tmp")), held);
    std::io::Write::write_all(&mut writer, b"0000000000000001\tx\n0000000000000002\ty\n").unwrap();
    drop(writer);
    let mut out = String::new();
    child.stdout.take().unwrap().read_to_string(&mut out).unwrap();
    assert_eq!(out, "0000000000000001\tx\n");
    assert!(child.wait().unwrap().success());
}

#[test]
fn a_pipe_is_read_once_and_named_as_it_is() {
    let dir = dir();
    let dedup = ["dedup", "--within", "-", "-q"];
    let (out, _) = dir.run_on(&dedup, "0x00000000000000ff\ta b\n00000000000000fe\t7\nff00\n", 0);
    assert_eq!(out, "00000000000000ff\ta b\n000000000000ff00\n");
    let (_, err) = dir.run_on(&dedup, "1\nnonsense\n", 2);
    assert!(err.contains("standard input: line 2"), "{err}");
}
