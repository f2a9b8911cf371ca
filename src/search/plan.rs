//! How a segment answers a distance: chosen once for each `k`, then remembered.

use std::sync::OnceLock;

use crate::format::header::{Header, TableDescriptor};
use crate::scheme::{
    Choice, Density, Effort, Radius, TableShape, Terms, UnitCosts, Way, combinations_up_to, cut,
};
use crate::section::{Section, TableIndex};

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
    pub(crate) fn for_distance(&self, k: u32, header: &Header) -> &Choice {
        self.by_k[k as usize].get_or_init(|| {
            let masks: Vec<u64> = header.tables.iter().map(|table| table.mask).collect();
            let costs = &UnitCosts::SHIPPED;
            Terms { masks: &masks, shapes: &shapes(header), costs }.choose(k)
        })
    }
}

/// What the header alone tells of the tables: nothing is read for a plan.
fn shapes(header: &Header) -> Vec<TableShape> {
    let value_count = header.fingerprint_count;
    let needed = cut::uniform_head_bits(value_count);
    let len = |section| header.place(section).map_or(0.0, |place| place.len as f64);
    let shape = |(table, descriptor): (TableIndex, &TableDescriptor)| TableShape {
        prefix_bits: descriptor.mask.count_ones(),
        block_bits: descriptor.block_bits,
        head_bits: descriptor.head_bits(),
        value_count,
        hot_len: len(Section::PrefixIndex(table)) + len(Section::Heads(table)),
        density: Density::from_heads(descriptor.head_bits(), needed),
    };
    (0..).map(TableIndex).zip(&header.tables).map(shape).collect()
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
