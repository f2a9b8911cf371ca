//! Building a segment as a single file outside any store: many tasks write segments, and one
//! process commits all of them.
//!
//! Such a build needs no directory of its own and takes no lock, so it works on file systems
//! without locks. The file has a temporary name until it is complete.

use std::path::PathBuf;

use super::{BuildOptions, Builder, SegmentPath, SegmentReceipt, Target};
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
        let path = SegmentPath::new(path.into(), options.replace)?;
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
        let Target::File(target) = destination else {
            let reason = "this builder makes a store: end it with finish".into();
            return Err(Error::InvalidOptions { reason });
        };
        let mut build = records.sort(|_| Ok(options.scheme.clone()))?;
        let mut file = SegmentFile::beside(&target.path)?;
        build.write(&mut file, &options.recipe)?;
        let segment = file.finish("")?;
        let receipt = SegmentReceipt::for_segment(&target.path, &map(segment.path())?);
        // Check again: since the first check, the path may have become an input of this process.
        check_output(&target.path)?;
        segment.name(&target.path, target.replace)?;
        Ok(receipt)
    }
}
