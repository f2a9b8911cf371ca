//! Documents that are rows of a table.

use std::io::{self, BufRead};

use csv::{ByteRecord, ErrorKind, ReaderBuilder};

/// A row: its line, and id and text or what is wrong with it.
pub(super) type Row = (u64, Result<(String, String), String>);

/// Why a table cannot be read at all.
pub(super) enum TableFault {
    Io(io::Error),
    /// Of its header, in line 1.
    Header(String),
}

/// Hands over the rows of a table with a header, until `take` has seen enough.
pub(super) fn read(
    reader: impl BufRead,
    is_tsv: bool,
    id_field: &str,
    text_field: &str,
    take: &mut dyn FnMut(Row) -> bool,
) -> Result<(), TableFault> {
    let mut builder = ReaderBuilder::new();
    builder.flexible(true).has_headers(true);
    if is_tsv {
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
    let (id, text) = (column(id_field)?, column(text_field)?);
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

    #[test]
    fn rows_come_with_their_lines_and_faults() {
        let mut rows = Vec::new();
        let table = b"text,x,id\n\"a, \"\"b\"\"\nc\",,1\nshort\n\xff,,3\nd,,4\n";
        let done = read(&table[..], false, "id", "text", &mut |row| {
            rows.push(row);
            true
        });
        assert!(done.is_ok());
        assert_eq!(rows[0], (2, Ok(("1".into(), "a, \"b\"\nc".into()))));
        assert_eq!(rows[1], (4, Err("1 fields, the header has 3".into())));
        assert!(rows[2].1.as_ref().unwrap_err().contains("byte 0 is not UTF-8"));
        assert_eq!(rows[3], (6, Ok(("4".into(), "d".into()))));
        rows.clear();
        let done = read(&b"id\ttext\n1\t\"quoted\n"[..], true, "id", "text", &mut |row| {
            rows.push(row);
            true
        });
        assert!(done.is_ok());
        assert_eq!(rows, [(2, Ok(("1".into(), "\"quoted".into())))]);
        match read(&b"a,b\n1,2\n"[..], false, "id", "text", &mut |_| true) {
            Err(TableFault::Header(reason)) => assert_eq!(reason, "no column 'id' among a, b"),
            _ => panic!("a table without ids was read"),
        }
    }
}
