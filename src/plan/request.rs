//! The planner: finds the best scheme for a number of fingerprints, a distance and a budget.
//!
//! The cost model estimates the length of the tables and the time of a query for each scheme in
//! `candidates`, and `frontier` chooses one of them. Without a sample all bits are taken as evenly
//! distributed and independent.

use crate::base::error::{Error, Result, check_distance};
use crate::format::header::FINGERPRINT_COUNT_MAX;
use crate::plan::budget::Budget;
use crate::plan::candidates::{Candidate, candidates};
use crate::plan::frontier;
use crate::plan::profile::Sample;
use crate::plan::sample_model::SampleModel;
use crate::plan::scheme_estimate::{Estimator, SchemeEstimate};
use crate::scheme::Scheme;
use fpstore_base::setters;

/// The data, the distance and the budget of a plan.
///
/// # Examples
///
/// ```
/// use fpstore::plan::{Budget, PlanRequest};
///
/// let plan = PlanRequest::new(1_000_000_000, 3).budget(Budget::BytesPerFingerprint(16.0)).plan()?;
/// let best = plan.chosen();
/// println!("{}: {:.1} bytes, {:.1} us", best.name, best.bytes_per_fingerprint, best.hot_micros);
/// assert!(best.bytes_per_fingerprint <= 16.0);
/// # Ok::<(), fpstore::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct PlanRequest {
    pub(crate) fingerprint_count: u64,
    pub(crate) k: u32,
    pub(crate) budget: Budget,
    /// `None` for random bits.
    pub(crate) sample: Option<Sample>,
}

impl PlanRequest {
    /// A request for `fingerprint_count` distinct fingerprints of random bits, with `k` as the
    /// usual distance of queries and the default budget.
    pub fn new(fingerprint_count: u64, k: u32) -> Self {
        PlanRequest { fingerprint_count, k, budget: Budget::Default, sample: None }
    }

    /// The number of distinct fingerprints.
    pub fn fingerprint_count(&self) -> u64 {
        self.fingerprint_count
    }

    /// The usual distance of queries.
    pub fn k(&self) -> u32 {
        self.k
    }

    setters! {
        /// Sets the space that the tables may take.
        budget: Budget,
        /// Sets a sample of the fingerprints, from which the planner infers how they are
        /// distributed.
        sample: impl Into<Option<Sample>>,
    }

    /// Estimates every candidate scheme and chooses the fastest within the budget.
    ///
    /// Takes some milliseconds, with a sample up to about a second.
    ///
    /// # Errors
    ///
    /// * [`Error::InvalidDistance`] if `k` is above 64.
    /// * [`Error::InvalidPlan`] if there are no fingerprints or more than a segment can hold, or if
    ///   every scheme exceeds the budget.
    pub fn plan(&self) -> Result<SchemePlan> {
        self.plan_up_to(f64::INFINITY)
    }

    /// Chooses the fastest scheme within the budget. Schemes above the budget are not estimated.
    ///
    /// # Errors
    ///
    /// The same as [`PlanRequest::plan`].
    pub fn choose(&self) -> Result<SchemeEstimate> {
        let plan = self.plan_up_to(self.budget.bytes_for(self.fingerprint_count, self.k))?;
        Ok(plan.chosen().clone())
    }

    /// The estimate of one scheme; `name` is only copied to the estimate.
    ///
    /// # Errors
    ///
    /// The same as [`PlanRequest::plan`], but a budget that is too small is not an error.
    pub fn estimate(&self, name: &str, scheme: &Scheme) -> Result<SchemeEstimate> {
        self.check()?;
        let candidate = Candidate {
            name: name.into(),
            masks: scheme.masks().to_vec(),
            syndrome_bits: scheme.syndrome_bits(),
        };
        let model = self.sample_model();
        let estimator = Estimator::new(self.fingerprint_count, self.k, model.as_ref());
        let estimate = estimator.estimate(&candidate, f64::INFINITY);
        let mut estimate = estimate.expect("a scheme without a limit on its length");
        estimate.within_budget =
            estimate.tables_len <= self.budget.bytes_for(self.fingerprint_count, self.k);
        Ok(estimate)
    }

    fn plan_up_to(&self, most: f64) -> Result<SchemePlan> {
        self.check()?;
        let model = self.sample_model();
        let estimator = Estimator::new(self.fingerprint_count, self.k, model.as_ref());
        let budget_len = self.budget.bytes_for(self.fingerprint_count, self.k);
        let mut estimates: Vec<SchemeEstimate> =
            candidates(self.fingerprint_count, self.k, model.as_ref())
                .iter()
                .filter_map(|candidate| estimator.estimate(candidate, most))
                .collect();
        for (order, estimate) in estimates.iter_mut().enumerate() {
            estimate.order = order;
            estimate.within_budget = estimate.tables_len <= budget_len;
        }
        if !estimates.iter().any(|estimate| estimate.within_budget) {
            let archive = Candidate::whole("archive".into(), vec![u64::MAX]);
            let smallest = estimator.estimate(&archive, f64::INFINITY);
            return Err(self.too_small(smallest.into_iter().chain(estimates), budget_len));
        }
        Ok(SchemePlan { estimates: frontier::mark(estimates, self.k), budget_len })
    }

    fn sample_model(&self) -> Option<SampleModel> {
        self.sample.as_ref().map(|sample| SampleModel::new(sample, self.fingerprint_count))
    }

    fn check(&self) -> Result<()> {
        check_distance(self.k)?;
        let n = self.fingerprint_count;
        if !(1..=FINGERPRINT_COUNT_MAX).contains(&n) {
            let reason = format!("{n} fingerprints, expected 1 to 2^40");
            return Err(Error::InvalidPlan { reason });
        }
        Ok(())
    }

    fn too_small(&self, estimates: impl Iterator<Item = SchemeEstimate>, budget_len: f64) -> Error {
        let smallest = estimates.map(|e| e.tables_len).fold(f64::INFINITY, f64::min).ceil();
        let n = self.fingerprint_count;
        let each = (smallest / n as f64 * 10.0).ceil() / 10.0;
        let reason = format!(
            "a budget of {budget_len:.0} bytes is too small for {n} fingerprints; \
             the smallest that works is {smallest:.0} bytes ({each:.1} a fingerprint), one table"
        );
        Error::InvalidPlan { reason }
    }
}

/// The estimates of all candidate schemes, and the choice among them.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct SchemePlan {
    /// The estimate of each scheme, ascending by the length of its tables, then by time.
    pub estimates: Vec<SchemeEstimate>,
    /// The budget for the tables, in bytes.
    pub budget_len: f64,
}

impl SchemePlan {
    /// The chosen scheme: the fastest within the budget, or one nearly as fast and smaller.
    pub fn chosen(&self) -> &SchemeEstimate {
        let chosen = self.estimates.iter().find(|estimate| estimate.chosen);
        chosen.expect("a plan has a choice")
    }

    /// The schemes that no other scheme beats in both length and time, smallest first. The chosen
    /// scheme is among them unless it trades a little time for space.
    pub fn frontier(&self) -> impl Iterator<Item = &SchemeEstimate> {
        self.estimates.iter().filter(|estimate| estimate.on_frontier)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fpstore_base::Fingerprint;

    #[test]
    fn bad_requests_name_what_would_work() {
        let error = PlanRequest::new(0, 3).plan().unwrap_err().to_string();
        assert!(error.contains("0 fingerprints, expected 1 to 2^40"), "{error}");
        let error = PlanRequest::new(u64::MAX, 3).plan().unwrap_err().to_string();
        assert!(error.contains("expected 1 to 2^40"), "{error}");
        let error = PlanRequest::new(1000, 65).plan().unwrap_err().to_string();
        assert!(error.contains("distance is 65, expected 0 to 64"), "{error}");
        let small = Budget::BytesPerFingerprint(3.0);
        let request = PlanRequest::new(1_000_000, 3).budget(small);
        let error = request.plan().unwrap_err().to_string();
        let least = error.split("smallest that works is ").nth(1).unwrap();
        let least: u64 = least.split(' ').next().unwrap().parse().unwrap();
        assert_eq!(request.choose().unwrap_err().to_string(), error);
        let request = request.budget(Budget::Bytes(least));
        assert_eq!(request.plan().unwrap().chosen().scheme.masks().len(), 1);
        assert!(request.budget(Budget::Bytes(least - 1)).plan().is_err());
    }

    #[test]
    fn every_plan_has_one_choice_within_its_budget() {
        let even = |i: u64| i.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let skewed = |i: u64| (even(i) ^ even(i) >> 31) & 0x0fff_0fff_00ff_ffff;
        let sample = Sample::of_kind((1..2000).map(|i| Fingerprint::new(skewed(i)))).unwrap();
        for n in [1, 20, 10_000, 1_000_000_000, 1 << 40] {
            for k in [0, 1, 3, 7, 30, 64] {
                for sample in [None, Some(sample.clone())] {
                    let mut request =
                        PlanRequest::new(n, k).budget(Budget::BytesPerFingerprint(40_000.0));
                    request.sample = sample;
                    let plan = request.plan().unwrap();
                    assert_eq!(plan.estimates.iter().filter(|e| e.chosen).count(), 1);
                    assert!(plan.chosen().within_budget);
                    for e in &plan.estimates {
                        let numbers = [e.hot_micros, e.cold_micros, e.tables_len, e.cold_pages];
                        assert!(numbers.iter().all(|x| x.is_finite() && *x > 0.0), "{e:?}");
                        if let Some(radii) = &e.radii {
                            assert!(e.scheme.covers(k, radii), "{}", e.name);
                        }
                    }
                }
            }
        }
    }
}
