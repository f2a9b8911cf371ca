//! The set sum, which identifies a set of fingerprints independently of their order.

use super::fields;
use super::for_this_processor::for_this_processor;

/// The number of values hashed at once, for vector instructions.
const CHUNK_COUNT: usize = 128;

/// The sum, modulo 2^128, of the SipHash-1-3-128 hashes of all fingerprints of a set.
///
/// The sum does not depend on the order of the fingerprints, so all tables of a segment must have
/// the same sum. Key of the hash: all zero. Message: the 8 bytes of the fingerprint, little-endian.
/// The first 8 bytes of the hash are its low half.
///
/// # Source
///
/// Bellare and Micciancio, "A New Paradigm for Collision-free Hashing: Incrementality at Reduced
/// Cost", EUROCRYPT 1997 (AdHash); here a check for mistakes, not for attacks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct SetSum(u128);

impl SetSum {
    /// Adds all fingerprints of a set; `map` computes the fingerprint from each of the values.
    pub(crate) fn add_all(&mut self, values: &[u64], mut map: impl FnMut(u64) -> u64) {
        let (mut mapped, mut low, mut high) =
            ([0; CHUNK_COUNT], [0; CHUNK_COUNT], [0; CHUNK_COUNT]);
        for values in values.chunks(CHUNK_COUNT) {
            let count = values.len();
            mapped.iter_mut().zip(values).for_each(|(to, &value)| *to = map(value));
            hash(&mapped[..count], &mut low[..count], &mut high[..count]);
            for (&low, &high) in low[..count].iter().zip(&high) {
                self.0 = self.0.wrapping_add(u128::from(high) << 64 | u128::from(low));
            }
        }
    }

    /// Adds the set sum of other fingerprints.
    pub(crate) fn join(&mut self, other: SetSum) {
        self.0 = self.0.wrapping_add(other.0);
    }

    pub(crate) fn read(from: &[u8], offset: usize) -> Option<Self> {
        fields::u128_at(from, offset).map(SetSum)
    }

    pub(crate) fn put(self, out: &mut Vec<u8>) {
        fields::put_u128(out, self.0);
    }
}

for_this_processor! {
    /// Computes the low and high halves of the SipHash-1-3-128, with the key 0, of each value.
    fn hash(values: &[u64], low: &mut [u64], high: &mut [u64]) {
        for ((value, low), high) in values.iter().zip(low).zip(high) {
            (*low, *high) = siphash_128(*value);
        }
    }
}

/// The SipHash-1-3 with a result of 128 bits, for a message of one word and the key 0.
///
/// # Source
///
/// Aumasson and Bernstein, "SipHash: a fast short-input PRF", INDOCRYPT 2012; the 128-bit variant
/// follows the reference code of the authors.
#[inline(always)]
fn siphash_128(message: u64) -> (u64, u64) {
    /// The constants of SipHash, to be combined with the key: "somepseudorandomlygeneratedbytes".
    const START: [u64; 4] = [
        0x736f_6d65_7073_6575,
        0x646f_7261_6e64_6f6d,
        0x6c79_6765_6e65_7261,
        0x7465_6462_7974_6573,
    ];
    /// The last word: the length of the message, 8 bytes, in its high byte.
    const END: u64 = 8 << 56;
    let mut state = START;
    state[1] ^= 0xee;
    for word in [message, END] {
        state[3] ^= word;
        state = round(state);
        state[0] ^= word;
    }
    state[2] ^= 0xee;
    for _ in 0..3 {
        state = round(state);
    }
    let low = state[0] ^ state[1] ^ state[2] ^ state[3];
    state[1] ^= 0xdd;
    for _ in 0..3 {
        state = round(state);
    }
    (low, state[0] ^ state[1] ^ state[2] ^ state[3])
}

#[inline(always)]
fn round([mut a, mut b, mut c, mut d]: [u64; 4]) -> [u64; 4] {
    a = a.wrapping_add(b);
    c = c.wrapping_add(d);
    b = b.rotate_left(13) ^ a;
    d = d.rotate_left(16) ^ c;
    a = a.rotate_left(32).wrapping_add(d);
    c = c.wrapping_add(b);
    b = b.rotate_left(17) ^ c;
    d = d.rotate_left(21) ^ a;
    [a, b, c.rotate_left(32), d]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bytes::checksum::Digest;
    use proptest::prelude::*;

    fn sum(values: &[u64]) -> SetSum {
        let mut sum = SetSum::default();
        sum.add_all(values, |value| value);
        sum
    }

    /// The example in format-spec.md, computed by an independent implementation of SipHash.
    #[test]
    fn the_hash_of_fingerprint_1_is_that_of_the_spec() {
        assert_eq!(sum(&[1]), SetSum(0x5d0d_f78a_f04e_f22b_a6b9_2b8d_9ed2_5eb0));
    }

    #[test]
    fn sum_does_not_depend_on_order_but_on_members() {
        assert_eq!(sum(&[1, 2, 3]), sum(&[3, 1, 2]));
        assert_ne!(sum(&[1, 2, 3]), sum(&[1, 2, 4]));
        assert_ne!(sum(&[0]), sum(&[]));
    }

    proptest! {
        /// Compares set sums with [`Digest::of`], which calls a library.
        #[test]
        fn the_sum_is_that_of_the_digests(
            values in prop::collection::vec(any::<u64>(), 0..3 * CHUNK_COUNT),
        ) {
            let values: Vec<u64> = values.into_iter().chain([0, u64::MAX]).collect();
            let mut expected = SetSum::default();
            for value in &values {
                let digest = Digest::of(&value.to_le_bytes());
                expected.join(SetSum(u128::from_le_bytes(digest.bytes())));
            }
            prop_assert_eq!(sum(&values), expected);
            let mut mapped = SetSum::default();
            let inverted: Vec<u64> = values.iter().map(|value| !value).collect();
            mapped.add_all(&inverted, |value| !value);
            prop_assert_eq!(mapped, expected);
        }
    }
}
