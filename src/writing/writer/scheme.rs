//! The scheme of a new segment, and the disk space for it.

use crate::base::error::Result;
use crate::format::header::Header;
use crate::plan::Budget;
use crate::scheme::Scheme;
use crate::store::Store;
use crate::writing::builder::{SchemeChoice, check_space_for};
use crate::writing::input::InputEstimate;
use crate::writing::sort::SortResources;
use crate::writing::writer::WriterOptions;

/// A new segment gets its own tables if it has more than this factor times the fingerprints of the
/// largest segment.
const GROWTH_MAX: u64 = 2;

/// The budget of a small segment, in bytes per fingerprint and for the whole segment. A small
/// segment is soon merged, which writes every byte of it again. Two tables fit, but not more (a
/// million records in batches of a thousand: 9.2 times the bytes of the store are written instead
/// of 10.7).
const SMALL_PER_FINGERPRINT: f64 = 15.0;
const SMALL_FOR_ALL: f64 = 32768.0;

/// The scheme of a new segment of `count` fingerprints.
pub(super) fn scheme_for(
    count: u64,
    options: &WriterOptions,
    store: &Store,
) -> Result<SchemeChoice> {
    if let Some(scheme) = &options.scheme {
        return Ok(scheme.clone());
    }
    let snapshot = store.snapshot();
    let largest =
        snapshot.segments().iter().max_by_key(|open| open.segment.header().fingerprint_count);
    match largest.map(|open| open.segment.header()) {
        Some(header) if count <= header.fingerprint_count.saturating_mul(GROWTH_MAX) => {
            scheme_of(header)
        }
        _ => {
            let small = count as f64 * SMALL_PER_FINGERPRINT + SMALL_FOR_ALL;
            let bytes = Budget::Default.bytes_for(count, store.tuned_k()).min(small);
            Ok(SchemeChoice::Auto { k: store.tuned_k(), budget: Budget::Bytes(bytes as u64) })
        }
    }
}

/// The scheme of an existing segment: its tables, and their tuned distance.
pub(super) fn scheme_of(header: &Header) -> Result<SchemeChoice> {
    let tables = header.tables.iter().map(|table| (table.mask.0, table.telling_bits()));
    Ok(Scheme::of_tables(tables, header.tuned_k)?.into())
}

/// Checks that the disks have room for a segment of this input.
pub(super) fn check_room(
    input: &InputEstimate,
    options: &WriterOptions,
    resources: &SortResources,
    store: &Store,
) -> Result<()> {
    let scheme = scheme_for(input.record_count, options, store)?;
    check_space_for(input, &scheme, resources, store.snapshot().path())
}
