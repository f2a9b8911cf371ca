//! Verifying the prefix index of a table against its blocks.

use crate::error::{Error, Fault, Result};
use crate::format::prefix_index::{
    self, BLOCKS_PER_LINE, BlockSpan, LINE_LEN, Line, WIDE_LINE_LEN,
};
use crate::section::BlockIndex;
use crate::segment::{Mapped, Table};

/// Every line says where its blocks lie, one after the other without gaps up to the last value
/// and every block keeps its own rules.
pub(super) fn verify(segment: &Mapped, table: &Table) -> Result<()> {
    let broken = |offset: u64, detail: &str| -> Error {
        segment.corrupt(&table.lines, offset, Fault::rule(15, detail))
    };
    let mut last = BlockSpan::default();
    let mut wide_count = 0;
    let block_count = table.descriptor.block_count();
    for first in (0..block_count).step_by(BLOCKS_PER_LINE as usize) {
        let offset = prefix_index::line_offset(BlockIndex(first));
        let bytes = segment.bytes(&table.lines, offset, LINE_LEN, &mut 0)?;
        let line = Line::read(bytes).map_err(|f| segment.corrupt(&table.lines, offset, f))?;
        if (line.heads_base, line.rank_base) != (last.heads_end, last.rank_end) {
            return Err(broken(offset, "line does not start where the last one ends"));
        }
        if let Some(number) = line.wide {
            let unused = bytes.get(24..).unwrap_or_default();
            if number != wide_count || unused.iter().any(|&byte| byte != 0) {
                return Err(broken(offset, "wide line out of order, or bytes beside it not zero"));
            }
            wide_count += 1;
        }
        for block in (first..first + BLOCKS_PER_LINE).map(BlockIndex) {
            let span = segment.span(table, block, &mut 0)?;
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
            segment
                .block(table, block, &span, &mut 0)?
                .check(table.last_head(block))
                .map_err(|fault| segment.corrupt(&table.heads, span.heads_start, fault))?;
        }
        if line.needs_wide(&last) != line.wide.is_some() {
            return Err(broken(offset, "line is wide without need"));
        }
    }
    if last.rank_end != segment.header().fingerprint_count || last.heads_end != table.heads.len {
        return Err(broken(0, "blocks end before or after the last value"));
    }
    if wide_count * WIDE_LINE_LEN != table.wide_lines.len {
        return Err(broken(0, "more wide lines than lines that name them"));
    }
    Ok(())
}
