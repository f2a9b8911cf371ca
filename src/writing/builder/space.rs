//! An estimate of the disk space of a build, checked before it begins.

use std::path::Path;

use super::SchemeChoice;
use crate::base::error::{Error, Result};
use crate::writing::input::InputEstimate;
use crate::writing::sort::SortResources;
use fpstore_disk::{free_space, system::is_on_same_disk};

/// The disk space that a build needs, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Needs {
    store: u64,
    temporary: u64,
}

/// Checks that the disks have room for a segment of this input and for temporary files.
pub(crate) fn check(
    input: &InputEstimate,
    scheme: &SchemeChoice,
    resources: &SortResources,
    store_directory: &Path,
) -> Result<()> {
    let tables = scheme.table_count(input.record_count, values_len(input.record_count));
    let needs = needs(input, tables, resources.memory);
    let scratch = resources.folder.path();
    if scratch == store_directory || is_on_same_disk(scratch, store_directory) {
        room_for(needs.store + needs.temporary, store_directory)
    } else {
        room_for(needs.temporary, scratch)?;
        room_for(needs.store, store_directory)
    }
}

fn room_for(needed: u64, folder: &Path) -> Result<()> {
    // If the system does not report the free space, the build may fail later.
    match free_space(folder) {
        Ok(free) if free < needed => Err(Error::NoSpace { path: folder.into(), needed, free }),
        _ => Ok(()),
    }
}

/// Bytes of one table of `count` random values: `64 - log2 count + 4` bits per value.
fn values_len(count: u64) -> u64 {
    count * (64 - u64::from(count.max(1).ilog2()) + 4) / 8
}

fn needs(input: &InputEstimate, table_count: u64, memory: u64) -> Needs {
    let n = input.record_count;
    let values_len = values_len(n);
    // Each fingerprint takes a byte for its number of ids, and each 32 fingerprints a group entry
    // of 8 bytes.
    let ids_len = if input.id_count > 0 { input.id_len + n + n / 4 } else { 0 };
    let store = values_len * table_count + ids_len + (1 << 16);
    if in_memory(input, memory) {
        return Needs { store, temporary: 0 };
    }
    // The sort needs temporary files for the runs of all records and for the distinct values. Runs
    // without ids are then removed. Writing needs the distinct values, two copies of a table during
    // its merge, and the preceding table, unless it consists of the distinct values themselves.
    let records = values_len + input.id_len + 2 * input.id_count;
    let tables = values_len * [0, 0, 2, 3][table_count.min(3) as usize];
    let kept = if input.id_count > 0 { records } else { 0 };
    Needs { store, temporary: (records + values_len).max(kept + values_len + tables) }
}

/// Whether a build of this input needs no temporary files.
fn in_memory(input: &InputEstimate, memory: u64) -> bool {
    let n = input.record_count;
    let entries = 8 * n + 8 * input.id_count + input.id_len;
    entries + (32 * n).max(16 * n + 24 * input.id_count) <= memory
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn needs_grow_with_records_tables_and_ids() {
        let bare = InputEstimate { record_count: 10_000_000, ..InputEstimate::default() };
        let small = needs(&bare, 1, u64::MAX);
        assert_eq!(small.temporary, 0);
        assert!((50_000_000..60_000_000).contains(&small.store), "{small:?}");
        let spilled = needs(&bare, 2, 1 << 20);
        assert!(spilled.temporary > 2 * small.store && spilled.store > 19 * small.store / 10);
        let with_ids = InputEstimate { id_count: 10_000_000, id_len: 80_000_000, ..bare };
        assert!(needs(&with_ids, 2, 1 << 20).temporary > spilled.temporary + 80_000_000);
    }

    #[test]
    fn a_disk_without_room_is_named() {
        let folder = tempfile::tempdir().unwrap();
        assert!(room_for(1, folder.path()).is_ok());
        let refused = room_for(u64::MAX, folder.path()).unwrap_err();
        assert!(matches!(&refused, Error::NoSpace { path, .. } if path == folder.path()));
    }
}
