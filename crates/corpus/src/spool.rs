//! Spools: files with the fingerprints, ids and further values of the documents of a batch of
//! files.

use fpstore_base::IoError;
use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::io::{self, BufReader, Read, Write};
use std::sync::Arc;

use fpstore_documents::{IdNotes, RepeatedIds};

use super::error::{Error, Result};
use super::fields::{put_id, put_text, read_bytes, read_id, read_text};
use super::number::Number;
use crate::steps::step;
use fpstore_base::watch::{Observer, Phase, Watch};
use fpstore_base::{Fingerprint, IdRef};
use fpstore_disk::fields::{put_u32, put_u64, read_u32, read_u64};
use fpstore_disk::{DigestReader, OwnFolder};
use fpstore_text::TextDigests;

const MAGIC: &[u8; 8] = b"fpspool8";
/// Marks the end of the entries, in place of the length of an entry.
const END: u32 = u32::MAX;

/// A document in a spool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Entry<'a> {
    /// The number of the document's file.
    pub(super) file: u32,
    /// The number of the document's record in the file, and the digest of the record; see
    /// [`DocumentPlace::digest`](fpstore_documents::DocumentPlace::digest).
    pub(super) record: u64,
    pub(super) record_digest: Option<u64>,
    pub(super) fingerprint: Fingerprint,
    /// The digest of the document's features, 0 if not needed.
    pub(super) digest: u64,
    /// The digests of the document's text, if needed and the document has a text.
    pub(super) digests: Option<TextDigests>,
    /// The digest of the document's address, if needed and the document has an address.
    pub(super) address: Option<u128>,
    /// The document's merits by the keep rules.
    pub(super) merits: Vec<u64>,
    /// The document's source, if sources are needed and the document has a source.
    pub(super) source: Option<&'a str>,
    pub(super) id: IdRef<'a>,
    /// The number of the document's features, 0 if not needed.
    pub(super) feature_count: u32,
    /// The document's sketch; empty if not needed.
    pub(super) sketch: &'a [u8],
}

/// Counts of documents and of bad records.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Counts {
    pub(super) document_count: u64,
    pub(super) empty_count: u64,
    pub(super) bad_count: u64,
    /// Damaged records among the bad ones; they are in no copy.
    pub(super) damaged_count: u64,
}

/// The number of documents without fingerprint from one file and with one source.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Empties {
    /// The number of the file.
    pub(super) file: u32,
    /// The source, as in [`Entry::source`].
    pub(super) source: Option<String>,
    pub(super) count: u64,
}

pub(super) fn write_start(out: &mut impl Write) -> io::Result<()> {
    out.write_all(MAGIC)
}

pub(super) fn write_entry(out: &mut impl Write, entry: &Entry<'_>) -> io::Result<()> {
    let mut bytes = Vec::with_capacity(128 + entry.sketch.len());
    put_u32(&mut bytes, 0);
    put_u32(&mut bytes, entry.file);
    for number in [entry.record, entry.fingerprint.value(), entry.digest] {
        put_u64(&mut bytes, number);
    }
    let has = u8::from(entry.digests.is_some())
        | u8::from(entry.address.is_some()) << 1
        | u8::from(entry.record_digest.is_some()) << 2;
    bytes.push(has);
    bytes.extend(entry.record_digest.iter().flat_map(|digest| digest.to_le_bytes()));
    if let Some(digests) = entry.digests {
        put_u64(&mut bytes, digests.bytes);
        put_u64(&mut bytes, digests.features);
    }
    bytes.extend(entry.address.iter().flat_map(|address| address.to_le_bytes()));
    put_u32(&mut bytes, entry.merits.len() as u32);
    entry.merits.iter().for_each(|&merit| put_u64(&mut bytes, merit));
    put_text(&mut bytes, entry.source);
    put_id(&mut bytes, entry.id);
    put_u32(&mut bytes, entry.feature_count);
    bytes.push(entry.sketch.len() as u8);
    bytes.extend_from_slice(entry.sketch);
    let len = bytes.len() as u32 - 4;
    bytes[..4].copy_from_slice(&len.to_le_bytes());
    out.write_all(&bytes)
}

/// Ends a spool; `unread` are the numbers of the files that could not be read to their ends.
pub(super) fn write_end(
    out: &mut impl Write,
    counts: Counts,
    empties: &[Empties],
    unread: &[usize],
) -> io::Result<()> {
    let mut bytes = Vec::new();
    put_u32(&mut bytes, END);
    let Counts { document_count, empty_count, bad_count, damaged_count } = counts;
    for count in [document_count, empty_count, bad_count, damaged_count] {
        put_u64(&mut bytes, count);
    }
    put_u64(&mut bytes, empties.len() as u64);
    for one in empties {
        put_u32(&mut bytes, one.file);
        put_text(&mut bytes, one.source.as_deref());
        put_u64(&mut bytes, one.count);
    }
    put_u64(&mut bytes, unread.len() as u64);
    unread.iter().for_each(|&number| put_u64(&mut bytes, number as u64));
    out.write_all(&bytes)
}

/// The next entry of a spool, or the end.
enum Next<'a> {
    Entry(Entry<'a>),
    End(End),
}

/// The values at the end of a spool.
#[derive(Debug)]
struct End {
    counts: Counts,
    empties: Vec<Empties>,
    /// The numbers of the files that could not be read to their ends.
    unread: Vec<u64>,
}

/// A file with a spool, in the folder of a job.
#[derive(Debug)]
pub(super) struct SpoolFile {
    pub(super) folder: Arc<OwnFolder>,
    pub(super) name: String,
    /// The first line of the file; see [`Job::mark`](super::job::Job::mark).
    pub(super) mark: String,
}

impl SpoolFile {
    fn entries(&self) -> Result<Entries<'_>> {
        let open = || -> io::Result<_> {
            let file = self.folder.open_file(&self.name)?.ok_or(io::ErrorKind::NotFound)?;
            let mut from = DigestReader::new(BufReader::with_capacity(1 << 18, file));
            let expected = [self.mark.as_bytes(), MAGIC].concat();
            let mut start = vec![0; expected.len()];
            from.read_exact(&mut start)?;
            match start == expected {
                true => Ok(from),
                false => Err(io::Error::other("it is of another cleaning")),
            }
        };
        let from = open().map_err(IoError::of("read", self.folder.path().join(&self.name)))?;
        Ok(Entries { spool: self, from, buffer: Vec::new() })
    }

    /// Calls `each` with each entry, and checks the digest of the spool.
    fn read<E: From<Error>>(
        &self,
        mut each: impl FnMut(Entry<'_>) -> Result<(), E>,
    ) -> Result<End, E> {
        let mut entries = self.entries()?;
        loop {
            match entries.next()? {
                Next::Entry(entry) => each(entry)?,
                Next::End(end) => return Ok(end),
            }
        }
    }
}

/// Reader of the entries of a spool.
struct Entries<'a> {
    spool: &'a SpoolFile,
    from: DigestReader<BufReader<File>>,
    /// Buffer for the bytes of an entry.
    buffer: Vec<u8>,
}

impl Entries<'_> {
    /// Reads the next entry or the end. At the end, checks the digest of the spool.
    fn next(&mut self) -> Result<Next<'_>> {
        step();
        let from = &mut self.from;
        let next = read_next(from, &mut self.buffer).and_then(|next| match &next {
            Next::End(_) if !from.ends_sealed()? => {
                Err(io::Error::new(io::ErrorKind::InvalidData, "it is damaged"))
            }
            _ => Ok(next),
        });
        let path = || self.spool.folder.path().join(&self.spool.name);
        Ok(next.map_err(|source| IoError::of("read", path())(source))?)
    }
}

/// The number of a document, and the position of its record.
#[derive(Clone, Copy)]
pub(super) struct RecordOf {
    pub(super) file: u32,
    pub(super) record: u64,
    pub(super) digest: Option<u64>,
    /// The number of the document.
    pub(super) number: Number,
}

/// The documents of a batch with their records, in the order in which the files are copied. They
/// are streamed from the spool, not kept in memory.
pub(super) struct BatchRecords<'a> {
    spools: &'a Spools,
    entries: Entries<'a>,
    /// The next document; `None` at the end.
    next: Option<RecordOf>,
    number: Number,
}

impl BatchRecords<'_> {
    /// The next document of a file; documents of earlier files are skipped.
    pub(super) fn next_of(&mut self, file: usize) -> Result<Option<RecordOf>> {
        while let Some(next) = self.next.filter(|next| next.file as usize <= file) {
            self.advance()?;
            if next.file as usize == file {
                return Ok(Some(next));
            }
        }
        Ok(None)
    }

    fn advance(&mut self) -> Result<()> {
        self.next = loop {
            break match self.entries.next()? {
                Next::Entry(entry) if self.spools.leaves_out(entry.file as usize) => continue,
                Next::Entry(Entry { file, record, record_digest: digest, .. }) => {
                    let number = self.number;
                    self.number.0 += 1;
                    Some(RecordOf { file, record, digest, number })
                }
                Next::End(_) => None,
            };
        };
        Ok(())
    }
}

/// Reads an entry into `buffer`.
fn read_next<'a>(from: &mut impl Read, buffer: &'a mut Vec<u8>) -> io::Result<Next<'a>> {
    let len = read_u32(from)?;
    if len == END {
        let counts = Counts {
            document_count: read_u64(from)?,
            empty_count: read_u64(from)?,
            bad_count: read_u64(from)?,
            damaged_count: read_u64(from)?,
        };
        let empties =
            (0..read_u64(from)?).map(|_| read_empties(from)).collect::<io::Result<_>>()?;
        let unread = (0..read_u64(from)?).map(|_| read_u64(from)).collect::<io::Result<_>>()?;
        return Ok(Next::End(End { counts, empties, unread }));
    }
    let len = len as usize;
    if buffer.len() < len {
        *buffer = vec![0; len.next_power_of_two()];
    }
    let bytes = &mut buffer[..len];
    from.read_exact(bytes)?;
    read_entry(bytes).map(Next::Entry)
}

fn read_empties(from: &mut impl Read) -> io::Result<Empties> {
    let file = read_u32(from)?;
    let source = match read_u32(from)?.checked_sub(1) {
        None => None,
        Some(len) => {
            let mut text = String::new();
            from.by_ref().take(len.into()).read_to_string(&mut text)?;
            Some(text)
        }
    };
    Ok(Empties { file, source, count: read_u64(from)? })
}

fn read_entry(mut bytes: &[u8]) -> io::Result<Entry<'_>> {
    let from = &mut bytes;
    let file = read_u32(from)?;
    let record = read_u64(from)?;
    let fingerprint = Fingerprint::new(read_u64(from)?);
    let digest = read_u64(from)?;
    let has = read_bytes(from, 1)?[0];
    let record_digest = match has & 4 {
        0 => None,
        _ => Some(read_u64(from)?),
    };
    let digests = match has & 1 {
        0 => None,
        _ => Some(TextDigests { bytes: read_u64(from)?, features: read_u64(from)? }),
    };
    let address = match has & 2 {
        0 => None,
        _ => Some(u128::from(read_u64(from)?) | u128::from(read_u64(from)?) << 64),
    };
    let merits = (0..read_u32(from)?).map(|_| read_u64(from)).collect::<io::Result<_>>()?;
    let source = read_text(from)?;
    let id = read_id(from)?;
    let feature_count = read_u32(from)?;
    let len = read_bytes(from, 1)?[0];
    let sketch = read_bytes(from, len.into())?;
    Ok(Entry {
        file,
        record,
        record_digest,
        fingerprint,
        digest,
        digests,
        address,
        merits,
        source,
        id,
        feature_count,
        sketch,
    })
}

/// The number of documents of a file in a spool, and whether any has a source or an address.
#[derive(Default)]
struct OfFile {
    count: u64,
    has_source: bool,
    has_address: bool,
}

/// The spools of all batches, in order.
#[derive(Debug, Default)]
pub(super) struct Spools {
    files: Vec<SpoolFile>,
    /// The number of the first document of each spool.
    starts: Vec<u32>,
    counts: Counts,
    /// The documents without fingerprint, skipped files excluded.
    empties: Vec<Empties>,
    /// Whether any document has a source, and whether any has an address.
    has_source: bool,
    has_address: bool,
    /// Whether files that could not be read to their ends are skipped as a whole.
    whole_files: bool,
    /// The numbers of the skipped files.
    left_out: HashSet<u64>,
    /// The number of documents of the skipped files.
    left_out_count: u64,
    repeated_ids: RepeatedIds,
    observer: Option<Observer>,
}

impl Spools {
    /// An empty list of spools. Documents of the files with the numbers `left_out` are skipped, and
    /// with `whole_files` also the documents of files that could not be read to their ends.
    pub(super) fn new(left_out: impl IntoIterator<Item = u64>, whole_files: bool) -> Self {
        Spools { whole_files, left_out: left_out.into_iter().collect(), ..Spools::default() }
    }

    /// These spools with an observer, which may end the reading of spools.
    pub(super) fn observed(self, observer: Option<Observer>) -> Self {
        Spools { observer, ..self }
    }

    fn watch(&self, count: Option<u64>) -> Watch {
        Watch::new(self.observer.clone(), Phase::Read, count)
    }

    /// Reads and appends the next spool, and notes its ids together with the ids of earlier spools.
    /// After an error `self` and `ids` must not be used.
    pub(super) fn push(&mut self, file: SpoolFile, ids: &mut IdNotes) -> Result<()> {
        let too_many = || {
            let reason = "more than 2^32 - 2 documents; clean the files in parts, with a store";
            fpstore::Error::TooLarge { reason: reason.into() }
        };
        let before = self.counts.document_count;
        let mut of_files: HashMap<u64, OfFile> = HashMap::new();
        let watch = self.watch(None);
        let end = file.read(|entry| {
            watch.tick(1).map_err(Error::from)?;
            let of_file = of_files.entry(entry.file.into()).or_default();
            of_file.count += 1;
            of_file.has_source |= entry.source.is_some();
            of_file.has_address |= entry.address.is_some();
            ids.note(entry.id, &mut self.repeated_ids);
            Ok::<(), Error>(())
        })?;
        if self.whole_files {
            self.left_out.extend(end.unread);
        }
        of_files.retain(|file, _| !self.left_out.contains(file));
        let taken: u64 = of_files.values().map(|of_file| of_file.count).sum();
        self.has_source |= of_files.values().any(|of_file| of_file.has_source);
        self.has_address |= of_files.values().any(|of_file| of_file.has_address);
        self.left_out_count += end.counts.document_count - taken;
        self.counts.document_count += taken;
        let empties = end.empties.into_iter();
        let empties = empties.filter(|one| !self.left_out.contains(&one.file.into()));
        for one in empties {
            self.counts.empty_count += one.count;
            self.has_source |= one.source.is_some();
            self.empties.push(one);
        }
        self.counts.bad_count += end.counts.bad_count;
        self.counts.damaged_count += end.counts.damaged_count;
        if self.counts.document_count >= u64::from(u32::MAX) {
            return Err(too_many().into());
        }
        self.starts.push(u32::try_from(before).map_err(|_| too_many())?);
        self.files.push(file);
        Ok(())
    }

    pub(super) fn counts(&self) -> Counts {
        self.counts
    }

    /// The number of documents without fingerprint for each file and source.
    pub(super) fn empties(&self) -> &[Empties] {
        &self.empties
    }

    /// Whether any document has a source, documents without fingerprint included.
    pub(super) fn has_source(&self) -> bool {
        self.has_source
    }

    /// Whether any document has an address.
    pub(super) fn has_address(&self) -> bool {
        self.has_address
    }

    /// The documents that share an id with an earlier one, documents of skipped files included.
    pub(super) fn repeated_ids(&self) -> &RepeatedIds {
        &self.repeated_ids
    }

    /// The number of documents.
    pub(super) fn len(&self) -> usize {
        self.counts.document_count as usize
    }

    /// The number of spools.
    pub(super) fn batch_count(&self) -> usize {
        self.files.len()
    }

    /// Whether the documents of a file are skipped.
    pub(super) fn leaves_out(&self, file: usize) -> bool {
        self.left_out.contains(&(file as u64))
    }

    /// The numbers of the skipped files, ascending.
    pub(super) fn left_out(&self) -> Vec<u64> {
        let mut numbers: Vec<u64> = self.left_out.iter().copied().collect();
        numbers.sort_unstable();
        numbers
    }

    /// The number of documents of skipped files.
    pub(super) fn left_out_count(&self) -> u64 {
        self.left_out_count
    }

    /// The documents of a batch with their records.
    pub(super) fn records_of(&self, batch: usize) -> Result<BatchRecords<'_>> {
        let (entries, number) = (self.files[batch].entries()?, Number(self.starts[batch]));
        let mut records = BatchRecords { spools: self, entries, next: None, number };
        records.advance()?;
        Ok(records)
    }

    /// Calls `each` with each document of a batch and its number.
    pub(super) fn each_of<E: From<Error>>(
        &self,
        batch: usize,
        mut each: impl FnMut(Number, Entry<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut number = Number(self.starts[batch]);
        self.files[batch]
            .read(|entry| {
                if !self.leaves_out(entry.file as usize) {
                    each(number, entry)?;
                    number.0 += 1;
                }
                Ok(())
            })
            .map(drop)
    }

    /// Calls `each` with each document, its number, and the position of its first feature among the
    /// features of all files. Returns that position for the first document of each spool.
    pub(super) fn each_with_start(
        &self,
        mut each: impl FnMut(Number, u64, &Entry<'_>) -> Result<()>,
    ) -> Result<Vec<u64>> {
        let watch = self.watch(Some(self.counts.document_count));
        let (mut starts, mut start, mut number) = (Vec::new(), 0, Number(0));
        for file in &self.files {
            starts.push(start);
            file.read(|entry| {
                if !self.leaves_out(entry.file as usize) {
                    watch.tick(1)?;
                    each(number, start, &entry)?;
                    number.0 += 1;
                }
                start += u64::from(entry.feature_count);
                Ok::<(), Error>(())
            })?;
        }
        Ok(starts)
    }

    /// Calls `each` with each document and its number.
    pub(super) fn each(&self, each: impl FnMut(Number, Entry<'_>) -> Result<()>) -> Result<()> {
        self.try_each(each)
    }

    /// Like [`Spools::each`], but with any error type.
    pub(super) fn try_each<E: From<Error>>(
        &self,
        mut each: impl FnMut(Number, Entry<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        let watch = self.watch(Some(self.counts.document_count));
        let mut each = |number, entry: Entry<'_>| {
            watch.tick(1).map_err(Error::from)?;
            each(number, entry)
        };
        (0..self.files.len()).try_for_each(|batch| self.each_of(batch, &mut each))
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;
    use fpstore_disk::DigestWriter;

    fn open(paths: &[PathBuf], left_out: &[u64], whole_files: bool) -> Result<Spools> {
        let folder = Arc::new(OwnFolder::open(paths[0].parent().unwrap()).unwrap());
        let mut spools = Spools::new(left_out.iter().copied(), whole_files);
        let mut ids = IdNotes::default();
        for path in paths {
            let (folder, mark) = (folder.clone(), "mark\n".into());
            let name = path.file_name().unwrap().to_str().unwrap().into();
            spools.push(SpoolFile { folder, name, mark }, &mut ids)?;
        }
        Ok(spools)
    }

    #[test]
    fn entries_come_back_with_their_numbers() {
        let folder = tempfile::tempdir().unwrap();
        let entry = |number: u64| Entry {
            file: number as u32 / 2,
            record: number,
            record_digest: number.is_multiple_of(3).then_some(!number << 3),
            fingerprint: Fingerprint::new(!number),
            digest: number << 40,
            digests: (number > 2)
                .then_some(TextDigests { bytes: number << 50, features: u64::MAX - number }),
            address: number.is_multiple_of(2).then_some(u128::MAX - (u128::from(number) << 70)),
            merits: vec![u64::MAX; number as usize % 3],
            source: ["", "a\u{e9}", "a\u{e9}b"].get((number as usize).wrapping_sub(2)).copied(),
            id: if number.is_multiple_of(2) { IdRef::U64(number) } else { IdRef::Text("a\u{e9}") },
            feature_count: 3 << 20,
            sketch: &[7; 5][..number as usize],
        };
        let mut paths: Vec<PathBuf> = Vec::new();
        for batch in [0..3, 3..3, 3..5] {
            let mut bytes = DigestWriter::new(Vec::new());
            bytes.write_all(b"mark\n").unwrap();
            write_start(&mut bytes).unwrap();
            batch.clone().for_each(|number| write_entry(&mut bytes, &entry(number)).unwrap());
            let document_count = batch.end - batch.start;
            let counts = Counts { document_count, empty_count: 1, bad_count: 2, damaged_count: 1 };
            let source = (document_count == 2).then(|| "a\u{e9}".to_string());
            let empties = [Empties { file: 2, source, count: 1 }];
            write_end(&mut bytes, counts, &empties, &[1]).unwrap();
            paths.push(folder.path().join(paths.len().to_string()));
            std::fs::write(paths.last().unwrap(), bytes.seal().unwrap()).unwrap();
        }
        let spools = open(&paths, &[], false).unwrap();
        let counts = Counts { document_count: 5, empty_count: 3, bad_count: 6, damaged_count: 3 };
        assert_eq!(spools.counts(), counts);
        let sources: Vec<_> = spools.empties().iter().map(|one| one.source.as_deref()).collect();
        assert_eq!(sources, [None, None, Some("a\u{e9}")]);
        let mut found = Vec::new();
        spools
            .each(|number, read| {
                assert_eq!(read, entry(number.0.into()));
                found.push(number.0);
                Ok(())
            })
            .unwrap();
        assert_eq!(found, [0, 1, 2, 3, 4]);
        // The documents 2 and 3 are of file 1, which could not be read to its end, and 4 is of file
        // 2.
        let whole = open(&paths, &[], true).unwrap();
        assert_eq!((whole.len(), whole.left_out_count(), whole.left_out()), (3, 2, vec![1]));
        let mut found = Vec::new();
        let mut note = |number: Number, entry: Entry<'_>| found.push((number.0, entry.record));
        whole
            .each(|number, entry| {
                note(number, entry);
                Ok(())
            })
            .unwrap();
        assert_eq!(found, [(0, 0), (1, 1), (2, 4)]);
        let chosen = open(&paths, &[0, 2], false).unwrap();
        assert_eq!((chosen.len(), chosen.leaves_out(0), chosen.leaves_out(1)), (2, true, false));
        assert_eq!((chosen.counts().empty_count, chosen.empties()), (0, &[][..]));
        // A truncated spool and a changed spool are refused.
        let bytes = std::fs::read(&paths[0]).unwrap();
        std::fs::write(&paths[0], &bytes[..bytes.len() - 1]).unwrap();
        assert!(open(&paths[..1], &[], false).is_err() && open(&paths[1..], &[], false).is_ok());
        let mut changed = bytes;
        changed[20] ^= 1;
        std::fs::write(&paths[0], &changed).unwrap();
        assert!(open(&paths, &[], false).is_err());
    }
}
