//! Labelled pairs from a file.

use std::io::Read;
use std::path::Path;

use anyhow::{Context, anyhow};
use fpstore::corpus::LabelFile;
use fpstore::input::open_input;

/// Reads labelled pairs: two ids and a label on each line.
pub(in crate::cli) fn read_labels(path: &Path) -> anyhow::Result<LabelFile> {
    let mut text = String::new();
    let read = open_input(path)?.read_to_string(&mut text);
    read.with_context(|| format!("cannot read {}", path.display()))?;
    LabelFile::parse(&text).map_err(|fault| anyhow!("{}: {fault}", path.display()))
}
