//! The list of the outputs written by a job: a file in the job's folder with a line for each
//! output.

use fpstore_base::IoError;
use std::collections::HashMap;
use std::fs::File;
use std::io;
use std::path::PathBuf;

use fpstore_disk::{self as disk, Digest, OwnFolder};

/// The name of the file with the list.
pub(super) const WRITTEN: &str = "written";

/// An output written by a job: its length, its digest, and the digest of the decisions that
/// determined its contents.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Output {
    pub(crate) len: u64,
    pub(crate) digest: Digest,
    pub(crate) decisions: Digest,
}

/// The written outputs by number. A job that cannot be resumed keeps the list in memory only.
#[derive(Debug, Default)]
pub(super) struct Outputs {
    known: HashMap<usize, Output>,
    to: Option<(File, PathBuf)>,
}

impl Outputs {
    /// Reads the list in a folder, and opens it to append new outputs.
    pub(super) fn open(folder: &OwnFolder) -> io::Result<Self> {
        let text = folder.read(WRITTEN)?.unwrap_or_default();
        let text = String::from_utf8_lossy(&text);
        // The last line may be cut off; its output is then written again.
        let lines = text.split_inclusive('\n').filter_map(|line| line.strip_suffix('\n'));
        let known = lines.filter_map(read_line).collect();
        let (to, path) = (folder.append(WRITTEN)?, folder.path().join(WRITTEN));
        if !text.is_empty() && !text.ends_with('\n') {
            // Ends the truncated line with an invalid field, so that it never counts as complete.
            disk::append(&to, &path, b"-\n")?;
        }
        Ok(Outputs { known, to: Some((to, path)) })
    }

    pub(super) fn get(&self, number: usize) -> Option<Output> {
        self.known.get(&number).copied()
    }

    pub(super) fn note(&mut self, number: usize, output: Output) -> Result<(), fpstore::Error> {
        self.known.insert(number, output);
        let Some((to, path)) = &self.to else { return Ok(()) };
        let Output { len, digest, decisions } = output;
        let line = format!("{number} {len} {digest} {decisions}\n");
        Ok(disk::append(to, path, line.as_bytes()).map_err(IoError::of("write", path))?)
    }
}

fn read_line(line: &str) -> Option<(usize, Output)> {
    let fields: Vec<&str> = line.split(' ').collect();
    let [number, len, digest, decisions] = fields[..] else { return None };
    let (digest, decisions) = (digest.parse().ok()?, decisions.parse().ok()?);
    Some((number.parse().ok()?, Output { len: len.parse().ok()?, digest, decisions }))
}
