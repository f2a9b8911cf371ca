//! Reads files with many documents: one on each line, or one in each row of a table.

use std::io::{self, BufRead, Read, Write};

use memchr::memchr;

use super::capped::TooLong;
use super::delimited::{FieldReader, Fields, header_fault};
use super::json;
use super::options::{DocumentOptions, Names, listed};
use super::raw::{RowFields, digest_of};

/// A line without its end, or the reason why it is bad.
pub(super) type Line = Result<Vec<u8>, String>;

/// Iterates over the lines of a file. Reading and copying share this iteration, so that a line has
/// the same number in both.
pub(super) struct Lines<R> {
    reader: R,
    len_max: u64,
    /// The number of the current line, counted from 1.
    pub(super) number: u64,
    /// The line with its end, truncated after the maximum length of a text and its end.
    raw: Vec<u8>,
    /// The number of CRs after `raw`, and whether the line continues after them.
    more_cr: u64,
    has_rest: bool,
    is_too_long: bool,
}

impl<R: BufRead> Lines<R> {
    /// The lines of `reader`. A line with more than `len_max` bytes is bad, and not held in memory.
    pub(super) fn new(reader: R, len_max: u64) -> Self {
        let raw = Vec::new();
        Lines { reader, len_max, number: 0, raw, more_cr: 0, has_rest: false, is_too_long: false }
    }

    /// Reads the next line; `false` at the end of the file.
    pub(super) fn next(&mut self) -> io::Result<bool> {
        if std::mem::take(&mut self.has_rest) {
            self.reader.skip_until(b'\n')?;
        }
        self.raw.clear();
        self.more_cr = 0;
        // CR and LF at the end of a line do not count as text.
        let limit = self.len_max.saturating_add(2);
        if self.reader.by_ref().take(limit).read_until(b'\n', &mut self.raw)? == 0 {
            return Ok(false);
        }
        self.number += 1;
        self.is_too_long = self.text_len() as u64 > self.len_max;
        if self.raw.len() as u64 == limit && !self.raw.ends_with(b"\n") {
            // Only an LF ends a line, however many CRs precede it.
            let next = self.pass_cr()?;
            self.has_rest = next.is_some();
            self.is_too_long |= next.is_some_and(|byte| byte != b'\n');
        }
        Ok(true)
    }

    /// Skips and counts CRs; returns the byte after them.
    fn pass_cr(&mut self) -> io::Result<Option<u8>> {
        loop {
            let bytes = self.reader.fill_buf()?;
            let len = bytes.iter().take_while(|&&byte| byte == b'\r').count();
            let next = bytes.get(len).copied();
            let is_end = bytes.is_empty();
            self.reader.consume(len);
            self.more_cr += len as u64;
            if next.is_some() || is_end {
                return Ok(next);
            }
        }
    }

    fn text_len(&self) -> usize {
        let is_text = |byte: &u8| !matches!(byte, b'\n' | b'\r');
        self.raw.iter().rposition(is_text).map_or(0, |last| last + 1)
    }

    /// The line without its end; `None` if it is too long.
    pub(super) fn text(&self) -> Option<&[u8]> {
        (!self.is_too_long).then(|| &self.raw[..self.text_len()])
    }

    /// Writes the end of the line, or the whole line if it is too long.
    pub(super) fn write_end(&mut self, out: &mut dyn Write) -> io::Result<()> {
        let end = if self.is_too_long { 0 } else { self.text_len() };
        out.write_all(&self.raw[end..])?;
        if self.more_cr > 0 {
            io::copy(&mut io::repeat(b'\r').take(self.more_cr), out)?;
        }
        while std::mem::take(&mut self.has_rest) {
            let bytes = self.reader.fill_buf()?;
            let end = memchr(b'\n', bytes);
            let len = end.map_or(bytes.len(), |at| at + 1);
            out.write_all(&bytes[..len])?;
            self.reader.consume(len);
            self.has_rest = end.is_none() && len > 0;
        }
        Ok(())
    }
}

/// Calls `take` with the lines and their numbers, from 1, until `take` returns `false`. A line of
/// more than `len_max` bytes is bad, and is not held in memory.
pub(super) fn read_lines(
    reader: impl BufRead,
    len_max: u64,
    take: &mut dyn FnMut(u64, Line) -> bool,
) -> io::Result<()> {
    let mut lines = Lines::new(reader, len_max);
    while lines.next()? {
        let line = match lines.is_too_long {
            true => Err(format!("a line is {}", TooLong { len_max })),
            false => {
                lines.raw.truncate(lines.text_len());
                Ok(std::mem::take(&mut lines.raw))
            }
        };
        if !take(lines.number, line) {
            break;
        }
    }
    Ok(())
}

/// The line number of a row, and its fields or the reason why the row is bad.
pub(super) type Row = (u64, Result<RowFields, String>);

/// The reason why a whole table cannot be read.
pub(super) enum TableFault {
    Io(io::Error),
    /// The header, in line 1, is bad.
    Header(String),
}

/// The kind of a table and the columns to read.
#[derive(Clone, Copy)]
pub(super) struct Columns<'a> {
    pub(super) is_tsv: bool,
    pub(super) names: Names<'a>,
}

impl DocumentOptions {
    pub(super) fn columns(&self, is_tsv: bool) -> Columns<'_> {
        Columns { is_tsv, names: self.names() }
    }
}

/// Calls `take` with the rows of a table with a header, until `take` returns `false`. A row of more
/// than `len_max` bytes is bad, and is not held in memory.
pub(super) fn read_rows(
    reader: impl BufRead,
    columns: Columns<'_>,
    len_max: u64,
    take: &mut dyn FnMut(Row) -> bool,
) -> Result<(), TableFault> {
    let mut rows = match columns.is_tsv {
        true => FieldReader::tsv(reader, len_max),
        false => FieldReader::csv(reader, len_max),
    };
    let mut names_row = Fields::default();
    let header = rows.next(&mut names_row).map_err(TableFault::Io)?;
    header.unwrap_or(Ok(())).map_err(TableFault::Header)?;
    let all: Vec<_> = names_row.iter().map(|field| String::from_utf8_lossy(field)).collect();
    let all: Vec<&str> = all.iter().map(|name| name.as_ref()).collect();
    let names = columns.names;
    check_new(&all, names).map_err(TableFault::Header)?;
    let is_ready = names.ready.is_some();
    let find = |name| {
        let found = column(&all, name, is_ready);
        found
            .map_err(|fault| header_fault(&all, columns.is_tsv).unwrap_or(fault))
            .map_err(TableFault::Header)
    };
    let id = names.id.map(find).transpose()?;
    let text = find(names.text)?;
    let fields: Vec<usize> =
        names.fields.iter().map(|name| find(name)).collect::<Result<_, _>>()?;
    let expected = all.len();
    let mut row = Fields::default();
    while let Some(read) = rows.next(&mut row).map_err(TableFault::Io)? {
        let field = |place: usize, name: &str| {
            let bytes = row.get(place).unwrap_or_default();
            super::decode::utf8_of(bytes, &format!("'{name}'")).map(str::to_string)
        };
        let read = read.and_then(|()| match row.count() {
            count if count == expected => Ok(RowFields {
                digest: Some(digest_of(row.iter())),
                id: match (id, names.id) {
                    (Some(place), Some(name)) => field(place, name)?,
                    _ => String::new(),
                },
                text: match names.ready {
                    None => field(text, names.text)?,
                    Some(form) => form.digits_of_text(&field(text, names.text)?)?,
                },
                fields: fields
                    .iter()
                    .zip(names.fields)
                    .map(|(&place, name)| field(place, name).map(Some))
                    .collect::<Result<_, String>>()?,
            }),
            1 => Err(format!("1 field, expected {expected} as in the header")),
            count => Err(format!("{count} fields, expected {expected} as in the header")),
        });
        if !take((row.line, read)) {
            break;
        }
    }
    Ok(())
}

/// Refuses a table that already has the column to add.
pub(super) fn check_new(all: &[&str], names: Names<'_>) -> Result<(), String> {
    match names.new.iter().find(|new| all.contains(&new.as_str())) {
        Some(new) => Err(json::is_there(new)),
        None => Ok(()),
    }
}

/// The index of the column `name`, which must exist exactly once.
fn column(names: &[&str], name: &str, is_ready: bool) -> Result<usize, String> {
    let mut places = (0..names.len()).filter(|&place| names[place] == name);
    match (places.next(), places.next()) {
        (Some(place), None) => Ok(place),
        (Some(_), Some(_)) => Err(twice(name)),
        (None, _) => Err(no_column(names, name, is_ready)),
    }
}

/// The error for a missing column of a table.
pub(super) fn no_column(names: &[&str], name: &str, is_ready: bool) -> String {
    if names.is_empty() {
        return format!("no column '{name}': there is no header");
    }
    let shown = listed(names);
    format!(
        "no column '{name}' among {shown}; name the columns with --id-field and --{}; to use row \
         numbers as ids, use --line-ids",
        if is_ready { "fingerprint-field" } else { "text-field" }
    )
}

/// The error for an ambiguous column name.
pub(super) fn twice(name: &str) -> String {
    format!("two columns have the name '{name}'")
}

#[cfg(test)]
mod tests {
    use super::*;

    const NAMES: Names<'static> =
        Names { id: Some("id"), text: "text", ready: None, fields: &[], new: &[] };
    const CSV: Columns<'static> = Columns { is_tsv: false, names: NAMES };
    const TSV: Columns<'static> = Columns { is_tsv: true, ..CSV };

    fn row(id: &str, text: &str) -> RowFields {
        RowFields { digest: None, id: id.into(), text: text.into(), fields: Vec::new() }
    }

    fn rows_of(table: &[u8], columns: Columns<'_>) -> Vec<Row> {
        let mut rows = Vec::new();
        let done = read_rows(table, columns, 1000, &mut |(line, row)| {
            let row = row.map(|row| RowFields { digest: row.digest.and(None), ..row });
            rows.push((line, row));
            true
        });
        assert!(done.is_ok());
        rows
    }

    #[test]
    fn rows_come_with_their_lines_and_faults() {
        let table = b"text,x,id\n\"a, \"\"b\"\"\nc\",,1\nshort\n\xff,,3\nd,,4\n1,2,3,4\ne,f\n";
        let rows = rows_of(table, CSV);
        assert_eq!(rows[0], (2, Ok(row("1", "a, \"b\"\nc"))));
        assert_eq!(rows[1], (4, Err("1 field, expected 3 as in the header".into())));
        assert_eq!(rows[2].0, 5);
        assert!(rows[2].1.as_ref().unwrap_err().contains("byte 0 of 'text' is not UTF-8"));
        assert_eq!(rows[3], (6, Ok(row("4", "d"))));
        assert_eq!(rows[4], (7, Err("4 fields, expected 3 as in the header".into())));
        assert_eq!(rows[5], (8, Err("2 fields, expected 3 as in the header".into())));
        let rows = rows_of(b"id\ttext\n1\t\"quoted\n2\ta\tb\n", TSV);
        assert_eq!(rows[0], (2, Ok(row("1", "\"quoted"))));
        assert_eq!(rows[1], (3, Err("3 fields, expected 2 as in the header".into())));
    }

    #[test]
    fn a_header_without_the_columns_is_refused_with_those_that_it_has() {
        for (table, part) in [
            (&b"a,b\n1,2\n"[..], "no column 'id' among a, b; name the columns with --id-field"),
            (b"id,text,text\n1,2,3\n", "two columns have the name 'text'"),
            (b"", "no column 'id': there is no header"),
            (b"id,\"text\n1,2\n", "opens in line 1 is never closed"),
        ] {
            match read_rows(table, CSV, 1000, &mut |_| true) {
                Err(TableFault::Header(reason)) => assert!(reason.contains(part), "{reason}"),
                _ => panic!("read: {part}"),
            }
        }
    }

    #[test]
    fn a_line_that_is_too_long_is_bad_and_the_next_one_is_not() {
        let input = [b"ab\r\n".as_slice(), &[b'x'; 11], b"\n", &[b'y'; 10], b"\r\nz"].concat();
        assert_eq!(lines_of(&input, 10), [(1, Ok(2)), (2, Err(true)), (3, Ok(10)), (4, Ok(1))]);
    }

    /// Reads lines through buffers of several sizes: their numbers, and their lengths or, for bad
    /// lines, whether they have a reason.
    fn lines_of(input: &[u8], len_max: u64) -> Vec<(u64, Result<usize, bool>)> {
        let mut found = [1, 7, 64].map(|capacity| {
            let mut lines = Vec::new();
            let take = &mut |number, line: Line| {
                let line = line.map(|line| line.len()).map_err(|reason| reason.len() > 20);
                lines.push((number, line));
                true
            };
            let reader = io::BufReader::with_capacity(capacity, input);
            read_lines(reader, len_max, take).unwrap();
            lines
        });
        assert!(found.iter().all(|one| *one == found[0]), "{found:?}");
        std::mem::take(&mut found[0])
    }

    #[test]
    fn only_an_lf_ends_a_line_however_many_crs_stand_before_it() {
        for count in 0..40 {
            let cr = vec![b'\r'; count];
            let input = [b"ab", &cr[..], b"\ncd\n", b"e", &cr, b"f\n", &cr, b"\ng", &cr].concat();
            // CRs before other bytes than LF are a part of the text.
            let third = if count + 2 > 10 { Err(true) } else { Ok(count + 2) };
            let expected = [(1, Ok(2)), (2, Ok(2)), (3, third), (4, Ok(0)), (5, Ok(1))];
            assert_eq!(lines_of(&input, 10), expected, "{count}");
        }
    }
}
