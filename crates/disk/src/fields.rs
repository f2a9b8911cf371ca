//! Little-endian integers in byte slices and streams. All code gets the byte order from here.

use std::io;

use byteorder::{ByteOrder, LittleEndian, ReadBytesExt, WriteBytesExt};

/// The bytes `offset .. offset + len` of a slice, or `None` if the slice is too short.
#[inline]
pub fn slice_at(bytes: &[u8], offset: usize, len: usize) -> Option<&[u8]> {
    bytes.get(offset..offset.checked_add(len)?)
}

#[inline]
pub fn u16_at(bytes: &[u8], offset: usize) -> Option<u16> {
    slice_at(bytes, offset, 2).map(LittleEndian::read_u16)
}

#[inline]
pub fn u32_at(bytes: &[u8], offset: usize) -> Option<u32> {
    slice_at(bytes, offset, 4).map(LittleEndian::read_u32)
}

#[inline]
pub fn u64_at(bytes: &[u8], offset: usize) -> Option<u64> {
    slice_at(bytes, offset, 8).map(LittleEndian::read_u64)
}

#[inline]
pub fn u128_at(bytes: &[u8], offset: usize) -> Option<u128> {
    slice_at(bytes, offset, 16).map(LittleEndian::read_u128)
}

#[inline]
pub fn read_u32(from: &mut impl io::Read) -> io::Result<u32> {
    from.read_u32::<LittleEndian>()
}

#[inline]
pub fn read_u64(from: &mut impl io::Read) -> io::Result<u64> {
    from.read_u64::<LittleEndian>()
}

const INFALLIBLE: &str = "a vector takes any number of bytes";

#[inline]
pub fn put_u16(out: &mut Vec<u8>, value: u16) {
    out.write_u16::<LittleEndian>(value).expect(INFALLIBLE);
}

/// Appends the low three bytes of a number. The prefix index packs two numbers of 12 bits into
/// them.
#[inline]
pub fn put_u24(out: &mut Vec<u8>, value: u32) {
    out.write_u24::<LittleEndian>(value).expect(INFALLIBLE);
}

#[inline]
pub fn put_u32(out: &mut Vec<u8>, value: u32) {
    out.write_u32::<LittleEndian>(value).expect(INFALLIBLE);
}

#[inline]
pub fn put_u64(out: &mut Vec<u8>, value: u64) {
    out.write_u64::<LittleEndian>(value).expect(INFALLIBLE);
}

#[inline]
pub fn put_u128(out: &mut Vec<u8>, value: u128) {
    out.write_u128::<LittleEndian>(value).expect(INFALLIBLE);
}
