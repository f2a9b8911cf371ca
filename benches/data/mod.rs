//! Fingerprints and queries for the benches, the same in every run.
#![allow(dead_code, reason = "each bench uses its own part")]

/// Where each data set starts; any fixed number would do.
const DATA_SEED: u64 = 0x6670_7374_6f72_6501;
const QUERY_SEED: u64 = 0x6670_7374_6f72_6502;

/// How many different queries a round asks. Ten million fingerprints then do not stay in the
/// cache from one round to the next: a round touches more bytes than the cache has.
pub const QUERY_COUNT: usize = 30_000;

/// How fingerprints are spread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spread {
    /// Independent random bits.
    Uniform,
    /// A fifth are an earlier value with 0 to 6 random bits flipped, as near-duplicates are.
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

    /// So many fingerprints in no order; clustered ones repeat some.
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

/// Queries in turn: a stored fingerprint, a stored one with 1 to 3 bits flipped, a random one.
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

/// `n1e7` for ten million, as bench names have it.
pub fn count_name(count: usize) -> String {
    let zeros = count.max(1).ilog10();
    match 10_usize.pow(zeros) {
        power if power == count => format!("n1e{zeros}"),
        _ => format!("n{count}"),
    }
}

/// A small repeatable generator: splitmix64 (Steele, Lea and Flood, OOPSLA 2014).
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Self {
        Random(seed)
    }

    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }

    fn below(&mut self, limit: u64) -> u64 {
        self.next() % limit
    }

    fn pick(&mut self, values: &[u64]) -> u64 {
        values[self.below(values.len() as u64) as usize]
    }

    /// `value` with exactly `count` different bits flipped.
    fn flip(&mut self, value: u64, count: u32) -> u64 {
        let mut flips = 0_u64;
        while flips.count_ones() < count {
            flips |= 1 << self.below(64);
        }
        value ^ flips
    }
}
