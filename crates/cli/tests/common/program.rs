//! Runs the program like a user: in a scratch folder, with input, output and exit status.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use assert_cmd::cargo::CommandCargoExt;
use serde_json::Value;
use tempfile::TempDir;

pub use super::{names_in, test_process};

/// A scratch folder in which the program runs, removed on drop.
pub struct TestDir {
    folder: TempDir,
}

impl TestDir {
    /// An empty folder.
    pub fn new() -> Self {
        TestDir { folder: tempfile::tempdir().unwrap() }
    }

    /// A folder that contains one file.
    pub fn with(name: &str, content: &str) -> Self {
        let dir = TestDir::new();
        dir.write(name, content);
        dir
    }

    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder().join(name)
    }

    /// Writes a file and creates its parent folders.
    pub fn write(&self, name: &str, content: impl AsRef<[u8]>) {
        fs::create_dir_all(self.path(name).parent().unwrap()).unwrap();
        fs::write(self.path(name), content).unwrap();
    }

    /// Writes one line for each fingerprint, with its position as the id.
    pub fn write_fingerprints(&self, name: &str, values: impl Iterator<Item = u64>) {
        let lines: String = values.enumerate().map(|(i, v)| format!("{v:016x}\t{i}\n")).collect();
        self.write(name, lines);
    }

    pub fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap()
    }

    /// Reads a list of file names, with slashes in the names on every system.
    pub fn read_names(&self, name: &str) -> String {
        with_slashes(&self.read(name))
    }

    /// Fails unless the folder contains exactly these files and folders, in ascending order.
    pub fn assert_files(&self, expected: &[&str]) {
        assert_eq!(names_in(self.folder()), expected);
    }

    /// The command for the program with these arguments, not started; standard streams are pipes.
    pub fn command(&self, args: &[&str]) -> Command {
        let mut command = program(args, self.folder());
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    /// Runs the program on an input.
    pub fn output(&self, args: &[&str], input: impl AsRef<[u8]>) -> Output {
        let mut child = self.command(args).spawn().unwrap();
        // The error is ignored: the program can end before it has read all of the input.
        let _ = child.stdin.take().unwrap().write_all(input.as_ref());
        child.wait_with_output().unwrap()
    }

    /// Runs the program on an input and checks its exit status. Each line on standard error must
    /// begin with the name of the program. Returns standard output and standard error.
    pub fn run_on(&self, args: &[&str], input: impl AsRef<[u8]>, status: i32) -> (String, String) {
        let output = self.output(args, input);
        let (out, err) = (text(output.stdout), text(output.stderr));
        assert_eq!(output.status.code(), Some(status), "{args:?}\n{out}\n{err}");
        assert!(err.lines().all(|line| line.starts_with("fpstore: ")), "{args:?}: {err}");
        (out, err)
    }

    /// Like [`TestDir::run_on`], with an empty input.
    pub fn run(&self, args: &[&str], status: i32) -> (String, String) {
        self.run_on(args, "", status)
    }

    /// Runs the program on an input, and fails unless the status is 0. Returns standard output.
    pub fn ok(&self, args: &[&str], input: &str) -> String {
        self.run_on(args, input, 0).0
    }

    /// Runs the program with `--format json`, and fails unless the status is 0 and the output is
    /// one line. Returns the parsed line.
    pub fn json(&self, args: &[&str]) -> Value {
        let out = self.ok(&[args, &["--format", "json"]].concat(), "");
        assert_eq!(out.lines().count(), 1, "{out}");
        serde_json::from_str(&out).unwrap()
    }
}

/// The command for the program with these arguments, not started, without the user's default store
/// and thread count.
pub fn program(args: &[&str], folder: &Path) -> Command {
    let mut command = Command::cargo_bin("fpstore").unwrap();
    command.args(args).current_dir(folder);
    command.env_remove("FPSTORE").env_remove("FPSTORE_THREADS");
    command
}

/// Converts the path separators of the system to slashes.
pub fn with_slashes(names: &str) -> String {
    names.replace(std::path::MAIN_SEPARATOR, "/")
}

/// Creates a named pipe, replacing a file if necessary.
#[cfg(unix)]
pub fn make_pipe(path: &Path) {
    let _ = fs::remove_file(path);
    assert!(Command::new("mkfifo").arg(path).status().unwrap().success());
}

/// Sends the named signal to a process.
#[cfg(unix)]
pub fn signal(child: &std::process::Child, name: &str) {
    let sent = Command::new("kill").args(["-s", name, &child.id().to_string()]).status().unwrap();
    assert!(sent.success());
}

/// The output of the program as text.
pub fn text(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).unwrap()
}
