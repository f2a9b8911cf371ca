//! Copies files without some of their documents, to files that do not have their final names yet.
//!
//! Cleaning and the contamination check both write their outputs with these functions, and then
//! give the copies their final names.

use fpstore_base::IoError;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

use fpstore_documents::{
    DocumentFile, DocumentOptions, Error as TextError, NewField, RecordDecisions, RecordFate,
};

use super::compressed::Compressed;
use super::error::{Error, Result};
use fpstore_base::source::Compression;
use fpstore_base::thread_count;
use fpstore_base::watch::Watch;
use fpstore_disk::{DigestWriter, NewFile};

/// The path of an output, in or below the folder named by the user.
#[derive(Clone, Copy, Debug)]
pub(super) struct OutputPath<'a> {
    pub(super) root: &'a Path,
    pub(super) path: &'a Path,
}

/// An output that does not have its final name yet, and its writer.
pub(super) type NewOutput = (NewFile, DigestWriter<BufWriter<File>>);

/// Calls `work` with each number below `count` on `threads` threads (`None`: one for each core).
/// After an error no further call begins, and an error is returned.
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
            // Stops the other threads.
            work(number).inspect_err(|_| next.store(usize::MAX / 2, Ordering::Relaxed))?;
        }
    };
    let threads = thread_count(threads.unwrap_or(0)).min(count).max(1);
    let done: Vec<Result<()>> = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(run)).collect();
        workers.into_iter().map(|worker| worker.join().expect("no panic")).collect()
    });
    done.into_iter().collect()
}

/// Copies a file to a new file for `to`, with the given compression. `decisions` are the fates of
/// some records, and `other` is the fate of all other records.
pub(super) fn copy_file(
    file: &DocumentFile<'_>,
    (to, compression): (OutputPath<'_>, Option<Compression>),
    options: &DocumentOptions,
    new_fields: &[NewField],
    watch: &Watch,
    (decisions, other): (&mut RecordDecisions<'_>, &RecordFate),
) -> Result<NewOutput> {
    let cannot = || IoError::of("write", to.path);
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
    let is_changed = file.is_changed().map_err(IoError::of("inspect", file.path()))?;
    if is_changed {
        let reason = "it was changed while it was cleaned; give the same command again".into();
        return Err(TextError::Changed { name: file.name().into(), reason }.into());
    }
    Ok((new, out))
}

/// Writes the paths of files, one on each line, to a new file for `to`.
pub(super) fn list_files<'a>(
    files: impl IntoIterator<Item = DocumentFile<'a>>,
    to: OutputPath<'_>,
) -> Result<NewOutput> {
    let cannot = || IoError::of("write", to.path);
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

/// Creates a file that may replace an existing one. Symbolic links are followed up to `root`, the
/// folder named by the user, and not below it.
pub(super) fn create(OutputPath { root, path }: OutputPath<'_>) -> Result<NewOutput> {
    let cannot = || IoError::of("write", path);
    let new = NewFile::create_below(root, path).map_err(cannot())?;
    let buffer = BufWriter::with_capacity(1 << 18, new.file().map_err(cannot())?);
    Ok((new, DigestWriter::new(buffer)))
}
