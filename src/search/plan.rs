//! How a segment answers a distance: chosen once for each `k`, then remembered.

use std::sync::OnceLock;

use crate::format::header::TableDescriptor;
use crate::scheme::{Choice, Radius, TableShape, choose_radii, combinations_up_to};
use crate::section::TableIndex;

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
    pub(crate) fn for_distance(
        &self,
        k: u32,
        tables: &[TableDescriptor],
        value_count: u64,
    ) -> &Choice {
        self.by_k[k as usize].get_or_init(|| {
            let masks: Vec<u64> = tables.iter().map(|table| table.mask).collect();
            choose_radii(&masks, &shapes(tables, value_count), k)
        })
    }
}

fn shapes(tables: &[TableDescriptor], value_count: u64) -> Vec<TableShape> {
    let shape = |table: &TableDescriptor| TableShape {
        prefix_bits: table.mask.count_ones(),
        block_bits: table.block_bits,
        value_count,
    };
    tables.iter().map(shape).collect()
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
    },
    /// One table is decoded whole and every value compared.
    Scan {
        /// The table.
        table: TableIndex,
        /// What the cost model expects with data in memory, in nanoseconds.
        expected_nanos: f64,
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
        match choice {
            Choice::Scan { table, expected_nanos } => Plan::Scan {
                table: TableIndex(u16::try_from(*table).unwrap_or_default()),
                expected_nanos: *expected_nanos,
            },
            Choice::Probe { radii, expected_nanos } => Plan::Probe {
                tables: (0..)
                    .zip(radii.iter().zip(tables))
                    .filter_map(|(number, (&radius, table))| part(number, radius, table))
                    .collect(),
                expected_nanos: *expected_nanos,
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
