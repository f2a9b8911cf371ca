//! Runs tests, with and without a mutation.

use std::collections::HashMap;
use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use rustix::process::{Pid, Signal, kill_process_group};

use crate::tree::output;

/// A test, and the changes that it reaches in the original program.
pub struct Test {
    pub program: usize,
    pub name: String,
    /// Seconds of processor time.
    pub seconds: f64,
    reached: Vec<bool>,
}

impl Test {
    pub fn reaches(&self, number: u32) -> bool {
        self.reached.get(number as usize).copied().unwrap_or(false)
    }
}

pub struct Programs {
    pub paths: Vec<PathBuf>,
    pub folder: PathBuf,
    pub scratch: PathBuf,
}

/// The result of a run with a change.
pub enum Verdict {
    Caught(String),
    Endless,
    Missed,
}

/// Limits for a test with a change: memory in KiB, file length in blocks of 512 bytes.
const LIMITS: &str = "ulimit -v 16000000 -f 8000000";

impl Programs {
    /// A command that runs tests of a program with a limit of `seconds` of processor time.
    fn command(&self, program: usize, seconds: f64) -> Command {
        let mut command = Command::new("sh");
        let script = format!(
            "{LIMITS}; ulimit -t {}; exec \"$0\" \"$@\" --exact --test-threads=1",
            seconds.ceil() as u64
        );
        command
            .args(["-c", &script])
            .arg(&self.paths[program])
            .current_dir(&self.folder)
            .env("TMPDIR", &self.scratch)
            .env_remove("RUST_BACKTRACE")
            .stdin(Stdio::null())
            .stderr(Stdio::null())
            .process_group(0);
        command
    }

    /// Runs every test alone, to find the changes that it reaches, or uses the notes of an earlier
    /// run of these programs. Skips tests longer than `most` seconds: they would judge no change.
    pub fn tests(&self, skipped: &[&str], most: f64, notes: &Path) -> Result<Vec<Test>> {
        let mut tests = Vec::new();
        for (program, path) in self.paths.iter().enumerate() {
            let made = fs::metadata(path)?.modified()?.duration_since(std::time::UNIX_EPOCH)?;
            let known = notes.join(format!("reached-{program}-{}", made.as_nanos()));
            fs::create_dir_all(&known)?;
            let mut list = Command::new(path);
            list.args(["--list", "--format", "terse"]).current_dir(&self.folder);
            for line in output(&mut list)?.lines() {
                let Some(name) = line.strip_suffix(": test") else { continue };
                if !skipped.iter().any(|part| name.contains(part)) {
                    let test = self.without_change(program, name, most, &known)?;
                    tests.extend(test);
                }
            }
        }
        tests.sort_by(|a, b| a.seconds.total_cmp(&b.seconds));
        Ok(tests)
    }

    fn without_change(
        &self,
        program: usize,
        name: &str,
        most: f64,
        known: &Path,
    ) -> Result<Option<Test>> {
        let file = known.join(name.replace("::", "-"));
        let times = file.with_extension("seconds");
        if !times.exists() {
            File::create(&file)?;
            let before = seconds_of_children()?;
            let mut command = self.command(program, most);
            command.arg(name).env("FPSTORE_MUTANTS_REACHED", &file).stdout(Stdio::piped());
            let told = command.output()?;
            let seconds = seconds_of_children()? - before;
            let text = String::from_utf8_lossy(&told.stdout);
            let passed = told.status.success() && text.contains("1 passed");
            if !passed {
                eprintln!("{name}: left out, because it fails or takes too long here");
            }
            fs::write(&times, if passed { seconds.to_string() } else { "failed".to_owned() })?;
        }
        let Ok(seconds) = fs::read_to_string(&times)?.parse() else { return Ok(None) };
        let reached = fs::read(&file)?.iter().map(|byte| *byte == b'1').collect();
        Ok(Some(Test { program, name: name.to_owned(), seconds, reached }))
    }

    /// Runs tests one after the other until a test fails.
    pub fn judge(&self, number: u32, tests: &[&Test], stop: &AtomicBool) -> Result<Verdict> {
        let mut by_program: HashMap<usize, Vec<&Test>> = HashMap::new();
        for test in tests {
            by_program.entry(test.program).or_default().push(test);
        }
        for program in 0..self.paths.len() {
            let Some(tests) = by_program.get(&program) else { continue };
            // The quickest first: many fail at once. Within a run the tests are sorted by name.
            let mut rest = tests.as_slice();
            let mut count = 4;
            while !rest.is_empty() {
                let (now, later) = rest.split_at(count.min(rest.len()));
                match self.run(number, program, now, stop)? {
                    Verdict::Missed => {}
                    verdict => return Ok(verdict),
                }
                (rest, count) = (later, count * 4);
            }
        }
        Ok(Verdict::Missed)
    }

    fn run(
        &self,
        number: u32,
        program: usize,
        tests: &[&Test],
        stop: &AtomicBool,
    ) -> Result<Verdict> {
        let seconds: f64 = tests.iter().map(|test| test.seconds).sum();
        let mut command = self.command(program, 20.0 + 10.0 * seconds);
        command.args(tests.iter().map(|test| &test.name));
        command.env("FPSTORE_MUTANT", number.to_string()).stdout(Stdio::piped());
        let mut child = command.spawn()?;
        let group = Pid::from_child(&child);
        let (lines, told) = mpsc::channel();
        let stdout = child.stdout.take().context("no output")?;
        std::thread::spawn(move || {
            for line in BufReader::new(stdout).split(b'\n').map_while(Result::ok) {
                if lines.send(String::from_utf8_lossy(&line).into_owned()).is_err() {
                    break;
                }
            }
        });
        let verdict = watch(&mut child, group, &told, seconds, stop);
        let _ = kill_process_group(group, Signal::KILL);
        let status = child.wait()?;
        ensure!(!stop.load(Relaxed), "stopped");
        Ok(match verdict {
            Some(verdict) => verdict,
            None if status.success() => Verdict::Missed,
            None => Verdict::Caught(format!("{status}")),
        })
    }
}

/// The verdict from the output, or `None` if the output ends. There is no time limit, which a busy
/// machine would exceed: a run is endless if none of its threads has run or waited for a core for a
/// while, or if it has taken far longer than before.
fn watch(
    child: &mut Child,
    group: Pid,
    told: &mpsc::Receiver<String>,
    seconds: f64,
    stop: &AtomicBool,
) -> Option<Verdict> {
    let started = Instant::now();
    let (mut worked, mut changed) = (0, Instant::now());
    loop {
        match told.recv_timeout(Duration::from_secs(1)) {
            Ok(line) if line.ends_with("FAILED") => {
                let name = line.split_whitespace().nth(1).unwrap_or_default();
                return Some(Verdict::Caught(name.to_owned()));
            }
            Ok(_) => continue,
            Err(mpsc::RecvTimeoutError::Disconnected) => return None,
            Err(mpsc::RecvTimeoutError::Timeout) => {}
        }
        if stop.load(Relaxed) || child.try_wait().is_ok_and(|status| status.is_some()) {
            return None;
        }
        let now = work_of(group);
        if now != worked {
            (worked, changed) = (now, Instant::now());
        }
        let is_idle = changed.elapsed() > Duration::from_secs(10);
        if is_idle || started.elapsed().as_secs_f64() > 120.0 + 20.0 * seconds {
            return Some(Verdict::Endless);
        }
    }
}

/// The processor time of all ended child processes.
fn seconds_of_children() -> Result<f64> {
    // proc(5): fields 16 and 17; the second field is a name in parentheses.
    let stat = fs::read_to_string("/proc/self/stat")?;
    let fields = stat.rsplit(')').next().unwrap_or_default().split_whitespace();
    let ticks: u64 = fields.skip(13).take(2).filter_map(|field| field.parse::<u64>().ok()).sum();
    Ok(ticks as f64 / rustix::param::clock_ticks_per_second() as f64)
}

/// A number that grows while any process of a group runs, or waits for a core or a disk.
fn work_of(group: Pid) -> u64 {
    let group = group.as_raw_nonzero().get().to_string();
    let mut sum = 0;
    for process in fs::read_dir("/proc").into_iter().flatten().flatten() {
        let Ok(stat) = fs::read_to_string(process.path().join("stat")) else { continue };
        let after_name = stat.rsplit(')').next().unwrap_or_default();
        if after_name.split_whitespace().nth(2) != Some(group.as_str()) {
            continue;
        }
        for thread in fs::read_dir(process.path().join("task")).into_iter().flatten().flatten() {
            let times = fs::read_to_string(thread.path().join("schedstat")).unwrap_or_default();
            sum += times
                .split_whitespace()
                .take(2)
                .filter_map(|time| time.parse::<u64>().ok())
                .sum::<u64>();
            let stat = fs::read_to_string(thread.path().join("stat")).unwrap_or_default();
            if stat.rsplit(')').next().unwrap_or_default().trim_start().starts_with('D') {
                sum += started_at();
            }
        }
    }
    sum
}

fn started_at() -> u64 {
    std::time::SystemTime::now()
        .duration_since(std::time::UNIX_EPOCH)
        .map(|time| time.as_nanos() as u64 >> 20)
        .unwrap_or(0)
}
