//! Verifying the prefix index of a table against its blocks.

use crate::base::error::{Error, Fault, Result};
use crate::base::section::BlockIndex;
use crate::format::prefix_index::{
    self, BLOCKS_PER_ENTRY, BlockSpan, ENTRY_LEN, IndexEntry, OVERFLOW_ENTRY_LEN,
};
use crate::segment::TableReader;
use crate::store::verify::pace::Pace;

/// The index entries place all blocks one after the other, without gaps, up to the last of
/// `value_count` values, and every block keeps its own rules.
pub(super) fn verify(table: TableReader<'_>, value_count: u64, pace: &Pace) -> Result<()> {
    let broken = |offset: u64, detail: &str| -> Error {
        table.corrupt(&table.entries, offset, Fault::rule(15, detail))
    };
    let mut last = BlockSpan::default();
    let mut overflow_count = 0;
    let block_count = table.descriptor.block_count();
    for first in (0..block_count).step_by(BLOCKS_PER_ENTRY as usize) {
        let offset = prefix_index::entry_offset(BlockIndex(first));
        let heads_before = last.heads_end;
        let bytes = table.bytes(&table.entries, offset, ENTRY_LEN)?;
        let entry = IndexEntry::read(bytes)
            .map_err(|fault| table.corrupt(&table.entries, offset, fault))?;
        if (entry.heads_base, entry.rank_base) != (last.heads_end, last.rank_end) {
            return Err(broken(offset, "index entry does not start where the last one ends"));
        }
        if let Some(number) = entry.overflow {
            let unused = bytes.get(24..).unwrap_or_default();
            if number != overflow_count || unused.iter().any(|&byte| byte != 0) {
                let detail = "overflow entry out of order, or reserved bytes not zero";
                return Err(broken(offset, detail));
            }
            overflow_count += 1;
        }
        for block in (first..first + BLOCKS_PER_ENTRY).map(BlockIndex) {
            let span = table.span(block)?;
            if (span.heads_start, span.rank_start) != (last.heads_end, last.rank_end) {
                return Err(broken(offset, "blocks leave a gap"));
            }
            last = span;
            if block.0 >= block_count {
                if span.value_count() > 0 {
                    return Err(broken(offset, "block beyond the last one is not empty"));
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
            return Err(broken(offset, "overflow entry without need, or the reverse"));
        }
    }
    if last.rank_end != value_count || last.heads_end != table.heads.len {
        return Err(broken(0, "blocks end before or after the last value"));
    }
    if overflow_count * OVERFLOW_ENTRY_LEN != table.overflow_entries.len {
        return Err(broken(0, "more overflow entries than index entries that refer to them"));
    }
    Ok(())
}
