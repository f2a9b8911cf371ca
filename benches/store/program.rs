//! Builds stores from files with the program, compared with `sort -u`: time, CPU time, memory and
//! temporary files, with ample memory and with little memory.
//!
//! `FPSTORE_BENCH_N` sets the number of fingerprints, `FPSTORE_BENCH_DIR` the folder of the
//! files, and `FPSTORE_BENCH_MEMORY` the small memory limit (512MiB).
#![deny(unsafe_code)]

mod data;

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use data::Random;

const SEED: u64 = 0x6670_7374_6f72_6503;
const COUNT: u64 = 10_000_000;

fn main() {
    let measuring = std::env::args().any(|argument| argument == "--bench");
    let wanted = std::env::var("FPSTORE_BENCH_N").ok().and_then(|n| n.parse().ok());
    let count = if measuring { wanted.unwrap_or(COUNT) } else { 10_000 };
    let rounds = if measuring && count <= COUNT { 5 } else { 1 };
    let little = std::env::var("FPSTORE_BENCH_MEMORY").unwrap_or("512MiB".into());
    let folder = match std::env::var_os("FPSTORE_BENCH_DIR") {
        Some(parent) => tempfile::tempdir_in(parent),
        None => tempfile::tempdir(),
    };
    let folder = folder.expect("the system gives a directory");
    let files = Files::write(folder.path(), count).expect("the input fits the disk");
    let mut contenders = vec![
        fpstore("binary", &files.bare, &["--input-format", "u64le"]),
        fpstore(
            "binary, little memory",
            &files.bare,
            &["--input-format", "u64le", "--memory", &little],
        ),
        fpstore("binary with ids", &files.with_ids, &["--input-format", "u64le-id"]),
        fpstore(
            "binary with ids, little memory",
            &files.with_ids,
            &["--input-format", "u64le-id", "--memory", &little],
        ),
        fpstore("hex", &files.hex, &["--memory", &little]),
        sort(&files.hex, &little),
    ];
    for round in 0..rounds {
        for place in 0..contenders.len() {
            let number = (round + place) % contenders.len();
            contenders[number].run(folder.path());
        }
    }
    for pair in contenders[..4].chunks(2) {
        assert!(pair[0].sum == pair[1].sum, "memory changed the bytes of '{}'", pair[0].name);
    }
    println!("\n{count} fingerprints, little memory is {little}, median of {rounds}\n");
    println!("| what | seconds | CPU seconds | million/s | anonymous memory, MiB |");
    println!("|---|---:|---:|---:|---:|");
    for contender in &contenders {
        contender.print(count);
    }
    let ratio = median(&contenders[5].seconds) / median(&contenders[4].seconds);
    println!("\nhex lines: {ratio:.1} times as fast as sort -u");
}

/// Files with the same fingerprints in three formats.
struct Files {
    bare: PathBuf,
    with_ids: PathBuf,
    hex: PathBuf,
}

impl Files {
    fn write(folder: &Path, count: u64) -> io::Result<Self> {
        let path = |name: &str| folder.join(name);
        let files = Files { bare: path("bare"), with_ids: path("with-ids"), hex: path("hex") };
        let create = |path: &Path| {
            Ok::<_, io::Error>(BufWriter::with_capacity(1 << 20, File::create(path)?))
        };
        let mut bare = create(&files.bare)?;
        let mut with_ids = create(&files.with_ids)?;
        let mut hex = create(&files.hex)?;
        let mut random = Random::new(SEED);
        for id in 0..count {
            let value = random.next();
            bare.write_all(&value.to_le_bytes())?;
            with_ids.write_all(&value.to_le_bytes())?;
            with_ids.write_all(&id.to_le_bytes())?;
            writeln!(hex, "{value:016x}")?;
        }
        bare.flush()?;
        with_ids.flush()?;
        hex.flush()?;
        Ok(files)
    }
}

struct Contender {
    name: String,
    program: PathBuf,
    arguments: Vec<String>,
    is_fpstore: bool,
    seconds: Vec<f64>,
    cpu_seconds: Vec<f64>,
    anonymous_kib: u64,
    /// Checksum of the segment file.
    sum: u32,
}

fn fpstore(name: &str, input: &Path, options: &[&str]) -> Contender {
    let mut arguments = vec!["build".into(), input.display().to_string()];
    arguments.extend(["-s", "bench.fps", "--scheme", "2", "--quiet"].map(String::from));
    arguments.extend(options.iter().map(ToString::to_string));
    Contender {
        name: format!("fpstore, {name}"),
        program: env!("CARGO_BIN_EXE_fpstore").into(),
        arguments,
        is_fpstore: true,
        seconds: Vec::new(),
        cpu_seconds: Vec::new(),
        anonymous_kib: 0,
        sum: 0,
    }
}

fn sort(input: &Path, memory: &str) -> Contender {
    let memory = memory.replace("MiB", "M").replace("GiB", "G");
    let input = input.display().to_string();
    let arguments = ["-u", "--parallel=2", "-S", &memory, "-T", ".", "-o", "bench.sorted", &input];
    Contender {
        name: "sort -u --parallel=2, hex".into(),
        program: "sort".into(),
        arguments: arguments.map(String::from).to_vec(),
        is_fpstore: false,
        ..fpstore("", Path::new(""), &[])
    }
}

impl Contender {
    fn run(&mut self, folder: &Path) {
        let cpu_before = children_cpu_seconds();
        let start = Instant::now();
        let mut child = Command::new(&self.program)
            .args(&self.arguments)
            .env("LC_ALL", "C")
            .current_dir(folder)
            .stdout(Stdio::null())
            .spawn()
            .expect("the program starts");
        let status = loop {
            let anonymous = anonymous_kib(child.id()).unwrap_or(0);
            self.anonymous_kib = self.anonymous_kib.max(anonymous);
            if let Some(status) = child.try_wait().expect("a child can be waited for") {
                break status;
            }
            std::thread::sleep(Duration::from_millis(2));
        };
        self.seconds.push(start.elapsed().as_secs_f64());
        self.cpu_seconds.push(children_cpu_seconds() - cpu_before);
        assert!(status.success(), "{}: {status}", self.name);
        if self.is_fpstore {
            let segment = folder.join("bench.fps/segment-0000000000000001.fps");
            let mut crc = crc32fast::Hasher::new();
            let mut file = File::open(segment).expect("a store has a segment");
            io::copy(&mut file, &mut Crc(&mut crc)).expect("a segment can be read");
            self.sum = crc.finalize();
            fs::remove_dir_all(folder.join("bench.fps")).expect("a store can be removed");
        }
    }

    fn print(&self, count: u64) {
        let seconds = median(&self.seconds);
        println!(
            "| {} | {seconds:.2} | {:.2} | {:.1} | {:.0} |",
            self.name,
            median(&self.cpu_seconds),
            count as f64 / seconds / 1e6,
            self.anonymous_kib as f64 / 1024.0,
        );
    }
}

struct Crc<'a>(&'a mut crc32fast::Hasher);

impl Write for Crc<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.update(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted[sorted.len() / 2]
}

/// Anonymous memory of the process, where the system reports it.
fn anonymous_kib(process: u32) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:"))?;
    line.trim().strip_suffix("kB")?.trim().parse().ok()
}

/// User and system time of all ended child processes, where the system reports it.
fn children_cpu_seconds() -> f64 {
    const TICKS_PER_SECOND: f64 = 100.0;
    let stat = fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let after_name = stat.rsplit(") ").next().unwrap_or_default();
    let fields: Vec<&str> = after_name.split(' ').collect();
    let ticks = |field: usize| fields.get(field).and_then(|text| text.parse::<f64>().ok());
    // cutime and cstime are fields 16 and 17 of the line; the first two fields were cut off.
    (ticks(13).unwrap_or(0.0) + ticks(14).unwrap_or(0.0)) / TICKS_PER_SECOND
}
