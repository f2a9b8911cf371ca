//! The end of adding: records are in the store, and its segments are merged if that is possible.

use fpstore::{Error, Store};
use fpstore_base::chain;

use crate::session::monitor::{INTERRUPTED, Monitor};

/// The store after [`fpstore::Writer::finish`], or nothing after a warning where the records were
/// added and merging failed: a failure would make scripts add them again. After a signal the program
/// ends.
pub(crate) fn merged(
    finished: Result<Store, Error>,
    monitor: &Monitor,
) -> anyhow::Result<Option<Store>> {
    match finished {
        Err(error @ Error::Unmerged { .. }) => {
            monitor.finish();
            warn_unmerged(&error);
            monitor.check().inspect_err(|_| std::process::exit(INTERRUPTED.into()))?;
            Ok(None)
        }
        finished => Ok(Some(finished?)),
    }
}

/// Says that segments were not merged, and what helps.
pub(crate) fn warn_unmerged(error: &Error) {
    let why = chain(error);
    message!("warning: {why}; 'fpstore compact' merges them");
}
