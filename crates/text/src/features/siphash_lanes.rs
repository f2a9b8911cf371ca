//! SipHash-1-3 of many short messages at a time.
//!
//! The loop is compiled three times: for AVX-512 (8 messages at once), for AVX2 (4 messages), and
//! for the baseline of the target architecture.

use crate::features::siphash::SipHash13;

/// Maximum number of messages in a batch.
pub(super) const MESSAGE_COUNT_MAX: usize = 512;

/// A batch of messages of fewer than 16 bytes, each padded to 16 bytes with arbitrary bytes.
#[derive(Clone, Debug)]
pub(crate) struct ShortMessages {
    first: Vec<u64>,
    second: Vec<u64>,
    len: Vec<u64>,
    count: usize,
}

impl ShortMessages {
    pub(crate) fn new() -> Self {
        let lane = || vec![0; MESSAGE_COUNT_MAX];
        ShortMessages { first: lane(), second: lane(), len: lane(), count: 0 }
    }

    /// Adds a message: the first `len` bytes of `block`; `len` is less than 16. Returns whether the
    /// batch is full.
    #[inline(always)]
    pub(crate) fn push(&mut self, block: [u8; 16], len: usize) -> bool {
        let number = u128::from_le_bytes(block);
        let place = self.count & (MESSAGE_COUNT_MAX - 1);
        self.first[place] = number as u64;
        self.second[place] = (number >> 64) as u64;
        self.len[place] = len as u64;
        self.count += 1;
        self.count >= MESSAGE_COUNT_MAX
    }

    pub(crate) fn len(&self) -> usize {
        self.count
    }

    pub(crate) fn clear(&mut self) {
        self.count = 0;
    }

    /// Appends the hashes of all messages, and clears the batch.
    pub(crate) fn hash_all(&mut self, siphash: &SipHash13, hashes: &mut Vec<u64>) {
        let start = hashes.len();
        hashes.resize(start + self.count, 0);
        let lanes = [&self.first, &self.second, &self.len].map(|lane| &lane[..self.count]);
        hash_lanes(siphash, lanes, &mut hashes[start..]);
        self.count = 0;
    }
}

#[cfg(target_arch = "x86_64")]
#[expect(unsafe_code, reason = "a function compiled for some processors only is unsafe to call")]
fn hash_lanes(siphash: &SipHash13, lanes: [&[u64]; 3], hashes: &mut [u64]) {
    #[target_feature(enable = "avx512f")]
    fn with_avx512(siphash: &SipHash13, lanes: [&[u64]; 3], hashes: &mut [u64]) {
        hash_each(siphash, lanes, hashes);
    }
    #[target_feature(enable = "avx2")]
    fn with_avx2(siphash: &SipHash13, lanes: [&[u64]; 3], hashes: &mut [u64]) {
        hash_each(siphash, lanes, hashes);
    }
    if is_x86_feature_detected!("avx512f") {
        // SAFETY: the function needs AVX-512F and nothing else; the line above detected it.
        unsafe { with_avx512(siphash, lanes, hashes) }
    } else if is_x86_feature_detected!("avx2") {
        // SAFETY: the function needs AVX2 and nothing else; the line above detected it.
        unsafe { with_avx2(siphash, lanes, hashes) }
    } else {
        hash_each(siphash, lanes, hashes);
    }
}

#[cfg(not(target_arch = "x86_64"))]
fn hash_lanes(siphash: &SipHash13, lanes: [&[u64]; 3], hashes: &mut [u64]) {
    hash_each(siphash, lanes, hashes);
}

/// Hashes each message. The compiler vectorises the loop with the instructions enabled in the
/// calling function.
#[inline(always)]
fn hash_each(siphash: &SipHash13, [first, second, len]: [&[u64]; 3], hashes: &mut [u64]) {
    for (((hash, first), second), len) in hashes.iter_mut().zip(first).zip(second).zip(len) {
        *hash = siphash.hash_short(*first, *second, *len);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_batch_gives_the_hashes_of_the_single_messages() {
        let bytes: Vec<u8> = (0..=255_u8).map(|byte| byte.wrapping_mul(151)).collect();
        for key in [[0, 0], [0x0706_0504_0302_0100, u64::MAX]] {
            let siphash = SipHash13::new(key);
            for count in [0, 1, 7, 8, 9, 200, MESSAGE_COUNT_MAX] {
                let mut messages = ShortMessages::new();
                let mut expected = vec![1];
                for number in 0..count {
                    let (start, len) = (number % 240, number % 16);
                    let full = messages.push(*bytes[start..].first_chunk().unwrap(), len);
                    assert_eq!(full, number + 1 == MESSAGE_COUNT_MAX);
                    expected.push(siphash.hash(&bytes[start..start + len]));
                }
                let lanes = [&messages.first, &messages.second, &messages.len];
                let mut plain = vec![0; count];
                hash_each(&siphash, lanes.map(|lane| &lane[..count]), &mut plain);
                assert_eq!(plain, expected[1..]);
                let mut hashes = vec![1];
                messages.hash_all(&siphash, &mut hashes);
                assert_eq!(hashes, expected);
            }
        }
    }
}
