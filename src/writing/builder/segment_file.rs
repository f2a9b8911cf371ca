//! Building a segment as a single file outside any store: many tasks write segments, and one
//! process commits all of them.
//!
//! Such a build needs no directory of its own and takes no lock, so it works on file systems
//! without locks. The file has a temporary name until it is complete.

use std::path::{Path, PathBuf};

use super::{BuildOptions, Builder, SegmentReceipt, Target};
use crate::base::error::{Error, Result};
use crate::segment::map;
use crate::writing::directory::{SegmentFile, check_output};

impl Builder {
    /// A builder of a segment file at `path` that belongs to no store yet.
    /// [`commit`](crate::writer::commit()) adds any number of such files to a store in one step.
    /// Finish with [`Builder::finish_segment`].
    ///
    /// The same records give the same bytes, so a repeated task writes the same file. With
    /// [`BuildOptions::replace`] it replaces the file of the previous run in one step. The label is
    /// set when the segment is committed.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidOptions`] if a file exists at `path` and may not be replaced, if `path` is
    /// not a plain file, or if the options have a label. Otherwise the errors of
    /// [`Builder::with_options`].
    pub fn segment_file(path: impl Into<PathBuf>, options: BuildOptions) -> Result<Self> {
        if !options.label.is_empty() {
            let reason = "a segment file has no label: it gets one when it is committed".into();
            return Err(Error::InvalidOptions { reason });
        }
        let path = path.into();
        check_path(&path, options.replace)?;
        Builder::start(Target::File(path), options)
    }

    /// Sorts and writes the segment file, makes it durable, and renames it to its path.
    ///
    /// # Errors
    ///
    /// The errors of [`Builder::finish`], and [`Error::InvalidOptions`] for a builder of a store.
    /// After an error, no file or the old file is at the path; only if the last rename or sync
    /// failed, the complete new file can be there. It belongs to no store, so writing it again does
    /// no harm.
    pub fn finish_segment(self) -> Result<SegmentReceipt> {
        let Builder { destination, options, records, .. } = self;
        let Target::File(path) = destination else {
            let reason = "this builder makes a store: end it with finish".into();
            return Err(Error::InvalidOptions { reason });
        };
        let mut build = records.sort(|_| Ok(options.scheme.clone()))?;
        let segment = build.write(SegmentFile::beside(&path)?, &options.recipe, "")?;
        let receipt = SegmentReceipt::for_segment(&path, &map(segment.path())?);
        // Check again: since the first check, the path may have become an input of this process.
        check_output(&path)?;
        segment.name(&path, options.replace)?;
        Ok(receipt)
    }
}

/// Checks that a segment file can be written to `path`.
fn check_path(path: &Path, replace: bool) -> Result<()> {
    let refuse = |what: &str| {
        let reason = format!("cannot write a segment to {}: {what}", path.display());
        Err(Error::InvalidOptions { reason })
    };
    if path.file_name().is_none() {
        return refuse("it has no file name");
    }
    match path.symlink_metadata() {
        Ok(found) if found.is_dir() => refuse("it is a directory"),
        Ok(found) if !found.is_file() => refuse("it is not a plain file"),
        Ok(_) if !replace => refuse("it exists, and may be replaced only with `replace`"),
        _ => check_output(path),
    }
}
