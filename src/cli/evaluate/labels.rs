//! The labelled pairs of documents.

use std::collections::HashMap;
use std::io::BufRead;
use std::path::Path;

use anyhow::{Context, bail};
use fpstore::input::open_input;

/// Labelled pairs as they are listed.
pub(super) struct Labels {
    name: String,
    rows: Vec<(u64, String, String, i8)>,
}

/// Labels by the numbers of the documents, the smaller one first.
pub(super) type NumberedPairs = HashMap<(u32, u32), i8>;

impl Labels {
    pub(super) fn read(path: &Path) -> anyhow::Result<Self> {
        let name = path.display().to_string();
        let mut rows = Vec::new();
        for (number, line) in (1..).zip(open_input(path)?.lines()) {
            let line = line.with_context(|| format!("cannot read {name}"))?;
            if line.trim().is_empty() || line.starts_with('#') {
                continue;
            }
            let mut fields = line.trim_end_matches('\r').split('\t');
            let (Some(a), Some(b), Some(label)) = (fields.next(), fields.next(), fields.next())
            else {
                bail!("{name}: line {number}: expected two ids and a label, separated by tabs");
            };
            let label = match label {
                "1" => 1,
                "0" => 0,
                "-1" => -1,
                _ if number == 1 => continue,
                other => bail!("{name}: line {number}: label '{other}', expected 1, 0 or -1"),
            };
            rows.push((number, a.to_string(), b.to_string(), label));
        }
        Ok(Labels { name, rows })
    }

    pub(super) fn has_others(&self) -> bool {
        self.rows.iter().any(|(.., label)| *label == 0)
    }

    /// The labels by the numbers of the documents with these ids.
    pub(super) fn numbered(&self, ids: &HashMap<String, u32>) -> anyhow::Result<NumberedPairs> {
        let mut pairs = HashMap::new();
        for (line, a, b, label) in &self.rows {
            let number = |id: &String| {
                ids.get(id).copied().with_context(|| {
                    format!("{}: line {line}: no document has the id '{id}'", self.name)
                })
            };
            let (a, b) = (number(a)?, number(b)?);
            if a == b {
                bail!("{}: line {line}: a pair of one document with itself", self.name);
            }
            let before = pairs.insert((a.min(b), a.max(b)), *label);
            if before.is_some_and(|before| before != *label) {
                bail!("{}: line {line}: the pair has another label further up", self.name);
            }
        }
        Ok(pairs)
    }
}
