//! Statistics of a store or of the records of an input: bits, duplicates, prefix groups, distances.
//!
//! [`profile()`] reads a store, a [`Collector`] takes the records of an input; both return
//! [`Statistics`], plain numbers. The crate `fpstore-report` names the problems that they show.
//! Nothing here changes a store.

mod accumulator;
mod by_chance;
mod collector;
mod nearest;
mod pair_distances;
mod statistics;
mod table;

use crate::base::error::{Error, Result};
use crate::search::snapshot::distinct_count;
use crate::segment::Segment;
use crate::store::Store;
use accumulator::Accumulator;
use fpstore_base::Width;
use fpstore_base::watch::{Observer, Phase, Watch};
use table::TableAccumulator;

pub use crate::plan::profile::SizeClass;
pub use by_chance::random_matches;
pub use collector::Collector;
pub use nearest::NearestDistances;
pub use pair_distances::pair_distances;
pub use statistics::{
    BitPair, BitStatistics, Counted, ExpectedMatches, HeavyFingerprint, Sampling, Statistics,
};
pub use table::{GapClass, PrefixGroup, TableStatistics};

/// Computes the statistics of a store; reads the whole store.
///
/// It makes one pass over all records and one over each table. Everything is exact, except that
/// pairs of bits are counted over at most 2^20 fingerprints spread over the store, and the nearest
/// other fingerprint is searched for at most 2^12 fingerprints.
///
/// # Errors
///
/// * [`Error::InvalidOptions`] if the fingerprints have fewer than 64 bits.
/// * [`Error::Corrupt`] if the store is damaged.
///
/// # Examples
///
/// ```no_run
/// let store = fpstore::Store::open("pages.fps")?;
/// let statistics = fpstore::profile::profile(&store)?;
/// println!("{} distinct fingerprints", statistics.fingerprint_count);
/// # Ok::<(), fpstore::Error>(())
/// ```
pub fn profile(store: &Store) -> Result<Statistics> {
    profile_with(store, None)
}

/// Like [`profile`], but with an observer that is informed of the progress and may end the work.
///
/// # Errors
///
/// The errors of [`profile`], and [`Error::Interrupted`] if the observer ends the work.
pub fn profile_with(store: &Store, observer: Option<Observer>) -> Result<Statistics> {
    let info = store.info();
    if info.width != Width::FULL {
        let reason = format!(
            "statistics need fingerprints of 64 bits, those of {} have {}",
            info.path.display(),
            info.width
        );
        return Err(Error::InvalidOptions { reason });
    }
    let has_ids = info.id_count() > 0;
    let mut accumulator = Accumulator::new(info.fingerprint_count());
    let store = &store.pinned();
    let watch = Watch::new(observer, Phase::Read, Some(info.fingerprint_count()));
    let snapshot = store.snapshot();
    match snapshot.segments() {
        // A single segment is read in the order of its first table: statistics do not depend on the
        // order, and `for_each` would first sort a large table.
        [only] if only.deleted.is_none() => {
            accumulate_segment(&only.segment, has_ids, &watch, &mut accumulator)?
        }
        _ => store.for_each(|entry| {
            watch.tick(1)?;
            let records = if has_ids { entry.id_count()?.max(1) } else { 1 };
            accumulator.push(entry.fingerprint().value(), records);
            Ok::<(), Error>(())
        })?,
    }
    let counted = if has_ids { Counted::Ids } else { Counted::Fingerprints };
    let mut statistics = accumulator.finish(counted, store.tuned_k(), 0);
    if let Some(sample) = &statistics.scheme_sample {
        let (n, alike) = (statistics.fingerprint_count, statistics.matches_alike());
        let watch = watch.next(Phase::Search, None);
        statistics.nearest = Some(NearestDistances::of_store(store, sample, n, &alike, &watch)?);
    }
    // Deleted fingerprints remain in the tables until a compaction, and cost time in probes.
    statistics.deleted_in_tables = info.deleted_fingerprints();
    let watch = watch.next(Phase::Tables, None);
    for open in snapshot.segments() {
        let segment = &open.segment;
        for table in segment.tables() {
            table.advise_sequential();
            let syndrome_bits = table.descriptor.syndrome_bits;
            let hashed_bits = table.descriptor.hashed_bits();
            let mut counts = TableAccumulator::new(table.permutation.clone(), hashed_bits);
            let mut values = table.values_or_keys();
            while let Some((_, run)) = values.next_run()? {
                watch.tick(run.len() as u64)?;
                // The known bits of a key, with zeros in place of the hashed bits; both numbers are
                // 0 in a table with whole values.
                run.iter().for_each(|key| counts.push((key >> syndrome_bits) << hashed_bits));
            }
            table.advise_random();
            statistics.tables.push(TableStatistics {
                syndrome_bits,
                telling_bits: table.descriptor.telling_bits(),
                ..counts.finish(Some(open.entry.number), table.index, 1.0)
            });
        }
    }
    Ok(statistics)
}

/// Counts the fingerprints of a segment in the order of its first table.
fn accumulate_segment(
    segment: &Segment,
    has_ids: bool,
    watch: &Watch,
    accumulator: &mut Accumulator,
) -> Result<()> {
    let Some(table) = segment.first_table() else { return Ok(()) };
    table.advise_sequential();
    let place = segment.id_places().map(|(_, records)| records).filter(|_| has_ids);
    let mut ids = Vec::new();
    for step in table.values() {
        let (rank, value) = step?;
        watch.tick(1)?;
        let records = match place {
            None => 1,
            Some(place) => {
                let mut record = segment.record(rank)?;
                while let Some(id) =
                    record.next().map_err(|fault| segment.corrupt(place, 0, fault))?
                {
                    ids.push(id);
                }
                distinct_count(&mut ids).max(1)
            }
        };
        accumulator.push(table.permutation.invert(value).value(), records);
    }
    table.advise_random();
    Ok(())
}
