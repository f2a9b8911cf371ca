//! Identifies the columns of fingerprints and ids, for all readers of lines.
//!
//! The rules, in this order; blank lines and lines that start with `#` are ignored:
//!
//! 1. The first line decides if exactly one of its columns holds a fingerprint ([`Held`]): if it is
//!    at the start of the line, the input has the documented form, otherwise it is a table. A
//!    stream, whose lines are processed as they arrive, has only its first line, and the second one
//!    after a header.
//! 2. Otherwise the first lines decide, a hundred lines or 256 KiB ([`sample`]). They are split
//!    at tabs, else semicolons, else commas, else at their last space or colon. The column with
//!    fingerprints is taken; if the first line has a name there, it is a header.
//! 3. The other column is the id. Of several columns, the id is the one named `id` in the header,
//!    else the only one with a name in [`fields::ID`].
//! 4. Shorter numbers are fingerprints only if each line holds nothing else. Next to another column
//!    they are ids, unless the user names the column or the radix.
//! 5. If two columns, or no column, could hold the fingerprints, the input is rejected, and the
//!    message names the options that resolve the doubt. Skipping bad records does not change this.
//!
//! A value that does not fit its column is a bad record. A bad record among the first lines makes
//! the guess fail, unless bad records are skipped.

use std::collections::HashSet;

use super::columns::{Columns, Separator, unquoted};
use super::line_record::{parse_record, text_of};
use fpstore_base::column::{Held, is_in_doubt};
use fpstore_base::{Fingerprint, Radix, Width, fields, foreign_spelling};

/// The maximum number of sampled lines.
const SAMPLE_COUNT: usize = 100;
/// The maximum number of sampled bytes.
const SAMPLE_LEN: usize = 1 << 18;
/// The maximum length of a column name in a header.
const NAME_LEN_MAX: usize = 60;
/// The minimum number of hex digits of a hash with more than 64 bits: shorter ones are more likely
/// dates or keys.
const LONG_HASH_MIN: usize = 24;

/// The settings that are known before the input is read.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Wish {
    pub(super) radix: Option<Radix>,
    /// The columns of the fingerprint and of the id, counted from 0.
    pub(super) columns: Option<(usize, Option<usize>)>,
    pub(super) skip_bad: bool,
    pub(super) is_exact: bool,
    /// Whether each line is processed before the next one arrives.
    pub(super) is_stream: bool,
    pub(super) width: Width,
}

/// How the lines of an input are read.
#[derive(Clone, Debug)]
pub(super) enum LineForm {
    /// In the documented form: the fingerprint, then optionally a separator and the id.
    Documented(Radix),
    /// Hex numbers alone, with fewer digits than the width has.
    Short(Width),
    /// By columns, with a description of the guess.
    Columns(Columns, Option<String>),
    /// Rejected.
    Unclear(Unclear),
}

impl Default for LineForm {
    fn default() -> Self {
        LineForm::Documented(Radix::default())
    }
}

/// The reason why columns are unclear, and settings that would make them clear.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Unclear {
    pub(super) reason: String,
    /// The most likely columns, counted from 0.
    pub(super) columns: Option<(usize, Option<usize>)>,
    pub(super) radix: Option<Radix>,
    pub(super) width: Option<Width>,
    /// The line without a record, if the input is of another kind.
    pub(super) line: Option<usize>,
}

/// Decides how the lines of an input are read from its first bytes, which start a line; `None` if
/// more bytes are needed. `is_whole` if there are no more.
pub(super) fn decide(bytes: &[u8], is_whole: bool, wish: &Wish) -> Option<LineForm> {
    let documented = LineForm::Documented(wish.radix.unwrap_or_default());
    if wish.is_exact && wish.columns.is_none() {
        return Some(documented);
    }
    let (lines, is_whole) = sample(bytes, is_whole);
    let Some(first) = lines.first() else { return is_whole.then_some(documented) };
    let is_alone = wish.is_stream || lines.len() == 1 && is_whole;
    let of_first = Sample { lines: &lines[..1], is_alone, wish }.find();
    if wish.is_stream {
        let is_no_record = |columns: &Columns| columns.parse(first.text, |parsed| parsed.is_err());
        let may_be_header = match &of_first {
            Ok(LineForm::Columns(columns, _)) => is_no_record(columns),
            _ => is_header(first.text),
        };
        let found = match lines.get(..2) {
            Some(lines) if may_be_header => Sample { lines, is_alone, wish }.find(),
            None if may_be_header && !is_whole => return None,
            _ => of_first,
        };
        return Some(found.unwrap_or_else(LineForm::Unclear));
    }
    if matches!(of_first, Ok(LineForm::Documented(_))) {
        return of_first.ok();
    }
    if !is_whole {
        return None;
    }
    let sample = Sample { lines: &lines, is_alone, wish };
    let found = match of_first {
        Ok(LineForm::Columns(..)) if wish.columns.is_none() => of_first,
        _ => sample.find(),
    };
    Some(found.and_then(|form| sample.checked(form)).unwrap_or_else(LineForm::Unclear))
}

/// The first lines of an input.
struct Sample<'a> {
    lines: &'a [Line<'a>],
    /// Whether no later line can resolve a doubt.
    is_alone: bool,
    wish: &'a Wish,
}

impl<'a> Sample<'a> {
    fn held<'v>(&self, values: impl IntoIterator<Item = &'v str>) -> Held {
        Held::of(values, self.wish.radix, self.wish.width)
    }

    fn find(&self) -> Result<LineForm, Unclear> {
        if let Some((fingerprint, id)) = self.wish.columns {
            return self.with_columns(fingerprint, id);
        }
        let radix = self.wish.radix.unwrap_or_default();
        let start = |line: &Line<'a>| line.text.split(['\t', ',', ':', ' ']).next().unwrap_or("");
        let starts = self.held(self.lines.iter().map(start));
        let read = parse_record(self.lines[0].text.as_bytes(), radix);
        let holds =
            starts == Held::Fingerprints(radix) || starts == Held::HexOrDecimal && self.is_alone;
        if read.is_ok() && holds {
            return Ok(LineForm::Documented(radix));
        }
        let layouts: Vec<Layout<'_>> =
            Separator::ALL.iter().filter_map(|one| Layout::of(self, *one)).collect();
        let mut taken = layouts.iter().filter_map(Layout::take);
        if let Some(taken) = taken.next() {
            return taken;
        }
        if self.lines.iter().all(|line| is_bare(line.text)) && starts != Held::HexOrDecimal {
            return match self.wish.radix {
                None if starts == Held::HashesOf32Bits => Err(of_32_bits(0)),
                None => Ok(LineForm::Short(self.wish.width)),
                Some(radix) => Ok(LineForm::Documented(radix)),
            };
        }
        let doubt = layouts.iter().find_map(Layout::hex_or_decimal);
        let doubt = doubt.or_else(|| layouts.iter().find_map(Layout::hashes_of_32_bits));
        if let Some(unclear) = doubt.or_else(|| layouts.iter().find_map(Layout::foreign)) {
            return Err(unclear);
        }
        // The radix is set, so shorter numbers are intended.
        let all_read = |line: &Line<'_>| parse_record(line.text.as_bytes(), radix).is_ok();
        if self.wish.radix.is_some() && self.lines.iter().all(all_read) {
            return Ok(LineForm::Documented(radix));
        }
        let Err(reason) = read else { return Err(self.of_short_numbers(&layouts)) };
        Err(Unclear { reason, line: Some(self.lines[0].number), ..Unclear::default() })
    }

    /// Rejects lines without a column of fingerprints.
    fn of_short_numbers(&self, layouts: &[Layout<'_>]) -> Unclear {
        let digits = self.wish.width.digits();
        let reason = format!("no column holds fingerprints, which have {digits} hex digits");
        let mut unclear = Unclear { reason, ..Unclear::default() };
        let Some(layout) = layouts.first() else { return unclear };
        let is_short =
            |place: &usize| matches!(layout.held[*place].0, Held::Numbers | Held::ShortHex);
        // A missing value may be a fingerprint in later lines; if it never is, each line is
        // rejected.
        let missing = (0..layout.count).find(|place| is_missing(layout.rows[0][*place]));
        let short: Vec<usize> = (0..layout.count).filter(is_short).collect();
        let (place, more) = match (missing, &short[..]) {
            (Some(place), _) => {
                (place, format!("; only column {}, whose first value is missing, could", place + 1))
            }
            (None, &[place]) => {
                (place, format!("; only the shorter numbers in column {} could be some", place + 1))
            }
            (None, []) => return unclear,
            (None, _) => {
                unclear.reason += "; several columns have shorter numbers: name one with \
                                   --fingerprint-field and --id-field";
                return unclear;
            }
        };
        unclear.reason += &more;
        unclear.columns = Some((place, layout.likely_id(place)));
        unclear.radix = (layout.held[place].0 == Held::Numbers).then_some(Radix::Decimal);
        unclear
    }

    /// Rejects a guess that does not fit a sampled line, unless bad records are skipped.
    fn checked(&self, form: LineForm) -> Result<LineForm, Unclear> {
        let LineForm::Columns(columns, _) = &form else { return Ok(form) };
        if self.wish.skip_bad || self.wish.columns.is_some() {
            return Ok(form);
        }
        let Columns { fingerprint, id, radix, header_end, .. } = *columns;
        let mut records = self.lines.iter().filter(|line| header_end < Some(line.end as u64));
        if let Some(line) = records.find(|line| columns.parse(line.text, |parsed| parsed.is_err()))
        {
            let cut = columns.separator.split(line.text).unwrap_or_default();
            let value = unquoted(cut.get(fingerprint).copied().unwrap_or(line.text));
            let is_value = Fingerprint::parse(value.trim(), radix).is_ok();
            let (number, column) = (line.number, fingerprint + 1);
            let missing = id.filter(|_| is_value && columns.count == Some(cut.len()));
            let value = value.escape_debug();
            let reason = match missing {
                Some(id) => format!("the id is missing in line {number}, column {}", id + 1),
                None => {
                    format!("column {column} holds fingerprints, but '{value}' in line {number}")
                }
            };
            let columns = Some((fingerprint, id.filter(|_| missing.is_none())));
            return Err(Unclear { reason, columns, radix: said(radix), ..Unclear::default() });
        }
        Ok(form)
    }

    /// Applies the columns given by the user.
    fn with_columns(&self, fingerprint: usize, id: Option<usize>) -> Result<LineForm, Unclear> {
        let most = fingerprint.max(id.unwrap_or(0));
        let cut = |separator: &Separator| {
            let rows: Vec<Vec<&str>> = self
                .lines
                .iter()
                .map(|line| separator.split(line.text).ok())
                .collect::<Option<_>>()?;
            let has_all = rows.iter().any(|row| row.len() > most);
            (has_all && (*separator != Separator::None || most == 0)).then_some((*separator, rows))
        };
        let mut fitting: Vec<_> = Separator::ALL.iter().filter_map(cut).collect();
        let values = |rows: &[Vec<&'a str>]| -> Vec<String> {
            let values = rows.iter().filter_map(|row| row.get(fingerprint));
            values.map(|value| unquoted(value).trim().to_string()).collect()
        };
        let spellings = [Radix::Hex, Radix::Decimal, Radix::SignedDecimal];
        let spellings = self.wish.radix.map_or(spellings.to_vec(), |radix| vec![radix]);
        let is_value =
            |value: &str| spellings.iter().any(|it| Fingerprint::parse(value, *it).is_ok());
        let fits_any = |rows: &[Vec<&'a str>]| values(rows).iter().any(|value| is_value(value));
        if fitting.is_empty() {
            let reason = format!("no line has a column {}", most + 1);
            return Err(Unclear { reason, ..Unclear::default() });
        }
        let best = fitting.iter().position(|(_, rows)| fits_any(rows)).unwrap_or(0);
        let (separator, rows) = fitting.swap_remove(best);
        let name = rows[0].get(fingerprint).copied().unwrap_or_default();
        let is_followed = rows.len() > 1 || !self.is_alone;
        let header = !is_value(unquoted(name).trim()) && is_name(name) && is_followed;
        let values = values(&rows[usize::from(header)..]);
        let values = || values.iter().map(String::as_str);
        if self.wish.radix.is_none() && values().count() > 1 && is_in_doubt(values()) {
            return Err(Unclear { columns: None, ..hex_or_decimal(fingerprint, id) });
        }
        let guessed = match self.held(values()) {
            Held::HashesOf32Bits => return Err(of_32_bits(fingerprint)),
            Held::Fingerprints(radix) => radix,
            _ => Radix::Hex,
        };
        let radix = self.wish.radix.unwrap_or(guessed);
        let header_end = header.then_some(self.lines[0].end as u64);
        let columns = Columns { separator, count: None, fingerprint, id, radix, header_end };
        let mut notes = Vec::new();
        if header {
            notes.push(format!("took line {} for a header", self.lines[0].number));
        }
        if self.wish.radix.is_none() && radix != Radix::Hex {
            notes.push(format!("read {} in column {}", words(radix), fingerprint + 1));
        }
        Ok(LineForm::Columns(columns, (!notes.is_empty()).then(|| notes.join(", "))))
    }
}

/// A split of lines in which nearly all lines have the same number of columns.
struct Layout<'a> {
    separator: Separator,
    sample: &'a Sample<'a>,
    count: usize,
    /// Lines with another number of columns become empty texts.
    rows: Vec<Vec<&'a str>>,
    /// For each column its kind of values, and whether the first line is excluded because it has a
    /// name.
    held: Vec<(Held, bool)>,
}

impl<'a> Layout<'a> {
    fn of(sample: &'a Sample<'a>, separator: Separator) -> Option<Self> {
        let cut = |line: &Line<'a>| separator.split(line.text).unwrap_or_default();
        let mut rows: Vec<Vec<&str>> = sample.lines.iter().map(cut).collect();
        let of_count = |count: usize| rows.iter().filter(|row| row.len() == count).count();
        let count = rows.iter().map(Vec::len).max_by_key(|count| of_count(*count))?;
        if 4 * of_count(count) < 3 * rows.len()
            || count == 0
            || (count == 1) != (separator == Separator::None)
        {
            return None;
        }
        for row in rows.iter_mut().filter(|row| row.len() != count) {
            *row = vec![""; count];
        }
        let mut layout = Layout { separator, sample, count, rows, held: Vec::new() };
        let held = |place: usize| {
            let name = unquoted(layout.rows[0][place]);
            let is_value = Fingerprint::parse(name.trim(), Radix::Hex).is_ok();
            let has_name = layout.rows.len() > 1 && is_name(&name) && !is_value;
            let values: Vec<_> = layout.values(place).skip(usize::from(has_name)).collect();
            (sample.held(values.iter().map(AsRef::as_ref)), has_name)
        };
        let held = (0..count).map(held).collect();
        layout.held = held;
        Some(layout)
    }

    fn values(&self, place: usize) -> impl Iterator<Item = std::borrow::Cow<'a, str>> {
        self.rows.iter().map(move |row| unquoted(row[place]))
    }

    /// The name of a column in the header, without quotes.
    fn name(&self, place: usize) -> String {
        unquoted(self.rows[0][place]).trim().to_string()
    }

    /// The designation of a column in messages.
    fn call(&self, place: usize, has_header: bool) -> String {
        match has_header {
            true => format!("column {} ({})", place + 1, self.name(place)),
            false => format!("column {}", place + 1),
        }
    }

    /// Takes the column that holds fingerprints, if it is unique.
    fn take(&self) -> Option<Result<LineForm, Unclear>> {
        let found = (0..self.count).filter_map(|place| match self.held[place] {
            (Held::Fingerprints(radix), has_header) => Some((place, radix, has_header)),
            _ => None,
        });
        let found: Vec<_> = found.collect();
        let (place, radix, has_header) = *found.first()?;
        let id = self.likely_id(place);
        let unclear = |reason| {
            let columns = Some((place, id));
            Some(Err(Unclear { reason, columns, radix: said(radix), ..Unclear::default() }))
        };
        // Short hex numbers at the start of lines may be fingerprints, and so may numbers in other
        // columns.
        let rival = match self.held[0].0 {
            _ if place == 0 => None,
            Held::ShortHex | Held::HashesOf32Bits | Held::HexOrDecimal => Some(0),
            Held::Numbers if radix != Radix::Hex => Some(0),
            _ => None,
        };
        if let Some(other) = found.get(1).map(|it| it.0).or(rival) {
            let (one, two) = (place.min(other), place.max(other));
            let (one, two) = (self.call(one, has_header), self.call(two, has_header));
            return unclear(format!("{one} and {two} could both hold the fingerprints"));
        }
        let name_is_sure = fields::is_of_fingerprints(&self.name(place))
            || (0..self.count).any(|other| fields::is_id(&self.name(other)));
        if has_header && !name_is_sure {
            let number = self.sample.lines[0].number;
            let reason = "could be a header or a record without fingerprint";
            return unclear(format!("line {number} {reason}"));
        }
        let others = self.count - 1;
        if others > 1 && !self.has_one_id(place, has_header) {
            return unclear(format!(
                "{} holds fingerprints, and {others} other columns could hold the ids",
                self.call(place, has_header)
            ));
        }
        // A single line cannot distinguish a missing id from a missing fingerprint.
        if self.rows.len() == 1 && id.is_some_and(|id| is_missing(self.rows[0][id])) {
            return unclear(format!("the id in {} is missing", self.call(id.unwrap_or(0), false)));
        }
        let mut note = format!("took {} for the fingerprint", self.call(place, has_header));
        if radix != Radix::Hex {
            note += &format!(" ({})", words(radix));
        }
        match id {
            Some(id) => note += &format!(" and {} for the id", self.call(id, has_header)),
            None => note += ", without ids",
        }
        let columns = Columns {
            separator: self.separator,
            count: Some(self.count),
            fingerprint: place,
            id,
            radix,
            header_end: has_header.then_some(self.sample.lines[0].end as u64),
        };
        Some(Ok(LineForm::Columns(columns, Some(note))))
    }

    /// Whether the header identifies a unique id column among several.
    fn has_one_id(&self, fingerprint: usize, has_header: bool) -> bool {
        let names = (0..self.count).filter(|place| *place != fingerprint);
        let names: Vec<String> = names.map(|place| self.name(place)).collect();
        let is_named = |name: &&String| fields::is_id(name);
        has_header
            && (names.iter().filter(|name| name.eq_ignore_ascii_case("id")).count() == 1
                || names.iter().filter(is_named).count() == 1)
    }

    /// The most likely id column.
    fn likely_id(&self, fingerprint: usize) -> Option<usize> {
        let others: Vec<usize> = (0..self.count).filter(|it| *it != fingerprint).collect();
        let is_called_id = |place: &&usize| self.name(**place).eq_ignore_ascii_case("id");
        let named = others.iter().find(is_called_id);
        let named = named.or_else(|| others.iter().find(|it| fields::is_id(&self.name(**it))));
        let distinct = |place: &&usize| {
            let values: HashSet<&str> = self.rows.iter().map(|row| row[**place]).collect();
            values.len() == self.rows.len() && !values.contains("")
        };
        named.or_else(|| others.iter().find(distinct)).or(others.first()).copied()
    }

    /// Rejects a column of numbers that may be hex or decimal.
    fn hex_or_decimal(&self) -> Option<Unclear> {
        let place = (0..self.count).find(|place| self.held[*place].0 == Held::HexOrDecimal)?;
        Some(hex_or_decimal(place, self.likely_id(place)))
    }

    /// Rejects hashes of 32 bits for a width of 64: they would be stored with 32 leading zeros.
    fn hashes_of_32_bits(&self) -> Option<Unclear> {
        (0..self.count).find(|place| self.held[*place].0 == Held::HashesOf32Bits).map(of_32_bits)
    }

    /// Rejects hashes of more than 64 bits, bits and rounded numbers.
    fn foreign(&self) -> Option<Unclear> {
        let hex_len = |value: &str| {
            let is_hex = value.bytes().all(|byte| byte.is_ascii_hexdigit());
            (is_hex && value.len() >= LONG_HASH_MIN).then_some(value.len())
        };
        let width = self.sample.wish.width;
        let kind = |value: &str| match foreign_spelling(value) {
            Some(spelling) => Some(format!("numbers, each {spelling}")),
            None => hex_len(value).map(|len| {
                format!(
                    "hashes of {} bits ({len} hex digits), and a fingerprint has {width}: make \
                     hashes of {width} bits, such as hash_size=8 of imagehash for 64",
                    4 * len
                )
            }),
        };
        let other = |place: usize| {
            let last = kind(&unquoted(self.rows.last()?[place]))?;
            let count = self.values(place).filter(|it| kind(it).as_ref() == Some(&last)).count();
            (4 * count >= 3 * (self.rows.len() - usize::from(self.held[place].1))).then_some(last)
        };
        let (place, kind) = (0..self.count).find_map(|place| Some((place, other(place)?)))?;
        let has_header = self.held[place].1 && foreign_spelling(&self.name(place)).is_none();
        let reason = format!("{} holds {kind}", self.call(place, has_header));
        Some(Unclear { reason, ..Unclear::default() })
    }
}

/// The radix that must be given as an option.
fn said(radix: Radix) -> Option<Radix> {
    Some(radix).filter(|radix| *radix != Radix::Hex)
}

/// The description of fingerprints that are not in hex.
fn words(radix: Radix) -> &'static str {
    match radix {
        Radix::SignedDecimal => "signed decimal numbers",
        _ => "decimal numbers",
    }
}

fn hex_or_decimal(place: usize, id: Option<usize>) -> Unclear {
    let reason = format!(
        "column {} has numbers without a letter, which could be hex or decimal (--radix hex or dec)",
        place + 1
    );
    let columns = Some((place, id));
    Unclear { reason, columns, radix: Some(Radix::Decimal), ..Unclear::default() }
}

fn of_32_bits(place: usize) -> Unclear {
    let reason = format!(
        "column {} has 8 hex digits in each line, hashes of 32 bits, and fingerprints of 64 are read; \
         --bits 32 keeps them as what they are",
        place + 1
    );
    Unclear { reason, width: Width::new(32), ..Unclear::default() }
}

/// Whether a line has one column.
fn is_bare(line: &str) -> bool {
    !line.trim().contains(['\t', ';', ',', ':', ' '])
}

/// Whether a line looks like a header of a table with fingerprints.
fn is_header(line: &str) -> bool {
    let is_usual = |name: &str| fields::is_of_fingerprints(name) || fields::is_id(name);
    let cut = Separator::ALL.iter().filter_map(|separator| separator.split(line).ok());
    cut.flatten().any(|name| is_name(name) && is_usual(unquoted(name).trim()))
}

/// Placeholders for a missing value.
fn is_missing(value: &str) -> bool {
    const MISSING: [&str; 13] =
        ["", "-", "?", "null", "\\n", "none", "nil", "nan", "na", "n/a", "error", "err", "failed"];
    MISSING.contains(&unquoted(value).trim().to_ascii_lowercase().as_str())
}

/// Whether a value can be the name of a column: neither a missing value, nor an invalid
/// fingerprint.
fn is_name(value: &str) -> bool {
    let value = unquoted(value);
    let value = value.trim();
    let hex = value.bytes().filter(u8::is_ascii_hexdigit).count();
    value.len() <= NAME_LEN_MAX
        && !is_missing(value)
        && value.chars().any(char::is_alphabetic)
        && (value.len() < 8 || 4 * hex < 3 * value.len())
}

/// A sampled line, neither blank nor a comment.
struct Line<'a> {
    text: &'a str,
    /// The length of the input up to the end of the line.
    end: usize,
    /// The line number, counted from 1.
    number: usize,
}

/// The sampled lines, and whether the sample is complete.
fn sample(bytes: &[u8], is_whole: bool) -> (Vec<Line<'_>>, bool) {
    let mut lines = Vec::new();
    let is_whole = is_whole || bytes.len() >= SAMPLE_LEN;
    let bytes = &bytes[..bytes.len().min(SAMPLE_LEN)];
    let mut end = 0;
    for (at, line) in bytes.split_inclusive(|byte| *byte == b'\n').enumerate() {
        end += line.len();
        let is_cut = !line.ends_with(b"\n") && (!is_whole || bytes.len() == SAMPLE_LEN);
        if is_cut {
            break;
        }
        let line = line.strip_suffix(b"\n").unwrap_or(line);
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        let line = if at == 0 { line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line) } else { line };
        // A line that is no text is a bad record, and it ends the sample.
        let Ok(text) = text_of(line) else { return (lines, true) };
        let trimmed = text.trim_start_matches(' ');
        if !trimmed.is_empty() && !trimmed.starts_with('#') {
            lines.push(Line { text, end, number: at + 1 });
        }
        if lines.len() == SAMPLE_COUNT {
            return (lines, true);
        }
    }
    (lines, is_whole)
}
