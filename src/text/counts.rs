//! How often each feature occurs in one document.

/// Counts of hashes; remembers its memory from one document to the next.
///
/// Open addressing with the hash as its own place: hashes are as good as random, and where
/// they are not (an unkeyed hash and a hostile text) a multiplication spreads them.
#[derive(Clone, Debug)]
pub(crate) struct FeatureCounts {
    slots: Vec<Slot>,
    /// A slot is in use if it was written since this number changed; so forgetting takes no time.
    epoch: u32,
    used_count: usize,
    shift: u32,
}

#[derive(Clone, Copy, Debug, Default)]
struct Slot {
    hash: u64,
    epoch: u32,
    /// Stays at the greatest number rather than start anew.
    count: u32,
}

const SLOT_COUNT_MIN: usize = 1024;
/// More slots than this are not kept for the next document.
const SLOT_COUNT_KEPT: usize = 1 << 20;

impl Default for FeatureCounts {
    fn default() -> Self {
        let slots = vec![Slot::default(); SLOT_COUNT_MIN];
        FeatureCounts { slots, epoch: 1, used_count: 0, shift: 64 - SLOT_COUNT_MIN.ilog2() }
    }
}

impl FeatureCounts {
    /// Counts one more occurrence.
    ///
    /// Whether it is the first cannot be foretold, so there is one way for both.
    #[inline]
    pub(crate) fn add(&mut self, hash: u64) {
        let mask = self.slots.len() - 1;
        let mut place = self.place(hash);
        loop {
            // The mask keeps it in bounds, and the compiler knows it.
            let slot = &mut self.slots[place & mask];
            let is_free = slot.epoch != self.epoch;
            if is_free | (slot.hash == hash) {
                let count = slot.count.saturating_add(1);
                let count = std::hint::select_unpredictable(is_free, 1, count);
                *slot = Slot { hash, epoch: self.epoch, count };
                self.used_count += usize::from(is_free);
                if self.used_count * 2 > self.slots.len() {
                    self.grow();
                }
                return;
            }
            place += 1;
        }
    }

    #[inline]
    fn place(&self, hash: u64) -> usize {
        (hash.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> self.shift) as usize
    }

    #[cold]
    fn grow(&mut self) {
        let len = self.slots.len() * 2;
        let old = std::mem::replace(&mut self.slots, vec![Slot::default(); len]);
        self.shift -= 1;
        for slot in old.into_iter().filter(|slot| slot.epoch == self.epoch) {
            let mut place = self.place(slot.hash);
            while self.slots[place & (len - 1)].epoch == self.epoch {
                place += 1;
            }
            self.slots[place & (len - 1)] = slot;
        }
    }

    /// The distinct hashes with their counts, in no order that means anything.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (u64, u64)> {
        let used = self.slots.iter().filter(|slot| slot.epoch == self.epoch);
        used.map(|slot| (slot.hash, u64::from(slot.count)))
    }

    /// Forgets all counts, and the memory that a huge document took.
    pub(crate) fn clear(&mut self) {
        self.used_count = 0;
        match self.epoch.checked_add(1) {
            Some(epoch) if self.slots.len() <= SLOT_COUNT_KEPT => self.epoch = epoch,
            _ => *self = FeatureCounts::default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_survive_growth_and_are_forgotten() {
        let mut counts = FeatureCounts::default();
        for round in 1..=3_u64 {
            for hash in 0..5000_u64 {
                for _ in 0..1 + hash % round {
                    counts.add(hash << 40);
                }
            }
            let mut found: Vec<(u64, u64)> = counts.iter().collect();
            found.sort_unstable();
            assert_eq!(found.len(), 5000);
            for (number, (hash, count)) in (0_u64..).zip(found) {
                assert_eq!((hash, count), (number << 40, 1 + number % round));
            }
            counts.clear();
            assert_eq!(counts.iter().count(), 0);
        }
    }

    #[test]
    fn the_memory_of_a_huge_document_is_given_back() {
        let mut counts = FeatureCounts::default();
        (0..SLOT_COUNT_KEPT as u64).for_each(|hash| counts.add(hash));
        counts.clear();
        assert_eq!(counts.slots.len(), SLOT_COUNT_MIN);
        counts.epoch = u32::MAX;
        counts.add(7);
        counts.clear();
        assert_eq!(counts.iter().count(), 0);
    }
}
