//! One step in the life of a store: files get their names, and a new manifest is put in the place of the old one.

use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

use crate::build::folder::{
    FreshDeletions, FreshSegment, Role, names_in, number_of, remove_file, sync_directory,
    sync_file, temporary_in,
};
use crate::build::lock::StoreLock;
use crate::disk::{self, Step};
use crate::error::{Error, Result};
use crate::format::deletions;
use crate::format::manifest::{
    self, DeletionEntry, Manifest, NUMBER_MAX, SEGMENT_COUNT_MAX, SegmentEntry, segment_file_name,
};
use std::io::Write;

/// A manifest about to be replaced, which no one else replaces meanwhile. Files that were named go with this unless it
/// was committed.
#[derive(Debug)]
pub(crate) struct Publishing {
    path: PathBuf,
    role: Role,
    /// As it is on the disk, except that the next number grows with each file that is named.
    manifest: Manifest,
    /// No manifest names them yet.
    fresh: Vec<PathBuf>,
    _lock: Option<StoreLock>,
}

impl Drop for Publishing {
    fn drop(&mut self) {
        for path in &self.fresh {
            // They are only in the way; where one cannot go, the next writer takes it away.
            let _ = remove_file(path);
        }
    }
}

impl Publishing {
    /// With the manifest of the store at `path`, whose lock is held if there is need of it.
    pub(super) fn new(
        path: &Path,
        role: Role,
        mut manifest: Manifest,
        lock: Option<StoreLock>,
    ) -> Result<Self> {
        // Of a writer that died there may be files that no manifest names.
        let names = names_in(path)?;
        let numbers = names.iter().filter_map(|name| number_of(name));
        let after_last = numbers.filter(|&number| number < NUMBER_MAX).max().map_or(1, |n| n + 1);
        manifest.next_number = manifest.next_number.max(after_last);
        Ok(Publishing { path: path.into(), role, manifest, fresh: Vec::new(), _lock: lock })
    }

    /// The live segments as they are.
    pub(crate) fn segments(&self) -> &[SegmentEntry] {
        &self.manifest.segments
    }

    /// Gives a segment its name.
    pub(crate) fn name_segment(&mut self, fresh: FreshSegment) -> Result<SegmentEntry> {
        let FreshSegment { file, mut entry } = fresh;
        entry.number = self.next_number()?;
        self.name(file, &segment_file_name(entry.number))?;
        Ok(entry)
    }

    /// Gives a deletion file its name.
    pub(crate) fn name_deletions(&mut self, fresh: FreshDeletions) -> Result<DeletionEntry> {
        let FreshDeletions { file, mut entry } = fresh;
        entry.number = self.next_number()?;
        self.name(file, &deletions::file_name(entry.number))?;
        Ok(entry)
    }

    fn next_number(&mut self) -> Result<u64> {
        let number = self.manifest.next_number;
        if number >= NUMBER_MAX || self.manifest.generation >= NUMBER_MAX {
            let reason = format!("{} has used up its numbers, make a new one", self.path.display());
            return Err(Error::TooLarge { reason });
        }
        self.manifest.next_number += 1;
        Ok(number)
    }

    fn name(&mut self, file: NamedTempFile, name: &str) -> Result<()> {
        let path = self.path.join(name);
        disk::step(&path, Step::Rename)
            .and_then(|()| file.persist_noclobber(&path).map_err(|failed| failed.error))
            .map_err(Error::io("move the new file to", &path))?;
        self.fresh.push(path);
        Ok(())
    }

    /// Makes these the live segments, in one step: gives the generation.
    ///
    /// After an error the store is as it was, or, if only the last sync failed, as it was to become.
    pub(crate) fn commit(mut self, segments: Vec<SegmentEntry>) -> Result<u64> {
        if segments.len() > SEGMENT_COUNT_MAX {
            let reason = format!("{} segments, a store has 65 536 at most", segments.len());
            return Err(Error::TooLarge { reason });
        }
        let generation = self.manifest.generation + 1;
        let next_number = self.manifest.next_number;
        self.replace_manifest(&Manifest { generation, next_number, segments })?;
        self.fresh.clear();
        sync_directory(&self.path)?;
        Ok(generation)
    }

    /// Puts a manifest in the place of the one before, if there is one, in one step.
    fn replace_manifest(&self, manifest: &Manifest) -> Result<()> {
        let path = self.path.join(manifest::FILE_NAME);
        let mut temporary = temporary_in(&self.path, self.role)?;
        disk::step(&path, Step::Write)
            .and_then(|()| temporary.write_all(&manifest.encode()))
            .map_err(Error::io("write", &path))?;
        sync_file(temporary.as_file(), &path)?;
        // The names of new files must be on the disk before a manifest that uses them.
        sync_directory(&self.path)?;
        disk::step(&path, Step::Rename)
            .and_then(|()| temporary.persist(&path).map_err(|failed| failed.error))
            .map_err(Error::io("replace", &path))?;
        Ok(())
    }
}
