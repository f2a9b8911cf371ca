//! A walk of one table: the data shared by its threads.

use std::sync::atomic::AtomicUsize;

use super::sorted::Sorted;
use crate::base::error::Result;
use crate::bytes::mask::low_bits;
use crate::scheme::Radius;
use crate::search::kernel::lanes::{LANE_BITS, LaneLayout};
use crate::search::probe::NamedValue;
use crate::search::snapshot::SegmentHit;
use crate::segment::{Segment, TableReader};
use fpstore_base::Fingerprint;

/// Minimum of `named_max`, the number of listed values above which a thread looks them up at once.
const NAMED_MIN: usize = if cfg!(test) { 4 } else { 1 << 12 };
/// Number of low bits of a block number that select the block in its tile. A decoded tile should
/// fit in the cache of a core.
const TILE_BITS: u32 = if cfg!(test) { 3 } else { 10 };
/// Maximum number of bits of a block number; more would make too many tiles, each with a counter.
const BLOCK_BITS_MAX: u32 = 30;

/// A segment, and the options of the walks of its tables.
pub(crate) struct Walk<'a> {
    pub(crate) segment: &'a Segment,
    /// The position of the segment in the snapshot.
    pub(crate) number: usize,
    /// The radii of all tables of the segment.
    pub(crate) radii: &'a [Radius],
    pub(crate) k: u32,
    pub(crate) threads: usize,
    /// Maximum number of hits; with more, [`Walk::find`] returns `None`.
    pub(crate) found_max: usize,
    /// Whether each hit needs its rank in the first table, to check whether it is deleted.
    pub(crate) needs_first_rank: bool,
    /// Progress callback, called after each tile with its share of the number of queries.
    pub(crate) report: &'a (dyn Fn(u64) -> Result<()> + Sync),
}

/// The hits of a batch, each with the number of its query.
pub(crate) type Hits = Vec<(u32, SegmentHit)>;

/// The data shared by the threads that walk one table.
pub(super) struct TablePass<'a> {
    pub(super) walk: &'a Walk<'a>,
    pub(super) queries: &'a [Fingerprint],
    pub(super) position: usize,
    /// The queries, sorted for this table; `None` if only named values are looked up.
    pub(super) sorted: Option<Sorted>,
    pub(super) layout: LaneLayout,
    /// The values to look up, in the first table.
    pub(super) named: &'a [NamedValue],
    pub(super) sorted_named: Option<Sorted>,
    pub(super) exact: LaneLayout,
    /// A thread that lists more named values than this looks them up at once.
    pub(super) named_max: usize,
    pub(super) found_count: &'a AtomicUsize,
}

/// Whether the tables of a segment can be walked within these radii.
pub(crate) fn fits(segment: &Segment, radii: &[Radius]) -> bool {
    segment.tables().zip(radii).enumerate().all(|(position, (table, radius))| {
        let descriptor = table.descriptor;
        // The first table must fit even without a radius, because it is needed for look-ups.
        (radius.is_none() && position > 0)
            || (radius.unwrap_or(0) <= 1
                && (1..=BLOCK_BITS_MAX).contains(&descriptor.block_bits)
                && descriptor.block_bits <= table.permutation.prefix_bits()
                && (1..=LANE_BITS).contains(&descriptor.inner_bits())
                && descriptor.tail_bits > 0)
    })
}

impl Walk<'_> {
    /// Prepares the walk of the table at a position; the first table also looks up the named
    /// values.
    pub(super) fn pass<'a>(
        &'a self,
        queries: &'a [Fingerprint],
        position: usize,
        table: TableReader<'_>,
        named: &'a [NamedValue],
        found_count: &'a AtomicUsize,
    ) -> TablePass<'a> {
        let descriptor = &table.descriptor;
        let (block_bits, inner_bits) = (descriptor.block_bits, descriptor.inner_bits());
        let tile_bits = TILE_BITS.min(block_bits);
        let sort = |fingerprints: &mut dyn ExactSizeIterator<Item = Fingerprint>| {
            let count = fingerprints.len();
            let values = fingerprints.map(|fingerprint| table.permutation.apply(fingerprint).0);
            Sorted::new(count, values, block_bits, tile_bits)
        };
        let radius = self.radii[position];
        let sorted = radius.map(|_| sort(&mut queries.iter().copied()));
        let is_named = position == 0 && !named.is_empty();
        let sorted_named = is_named.then(|| sort(&mut named.iter().map(|named| named.fingerprint)));
        let free = descriptor.head_bits().saturating_sub(table.permutation.prefix_bits());
        let inner = low_bits(inner_bits);
        let exact = LaneLayout {
            block_bits,
            tail_bits: descriptor.tail_bits,
            inner_bits,
            mask: inner as u16,
            tile_bits,
            is_flipped: false,
            k: 0,
        };
        let layout = LaneLayout {
            mask: (inner & !low_bits(free)) as u16,
            is_flipped: radius == Some(1),
            k: self.k,
            ..exact
        };
        let named_max = (queries.len() / self.threads.max(1)).max(NAMED_MIN);
        TablePass {
            walk: self,
            queries,
            position,
            sorted,
            layout,
            named,
            sorted_named,
            exact,
            named_max,
            found_count,
        }
    }
}
