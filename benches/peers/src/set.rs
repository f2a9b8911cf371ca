//! The fingerprints and queries of a case.

use anyhow::Result;
use clap::ValueEnum;

use crate::data::{Random, Spread, query_mix};
use crate::real;

const SHUFFLE_SEED: u64 = 0x6670_7374_6f72_6504;

/// The origin of fingerprints.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Source {
    /// Independent random bits
    Uniform,
    /// A fifth are copies of an earlier value with 0 to 6 random bits flipped
    Clustered,
    /// The real sets in the repository, repeated with noise
    Real,
}

impl Source {
    /// The name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Source::Uniform => "uniform",
            Source::Clustered => "clustered",
            Source::Real => "real",
        }
    }
}

/// Distinct fingerprints in random order.
#[derive(Debug)]
pub struct Set {
    pub source: Source,
    /// The number of drawn values, repeats included.
    pub drawn: usize,
    pub values: Vec<u64>,
}

impl Set {
    /// Draws values deterministically: equal arguments yield the same values in the same order.
    ///
    /// # Errors
    ///
    /// If the fingerprints in the repository cannot be read.
    pub fn draw(source: Source, drawn: usize) -> Result<Self> {
        let mut values = match source {
            Source::Uniform => Spread::Uniform.fingerprints(drawn),
            Source::Clustered => Spread::Clustered.fingerprints(drawn),
            Source::Real => real::fingerprints(drawn)?,
        };
        values.sort_unstable();
        values.dedup();
        let mut random = Random::new(SHUFFLE_SEED);
        for place in (1..values.len()).rev() {
            values.swap(place, (random.next() % (place as u64 + 1)) as usize);
        }
        values.shrink_to_fit();
        Ok(Set { source, drawn, values })
    }

    /// Queries: a third are stored, a third stored with 1 to 3 flipped bits, a third random.
    pub fn queries(&self, count: usize) -> Vec<u64> {
        query_mix(&self.values, count)
    }
}
