//! Writing the lines.

use super::{BLOCKS_PER_LINE, LINE_LEN, NARROW_BITS, NARROW_MAX, WIDE, WIDE_LINE_LEN};
use crate::bytes::{put_u24, put_u64};

/// Turns the ends of blocks, given in order, into lines and wide lines.
#[derive(Debug, Default)]
pub(crate) struct LineWriter {
    heads_base: u64,
    rank_base: u64,
    /// Ends relative to the bases: ranks, extra bytes.
    ends: Vec<(u64, u64)>,
    pub(crate) wide: Vec<u8>,
}

impl LineWriter {
    /// Takes the end of the next block and appends its line once it is full.
    pub(crate) fn push(&mut self, heads_end: u64, rank_end: u64, lines: &mut Vec<u8>) {
        let ranks = rank_end - self.rank_base;
        // Every value takes at least one byte.
        let extra = heads_end - self.heads_base - ranks;
        self.ends.push((ranks, extra));
        if self.ends.len() as u64 == BLOCKS_PER_LINE {
            self.flush(lines);
            self.heads_base = heads_end;
            self.rank_base = rank_end;
        }
    }

    /// Appends the last line, its missing blocks empty.
    pub(crate) fn finish(mut self, lines: &mut Vec<u8>) -> Vec<u8> {
        if let Some(&last) = self.ends.last() {
            self.ends.resize(BLOCKS_PER_LINE as usize, last);
            self.flush(lines);
        }
        self.wide
    }

    #[expect(clippy::expect_used, reason = "a writer's own values, in range by construction")]
    fn flush(&mut self, lines: &mut Vec<u8>) {
        // Ends ascend, so the last ones are the largest.
        let narrow = self.ends.last().is_some_and(|&(ranks, extra)| ranks.max(extra) <= NARROW_MAX);
        if narrow {
            put_u64(lines, self.heads_base);
            put_u64(lines, self.rank_base);
            for &(ranks, extra) in &self.ends {
                let packed = ranks | extra << NARROW_BITS;
                put_u24(lines, u32::try_from(packed).expect("two numbers of 12 bits"));
            }
        } else {
            let number = self.wide.len() as u64 / WIDE_LINE_LEN;
            put_u64(lines, WIDE | number);
            put_u64(lines, self.rank_base);
            put_u64(lines, self.heads_base);
            lines.resize(lines.len() + LINE_LEN as usize - 24, 0);
            for &(ranks, extra) in &self.ends {
                put_u64(&mut self.wide, ranks);
                put_u64(&mut self.wide, extra);
            }
        }
        self.ends.clear();
    }
}
