//! Ids or sketches by number, in a temporary file.

use std::cell::RefCell;
use std::fs::File;
use std::io::{self, BufWriter, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use anyhow::Context;

/// Byte strings by number, 0, 1, 2 and so on. Takes 8 bytes of memory for each.
pub(super) struct ByteTable {
    out: RefCell<BufWriter<File>>,
    folder: PathBuf,
    /// Where each string ends.
    ends: Vec<u64>,
}

impl ByteTable {
    pub(super) fn create(folder: &Path) -> anyhow::Result<Self> {
        let file = tempfile::tempfile_in(folder);
        let file = file.with_context(|| format!("cannot create a file in {}", folder.display()))?;
        let out = RefCell::new(BufWriter::new(file));
        Ok(ByteTable { out, folder: folder.into(), ends: Vec::new() })
    }

    pub(super) fn push(&mut self, bytes: &[u8]) -> anyhow::Result<()> {
        let end = self.ends.last().copied().unwrap_or_default() + bytes.len() as u64;
        self.ends.push(end);
        let written = self.out.get_mut().write_all(bytes);
        written.with_context(|| format!("cannot write a file in {}", self.folder.display()))
    }

    /// The number of strings.
    pub(super) fn len(&self) -> usize {
        self.ends.len()
    }

    pub(super) fn get(&self, number: usize) -> anyhow::Result<Vec<u8>> {
        let start = number.checked_sub(1).map_or(0, |before| self.ends[before]);
        let mut bytes = vec![0; (self.ends[number] - start) as usize];
        let mut out = self.out.borrow_mut();
        let mut read = || -> io::Result<()> {
            out.flush()?;
            let mut file = out.get_ref();
            file.seek(SeekFrom::Start(start))?;
            file.read_exact(&mut bytes)
        };
        read().with_context(|| format!("cannot read a file in {}", self.folder.display()))?;
        Ok(bytes)
    }

    /// A string that is a text.
    pub(super) fn text(&self, number: usize) -> anyhow::Result<String> {
        Ok(String::from_utf8(self.get(number)?)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_come_back_in_any_order() {
        let mut table = ByteTable::create(&std::env::temp_dir()).unwrap();
        let strings = ["a", "", "long ".repeat(3000).leak(), "\u{e9}"];
        strings.iter().for_each(|text| table.push(text.as_bytes()).unwrap());
        for number in [3, 0, 2, 1, 2] {
            assert_eq!(table.text(number).unwrap(), strings[number]);
        }
        assert_eq!(table.len(), 4);
    }
}
