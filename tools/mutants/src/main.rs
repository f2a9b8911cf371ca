//! Changes the program in small ways and reports the changes that no test notices. tools/mutants.sh
//! lists the options.
//!
//! The sources are modified once, in a copy: code at every changeable place checks whether its
//! change is active, by a number in the environment. So the program is built once for all changes.
//! A first run of every test records which changes it reaches; then each change is judged by the
//! tests that reach it, the quickest first.

mod judge;
mod sites;
mod tree;

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};

use judge::{Programs, Test, Verdict};
use sites::Site;
use tree::{Tree, output};

/// Advice to the system, texts of pages and help, kernels that are only tested on machines that
/// support them, and test code.
const LEFT_OUT: [&str; 5] = [
    "src/fuzzing.rs",
    "src/search/kernel/avx",
    "src/search/kernel/check.rs",
    "src/search/kernel/neon.rs",
    "src/segment/advice.rs",
];

/// Tests that inject a failure or a kill at each operation, for minutes.
const SLOW_TESTS: [&str; 3] = ["whichever_operation", "that_dies_at", "power_loss"];

struct Options {
    paths: Vec<String>,
    since: Option<String>,
    minutes: Option<f64>,
    jobs: usize,
    /// Seconds of tests for each change.
    seconds: f64,
    only_missed: bool,
    with_program: bool,
    only_list: bool,
}

impl Options {
    fn of_arguments() -> Result<Self> {
        let mut options = Self {
            paths: Vec::new(),
            since: None,
            minutes: None,
            jobs: 1,
            seconds: 30.0,
            only_missed: false,
            with_program: false,
            only_list: false,
        };
        let mut arguments = std::env::args().skip(1);
        while let Some(argument) = arguments.next() {
            let mut value = || arguments.next().with_context(|| format!("{argument}: of what?"));
            match argument.as_str() {
                "--since" => options.since = Some(value()?),
                "--minutes" => options.minutes = Some(value()?.parse()?),
                "--jobs" => options.jobs = value()?.parse()?,
                "--seconds" => options.seconds = value()?.parse()?,
                "--missed" => options.only_missed = true,
                "--all-tests" => options.with_program = true,
                "--list" => options.only_list = true,
                option if option.starts_with('-') => bail!("unknown option {option}"),
                path => options.paths.push(path.trim_end_matches('/').to_owned()),
            }
        }
        Ok(options)
    }
}

/// Identifies a change across runs: file, function, description, and its number among equal
/// descriptions in that function.
type Key = (String, String, String, usize);

fn line_of((file, function, what, nth): &Key) -> String {
    format!("{file}\t{function}\t{what}\t{nth}")
}

struct Change {
    key: Key,
    line: usize,
    number: u32,
}

impl Change {
    /// File, function and description: a reason in argued.tsv applies to all equal changes.
    fn like(&self) -> (String, String, String) {
        let (file, function, what, _) = &self.key;
        (file.clone(), function.clone(), what.clone())
    }
}

fn main() -> ExitCode {
    match run() {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(2),
        Err(error) => {
            eprintln!("mutants: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<bool> {
    let options = Options::of_arguments()?;
    let root = std::env::current_dir()?;
    let folder = root.join("target/mutants");
    fs::create_dir_all(&folder)?;
    let table = folder.join("results.tsv");
    let mut known = read_results(&table)?;
    let argued = read_argued(&root.join("tools/mutants/argued.tsv"))?;

    let files = files(&root, &options.paths)?;
    let changed = options.since.as_deref().map(|base| changed_lines(&root, base)).transpose()?;
    let is_wanted = |file: &str, site: &Site| match &changed {
        Some(lines) => lines.get(file).is_some_and(|lines| touches(lines, site)),
        None => true,
    };
    let copy = folder.join("tree");
    let mut tree = Tree::new(&root, &copy, &files, is_wanted)?;
    let all = changes(&tree);
    // Changes that did not compile in an earlier run do not compile now either.
    let off = folder.join("off.tsv");
    let known_off = fs::read_to_string(&off).unwrap_or_default();
    let known_off: HashSet<&str> = known_off.lines().collect();
    let numbers: HashSet<u32> = all
        .iter()
        .filter(|change| known_off.contains(line_of(&change.key).as_str()))
        .map(|change| change.number)
        .collect();
    for placed in &mut tree.sites {
        placed.is_off = numbers.contains(&placed.number);
    }
    println!("{} changes in {} files", all.len(), files.len());
    if options.only_list || all.is_empty() {
        for change in &all {
            println!("{}:{}: {}: {}", change.key.0, change.line, change.key.1, change.key.2);
        }
        return Ok(true);
    }

    let cargo = |arguments: &[&str]| {
        let mut command = Command::new("cargo");
        command.args(arguments).args(["--locked"]).current_dir(&copy);
        command.env("CARGO_TARGET_DIR", folder.join("build"));
        command
    };
    tree.write_what_compiles(&cargo)?;
    let compiled: HashSet<u32> = tree
        .sites
        .iter()
        .filter(|placed| !placed.is_off)
        .flat_map(|placed| placed.number..placed.number + placed.site.changes.len() as u32)
        .collect();
    let lines = all.iter().filter(|change| !compiled.contains(&change.number));
    let lines: String = lines.map(|change| line_of(&change.key) + "\n").collect();
    fs::write(&off, lines)?;
    let all: Vec<Change> =
        all.into_iter().filter(|change| compiled.contains(&change.number)).collect();
    println!("{} of them compile", all.len());

    let mut build = vec!["test", "--no-run", "--message-format=json", "--lib"];
    if options.with_program {
        build.extend(["--test", "all"]);
    }
    let told = output(cargo(&build).stderr(Stdio::null()))?;
    let mut paths: Vec<PathBuf> = Vec::new();
    for line in told.lines() {
        let message: serde_json::Value = serde_json::from_str(line)?;
        if let (true, Some(path)) =
            (message["profile"]["test"] == true, message["executable"].as_str())
        {
            paths.push(path.into());
        }
    }
    ensure!(!paths.is_empty(), "cargo named no tests");
    paths.sort_by_key(|path| path.to_string_lossy().contains("/all-"));
    let scratch = folder.join("scratch");
    fs::create_dir_all(&scratch)?;
    let programs = Programs { paths, folder: copy.clone(), scratch: scratch.clone() };
    let tests = programs.tests(&SLOW_TESTS, options.seconds, &folder)?;
    println!("{} tests", tests.len());

    let mut chosen: Vec<&Change> = all
        .iter()
        .filter(|change| {
            let outcome = known.get(&change.key).map(String::as_str);
            let is_argued = argued.contains_key(&change.like());
            !is_argued && (!options.only_missed || outcome == Some("missed"))
        })
        .collect();
    // A fixed order that mixes all files: the changes judged before the time limit are a sample of
    // all.
    chosen.sort_by_key(|change| change.number.wrapping_mul(0x9e37_79b1).reverse_bits());
    let results = Mutex::new(OpenOptions::new().create(true).append(true).open(&table)?);
    judge_all(&options, &programs, &tests, &chosen, &results)?;
    known = read_results(&table)?;
    let _ = fs::remove_dir_all(&scratch);
    report(&folder, &all, &known, &argued, options.paths.is_empty() && changed.is_none())
}

/// Judges changes until all are judged, or the time limit is reached.
fn judge_all(
    options: &Options,
    programs: &Programs,
    tests: &[Test],
    chosen: &[&Change],
    results: &Mutex<fs::File>,
) -> Result<()> {
    let (next, stop) = (AtomicUsize::new(0), AtomicBool::new(false));
    let started = Instant::now();
    let judge_one = |change: &Change| -> Result<()> {
        let mut time = 0.0;
        let reaching: Vec<&Test> = tests
            .iter()
            .filter(|test| test.reaches(change.number))
            .take_while(|test| {
                time += test.seconds;
                time <= options.seconds
            })
            .collect();
        let is_reached = tests.iter().any(|test| test.reaches(change.number));
        let outcome = if !is_reached {
            "unreached".to_owned()
        } else {
            match programs.judge(change.number, &reaching, &stop)? {
                Verdict::Caught(by) => format!("caught\t{by}"),
                Verdict::Endless => "endless\t".to_owned(),
                Verdict::Missed => "missed\t".to_owned(),
            }
        };
        let text = format!("{}\t{}\t{outcome}\n", line_of(&change.key), change.line);
        results.lock().unwrap_or_else(|lock| lock.into_inner()).write_all(text.as_bytes())?;
        Ok(())
    };
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..options.jobs)
            .map(|_| {
                scope.spawn(|| -> Result<()> {
                    while let Some(change) = chosen.get(next.fetch_add(1, Relaxed)) {
                        if stop.load(Relaxed) {
                            break;
                        }
                        judge_one(change)?;
                    }
                    Ok(())
                })
            })
            .collect();
        while !workers.iter().all(|worker| worker.is_finished()) {
            std::thread::sleep(Duration::from_millis(200));
            let minutes = started.elapsed().as_secs_f64() / 60.0;
            if options.minutes.is_some_and(|most| minutes > most) && !stop.swap(true, Relaxed) {
                println!("stopped after {minutes:.0} minutes");
            }
        }
        for worker in workers {
            match worker.join() {
                Ok(Err(error)) if !stop.load(Relaxed) => return Err(error),
                _ => {}
            }
        }
        Ok(())
    })
}

fn changes(tree: &Tree) -> Vec<Change> {
    let mut counts: HashMap<(String, String, String), usize> = HashMap::new();
    let mut all = Vec::new();
    for placed in &tree.sites {
        for (nth, what) in placed.site.changes.iter().enumerate() {
            let like = (placed.file.clone(), placed.site.function.clone(), what.clone());
            let count = counts.entry(like.clone()).or_default();
            *count += 1;
            all.push(Change {
                key: (like.0, like.1, like.2, *count),
                line: placed.site.line,
                number: placed.number + nth as u32,
            });
        }
    }
    all
}

/// The sources below `paths`, without test sources.
fn files(root: &Path, paths: &[String]) -> Result<Vec<String>> {
    let listed = output(Command::new("git").arg("-C").arg(root).args([
        "ls-files",
        "-co",
        "--exclude-standard",
        "src",
    ]))?;
    let is_wanted = |file: &str| {
        file.ends_with(".rs")
            && !file.contains("/tests/")
            && !file.ends_with("/tests.rs")
            && file != "src/lib.rs"
            && !LEFT_OUT.iter().any(|part| file.starts_with(part))
            && (paths.is_empty()
                || paths.iter().any(|path| file == path || file.starts_with(&format!("{path}/"))))
    };
    Ok(listed.lines().filter(|file| is_wanted(file)).map(str::to_owned).collect())
}

/// The first and last line of each hunk of a file that differs from `base`.
fn changed_lines(root: &Path, base: &str) -> Result<HashMap<String, Vec<(usize, usize)>>> {
    let told = output(Command::new("git").arg("-C").arg(root).args([
        "diff",
        "-U0",
        "--no-ext-diff",
        base,
        "--",
        "src",
    ]))?;
    let (mut all, mut file) = (HashMap::<String, Vec<(usize, usize)>>::new(), String::new());
    for line in told.lines() {
        if let Some(path) = line.strip_prefix("+++ b/") {
            file = path.to_owned();
        } else if let Some(place) = line.strip_prefix("@@ ") {
            // @@ -12,3 +14,2 @@
            let now = place.split_whitespace().nth(1).context("a place without lines")?;
            let (first, count) = now[1..].split_once(',').unwrap_or((&now[1..], "1"));
            let (first, count): (usize, usize) = (first.parse()?, count.parse()?);
            if count > 0 {
                all.entry(file.clone()).or_default().push((first, first + count - 1));
            }
        }
    }
    Ok(all)
}

fn touches(lines: &[(usize, usize)], site: &Site) -> bool {
    lines.iter().any(|(first, last)| site.line <= *last && site.last_line >= *first)
}

fn read_results(path: &Path) -> Result<HashMap<Key, String>> {
    let mut all = HashMap::new();
    for line in fs::read_to_string(path).unwrap_or_default().lines() {
        let fields: Vec<&str> = line.split('\t').collect();
        if let [file, function, what, nth, _line, outcome, ..] = fields[..] {
            let key = (file.to_owned(), function.to_owned(), what.to_owned(), nth.parse()?);
            all.insert(key, outcome.to_owned());
        }
    }
    Ok(all)
}

/// Changes that no test can notice, or need not notice: file, function, change, reason.
fn read_argued(path: &Path) -> Result<HashMap<(String, String, String), String>> {
    let mut all = HashMap::new();
    for line in fs::read_to_string(path).unwrap_or_default().lines() {
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let fields: Vec<&str> = line.split('\t').collect();
        let [file, function, what, reason] = fields[..] else {
            bail!("{}: a line has not four fields: {line}", path.display());
        };
        let key = (file.to_owned(), function.to_owned(), what.to_owned());
        all.insert(key, reason.to_owned());
    }
    Ok(all)
}

/// The folder by which results are grouped.
fn room(file: &str) -> String {
    let parts: Vec<&str> = file.split('/').collect();
    let depth = if matches!(parts[1], "writing" | "http" | "report") { 3 } else { 2 };
    parts[..depth.min(parts.len() - 1)].join("/")
}

/// Prints the counts of each folder, and writes the missed changes. Returns whether no change is
/// missed.
fn report(
    folder: &Path,
    all: &[Change],
    known: &HashMap<Key, String>,
    argued: &HashMap<(String, String, String), String>,
    is_whole: bool,
) -> Result<bool> {
    let mut rooms: BTreeMap<String, BTreeMap<&str, usize>> = BTreeMap::new();
    let mut missed = String::new();
    let mut found = HashSet::new();
    for change in all {
        let (file, function, what, _) = &change.key;
        let outcome = known.get(&change.key).map_or("untried", String::as_str);
        let outcome = match outcome {
            "missed" | "unreached" | "untried" if argued.contains_key(&change.like()) => "argued",
            outcome => outcome,
        };
        found.insert(change.like());
        *rooms.entry(room(file)).or_default().entry(outcome).or_default() += 1;
        if outcome == "missed" || outcome == "unreached" {
            missed += &format!("{file}:{}: {function}: {what} ({outcome})\n", change.line);
        }
    }
    fs::write(folder.join("missed.txt"), &missed)?;
    println!("room\tcaught\tendless\tmissed\tunreached\targued\tuntried");
    let mut is_clean = true;
    for (room, counts) in &rooms {
        let count = |outcome| counts.get(outcome).copied().unwrap_or(0);
        is_clean &= count("missed") == 0;
        let columns = ["caught", "endless", "missed", "unreached", "argued", "untried"];
        let counts: Vec<String> = columns.map(|outcome| count(outcome).to_string()).into();
        println!("{room}\t{}", counts.join("\t"));
    }
    if is_whole {
        for (file, function, what) in argued.keys().filter(|key| !found.contains(*key)) {
            println!("argued, but no longer there: {file}: {function}: {what}");
        }
    }
    println!("missed changes are listed in target/mutants/missed.txt");
    Ok(is_clean)
}
