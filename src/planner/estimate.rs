//! What a scheme would cost for some data.

use std::cell::RefCell;
use std::collections::HashMap;

use crate::checksum::PAGE_LEN;
use crate::planner::candidates::Candidate;
use crate::planner::statistics::Statistics;
use crate::planner::table::TableEstimate;
use crate::scheme::{Density, Effort, Radius, Scheme, TableShape, Terms, UnitCosts, Way, cut};

/// What a store by some scheme is expected to take, and a query of it at the planned distance.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct SchemeEstimate {
    /// What to call it; not every name is one that [`Scheme::named`] takes.
    pub name: String,
    /// The masks, tuned for the planned distance.
    pub scheme: Scheme,
    /// The radius of each table; `None` if a pass over one table is cheaper than probing.
    pub radii: Option<Vec<Radius>>,
    /// The steps of a query for a fingerprint that is stored.
    pub effort: Effort,
    /// Candidates of a query for random bits.
    pub random_candidates: f64,
    /// Values in the largest group that shares a prefix, in the worst table: with the number of
    /// prefixes it bounds the worst query.
    pub largest_group: f64,
    /// Bytes that probes touch in no order: indexes and heads. These should be in memory.
    pub hot_len: f64,
    /// Bytes of all tables in the file, whole pages and their checksums; ids come on top.
    pub tables_len: f64,
    /// The same for each fingerprint.
    pub bytes_per_fingerprint: f64,
    /// Pages of 4 KiB that a query reads, if none is in memory.
    pub cold_pages: f64,
    /// Those among them that hold tails: what is read if indexes and heads are in memory.
    pub tail_pages: f64,
    /// Microseconds of a query with all data in memory, one thread.
    pub hot_micros: f64,
    /// Microseconds of a query with no data in memory.
    pub cold_micros: f64,
    /// Whether the tables fit the budget.
    pub within_budget: bool,
    /// Whether no other scheme is both smaller and faster.
    pub on_frontier: bool,
    /// Whether it is the one to take: the fastest within the budget.
    pub chosen: bool,
    /// Why it is chosen, or what speaks against it, in a few words.
    pub reason: String,
    /// Its place among the candidates: the plainer come first.
    pub(super) order: usize,
}

/// Estimates schemes for one collection.
pub(super) struct Estimator<'a> {
    pub(super) value_count: u64,
    pub(super) k: u32,
    pub(super) costs: &'a UnitCosts,
    pub(super) statistics: Option<&'a Statistics>,
    /// Schemes share masks, and trying one on a sample takes a millisecond.
    tables: RefCell<HashMap<u64, TableEstimate>>,
}

impl<'a> Estimator<'a> {
    pub(super) fn new(
        value_count: u64,
        k: u32,
        costs: &'a UnitCosts,
        statistics: Option<&'a Statistics>,
    ) -> Self {
        Estimator { value_count, k, costs, statistics, tables: RefCell::default() }
    }

    fn table(&self, mask: u64) -> TableEstimate {
        let mut tables = self.tables.borrow_mut();
        let make = || match self.statistics {
            Some(statistics) => statistics.table(mask),
            None => TableEstimate::uniform(mask.count_ones(), self.value_count),
        };
        tables.entry(mask).or_insert_with(make).clone()
    }

    /// The estimate, or `None` if the tables take more than `most` bytes.
    pub(super) fn estimate(&self, candidate: &Candidate, most: f64) -> Option<SchemeEstimate> {
        let mut tables_len = 0.0;
        let mut tables = Vec::with_capacity(candidate.masks.len());
        for &mask in &candidate.masks {
            let table = self.table(mask);
            tables_len += table.file_len;
            if tables_len > most {
                return None;
            }
            tables.push(table);
        }
        let scheme = Scheme::from_masks(candidate.masks.clone(), self.k).ok()?;
        let hot_len: f64 = tables.iter().map(|table| table.shape.hot_len).sum();
        let shapes: Vec<TableShape> = tables.iter().map(|table| table.shape.clone()).collect();
        let (masks, costs) = (scheme.masks(), self.costs);
        // A reader knows the header and the shipped costs alone when it chooses; what comes of
        // it is another matter.
        let needed = cut::uniform_head_bits(self.value_count);
        let read =
            |table: &TableEstimate| table.shape.as_read(table.heads_len, table.crowded, needed);
        let read: Vec<TableShape> = tables.iter().map(read).collect();
        let choice = Terms { masks, shapes: &read, costs: &UnitCosts::SHIPPED }.choose(self.k);
        let choice = Terms { masks, shapes: &shapes, costs }.price(choice.way, self.k);
        let all_len: f64 = tables.iter().map(|table| table.shape.hot_len + table.tails_len).sum();
        let (radii, random_candidates, largest_group, cold_pages, tail_pages) = match choice.way {
            Way::Scan { .. } => {
                let pages = (all_len / tables.len() as f64 / PAGE_LEN as f64).ceil();
                (None, 0.0, self.value_count as f64, pages, pages)
            }
            Way::Probe { radii } => {
                let played = || {
                    tables
                        .iter()
                        .zip(&radii)
                        .filter_map(|(table, radius)| Some((table, (*radius)?)))
                };
                let random = self.random_candidates(&shapes, &radii);
                let largest = played().map(|(table, _)| table.largest_group).fold(0.0, f64::max);
                let pages = played()
                    .map(|(table, radius)| {
                        let effort = table.shape.probe_effort(radius, self.k, 1.0);
                        table.shape.pages(&effort, radius)
                    })
                    .sum();
                let tails = choice.effort.candidates;
                (Some(radii), random, largest, pages, tails)
            }
        };
        Some(SchemeEstimate {
            name: candidate.name.clone(),
            radii,
            effort: choice.effort,
            random_candidates,
            largest_group,
            hot_len,
            tables_len,
            bytes_per_fingerprint: tables_len / self.value_count.max(1) as f64,
            cold_pages,
            tail_pages,
            hot_micros: choice.expected_nanos / 1000.0,
            cold_micros: (choice.expected_nanos + cold_pages * self.costs.cold_page) / 1000.0,
            within_budget: false,
            on_frontier: false,
            chosen: false,
            reason: String::new(),
            order: 0,
            scheme,
        })
    }

    /// Random bits meet all prefixes alike, however the values crowd.
    fn random_candidates(&self, shapes: &[TableShape], radii: &[Radius]) -> f64 {
        let uniform = Density::uniform();
        let candidates = shapes.iter().zip(radii).filter_map(|(shape, radius)| {
            let prefix = (shape.prefix_bits, (*radius)?);
            Some(uniform.within(prefix, (shape.head_bits, self.k), self.value_count as f64))
        });
        candidates.sum()
    }
}
