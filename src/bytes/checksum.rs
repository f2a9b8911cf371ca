//! The CRC-32 checksums of headers and pages.

pub(crate) use fpstore_disk::Digest;

/// The length of a page in bytes. Every section starts on a new page.
pub(crate) const PAGE_LEN: usize = 4096;

/// CRC-32/ISO-HDLC of `bytes`.
pub(crate) fn crc32(bytes: &[u8]) -> u32 {
    crc32fast::hash(bytes)
}

/// The identity of a page. It is part of the page's checksum, so that a page at a wrong position
/// fails the check.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PageIdentity {
    pub(crate) kind: u16,
    pub(crate) table: u16,
    /// The position of the page in its section.
    pub(crate) page_in_section: u64,
}

impl PageIdentity {
    /// CRC-32 of kind (u16), table (u16), zero (u32), page in section (u64), then the bytes of the
    /// page.
    pub(crate) fn checksum(self, page: &[u8]) -> u32 {
        let mut salt = [0; 16];
        salt[0..2].copy_from_slice(&self.kind.to_le_bytes());
        salt[2..4].copy_from_slice(&self.table.to_le_bytes());
        salt[8..16].copy_from_slice(&self.page_in_section.to_le_bytes());
        let mut crc = crc32fast::Hasher::new();
        crc.update(&salt);
        crc.update(page);
        crc.finalize()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn crc_is_the_iso_hdlc_one() {
        assert_eq!(crc32(b"123456789"), 0xcbf4_3926);
    }

    #[test]
    fn page_in_another_place_has_another_checksum() {
        let page = [7; PAGE_LEN];
        let here = PageIdentity { kind: 4, table: 1, page_in_section: 9 };
        let sum = here.checksum(&page);
        assert_ne!(sum, PageIdentity { kind: 5, ..here }.checksum(&page));
        assert_ne!(sum, PageIdentity { table: 0, ..here }.checksum(&page));
        assert_ne!(sum, PageIdentity { page_in_section: 8, ..here }.checksum(&page));
    }
}
