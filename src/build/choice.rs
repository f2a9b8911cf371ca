//! Which tables a store gets: those of a scheme, or the best for the data.

use crate::error::{Error, Result};
use crate::fingerprint::Fingerprint;
use crate::planner::{Budget, PlanRequest, Sampler};
use crate::scheme::{Scheme, UnitCosts};
use crate::sort::SortedValues;

/// Which tables a store gets.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum SchemeChoice {
    /// Those of a scheme.
    Fixed(Scheme),
    /// The fastest for the data at distance `k` within a budget, see
    /// [`PlanRequest`](crate::PlanRequest). The choice depends on nothing but the set of
    /// fingerprints and what stands here.
    Auto {
        /// The distance that queries will mostly ask for.
        k: u32,
        /// How much space the tables may take.
        budget: Budget,
        /// What steps cost on the machine that will answer.
        costs: UnitCosts,
    },
}

impl SchemeChoice {
    /// About how many tables there will be, if one takes `table_len` bytes.
    pub(super) fn table_count(&self, fingerprint_count: u64, table_len: u64) -> u64 {
        match self {
            SchemeChoice::Fixed(scheme) => scheme.masks().len() as u64,
            SchemeChoice::Auto { budget, .. } => {
                (budget.bytes_for(fingerprint_count) / table_len.max(1) as f64).max(1.0) as u64
            }
        }
    }

    /// The scheme for these distinct fingerprints.
    pub(super) fn for_values(&self, distinct: &SortedValues) -> Result<Scheme> {
        let mut sampler = Sampler::new(Sampler::CAPACITY);
        if let SchemeChoice::Auto { .. } = self {
            distinct.pass(|values| {
                values.iter().for_each(|&value| sampler.push(Fingerprint::new(value)));
                Ok::<(), Error>(())
            })?;
        }
        self.resolve(distinct.count, sampler)
    }

    /// The scheme for so many distinct fingerprints of which `sampler` saw every one.
    pub(crate) fn resolve(&self, fingerprint_count: u64, sampler: Sampler) -> Result<Scheme> {
        match self {
            SchemeChoice::Fixed(scheme) => Ok(scheme.clone()),
            SchemeChoice::Auto { k, budget, costs } => {
                // Nothing is stored as fast as one, and no budget is too small for it.
                let budget = if fingerprint_count == 0 { &Budget::Default } else { budget };
                let request = PlanRequest::new(fingerprint_count.max(1), *k);
                let mut request = request.budget(*budget).costs(*costs);
                // Too few to learn from are too few to matter.
                request.sample = sampler.finish().ok();
                Ok(request.choose()?.scheme)
            }
        }
    }
}

impl From<Scheme> for SchemeChoice {
    fn from(scheme: Scheme) -> Self {
        SchemeChoice::Fixed(scheme)
    }
}

impl Default for SchemeChoice {
    /// The fastest at distance 3 within the default budget.
    fn default() -> Self {
        SchemeChoice::Auto { k: 3, budget: Budget::Default, costs: UnitCosts::SHIPPED }
    }
}
