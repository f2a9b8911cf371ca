//! The memory budget of all request bodies and long answers.

use std::ops::Deref;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use hyper::body::Bytes;

/// Answers and lines of streams count in the budget from this length on. The memory of shorter
/// ones is bounded only by the number of connections.
const SHORT_LEN: usize = 1 << 16;

/// Counts the bytes of all bodies and long answers in memory.
#[derive(Debug)]
pub(crate) struct MemoryBudget {
    held: AtomicU64,
    /// The number of long answers, and of long bodies that are being parsed.
    extras: AtomicU64,
    most: u64,
}

impl MemoryBudget {
    /// A budget of `most` bytes, but at least of `longest`, the longest accepted body.
    pub(crate) fn new(most: u64, longest: u64) -> Arc<Self> {
        Arc::new(MemoryBudget {
            held: AtomicU64::new(0),
            extras: AtomicU64::new(0),
            most: most.max(longest),
        })
    }

    /// The size of the budget in bytes.
    pub(crate) fn most(&self) -> u64 {
        self.most
    }

    /// The bytes that are charged now.
    pub(crate) fn held(&self) -> u64 {
        self.held.load(Relaxed)
    }

    /// A charge of 0 bytes.
    pub(crate) fn charge(self: &Arc<Self>) -> Charge {
        Charge { counted: 0, budget: Arc::clone(self) }
    }

    /// Counts `len` bytes until the returned value is dropped. Returns `None` if the budget is
    /// exceeded; only a single [`Extra`] may exceed it.
    pub(crate) fn extra(self: &Arc<Self>, len: usize) -> Option<Extra> {
        let mut extra = self.start_extra();
        if !extra.charge.cover(len) {
            if self.extras.load(Relaxed) > 1 {
                return None;
            }
            extra.charge.cover_anyway(len);
        }
        Some(extra)
    }

    fn start_extra(self: &Arc<Self>) -> Extra {
        self.extras.fetch_add(1, Relaxed);
        Extra { charge: self.charge() }
    }

    /// An empty body; `len` is its announced length, 0 if unknown.
    pub(crate) fn body(self: &Arc<Self>, len: u64) -> HeldBody {
        let announced = usize::try_from(len).ok().filter(|len| *len > 0).unwrap_or(usize::MAX);
        HeldBody { bytes: Vec::new(), announced, charge: self.charge() }
    }
}

/// Bytes that count in the budget until the value is dropped.
#[derive(Debug)]
pub(crate) struct Charge {
    counted: usize,
    budget: Arc<MemoryBudget>,
}

impl Charge {
    /// Raises the charge to `len` bytes, if it is lower; `false` if the budget is exceeded.
    pub(crate) fn cover(&mut self, len: usize) -> bool {
        let more = len.saturating_sub(self.counted) as u64;
        let most = self.budget.most;
        let fits = |held: u64| held.checked_add(more).filter(|sum| *sum <= most);
        let is_covered = more == 0 || self.budget.held.fetch_update(Relaxed, Relaxed, fits).is_ok();
        if is_covered {
            self.counted += more as usize;
        }
        is_covered
    }

    /// Like `cover`, but for a growing buffer: raises the charge in large steps, and only once the
    /// buffer is long.
    pub(crate) fn cover_long(&mut self, len: usize) -> bool {
        len < SHORT_LEN || len <= self.counted || self.cover(len + SHORT_LEN) || self.cover(len)
    }

    /// Raises the charge to `len` bytes, even if the budget is exceeded.
    fn cover_anyway(&mut self, len: usize) {
        let more = len.saturating_sub(self.counted);
        self.budget.held.fetch_add(more as u64, Relaxed);
        self.counted += more;
    }

    /// Lowers the charge to `len` bytes, if it is higher.
    pub(crate) fn shrink(&mut self, len: usize) {
        let less = self.counted.saturating_sub(len);
        self.budget.held.fetch_sub(less as u64, Relaxed);
        self.counted -= less;
    }
}

impl Drop for Charge {
    fn drop(&mut self) {
        self.shrink(0);
    }
}

/// The bytes of a body. They count in the budget until the value is dropped, together with the
/// memory reserved for the rest of the body.
#[derive(Debug)]
pub(crate) struct HeldBody {
    bytes: Vec<u8>,
    announced: usize,
    charge: Charge,
}

impl HeldBody {
    /// Adds a part; `false`, without adding it, if the budget has no room for it.
    pub(crate) fn push(&mut self, part: &[u8]) -> bool {
        let needed = self.bytes.len() + part.len();
        let counted = self.charge.counted;
        if needed > counted {
            // Doubling the memory avoids copies, up to the announced length.
            let wanted = (2 * counted).min(self.announced).max(needed);
            if !self.charge.cover(wanted) && !self.charge.cover(needed) {
                return false;
            }
            self.bytes.reserve_exact(self.charge.counted - self.bytes.len());
        }
        self.bytes.extend_from_slice(part);
        true
    }

    /// Frees the received bytes.
    pub(crate) fn clear(&mut self) {
        self.bytes = Vec::new();
        self.charge.shrink(0);
    }

    /// Frees the bytes; `len` bytes continue to count, for the values parsed from them.
    pub(crate) fn into_charge(self, len: usize) -> Charge {
        let HeldBody { bytes, mut charge, .. } = self;
        drop(bytes);
        charge.shrink(len);
        charge
    }
}

impl Deref for HeldBody {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.bytes
    }
}

/// The bytes of an answer. A long answer counts in the budget until it is sent.
#[derive(Debug, Default)]
pub(crate) struct AnswerBytes {
    pub(crate) bytes: Vec<u8>,
    long: Option<Extra>,
}

/// The charge of a long answer, or of the memory for parsing a long body.
#[derive(Debug)]
pub(crate) struct Extra {
    charge: Charge,
}

impl Drop for Extra {
    fn drop(&mut self) {
        self.charge.budget.extras.fetch_sub(1, Relaxed);
    }
}

impl AnswerBytes {
    /// Counts the bytes written so far; `false` if the budget is exceeded. A single long answer is
    /// never refused.
    pub(crate) fn has_room(&mut self, budget: &Arc<MemoryBudget>) -> bool {
        let len = self.bytes.len();
        if len < SHORT_LEN {
            return true;
        }
        let long = self.long.get_or_insert_with(|| budget.start_extra());
        if long.charge.cover_long(len) {
            return true;
        }
        let is_alone = budget.extras.load(Relaxed) == 1;
        if is_alone {
            long.charge.cover_anyway(len);
        }
        is_alone
    }

    /// The complete answer, ready to send.
    pub(crate) fn sealed(mut self) -> Bytes {
        let Some(long) = &mut self.long else { return self.bytes.into() };
        // A growing vector may have twice the needed capacity.
        self.bytes.shrink_to_fit();
        long.charge.shrink(self.bytes.len());
        Bytes::from_owner(self)
    }
}

impl AsRef<[u8]> for AnswerBytes {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bodies_share_the_memory_and_give_it_back() {
        let budget = MemoryBudget::new(10, 4);
        let (mut one, mut two) = (budget.body(0), budget.body(10));
        assert!(one.push(b"123456") && two.push(b"abcd"));
        assert!(!two.push(b"e") && one.push(b""));
        assert_eq!(&two[..], b"abcd", "what does not fit is not there in part");
        drop(one);
        assert!(two.push(b"efghij"));
        two.clear();
        assert!(two.is_empty() && two.push(b"0123456789"));
        // The memory for parsing is charged in addition; parsing a single body is never refused.
        let parsing = budget.extra(20);
        assert!(parsing.is_some() && budget.held() == 30);
        assert!(budget.extra(1).is_none() && budget.held() == 30);
        drop(parsing);
        // The values parsed from a body are charged instead of the body.
        let charge = two.into_charge(3);
        assert_eq!(budget.held(), 3);
        drop(charge);
        // The announced length is charged before the bytes arrive.
        let (mut known, mut unknown) = (budget.body(6), budget.body(0));
        assert!(known.push(b"1234") && known.push(b"5") && budget.held() == 6);
        assert!(unknown.push(b"12") && unknown.push(b"3") && budget.held() == 10);
        drop((known, unknown));
        assert_eq!(budget.held(), 0);
        assert_eq!(MemoryBudget::new(1, 4).most(), 4, "the longest body fits");
    }

    #[test]
    fn answers_share_the_memory_with_bodies_and_one_always_finds_room() {
        let (long, most) = (3 * SHORT_LEN, 4 * SHORT_LEN);
        let budget = MemoryBudget::new(most as u64, 4);
        let answer = |len| AnswerBytes { bytes: vec![7; len], long: None };
        let mut body = budget.body(3);
        assert!(body.push(b"123"));
        let mut short = answer(SHORT_LEN - 1);
        assert!(short.has_room(&budget) && budget.held() == 3);
        assert_eq!(short.sealed().len(), SHORT_LEN - 1);
        let mut first = answer(long);
        assert!(first.has_room(&budget));
        assert_eq!(budget.held() as usize, 3 + long, "a step ahead has no room");
        first.bytes.resize(2 * most, 7);
        assert!(first.has_room(&budget), "it is alone");
        let mut second = answer(SHORT_LEN);
        assert!(!second.has_room(&budget) && !body.push(b"4"));
        drop(second);
        let first = first.sealed();
        assert_eq!((first.len(), budget.held() as usize), (2 * most, 3 + 2 * most));
        drop(first);
        let (mut one, mut two) = (answer(SHORT_LEN), answer(SHORT_LEN));
        assert!(one.has_room(&budget) && two.has_room(&budget));
        // Charges grow in steps of `SHORT_LEN`: each is one step larger than its answer.
        assert_eq!(budget.held() as usize, 3 + 3 * SHORT_LEN);
        let one = one.sealed();
        assert_eq!(budget.held() as usize, 3 + 2 * SHORT_LEN);
        drop((one, two, body));
        assert_eq!((budget.held(), budget.extras.load(Relaxed)), (0, 0));
    }
}
