//! Numbers of a fixed bit width, packed without gaps; each can be read by its position.

use crate::bytes::fields;

/// The widest packed number: it must fit in one 8-byte load even if it starts inside a byte.
pub(crate) const WIDTH_MAX: u32 = 56;

/// The number of zero bytes after the last number, so that one 8-byte load can read any number.
pub(crate) const GUARD_LEN: u64 = 8;

/// Packed numbers of one width, with the zero bytes after the last number.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Packed<'a> {
    pub(crate) bytes: &'a [u8],
    /// The number of bits of each number.
    pub(crate) width: u32,
}

impl Packed<'_> {
    /// The number at a position; 0 if the bytes end before it.
    #[inline(always)]
    pub(crate) fn get(self, position: u64) -> u64 {
        let at = load_offset(position, self.width) as usize;
        take(fields::u64_at(self.bytes, at).unwrap_or_default(), position, self.width)
    }
}

impl<'a> Packed<'a> {
    /// The numbers from a position on; `bytes` must start at the [`load_offset`] of that position.
    /// A number after the end of the bytes is 0.
    #[inline(always)]
    pub(crate) fn from(self, position: u64) -> impl Iterator<Item = u64> + use<'a> {
        let (mask, width) = ((1 << self.width) - 1, u64::from(self.width));
        let mut bit = position.wrapping_mul(width) & 7;
        std::iter::repeat_with(move || {
            let word = fields::u64_at(self.bytes, (bit >> 3) as usize).unwrap_or_default();
            let number = word >> (bit & 7) & mask;
            bit += width;
            number
        })
    }
}

/// The bytes that `count` numbers of `width` bits take, with the zero bytes after them; 0 for width
/// 0.
pub(crate) fn packed_len(count: u64, width: u32) -> Option<u64> {
    if width == 0 {
        return Some(0);
    }
    count.checked_mul(u64::from(width))?.div_ceil(8).checked_add(GUARD_LEN)
}

/// The offset of the 8 bytes that contain number `position`.
#[inline]
pub(crate) fn load_offset(position: u64, width: u32) -> u64 {
    position.wrapping_mul(u64::from(width)) >> 3
}

/// Extracts number `position` from the 8 bytes that start at its [`load_offset`].
#[inline]
pub(crate) fn unpack(loaded: &[u8], position: u64, width: u32) -> Option<u64> {
    Some(take(fields::u64_at(loaded, 0)?, position, width))
}

/// Extracts number `position` from the word that starts at its [`load_offset`].
#[inline(always)]
fn take(word: u64, position: u64, width: u32) -> u64 {
    let shift = position.wrapping_mul(u64::from(width)) & 7;
    word >> shift & ((1 << width) - 1)
}

/// Packs numbers one after the other, lowest bit first, into a byte vector.
#[derive(Debug, Default)]
pub(crate) struct Packer {
    width: u32,
    pending: u64,
    pending_bits: u32,
}

impl Packer {
    pub(crate) fn new(width: u32) -> Self {
        debug_assert!(width <= WIDTH_MAX);
        Packer { width, pending: 0, pending_bits: 0 }
    }

    /// A packer that starts after `count` numbers. The bits of those numbers in its first byte are
    /// 0.
    pub(crate) fn after(count: u64, width: u32) -> Self {
        let pending_bits = (count.wrapping_mul(u64::from(width)) & 7) as u32;
        Packer { pending_bits, ..Packer::new(width) }
    }

    /// Appends `bytes`, which the packer `after` wrote for the following numbers, and continues
    /// after them.
    pub(crate) fn append(&mut self, bytes: &[u8], after: Packer, out: &mut Vec<u8>) {
        let before = std::mem::replace(self, after).pending;
        match bytes.split_first() {
            Some((&first, rest)) => {
                out.push(first | before.to_le_bytes()[0]);
                out.extend_from_slice(rest);
            }
            None => self.pending |= before,
        }
    }

    /// Appends the low `width` bits of `value`.
    #[inline]
    pub(crate) fn push(&mut self, value: u64, out: &mut Vec<u8>) {
        // At most 7 bits are pending, so up to 56 more bits fit.
        self.pending |= (value & ((1 << self.width) - 1)) << self.pending_bits;
        self.pending_bits += self.width;
        let whole = self.pending_bits / 8;
        // Always storing eight bytes is faster than copying only the complete bytes.
        let end = out.len() + whole as usize;
        out.extend_from_slice(&self.pending.to_le_bytes());
        out.truncate(end);
        self.pending = self.pending.checked_shr(whole * 8).unwrap_or(0);
        self.pending_bits %= 8;
    }

    /// Appends the last bits and the zero bytes after them.
    pub(crate) fn finish(self, out: &mut Vec<u8>) {
        if self.width == 0 {
            return;
        }
        if self.pending_bits > 0 {
            out.push(self.pending.to_le_bytes()[0]);
        }
        fields::put_u64(out, 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn packed_numbers_come_back_at_every_width(
            values in prop::collection::vec(any::<u64>(), 0..50),
            width in 1..=WIDTH_MAX,
        ) {
            let mut packed = Vec::new();
            let mut packer = Packer::new(width);
            for &value in &values {
                packer.push(value, &mut packed);
            }
            packer.finish(&mut packed);
            prop_assert_eq!(Some(packed.len() as u64), packed_len(values.len() as u64, width));
            let mask = (1_u64 << width) - 1;
            let all = Packed { bytes: &packed, width }.from(0).take(values.len());
            prop_assert!(all.eq(values.iter().map(|value| value & mask)));
            for (position, &value) in (0..).zip(&values) {
                let at = load_offset(position, width) as usize;
                let expected = value & ((1 << width) - 1);
                prop_assert_eq!(unpack(&packed[at..], position, width), Some(expected));
                let from = Packed { bytes: &packed[at..], width }.from(position);
                prop_assert_eq!(from.take(1).collect::<Vec<_>>(), [expected]);
            }
        }
    }
}
