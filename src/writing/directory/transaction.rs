//! A transaction: new files get their final names, and a new manifest replaces the old one.

use std::io::Write;
use std::path::{Path, PathBuf};

use crate::base::error::{Error, Result};
use crate::bytes::checksum::Digest;
use crate::format::deletions::{self, Deletions};
use crate::format::manifest::{
    self, DeletionEntry, Manifest, NUMBER_MAX, SEGMENT_COUNT_MAX, SegmentEntry, segment_file_name,
};
use crate::search::snapshot::read_manifest;
use crate::store::Store;
use crate::writing::directory::lock::{LockOwner, StoreLock};
use crate::writing::directory::uncommitted::UncommittedSegment;
use fpstore_disk::{TemporaryFile, remove_file, sync_directory};

/// A manifest about to be replaced, and the files added for the new manifest. No other process
/// publishes while the transaction exists. Dropping it uncommitted removes the added files.
#[derive(Debug)]
pub(crate) struct Transaction {
    directory: PathBuf,
    owner: LockOwner,
    /// The manifest on disk, except that `next_number` grows with each added file.
    manifest: Manifest,
    /// Files with final names that no manifest lists yet.
    added: Vec<PathBuf>,
    lock: Option<StoreLock>,
}

impl Drop for Transaction {
    fn drop(&mut self) {
        for path in &self.added {
            // A file that cannot be removed is an orphan, which a later collection removes.
            let _ = remove_file(path);
        }
    }
}

impl Transaction {
    /// A transaction that replaces `manifest`. `lock` is the publication lock, or `None` if no
    /// other process can open `directory`.
    pub(super) fn new(
        directory: &Path,
        owner: LockOwner,
        manifest: Manifest,
        lock: Option<StoreLock>,
    ) -> Self {
        Transaction { directory: directory.into(), owner, manifest, added: Vec::new(), lock }
    }

    /// The current live segments, oldest first.
    pub(crate) fn segments(&self) -> &[SegmentEntry] {
        &self.manifest.segments
    }

    /// Adds the name of a run to the manifest, see [`Manifest::add_run`].
    pub(crate) fn add_run(&mut self, name: &str) {
        self.manifest.add_run(name);
    }

    /// Gives a segment its final name, writes its `deletions`, and returns its manifest entry.
    pub(crate) fn add_segment(
        &mut self,
        segment: UncommittedSegment,
        deletions: Option<&Deletions>,
    ) -> Result<SegmentEntry> {
        let UncommittedSegment { file, mut entry } = segment;
        entry.number = self.next_number()?;
        self.add(file, &segment_file_name(entry.number))?;
        if let Some(deletions) = deletions {
            entry.deletions = Some(self.add_deletions(&entry, deletions)?);
        }
        Ok(entry)
    }

    /// Writes a deletion file of a segment and returns its manifest entry.
    pub(crate) fn add_deletions(
        &mut self,
        of: &SegmentEntry,
        deletions: &Deletions,
    ) -> Result<DeletionEntry> {
        let bytes = deletions.encode(of.digest);
        let mut file =
            TemporaryFile::create_in_store(&self.directory, self.owner.temporary_prefix())?;
        file.write_all(&bytes).map_err(Error::io("write a file in", &self.directory))?;
        file.protect_and_sync()?;
        let number = self.next_number()?;
        self.add(file, &deletions::file_name(number))?;
        Ok(DeletionEntry {
            number,
            digest: Digest::of(&bytes),
            fingerprint_count: deletions.fingerprint_count(),
            id_count: deletions.id_count(),
        })
    }

    fn next_number(&mut self) -> Result<u64> {
        let number = self.manifest.next_number;
        if number >= NUMBER_MAX || self.manifest.generation >= NUMBER_MAX {
            let path = self.directory.display();
            let reason = format!(
                "{path} has used all numbers of generations and files, build a \
                                  new store"
            );
            return Err(Error::TooLarge { reason });
        }
        self.manifest.next_number += 1;
        Ok(number)
    }

    fn add(&mut self, file: TemporaryFile, name: &str) -> Result<()> {
        let path = self.directory.join(name);
        file.rename_to_free_name(&path).map_err(Error::io("move the new file to", &path))?;
        self.added.push(path);
        Ok(())
    }

    /// Writes a manifest that lists `segments` to the file [`manifest::REPAIRED_NAME`], and returns
    /// its path. The current manifest is kept.
    pub(crate) fn set_aside(mut self, segments: Vec<SegmentEntry>) -> Result<PathBuf> {
        let manifest = self.next_manifest(segments)?;
        let prepared = self.prepare(manifest::REPAIRED_NAME, &manifest)?;
        self.replace(manifest::REPAIRED_NAME, prepared)?;
        sync_directory(&self.directory)?;
        Ok(self.directory.join(manifest::REPAIRED_NAME))
    }

    /// Makes `segments` the live segments in one step and returns the generation.
    ///
    /// After an error the store is in the old state; only after [`Error::InEffect`] it is in the
    /// new state, and after [`Error::InDoubt`] its state is unknown.
    pub(crate) fn commit(self, segments: Vec<SegmentEntry>) -> Result<u64> {
        let manifest = self.next_manifest(segments)?;
        self.commit_copy(manifest)
    }

    /// Like [`Transaction::commit`], and refreshes `store`, which has this directory.
    pub(crate) fn commit_to(self, store: &Store, segments: Vec<SegmentEntry>) -> Result<u64> {
        let committed = self.commit(segments);
        // Refresh even after an error: the new manifest may be in place.
        let refreshed = store.refresh();
        let generation = committed?;
        refreshed.map_err(Error::in_effect(generation))?;
        Ok(generation)
    }

    /// Like [`Transaction::commit`], but with a manifest from another directory of the same store.
    /// All files that it lists must be in this directory.
    pub(crate) fn commit_copy(mut self, manifest: Manifest) -> Result<u64> {
        let prepared = self.prepare(manifest::FILE_NAME, &manifest)?;
        let replaced = self
            .replace(manifest::FILE_NAME, prepared)
            .and_then(|()| Ok(sync_directory(&self.directory)?));
        // After an error in a new store, nothing is in effect: the store has no readers before it
        // is moved. In an existing store, no other process publishes, so the manifest on disk is
        // the new or the old one.
        let Err(source) = replaced else { return Ok(manifest.generation) };
        if self.lock.is_none() {
            return Err(source);
        }
        match read_manifest(&self.directory) {
            Ok(found) if found == manifest => Err(Error::in_effect(manifest.generation)(source)),
            Ok(_) => Err(source),
            Err(_) => Err(Error::InDoubt { source: Box::new(source) }),
        }
    }

    /// Removes a manifest that a repair has set aside: if it were used after the next change, it
    /// would undo that change.
    fn remove_repaired(&self) -> Result<()> {
        let repaired = self.directory.join(manifest::REPAIRED_NAME);
        match repaired.symlink_metadata() {
            // A directory with that name is not a manifest and does no harm.
            Ok(found) if !found.is_dir() => {
                remove_file(&repaired).map_err(Error::io("remove", &repaired))
            }
            _ => Ok(()),
        }
    }

    fn next_manifest(&self, segments: Vec<SegmentEntry>) -> Result<Manifest> {
        if segments.len() > SEGMENT_COUNT_MAX {
            let reason = format!("{} segments, but a store has at most 65 536", segments.len());
            return Err(Error::TooLarge { reason });
        }
        // Runs and other fields that the change does not set are kept.
        let before = self.manifest.clone();
        Ok(Manifest { generation: before.generation + 1, segments, ..before })
    }

    /// Writes a manifest under a temporary name, and makes it and the names of new files durable.
    fn prepare(&self, name: &str, manifest: &Manifest) -> Result<TemporaryFile> {
        let path = self.directory.join(name);
        let mut temporary =
            TemporaryFile::create_in_store(&self.directory, self.owner.temporary_prefix())?;
        temporary.write_all(&manifest.encode()).map_err(Error::io("write", &path))?;
        // The names of new files must be durable before a manifest uses them. The directory and the
        // temporary file are synced in parallel, which takes a slow disk the time of one sync.
        let sync_names = || sync_directory(&self.directory);
        let (bytes, names) = std::thread::scope(|scope| {
            match std::thread::Builder::new().spawn_scoped(scope, sync_names) {
                Ok(names) => (temporary.sync(&path), names.join()),
                Err(_) => (temporary.sync(&path), Ok(sync_names())),
            }
        });
        bytes?;
        names.unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
        if name == manifest::FILE_NAME {
            self.remove_repaired()?;
        }
        Ok(temporary)
    }

    /// Renames a prepared manifest to `name` in one step, replacing an existing file.
    fn replace(&mut self, name: &str, prepared: TemporaryFile) -> Result<()> {
        let path = self.directory.join(name);
        // A rename that reports an error may nevertheless have replaced the file. From here on the
        // added files may be live: the next garbage collection reads the manifest and decides.
        self.added.clear();
        prepared.rename_over(&path).map_err(Error::io("replace", &path))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn transaction(next_number: u64, generation: u64) -> Transaction {
        let (segments, runs) = (Vec::new(), vec!["night".to_string()]);
        let manifest = Manifest { store_id: [7; 16], generation, next_number, segments, runs };
        Transaction::new(Path::new("."), LockOwner::Writer, manifest, None)
    }

    #[test]
    fn numbers_and_generations_end_before_their_largest() {
        for (next_number, generation, is_left) in [
            (1, 1, true),
            (NUMBER_MAX - 1, NUMBER_MAX - 1, true),
            (NUMBER_MAX, 1, false),
            (1, NUMBER_MAX, false),
        ] {
            let mut transaction = transaction(next_number, generation);
            match transaction.next_number() {
                Ok(number) => {
                    assert!(is_left && number == next_number);
                    assert_eq!(transaction.manifest.next_number, number + 1);
                }
                Err(error) => assert!(!is_left && matches!(error, Error::TooLarge { .. })),
            }
        }
    }

    #[test]
    fn the_next_manifest_counts_on_keeps_the_runs_and_has_a_limit() {
        let transaction = transaction(9, 4);
        let entry = SegmentEntry {
            number: 1,
            file_len: 0,
            fingerprint_count: 0,
            digest: Digest::NONE,
            deletions: None,
            label: String::new(),
        };
        let entries = |count| vec![entry.clone(); count];
        let next = transaction.next_manifest(entries(SEGMENT_COUNT_MAX)).unwrap();
        assert_eq!((next.generation, next.next_number, next.store_id), (5, 9, [7; 16]));
        assert_eq!((next.segments.len(), next.runs), (SEGMENT_COUNT_MAX, vec!["night".into()]));
        let refused = transaction.next_manifest(entries(SEGMENT_COUNT_MAX + 1)).unwrap_err();
        assert!(matches!(&refused, Error::TooLarge { reason } if reason.starts_with("65537 seg")));
    }
}
