//! A table of byte strings in a scratch file, each found by its number.

use super::plain_file::Result;
use super::scratch::{ScratchFile, ScratchFolder};
use fpstore_base::IoError;

/// The number of bytes collected in memory before a write.
const PENDING_LEN: usize = if cfg!(test) { 1 << 8 } else { 1 << 16 };

/// Byte strings with the numbers 0, 1, 2 and so on. Takes 8 bytes of memory for each string.
#[derive(Debug)]
pub struct ByteTable {
    file: ScratchFile,
    /// The last strings, which are not yet in the file.
    pending: Vec<u8>,
    /// The end of each string, counted over all strings.
    ends: Vec<u64>,
}

impl ByteTable {
    pub fn create(folder: &ScratchFolder) -> Result<Self> {
        let file = ScratchFile::create(folder)?;
        Ok(ByteTable { file, pending: Vec::new(), ends: Vec::new() })
    }

    pub fn push(&mut self, bytes: &[u8]) -> Result<()> {
        self.pending.extend_from_slice(bytes);
        self.ends.push(self.file.len() + self.pending.len() as u64);
        if self.pending.len() >= PENDING_LEN {
            self.file.append(&self.pending)?;
            self.pending.clear();
        }
        Ok(())
    }

    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// The string with this number, or `None` if the number is too large.
    pub fn get(&self, number: usize) -> Result<Option<Vec<u8>>> {
        let Some(&end) = self.ends.get(number) else { return Ok(None) };
        let start = number.checked_sub(1).map_or(0, |before| self.ends[before]);
        // A string is either completely in the file or completely in `pending`.
        if let Some(start) = start.checked_sub(self.file.len()) {
            let end = (end - self.file.len()) as usize;
            return Ok(Some(self.pending[start as usize..end].to_vec()));
        }
        let mut bytes = vec![0; (end - start) as usize];
        self.file.read_at(&mut bytes, start)?;
        Ok(Some(bytes))
    }

    /// The error if bytes read from the file differ from the bytes written.
    pub fn damaged(&self) -> IoError {
        self.file.damaged()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_come_back_in_any_order() {
        let mut table = ByteTable::create(&ScratchFolder::new(std::env::temp_dir())).unwrap();
        let strings = ["a", "", "long ".repeat(3000).leak(), "", "\u{e9}"];
        strings.iter().for_each(|text| table.push(text.as_bytes()).unwrap());
        for number in [3, 0, 2, 4, 1, 2] {
            assert_eq!(table.get(number).unwrap().as_deref(), Some(strings[number].as_bytes()));
        }
        assert_eq!((table.len(), table.get(5).unwrap()), (5, None));
    }
}
