//! What is known of the documents of a batch of files, in a file.

use std::fs::File;
use std::io::{self, BufReader, Read, Write};
use std::path::PathBuf;

use anyhow::{Context, bail};
use fpstore::{Fingerprint, Id};

use super::dropped::{read_id, write_id};

const MAGIC: &[u8; 8] = b"fpspool2";
/// Stands where the number of a file would, at the end of a spool.
const END: u32 = u32::MAX;

/// A document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    /// The number of its file.
    pub(super) file: u32,
    /// The number of its record in the file.
    pub(super) record: u64,
    pub(super) fingerprint: Fingerprint,
    /// The digest of its features, 0 if it is not needed.
    pub(super) digest: u64,
    pub(super) merit: u64,
    pub(super) id: Id,
    /// The number of its features, 0 if it is not needed.
    pub(super) feature_count: u32,
    /// Its sketch or outline; empty if it is not needed.
    pub(super) sketch: Vec<u8>,
}

/// How many documents there are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Counts {
    pub(super) document_count: u64,
    pub(super) empty_count: u64,
    pub(super) bad_count: u64,
}

/// Writes an entry.
pub(super) fn write_entry(out: &mut impl Write, entry: &Entry) -> io::Result<()> {
    out.write_all(&entry.file.to_le_bytes())?;
    for number in [entry.record, entry.fingerprint.value(), entry.digest, entry.merit] {
        out.write_all(&number.to_le_bytes())?;
    }
    write_id(out, &entry.id)?;
    out.write_all(&entry.feature_count.to_le_bytes())?;
    out.write_all(&[entry.sketch.len() as u8])?;
    out.write_all(&entry.sketch)
}

pub(super) fn write_start(out: &mut impl Write) -> io::Result<()> {
    out.write_all(MAGIC)
}

/// Ends a spool.
pub(super) fn write_end(out: &mut impl Write, counts: Counts) -> io::Result<()> {
    out.write_all(&END.to_le_bytes())?;
    let Counts { document_count, empty_count, bad_count } = counts;
    let numbers = [document_count, empty_count, bad_count];
    numbers.iter().try_for_each(|number| out.write_all(&number.to_le_bytes()))
}

pub(super) fn read_u32(from: &mut impl Read) -> io::Result<u32> {
    let mut bytes = [0; 4];
    from.read_exact(&mut bytes)?;
    Ok(u32::from_le_bytes(bytes))
}

pub(super) fn read_u64(from: &mut impl Read) -> io::Result<u64> {
    let mut bytes = [0; 8];
    from.read_exact(&mut bytes)?;
    Ok(u64::from_le_bytes(bytes))
}

/// Calls `each` with each entry of a spool, and returns its counts.
fn read(
    from: &mut impl Read,
    mut each: impl FnMut(Entry) -> anyhow::Result<()>,
) -> anyhow::Result<Counts> {
    let mut magic = [0; MAGIC.len()];
    from.read_exact(&mut magic)?;
    if magic != *MAGIC {
        bail!("it is no list of documents");
    }
    loop {
        let file = read_u32(from)?;
        if file == END {
            return Ok(Counts {
                document_count: read_u64(from)?,
                empty_count: read_u64(from)?,
                bad_count: read_u64(from)?,
            });
        }
        let record = read_u64(from)?;
        let fingerprint = Fingerprint::new(read_u64(from)?);
        let (digest, merit) = (read_u64(from)?, read_u64(from)?);
        let id = read_id(from)?;
        let feature_count = read_u32(from)?;
        let mut len = [0];
        from.read_exact(&mut len)?;
        let mut sketch = vec![0; len[0].into()];
        from.read_exact(&mut sketch)?;
        each(Entry { file, record, fingerprint, digest, merit, id, feature_count, sketch })?;
    }
}

/// The spools of all batches, in order.
pub(super) struct Spools {
    paths: Vec<PathBuf>,
    /// The number of the first document of each spool.
    starts: Vec<u32>,
    counts: Counts,
}

impl Spools {
    /// The spools in these files, which are complete.
    pub(super) fn open(paths: Vec<PathBuf>) -> anyhow::Result<Self> {
        let mut spools = Spools { paths, starts: Vec::new(), counts: Counts::default() };
        let mut count = 0_u64;
        for batch in 0..spools.paths.len() {
            let Ok(start) = u32::try_from(count) else {
                bail!("more than 2^32 - 1 documents; give the files in parts, against a store");
            };
            spools.starts.push(start);
            let counts = spools.read(batch, |_| Ok(()))?;
            count += counts.document_count;
            spools.counts.empty_count += counts.empty_count;
            spools.counts.bad_count += counts.bad_count;
        }
        spools.counts.document_count = count;
        if count >= u64::from(u32::MAX) {
            bail!("more than 2^32 - 2 documents; give the files in parts, against a store");
        }
        Ok(spools)
    }

    pub(super) fn counts(&self) -> Counts {
        self.counts
    }

    /// The number of documents.
    pub(super) fn len(&self) -> usize {
        self.counts.document_count as usize
    }

    /// The number of spools.
    pub(super) fn batch_count(&self) -> usize {
        self.paths.len()
    }

    fn read(
        &self,
        batch: usize,
        each: impl FnMut(Entry) -> anyhow::Result<()>,
    ) -> anyhow::Result<Counts> {
        let path = &self.paths[batch];
        let cannot = || format!("cannot read {}", path.display());
        let file = File::open(path).with_context(cannot)?;
        read(&mut BufReader::with_capacity(1 << 18, file), each).with_context(cannot)
    }

    /// Calls `each` with each document of a batch and its number.
    pub(super) fn each_of(
        &self,
        batch: usize,
        mut each: impl FnMut(u32, Entry) -> anyhow::Result<()>,
    ) -> anyhow::Result<()> {
        let mut number = self.starts[batch];
        self.read(batch, |entry| {
            each(number, entry)?;
            number += 1;
            Ok(())
        })?;
        Ok(())
    }

    /// Calls `each` with each document and its number.
    pub(super) fn each(
        &self,
        mut each: impl FnMut(u32, Entry) -> anyhow::Result<()>,
    ) -> anyhow::Result<()> {
        (0..self.paths.len()).try_for_each(|batch| self.each_of(batch, &mut each))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_come_back_with_their_numbers() {
        let folder = tempfile::tempdir().unwrap();
        let entry = |number: u64| Entry {
            file: number as u32 / 2,
            record: number,
            fingerprint: Fingerprint::new(!number),
            digest: number << 40,
            merit: u64::MAX,
            id: if number.is_multiple_of(2) { Id::U64(number) } else { Id::Text("a\u{e9}".into()) },
            feature_count: 3 << 20,
            sketch: vec![7; number as usize],
        };
        let mut paths = Vec::new();
        for batch in [0..3, 3..3, 3..5] {
            let mut bytes = Vec::new();
            write_start(&mut bytes).unwrap();
            batch.clone().for_each(|number| write_entry(&mut bytes, &entry(number)).unwrap());
            let document_count = batch.end - batch.start;
            let counts = Counts { document_count, empty_count: 1, bad_count: 2 };
            write_end(&mut bytes, counts).unwrap();
            paths.push(folder.path().join(paths.len().to_string()));
            std::fs::write(paths.last().unwrap(), bytes).unwrap();
        }
        let spools = Spools::open(paths.clone()).unwrap();
        let counts = Counts { document_count: 5, empty_count: 3, bad_count: 6 };
        assert_eq!(spools.counts(), counts);
        let mut found = Vec::new();
        let mut note = |number: u32, entry| found.push((u64::from(number), entry));
        spools
            .each(|number, entry| {
                note(number, entry);
                Ok(())
            })
            .unwrap();
        assert_eq!(found, (0..5).map(|number| (number, entry(number))).collect::<Vec<_>>());
        // Cut short.
        let bytes = std::fs::read(&paths[0]).unwrap();
        std::fs::write(&paths[0], &bytes[..bytes.len() - 1]).unwrap();
        assert!(Spools::open(paths).is_err());
    }
}
