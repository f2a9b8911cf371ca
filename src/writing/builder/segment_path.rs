//! The place of a segment file outside any store, checked before anything is written.

use std::path::{Path, PathBuf};

use crate::base::error::{Error, Result};
use crate::writing::directory::check_output;
use fpstore_disk::parent_of;

/// Where a segment file will be.
#[derive(Debug)]
pub(super) struct SegmentPath {
    pub(super) path: PathBuf,
    pub(super) replace: bool,
}

impl SegmentPath {
    pub(super) fn new(path: PathBuf, replace: bool) -> Result<Self> {
        let refuse = |what: &str| {
            let reason = format!("cannot write a segment to {}: {what}", path.display());
            Err(Error::InvalidOptions { reason })
        };
        if path.file_name().is_none() {
            return refuse("it is no name of a file");
        }
        match path.symlink_metadata() {
            Ok(found) if found.is_dir() => refuse("it is a directory"),
            Ok(found) if !found.is_file() => refuse("it is no plain file"),
            Ok(_) if !replace => refuse("it exists, and may be replaced only with `replace`"),
            _ => {
                check_output(&path)?;
                Ok(SegmentPath { path, replace })
            }
        }
    }

    pub(super) fn directory(&self) -> &Path {
        parent_of(&self.path)
    }
}
