//! The estimate of a scheme for given data: the length of its tables and the cost of queries.

use std::cell::RefCell;
use std::collections::HashMap;

use crate::bytes::checksum::PAGE_LEN;
use crate::plan::candidates::Candidate;
use crate::plan::cut;
use crate::plan::density::Density;
use crate::plan::estimate::CostEstimate;
use crate::plan::probe::TableModel;
use crate::plan::radii::{AccessPath, PathPlan, PathPlanner};
use crate::plan::sample_model::SampleModel;
use crate::plan::table::TableEstimate;
use crate::plan::unit_costs::UnitCosts;
use crate::scheme::{Radius, Scheme};

/// The expected length of the tables of a scheme, and the cost of queries for the planned distance.
#[derive(Clone, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct SchemeEstimate {
    /// The name of the scheme. `SchemeChoice::named` accepts a name made by the planner.
    pub name: String,
    /// The masks, tuned for the planned distance.
    #[cfg_attr(
        feature = "serde",
        serde(rename = "masks", serialize_with = "crate::plan::serialize::masks")
    )]
    pub scheme: Scheme,
    /// The radius of each table; `None` if a scan of one table is cheaper than probing.
    pub radii: Option<Vec<Radius>>,
    /// The expected steps of a query for a stored fingerprint.
    #[cfg_attr(feature = "serde", serde(flatten))]
    pub estimate: CostEstimate,
    /// The expected number of candidates of a query for a random fingerprint.
    pub random_candidates: f64,
    /// Number of values in the largest prefix group of a probed table. Multiplied by the number of
    /// prefixes within the radii, it bounds the candidates of a query.
    pub largest_group: f64,
    /// Bytes that probes read in random order: indexes and heads. They should be in memory.
    pub hot_len: f64,
    /// Bytes of all tables in the file, without ids: whole pages and their checksums.
    pub tables_len: f64,
    /// [`tables_len`](Self::tables_len) divided by the number of fingerprints.
    pub bytes_per_fingerprint: f64,
    /// Number of pages of 4 KiB that a query reads if no page is in memory.
    pub cold_pages: f64,
    /// Number of pages of tails in `cold_pages`: a query reads them even if indexes and heads are
    /// in memory.
    pub tail_pages: f64,
    /// Microseconds of a query on one thread with all data in memory.
    pub hot_micros: f64,
    /// Microseconds of a query on one thread with no data in memory.
    pub cold_micros: f64,
    /// Whether `tables_len` is within the budget.
    pub within_budget: bool,
    /// Whether no other scheme is both smaller and faster (the Pareto front).
    pub on_frontier: bool,
    /// Whether the planner chose this scheme: it is the fastest within the budget, or nearly as
    /// fast and smaller.
    pub chosen: bool,
    /// The reason for or against this scheme, in a few words.
    pub reason: String,
    /// The position of the scheme in the list of candidates, simpler schemes first.
    #[cfg_attr(feature = "serde", serde(skip))]
    pub(super) order: usize,
}

/// Estimates schemes for one collection.
pub(super) struct Estimator<'a> {
    pub(super) value_count: u64,
    pub(super) k: u32,
    pub(super) model: Option<&'a SampleModel>,
    /// Cache by mask: schemes share masks, and estimating a table from a sample takes a
    /// millisecond.
    tables: RefCell<HashMap<u64, TableEstimate>>,
}

impl<'a> Estimator<'a> {
    pub(super) fn new(value_count: u64, k: u32, model: Option<&'a SampleModel>) -> Self {
        Estimator { value_count, k, model, tables: RefCell::default() }
    }

    fn table(&self, mask: u64) -> TableEstimate {
        let mut tables = self.tables.borrow_mut();
        let make = || match self.model {
            Some(model) => model.table(mask),
            None => TableEstimate::uniform(mask.count_ones(), self.value_count),
        };
        tables.entry(mask).or_insert_with(make).clone()
    }

    /// The estimate of a scheme, or `None` if its tables take more than `most` bytes.
    pub(super) fn estimate(&self, candidate: &Candidate, most: f64) -> Option<SchemeEstimate> {
        let mut tables_len = 0.0;
        let mut tables = Vec::with_capacity(candidate.masks.len());
        for (number, &mask) in candidate.masks.iter().enumerate() {
            let bits = if number == 0 { 0 } else { candidate.syndrome_bits };
            let table = self.table(mask).with_syndromes(mask, bits);
            tables_len += table.file_len;
            if tables_len > most {
                return None;
            }
            tables.push(table);
        }
        let scheme = Scheme::from_masks(candidate.masks.clone(), self.k).ok()?;
        let scheme = scheme.with_syndromes(candidate.syndrome_bits).ok()?;
        let plan = self.path_plan(&scheme, &tables);
        let usage = self.usage(&plan, &tables);
        let n = self.value_count.max(1) as f64;
        let cold_nanos = plan.expected_nanos + usage.cold_pages * UnitCosts::SHIPPED.cold_page;
        Some(SchemeEstimate {
            name: candidate.name.clone(),
            radii: match plan.path {
                AccessPath::Probe { radii } => Some(radii),
                AccessPath::Scan { .. } => None,
            },
            estimate: plan.estimate,
            random_candidates: usage.random_candidates,
            largest_group: usage.largest_group,
            hot_len: tables.iter().map(|table| table.model.hot_len).sum(),
            tables_len,
            bytes_per_fingerprint: tables_len / n,
            cold_pages: usage.cold_pages,
            tail_pages: usage.tail_pages,
            hot_micros: plan.expected_nanos / 1000.0,
            cold_micros: cold_nanos / 1000.0,
            within_budget: false,
            on_frontier: false,
            chosen: false,
            reason: String::new(),
            order: 0,
            scheme,
        })
    }

    /// The access path that a reader will choose from the header alone. Its cost is computed with
    /// the full model of the data.
    fn path_plan(&self, scheme: &Scheme, tables: &[TableEstimate]) -> PathPlan {
        let needed = cut::uniform_head_bits(self.value_count);
        let read =
            |table: &TableEstimate| table.model.as_read(table.heads_len, table.crowded, needed);
        let read: Vec<TableModel> = tables.iter().map(read).collect();
        let models: Vec<TableModel> = tables.iter().map(|table| table.model.clone()).collect();
        let masks = scheme.masks();
        let costs = &UnitCosts::SHIPPED;
        let reader = PathPlanner { masks, tables: &read, costs };
        let planner = PathPlanner { masks, tables: &models, costs };
        planner.price(reader.choose(self.k).path, self.k)
    }

    /// The candidates and pages that a query with this plan reads, and the largest prefix group.
    fn usage(&self, plan: &PathPlan, tables: &[TableEstimate]) -> Usage {
        let radii = match &plan.path {
            AccessPath::Probe { radii } => radii,
            AccessPath::Scan { .. } => {
                let of_table = |table: &TableEstimate| table.model.hot_len + table.tails_len;
                let all_len: f64 = tables.iter().map(of_table).sum();
                let pages = (all_len / tables.len() as f64 / PAGE_LEN as f64).ceil();
                return Usage {
                    random_candidates: 0.0,
                    largest_group: self.value_count as f64,
                    cold_pages: pages,
                    tail_pages: pages,
                };
            }
        };
        let probed = || {
            let with_radius = tables.iter().zip(radii);
            with_radius.filter_map(|(table, radius)| Some((table, (*radius)?)))
        };
        let pages = |(table, radius): (&TableEstimate, u32)| {
            table.model.pages(&table.model.probe(radius, self.k, 1.0), radius)
        };
        // However the values are distributed, a random query has the same expected candidates.
        let uniform = Density::uniform();
        let random = |(table, radius): (&TableEstimate, u32)| {
            let (prefix, head) =
                ([table.model.prefix_bits, radius], [table.model.head_bits, self.k]);
            uniform.within(prefix, head, self.value_count as f64)
        };
        Usage {
            random_candidates: probed().map(random).sum(),
            largest_group: probed().map(|(table, _)| table.largest_group).fold(0.0, f64::max),
            cold_pages: probed().map(pages).sum(),
            tail_pages: plan.estimate.candidates + plan.estimate.look_ups,
        }
    }
}

/// The fields of the same names in [`SchemeEstimate`], where they are explained.
struct Usage {
    random_candidates: f64,
    largest_group: f64,
    cold_pages: f64,
    tail_pages: f64,
}
