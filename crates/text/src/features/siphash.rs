//! SipHash-1-3 of a message that is a single slice.
//!
//! The crate siphasher takes a message in parts, which costs more than the hash itself for messages
//! as short as words: 17 ns instead of 8 for 6 bytes. A test compares the two implementations.

/// The hash function with the initial state of its key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct SipHash13 {
    start: [u64; 4],
}

impl SipHash13 {
    pub(crate) fn new(key: [u64; 2]) -> Self {
        SipHash13 {
            start: [
                key[0] ^ 0x736f_6d65_7073_6575,
                key[1] ^ 0x646f_7261_6e64_6f6d,
                key[0] ^ 0x6c79_6765_6e65_7261,
                key[1] ^ 0x7465_6462_7974_6573,
            ],
        }
    }

    #[inline(always)]
    pub(crate) fn hash(&self, bytes: &[u8]) -> u64 {
        let mut state = self.start;
        let (words, rest) = bytes.as_chunks::<8>();
        for word in words {
            compress(&mut state, u64::from_le_bytes(*word));
        }
        finish(state, (bytes.len() as u64) << 56 | short_word(rest))
    }

    /// The hash of the first `len` bytes, fewer than 16, of two little-endian words; the bytes
    /// after them have no effect. Branch-free, so that the compiler can vectorise a loop of calls.
    #[inline(always)]
    pub(crate) fn hash_short(&self, first: u64, second: u64, len: u64) -> u64 {
        let is_long = len >= 8;
        let mut long = self.start;
        compress(&mut long, first);
        // Each word is written out, because the compiler does not vectorise a closure here.
        let [a, b, c, d] = self.start;
        let state = [
            if is_long { long[0] } else { a },
            if is_long { long[1] } else { b },
            if is_long { long[2] } else { c },
            if is_long { long[3] } else { d },
        ];
        let rest = if is_long { second } else { first } & !(u64::MAX << (8 * (len & 7)));
        finish(state, len << 56 | rest)
    }
}

/// Compresses the last word and finalises.
#[inline(always)]
fn finish(mut state: [u64; 4], last: u64) -> u64 {
    compress(&mut state, last);
    state[2] ^= 0xff;
    round(&mut state);
    round(&mut state);
    round(&mut state);
    state[0] ^ state[1] ^ state[2] ^ state[3]
}

/// Up to seven bytes as a little-endian number, without a loop.
#[inline(always)]
fn short_word(bytes: &[u8]) -> u64 {
    if let (Some(first), Some(last)) = (bytes.first_chunk::<4>(), bytes.last_chunk::<4>()) {
        let [first, last] = [first, last].map(|four| u64::from(u32::from_le_bytes(*four)));
        // For fewer than eight bytes the words overlap, and the overlapping bits are equal.
        return first | last << (8 * (bytes.len() - 4));
    }
    match *bytes {
        [a, b, c] => u64::from(a) | u64::from(b) << 8 | u64::from(c) << 16,
        [a, b] => u64::from(a) | u64::from(b) << 8,
        [a] => u64::from(a),
        _ => 0,
    }
}

#[inline(always)]
fn compress(state: &mut [u64; 4], word: u64) {
    state[3] ^= word;
    round(state);
    state[0] ^= word;
}

#[inline(always)]
fn round(state: &mut [u64; 4]) {
    let [mut a, mut b, mut c, mut d] = *state;
    a = a.wrapping_add(b);
    c = c.wrapping_add(d);
    b = b.rotate_left(13) ^ a;
    d = d.rotate_left(16) ^ c;
    a = a.rotate_left(32);
    c = c.wrapping_add(b);
    a = a.wrapping_add(d);
    b = b.rotate_left(17) ^ c;
    d = d.rotate_left(21) ^ a;
    c = c.rotate_left(32);
    *state = [a, b, c, d];
}

#[cfg(test)]
mod tests {
    use super::*;
    use siphasher::sip::SipHasher13;

    #[test]
    fn the_hash_is_that_of_the_crate() {
        let bytes: Vec<u8> = (0..=255).collect();
        for key in [[0, 0], [0x0706_0504_0302_0100, u64::MAX]] {
            for start in 0..16 {
                for end in start..bytes.len() {
                    let input = &bytes[start..end];
                    let expected = SipHasher13::new_with_keys(key[0], key[1]).hash(input);
                    assert_eq!(SipHash13::new(key).hash(input), expected, "{start}..{end}");
                }
            }
        }
    }
}
