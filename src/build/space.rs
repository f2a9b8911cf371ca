//! Whether the disks have room for a build, before it begins.

use std::path::Path;

use super::BuildOptions;
use crate::error::{Error, Result};
use crate::sort::Resources;

/// About what will come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct InputEstimate {
    /// Records.
    pub record_count: u64,
    /// Those of them that have ids.
    pub id_count: u64,
    /// Bytes of their ids, 8 for a number.
    pub id_len: u64,
}

impl InputEstimate {
    /// The estimate for both inputs together.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        InputEstimate {
            record_count: self.record_count + other.record_count,
            id_count: self.id_count + other.id_count,
            id_len: self.id_len + other.id_len,
        }
    }
}

/// Bytes that a build takes on disks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Needs {
    store: u64,
    temporary: u64,
}

/// Checks that there is room for a build of about this input.
pub(crate) fn check(
    input: &InputEstimate,
    options: &BuildOptions,
    resources: &Resources,
    store_folder: &Path,
) -> Result<()> {
    let tables = options.scheme.table_count(input.record_count, values_len(input.record_count));
    let needs = needs(input, tables, resources.memory);
    let temporary_folder = resources.folder.path();
    let separate = options.temp_dir.is_some() && !same_disk(temporary_folder, store_folder);
    if separate {
        room_for(needs.temporary, temporary_folder)?;
        room_for(needs.store, store_folder)
    } else {
        room_for(needs.store + needs.temporary, store_folder)
    }
}

fn room_for(needed: u64, folder: &Path) -> Result<()> {
    // Where the system does not say how much is free, the build will find out.
    match fs4::available_space(folder) {
        Ok(free) if free < needed => Err(Error::NoSpace { path: folder.into(), needed, free }),
        _ => Ok(()),
    }
}

#[cfg(unix)]
fn same_disk(a: &Path, b: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    let device = |path: &Path| path.metadata().map(|metadata| metadata.dev()).ok();
    device(a) == device(b)
}

#[cfg(not(unix))]
fn same_disk(_: &Path, _: &Path) -> bool {
    false
}

/// Bytes of one table of so many random values, within 3 bits of the limit, see the promises.
fn values_len(count: u64) -> u64 {
    count * (64 - u64::from(count.max(1).ilog2()) + 4) / 8
}

fn needs(input: &InputEstimate, table_count: u64, memory: u64) -> Needs {
    let n = input.record_count;
    let values_len = values_len(n);
    // A byte to count the ids of each, and a group entry for 32.
    let ids_len = if input.id_count > 0 { input.id_len + n + n / 4 } else { 0 };
    let store = values_len * table_count + ids_len + (1 << 16);
    if in_memory(input, memory) {
        return Needs { store, temporary: 0 };
    }
    // Runs of all records; their distinct values; then a table in two copies while it is merged
    // beside the one before, if that is not the distinct values themselves. Runs without ids
    // are gone by then.
    let records = values_len + input.id_len + 2 * input.id_count;
    let tables = values_len * [0, 0, 2, 3][table_count.min(3) as usize];
    let kept = if input.id_count > 0 { records } else { 0 };
    Needs { store, temporary: (records + values_len).max(kept + values_len + tables) }
}

/// Whether a build of so much needs no temporary files.
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
