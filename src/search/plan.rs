//! How a segment answers a distance: chosen once for each `k`, then remembered.

use std::sync::OnceLock;

use crate::bytes::u64_at;
use crate::format::header::TableDescriptor;
use crate::format::prefix_index::{BLOCKS_PER_LINE, WIDE_LINE_LEN};
use crate::scheme::{
    Choice, Crowded, Density, Effort, Radius, TableShape, Terms, UnitCosts, Way,
    combinations_up_to, cut, extra_len,
};
use crate::section::TableIndex;
use crate::segment::{Mapped, Table};

/// Wide lines that are read for a plan, in each table.
const WIDE_LINES_READ: u64 = 64;

/// The choices of one segment, one for each distance, made when first asked for.
#[derive(Debug)]
pub(crate) struct Choices {
    by_k: Box<[OnceLock<Choice>]>,
}

impl Choices {
    pub(crate) fn new() -> Self {
        Choices { by_k: (0..=64).map(|_| OnceLock::new()).collect() }
    }

    /// The choice for `k`, which is at most 64.
    pub(crate) fn for_distance(&self, k: u32, segment: &Mapped) -> &Choice {
        self.by_k[k as usize].get_or_init(|| {
            let masks: Vec<u64> = segment.header().tables.iter().map(|table| table.mask).collect();
            let costs = &UnitCosts::SHIPPED;
            Terms { masks: &masks, shapes: &shapes(segment), costs }.choose(k)
        })
    }
}

/// What the header tells of the tables, and wide lines where there are any; no other byte of
/// tables is read for a plan.
fn shapes(segment: &Mapped) -> Vec<TableShape> {
    let value_count = segment.header().fingerprint_count;
    let needed = cut::uniform_head_bits(value_count);
    let shape = |table: &Table| {
        let prefix_bits = table.permutation.prefix_bits();
        let (block_bits, head_bits) = (table.descriptor.block_bits, table.descriptor.head_bits());
        let crowded = crowded(segment, table);
        TableShape {
            prefix_bits,
            block_bits,
            head_bits,
            value_count,
            hot_len: (table.lines.len + table.heads.len) as f64,
            extra_len: extra_len(table.heads.len as f64, value_count),
            density: Density::of_cut((prefix_bits, block_bits, head_bits), needed, crowded),
        }
    };
    segment.tables().iter().map(shape).collect()
}

/// How crowded the blocks of wide lines are: lines turn wide where blocks hold several times
/// their share. `None` if there are none; and if they are damaged, which queries will find.
fn crowded(segment: &Mapped, table: &Table) -> Option<Crowded> {
    let n = segment.header().fingerprint_count as f64;
    let wide_count = table.wide_lines.len / WIDE_LINE_LEN;
    let step = wide_count.div_ceil(WIDE_LINES_READ).max(1);
    let (mut held, mut line_pairs, mut block_pairs) = (0.0, 0.0, 0.0);
    for number in (0..wide_count).step_by(usize::try_from(step).ok()?) {
        let offset = number * WIDE_LINE_LEN;
        let line = segment.bytes(&table.wide_lines, offset, WIDE_LINE_LEN, &mut 0).ok()?;
        let mut before = 0;
        for block in 0..BLOCKS_PER_LINE {
            let end = u64_at(line, 16 * block as usize)?;
            block_pairs += (end.checked_sub(before)? as f64).powi(2) * step as f64;
            before = end;
        }
        held += before as f64 * step as f64;
        line_pairs += (before as f64).powi(2) * step as f64;
    }
    if held == 0.0 {
        return None;
    }
    // The others are spread evenly over the other lines.
    let blocks = table.descriptor.block_count() as f64;
    let others = (n - held).max(0.0).powi(2) / blocks;
    let shared = |pairs: f64, cells: f64| ((pairs + others * cells) / n.powi(2)).min(1.0);
    Some(Crowded {
        in_line: shared(line_pairs, BLOCKS_PER_LINE as f64),
        in_block: shared(block_pairs, 1.0),
    })
}

/// How a segment answers a distance, for people who ask.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Plan {
    /// Some tables are probed, each within its radius.
    Probe {
        /// The tables that take part.
        tables: Vec<TablePlan>,
        /// What the cost model expects with data in memory, in nanoseconds.
        expected_nanos: f64,
        /// The steps of a query for a stored fingerprint, as the cost model expects them.
        effort: Effort,
    },
    /// One table is decoded whole and every value compared.
    Scan {
        /// The table.
        table: TableIndex,
        /// What the cost model expects with data in memory, in nanoseconds.
        expected_nanos: f64,
        /// The steps of a query for a stored fingerprint, as the cost model expects them.
        effort: Effort,
    },
}

/// The part of one table in a [`Plan`].
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct TablePlan {
    /// The table.
    pub table: TableIndex,
    /// The bits that lead in it.
    pub mask: u64,
    /// How many flips inside the mask a probe forgives.
    pub radius: u32,
    /// How many prefixes that are: the sum of C(prefix bits, i) for i up to the radius.
    pub prefixes: f64,
}

impl Plan {
    pub(crate) fn new(choice: &Choice, tables: &[TableDescriptor]) -> Self {
        let (expected_nanos, effort) = (choice.expected_nanos, choice.effort);
        match &choice.way {
            Way::Scan { table } => Plan::Scan {
                table: TableIndex(u16::try_from(*table).unwrap_or_default()),
                expected_nanos,
                effort,
            },
            Way::Probe { radii } => Plan::Probe {
                tables: (0..)
                    .zip(radii.iter().zip(tables))
                    .filter_map(|(number, (&radius, table))| part(number, radius, table))
                    .collect(),
                expected_nanos,
                effort,
            },
        }
    }
}

fn part(number: u16, radius: Radius, table: &TableDescriptor) -> Option<TablePlan> {
    let radius = radius?;
    Some(TablePlan {
        table: TableIndex(number),
        mask: table.mask,
        radius,
        prefixes: combinations_up_to(table.mask.count_ones(), radius),
    })
}
