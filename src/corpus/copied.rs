//! Copies of files without some of their documents, before they get their names.
//!
//! A cleaning and the removal of benchmarks write their outputs by these functions; each decides by
//! itself when a copy gets its name.

use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

use fpstore_documents::{
    DocumentFile, DocumentOptions, Error as TextError, NewField, RecordDecisions, RecordFate,
};

use super::compressed::Compressed;
use super::error::{Error, Result};
use crate::bytes::digested::DigestWriter;
use crate::disk::{self, NewFile};
use fpstore_base::source::Compression;
use fpstore_base::thread_count;
use fpstore_base::watch::Watch;

/// An output that has no name yet.
pub(super) type NewOutput = (NewFile, DigestWriter<BufWriter<File>>);

/// Does the work of each number below `count` on threads, `None` for one each core. No work begins
/// after an error, and the first one is returned.
pub(super) fn on_threads(
    threads: Option<usize>,
    count: usize,
    work: impl Fn(usize) -> Result<()> + Sync,
) -> Result<()> {
    let next = AtomicUsize::new(0);
    let run = || -> Result<()> {
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            if number >= count {
                return Ok(());
            }
            // Nobody needs to begin another one.
            work(number).inspect_err(|_| next.store(usize::MAX / 2, Ordering::Relaxed))?;
        }
    };
    let threads = thread_count(threads.unwrap_or(0)).min(count).max(1);
    let done: Vec<Result<()>> = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(run)).collect();
        // The first error is the cause of the others.
        workers.into_iter().map(|worker| worker.join().expect("no panic")).collect()
    });
    done.into_iter().collect()
}

/// Copies a file to a new file for `to`, compressed so. `decisions` are about records that were read,
/// and `other` is the fate of all others.
pub(super) fn copy_file(
    file: &DocumentFile<'_>,
    (to, compression): (&Path, Option<Compression>),
    options: &DocumentOptions,
    new_fields: &[NewField],
    watch: &Watch,
    (decisions, other): (&mut RecordDecisions<'_>, &RecordFate),
) -> Result<NewOutput> {
    let cannot = || crate::Error::io("write", to);
    let (new, buffer) = create(to)?;
    let has_members = file.format().has_members();
    let mut out = Compressed::new(compression, has_members, buffer).map_err(cannot())?;
    let fates = (decisions, other);
    let copied = file.copy_records(options, new_fields, watch, &mut out, fates);
    if let Some(failed) = out.failed.take() {
        return Err(cannot()(failed).into());
    }
    copied?;
    let mut out = out.finish().map_err(cannot())?;
    out.flush().map_err(cannot())?;
    let is_changed = file.is_changed().map_err(crate::Error::io("inspect", file.path()))?;
    if is_changed {
        let reason = "it was changed while it was cleaned; give the same command again".into();
        return Err(TextError::BadFile { name: file.name().into(), reason }.into());
    }
    Ok((new, out))
}

/// Lists the paths of files, one a line, in a new file for `to`.
pub(super) fn list_files<'a>(
    files: impl IntoIterator<Item = DocumentFile<'a>>,
    to: &Path,
) -> Result<NewOutput> {
    let cannot = || crate::Error::io("write", to);
    let (new, mut out) = create(to)?;
    for file in files {
        let name = file.path().as_os_str().as_encoded_bytes();
        if name.contains(&b'\n') {
            let name = file.path();
            let reason = format!("the name {name:?} has a line end, so it cannot be in a list");
            return Err(Error::refused(reason));
        }
        out.write_all(name).and_then(|()| out.write_all(b"\n")).map_err(cannot())?;
    }
    out.flush().map_err(cannot())?;
    Ok((new, out))
}

/// A new file for `path`, which may replace one that is there.
pub(super) fn create(path: &Path) -> Result<NewOutput> {
    let cannot = || crate::Error::io("write", path);
    if let Some(parent) = path.parent() {
        disk::create_directories(parent).map_err(cannot())?;
    }
    let new = NewFile::create(path.into(), fs::metadata(path).ok()).map_err(cannot())?;
    let buffer = BufWriter::with_capacity(1 << 18, new.file().map_err(cannot())?);
    Ok((new, DigestWriter::new(buffer)))
}
