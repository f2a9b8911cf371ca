//! The directory of a copy of a store: it has the store id of the original, and receives whole
//! snapshots of the original.
//!
//! An unfinished copy has files but no manifest, so that it is not mistaken for a store. The next
//! run finds the files and continues.

use std::io;
use std::path::Path;

use crate::base::error::{Error, Result};
use crate::format::manifest::{self, Manifest, StoreId};
use crate::search::snapshot::read_manifest;
use crate::writing::directory::abandoned::is_of_a_store;
use crate::writing::directory::followed::MARK;
use crate::writing::directory::lock::lock_writer;
use crate::writing::directory::{Destination, OpenMode, Patience, StoreDirectory, check_output};
use fpstore_disk::{create_directory, names_in, parent_of, sync_directory};

/// Opens the directory `path` for a copy of the store `store_id`, under the writer lock; makes the
/// directory if necessary. Also returns its manifest, if it has one.
pub(crate) fn open_copy(
    path: &Path,
    store_id: StoreId,
    patience: Patience,
) -> Result<(StoreDirectory, Option<Manifest>)> {
    let has_manifest = || path.join(manifest::FILE_NAME).symlink_metadata().is_ok();
    if !has_manifest() {
        check_output(path)?;
        match create_directory(path) {
            Ok(()) => sync_directory(parent_of(path))?,
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(source) => return Err(Error::io("make", path)(source)),
        }
        let lock = lock_writer(path, &patience)?;
        // Another process may have finished its copy before it released the lock.
        if !has_manifest() {
            let is_of_a_copy = |name: &String| is_of_a_store(name) || name == MARK;
            if !names_in(path)?.iter().all(is_of_a_copy) {
                let found = "a directory with other files in it";
                return Err(Error::NotAStore { path: path.into(), found });
            }
            return Ok((StoreDirectory::for_writer(path, lock, Some(store_id), patience)?, None));
        }
    }
    let directory = Destination::acquire_copy(path.into(), OpenMode::Change, patience)?;
    let directory = directory.open(None)?;
    Ok((directory, Some(read_manifest(path)?)))
}
