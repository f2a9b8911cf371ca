//! The new records of `fpstore dedup`, which are read twice: to compare them, and to print those
//! that are kept.
//!
//! A file is opened twice. Pipes, which can be read but once, are copied to files without names, and
//! so are the fingerprints of documents.

use std::fs::File;
use std::io::{BufRead, BufReader, BufWriter, Seek, Write};
use std::path::PathBuf;

use anyhow::{Context, bail};
use fpstore::input::read_records;
use fpstore::{Error, Fingerprint, IdRef, Recipe};

use super::inputs::inputs;
use super::join_input::{Ids, Opened, Source, temporary_store};
use super::monitor::Monitor;
use super::resources::ResourceArgs;

/// Files of new records.
pub(super) struct NewRecords<'a> {
    files: Vec<PathBuf>,
    /// For each file its copy, if it is a pipe; one copy for all documents.
    copies: Vec<Option<BufWriter<File>>>,
    source: Source<'a>,
    resources: &'a ResourceArgs,
    /// The number of records at the first reading.
    count: u64,
}

impl<'a> NewRecords<'a> {
    pub(super) fn new(
        files: &[PathBuf],
        source: Source<'a>,
        resources: &'a ResourceArgs,
    ) -> anyhow::Result<Self> {
        let files = inputs(files)?;
        let parent = resources.temp_dir();
        let copy = || {
            let file = tempfile::tempfile_in(&parent);
            file.with_context(|| format!("cannot create a file in {}", parent.display()))
        };
        if let Source::Documents(_) = source {
            // Reading documents again would take much longer.
            let copies = vec![Some(BufWriter::new(copy()?))];
            return Ok(NewRecords { files, copies, source, resources, count: 0 });
        }
        let copies = files
            .iter()
            .map(|file| {
                // A missing file is an error when it is read.
                let is_pipe = file.metadata().map_or(file.as_os_str() == "-", |it| !it.is_file());
                is_pipe.then(|| copy().map(BufWriter::new)).transpose()
            })
            .collect::<anyhow::Result<_>>()?;
        Ok(NewRecords { files, copies, source, resources, count: 0 })
    }

    /// A temporary store of all records, with their positions in front of their ids.
    pub(super) fn make_store(
        &mut self,
        recipe: Recipe,
        monitor: &Monitor,
    ) -> anyhow::Result<Opened> {
        let NewRecords { files, copies, source, resources, count } = self;
        let mut copy =
            |number: usize, fingerprint: Fingerprint, id: Option<IdRef<'_>>, sketch: &[u8]| {
                *count += 1;
                let Some(copy) = &mut copies[number] else { return Ok(()) };
                let written = write_copy(copy, fingerprint, id, sketch);
                let path = files[number].clone();
                written.map_err(|source| Error::Io { doing: "keep a copy of", path, source })
            };
        let ids = Ids::WithPositions;
        temporary_store(files, *source, recipe, resources, monitor, ids, &mut copy)
    }

    /// Calls `each` with each record again, and with its position.
    pub(super) fn read_again(
        &mut self,
        mut each: impl FnMut(u64, Fingerprint, Option<IdRef<'_>>, &[u8]) -> anyhow::Result<()>,
    ) -> anyhow::Result<()> {
        let mut position = 0;
        let mut next = |fingerprint, id: Option<IdRef<'_>>, sketch: &[u8]| {
            let at = position;
            position += 1;
            each(at, fingerprint, id, sketch)
        };
        for (file, copy) in self.files.iter().zip(&mut self.copies) {
            match copy {
                None => {
                    let take = |record: fpstore::input::Record<'_>| -> anyhow::Result<()> {
                        next(record.fingerprint, record.id, &[])
                    };
                    let Source::Records(read) = self.source else {
                        bail!("documents have a copy of their fingerprints");
                    };
                    read_records(file, &read.options(), take)?;
                }
                Some(copy) => read_copy(copy, &mut next)
                    .with_context(|| format!("cannot read the copy of {}", file.display()))?,
            }
        }
        if position != self.count {
            bail!("the files were changed while they were read; nothing was written");
        }
        Ok(())
    }
}

/// Writes a line: fingerprint, sketch in hex, and id, if there is one.
fn write_copy(
    copy: &mut impl Write,
    fingerprint: Fingerprint,
    id: Option<IdRef<'_>>,
    sketch: &[u8],
) -> std::io::Result<()> {
    write!(copy, "{fingerprint}\t")?;
    sketch.iter().try_for_each(|byte| write!(copy, "{byte:02x}"))?;
    match id {
        Some(id) => writeln!(copy, "\t{id}"),
        None => writeln!(copy),
    }
}

fn read_copy(
    copy: &mut BufWriter<File>,
    next: &mut impl FnMut(Fingerprint, Option<IdRef<'_>>, &[u8]) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    copy.flush()?;
    let mut file = copy.get_ref();
    file.rewind()?;
    let mut sketch = Vec::new();
    for line in BufReader::new(file).lines() {
        let line = line?;
        let mut columns = line.splitn(3, '\t');
        let (fingerprint, hex) = (columns.next(), columns.next());
        let (Some(fingerprint), Some(hex)) = (fingerprint, hex) else { bail!("a line is cut") };
        sketch.clear();
        for digits in hex.as_bytes().chunks(2) {
            sketch.push(u8::from_str_radix(str::from_utf8(digits)?, 16)?);
        }
        next(fingerprint.parse()?, columns.next().map(IdRef::Text), &sketch)?;
    }
    Ok(())
}
