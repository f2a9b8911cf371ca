//! The contenders without a library: raw tables and the scan.

use std::rc::Rc;

use anyhow::Result;

use super::{Built, Cost, Index, Session, timed};
use crate::baseline::{Matches, RawBucketed};
use crate::near;
use crate::raw::{self, Bounds, Find, RawTables, Values};
use crate::set::Set;

/// The raw tables shared by the contenders of one case, built once, and the cost of building them.
#[derive(Default)]
pub struct Shared {
    values: Option<(Rc<Values>, Cost)>,
    bounds: Option<(Rc<Bounds>, Cost)>,
}

/// Searches four raw tables with the instruction set selected at run time. The tables are shared,
/// but each contender reports the whole size of its tables.
pub fn raw(
    name: &'static str,
    set: &Set,
    shared: &mut Shared,
    bounds: bool,
    ahead: bool,
) -> Result<Built> {
    if shared.values.is_none() {
        shared.values = Some(timed(|| Ok(Rc::new(raw::sort(&set.values))))?);
    }
    let (values, mut cost) = shared.values.clone().expect("it was just sorted");
    let mut find = Find::Search;
    if bounds {
        if shared.bounds.is_none() {
            shared.bounds = Some(timed(|| Ok(Rc::new(raw::bound(&values))))?);
        }
        let (bounds, more) = shared.bounds.clone().expect("it was just counted");
        find = Find::Bounds(bounds);
        cost.seconds += more.seconds;
        cost.bytes += more.bytes;
        cost.resident = cost.resident.zip(more.resident).map(|(a, b)| a + b);
    }
    let tables = RawTables { values, find, ahead };
    let find = if bounds { "16-bit direct buckets" } else { "binary search" };
    let reading = if ahead { ", all buckets read ahead" } else { "" };
    Ok(Built {
        name,
        settings: format!("four sorted tables, {find}{reading}, {}", near::instructions()),
        index: Box::new(tables),
        bytes: cost.bytes,
        resident_bytes: cost.resident,
        build_seconds: cost.seconds,
        open_seconds: None,
    })
}

/// The baseline of `benches/store`, unchanged.
pub fn baseline(set: &Set) -> Result<Built> {
    let (tables, cost) = timed(|| Ok(RawBucketed::new(&set.values)))?;
    Ok(Built {
        name: "raw-baseline",
        settings: "benches/baseline: as raw-ahead, safe code for any x86-64, matches sorted".into(),
        index: Box::new(tables),
        bytes: cost.bytes,
        resident_bytes: cost.resident,
        build_seconds: cost.seconds,
        open_seconds: None,
    })
}

/// A linear scan.
pub fn scan(set: &Set, k: u32) -> Result<Built> {
    let (values, cost) = timed(|| Ok(set.values.clone()))?;
    Ok(Built {
        name: "scan",
        settings: format!("every value, {}", near::instructions()),
        index: Box::new(Scan { values, k }),
        bytes: cost.bytes,
        resident_bytes: cost.resident,
        build_seconds: cost.seconds,
        open_seconds: None,
    })
}

struct Scan {
    values: Vec<u64>,
    k: u32,
}

impl Index for Scan {
    fn session(&self) -> Box<dyn Session + '_> {
        Box::new(Asking {
            found: Vec::new(),
            search: |needle: u64, found: &mut Vec<u64>| {
                found.clear();
                near::scan(&self.values, needle, self.k, found);
            },
        })
    }
}

impl Index for RawTables {
    fn session(&self) -> Box<dyn Session + '_> {
        let search = |needle: u64, found: &mut Vec<u64>| self.search(needle, found);
        Box::new(Asking { found: Vec::new(), search })
    }
}

/// A session that calls a closure, which replaces the contents of a vector by the answer.
struct Asking<F> {
    found: Vec<u64>,
    search: F,
}

impl<F: Fn(u64, &mut Vec<u64>)> Session for Asking<F> {
    fn ask(&mut self, needle: u64) -> usize {
        (self.search)(needle, &mut self.found);
        self.found.len()
    }

    fn values(&mut self, needle: u64, found: &mut Vec<u64>) {
        self.ask(needle);
        found.extend(&self.found);
    }
}

impl Index for RawBucketed {
    fn session(&self) -> Box<dyn Session + '_> {
        Box::new(Bucketed { tables: self, matches: Matches::new() })
    }
}

struct Bucketed<'a> {
    tables: &'a RawBucketed,
    matches: Matches,
}

impl Session for Bucketed<'_> {
    fn ask(&mut self, needle: u64) -> usize {
        self.tables.search(needle, &mut self.matches);
        self.matches.len()
    }

    fn values(&mut self, needle: u64, found: &mut Vec<u64>) {
        self.ask(needle);
        found.extend(self.matches.iter().map(|(_, value)| value));
    }
}
