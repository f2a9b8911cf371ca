//! How often each feature occurs in one document.

/// Counts of hashes; remembers its memory from one document to the next.
///
/// Open addressing with the hash as its own place: hashes are as good as random, and where
/// they are not (an unkeyed hash and a hostile text) a multiplication spreads them.
#[derive(Clone, Debug)]
pub(crate) struct FeatureCounts {
    slots: Vec<Slot>,
    /// Indices of the slots in use, in the order of first occurrence.
    used: Vec<u32>,
    shift: u32,
}

#[derive(Clone, Copy, Debug, Default)]
struct Slot {
    hash: u64,
    /// 0 in an empty slot.
    count: u64,
}

const SLOT_COUNT_MIN: usize = 256;

impl Default for FeatureCounts {
    fn default() -> Self {
        let slots = vec![Slot::default(); SLOT_COUNT_MIN];
        FeatureCounts { slots, used: Vec::new(), shift: 64 - SLOT_COUNT_MIN.ilog2() }
    }
}

impl FeatureCounts {
    /// Counts one more occurrence.
    #[inline]
    pub(crate) fn add(&mut self, hash: u64) {
        let mask = self.slots.len() - 1;
        let mut place = self.place(hash);
        loop {
            let slot = &mut self.slots[place];
            if slot.count == 0 {
                *slot = Slot { hash, count: 1 };
                self.used.push(place as u32);
                if self.used.len() * 2 > self.slots.len() {
                    self.grow();
                }
                return;
            }
            if slot.hash == hash {
                slot.count += 1;
                return;
            }
            place = (place + 1) & mask;
        }
    }

    #[inline]
    fn place(&self, hash: u64) -> usize {
        (hash.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> self.shift) as usize
    }

    fn grow(&mut self) {
        let kept: Vec<Slot> = self.used.iter().map(|&place| self.slots[place as usize]).collect();
        let len = self.slots.len() * 2;
        self.slots.clear();
        self.slots.resize(len, Slot::default());
        self.shift -= 1;
        self.used.clear();
        for slot in kept {
            let mut place = self.place(slot.hash);
            while self.slots[place].count != 0 {
                place = (place + 1) & (len - 1);
            }
            self.slots[place] = slot;
            self.used.push(place as u32);
        }
    }

    /// The distinct hashes with their counts, in the order of first occurrence.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (u64, u64)> {
        self.used.iter().map(|&place| {
            let slot = self.slots[place as usize];
            (slot.hash, slot.count)
        })
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.used.is_empty()
    }

    /// Forgets all counts, and most of the memory that a huge document took.
    pub(crate) fn clear(&mut self) {
        if self.slots.len() > 1 << 20 {
            *self = FeatureCounts::default();
            return;
        }
        for &place in &self.used {
            self.slots[place as usize].count = 0;
        }
        self.used.clear();
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
            assert_eq!(counts.iter().count(), 5000);
            for (number, (hash, count)) in (0_u64..).zip(counts.iter()) {
                assert_eq!((hash, count), (number << 40, 1 + number % round));
            }
            counts.clear();
            assert!(counts.is_empty());
        }
    }
}
