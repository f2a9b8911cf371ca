//! Runs one share of a join of a store, which reads a range of each table of the plan.

use std::sync::Mutex;

use super::range::{TableOfStore, TableRange};
use super::{JoinPlan, PlanReads};
use crate::base::error::{Error, Result};
use crate::join::engine::one_join::Join;
use crate::join::engine::values::JoinValues;
use crate::join::options::{JoinOptions, Share};
use crate::join::pairs::{Pair, ascending, emit_pairs};
use crate::store::Store;
use fpstore_base::watch::Phase;

impl JoinPlan {
    /// Finds the near pairs of a share of a store, and passes them to `each` like
    /// [`near_pairs`](crate::join::near_pairs). The options set the share. The shares of a join
    /// together find each pair once, whatever the memory and threads of each share.
    ///
    /// If the plan [reads](JoinPlan::reads) ranges, the share reads its range of `k + 1` tables:
    /// the values whose leading block of bits is between two bounds, chosen so that all shares have
    /// similar numbers of values. All fingerprints that agree on the block are in the same share.
    /// If there are very many of them, that share has more work, and the shares after it have less.
    ///
    /// # Errors
    ///
    /// The errors of [`near_pairs`](crate::join::near_pairs), and [`Error::InvalidOptions`] if the
    /// distance of the options differs from the distance of the plan, or if a segment lacks a table
    /// of the plan.
    pub fn pairs_of_share<E: From<Error> + Send>(
        &self,
        store: &Store,
        options: &JoinOptions,
        each: impl FnMut(&[Pair]) -> Result<(), E> + Send,
    ) -> Result<(), E> {
        self.check(options)?;
        let store = &store.pinned();
        let resources = options.budget()?;
        if self.reads() == PlanReads::Everything {
            let values = JoinValues::open(store.into(), resources.memory / 2, resources.threads)?;
            return emit_pairs(options, ascending, each, |emit| {
                Join::new(vec![values], options, resources).run(emit)
            });
        }
        let ranges = self.ranges_of(store, options.share)?;
        let count = ranges.iter().map(|range| range.count_max).sum();
        let watch = options.watch(Phase::Join, Some(count));
        // The ranges contain only the values of this share, so each range is joined as a whole.
        let whole = options.clone().share(Share::WHOLE);
        let blocking = self.blocking();
        emit_pairs(options, ascending, each, |emit| {
            let emit = Mutex::new(emit);
            for (first, range) in ranges.into_iter().enumerate() {
                let values = JoinValues::open_range(range, resources.memory / 2)?;
                let join = Join::new(vec![values], &whole, resources);
                let join = Join { watch: watch.clone(), ..join };
                join.run_first(&blocking, first, &emit)?;
            }
            Ok(())
        })
    }

    pub(in crate::join) fn check(&self, options: &JoinOptions) -> Result<()> {
        options.check()?;
        if options.k == self.k() {
            return Ok(());
        }
        let reason =
            format!("the join is within {} bits, but the plan is for {} bits", options.k, self.k());
        Err(Error::InvalidOptions { reason })
    }

    /// The range of the share in each table of the plan.
    pub(in crate::join) fn ranges_of(
        &self,
        store: &Store,
        share: Share,
    ) -> Result<Vec<TableRange>> {
        let range = |(block, &mask): (&u64, &u64)| {
            let table = TableOfStore::new(store, mask).map_err(|path| {
                let reason = format!(
                    "{} has no table with the mask {mask:016x} that holds whole values, which the \
                     plan reads: make a new plan of the store, or build all segments with the \
                     scheme {}",
                    path.display(),
                    self.scheme(),
                );
                Error::InvalidOptions { reason }
            })?;
            table.range(block.count_ones(), share.number.into(), share.count.into())
        };
        // The first `k + 1` blocks, each with the mask of the table whose leading bits it is.
        self.blocks.iter().zip(&self.tables).map(range).collect()
    }
}
