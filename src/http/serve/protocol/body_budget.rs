//! The memory that the bodies of all requests, and all long answers, take together.

use std::ops::Deref;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use hyper::body::Bytes;

/// Counts the bytes of all bodies and long answers that are held.
#[derive(Debug)]
pub(crate) struct BodyBudget {
    held: AtomicU64,
    /// How many of them are answers.
    answers: AtomicU64,
    most: u64,
}

impl BodyBudget {
    /// At most so many bytes; `longest` is the longest body that must fit alone.
    pub(crate) fn new(most: u64, longest: u64) -> Arc<Self> {
        Arc::new(BodyBudget {
            held: AtomicU64::new(0),
            answers: AtomicU64::new(0),
            most: most.max(longest),
        })
    }

    /// The most bytes.
    pub(crate) fn most(&self) -> u64 {
        self.most
    }

    /// The bytes of all bodies now.
    pub(crate) fn held(&self) -> u64 {
        self.held.load(Ordering::Relaxed)
    }

    /// An answer, which counts until it is sent; `None` if there is no room for it. One answer always
    /// finds room.
    pub(crate) fn answer(self: &Arc<Self>, mut bytes: Vec<u8>) -> Option<Bytes> {
        // What grew as it was written may take twice its length.
        bytes.shrink_to_fit();
        let (len, order) = (bytes.len() as u64, Ordering::Relaxed);
        let is_alone = self.answers.fetch_add(1, order) == 0;
        let fits = |held: u64| {
            let sum = held.saturating_add(len);
            (is_alone || sum <= self.most).then_some(sum)
        };
        if self.held.fetch_update(order, order, fits).is_err() {
            self.answers.fetch_sub(1, order);
            return None;
        }
        Some(Bytes::from_owner(HeldAnswer { bytes, budget: Arc::clone(self) }))
    }

    /// A body of which nothing has come yet; `len` is what is known of its length, 0 if nothing is.
    pub(crate) fn body(self: &Arc<Self>, len: u64) -> HeldBody {
        let announced = usize::try_from(len).ok().filter(|len| *len > 0).unwrap_or(usize::MAX);
        HeldBody { bytes: Vec::new(), counted: 0, announced, budget: Arc::clone(self) }
    }

    /// Whether there is room for so many more bytes, which then count.
    fn take(&self, more: usize) -> bool {
        let fits = |held: u64| held.checked_add(more as u64).filter(|sum| *sum <= self.most);
        self.held.fetch_update(Ordering::Relaxed, Ordering::Relaxed, fits).is_ok()
    }
}

/// The bytes of a body, which count as long as the value lives, with the memory that is taken for
/// those to come.
#[derive(Debug)]
pub(crate) struct HeldBody {
    bytes: Vec<u8>,
    /// The bytes that count.
    counted: usize,
    announced: usize,
    budget: Arc<BodyBudget>,
}

impl HeldBody {
    /// Adds a part, if there is room for it.
    pub(crate) fn push(&mut self, part: &[u8]) -> bool {
        let needed = self.bytes.len() + part.len();
        if needed > self.counted {
            // Memory that doubles spares copies; no more than the whole body will take.
            let wanted = (2 * self.counted).min(self.announced).max(needed);
            let sizes = [wanted, needed];
            let size = sizes.into_iter().find(|size| self.budget.take(size - self.counted));
            let Some(size) = size else { return false };
            self.bytes.reserve_exact(size - self.bytes.len());
            self.counted = size;
        }
        self.bytes.extend_from_slice(part);
        true
    }

    /// Forgets what has come.
    pub(crate) fn clear(&mut self) {
        self.budget.held.fetch_sub(self.counted as u64, Ordering::Relaxed);
        self.counted = 0;
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

/// The bytes of an answer, which count as long as the value lives.
struct HeldAnswer {
    bytes: Vec<u8>,
    budget: Arc<BodyBudget>,
}

impl AsRef<[u8]> for HeldAnswer {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

impl Drop for HeldAnswer {
    fn drop(&mut self) {
        self.budget.held.fetch_sub(self.bytes.len() as u64, Ordering::Relaxed);
        self.budget.answers.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bodies_share_the_memory_and_give_it_back() {
        let budget = BodyBudget::new(10, 4);
        let (mut one, mut two) = (budget.body(0), budget.body(10));
        assert!(one.push(b"123456") && two.push(b"abcd"));
        assert!(!two.push(b"e") && one.push(b""));
        assert_eq!(&two[..], b"abcd", "what does not fit is not there in part");
        drop(one);
        assert!(two.push(b"efghij"));
        two.clear();
        assert!(two.is_empty() && two.push(b"0123456789"));
        drop(two);
        // The memory for what will come counts, where it is known that it will.
        let (mut known, mut unknown) = (budget.body(6), budget.body(0));
        assert!(known.push(b"1234") && known.push(b"5") && budget.held() == 6);
        assert!(unknown.push(b"12") && unknown.push(b"3") && budget.held() == 10);
        drop((known, unknown));
        assert_eq!(budget.held(), 0);
        assert_eq!(BodyBudget::new(1, 4).most(), 4, "the longest body fits");
    }

    #[test]
    fn answers_share_the_memory_with_bodies_and_one_always_finds_room() {
        let budget = BodyBudget::new(10, 4);
        let mut body = budget.body(3);
        assert!(body.push(b"123"));
        let long = budget.answer(vec![7; 20]).unwrap();
        assert_eq!((budget.held(), &long[..]), (23, &[7; 20][..]));
        assert!(budget.answer(vec![1]).is_none() && !body.push(b"4"));
        drop(long);
        let (one, two) = (budget.answer(vec![1; 4]).unwrap(), budget.answer(vec![2; 3]).unwrap());
        assert!(budget.answer(vec![3]).is_none());
        drop((one, two, body));
        assert_eq!(budget.held(), 0);
    }
}
