//! The tables of gathered values that all searchers of a store share, from one state to the next.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, TryLockError};

use super::gathered::Gathered;

/// The tables. No segment is in two of them.
#[derive(Debug, Default)]
pub(crate) struct Pool {
    /// Counts the changes. Searchers read it often, so it is outside of the lock.
    version: AtomicU64,
    tables: Mutex<Tables>,
}

#[derive(Debug, Default)]
pub(crate) struct Tables {
    /// The newest state for which the tables were made. A searcher of an older state changes
    /// nothing.
    pub(crate) generation: u64,
    pub(crate) all: Vec<Arc<Gathered>>,
    /// Whether the values of two tables were too crowded for one table.
    pub(crate) are_crowded: bool,
}

impl Pool {
    pub(crate) fn version(&self) -> u64 {
        self.version.load(Ordering::Acquire)
    }

    /// The tables, to read or to change; `None` while another thread changes them, since no query
    /// waits for that.
    pub(crate) fn try_lock(&self) -> Option<MutexGuard<'_, Tables>> {
        match self.tables.try_lock() {
            Ok(tables) => Some(tables),
            // Tables are inserted as a whole.
            Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        }
    }

    /// Publishes a change of the tables; the caller still holds the lock.
    pub(crate) fn announce(&self) -> u64 {
        self.version.fetch_add(1, Ordering::Release) + 1
    }
}
