//! The new records of `fpstore dedup`. They are read twice: to compare them, and to print the kept
//! records.
//!
//! Files are opened twice. Pipes can be read only once, so they are copied to unnamed files.

use std::fs::File;
use std::io::{BufRead, BufReader, BufWriter, Seek, Write};
use std::path::PathBuf;

use anyhow::{Context, bail};
use fpstore::input::{InputOptions, read_records};
use fpstore::{Error, Fingerprint, IdRef, IoError, Recipe};
use fpstore_corpus::NewFile;

use super::join_input::{Ids, Opened, Source, temporary_store};
use crate::args::inputs::inputs;
use crate::args::resources::ResourceArgs;
use crate::session::monitor::Monitor;

/// Files of new records.
pub(crate) struct NewRecords<'a> {
    files: Vec<PathBuf>,
    /// For each file: an unnamed copy of its records, if the file is a pipe.
    copies: Vec<Option<BufWriter<File>>>,
    read: InputOptions,
    resources: &'a ResourceArgs,
    /// The number of records that the first pass read.
    count: u64,
}

impl<'a> NewRecords<'a> {
    pub(crate) fn new(
        files: &[PathBuf],
        read: InputOptions,
        resources: &'a ResourceArgs,
    ) -> anyhow::Result<Self> {
        let files = inputs(files)?;
        let parent = resources.temp_dir();
        let copy = || {
            let file = NewFile::scratch(&parent);
            file.with_context(|| format!("cannot create a file in {}", parent.display()))
        };
        let copies = files
            .iter()
            .map(|file| {
                // A missing file is not a pipe; it is reported when it is read.
                let is_pipe = file.metadata().map_or(file.as_os_str() == "-", |it| !it.is_file());
                is_pipe.then(|| copy().map(BufWriter::new)).transpose()
            })
            .collect::<anyhow::Result<_>>()?;
        Ok(NewRecords { files, copies, read, resources, count: 0 })
    }

    /// First pass: makes a temporary store of all records, and copies records from pipes. `ids`
    /// must contain positions.
    pub(crate) fn make_store(
        &mut self,
        recipe: Recipe,
        ids: Ids,
        monitor: &Monitor,
    ) -> anyhow::Result<Opened> {
        let NewRecords { files, copies, read, resources, count } = self;
        let mut copy = |number: usize, fingerprint: Fingerprint, id: Option<IdRef<'_>>| {
            *count += 1;
            let Some(copy) = &mut copies[number] else { return Ok(()) };
            let written = match id {
                Some(id) => writeln!(copy, "{fingerprint}\t{id}"),
                None => writeln!(copy, "{fingerprint}"),
            };
            let path = files[number].clone();
            written.map_err(|source| Error::Io(IoError { doing: "keep a copy of", path, source }))
        };
        let source = Source::Records(*read);
        temporary_store(files, source, recipe, resources, monitor, ids, Some(&mut copy))
    }

    /// The number of records that the first pass read.
    pub(crate) fn count(&self) -> u64 {
        self.count
    }

    /// Second pass: calls `each` with each record and its position, in the same order.
    pub(crate) fn read_again(
        &mut self,
        mut each: impl FnMut(u64, Fingerprint, Option<IdRef<'_>>) -> anyhow::Result<()>,
    ) -> anyhow::Result<()> {
        let mut position = 0;
        let mut next = |fingerprint, id: Option<IdRef<'_>>| {
            let at = position;
            position += 1;
            each(at, fingerprint, id)
        };
        for (file, copy) in self.files.iter().zip(&mut self.copies) {
            match copy {
                None => {
                    let take = |record: fpstore::input::Record<'_>| -> anyhow::Result<()> {
                        next(record.fingerprint, record.id)
                    };
                    read_records(file, &self.read, take)?;
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

fn read_copy(
    copy: &mut BufWriter<File>,
    next: &mut impl FnMut(Fingerprint, Option<IdRef<'_>>) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    copy.flush()?;
    let mut file = copy.get_ref();
    file.rewind()?;
    for line in BufReader::new(file).lines() {
        let line = line?;
        let (fingerprint, id) = match line.split_once('\t') {
            Some((fingerprint, id)) => (fingerprint, Some(id)),
            None => (line.as_str(), None),
        };
        next(fingerprint.parse()?, id.map(IdRef::Text))?;
    }
    Ok(())
}
