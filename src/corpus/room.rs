//! Whether the disk has room for the copies, before the first is written.

use super::decide::Decisions;
use super::error::Result;
use super::spool::Spools;
use super::targets::Targets;
use super::work::Work;
use crate::base::error::Error;
use crate::disk::{free_space, parent_of};

/// Refuses work whose copies would not fit on the disk. A copy is taken to be as long as its file,
/// but for the part of the documents that goes; what earlier work has written is there already.
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
        len += file.file_len().unwrap_or(0);
        there += copy.metadata().map_or(0, |copy| copy.len());
    }
    let count = spools.counts().document_count.max(1);
    // Marked documents stay.
    let kept = match work.settings.annotate {
        Some(_) => count,
        None => count - decisions.dropped.len().min(count),
    };
    let needed = u128::from(len) * u128::from(kept) / u128::from(count);
    let needed = u64::try_from(needed).unwrap_or(u64::MAX).saturating_sub(there);
    let mut folder = parent_of(targets.output());
    // The folder may not be there yet.
    while !folder.is_dir() && folder != parent_of(folder) {
        folder = parent_of(folder);
    }
    match free_space(folder) {
        Ok(free) if free < needed => {
            Err(Error::NoSpace { path: folder.into(), needed, free }.into())
        }
        // Where the system does not report the free space, writing may fail later.
        _ => Ok(()),
    }
}
