//! LEB128 varints in their shortest form.
//!
//! The crate `integer-encoding` writes them. Reading is done here, because the crate accepts forms
//! that the format forbids (`80 00` for 0). Example: 300 is `ac 02`.

use crate::base::error::Fault;

/// The maximum length of a varint in bytes: 64 bits in groups of 7.
pub(crate) const LEN_MAX: usize = 10;

/// Reads the varint at the start of `bytes`; returns the value and its length in bytes.
#[inline]
pub(crate) fn read(bytes: &[u8]) -> Result<(u64, usize), Fault> {
    match *bytes {
        [only, ..] if only < 0x80 => Ok((u64::from(only), 1)),
        // Nearly all longer varints take two bytes. A last byte of 0 is rejected as not the
        // shortest form.
        [first, second @ 1..0x80, ..] => Ok((u64::from(first & 0x7f) | u64::from(second) << 7, 2)),
        _ => read_long(bytes),
    }
}

fn read_long(bytes: &[u8]) -> Result<(u64, usize), Fault> {
    let mut value = 0_u64;
    for (place, &byte) in bytes.iter().take(LEN_MAX).enumerate() {
        let low = u64::from(byte & 0x7f);
        if place == LEN_MAX - 1 && byte > 1 {
            return Err(Fault::rule(13, "varint has more than 64 bits"));
        }
        value |= low << (7 * place);
        if byte < 0x80 {
            if byte == 0 && place > 0 {
                return Err(Fault::rule(13, "varint is not in its shortest form"));
            }
            return Ok((value, place + 1));
        }
    }
    Err(Fault::Truncated { needed: bytes.len() as u64 + 1, found: bytes.len() as u64 })
}

/// Appends a varint to `out`.
#[inline]
pub(crate) fn write(value: u64, out: &mut Vec<u8>) {
    use integer_encoding::VarInt;
    // The fast path: nearly all gaps of heads take one byte.
    if value < 0x80 {
        out.push(value.to_le_bytes()[0]);
        return;
    }
    let mut encoded = [0; LEN_MAX];
    let len = value.encode_var(&mut encoded);
    out.extend_from_slice(&encoded[..len]);
}

#[cfg(test)]
mod tests {
    use super::*;
    use integer_encoding::VarInt;
    use proptest::prelude::*;

    /// The value that the crate decodes, or `None` if the bytes are not its shortest form.
    fn by_crate(bytes: &[u8]) -> Option<(u64, usize)> {
        let (value, len) = u64::decode_var(bytes)?;
        (value.encode_var_vec().len() == len).then_some((value, len))
    }

    proptest! {
        #[test]
        fn any_value_comes_back(value: u64, shift in 0..64_u32, rest: Vec<u8>) {
            let value = value >> shift;
            let mut bytes = value.encode_var_vec();
            let len = bytes.len();
            bytes.extend(rest);
            prop_assert_eq!(read(&bytes).unwrap(), (value, len));
        }

        #[test]
        fn any_bytes_are_read_as_the_crate_reads_them(
            long in prop::collection::vec(0x80..=0xff_u8, 0..12),
            rest: Vec<u8>,
        ) {
            let bytes = [long, rest].concat();
            prop_assert_eq!(read(&bytes).ok(), by_crate(&bytes));
        }
    }

    #[test]
    fn every_length_and_every_invalid_form_is_decided() {
        for shift in 0..64 {
            for value in [1_u64 << shift, (1 << shift) - 1, u64::MAX >> shift] {
                let bytes = value.encode_var_vec();
                assert_eq!(read(&bytes).unwrap(), (value, bytes.len()));
                for cut in 0..bytes.len() {
                    assert!(matches!(read(&bytes[..cut]), Err(Fault::Truncated { .. })));
                }
                // One more group of seven zero bits encodes the same number in a longer form.
                let mut longer = bytes.clone();
                *longer.last_mut().unwrap() |= 0x80;
                longer.push(0);
                assert!(matches!(read(&longer), Err(Fault::Rule { rule: 13, .. })));
            }
        }
        let overflowing = [[0xff; 9].as_slice(), &[0x02]].concat();
        assert!(matches!(read(&overflowing), Err(Fault::Rule { rule: 13, .. })));
        let endless = [0xff; 11];
        assert!(matches!(read(&endless), Err(Fault::Rule { rule: 13, .. })));
    }
}
