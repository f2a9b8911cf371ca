//! Reading the files of a snapshot that a writer may remove meanwhile.

use std::io;
use std::sync::Arc;

use crate::base::error::{Error, Result};
use crate::search::snapshot::Snapshot;
use crate::store::Store;

/// The maximum number of attempts if a writer removes segments meanwhile.
const TRIES: u32 = 100;

/// Runs work that reads the segments of the current snapshot of a store by name, and repeats it
/// with a later snapshot if a writer has removed one of them meanwhile. Results of an incomplete
/// attempt must be harmless. If the store has no later snapshot, returns the error of the missing
/// file.
pub(super) fn with_lasting_state<T>(
    store: &Store,
    mut work: impl FnMut(&Arc<Snapshot>) -> Result<T>,
) -> Result<T> {
    let mut snapshot = store.snapshot();
    let mut tries = 1;
    loop {
        match work(&snapshot) {
            Err(Error::Io(gone))
                if gone.source.kind() == io::ErrorKind::NotFound
                    && snapshot.segments().iter().any(|open| open.segment.path() == gone.path)
                    && tries < TRIES =>
            {
                tries += 1;
                let Some(later) = snapshot.next()? else { return Err(Error::Io(gone)) };
                snapshot = later.into();
            }
            done => return done,
        }
    }
}
