//! Paths at which no output may be written.

use std::path::Path;

use crate::base::error::{Error, Result};
use crate::format::manifest;
use crate::search::snapshot::read_manifest;
use fpstore_base::read_inputs;
use fpstore_disk::parent_of;

/// Rejects an output inside a store, which only its writers may change, an output that would
/// replace an input of this process, and an output in a folder whose files are inputs. Inputs are
/// known if [`remember`](fpstore_base::read_inputs::remember) was called.
///
/// Everything that makes stores and segment files calls this at the start and before the output
/// gets its final name. Programs call it for their other outputs.
///
/// # Errors
///
/// [`Error::InvalidOptions`] with the path and a remedy.
pub fn check_output(path: &Path) -> Result<()> {
    let refused = |fault: &str| {
        let reason = format!("{} {fault}", path.display());
        Err(Error::InvalidOptions { reason })
    };
    if let Some(fault) = read_inputs::fault_of_output(path) {
        return refused(&fault);
    }
    // Some folders may not exist yet.
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
