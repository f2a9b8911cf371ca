//! The follower mark: the file `FOLLOWS` in the directory of a copy that receives the snapshots of
//! another store, the original.
//!
//! If another writer changed the copy, its history would differ from the history of the original,
//! and the next snapshot would be rejected. So writers reject a directory with the mark, until
//! [`promote`](crate::writer::promote) removes the mark.

use std::io::{ErrorKind, Read, Write};
use std::path::Path;

use crate::base::error::{Error, Result};
use fpstore_disk::plain_file::{self, Refused};
use fpstore_disk::{TemporaryFile, remove_file, sync_directory};

/// The name of the follower mark. The file contains the source of the snapshots and a newline.
pub(super) const MARK: &str = "FOLLOWS";
/// The maximum number of bytes read from a follower mark.
const SOURCE_LEN_MAX: u64 = 4096;

/// The source of the snapshots that the directory `path` receives; `None` without a follower mark.
pub(crate) fn source_of(path: &Path) -> Result<Option<String>> {
    let place = path.join(MARK);
    let mut bytes = Vec::new();
    let read = match plain_file::open(&place) {
        Ok(file) => file.take(SOURCE_LEN_MAX).read_to_end(&mut bytes).map(drop),
        // A directory or special file with that name is not a follower mark and does no harm.
        Err(Refused::Kind(_)) => return Ok(None),
        Err(Refused::Io(error)) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(Refused::Io(error)) => Err(error),
    };
    read.map_err(Error::io("read", &place))?;
    Ok(Some(String::from_utf8_lossy(&bytes).trim().into()))
}

/// Rejects a directory that follows another store.
pub(crate) fn refuse_follower(path: &Path) -> Result<()> {
    match source_of(path)? {
        Some(followed) => Err(Error::Follower { path: path.into(), followed }),
        None => Ok(()),
    }
}

/// Durably marks the directory `path` as a follower of the source `followed`. The caller must hold
/// the writer lock of the directory.
pub(crate) fn mark_follower(path: &Path, followed: &str) -> Result<()> {
    if source_of(path)?.as_deref() == Some(followed) {
        return Ok(());
    }
    let place = path.join(MARK);
    let mut file = TemporaryFile::create_in_store(path, super::lock::TEMPORARY_PREFIX)?;
    writeln!(file, "{followed}").map_err(Error::io("write", &place))?;
    file.sync(&place)?;
    file.rename_over(&place).map_err(Error::io("move the new file to", &place))?;
    Ok(sync_directory(path)?)
}

/// Removes the follower mark of the directory `path`. The caller must hold its writer lock.
pub(crate) fn unmark_follower(path: &Path) -> Result<()> {
    let place = path.join(MARK);
    remove_file(&place).map_err(Error::io("remove", &place))?;
    Ok(sync_directory(path)?)
}
