//! Checks the free disk space before the first copy is written.

use fpstore_base::source::Compression;

use super::decide::Decisions;
use super::error::Result;
use super::spool::Spools;
use super::targets::Targets;
use super::work::Work;
use fpstore::Error;
use fpstore_disk::{free_space, parent_of};

/// Compression of ordinary text shrinks it at most by this factor.
const MOST_SAVED: u64 = 16;

/// Refuses a cleaning whose copies would not fit on the disk. The length of a copy is estimated as
/// the length of its input file, times the kept part of the documents; existing copies are
/// subtracted. The estimate is too low for an uncompressed copy of a compressed file. A compressed
/// copy of an uncompressed file may be much shorter, so such a length is divided by [`MOST_SAVED`].
pub(super) fn check(
    work: &Work<'_>,
    spools: &Spools,
    decisions: &Decisions,
    targets: &Targets,
) -> Result<()> {
    let copies =
        (0..work.files.len()).filter(|&number| !spools.leaves_out(number)).filter_map(|number| {
            Some((work.files.get(number, &work.options)?, targets.copy_of(number)?))
        });
    let (mut len, mut there) = (0, 0);
    for (file, copy) in copies {
        let is_packed = targets.compression_of(&file)?.is_some()
            && Compression::of_file(file.path()).is_ok_and(|of| of.is_none());
        len += file.file_len().unwrap_or(0) / if is_packed { MOST_SAVED } else { 1 };
        there += copy.path.metadata().map_or(0, |copy| copy.len());
    }
    let count = spools.counts().document_count.max(1);
    // Annotated documents are kept.
    let kept = match work.settings.annotate {
        Some(_) => count,
        None => count - decisions.dropped.len().min(count),
    };
    let needed = u128::from(len) * u128::from(kept) / u128::from(count);
    let needed = u64::try_from(needed).unwrap_or(u64::MAX).saturating_sub(there);
    let mut folder = parent_of(targets.output());
    // The output folder may not exist yet: finds the nearest existing one above it.
    while !folder.is_dir() && folder != parent_of(folder) {
        folder = parent_of(folder);
    }
    match free_space(folder) {
        Ok(free) if free < needed => {
            Err(Error::NoSpace { path: folder.into(), needed, free }.into())
        }
        // If the system does not report the free space, writing may fail later.
        _ => Ok(()),
    }
}
