//! Labelled pairs of documents: by the numbers of the documents, or by ids in a file.

use std::collections::HashMap;
use std::fmt;
use std::path::{Path, PathBuf};

use crate::lists;

/// What a person decided about a pair of documents.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Label {
    /// The documents are duplicates: 1 in files.
    Duplicate,
    /// The documents are different: 0 in files.
    Different,
    /// The pair is ignored: -1 in files.
    Ignored,
}

/// The labels of pairs; a document is identified by its number.
#[derive(Clone, Debug, Default)]
pub struct LabelledPairs(HashMap<(usize, usize), Label>);

/// The reason why a pair cannot be labelled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BadPair {
    /// Both documents of the pair are the same.
    OneDocument,
    /// The pair already has another label.
    TwoLabels,
}

impl LabelledPairs {
    /// Labels the pair of two documents, in any order; repeating a label changes nothing.
    ///
    /// # Errors
    ///
    /// [`BadPair`] with the reason.
    pub fn insert(&mut self, first: usize, second: usize, label: Label) -> Result<(), BadPair> {
        if first == second {
            return Err(BadPair::OneDocument);
        }
        let before = self.0.insert((first.min(second), first.max(second)), label);
        if before.is_some_and(|before| before != label) { Err(BadPair::TwoLabels) } else { Ok(()) }
    }

    /// The pairs, each with the smaller number first, and their labels, in any order.
    pub fn iter(&self) -> impl Iterator<Item = ((usize, usize), Label)> {
        self.0.iter().map(|(&pair, &label)| (pair, label))
    }
}

impl fmt::Display for BadPair {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            BadPair::OneDocument => "a document is paired with itself",
            BadPair::TwoLabels => "an earlier line gives this pair another label",
        })
    }
}

impl std::error::Error for BadPair {}

/// Labelled pairs of ids, as listed in a file.
///
/// A line consists of two ids and a label, separated by tabs. A header with the third column
/// `label` or similar, further columns, empty lines, and lines that start with `#` are ignored.
#[derive(Clone, Debug)]
pub struct LabelFile {
    rows: Vec<(u64, String, String, Label)>,
    path: Option<PathBuf>,
}

impl LabelFile {
    /// Parses the lines of a file.
    ///
    /// # Errors
    ///
    /// [`BadLabel`] with the number of the line that lacks two ids or a label.
    pub fn parse(text: &str) -> Result<Self, BadLabel> {
        let mut rows = Vec::new();
        for (line, row) in lists::rows(text) {
            let mut fields = row.split('\t');
            let (Some(a), Some(b), Some(label)) = (fields.next(), fields.next(), fields.next())
            else {
                let reason = "expected two ids and a label, separated by tabs".into();
                return Err(BadLabel { line, reason });
            };
            let label = match label {
                "1" => Label::Duplicate,
                "0" => Label::Different,
                "-1" => Label::Ignored,
                _ if line == 1 && is_header(label) => continue,
                _ => {
                    let header = match line {
                        1 => "; a header names this column 'label'",
                        _ => "",
                    };
                    let reason = format!("label is '{label}', expected 1, 0 or -1{header}");
                    return Err(BadLabel { line, reason });
                }
            };
            rows.push((line, a.into(), b.into(), label));
        }
        Ok(LabelFile { rows, path: None })
    }

    /// Sets the path of the file, which the manifest of a cleaning records.
    #[must_use]
    pub fn at(self, path: impl Into<PathBuf>) -> Self {
        LabelFile { path: Some(path.into()), ..self }
    }

    /// The path of the file, if it was set.
    pub fn path(&self) -> Option<&Path> {
        self.path.as_deref()
    }

    /// The pairs of ids, in the order of the lines, with their labels.
    pub fn rows(&self) -> impl Iterator<Item = (&str, &str, Label)> {
        self.rows.iter().map(|(_, one, other, label)| (one.as_str(), other.as_str(), *label))
    }

    /// For each line, its number, its two ids, and its label.
    pub fn lines(&self) -> impl Iterator<Item = (u64, &str, &str, Label)> {
        self.rows
            .iter()
            .map(|(line, one, other, label)| (*line, one.as_str(), other.as_str(), *label))
    }

    /// Whether any pair is labelled as different; precision can be computed only then.
    pub fn has_different(&self) -> bool {
        self.rows.iter().any(|(.., label)| *label == Label::Different)
    }

    /// Converts the pairs of ids to pairs of numbers with the numbers in `ids`.
    ///
    /// # Errors
    ///
    /// [`BadLabel`] with the number of the line, for an unknown id or a bad pair.
    pub fn numbered(&self, ids: &HashMap<String, usize>) -> Result<LabelledPairs, BadLabel> {
        let mut pairs = LabelledPairs::default();
        for (line, a, b, label) in &self.rows {
            let bad = |reason| BadLabel { line: *line, reason };
            let number = |id: &String| {
                let number = ids.get(id).copied();
                number.ok_or_else(|| bad(format!("no document has the id '{id}'")))
            };
            let inserted = pairs.insert(number(a)?, number(b)?, *label);
            inserted.map_err(|fault| bad(fault.to_string()))?;
        }
        Ok(pairs)
    }
}

/// Whether this is a usual name of the label column. A line with any other word is an error,
/// because the word may be a misspelt label, whose pair would be lost.
fn is_header(name: &str) -> bool {
    let names = ["label", "labels", "judgement", "judgment", "is_duplicate", "class"];
    names.iter().any(|known| name.trim().eq_ignore_ascii_case(known))
}

/// A bad line of a [`LabelFile`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadLabel {
    /// The number of the line, counted from 1.
    pub line: u64,
    /// The fault of the line, and the expected form.
    pub reason: String,
}

impl fmt::Display for BadLabel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.reason)
    }
}

impl std::error::Error for BadLabel {}
