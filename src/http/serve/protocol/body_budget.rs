//! The memory that the bodies of all requests take together.

use std::ops::Deref;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Counts the bytes of all bodies that are held.
#[derive(Debug)]
pub(crate) struct BodyBudget {
    held: AtomicU64,
    most: u64,
}

impl BodyBudget {
    /// At most so many bytes; `longest` is the longest body that must fit alone.
    pub(crate) fn new(most: u64, longest: u64) -> Arc<Self> {
        Arc::new(BodyBudget { held: AtomicU64::new(0), most: most.max(longest) })
    }

    /// The most bytes.
    pub(crate) fn most(&self) -> u64 {
        self.most
    }

    /// The bytes of all bodies now.
    pub(crate) fn held(&self) -> u64 {
        self.held.load(Ordering::Relaxed)
    }

    /// A body of which nothing has come yet.
    pub(crate) fn body(self: &Arc<Self>) -> HeldBody {
        HeldBody { bytes: Vec::new(), budget: Arc::clone(self) }
    }
}

/// The bytes of a body, which count as long as the value lives.
#[derive(Debug)]
pub(crate) struct HeldBody {
    bytes: Vec<u8>,
    budget: Arc<BodyBudget>,
}

impl HeldBody {
    /// Adds a part, if there is room for it.
    pub(crate) fn push(&mut self, part: &[u8]) -> bool {
        let len = part.len() as u64;
        let fits = |held: u64| held.checked_add(len).filter(|sum| *sum <= self.budget.most);
        let order = Ordering::Relaxed;
        let has_room = self.budget.held.fetch_update(order, order, fits).is_ok();
        if has_room {
            self.bytes.extend_from_slice(part);
        }
        has_room
    }

    /// Forgets what has come.
    pub(crate) fn clear(&mut self) {
        self.budget.held.fetch_sub(self.bytes.len() as u64, Ordering::Relaxed);
        self.bytes = Vec::new();
    }
}

impl Deref for HeldBody {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.bytes
    }
}

impl Drop for HeldBody {
    fn drop(&mut self) {
        self.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bodies_share_the_memory_and_give_it_back() {
        let budget = BodyBudget::new(10, 4);
        let (mut one, mut two) = (budget.body(), budget.body());
        assert!(one.push(b"123456") && two.push(b"abcd"));
        assert!(!two.push(b"e") && one.push(b""));
        assert_eq!(&two[..], b"abcd", "what does not fit is not there in part");
        drop(one);
        assert!(two.push(b"efghij"));
        two.clear();
        assert!(two.is_empty() && two.push(b"0123456789"));
        assert_eq!(BodyBudget::new(1, 4).most(), 4, "the longest body fits");
    }
}
