//! Corrects the checksums of mutated bytes, as an attacker would: only files with correct checksums
//! reach the code after the checksum tests.

use std::hash::Hasher;

use siphasher::sip128::{Hasher128, SipHasher13};

const PAGE: usize = 4096;
const HEADER_LEN_MAX: usize = 32_768;

/// The digest of format-spec.md: SipHash-1-3 with an output of 128 bits and a key of zeros.
pub fn digest(bytes: &[u8]) -> [u8; 16] {
    let mut hasher = SipHasher13::new_with_keys(0, 0);
    hasher.write(bytes);
    u128::from(hasher.finish128()).to_le_bytes()
}

pub fn u16_at(bytes: &[u8], at: usize) -> usize {
    bytes.get(at..at + 2).map_or(0, |field| u16::from_le_bytes([field[0], field[1]]).into())
}

pub fn u32_at(bytes: &[u8], at: usize) -> usize {
    let field = bytes.get(at..at + 4).and_then(|field| field.try_into().ok());
    field.map_or(0, |field| u32::from_le_bytes(field) as usize)
}

pub fn u64_at(bytes: &[u8], at: usize) -> usize {
    let field = bytes.get(at..at.saturating_add(8)).and_then(|field| field.try_into().ok());
    field.map_or(0, |field| u64::from_le_bytes(field) as usize)
}

/// The offset of directory entry `number` of a segment.
pub fn entry(bytes: &[u8], number: usize) -> usize {
    80 + 16 * u16_at(bytes, 44) + 24 * number
}

/// For inputs without checksums: leaves the bytes unchanged.
pub fn nothing(_: &mut [u8]) {}

/// Sets the CRC-32 in the last four bytes, for manifests, deletion files and df tables.
pub fn crc_at_end(bytes: &mut [u8]) {
    if let Some(body) = bytes.len().checked_sub(4) {
        let crc = crc32fast::hash(&bytes[..body]).to_le_bytes();
        bytes[body..].copy_from_slice(&crc);
    }
}

/// Sets all page checksums of a segment, the digest of the checksums, and the CRC-32 of the header.
pub fn segment(bytes: &mut [u8]) {
    let header_len = u32_at(bytes, 12);
    let sections = u16_at(bytes, 46);
    let allowed = PAGE..=HEADER_LEN_MAX.min(bytes.len());
    if !header_len.is_multiple_of(PAGE)
        || !allowed.contains(&header_len)
        || entry(bytes, sections) + 4 > header_len
    {
        return;
    }
    let last = entry(bytes, sections.saturating_sub(1));
    let (checksums, checksums_len) = (u64_at(bytes, last + 8), u64_at(bytes, last + 16));
    for number in 0..sections.saturating_sub(1) {
        let at = entry(bytes, number);
        let (offset, len) = (u64_at(bytes, at + 8), u64_at(bytes, at + 16));
        for page in 0..len.div_ceil(PAGE).min(1000) {
            let start = offset.saturating_add(page * PAGE);
            let Some(content) = bytes.get(start..start.saturating_add(PAGE)) else { break };
            let mut crc = crc32fast::Hasher::new();
            crc.update(&bytes[at..at + 4]);
            crc.update(&[0; 4]);
            crc.update(&(page as u64).to_le_bytes());
            crc.update(content);
            let Some(page_of_file) = start.checked_sub(header_len) else { break };
            let stored = checksums.saturating_add(page_of_file / PAGE * 4);
            if let Some(stored) = bytes.get_mut(stored..stored.saturating_add(4)) {
                stored.copy_from_slice(&crc.finalize().to_le_bytes());
            }
        }
    }
    if let Some(checksums) = bytes.get(checksums..checksums.saturating_add(checksums_len)) {
        let digest = digest(checksums);
        bytes[64..80].copy_from_slice(&digest);
    }
    crc_at_end(&mut bytes[..header_len]);
}
