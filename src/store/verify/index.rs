//! Verifying the prefix index of a table against its blocks.

use std::ops::Range;

use crate::base::error::{Error, Fault, Result};
use crate::base::section::BlockIndex;
use crate::format::prefix_index::{
    self, BLOCKS_PER_ENTRY, BlockSpan, ENTRY_LEN, IndexEntry, OVERFLOW_ENTRY_LEN,
};
use crate::segment::{Segment, TableReader};
use crate::store::verify::pace::Pace;

/// The minimum number of index entries that one thread verifies.
const ENTRIES_MIN: u64 = if cfg!(test) { 2 } else { 1 << 12 };

/// The result of verifying one part of the index, to be compared with the next part.
#[derive(Default)]
struct Checked {
    /// The numbers of the overflow entries, and the offset of the first index entry that refers to
    /// one.
    overflow: Option<(Range<u64>, u64)>,
    last: BlockSpan,
}

/// Checks that the index entries place all blocks one after the other, without gaps, up to the last
/// value, and that every block is valid.
pub(super) fn verify(segment: &Segment, table: TableReader<'_>, pace: &Pace) -> Result<()> {
    let entry_count = table.descriptor.block_count().div_ceil(BLOCKS_PER_ENTRY);
    let number = usize::from(table.index.0);
    let parts = pace.in_parts(entry_count, ENTRIES_MIN, |part| match segment.table(number) {
        Some(table) => verify_entries(table, part.of(0..entry_count), pace),
        None => Ok(Checked::default()),
    })?;
    let mut overflow_count = 0;
    let mut last = BlockSpan::default();
    for part in parts {
        last = part.last;
        let Some((numbers, offset)) = part.overflow else { continue };
        if numbers.start != overflow_count {
            return Err(overflow_out_of_order(table, offset));
        }
        overflow_count = numbers.end;
    }
    if last.rank_end != segment.header().fingerprint_count || last.heads_end != table.heads.len {
        return Err(broken(table, 0, "the blocks end before or after the last value"));
    }
    if overflow_count * OVERFLOW_ENTRY_LEN != table.overflow_entries.len {
        let detail = "there are more overflow entries than index entries that refer to them";
        return Err(broken(table, 0, detail));
    }
    Ok(())
}

fn broken(table: TableReader<'_>, offset: u64, detail: &str) -> Error {
    table.corrupt(&table.entries, offset, Fault::rule(15, detail))
}

fn overflow_out_of_order(table: TableReader<'_>, offset: u64) -> Error {
    broken(table, offset, "an overflow entry is out of order, or its reserved bytes are not zero")
}

/// Verifies some index entries and their blocks. The first entry must start where the preceding one
/// ends.
fn verify_entries(table: TableReader<'_>, entries: Range<u64>, pace: &Pace) -> Result<Checked> {
    let block_count = table.descriptor.block_count();
    let mut last = match (entries.start * BLOCKS_PER_ENTRY).checked_sub(1) {
        None => BlockSpan::default(),
        Some(before) => table.span(BlockIndex(before))?,
    };
    let mut overflow: Option<(Range<u64>, u64)> = None;
    for first in entries.map(|entry| entry * BLOCKS_PER_ENTRY) {
        let offset = prefix_index::entry_offset(BlockIndex(first));
        let heads_before = last.heads_end;
        let bytes = table.bytes(&table.entries, offset, ENTRY_LEN)?;
        let entry = IndexEntry::read(bytes)
            .map_err(|fault| table.corrupt(&table.entries, offset, fault))?;
        if (entry.heads_base, entry.rank_base) != (last.heads_end, last.rank_end) {
            let detail = "an index entry does not start where the entry before it ends";
            return Err(broken(table, offset, detail));
        }
        if let Some(number) = entry.overflow {
            let unused = bytes.get(24..).unwrap_or_default();
            let (numbers, _) = overflow.get_or_insert((number..number, offset));
            if number != numbers.end || unused.iter().any(|&byte| byte != 0) {
                return Err(overflow_out_of_order(table, offset));
            }
            numbers.end += 1;
        }
        for block in (first..first + BLOCKS_PER_ENTRY).map(BlockIndex) {
            let span = table.span(block)?;
            if (span.heads_start, span.rank_start) != (last.heads_end, last.rank_end) {
                return Err(broken(table, offset, "there is a gap between blocks"));
            }
            last = span;
            if block.0 >= block_count {
                if span.value_count() > 0 {
                    return Err(broken(table, offset, "a block after the last one is not empty"));
                }
                continue;
            }
            table
                .block(block, &span)?
                .check(table.last_head(block))
                .map_err(|fault| table.corrupt(&table.heads, span.heads_start, fault))?;
        }
        pace.spend(ENTRY_LEN + last.heads_end.saturating_sub(heads_before))?;
        if entry.needs_overflow(&last) != entry.overflow.is_some() {
            return Err(broken(table, offset, "an overflow entry is missing or needless"));
        }
    }
    Ok(Checked { overflow, last })
}
