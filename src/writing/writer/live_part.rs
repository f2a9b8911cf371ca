//! The live records of some blocks of the first table of a segment, read independently of other
//! blocks.

use std::ops::Range;

use crate::base::error::Result;
use crate::base::section::{BlockIndex, Rank};
use crate::bytes::permutation::Permuted;
use crate::search::snapshot::OpenSegment;
use crate::segment::{Records, WholeTable};
use crate::writing::sort::RecordBatch;
use fpstore_base::{Fingerprint, IdRef};

/// The approximate number of values of a part.
pub(super) const PART_COUNT: u64 = if cfg!(test) { 64 } else { 1 << 13 };
/// The maximum number of values of a part, and the maximum length of their ids in bytes.
const COUNT_MAX: u64 = 4 * PART_COUNT;
const IDS_LEN_MAX: u64 = if cfg!(test) { 1 << 9 } else { 1 << 18 };

/// A part of a segment: the live records of some consecutive blocks of the first table of the
/// segment.
pub(super) struct LivePart {
    pub(super) records: RecordBatch,
    /// The ranks of the values, deleted ones included, and the last value, if there is one.
    pub(super) ranks: Range<u64>,
    pub(super) last: Option<u64>,
}

impl LivePart {
    /// Reads one or more blocks, and shortens sketches to `sketch_len` bytes. `None` if there are
    /// too many records for the memory.
    pub(super) fn read(
        open: &OpenSegment,
        blocks: Range<BlockIndex>,
        sketch_len: usize,
    ) -> Result<Option<Self>> {
        let Some(table) = open.segment.first_table() else { return Ok(None) };
        let start = table.span(blocks.start)?.rank_start;
        let end = table.span(BlockIndex(blocks.end.0 - 1))?.rank_end;
        let mut records = open.segment.records();
        let is_too_much = |count: u64, ids_len: u64| count > COUNT_MAX || ids_len > IDS_LEN_MAX;
        if start > end || is_too_much(end - start, records.len_of(start..end)?) {
            return Ok(None);
        }
        let mut part = LivePart { records: RecordBatch::default(), ranks: start..end, last: None };
        let mut values = table.values_of(blocks)?;
        while let Some((rank, run)) = values.next_run()? {
            part.last = run.last().copied().or(part.last);
            for_each_live(open, table, (rank, run), &mut records, |fingerprint, id| {
                match id {
                    Some((id, sketch)) => {
                        let sketch = sketch.get(..sketch_len).unwrap_or(sketch);
                        part.records.push_sketched(fingerprint.value(), id, sketch);
                    }
                    None => part.records.push_bare(fingerprint.value()),
                }
                Ok(())
            })?;
        }
        Ok(Some(part))
    }
}

/// Calls `each` with the live records of some values: once for each id with its sketch, or once for
/// a fingerprint without ids.
pub(super) fn for_each_live(
    open: &OpenSegment,
    table: WholeTable<'_>,
    (first, values): (Rank, &[u64]),
    records: &mut Records<'_>,
    mut each: impl FnMut(Fingerprint, Option<(IdRef<'_>, &[u8])>) -> Result<()>,
) -> Result<()> {
    records.go_to(first)?;
    for (rank, &value) in (first.0..).map(Rank).zip(values) {
        let record = records.next()?;
        if open.is_deleted(rank) {
            continue;
        }
        let fingerprint = table.permutation.invert(Permuted(value));
        let mut is_bare = true;
        if let Some((_, record)) = record {
            let mut ids = open.live_ids(rank, record);
            while let Some(id) = ids.next().map_err(|fault| open.id_fault(fault))? {
                is_bare = false;
                each(fingerprint, Some((id, ids.sketch())))?;
            }
        }
        if is_bare {
            each(fingerprint, None)?;
        }
    }
    Ok(())
}
