//! Everything a store holds, in fingerprint order.

use crate::bits::permutation::Permuted;
use crate::error::{Error, Result};
use crate::fingerprint::Fingerprint;
use crate::search::{Found, Hit};
use crate::section::Rank;
use crate::segment::Table;
use crate::store::{OpenSegment, Store};

/// Fingerprints that one pass over a table that is sorted in another order picks out. Twice as
/// many are held at most: 256 MiB.
const PICKED_MAX: usize = 1 << 23;

impl Store {
    /// Visits every stored fingerprint once, ascending, with the ids that all segments have
    /// for it; the distance of each [`Hit`] is 0.
    ///
    /// Where the first table of a segment does not begin with the leading bits, its values are
    /// sorted anew, in as many passes over the table as 256 MiB for each such segment ask for.
    ///
    /// # Errors
    ///
    /// [`Error::Corrupt`] if the store is damaged, and whatever `visit` returns. Nothing is
    /// visited after that.
    ///
    /// # Examples
    ///
    #[cfg_attr(feature = "build", doc = "```")]
    #[cfg_attr(not(feature = "build"), doc = "```ignore")]
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let folder = tempfile::tempdir()?;
    /// # let mut builder = fpstore::Builder::new(folder.path().join("news.fps"))?;
    /// # builder.push(7.into(), "a.html")?;
    /// # let store = builder.finish()?;
    /// store.for_each(|entry| {
    ///     println!("{} has {} ids", entry.fingerprint(), entry.ids().count());
    ///     Ok::<(), fpstore::Error>(())
    /// })?;
    /// # Ok(()) }
    /// ```
    pub fn for_each<E: From<Error>>(
        &self,
        mut visit: impl FnMut(Hit<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        let snapshot = self.snapshot();
        let mut sources = Vec::new();
        for source in snapshot.segments().iter().filter_map(Ordered::new) {
            let mut source = source;
            let next = source.next()?;
            sources.push((source, next));
        }
        let mut places: Vec<Found> = Vec::new();
        while let Some(least) = sources.iter().filter_map(|(_, next)| Some(next.as_ref()?.0)).min()
        {
            places.clear();
            for (number, (source, next)) in sources.iter_mut().enumerate() {
                if let Some((fingerprint, rank)) = *next
                    && fingerprint == least
                {
                    places.push(Found {
                        distance: 0,
                        fingerprint,
                        segment: number,
                        table: source.table.index,
                        rank,
                    });
                    *next = source.next()?;
                }
            }
            visit(Hit::new(&snapshot, &places))?;
        }
        Ok(())
    }
}

impl Store {
    /// Visits every stored fingerprint once, in some order that is always the same, many at a time.
    #[cfg(feature = "build")]
    pub(crate) fn for_each_run(&self, mut visit: impl FnMut(&[u64]) -> Result<()>) -> Result<()> {
        if self.snapshot().segments().len() == 1 {
            return self.for_each_run_of(0, &mut visit);
        }
        let mut run = Vec::with_capacity(RUN_COUNT);
        self.for_each(|hit| {
            run.push(hit.fingerprint().value());
            if run.len() < RUN_COUNT {
                return Ok(());
            }
            visit(&run)?;
            run.clear();
            Ok::<(), Error>(())
        })?;
        visit(&run)
    }

    /// As [`Store::for_each_run`], of the segment at a position.
    #[cfg(feature = "build")]
    pub(crate) fn for_each_run_of(
        &self,
        segment: usize,
        visit: &mut dyn FnMut(&[u64]) -> Result<()>,
    ) -> Result<()> {
        let snapshot = self.snapshot();
        let Some(open) = snapshot.segments().get(segment) else { return Ok(()) };
        let Some(table) = open.segment.tables().first() else { return Ok(()) };
        open.segment.expect_pass(table);
        let mut values = open.segment.values(table);
        let mut natural = Vec::new();
        while let Some((first, run)) = values.next_run()? {
            let ranks = first.0..first.0 + run.len() as u64;
            let gone = open.deleted.as_ref().map_or([].as_slice(), |of| of.gone_in(ranks.clone()));
            if table.permutation.is_identity() && gone.is_empty() {
                visit(run)?;
                continue;
            }
            natural.clear();
            let mut gone = gone.iter().copied().peekable();
            let live = ranks.zip(run).filter(|(rank, _)| gone.next_if_eq(rank).is_none());
            natural.extend(live.map(|(_, &v)| table.permutation.invert(Permuted(v)).value()));
            visit(&natural)?;
        }
        open.segment.expect_probes(table);
        Ok(())
    }
}

/// Values handed out together where segments are merged.
#[cfg(feature = "build")]
const RUN_COUNT: usize = 1 << 12;

type Values<'a> = Box<dyn Iterator<Item = Result<(Rank, Permuted)>> + 'a>;

/// The fingerprints of one segment, ascending, with their ranks in the first table.
struct Ordered<'a> {
    open: &'a OpenSegment,
    table: &'a Table,
    /// The values as they are stored, where that is fingerprint order.
    stored: Option<Values<'a>>,
    /// Else the next of them, sorted descending so that the least can be popped.
    picked: Vec<(Fingerprint, Rank)>,
    /// All below this were picked before; `None` once all were.
    from: Option<u64>,
}

impl<'a> Ordered<'a> {
    /// `None` for a segment without tables, which does not pass for a segment.
    fn new(open: &'a OpenSegment) -> Option<Self> {
        let table = open.segment.tables().first()?;
        let values = || Box::new(open.segment.values(table)) as Values<'a>;
        let stored = table.permutation.is_identity().then(values);
        Some(Ordered { open, table, stored, picked: Vec::new(), from: Some(0) })
    }

    fn next(&mut self) -> Result<Option<(Fingerprint, Rank)>> {
        if let Some(stored) = &mut self.stored {
            while let Some((rank, value)) = stored.next().transpose()? {
                if !self.open.is_gone(rank) {
                    return Ok(Some((self.table.permutation.invert(value), rank)));
                }
            }
            return Ok(None);
        }
        if self.picked.is_empty()
            && let Some(from) = self.from
        {
            self.pick(from, PICKED_MAX)?;
        }
        Ok(self.picked.pop())
    }

    /// Picks the `most` least fingerprints that are at least `from`, in one pass.
    fn pick(&mut self, from: u64, most: usize) -> Result<()> {
        let mut more = false;
        for step in self.open.segment.values(self.table) {
            let (rank, value) = step?;
            let fingerprint = self.table.permutation.invert(value);
            if fingerprint.value() >= from && !self.open.is_gone(rank) {
                self.picked.push((fingerprint, rank));
                if self.picked.len() == 2 * most {
                    self.picked.select_nth_unstable(most);
                    self.picked.truncate(most);
                    more = true;
                }
            }
        }
        self.picked.sort_unstable_by(|a, b| b.cmp(a));
        if self.picked.len() > most {
            let surplus = self.picked.len() - most;
            self.picked.drain(..surplus);
            more = true;
        }
        let last = self.picked.first().map(|(fingerprint, _)| fingerprint.value());
        self.from = last.filter(|_| more).and_then(|last| last.checked_add(1));
        Ok(())
    }
}

#[cfg(all(test, feature = "build"))]
mod tests {
    use super::*;
    use crate::{BuildOptions, Builder, Scheme};

    #[test]
    fn many_small_passes_give_the_same_order_as_one() {
        let folder = tempfile::tempdir().unwrap();
        let options = BuildOptions::default().scheme(Scheme::named("14", 3).unwrap());
        let mut builder = Builder::with_options(folder.path().join("store.fps"), options).unwrap();
        let values = (1..1000_u64).map(|i| i.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let mut expected: Vec<u64> = values.chain([0, u64::MAX]).collect();
        expected.iter().for_each(|&value| builder.push_bare(value.into()).unwrap());
        expected.sort_unstable();
        let store = builder.finish().unwrap();
        let snapshot = store.snapshot();
        let segment = &snapshot.segments()[0];
        for most in [1, 2, 10, 1000, 1001, 1002] {
            let mut ordered = Ordered::new(segment).unwrap();
            let mut found = Vec::new();
            while let Some(from) = ordered.from {
                ordered.pick(from, most).unwrap();
                assert!(ordered.picked.len() <= most);
                while let Some((fingerprint, _)) = ordered.picked.pop() {
                    found.push(fingerprint.value());
                }
            }
            assert_eq!(found, expected, "{most} a pass");
        }
    }
}
