//! Where nothing may be written.

use std::path::Path;

use crate::base::error::{Error, Result};
use crate::format::manifest;
use crate::search::snapshot::read_manifest;
use fpstore_base::read_inputs;
use fpstore_disk::parent_of;

/// Refuses an output that would lie in a store, which nothing but its writers may write to, or take
/// the place of an input of this process, or lie in a folder whose files are read; inputs are known
/// where [`remember`](fpstore_base::read_inputs::remember) was called.
///
/// All that makes stores and segment files asks this, at the beginning and before the output gets its
/// name. A program asks it for its other outputs.
///
/// # Errors
///
/// [`Error::InvalidOptions`], with the name and what to do.
pub fn check_output(path: &Path) -> Result<()> {
    let refused = |fault: &str| {
        let reason = format!("{} {fault}", path.display());
        Err(Error::InvalidOptions { reason })
    };
    if let Some(fault) = read_inputs::fault_of_output(path) {
        return refused(&fault);
    }
    // Folders may be missing that will be made.
    let place = read_inputs::place_of(path);
    let folder = parent_of(&place);
    let is_store = |folder: &&Path| {
        folder.join(manifest::FILE_NAME).is_file() && read_manifest(folder).is_ok()
    };
    match folder.ancestors().find(is_store) {
        None => Ok(()),
        Some(store) if store == folder => {
            refused("lies in a store, which nothing else may write to; name another output")
        }
        Some(store) => refused(&format!(
            "lies in the store {}, which nothing else may write to; name another output",
            store.display()
        )),
    }
}
