//! The state of a store in one snapshot: its identity and its files, for programs that copy or
//! serve stores.

use std::fs::File;
use std::path::PathBuf;
use std::sync::Arc;

use super::Store;
use crate::base::error::Result;
use crate::format::{deletions, manifest};
use crate::search::Searcher;
use crate::search::snapshot::Snapshot;
use crate::segment::open_file;
use fpstore_disk::Digest;

/// The name of the manifest file, which lists all other files of a snapshot.
pub const MANIFEST: &str = manifest::FILE_NAME;

/// Identifies a snapshot of a store. For several united stores it combines their identities.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct StateId {
    /// The id of the store.
    pub store_id: [u8; 16],
    /// The generation: the number of manifests that the store has had.
    pub generation: u64,
    /// The SipHash-1-3-128 of the manifest under a key of zeros.
    pub manifest: [u8; 16],
}

impl StateId {
    fn of(state: &Snapshot) -> Self {
        StateId {
            store_id: state.store_id(),
            generation: state.generation(),
            manifest: state.manifest_digest().bytes(),
        }
    }
}

/// A file of a snapshot.
#[derive(Debug)]
pub struct StateFile {
    /// The bytes of the file, or the open file.
    pub contents: FileContents,
    /// The length of the file in bytes.
    pub len: u64,
    /// The SipHash-1-3-128 of the file under a key of zeros.
    pub digest: [u8; 16],
    /// The identity of the snapshot that contains the file.
    pub state: StateId,
    /// Prevents a writer from removing the file while it is read.
    pub held: HeldState,
}

/// The contents of a file of a snapshot.
#[derive(Debug)]
pub enum FileContents {
    /// The bytes, in memory.
    Bytes(Vec<u8>),
    /// An open file, to be read from its start.
    File(File),
}

/// Prevents the files of a snapshot from being removed, like an open store.
#[derive(Clone, Debug)]
pub struct HeldState(#[expect(dead_code, reason = "held for its locks")] Arc<Snapshot>);

impl Store {
    /// Identifies the snapshot that this handle shows.
    pub fn state_id(&self) -> StateId {
        StateId::of(&self.snapshot())
    }

    /// The directories of the stores that this handle reads: one, unless several stores are
    /// [united](Store::is_united).
    pub fn paths(&self) -> Vec<PathBuf> {
        let state = self.snapshot();
        match state.states() {
            [] => vec![state.path().into()],
            states => states.iter().map(|state| state.path().into()).collect(),
        }
    }

    /// Whether this handle reads several stores together, see [`Stores`](crate::Stores).
    pub fn is_united(&self) -> bool {
        self.snapshot().is_united()
    }

    /// A file of the snapshot that this handle shows: [`MANIFEST`], or a name listed in the
    /// manifest. `None` if the snapshot has no such file. A directory with copies of all files is a
    /// copy of the store in this snapshot.
    ///
    /// # Errors
    ///
    /// [`Error::Io`](crate::Error::Io) if a segment cannot be opened.
    pub fn file(&self, name: &str) -> Result<Option<StateFile>> {
        let state = self.snapshot();
        let file = |contents, len, digest: Digest| {
            let (digest, id) = (digest.bytes(), StateId::of(&state));
            let held = HeldState(Arc::clone(&state));
            Some(StateFile { contents, len, digest, state: id, held })
        };
        let whole = |bytes: Vec<u8>, digest| {
            let len = bytes.len() as u64;
            file(FileContents::Bytes(bytes), len, digest)
        };
        if name == MANIFEST {
            return Ok(whole(state.manifest_bytes().to_vec(), state.manifest_digest()));
        }
        for open in state.segments() {
            let entry = &open.entry;
            if entry.file_name() == name {
                let opened = open_file(&state.path().join(name))?;
                return Ok(file(FileContents::File(opened), entry.file_len, entry.digest));
            }
            if let (Some(of), Some(deleted)) = (&entry.deletions, &open.deleted)
                && deletions::file_name(of.number) == name
            {
                let bytes = deleted.encode(entry.digest);
                let digest = Digest::of(&bytes);
                return Ok(whole(bytes, digest));
            }
        }
        Ok(None)
    }
}

impl Searcher {
    /// Identifies the searched snapshot.
    pub fn state_id(&self) -> StateId {
        StateId::of(self.snapshot())
    }
}
