//! Syndromes: linear hashes of words of up to 32 bits that tell apart small sets of bit errors.
//!
//! The syndrome of a word is the XOR of one *column* for each set bit. So the XOR of the syndromes
//! of two words is the syndrome of the XOR of the words, which are the bit errors between them.
//! Given one word and the syndrome of the other, the few possible error patterns follow.
//!
//! # Source
//!
//! The columns come from the parity check matrix of the extended BCH code over GF(2^5), cut to the
//! required number of bits (R. C. Bose and D. K. Ray-Chaudhuri, "On a class of error correcting
//! binary group codes", Information and Control 3, 1960; A. Hocquenghem, "Codes correcteurs
//! d'erreurs", Chiffres 2, 1959). Storing a syndrome in place of a word that is known up to a few
//! errors is an idea of D. Slepian and J. Wolf, "Noiseless coding of correlated information
//! sources", IEEE Transactions on Information Theory 19, 1973.

use std::sync::OnceLock;

/// The maximum number of bits that a syndrome can replace.
pub(crate) const HASHED_BITS_MAX: u32 = 32;
/// The allowed lengths of a syndrome in bits. In shorter syndromes, too many error patterns have
/// the same syndrome; the formula of the columns yields at most 21 bits.
pub(crate) const SYNDROME_BITS: std::ops::RangeInclusive<u32> = 6..=21;

/// The linear map from words to syndromes of one length.
#[derive(Debug)]
pub(crate) struct SyndromeCode {
    /// The syndromes of all words with one nonzero byte, indexed by the position and value of this
    /// byte.
    by_byte: [[u32; 256]; 4],
}

impl SyndromeCode {
    /// The code for syndromes of `bits` bits; clamped to [`SYNDROME_BITS`].
    pub(crate) fn of(bits: u32) -> &'static SyndromeCode {
        const COUNT: usize = (*SYNDROME_BITS.end() + 1) as usize;
        static CODES: [OnceLock<Box<SyndromeCode>>; COUNT] = [const { OnceLock::new() }; COUNT];
        let bits = bits.clamp(*SYNDROME_BITS.start(), *SYNDROME_BITS.end());
        CODES[bits as usize].get_or_init(|| Box::new(SyndromeCode::new(bits)))
    }

    fn new(bits: u32) -> Self {
        let by_byte = std::array::from_fn(|byte| {
            std::array::from_fn(|value| {
                let set = (0..8).filter(|bit| value >> bit & 1 == 1);
                set.fold(0, |sum, bit| sum ^ column(8 * byte as u32 + bit, bits))
            })
        });
        SyndromeCode { by_byte }
    }

    /// The syndrome of a word.
    #[inline(always)]
    pub(crate) fn syndrome(&self, word: u32) -> u32 {
        let [a, b, c, d] = word.to_le_bytes();
        let [of_a, of_b, of_c, of_d] = &self.by_byte;
        of_a[usize::from(a)] ^ of_b[usize::from(b)] ^ of_c[usize::from(c)] ^ of_d[usize::from(d)]
    }
}

/// The column of a bit: the low `bits` bits of 1, x, x^3, x^5, x^7, concatenated, where x is the
/// number of the bit taken as an element of GF(2^5).
fn column(bit: u32, bits: u32) -> u32 {
    let square = product(bit, bit);
    let cube = product(bit, square);
    let fifth = product(cube, square);
    let seventh = product(fifth, square);
    let all = 1 | bit << 1 | cube << 6 | fifth << 11 | seventh << 16;
    all & (u32::MAX >> (32 - bits))
}

/// The product of two elements of GF(2^5), where x^5 = x^2 + 1.
fn product(a: u32, b: u32) -> u32 {
    let mut sum = 0;
    for bit in (0..5).rev() {
        sum <<= 1;
        if sum & 0b10_0000 != 0 {
            sum ^= 0b10_0101;
        }
        if b >> bit & 1 == 1 {
            sum ^= a;
        }
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_those_of_the_specification() {
        let columns: Vec<u32> = [0, 1, 2, 3, 30, 31].map(|bit| column(bit, 21)).to_vec();
        assert_eq!(columns, [0x1, 0x10843, 0x142a05, 0x4b3c7, 0x1c5c7d, 0xee77f]);
        let code = SyndromeCode::of(12);
        for (word, expected) in [
            (0, 0),
            (1, 0x001),
            (0x8000_0000, 0x77f),
            (0x0123_4567, 0x4c0),
            (0xdead_beef, 0xbe8),
            (u32::MAX, 0),
        ] {
            assert_eq!(code.syndrome(word), expected, "{word:#x}");
        }
    }

    #[test]
    fn a_product_is_that_of_the_field() {
        for a in 1..32_u32 {
            let powers: std::collections::HashSet<u32> = (0..32).map(|b| product(a, b)).collect();
            assert_eq!(powers.len(), 32, "{a} has no inverse");
            assert_eq!(product(a, 1), a);
        }
        assert_eq!(product(0b1_0000, 0b10), 0b0_0101);
    }

    #[test]
    fn syndromes_are_linear_and_tell_few_errors_apart() {
        for (bits, distance) in [(6, 4), (11, 6), (16, 8), (21, 12)] {
            let code = SyndromeCode::of(bits);
            assert_eq!(
                code.syndrome(0x1234_5678) ^ code.syndrome(0x0f0f_1111),
                code.syndrome(0x1234_5678 ^ 0x0f0f_1111)
            );
            // Nonzero words with fewer set bits than the distance of the code have nonzero
            // syndromes. So words with fewer than half as many set bits have distinct syndromes.
            let half = (distance - 1) / 2;
            let mut seen = std::collections::HashSet::new();
            let words = words_up_to(half);
            assert!(words.iter().all(|&word| seen.insert(code.syndrome(word))), "{bits} bits");
        }
    }

    fn words_up_to(weight: u32) -> Vec<u32> {
        let mut words = vec![0_u32];
        let mut last = vec![0_u32];
        for _ in 0..weight {
            last = last
                .iter()
                .flat_map(|&word| {
                    let from = if word == 0 { 0 } else { 32 - word.leading_zeros() };
                    (from..32).map(move |bit| word | 1 << bit)
                })
                .collect();
            words.extend(&last);
        }
        words
    }
}
