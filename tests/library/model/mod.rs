//! A model-based test of the whole library. It performs random operations on some stores and their
//! readers, and after each operation compares every way to read them with a scan of a list of
//! records.
//!
//! A failure reports its seed, its steps, and a smaller set of steps that also fails. Environment
//! variables select other seeds:
//!
//! * `FPSTORE_MODEL_SEED=N` runs that seed;
//! * `FPSTORE_MODEL_SECONDS=N` runs new seeds for N seconds, starting at `FPSTORE_MODEL_SEED` if it
//!   is set, and continues after a failure; `tools/models/model.sh` uses it.

mod check;
mod damage;
mod data;
mod operations;
mod records;
mod world;

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant, SystemTime};

use crate::common::Random;
use world::World;

/// Number of steps of each seed.
const STEPS: u64 = 30;
/// The seeds that run with all other tests. All but 1 and 2 have once found a fault.
const SEEDS: [u64; 8] = [8, 33, 34, 1036, 1037, 1044, 1, 2];

/// A failed step. Step 0 is the creation of the stores.
struct Finding {
    step: u64,
    message: String,
    /// The operations of all steps up to the failure.
    operations: Vec<String>,
}

impl Finding {
    /// The message without numbers, to recognise the same fault in another run.
    fn kind(&self) -> String {
        let words = self.message.split_whitespace();
        let is_word = |word: &&str| word.chars().all(|of| of.is_ascii_alphabetic());
        words.filter(is_word).take(8).collect::<Vec<_>>().join(" ")
    }
}

/// Counts over all runs.
#[derive(Default)]
struct RunCounts {
    runs: u64,
    steps: u64,
    compared: u64,
    operations: BTreeMap<&'static str, u64>,
}

/// Runs the given steps of a seed. Leaving out a step does not change the random numbers of others.
fn run(seed: u64, steps: &[u64], done: &mut RunCounts) -> Result<(), Finding> {
    let mut world: Option<World> = None;
    let (mut operations, mut found) = (Vec::new(), Ok(()));
    done.runs += 1;
    for &step in [0].iter().chain(steps) {
        let mut random = Random::new(Random::new(seed << 16 | step).next());
        let result = catch_unwind(AssertUnwindSafe(|| match &mut world {
            None => world = Some(World::new(&mut random)),
            Some(world) => world.step(&mut random),
        }));
        done.steps += 1;
        let operation = world.as_ref().map_or("", |world| &world.doing);
        operations.push(format!("step {step}: {operation}"));
        if let Err(payload) = result {
            let text = payload.downcast_ref::<String>().map(String::as_str);
            let text = text.or_else(|| payload.downcast_ref::<&str>().copied());
            let message = text.unwrap_or("a panic without a text").to_string();
            found = Err(Finding { step, message, operations });
            break;
        }
    }
    if let Some(world) = world {
        done.compared += world.compared;
        for (kind, count) in &world.operations {
            *done.operations.entry(kind).or_default() += count;
        }
    }
    found
}

/// A smaller set of the steps of a finding that still fails in the same way.
fn fewest_steps(seed: u64, finding: &Finding) -> Vec<u64> {
    let mut steps: Vec<u64> = (1..=finding.step).collect();
    let mut len = steps.len().div_ceil(2);
    while len > 0 {
        let mut at = steps.len();
        while at > 0 {
            let start = at.saturating_sub(len);
            let fewer = [&steps[..start], &steps[at..]].concat();
            let again = run(seed, &fewer, &mut RunCounts::default());
            if again.is_err_and(|again| again.kind() == finding.kind()) {
                steps = fewer;
            }
            at = start;
        }
        len /= 2;
    }
    steps
}

/// Runs new seeds for the given time, and prints a line for each failure.
fn explore(first: u64, time: Duration) {
    let all: Vec<u64> = (1..=STEPS).collect();
    let (start, mut done, mut findings) = (Instant::now(), RunCounts::default(), 0);
    for seed in first.. {
        if start.elapsed() > time {
            break;
        }
        let since = Instant::now();
        if let Err(Finding { message, operations, .. }) = run(seed, &all, &mut done) {
            findings += 1;
            let message = message.replace('\n', " ");
            println!("finding: seed {seed}, {}: {message}", operations[operations.len() - 1]);
        }
        if since.elapsed() > Duration::from_secs(60) {
            println!("slow: seed {seed}, {:?}", since.elapsed());
        }
    }
    let RunCounts { runs, steps, compared, operations } = done;
    println!("done: seeds from {first}: {runs} runs, {steps} steps, {compared} comparisons");
    println!("done: {operations:?}");
    println!("done: {findings} findings");
    assert_eq!(findings, 0, "findings");
}

fn number_in_environment(name: &str) -> Option<u64> {
    std::env::var(name).ok().map(|number| number.parse().unwrap())
}

#[test]
fn everything_at_once_answers_as_a_scan_does() {
    let seed = number_in_environment("FPSTORE_MODEL_SEED");
    if let Some(seconds) = number_in_environment("FPSTORE_MODEL_SECONDS") {
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap().as_secs();
        return explore(seed.unwrap_or(now * 1000), Duration::from_secs(seconds));
    }
    let all: Vec<u64> = (1..=STEPS).collect();
    let seeds = seed.map_or(SEEDS.to_vec(), |seed| vec![seed]);
    for seed in seeds {
        let Err(finding) = run(seed, &all, &mut RunCounts::default()) else { continue };
        println!("seed {seed}: {}\n{}", finding.message, finding.operations.join("\n"));
        let steps = fewest_steps(seed, &finding);
        let fewest = run(seed, &steps, &mut RunCounts::default()).expect_err("it failed before");
        let operations = fewest.operations.join("\n");
        panic!("FPSTORE_MODEL_SEED={seed}: {}; the fewest steps:\n{operations}", fewest.message);
    }
}
