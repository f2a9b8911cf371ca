//! Which features of one document came before.

/// A set of hashes that is emptied for each document.
///
/// Open addressing with the hash as its own place, multiplied: hashes are as good as random, and where
/// they are not (an unkeyed hash and a hostile text) that spreads them. Three quarters and more are free: that a place is
/// taken by another hash is then rare, which the processor can foretell.
#[derive(Clone, Debug)]
pub(crate) struct SeenHashes {
    /// 0 is a free slot.
    slots: Vec<u64>,
    shift: u32,
    used_count: usize,
    /// Whether the hash 0 came, which has no slot.
    zero: bool,
}

const SLOT_COUNT_MIN: usize = 256;

impl Default for SeenHashes {
    fn default() -> Self {
        let slots = vec![0; SLOT_COUNT_MIN];
        SeenHashes { slots, shift: 64 - SLOT_COUNT_MIN.ilog2(), used_count: 0, zero: false }
    }
}

impl SeenHashes {
    /// Moves the hashes that did not come before to the front, adds them, and says how many they are.
    ///
    /// Whether one came before cannot be foretold, so there is one way for both.
    #[inline]
    pub(crate) fn keep_new(&mut self, hashes: &mut [u64]) -> usize {
        let mut new_count = 0;
        let mut start = 0;
        while start < hashes.len() {
            // As many as surely leave three quarters free.
            let room = self.slots.len() / 4 - self.used_count;
            let end = hashes.len().min(start + room);
            let new_before = new_count;
            let mask = self.slots.len() - 1;
            let (slots, shift) = (self.slots.as_mut_slice(), self.shift);
            for number in start..end {
                let hash = hashes[number];
                hashes[new_count] = hash;
                if hash == 0 {
                    new_count += usize::from(!std::mem::replace(&mut self.zero, true));
                    continue;
                }
                let mut place = place(hash, shift);
                loop {
                    // The mask keeps it in bounds, and the compiler knows it.
                    let slot = &mut slots[place & mask];
                    let is_new = *slot == 0;
                    if is_new | (*slot == hash) {
                        *slot = hash;
                        new_count += usize::from(is_new);
                        break;
                    }
                    place += 1;
                }
            }
            self.used_count += new_count - new_before;
            start = end;
            if start < hashes.len() && self.used_count * 4 >= self.slots.len() {
                self.grow();
            }
        }
        new_count
    }

    #[cold]
    fn grow(&mut self) {
        let len = self.slots.len() * 2;
        let old = std::mem::replace(&mut self.slots, vec![0; len]);
        self.shift -= 1;
        for hash in old.into_iter().filter(|&hash| hash != 0) {
            let mut place = place(hash, self.shift);
            while self.slots[place & (len - 1)] != 0 {
                place += 1;
            }
            self.slots[place & (len - 1)] = hash;
        }
    }

    /// Forgets all. The next document gets up to four times the slots that this one needed: emptying them costs little
    /// beside filling them, and documents of one collection are alike.
    pub(crate) fn clear(&mut self) {
        let len = (self.used_count * 16).next_power_of_two().max(SLOT_COUNT_MIN);
        self.slots.truncate(len);
        self.slots.fill(0);
        self.slots.shrink_to(len);
        self.shift = 64 - self.slots.len().ilog2();
        self.used_count = 0;
        self.zero = false;
    }
}

#[inline]
fn place(hash: u64, shift: u32) -> usize {
    (hash.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> shift) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_hash_is_new_once() {
        let mut seen = SeenHashes::default();
        let mut state = 1_u64;
        for round in 0..200_u64 {
            let mut known = std::collections::HashSet::new();
            for _ in 0..round % 7 {
                let mut hashes: Vec<u64> = (0..round * round % 3000)
                    .map(|_| {
                        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                        // Many come again, 0 among them, and all lie in one corner.
                        ((state >> 33) % 700) << (round % 2 * 50)
                    })
                    .collect();
                let new: Vec<u64> =
                    hashes.iter().copied().filter(|&hash| known.insert(hash)).collect();
                let new_count = seen.keep_new(&mut hashes);
                assert_eq!(hashes[..new_count], new);
            }
            seen.clear();
        }
        // The memory that a large document took is given back.
        seen.clear();
        assert_eq!(seen.slots.capacity(), SLOT_COUNT_MIN);
    }
}
