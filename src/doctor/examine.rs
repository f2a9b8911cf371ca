//! Statistics of a store.

use crate::doctor::statistics::{Counted, Statistics};
use crate::doctor::table::TableTally;
use crate::doctor::tally::Tally;
use crate::error::{Error, Result};
use crate::segment::Mapped;
use crate::store::Store;

/// Reads a whole store and tells what it holds.
///
/// A pass over all records, and one over each table. Everything is exact;
/// only pairs of bits are counted over at most 2^20 fingerprints spread over the store.
///
/// # Errors
///
/// [`Error::Corrupt`] if the store is damaged.
///
/// # Examples
///
/// ```no_run
/// let store = fpstore::Store::open("pages.fps")?;
/// for finding in fpstore::doctor::examine(&store)?.findings() {
///     println!("{finding}");
/// }
/// # Ok::<(), fpstore::Error>(())
/// ```
pub fn examine(store: &Store) -> Result<Statistics> {
    let info = store.info();
    let has_ids = info.id_count() > 0;
    let mut tally = Tally::new(info.fingerprint_count());
    let store = &store.pinned();
    let snapshot = store.snapshot();
    match snapshot.segments() {
        // Nothing here depends on the order, and bringing a large table into another takes long.
        [only] if only.deleted.is_none() => tally_segment(&only.segment, has_ids, &mut tally)?,
        _ => store.for_each(|entry| {
            let records = if has_ids { entry.id_count()?.max(1) } else { 1 };
            tally.push(entry.fingerprint().value(), records);
            Ok::<(), Error>(())
        })?,
    }
    let counted = if has_ids { Counted::Ids } else { Counted::Fingerprints };
    let mut statistics = tally.finish(counted, store.tuned_k(), 0);
    // What is deleted is in the tables still, and in the way of probes.
    statistics.deleted_in_tables = info.deleted_fingerprints();
    for open in snapshot.segments() {
        let segment = &open.segment;
        for table in segment.tables() {
            segment.expect_pass(table);
            let mut counts = TableTally::new(table.permutation.clone());
            let mut values = segment.values(table);
            while let Some((_, run)) = values.next_run()? {
                run.iter().for_each(|&value| counts.push(value));
            }
            segment.expect_probes(table);
            statistics.tables.push(counts.finish(Some(open.entry.number), table.index, 1.0));
        }
    }
    Ok(statistics)
}

/// Counts the fingerprints of a segment in the order of its first table.
fn tally_segment(segment: &Mapped, has_ids: bool, tally: &mut Tally) -> Result<()> {
    let Some(table) = segment.tables().first() else { return Ok(()) };
    segment.expect_pass(table);
    let ids = segment.id_places().map(|(_, records)| records).filter(|_| has_ids);
    for step in segment.values(table) {
        let (rank, value) = step?;
        let records = match ids {
            None => 1,
            Some(place) => {
                let count = segment.record(rank, &mut 0)?.id_count();
                count.map_err(|fault| segment.corrupt(place, 0, fault))?.max(1)
            }
        };
        tally.push(table.permutation.invert(value).value(), records);
    }
    segment.expect_probes(table);
    Ok(())
}
