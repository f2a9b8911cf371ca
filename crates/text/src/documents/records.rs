//! Files that hold many documents: one a line, or one a row of a table.

use std::io::{self, BufRead, Read};

use csv::{ByteRecord, ErrorKind, ReaderBuilder};

/// The longest line. A longer one shows a file of another kind, and must not fill the memory.
const LINE_LEN_MAX: usize = 1 << 30;

/// A line without its end, or the reason why it is bad.
pub(super) type Line = Result<Vec<u8>, String>;

/// Gives the lines with their numbers, from 1, to `take`, until it returns `false`.
pub(super) fn read_lines(
    mut reader: impl BufRead,
    take: &mut dyn FnMut(u64, Line) -> bool,
) -> io::Result<()> {
    for number in 1.. {
        let mut line = Vec::new();
        let limit = LINE_LEN_MAX as u64 + 1;
        if reader.by_ref().take(limit).read_until(b'\n', &mut line)? == 0 {
            break;
        }
        let line = if line.len() > LINE_LEN_MAX {
            reader.skip_until(b'\n')?;
            Err("line is longer than 1 GiB".to_string())
        } else {
            while line.last().is_some_and(|b| matches!(b, b'\n' | b'\r')) {
                line.pop();
            }
            Ok(line)
        };
        if !take(number, line) {
            break;
        }
    }
    Ok(())
}

/// The line of a row, and its id and text or the reason why it is bad.
pub(super) type Row = (u64, Result<(String, String), String>);

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
    pub(super) id: &'a str,
    pub(super) text: &'a str,
}

/// Gives the rows of a table with a header to `take`, until it returns `false`.
pub(super) fn read_rows(
    reader: impl BufRead,
    columns: Columns<'_>,
    take: &mut dyn FnMut(Row) -> bool,
) -> Result<(), TableFault> {
    let mut builder = ReaderBuilder::new();
    builder.flexible(true).has_headers(true);
    if columns.is_tsv {
        builder.delimiter(b'\t').quoting(false);
    }
    let mut rows = builder.from_reader(reader);
    let header = rows.byte_headers().map_err(table_fault)?.clone();
    let column = |name: &str| {
        header.iter().position(|field| field == name.as_bytes()).ok_or_else(|| {
            let names: Vec<_> = header.iter().map(String::from_utf8_lossy).collect();
            let names = names.join(", ");
            TableFault::Header(format!("no column '{name}' among {names}"))
        })
    };
    let (id, text) = (column(columns.id)?, column(columns.text)?);
    let mut record = ByteRecord::new();
    while rows.read_byte_record(&mut record).map_err(table_fault)? {
        let line = record.position().map_or(0, csv::Position::line);
        let field = |place: usize| {
            let count = record.len();
            let bytes = record
                .get(place)
                .ok_or_else(|| format!("{count} fields, the header has {}", header.len()))?;
            super::decode::utf8_line(bytes).map(str::to_string)
        };
        let row = field(id).and_then(|id| Ok((id, field(text)?)));
        if !take((line, row)) {
            break;
        }
    }
    Ok(())
}

fn table_fault(fault: csv::Error) -> TableFault {
    match fault.into_kind() {
        ErrorKind::Io(source) => TableFault::Io(source),
        other => TableFault::Header(format!("{other:?}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CSV: Columns<'static> = Columns { is_tsv: false, id: "id", text: "text" };
    const TSV: Columns<'static> = Columns { is_tsv: true, ..CSV };

    #[test]
    fn rows_come_with_their_lines_and_faults() {
        let mut rows = Vec::new();
        let table = b"text,x,id\n\"a, \"\"b\"\"\nc\",,1\nshort\n\xff,,3\nd,,4\n";
        let done = read_rows(&table[..], CSV, &mut |row| {
            rows.push(row);
            true
        });
        assert!(done.is_ok());
        assert_eq!(rows[0], (2, Ok(("1".into(), "a, \"b\"\nc".into()))));
        assert_eq!(rows[1], (4, Err("1 fields, the header has 3".into())));
        assert!(rows[2].1.as_ref().unwrap_err().contains("byte 0 is not UTF-8"));
        assert_eq!(rows[3], (6, Ok(("4".into(), "d".into()))));
        rows.clear();
        let done = read_rows(&b"id\ttext\n1\t\"quoted\n"[..], TSV, &mut |row| {
            rows.push(row);
            true
        });
        assert!(done.is_ok());
        assert_eq!(rows, [(2, Ok(("1".into(), "\"quoted".into())))]);
        match read_rows(&b"a,b\n1,2\n"[..], CSV, &mut |_| true) {
            Err(TableFault::Header(reason)) => assert_eq!(reason, "no column 'id' among a, b"),
            _ => panic!("a table without ids was read"),
        }
    }
}
