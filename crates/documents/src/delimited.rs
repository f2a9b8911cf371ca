//! Splits tables of comma- or tab-separated values into records.
//!
//! Existing CSV readers accept malformed input: a quote without an end swallows the rest of the
//! file, and text after a closing quote, the sign of wrongly paired quotes, becomes part of the
//! field. Here both are faults of a record, and no record longer than the limit is held in memory.

use std::io::{self, BufRead};

use memchr::{memchr, memchr_iter, memchr3};

use super::capped::TooLong;

/// The fields of a record, without quotes.
#[derive(Debug, Default)]
pub(super) struct Fields {
    bytes: Vec<u8>,
    ends: Vec<usize>,
    /// The line in which the record starts, counted from 1.
    pub(super) line: u64,
}

impl Fields {
    pub(super) fn count(&self) -> usize {
        self.ends.len()
    }

    pub(super) fn get(&self, place: usize) -> Option<&[u8]> {
        let end = *self.ends.get(place)?;
        let start = place.checked_sub(1).map_or(0, |before| self.ends[before]);
        self.bytes.get(start..end)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &[u8]> {
        (0..self.count()).filter_map(|place| self.get(place))
    }

    fn clear(&mut self) {
        self.bytes.clear();
        self.ends.clear();
    }
}

/// The state of the parser within a record.
#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    FieldStart,
    Plain,
    Quoted,
    /// After a quote within quotes: the end of the field, or the first half of an escaped quote.
    AfterQuote,
    /// The parser skips the rest of a bad record.
    Lost,
}

/// The result of one step through the input.
enum Step {
    /// A part of a record.
    Part,
    /// The end of a record.
    EndOfRecord,
    /// A misplaced byte, which was not consumed.
    Fault(String),
    EndOfInput,
}

/// Reads records; see [`FieldReader::next`].
pub(super) struct FieldReader<R> {
    reader: R,
    /// The number of bytes consumed from `reader`.
    taken: u64,
    delimiter: u8,
    has_quotes: bool,
    len_max: u64,
    state: State,
    /// Whether the current record is skipped.
    is_lost: bool,
    /// Whether the last byte was a CR, so that a following LF belongs to it.
    after_cr: bool,
    line: u64,
    quote_line: u64,
}

impl<R: BufRead> FieldReader<R> {
    /// A reader of values separated by commas, with quotes as in RFC 4180.
    pub(super) fn csv(reader: R, len_max: u64) -> Self {
        FieldReader {
            reader,
            taken: 0,
            delimiter: b',',
            has_quotes: true,
            len_max,
            state: State::FieldStart,
            is_lost: false,
            after_cr: false,
            line: 1,
            quote_line: 0,
        }
    }

    /// A reader of values separated by tabs, in which a quote is an ordinary character.
    pub(super) fn tsv(reader: R, len_max: u64) -> Self {
        FieldReader { delimiter: b'\t', has_quotes: false, ..FieldReader::csv(reader, len_max) }
    }

    /// Reads the next record; `None` after the last one. Empty lines are not records. The inner
    /// error is the reason why a record is bad; the next call then skips the rest of the bad
    /// record.
    pub(super) fn next(&mut self, fields: &mut Fields) -> io::Result<Option<Result<(), String>>> {
        while self.skip_some()? || self.pass_line_ends()? {}
        fields.clear();
        fields.line = self.line;
        let start = self.taken;
        loop {
            let fault = match self.step(fields)? {
                Step::EndOfInput => return Ok(self.end(fields)),
                Step::Fault(reason) => Some((reason, false)),
                step => {
                    let ended = matches!(step, Step::EndOfRecord);
                    if self.taken - start > self.len_max.saturating_add(2) {
                        Some((self.too_long(), ended))
                    } else if ended {
                        return Ok(Some(Ok(())));
                    } else {
                        None
                    }
                }
            };
            if let Some((reason, ended)) = fault {
                self.is_lost = !ended;
                fields.clear();
                fields.bytes.shrink_to(1 << 16);
                return Ok(Some(Err(reason)));
            }
        }
    }

    /// Skips a part of the rest of a bad record. Returns whether there was a rest.
    pub(super) fn skip_some(&mut self) -> io::Result<bool> {
        if !self.is_lost {
            return Ok(false);
        }
        match self.step(&mut Fields::default())? {
            Step::EndOfInput => return Ok(false),
            Step::EndOfRecord => self.is_lost = false,
            _ => {}
        }
        Ok(true)
    }

    /// Skips some line ends before a record: the rest of the previous line end, and empty lines.
    /// Returns whether there were any.
    pub(super) fn pass_line_ends(&mut self) -> io::Result<bool> {
        let bytes = self.reader.fill_buf()?;
        let ends = bytes.iter().take_while(|&&byte| matches!(byte, b'\n' | b'\r'));
        let mut len = 0;
        for &byte in ends {
            len += 1;
            self.line += u64::from(!(byte == b'\n' && self.after_cr));
            self.after_cr = byte == b'\r';
        }
        self.take(len);
        Ok(len > 0)
    }

    /// Consumes some bytes of a record.
    fn step(&mut self, fields: &mut Fields) -> io::Result<Step> {
        let bytes = self.reader.fill_buf()?;
        let Some(&first) = bytes.first() else { return Ok(Step::EndOfInput) };
        let mut used = 1;
        let mut ended = false;
        match self.state {
            State::FieldStart if self.has_quotes && first == b'"' => {
                self.state = State::Quoted;
                self.quote_line = self.line;
            }
            State::FieldStart | State::Plain => {
                let end = memchr3(self.delimiter, b'\n', b'\r', bytes);
                let text = &bytes[..end.unwrap_or(bytes.len())];
                fields.bytes.extend_from_slice(text);
                used = text.len();
                self.state = State::Plain;
                if let Some(end) = end {
                    used += 1;
                    fields.ends.push(fields.bytes.len());
                    self.state = State::FieldStart;
                    ended = bytes[end] != self.delimiter;
                    self.after_cr = bytes[end] == b'\r';
                }
            }
            State::Quoted => {
                let end = memchr(b'"', bytes);
                let text = &bytes[..end.unwrap_or(bytes.len())];
                self.line += memchr_iter(b'\n', text).count() as u64;
                fields.bytes.extend_from_slice(text);
                used = text.len();
                if end.is_some() {
                    used += 1;
                    self.state = State::AfterQuote;
                }
            }
            State::AfterQuote if first == b'"' => {
                fields.bytes.push(first);
                self.state = State::Quoted;
            }
            State::AfterQuote if first == self.delimiter => {
                fields.ends.push(fields.bytes.len());
                self.state = State::FieldStart;
            }
            State::AfterQuote if matches!(first, b'\n' | b'\r') => {
                fields.ends.push(fields.bytes.len());
                self.state = State::FieldStart;
                ended = true;
                self.after_cr = first == b'\r';
            }
            State::AfterQuote => {
                self.state = State::Lost;
                if let Some(other) = separator(first).filter(|_| self.line == 1) {
                    return Ok(Step::Fault(of_separator(other, false)));
                }
                return Ok(Step::Fault(format!(
                    "text after a closing quote in line {}; the quote opens in line {}",
                    self.line, self.quote_line
                )));
            }
            State::Lost => {
                let end = memchr(b'\n', bytes);
                used = end.map_or(bytes.len(), |at| at + 1);
                ended = end.is_some();
                self.after_cr = false;
            }
        }
        self.take(used);
        if !ended {
            return Ok(Step::Part);
        }
        self.line += 1;
        self.state = State::FieldStart;
        Ok(Step::EndOfRecord)
    }

    fn take(&mut self, len: usize) {
        self.reader.consume(len);
        self.taken += len as u64;
    }

    /// The underlying reader.
    pub(super) fn reader_mut(&mut self) -> &mut R {
        &mut self.reader
    }

    fn too_long(&self) -> String {
        let limit = TooLong { len_max: self.len_max };
        match self.state {
            State::Quoted | State::AfterQuote => {
                format!("a record is {limit}; a quote opens in line {}", self.quote_line)
            }
            _ => format!("a record is {limit}"),
        }
    }

    /// The last record, if the file does not end with a line end; or the fault of that record.
    fn end(&mut self, fields: &mut Fields) -> Option<Result<(), String>> {
        let state = std::mem::replace(&mut self.state, State::FieldStart);
        let was_lost = std::mem::take(&mut self.is_lost);
        match state {
            _ if was_lost || state == State::Lost => None,
            State::Quoted => Some(Err(format!(
                "the quote that opens in line {} is never closed; it includes everything to line \
                 {}",
                self.quote_line, self.line
            ))),
            State::FieldStart if fields.ends.is_empty() => None,
            _ => {
                fields.ends.push(fields.bytes.len());
                Some(Ok(()))
            }
        }
    }
}

/// The name of a common separator of columns, for messages.
fn separator(byte: u8) -> Option<&'static str> {
    Some(match byte {
        b';' => "';'",
        b'|' => "'|'",
        b'\t' => "tabs",
        b',' => "commas",
        _ => return None,
    })
}

fn of_separator(found: &str, is_tsv: bool) -> String {
    let expected = if is_tsv { "tabs" } else { "commas" };
    format!("the columns are separated by {found}, expected {expected}")
}

/// The reason why the first line of a table without the expected columns is not a header; `None` if
/// the line shows no reason.
pub(super) fn header_fault(names: &[&str], is_tsv: bool) -> Option<String> {
    let first = names.first()?;
    let is_alone = names.len() == 1;
    if first.starts_with("sep=") {
        return Some(format!("line 1 is '{first}', a setting for Excel, expected a header"));
    }
    if first.starts_with('#') && (is_alone || first.starts_with("# ")) {
        return Some("line 1 is a comment, expected a header".into());
    }
    let other = |byte: &u8| first.as_bytes().contains(byte).then(|| separator(*byte)).flatten();
    let found = b";|\t,".iter().find_map(other).filter(|_| is_alone)?;
    Some(of_separator(found, is_tsv))
}

#[cfg(test)]
mod tests {
    use std::io::BufReader;

    use super::*;

    type Record = (u64, Result<Vec<Vec<u8>>, String>);

    fn read(mut reader: FieldReader<impl BufRead>) -> Vec<Record> {
        let (mut fields, mut records) = (Fields::default(), Vec::new());
        while let Some(record) = reader.next(&mut fields).unwrap() {
            let line = fields.line;
            records.push((line, record.map(|()| fields.iter().map(<[u8]>::to_vec).collect())));
        }
        records
    }

    fn csv(text: &[u8]) -> Vec<Record> {
        let whole = read(FieldReader::csv(text, 1000));
        for capacity in [1, 2, 3, 7] {
            let reader = BufReader::with_capacity(capacity, text);
            assert_eq!(read(FieldReader::csv(reader, 1000)), whole, "{capacity}");
        }
        whole
    }

    fn good(line: u64, fields: &[&str]) -> Record {
        (line, Ok(fields.iter().map(|field| field.as_bytes().to_vec()).collect()))
    }

    #[test]
    fn quotes_line_ends_and_empty_lines_are_as_in_rfc_4180() {
        assert_eq!(
            csv(b"\r\na,b\r\n\n\"x,\"\"y\"\"\nz\",\r,\n\"\"\nlast,\"q\""),
            [
                good(2, &["a", "b"]),
                good(4, &["x,\"y\"\nz", ""]),
                good(6, &["", ""]),
                good(7, &[""]),
                good(8, &["last", "q"]),
            ]
        );
        assert_eq!(csv(b""), []);
        assert_eq!(csv(b"a\"b,c"), [good(1, &["a\"b", "c"])]);
        let tsv = read(FieldReader::tsv(&b"\"a\tb,c\n"[..], 1000));
        assert_eq!(tsv, [good(1, &["\"a", "b,c"])]);
    }

    #[test]
    fn quotes_that_do_not_pair_are_named_with_the_line_where_they_open() {
        let records = csv(b"id,text\n1,\"oops\n2,x\n3,y\n");
        assert_eq!(records.len(), 2);
        let (line, reason) = (records[1].0, records[1].1.as_ref().unwrap_err());
        assert_eq!(line, 2);
        assert!(
            reason.contains("opens in line 2 is never closed; it includes everything to line 5"),
            "{reason}"
        );
        // The next quote closes the field by mistake; the record after that line is read correctly
        // again.
        let records = csv(b"1,\"oops\n2,\"bar baz\"\n3,y\n");
        let reason = records[0].1.as_ref().unwrap_err();
        assert!(reason.contains("text after a closing quote in line 2"), "{reason}");
        assert_eq!(records[1..], [good(3, &["3", "y"])]);
    }

    #[test]
    fn a_record_that_is_too_long_is_passed_over_and_not_held() {
        let long = [b"1,".as_slice(), &[b'x'; 5000], b"\n2,y\n"].concat();
        let records = csv(&long);
        assert!(records[0].1.as_ref().unwrap_err().contains("longer than the 1000 bytes"));
        assert_eq!(records[1..], [good(2, &["2", "y"])]);
        let quoted = [b"1,\"".as_slice(), &[b'\n'; 5000], b"\"\n2,y\n"].concat();
        let records = csv(&quoted);
        assert!(records[0].1.as_ref().unwrap_err().contains("a quote opens in line 1"));
        assert_eq!(records[1..], [good(5002, &["2", "y"])]);
        // A single bad record, even though its quote is never closed.
        assert_eq!(csv(&quoted[..quoted.len() - 6]).len(), 1);
        let mut reader = FieldReader::csv(BufReader::with_capacity(64, &long[..]), 1000);
        let mut fields = Fields::default();
        assert!(reader.next(&mut fields).unwrap().unwrap().is_err());
        assert!(fields.bytes.capacity() <= 4096);
    }

    /// The records read by the csv crate, which accepts malformed input.
    fn csv_of_others(text: &[u8]) -> Vec<Vec<Vec<u8>>> {
        let mut builder = csv::ReaderBuilder::new();
        let records = builder.flexible(true).has_headers(false).from_reader(text);
        let records = records
            .into_byte_records()
            .map(|record| record.unwrap().iter().map(<[u8]>::to_vec).collect());
        records.collect()
    }

    proptest::proptest! {
        #![proptest_config(proptest::test_runner::Config {
            cases: 5000,
            rng_seed: proptest::test_runner::RngSeed::Fixed(7),
            failure_persistence: None,
            ..Default::default()
        })]

        #[test]
        fn tables_without_faults_are_read_as_by_the_csv_crate(text in "[ab,\"\n\r]{0,24}") {
            let records = csv(text.as_bytes());
            if records.iter().all(|(_, record)| record.is_ok()) {
                let fields: Vec<_> = records.into_iter().map(|(_, record)| record.unwrap()).collect();
                proptest::prop_assert_eq!(fields, csv_of_others(text.as_bytes()));
            }
        }
    }

    #[test]
    fn a_first_line_that_is_no_header_is_named() {
        for (names, is_tsv, expected) in [
            (&["id;text"][..], false, Some("separated by ';', expected commas")),
            (&["id;text"], true, Some("separated by ';', expected tabs")),
            (&["id\ttext"], false, Some("separated by tabs, expected commas")),
            (&["id,text"], true, Some("separated by commas, expected tabs")),
            (&["sep=", ""], false, Some("a setting for Excel")),
            (&["# exported", " today"], false, Some("a comment")),
            (&["#id", "text"], false, None),
            (&["title"], false, None),
            (&["a;b", "c"], false, None),
            (&[], false, None),
        ] {
            let found = header_fault(names, is_tsv);
            match expected {
                Some(part) => assert!(found.unwrap().contains(part), "{names:?}"),
                None => assert_eq!(found, None, "{names:?}"),
            }
        }
        let mut rows = FieldReader::csv(&b"\"id\";\"text\"\n"[..], 1000);
        let fault = rows.next(&mut Fields::default()).unwrap().unwrap().unwrap_err();
        assert_eq!(fault, "the columns are separated by ';', expected commas");
    }
}
