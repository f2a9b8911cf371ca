//! The SimHash index of `gaoya`: hash tables over combinations of blocks.

use ::gaoya::simhash::SimHashIndex;
use anyhow::Result;

use super::{Built, Index, Session, timed};
use crate::set::Set;

struct Gaoya {
    index: SimHashIndex<u64, u32>,
    values: Vec<u64>,
}

/// Builds an index of all combinations of `blocks - k - 1` of `blocks` blocks.
///
/// The distance limit of the index is exclusive, so the index is built with `k + 1`: its answers
/// are then exact, but its tables are those for `k + 1` flips.
pub fn build(name: &'static str, blocks: usize, set: &Set, k: u32) -> Result<Built> {
    let distance = k as usize + 1;
    let (index, cost) = timed(|| {
        let mut index = SimHashIndex::new(blocks, distance);
        for (id, value) in set.values.iter().enumerate() {
            index.insert(id as u32, *value);
        }
        Ok(index)
    })?;
    Ok(Built {
        name,
        settings: format!("{blocks} blocks, distance {distance}: it takes what is below"),
        index: Box::new(Gaoya { index, values: set.values.clone() }),
        bytes: cost.bytes,
        resident_bytes: cost.resident,
        build_seconds: cost.seconds,
        open_seconds: None,
    })
}

impl Index for Gaoya {
    fn session(&self) -> Box<dyn Session + '_> {
        Box::new(Asking { gaoya: self })
    }
}

struct Asking<'a> {
    gaoya: &'a Gaoya,
}

impl Session for Asking<'_> {
    fn ask(&mut self, needle: u64) -> usize {
        self.gaoya.index.query(&needle).len()
    }

    fn values(&mut self, needle: u64, found: &mut Vec<u64>) {
        let ids = self.gaoya.index.query(&needle);
        found.extend(ids.into_iter().map(|id| self.gaoya.values[*id as usize]));
    }
}
