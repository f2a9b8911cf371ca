//! Reads the texts of a few documents again.

use std::collections::BTreeMap;
use std::sync::Arc;

use fpstore_base::Id;
use fpstore_documents::{DocumentPlace, PlaceFilter};

use super::error::{Error, Result};
use super::work::Work;

/// Maximum number of characters of a line that shows the beginning of a text.
const LINE_LEN: usize = 80;

/// The place of a document: its file number, its record number in the file, and its id. Passages of
/// the same document differ only in their ids.
pub(super) type Place = (usize, u64, Id);

/// The reason why reading a file ends.
enum End {
    /// All wanted documents of the file were read.
    Found,
    Failed(Error),
}

impl From<fpstore_documents::Error> for End {
    fn from(error: fpstore_documents::Error) -> Self {
        End::Failed(error.into())
    }
}

/// The beginning of the text at each place; `None` for a document without text, or for a document
/// that can no longer be read.
pub(super) fn sample_lines(
    work: &Work<'_>,
    places: Vec<Option<Place>>,
) -> Result<Vec<Option<String>>> {
    let mut lines = vec![None; places.len()];
    each_text(work, places, |at, text| lines[at] = line_of(text))?;
    Ok(lines)
}

/// Calls `take` with the index of each place and the text of its document, in any order. Places
/// that cannot be read again are skipped.
pub(super) fn each_text(
    work: &Work<'_>,
    places: Vec<Option<Place>>,
    mut take: impl FnMut(usize, &str),
) -> Result<()> {
    if !work.settings.source.has_texts() {
        return Ok(());
    }
    let mut files: BTreeMap<usize, Vec<(usize, u64, Id)>> = BTreeMap::new();
    for (at, place) in places.into_iter().enumerate() {
        if let Some((file, record, id)) = place {
            files.entry(file).or_default().push((at, record, id));
        }
    }
    for (file, wanted) in files {
        match read(work, file, &wanted, &mut take) {
            // The texts are only displayed, so unreadable files are skipped.
            Ok(()) | Err(End::Found) | Err(End::Failed(Error::Text(_))) => {}
            Err(End::Failed(error)) => return Err(error),
        }
    }
    Ok(())
}

fn read(
    work: &Work<'_>,
    file: usize,
    wanted: &[(usize, u64, Id)],
    take: &mut impl FnMut(usize, &str),
) -> Result<(), End> {
    // Pipes cannot be read again.
    let is_there = work.files.get(file, &work.options).is_some_and(|it| it.file_len().is_some());
    if !is_there {
        return Ok(());
    }
    let records: Vec<u64> = wanted.iter().map(|&(_, record, _)| record).collect();
    let is_wanted: Arc<PlaceFilter> =
        Arc::new(move |place: DocumentPlace| records.contains(&place.record()));
    let part = work.files.part(file..file + 1);
    let mut left = wanted.len();
    part.read_texts(&work.options, Some(is_wanted), |place, id, text| {
        for (at, record, own) in wanted {
            if *record == place.record() && own.as_ref() == id {
                take(*at, text);
                left -= 1;
            }
        }
        if left == 0 { Err(End::Found) } else { Ok(()) }
    })
    .map(drop)
}

/// The first [`LINE_LEN`] characters of a text, with runs of white space replaced by a space.
fn line_of(text: &str) -> Option<String> {
    let mut line = String::new();
    let mut room = LINE_LEN;
    for word in text.split_whitespace() {
        if room == 0 {
            break;
        }
        if !line.is_empty() {
            line.push(' ');
        }
        let shown: String = word.chars().take(room).collect();
        room = room.saturating_sub(shown.chars().count() + 1);
        line.push_str(&shown);
    }
    Some(line).filter(|line| !line.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_the_beginning_of_a_text() {
        assert_eq!(line_of("  one\n\ttwo  three"), Some("one two three".into()));
        assert_eq!(line_of(" \n"), None);
        let line = line_of(&"\u{e9}".repeat(500)).unwrap();
        assert_eq!(line.chars().count(), LINE_LEN);
        assert!(line_of(&"abcdefg ".repeat(500)).unwrap().chars().count() <= LINE_LEN);
    }
}
