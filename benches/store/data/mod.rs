//! Fingerprints and queries for the benches, the same in every run.
#![allow(dead_code, reason = "each bench uses its own part")]

#[path = "../../../tests/common/random.rs"]
mod random;

pub use random::Random;

/// The seed of each data set; the value is arbitrary.
const DATA_SEED: u64 = 0x6670_7374_6f72_6501;
const QUERY_SEED: u64 = 0x6670_7374_6f72_6502;

/// The number of distinct queries in a round: enough that ten million fingerprints do not remain in
/// the cache from one round to the next.
pub const QUERY_COUNT: usize = 30_000;

/// The distribution of fingerprints.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spread {
    /// Independent random bits.
    Uniform,
    /// A fifth are copies of an earlier value with 0 to 6 random bits flipped.
    Clustered,
}

impl Spread {
    pub const ALL: [Spread; 2] = [Spread::Uniform, Spread::Clustered];

    pub fn name(self) -> &'static str {
        match self {
            Spread::Uniform => "uniform",
            Spread::Clustered => "clustered",
        }
    }

    /// Makes `count` fingerprints in random order; clustered fingerprints contain repeats.
    pub fn fingerprints(self, count: usize) -> Vec<u64> {
        let mut random = Random::new(DATA_SEED);
        let mut values: Vec<u64> = Vec::with_capacity(count);
        while values.len() < count {
            let near = self == Spread::Clustered && !values.is_empty() && random.below(5) == 0;
            let value = if near {
                let earlier = random.pick(&values);
                let flips = random.below(7) as u32;
                random.flip(earlier, flips)
            } else {
                random.next()
            };
            values.push(value);
        }
        values
    }
}

/// Queries of three kinds in turn: a stored fingerprint, a stored fingerprint with 1 to 3 flipped
/// bits, a random fingerprint.
pub fn query_mix(stored: &[u64], count: usize) -> Vec<u64> {
    let mut random = Random::new(QUERY_SEED);
    (0..count)
        .map(|number| match number % 3 {
            0 => random.pick(stored),
            1 => {
                let near = random.pick(stored);
                let flips = 1 + random.below(3) as u32;
                random.flip(near, flips)
            }
            _ => random.next(),
        })
        .collect()
}

/// Formats ten million as `n1e7`, the form in bench names.
pub fn count_name(count: usize) -> String {
    let zeros = count.max(1).ilog10();
    match 10_usize.pow(zeros) {
        power if power == count => format!("n1e{zeros}"),
        _ => format!("n{count}"),
    }
}

/// The numbers of fingerprints for a bench.
pub struct Counts {
    pub counts: Vec<usize>,
    /// The value of `FPSTORE_BENCH_N`.
    pub chosen: Option<usize>,
    /// Whether the bench runs under `cargo bench`, not `cargo test`.
    pub measuring: bool,
}

impl Counts {
    /// `FPSTORE_BENCH_N` if it is set; otherwise `all`, or only `in_tests` under `cargo test`.
    ///
    /// # Panics
    ///
    /// If the variable is not a number.
    pub fn from_env(all: &[usize], in_tests: usize) -> Self {
        let measuring = std::env::args().any(|argument| argument == "--bench");
        let chosen = std::env::var("FPSTORE_BENCH_N").ok().map(|text| {
            text.parse()
                .unwrap_or_else(|_| panic!("FPSTORE_BENCH_N is '{text}', expected a number"))
        });
        let counts = match chosen {
            Some(count) => vec![count],
            None if measuring => all.to_vec(),
            None => vec![in_tests],
        };
        Counts { counts, chosen, measuring }
    }
}
