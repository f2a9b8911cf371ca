//! What new segments of a store look like, and whether there is room for them.

use crate::build::{BuildOptions, InputEstimate, SchemeChoice, check_space_for};
use crate::error::Result;
use crate::life::WriterOptions;
use crate::planner::Budget;
use crate::scheme::{Scheme, UnitCosts};
use crate::sort::Resources;
use crate::store::Store;

/// A segment is planned anew if it has more than so many times the fingerprints of the largest one.
const GROWTH_MAX: u64 = 2;

/// What the tables of a small segment may take: it is merged before long, and every byte of it written again. Two
/// tables fit, and more do not (a million records in batches of a thousand: 9.2 times the store instead of 10.7).
const SMALL_PER_FINGERPRINT: f64 = 15.0;
const SMALL_FOR_ALL: f64 = 32768.0;

/// The tables of a new segment of so many fingerprints.
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
            let masks = header.tables.iter().map(|table| table.mask).collect();
            Ok(Scheme::from_masks(masks, header.tuned_k)?.into())
        }
        _ => {
            let small = count as f64 * SMALL_PER_FINGERPRINT + SMALL_FOR_ALL;
            let bytes = Budget::Default.bytes_for(count).min(small);
            Ok(SchemeChoice::Auto {
                k: store.tuned_k(),
                budget: Budget::Bytes(bytes as u64),
                costs: UnitCosts::SHIPPED,
            })
        }
    }
}

/// Whether the disks have room for a segment of so much.
pub(super) fn room_for(
    input: &InputEstimate,
    options: &WriterOptions,
    resources: &Resources,
    store: &Store,
) -> Result<()> {
    let mut build = BuildOptions::default();
    build.temp_dir.clone_from(&options.temp_dir);
    build.scheme = scheme_for(input.record_count, options, store)?;
    check_space_for(input, &build, resources, store.snapshot().path())
}
