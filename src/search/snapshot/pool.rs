//! The tables of gathered values that all searchers of a store share, also across snapshots.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, TryLockError};

use super::gathered::Gathered;

/// All shared tables. No segment is in more than one of them.
#[derive(Debug, Default)]
pub(crate) struct Pool {
    /// Counts the changes of the tables. It is outside of the lock because searchers read it often.
    version: AtomicU64,
    tables: Mutex<Tables>,
}

#[derive(Debug, Default)]
pub(crate) struct Tables {
    /// The newest generation for which the tables were made. Searchers of older generations do not
    /// change the tables.
    pub(crate) generation: u64,
    pub(crate) all: Vec<Arc<Gathered>>,
    /// Whether merging two tables failed because their values are too clustered.
    pub(crate) are_crowded: bool,
}

impl Pool {
    pub(crate) fn version(&self) -> u64 {
        self.version.load(Ordering::Acquire)
    }

    /// The tables, to read or to change; `None` while another thread uses them, because queries
    /// never wait for this lock.
    pub(crate) fn try_lock(&self) -> Option<MutexGuard<'_, Tables>> {
        match self.tables.try_lock() {
            Ok(tables) => Some(tables),
            // The tables are valid even after a panic, because a change inserts a whole table.
            Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        }
    }

    /// Tells all searchers that the tables changed; the caller still holds the lock.
    pub(crate) fn announce(&self) -> u64 {
        self.version.fetch_add(1, Ordering::Release) + 1
    }
}
