//! Choosing the tables of a store: a given scheme, or the best scheme for the data.

use std::path::Path;

use crate::base::error::{Error, Result};
use crate::base::options::DEFAULT_K;
use crate::base::side_by_side::{Part, side_by_side};
use crate::plan::{Budget, PlanRequest, SampleModel, Sampler, depends_on_data, scheme_by_name};
use crate::scheme::Scheme;
use crate::writing::sort::SortedValues;
use fpstore_base::{Fingerprint, read_inputs};

/// If the budget allows at most this many tables, the space of a build is estimated without a plan.
const FEW_TABLES: u64 = 4;

/// The choice of the tables of a store.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum SchemeChoice {
    /// The tables of the given scheme.
    Fixed(Scheme),
    /// The tables of a named scheme whose blocks are fitted to the data, see
    /// [`SchemeChoice::named`].
    Named {
        /// The name, including its layout.
        name: String,
        /// The distance of most queries.
        k: u32,
    },
    /// The fastest tables for the data at distance `k` within a budget, see
    /// [`PlanRequest`](crate::plan::PlanRequest). The choice depends only on the set of
    /// fingerprints and on these fields.
    Auto {
        /// The distance of most queries.
        k: u32,
        /// The space that the tables may take.
        budget: Budget,
    },
}

impl SchemeChoice {
    /// The scheme with a name that [`Scheme::named`] accepts, or with a name and a layout as
    /// reported by the planner: `halves-live` cuts the two halves from the bits that vary in the
    /// data, `-dealt` and `-sorted` spread the information of the bits evenly over the blocks.
    /// `halves-syndrome12`, or `halves-syndrome` for the number of bits that suits the number of
    /// fingerprints, stores syndromes in the second table, see [`Scheme::with_syndromes`].
    ///
    /// If few bits vary, a block of a layout may remain empty; then the blocks are cut from all
    /// bits. If the masks of a layout are too short for syndromes, all tables hold whole values.
    ///
    /// ```
    /// use fpstore::{BuildOptions, SchemeChoice};
    ///
    /// let options = BuildOptions::default().scheme(SchemeChoice::named("halves-live", 3)?);
    /// # Ok::<(), fpstore::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// The same as [`Scheme::named`].
    pub fn named(name: &str, k: u32) -> Result<Self> {
        let natural = scheme_by_name(name, 0, k, None)?;
        if depends_on_data(name) {
            Ok(SchemeChoice::Named { name: name.into(), k })
        } else {
            Ok(SchemeChoice::Fixed(natural))
        }
    }

    /// Parses the choice for distance `k`:
    ///
    /// * `auto`: the fastest tables within `budget`;
    /// * a name that [`SchemeChoice::named`] accepts;
    /// * masks of 1 to 16 hex digits on several lines, one per line; blank lines and comments after
    ///   a `#` are skipped;
    /// * the path of a file of such masks.
    ///
    /// ```
    /// use fpstore::{BuildOptions, SchemeChoice};
    ///
    /// let choice = SchemeChoice::parse("auto", 3, Some("16B/fp".parse()?))?;
    /// let options = BuildOptions::default().scheme(choice);
    /// # Ok::<(), fpstore::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// * [`Error::InvalidOptions`] for a budget with anything other than `auto`, and for invalid
    ///   masks in a file.
    /// * [`Error::Io`] if a file cannot be read.
    /// * The errors of [`Scheme::named`] and [`Scheme::from_masks`]; the error for an invalid mask
    ///   contains its line number.
    pub fn parse(text: &str, k: u32, budget: Option<Budget>) -> Result<Self> {
        if text == "auto" {
            return Ok(SchemeChoice::Auto { k, budget: budget.unwrap_or_default() });
        }
        if budget.is_some() {
            let reason = format!("budget is for the scheme 'auto', not for '{text}'");
            return Err(Error::InvalidOptions { reason });
        }
        if text.contains('\n') {
            return Ok(Scheme::from_mask_list(text, k)?.into());
        }
        let path = Path::new(text);
        match SchemeChoice::named(text, k) {
            Err(_) if path.is_file() => {
                let list = read_inputs::read_list(path);
                let list = list.map_err(Error::io("read masks from", path))?;
                let scheme = Scheme::from_mask_list(&list, k).map_err(|fault| {
                    Error::InvalidOptions { reason: format!("masks in {text}: {fault}") }
                })?;
                Ok(scheme.into())
            }
            choice => choice,
        }
    }

    /// The approximate number of tables, if one table takes `table_len` bytes.
    pub(super) fn table_count(&self, fingerprint_count: u64, table_len: u64) -> u64 {
        match self {
            SchemeChoice::Fixed(scheme) => scheme.masks().len() as u64,
            SchemeChoice::Named { name, k } => {
                scheme_by_name(name, 0, *k, None).map_or(1, |scheme| scheme.masks().len() as u64)
            }
            SchemeChoice::Auto { k, budget } => {
                let budget_len = budget.bytes_for(fingerprint_count, *k);
                let most = (budget_len / table_len.max(1) as f64).max(1.0) as u64;
                if most <= FEW_TABLES {
                    return most;
                }
                // The budget is only an upper limit: the plan may use fewer tables.
                let request = PlanRequest::new(fingerprint_count.max(1), *k);
                let plan = request.budget(*budget).choose();
                plan.map_or(most, |plan| most.min(plan.scheme.masks().len() as u64))
            }
        }
    }

    /// The scheme for a store of the fingerprints `distinct`.
    pub(super) fn for_values(&self, distinct: &SortedValues, threads: usize) -> Result<Scheme> {
        let mut sampler = Sampler::new(Sampler::CAPACITY);
        if matches!(self, SchemeChoice::Fixed(_)) {
            return self.resolve(distinct.count, sampler);
        }
        let push_all = |sampler: &mut Sampler, values: &[u64]| {
            values.iter().for_each(|&value| sampler.push(Fingerprint::new(value)));
        };
        if let Some(values) = distinct.whole() {
            let samplers = side_by_side(&Part::all(threads), |part| {
                let mut sampler = Sampler::new(Sampler::CAPACITY);
                push_all(&mut sampler, &values[part.of_len(values.len())]);
                Ok(sampler)
            })?;
            samplers.into_iter().for_each(|other| sampler.merge(other));
        } else {
            distinct.pass(|values| {
                push_all(&mut sampler, values);
                Ok::<(), Error>(())
            })?;
        }
        self.resolve(distinct.count, sampler)
    }

    /// The scheme for `fingerprint_count` distinct fingerprints, which `sampler` has received.
    pub(crate) fn resolve(&self, fingerprint_count: u64, sampler: Sampler) -> Result<Scheme> {
        match self {
            SchemeChoice::Fixed(scheme) => Ok(scheme.clone()),
            SchemeChoice::Named { name, k } => {
                let sample = sampler.finish().ok();
                let model = sample.map(|sample| SampleModel::new(&sample, fingerprint_count));
                scheme_by_name(name, fingerprint_count, *k, model.as_ref())
            }
            SchemeChoice::Auto { k, budget } => {
                // An empty store gets the tables for one fingerprint within the default budget.
                let budget = if fingerprint_count == 0 { &Budget::Default } else { budget };
                let request = PlanRequest::new(fingerprint_count.max(1), *k);
                let request = request.budget(*budget);
                // With too few fingerprints there is no sample: then the choice of the scheme
                // hardly matters.
                let request = request.sample(sampler.finish().ok());
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
    /// The fastest tables at distance [`DEFAULT_K`] within the default budget.
    fn default() -> Self {
        SchemeChoice::Auto { k: DEFAULT_K, budget: Budget::Default }
    }
}
