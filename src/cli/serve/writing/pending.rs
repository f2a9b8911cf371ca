//! Items that were accepted and are not committed yet: they are in no segment, and what is near them
//! is no longer new.

use super::Item;
use fpstore::Fingerprint;

/// The pending items.
#[derive(Debug, Default)]
pub(super) struct Pending {
    items: Vec<Entry>,
}

/// A pending item.
#[derive(Debug)]
pub(super) struct Entry {
    pub(super) item: Item,
    /// Whether its sender was told that it is new.
    pub(super) answered: bool,
}

impl Pending {
    pub(super) fn len(&self) -> usize {
        self.items.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    pub(super) fn push(&mut self, item: Item, answered: bool) {
        self.items.push(Entry { item, answered });
    }

    /// Forgets all from this position on.
    pub(super) fn truncate(&mut self, len: usize) {
        self.items.truncate(len);
    }

    /// Forgets all.
    pub(super) fn clear(&mut self) {
        self.items.clear();
    }

    /// Keeps only those whose senders believe that they are remembered.
    pub(super) fn keep_answered(&mut self) {
        self.items.retain(|entry| entry.answered);
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Item> {
        self.items.iter().map(|entry| &entry.item)
    }

    /// The nearest one within `k` bits; of equal ones the first.
    pub(super) fn nearest(&self, fingerprint: Fingerprint, k: u32) -> Option<(&Item, u32)> {
        // A pass over some thousand values takes microseconds; a commit takes milliseconds.
        self.iter()
            .map(|item| (item, item.fingerprint.distance(fingerprint)))
            .filter(|&(_, distance)| distance <= k)
            .min_by_key(|&(_, distance)| distance)
    }
}
