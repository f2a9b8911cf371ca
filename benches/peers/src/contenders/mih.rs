//! `mih-rs`: multi-index hashing over sparse hash tables (Norouzi, Punjani and Fleet), in memory.

use std::fs::File;
use std::io::{BufReader, BufWriter, Write};
use std::path::Path;
use std::time::Instant;

use anyhow::{Context, Result};
use mih_rs::Index as MihIndex;
use mih_rs::index::RangeSearcher;

use super::{Built, Index, Session, timed};
use crate::set::Set;

const BUFFER_LEN: usize = 1 << 20;

struct Mih {
    index: MihIndex<u64>,
    k: u32,
}

/// Builds an index of `blocks` blocks, writes it to a file and reads it back; both are timed.
/// Queries use the index that was read, so that there are never two indexes in memory.
///
/// The index gets the values in ascending order, which is its best case: values with the same
/// leading block are then adjacent.
pub fn build(name: &'static str, blocks: usize, set: &Set, k: u32, folder: &Path) -> Result<Built> {
    let (index, cost) = timed(|| {
        let mut values = set.values.clone();
        values.sort_unstable();
        MihIndex::with_blocks(values, blocks)
    })?;
    let path = folder.join(name);
    let mut writer = BufWriter::with_capacity(BUFFER_LEN, File::create(&path)?);
    index.serialize_into(&mut writer)?;
    writer.flush().with_context(|| path.display().to_string())?;
    drop((writer, index));
    let start = Instant::now();
    let reader = BufReader::with_capacity(BUFFER_LEN, File::open(&path)?);
    let index = MihIndex::<u64>::deserialize_from(reader)?;
    let open_seconds = start.elapsed().as_secs_f64();
    std::fs::remove_file(&path)?;
    Ok(Built {
        name,
        settings: format!("{blocks} blocks, range search, values in order"),
        index: Box::new(Mih { index, k }),
        bytes: cost.bytes,
        resident_bytes: cost.resident,
        build_seconds: cost.seconds,
        open_seconds: Some(open_seconds),
    })
}

impl Index for Mih {
    fn session(&self) -> Box<dyn Session + '_> {
        Box::new(Asking { mih: self, searcher: self.index.range_searcher() })
    }
}

struct Asking<'a> {
    mih: &'a Mih,
    searcher: RangeSearcher<'a, u64>,
}

impl Session for Asking<'_> {
    fn ask(&mut self, needle: u64) -> usize {
        self.searcher.run(needle, self.mih.k as usize).len()
    }

    fn values(&mut self, needle: u64, found: &mut Vec<u64>) {
        let codes = self.mih.index.codes();
        let ids = self.searcher.run(needle, self.mih.k as usize);
        found.extend(ids.iter().map(|id| codes[*id as usize]));
    }
}
