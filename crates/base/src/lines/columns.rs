//! Splits lines into columns, and reads the fingerprint and the id from their columns.

use super::record::LineRecord;
use crate::{Fingerprint, IdRef, Radix};

crate::named! {
    /// The separator of the columns of a line.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub(super) enum Separator {
        /// Tabs; quotes have no meaning.
        Tab = "tabs",
        /// Semicolons, with quotes as in CSV.
        Semicolon = "semicolons",
        /// Commas, with quotes as in CSV.
        Comma = "commas",
        /// The last space or colon of a line, for two columns: `some name.jpg: 0123456789abcdef`.
        Last = "the last space or colon",
        /// No separator: each line is one column.
        None = "nothing",
    }
}

impl Separator {
    /// All separators, the most reliable first.
    pub(super) const ALL: [Separator; 5] =
        [Separator::Tab, Separator::Semicolon, Separator::Comma, Separator::Last, Separator::None];

    /// The columns of a line. Spaces around a column are removed, except with tabs.
    ///
    /// # Errors
    ///
    /// Names the quote that is not closed in the line, or that has text after its end.
    pub(super) fn split(self, line: &str) -> Result<Vec<&str>, String> {
        match self {
            Separator::Tab => Ok(line.split('\t').collect()),
            Separator::Semicolon => split_quoted(line, b';'),
            Separator::Comma => split_quoted(line, b','),
            Separator::None => Ok(vec![line.trim()]),
            Separator::Last => {
                let line = line.trim_end();
                Ok(match line.rfind([' ', ':']) {
                    Some(at) => {
                        vec![line[..at].trim_end_matches([' ', ':']).trim_start(), &line[at + 1..]]
                    }
                    None => vec![line],
                })
            }
        }
    }

    /// The id in a column of `line`, as CSV readers read it: a quoted column without its quotes, an
    /// unquoted column with the spaces around it.
    fn id_of<'a>(self, line: &'a str, column: &'a str) -> std::borrow::Cow<'a, str> {
        match self {
            Separator::Comma | Separator::Semicolon if column.starts_with('"') => unquoted(column),
            Separator::Comma | Separator::Semicolon => {
                // `column` is a part of `line`.
                let start = column.as_ptr() as usize - line.as_ptr() as usize;
                let (before, after) = (&line[..start], &line[start + column.len()..]);
                let blanks = |len: usize, rest: usize| len - rest;
                let leading = blanks(before.len(), before.trim_end_matches(' ').len());
                let trailing = blanks(after.len(), after.trim_start_matches(' ').len());
                line[start - leading..start + column.len() + trailing].into()
            }
            _ => column.into(),
        }
    }
}

/// Splits a line at each `separator` outside quotes. Quoted columns keep their quotes.
fn split_quoted(line: &str, separator: u8) -> Result<Vec<&str>, String> {
    let mut columns = Vec::new();
    let bytes = line.as_bytes();
    let mut start = 0;
    loop {
        let rest = &line[start..];
        let leading = rest.len() - rest.trim_start_matches(' ').len();
        let end = if rest[leading..].starts_with('"') {
            let after = start + leading + quoted_len(&rest[leading..], columns.len() + 1)?;
            let blank = line[after..].len() - line[after..].trim_start_matches(' ').len();
            if bytes.get(after + blank).is_some_and(|byte| *byte != separator) {
                return Err(format!(
                    "there is text after the closing quote of column {}; expected a separator",
                    columns.len() + 1
                ));
            }
            after + blank
        } else {
            memchr::memchr(separator, &bytes[start..]).map_or(line.len(), |at| start + at)
        };
        columns.push(line[start..end].trim_matches(' '));
        if end == line.len() {
            return Ok(columns);
        }
        start = end + 1;
    }
}

/// The length of the quoted text at the start of `text`, with both quotes.
fn quoted_len(text: &str, column: usize) -> Result<usize, String> {
    let bytes = text.as_bytes();
    let mut at = 1;
    while let Some(found) = memchr::memchr(b'"', &bytes[at..]) {
        at += found + 1;
        if bytes.get(at) != Some(&b'"') {
            return Ok(at);
        }
        at += 1;
    }
    Err(format!(
        "the quote that opens column {column} is not closed in the line; --fingerprint-field with \
         the name of the column reads tables with line ends in quotes"
    ))
}

/// A column without its quotes.
pub(super) fn unquoted(column: &str) -> std::borrow::Cow<'_, str> {
    match column.strip_prefix('"').and_then(|text| text.strip_suffix('"')) {
        Some(text) if text.contains("\"\"") => text.replace("\"\"", "\"").into(),
        Some(text) => text.into(),
        None => column.into(),
    }
}

/// The columns that contain the fingerprint and the id.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Columns {
    pub(super) separator: Separator,
    /// The required number of columns of each line; `None` if any number is allowed.
    pub(super) count: Option<usize>,
    /// The column of the fingerprint, counted from 0.
    pub(super) fingerprint: usize,
    /// The column of the id, counted from 0, if there are ids.
    pub(super) id: Option<usize>,
    pub(super) radix: Radix,
    /// The number of input bytes up to the end of the header, if there is a header.
    pub header_end: Option<u64>,
}

impl Columns {
    /// Calls `take` with the record of a line, or with the reason why the line is invalid. Returns
    /// `None` for a blank line or a comment.
    pub fn parse<T>(
        &self,
        line: &str,
        take: impl FnOnce(Result<Option<LineRecord<'_>>, String>) -> T,
    ) -> T {
        let trimmed = line.trim_start_matches(' ');
        if trimmed.is_empty() || trimmed.starts_with('#') {
            return take(Ok(None));
        }
        let columns = match self.separator.split(line) {
            Ok(columns) => columns,
            Err(reason) => return take(Err(reason)),
        };
        if let Some(expected) = self.count.filter(|count| *count != columns.len()) {
            let names = |count| if count == 1 { "column" } else { "columns" };
            let count = columns.len();
            return take(Err(format!(
                "the line has {count} {}, expected {expected} as in the lines before, separated by {}",
                names(count),
                self.separator.name()
            )));
        }
        let Some(digits) = columns.get(self.fingerprint) else {
            let count = columns.len();
            let column = self.fingerprint + 1;
            return take(Err(format!("the line has no column {column}; it has {count}")));
        };
        let fingerprint = match Fingerprint::parse(unquoted(digits).trim(), self.radix) {
            Ok(fingerprint) => fingerprint,
            Err(fault) => {
                return take(Err(format!("column {}: {fault}", self.fingerprint + 1)));
            }
        };
        let Some(place) = self.id else { return take(Ok(Some((fingerprint, None)))) };
        let column = columns.get(place).map(|column| self.separator.id_of(line, column));
        match column {
            Some(id) if !id.is_empty() => take(Ok(Some((fingerprint, Some(IdRef::Text(&id)))))),
            _ => take(Err(format!("column {} is empty, expected an id", place + 1))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_split_at_separators_outside_quotes() {
        for (separator, line, columns) in [
            (Separator::Tab, "a b\t\"c\t d", &["a b", "\"c", " d"][..]),
            (Separator::Comma, "\"a, \"\"b\"\"\" ,c,", &["\"a, \"\"b\"\"\"", "c", ""]),
            (Separator::Semicolon, "a,b; c", &["a,b", "c"]),
            (Separator::Last, "my photo.jpg:  ff", &["my photo.jpg", "ff"]),
            (Separator::Last, "C:/x y.jpg:ff", &["C:/x y.jpg", "ff"]),
            (Separator::None, " ff ", &["ff"]),
            (Separator::Comma, "", &[""]),
        ] {
            assert_eq!(separator.split(line).unwrap(), columns, "{line}");
        }
        assert_eq!(unquoted("\"a, \"\"b\"\"\""), "a, \"b\"");
        assert!(Separator::Comma.split("\"a,b").unwrap_err().contains("is not closed"));
        assert!(Separator::Comma.split("\"a\"b,c").unwrap_err().contains("after the closing"));
    }
}
