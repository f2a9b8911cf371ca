//! Copies the corpus without the documents that contain items, on all threads.

use fpstore_base::IoError;
use std::collections::HashMap;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use fpstore_base::watch::{Phase, Watch};
use fpstore_documents::{Decided, DocumentFile, RecordDecisions, RecordFate};

use super::settings::ContaminationCheck;
use crate::copied::{NewOutput, OutputPath, copy_file, list_files, on_threads};
use crate::error::{Error, Result};
use crate::event::Event;
use crate::targets::{Originals, Targets};

/// For each file number, the records of the documents that contain items, ascending.
pub(super) type Dropped = HashMap<usize, Vec<Decided>>;

/// Writes all outputs and makes them durable. Returns the numbers of the skipped files: those that
/// could not be read to their ends or copied.
pub(super) fn run(
    check: &ContaminationCheck<'_>,
    originals: &Originals<'_>,
    targets: &Targets,
    dropped: &Dropped,
    unread: &[usize],
) -> Result<Vec<usize>> {
    let watch = Watch::new(check.observer.clone(), Phase::Copy, originals.files.total_len());
    let failed = Mutex::new(unread.to_vec());
    let count = originals.files.len();
    on_threads(check.threads, count, |number| {
        let file = originals.files.get(number, originals.options);
        let target = targets.copy_of(number).filter(|_| !unread.contains(&number));
        let (Some(file), Some(target)) = (file, target) else { return Ok(()) };
        let records = dropped.get(&number).map_or(&[][..], Vec::as_slice);
        match copy(check, (originals, targets), &file, target, records, &watch) {
            Err(Error::Text(error)) if file.is_left_out(originals.options, &error) => {
                failed.lock().unwrap_or_else(PoisonError::into_inner).push(number);
                check.tell(Event::NotCopied(&error.into()));
                Ok(())
            }
            copied => copied,
        }
    })?;
    let mut failed = failed.into_inner().unwrap_or_else(PoisonError::into_inner);
    failed.sort_unstable();
    failed.dedup();
    if let Some(to) = targets.kept_files() {
        let is_kept = |number: &usize| {
            targets.copy_of(*number).is_none()
                && !dropped.contains_key(number)
                && !failed.contains(number)
        };
        let kept = (0..count).filter(is_kept);
        let kept = kept.filter_map(|number| originals.files.get(number, originals.options));
        publish(check, list_files(kept, to)?, to.path)?;
    }
    targets.sync_folders()?;
    Ok(failed)
}

/// The number of outputs that are missing because their input files were skipped.
pub(super) fn copies_of(targets: &Targets, failed: &[usize]) -> u64 {
    failed.iter().filter(|&&number| targets.copy_of(number).is_some()).count() as u64
}

/// Copies a file without `records`.
fn copy(
    check: &ContaminationCheck<'_>,
    (originals, targets): (&Originals<'_>, &Targets),
    file: &DocumentFile<'_>,
    to: OutputPath<'_>,
    records: &[Decided],
    watch: &Watch,
) -> Result<()> {
    let mut decisions = records.iter().map(|decided| Ok(decided.clone()));
    let fates = (&mut decisions as &mut RecordDecisions<'_>, &RecordFate::Keep);
    let to_compressed = (to, targets.compression_of(file)?);
    let new = copy_file(file, to_compressed, originals.options, &[], watch, fates)?;
    publish(check, new, to.path)
}

/// Gives a complete output its final name.
fn publish(check: &ContaminationCheck<'_>, (file, _): NewOutput, to: &Path) -> Result<()> {
    if !check.replace && to.symlink_metadata().is_ok() {
        return Err(Error::Exists { path: to.into(), adds: false });
    }
    Ok(file.publish_for_now().map_err(IoError::of("write", to))?)
}
