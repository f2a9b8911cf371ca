//! The plan of a segment for each distance, chosen once and cached.
//!
//! A reader plans from the header and from a few overflow entries of the prefix indexes, with fixed
//! unit costs, so every machine chooses the same plan for the same segment.

use std::sync::OnceLock;

use super::cut;
use super::density::{Crowding, Density};
use super::estimate::CostEstimate;
use super::probe::{SyndromeModel, TableModel, extra_len};
use super::radii::{AccessPath, PathPlan, PathPlanner};
use super::unit_costs::UnitCosts;
use crate::base::section::TableIndex;
use crate::bytes::fields::u64_at;
use crate::format::descriptor::TableDescriptor;
use crate::format::prefix_index::{BLOCKS_PER_ENTRY, OVERFLOW_ENTRY_LEN};
use crate::scheme::{Radius, combinations_up_to};
use crate::segment::{Segment, TableReader};

/// Maximum number of overflow entries of a table that are read for a plan.
const OVERFLOW_ENTRIES_READ: u64 = 64;

/// The plans of one segment, one for each distance, each made when it is first needed.
#[derive(Debug)]
pub(crate) struct PlanCache {
    by_k: Box<[OnceLock<PathPlan>]>,
}

impl PlanCache {
    pub(crate) fn new() -> Self {
        PlanCache { by_k: (0..=64).map(|_| OnceLock::new()).collect() }
    }

    /// The plan for distance `k`, which is at most 64.
    pub(crate) fn for_distance(&self, k: u32, segment: &Segment) -> &PathPlan {
        self.by_k[k as usize].get_or_init(|| {
            let masks: Vec<u64> =
                segment.header().tables.iter().map(|table| table.mask.0).collect();
            let costs = &UnitCosts::SHIPPED;
            PathPlanner { masks: &masks, tables: &models(segment), costs }.choose(k)
        })
    }
}

/// Models of the tables, derived from the header and from overflow entries, if there are any. No
/// other byte of a table is read for a plan.
fn models(segment: &Segment) -> Vec<TableModel> {
    let value_count = segment.header().fingerprint_count;
    let needed = cut::uniform_head_bits(value_count);
    let model = |table: TableReader<'_>| {
        let prefix_bits = table.permutation.prefix_bits();
        let (block_bits, head_bits) = (table.descriptor.block_bits, table.descriptor.head_bits());
        let crowding = crowding(table, value_count);
        TableModel {
            prefix_bits,
            block_bits,
            head_bits,
            value_count,
            hot_len: (table.entries.len + table.heads.len) as f64,
            extra_len: extra_len(table.heads.len as f64, value_count),
            density: Density::of_layout([prefix_bits, block_bits, head_bits], needed, crowding),
            syndromes: SyndromeModel::of(&table.descriptor),
        }
    };
    segment.tables().map(model).collect()
}

/// How unevenly the values of a table are distributed over its blocks, estimated from its overflow
/// entries: an index entry overflows if its blocks contain several times the mean number of values.
/// `None` if there are no overflow entries, or if they are damaged: queries report that.
fn crowding(table: TableReader<'_>, value_count: u64) -> Option<Crowding> {
    let n = value_count as f64;
    let overflow_count = table.overflow_entries.len / OVERFLOW_ENTRY_LEN;
    let step = overflow_count.div_ceil(OVERFLOW_ENTRIES_READ).max(1);
    let (mut held, mut entry_pairs, mut block_pairs) = (0.0, 0.0, 0.0);
    for number in (0..overflow_count).step_by(usize::try_from(step).ok()?) {
        let offset = number * OVERFLOW_ENTRY_LEN;
        let entry = table.bytes(&table.overflow_entries, offset, OVERFLOW_ENTRY_LEN).ok()?;
        let mut before = 0;
        for block in 0..BLOCKS_PER_ENTRY {
            let end = u64_at(entry, 16 * block as usize)?;
            block_pairs += (end.checked_sub(before)? as f64).powi(2) * step as f64;
            before = end;
        }
        held += before as f64 * step as f64;
        entry_pairs += (before as f64).powi(2) * step as f64;
    }
    if held == 0.0 {
        return None;
    }
    // The values in entries without overflow are taken as evenly distributed.
    let blocks = table.descriptor.block_count() as f64;
    let others = (n - held).max(0.0).powi(2) / blocks;
    let shared = |pairs: f64, cells: f64| ((pairs + others * cells) / n.powi(2)).min(1.0);
    Some(Crowding {
        in_entry: shared(entry_pairs, BLOCKS_PER_ENTRY as f64),
        in_block: shared(block_pairs, 1.0),
    })
}

/// How a segment answers queries for a distance, and the expected cost.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct Plan {
    /// The expected time with data in memory, in nanoseconds; microseconds in JSON.
    #[cfg_attr(
        feature = "serde",
        serde(rename = "expected_us", serialize_with = "crate::plan::serialize::micros")
    )]
    pub expected_nanos: f64,
    /// The expected steps of a query for a stored fingerprint.
    pub estimate: CostEstimate,
    /// The tables to read, and the method.
    #[cfg_attr(feature = "serde", serde(flatten))]
    pub path: PlanPath,
}

/// The tables that a query reads, and the method.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[cfg_attr(feature = "serde", serde(tag = "path", rename_all = "lowercase"))]
pub enum PlanPath {
    /// Probes tables, each within its radius.
    Probe {
        /// The probed tables.
        tables: Vec<TablePlan>,
    },
    /// Decodes one whole table, and compares every value.
    Scan {
        /// The table.
        table: TableIndex,
    },
}

/// How a [`Plan`] probes one table.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct TablePlan {
    /// The table.
    pub table: TableIndex,
    /// The mask of the table.
    #[cfg_attr(feature = "serde", serde(serialize_with = "crate::plan::serialize::mask"))]
    pub mask: u64,
    /// The number of flips inside the mask that a probe tolerates.
    pub radius: u32,
    /// The number of prefixes within the radius: the sum of C(prefix bits, i), i up to the radius.
    pub prefixes: f64,
}

impl Plan {
    pub(crate) fn new(plan: &PathPlan, tables: &[TableDescriptor]) -> Self {
        let path = match &plan.path {
            AccessPath::Scan { table } => {
                PlanPath::Scan { table: TableIndex(u16::try_from(*table).unwrap_or_default()) }
            }
            AccessPath::Probe { radii } => PlanPath::Probe {
                tables: (0..)
                    .zip(radii.iter().zip(tables))
                    .filter_map(|(number, (&radius, table))| table_plan(number, radius, table))
                    .collect(),
            },
        };
        Plan { expected_nanos: plan.expected_nanos, estimate: plan.estimate, path }
    }
}

fn table_plan(number: u16, radius: Radius, table: &TableDescriptor) -> Option<TablePlan> {
    let radius = radius?;
    Some(TablePlan {
        table: TableIndex(number),
        mask: table.mask.0,
        radius,
        prefixes: combinations_up_to(table.prefix_bits(), radius),
    })
}
