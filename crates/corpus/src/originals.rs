//! The files that are copied without some of their documents.

use std::path::PathBuf;

use super::passage_fate::PassageFate;
use fpstore_documents::{DocumentFile, DocumentFiles, DocumentOptions, NewField};

/// The files of a job that copies them, and how they are read.
#[derive(Clone, Copy)]
pub(super) struct Originals<'a> {
    pub(super) files: &'a DocumentFiles,
    pub(super) options: &'a DocumentOptions,
    /// The files and folders that the user named.
    pub(super) paths: &'a [PathBuf],
    /// The fields that documents get in their copies.
    pub(super) new_fields: &'a [NewField],
    /// What becomes of removed passages.
    pub(super) passages: Option<PassageFate>,
}

impl<'a> Originals<'a> {
    /// The files, in order.
    pub(super) fn each_file(&self) -> impl Iterator<Item = DocumentFile<'a>> + use<'a> {
        let Originals { files, options, .. } = *self;
        (0..files.len()).filter_map(move |number| files.get(number, options))
    }
}
