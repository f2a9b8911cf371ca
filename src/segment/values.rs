//! A table from its first value to its last, in ascending order.

use crate::bits::permutation::Permuted;
use crate::error::{Error, Fault, Result};
use crate::format::heads::Heads;
use crate::section::{BlockIndex, Rank};
use crate::segment::{Segment, Table};

/// A walk over all values of a table. It stops at the first error.
///
/// It takes no fault in the order for granted: a value that does not exceed the one before it
/// is an error, and so is a walk that ends with another count than the header's.
pub(crate) struct Values<'a, D> {
    segment: &'a Segment<D>,
    table: &'a Table,
    next_block: u64,
    heads: Option<Heads<'a>>,
    last_head: u64,
    rank: u64,
    before: Option<Permuted>,
    failed: bool,
}

impl<D: AsRef<[u8]>> Segment<D> {
    /// All values of a table in ascending order.
    pub(crate) fn values<'a>(&'a self, table: &'a Table) -> Values<'a, D> {
        Values {
            segment: self,
            table,
            next_block: 0,
            heads: None,
            last_head: 0,
            rank: 0,
            before: None,
            failed: false,
        }
    }
}

impl<D: AsRef<[u8]>> Values<'_, D> {
    fn step(&mut self) -> Result<Option<(Rank, Permuted)>> {
        loop {
            if let Some(heads) = &mut self.heads {
                match heads.next() {
                    Ok(Some((_, head))) if head <= self.last_head => {
                        return self.emit(head).map(Some);
                    }
                    Ok(Some(_)) => return Err(self.fault(14, "head of another block")),
                    Ok(None) => self.heads = None,
                    Err(fault) => {
                        let place = &self.table.heads;
                        return Err(self.segment.corrupt(place, 0, fault));
                    }
                }
            }
            if self.next_block == self.table.descriptor.block_count() {
                if self.rank != self.segment.header().fingerprint_count {
                    return Err(self.fault(15, "blocks hold fewer values than the header says"));
                }
                return Ok(None);
            }
            self.open_block()?;
        }
    }

    fn open_block(&mut self) -> Result<()> {
        let block = BlockIndex(self.next_block);
        let span = self.segment.span(self.table, block, &mut 0)?;
        if span.rank_start != self.rank {
            return Err(self.fault(15, "ranks of blocks leave a gap"));
        }
        self.next_block += 1;
        self.heads = Some(self.segment.block(self.table, block, &span, &mut 0)?.heads());
        self.last_head = self.table.last_head(block);
        Ok(())
    }

    fn emit(&mut self, head: u64) -> Result<(Rank, Permuted)> {
        let rank = Rank(self.rank);
        let value = self.table.value(head, self.segment.tail(self.table, rank, &mut 0)?);
        if self.before.is_some_and(|before| before >= value) {
            return Err(self.fault(12, "values not strictly ascending"));
        }
        self.before = Some(value);
        self.rank += 1;
        Ok((rank, value))
    }

    fn fault(&self, rule: u8, detail: &str) -> Error {
        let detail = format!("{detail}, at value {}", self.rank);
        self.segment.corrupt(&self.table.heads, 0, Fault::rule(rule, detail))
    }
}

impl<D: AsRef<[u8]>> Iterator for Values<'_, D> {
    type Item = Result<(Rank, Permuted)>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.failed {
            return None;
        }
        let step = self.step();
        self.failed = step.is_err();
        step.transpose()
    }
}
