//! `fpstore stats --html`: the page, whole under its name or not at all.

use std::io::{self, Write};
use std::path::Path;

use anyhow::{Context, bail};
use fpstore::Scheme;
use fpstore::doctor::{PageOptions, Statistics, page};
use fpstore::plan::{Budget, SchemeEstimate, SchemePlan};
use tempfile::NamedTempFile;

use super::super::costs;

/// Checks before any work is done that the page can be written.
pub(super) fn check(path: &Path, force: bool) -> anyhow::Result<()> {
    if path == Path::new("-") {
        bail!("the page goes to a file, and the report to standard output: give --html a name");
    }
    if path.is_dir() {
        bail!("cannot write the page to {}: it is a directory", path.display());
    }
    if !force && path.symlink_metadata().is_ok() {
        bail!("{} exists; --force replaces it", path.display());
    }
    Ok(())
}

pub(super) fn write(
    path: &Path,
    force: bool,
    statistics: &Statistics,
    title: &str,
    budget: Budget,
) -> anyhow::Result<()> {
    let (plan, now) = schemes(statistics, budget)?;
    let options = PageOptions::new(title).plan(plan.as_ref()).now(now.as_ref());
    let html = page(statistics, &options);
    let failed = || format!("cannot write the page to {}", path.display());
    let mut file = temporary_beside(path).with_context(failed)?;
    file.write_all(html.as_bytes()).with_context(failed)?;
    let done = if force { file.persist(path) } else { file.persist_noclobber(path) };
    done.map_err(|error| error.error).with_context(failed)?;
    Ok(())
}

fn temporary_beside(path: &Path) -> io::Result<NamedTempFile> {
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    let mut builder = tempfile::Builder::new();
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        // As any new file; the umask removes permissions.
        builder.permissions(std::fs::Permissions::from_mode(0o666));
    }
    builder.prefix(".fpstore-").tempfile_in(parent.unwrap_or(Path::new(".")))
}

/// The plan for these fingerprints, and the estimate of the tables as they are.
fn schemes(
    statistics: &Statistics,
    budget: Budget,
) -> anyhow::Result<(Option<SchemePlan>, Option<SchemeEstimate>)> {
    if statistics.fingerprint_count == 0 {
        return Ok((None, None));
    }
    let request = statistics.plan_request().budget(budget).costs(costs::of_this_machine());
    let plan = request.plan()?;
    // Segments may have different schemes; the first, and so the oldest, stands for them.
    let first = statistics.tables.first().and_then(|table| table.segment);
    let of_first = statistics.tables.iter().filter(|table| table.segment == first);
    let masks: Vec<u64> = of_first.map(|table| table.mask).collect();
    let is_chosen = plan.chosen().scheme.masks() == masks;
    let now = match Scheme::from_masks(masks, statistics.tuned_k) {
        Ok(scheme) if !is_chosen => Some(request.estimate("these tables", &scheme)?),
        _ => None,
    };
    Ok((Some(plan), now))
}
