//! Labelled pairs from a file.

use std::io::Read;
use std::path::Path;

use anyhow::{Context, anyhow};
use fpstore::input::open_input;
use fpstore::join::{JudgedPairs, LabelFile};

/// Reads labelled pairs: two ids and a label on each line.
pub(crate) fn read_labels(path: &Path) -> anyhow::Result<LabelFile> {
    let mut text = String::new();
    let read = open_input(path)?.read_to_string(&mut text);
    read.with_context(|| format!("cannot read {}", path.display()))?;
    let labels = LabelFile::parse(&text);
    let labels = labels.map_err(|fault| anyhow!("{}: {fault}", path.display()))?;
    // A pipe cannot be read again for its digest.
    Ok(if path.is_file() { labels.at(path) } else { labels })
}

/// Reads pairs that people have judged, and refuses those that contradict.
pub(crate) fn read_judged(path: &Path) -> anyhow::Result<JudgedPairs> {
    let judged = JudgedPairs::new(&read_labels(path)?);
    judged.map_err(|fault| anyhow!("{}: {fault}", path.display()))
}
