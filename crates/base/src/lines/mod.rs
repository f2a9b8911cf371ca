//! Finds the columns of fingerprints and ids, for all readers of lines.
//!
//! The rules, in this order; blank lines and lines that start with `#` are ignored:
//!
//! 1. The first hundred lines or 256 KiB decide (`sample`); in a stream, whose lines are processed
//!    as they arrive, only the first line, and the second line after a header. If nearly all of
//!    these lines start with a fingerprint (`ColumnKind`), the input has the documented form.
//! 2. Otherwise lines are split at tabs, else at semicolons, else at commas, else at their last
//!    space or colon. The column with fingerprints is used, unless its header is a usual name of
//!    ids. If the first line has a name in this column, the line is a header.
//! 3. The other column is the id. Of several other columns, the id is the column named `id` in the
//!    header, else the only column with a name in [`fields::ID`].
//! 4. Numbers with fewer digits are fingerprints only if each line contains nothing else. Next to
//!    another column they are ids, unless the user sets the columns or the radix.
//! 5. If another column has a value that could be a fingerprint (`is_rival`), or no column has
//!    fingerprints, the input is rejected, even if bad records are skipped.
//!
//! A value that does not fit its column is a bad record, and so is a line whose id could be a
//! fingerprint. If one of the first lines of a table is a bad record, the input is rejected, unless
//! bad records are skipped.

mod columns;
mod kind;
mod record;

use std::collections::HashSet;

use crate::{Fingerprint, IdRef, Radix, Width, fields, foreign_spelling};
use columns::{Separator, unquoted};
use kind::{ColumnKind, has_nearly_all_digits, is_in_doubt, is_spelled_out};
use record::{parse_record, text_of};

pub use columns::Columns;
pub use kind::is_plain;
pub use record::LineRecord;

/// The maximum number of sampled lines.
const SAMPLE_COUNT: usize = 100;
/// The maximum number of sampled bytes.
const SAMPLE_LEN: usize = 1 << 18;
/// The maximum length of a column name in a header.
const NAME_LEN_MAX: usize = 60;
/// The minimum number of hex digits of a hash of more than 64 bits: shorter numbers are more likely
/// dates or keys.
const LONG_HASH_MIN: usize = 24;

/// Settings that the user makes before the input is read.
#[derive(Clone, Copy, Debug, Default)]
pub struct GuessSettings {
    /// The radix of fingerprints, if it is set.
    pub radix: Option<Radix>,
    /// The columns of the fingerprint and of the id, counted from 0, if they are set.
    pub columns: Option<(usize, Option<usize>)>,
    /// Whether bad records are skipped, instead of ending with an error.
    pub skip_bad: bool,
    /// Whether all lines are known to have the documented form.
    pub is_exact: bool,
    /// Whether each line is processed before the next one arrives.
    pub is_stream: bool,
    /// The width of the fingerprints.
    pub width: Width,
}

/// How to read the lines of an input.
#[derive(Clone, Debug)]
pub enum LineForm {
    /// In the documented form: a fingerprint, then optionally a separator and an id.
    Documented(Radix),
    /// Hex numbers in the documented form. This is a guess, so every line must fit it.
    Guessed(Width),
    /// In columns. The text describes the guess, if it is one.
    Columns(Columns, Option<String>),
    /// Not at all: it is unclear which columns to read.
    Unclear(Unclear),
}

impl Default for LineForm {
    fn default() -> Self {
        LineForm::Documented(Radix::default())
    }
}

impl LineForm {
    /// Whether the line that ends after `read_len` bytes of the input is part of the header.
    pub fn is_header(&self, read_len: u64) -> bool {
        let LineForm::Columns(columns, _) = self else { return false };
        columns.header_end.is_some_and(|end| read_len <= end)
    }

    /// Calls `take` with the record of a line without its line end, or with the reason why the line
    /// is invalid. Returns `None` for a blank line or a comment.
    pub fn parse<T>(
        &self,
        line: &[u8],
        take: impl FnOnce(Result<Option<LineRecord<'_>>, String>) -> T,
    ) -> T {
        match self {
            LineForm::Documented(radix) => take(parse_record(line, *radix)),
            LineForm::Guessed(width) => {
                let parsed = parse_record(line, Radix::Hex);
                take(parsed.and_then(|it| refuse_doubtful(line, it, *width)))
            }
            LineForm::Columns(columns, guess) => match text_of(line) {
                Ok(text) => columns.parse(text, |parsed| {
                    take(parsed.map_err(|reason| match guess {
                        Some(guess) => format!("{reason}; as in the lines before, {guess}"),
                        None => reason,
                    }))
                }),
                Err(reason) => take(Err(reason)),
            },
            LineForm::Unclear(unclear) => take(Err(unclear.reason.clone())),
        }
    }
}

/// The reason why it is unclear which columns to read, and settings that would make it clear.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Unclear {
    /// The reason, for a message.
    pub reason: String,
    /// The most likely columns, counted from 0.
    pub columns: Option<(usize, Option<usize>)>,
    /// The radix, if the user must set it.
    pub radix: Option<Radix>,
    /// The width, if the user must set it.
    pub width: Option<Width>,
    /// The number of a line without a record, if the input is probably not a table of fingerprints.
    pub line: Option<usize>,
}

/// Decides how to read the lines of an input, from its first bytes, which must start a line.
/// Returns `None` if more bytes are needed; with `is_whole` there are no more.
pub fn decide(bytes: &[u8], is_whole: bool, wish: &GuessSettings) -> Option<LineForm> {
    let documented = LineForm::Documented(wish.radix.unwrap_or_default());
    if wish.is_exact && wish.columns.is_none() {
        return Some(documented);
    }
    let (lines, is_whole) = sample(bytes, is_whole);
    let Some(first) = lines.first() else { return is_whole.then_some(documented) };
    let of_first = Sample { lines: &lines[..1], wish };
    let mut all = Sample { lines: &lines, wish };
    if wish.is_stream {
        let is_no_record = |columns: &Columns| columns.parse(first.text, |parsed| parsed.is_err());
        let may_be_header = match of_first.find() {
            Some(Ok(LineForm::Columns(columns, _))) => is_no_record(&columns),
            _ => is_header(first.text),
        };
        all.lines = match lines.get(..2) {
            Some(lines) if may_be_header => lines,
            None if may_be_header && !is_whole => return None,
            _ => &lines[..1],
        };
    } else if !is_whole {
        return None;
    }
    let found = all.find().or_else(|| of_first.find()).unwrap_or_else(|| Err(all.refusal()));
    Some(found.and_then(|form| all.checked(form)).unwrap_or_else(LineForm::Unclear))
}

/// The first lines of an input, and the settings.
struct Sample<'a> {
    lines: &'a [Line<'a>],
    wish: &'a GuessSettings,
}

impl<'a> Sample<'a> {
    fn held<'v>(&self, values: impl IntoIterator<Item = &'v str>) -> ColumnKind {
        ColumnKind::of(values, self.wish.radix, self.wish.width)
    }

    fn layouts(&'a self) -> Vec<Layout<'a>> {
        Separator::ALL.iter().filter_map(|one| Layout::of(self, *one)).collect()
    }

    /// The kind of the values at the start of each line.
    fn starts(&self) -> ColumnKind {
        let start = |line: &Line<'a>| line.text.split(['\t', ',', ':', ' ']).next().unwrap_or("");
        self.held(self.lines.iter().map(start))
    }

    /// Whether each line consists of one value.
    fn is_bare(&self) -> bool {
        let is_bare =
            |line: &Line<'_>| !line.text.trim_matches(' ').contains(['\t', ';', ',', ':', ' ']);
        self.lines.iter().all(is_bare)
    }

    /// How to read the lines, or the reason why two columns could contain the fingerprints; `None`
    /// if no column contains them.
    fn find(&self) -> Option<Result<LineForm, Unclear>> {
        if let Some((fingerprint, id)) = self.wish.columns {
            return Some(self.with_columns(fingerprint, id));
        }
        let radix = self.wish.radix.unwrap_or_default();
        let documented = match self.wish.radix {
            Some(radix) => LineForm::Documented(radix),
            None => LineForm::Guessed(self.wish.width),
        };
        let (layouts, starts, is_bare) = (self.layouts(), self.starts(), self.is_bare());
        // A single number alone is a fingerprint, not the only id of a table.
        let is_alone = is_bare && self.lines.len() == 1 && !self.wish.is_stream;
        let is_fingerprint = starts == ColumnKind::Fingerprints(radix)
            || starts == ColumnKind::HexOrDecimal && is_alone;
        if is_fingerprint && parse_record(self.lines[0].text.as_bytes(), radix).is_ok() {
            return Some(match layouts.iter().find_map(|layout| layout.rival_of(0)) {
                Some(unclear) => Err(unclear),
                None => Ok(documented),
            });
        }
        if let Some(taken) = layouts.iter().find_map(Layout::take) {
            return Some(taken);
        }
        // If the user sets the radix, shorter numbers are intended as fingerprints.
        let is_read = |line: &Line<'_>| parse_record(line.text.as_bytes(), radix).is_ok();
        let is_said = self.wish.radix.is_some()
            && self.lines.iter().all(is_read)
            && layouts.iter().all(|layout| layout.foreign().is_none());
        let is_short =
            is_bare && !matches!(starts, ColumnKind::HexOrDecimal | ColumnKind::HashesOf32Bits);
        (is_short || is_said).then_some(Ok(documented))
    }

    /// The reason why no column contains fingerprints.
    fn refusal(&self) -> Unclear {
        let layouts = self.layouts();
        if self.is_bare() && self.starts() == ColumnKind::HashesOf32Bits {
            return of_32_bits(0);
        }
        let doubt = layouts.iter().find_map(Layout::hex_or_decimal);
        let doubt = doubt.or_else(|| layouts.iter().find_map(Layout::hashes_of_32_bits));
        if let Some(unclear) = doubt.or_else(|| layouts.iter().find_map(Layout::foreign)) {
            return unclear;
        }
        let first = &self.lines[0];
        match parse_record(first.text.as_bytes(), self.wish.radix.unwrap_or_default()) {
            Err(reason) if !layouts.iter().any(|layout| layout.named_place().is_some()) => {
                Unclear { reason, line: Some(first.number), ..Unclear::default() }
            }
            _ => self.without_fingerprints(&layouts),
        }
    }

    /// The reason, for lines in which no column looks like fingerprints.
    fn without_fingerprints(&self, layouts: &[Layout<'_>]) -> Unclear {
        let digits = self.wish.width.digits();
        let mut unclear = Unclear {
            reason: format!("no column holds fingerprints, which have {digits} hex digits"),
            ..Unclear::default()
        };
        // A column with missing values may have fingerprints in later lines.
        let likely = layouts.first().and_then(|layout| {
            let named = layout.named_place();
            let missing = || (0..layout.count).find(|place| is_missing(layout.rows[0][*place]));
            let place = named.or_else(missing)?;
            Some((layout.call(place, named.is_some()), (place, layout.likely_id(place))))
        });
        match likely {
            Some((name, columns)) => {
                unclear.reason += &format!(" in nearly all lines; only {name} could hold them");
                unclear.columns = Some(columns);
            }
            None => {
                unclear.reason += "; if a column of shorter numbers holds them, name it with \
                                   --fingerprint-field, and give --radix";
            }
        }
        unclear
    }

    /// Rejects a guess if one of the first lines does not fit it, unless bad records are skipped.
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

    /// Uses the columns set by the user.
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
        let is_followed = rows.len() > 1 || self.wish.is_stream;
        let header = !is_value(unquoted(name).trim()) && is_name(name) && is_followed;
        let values = values(&rows[usize::from(header)..]);
        let values = || values.iter().map(String::as_str);
        if self.wish.radix.is_none() && values().count() > 1 && is_in_doubt(values()) {
            return Err(Unclear { columns: None, ..hex_or_decimal(fingerprint, id) });
        }
        let guessed = match self.held(values()) {
            ColumnKind::HashesOf32Bits => return Err(of_32_bits(fingerprint)),
            ColumnKind::Fingerprints(radix) => radix,
            _ => Radix::Hex,
        };
        let radix = self.wish.radix.unwrap_or(guessed);
        let header_end = header.then_some(self.lines[0].end as u64);
        let columns = Columns { separator, count: None, fingerprint, id, radix, header_end };
        let mut notes = Vec::new();
        if header {
            notes.push(format!("line {} is read as a header", self.lines[0].number));
        }
        if self.wish.radix.is_none() && radix != Radix::Hex {
            notes.push(format!("read {} in column {}", words(radix), fingerprint + 1));
        }
        Ok(LineForm::Columns(columns, (!notes.is_empty()).then(|| notes.join(", "))))
    }
}

/// A way to split the lines that gives nearly all lines the same number of columns.
struct Layout<'a> {
    separator: Separator,
    sample: &'a Sample<'a>,
    count: usize,
    /// The columns of each line; empty texts for a line with another number of columns.
    rows: Vec<Vec<&'a str>>,
    /// For each column, the kind of its values, and whether its first value is a name and so not
    /// counted.
    held: Vec<(ColumnKind, bool)>,
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

    /// How messages call a column.
    fn call(&self, place: usize, has_header: bool) -> String {
        match has_header {
            true => format!("column {} ({})", place + 1, self.name(place)),
            false => format!("column {}", place + 1),
        }
    }

    /// Whether the column has a usual name of ids, so that it cannot contain fingerprints.
    fn is_named_id(&self, place: usize) -> bool {
        self.count > 1 && self.has_name(place) && {
            let name = self.name(place);
            fields::is_id(&name) && !fields::is_of_fingerprints(&name)
        }
    }

    /// The first column that has a usual name of fingerprints.
    fn named_place(&self) -> Option<usize> {
        let is_named =
            |place: &usize| self.has_name(*place) && fields::is_of_fingerprints(&self.name(*place));
        (0..self.count).find(is_named)
    }

    /// Whether the first line has a name in this column.
    fn has_name(&self, place: usize) -> bool {
        self.held[place].1
    }

    /// The reason to reject the input if a column other than `place` could contain the
    /// fingerprints.
    fn rival_of(&self, place: usize) -> Option<Unclear> {
        let (ColumnKind::Fingerprints(radix), has_header) = self.held[place] else { return None };
        let width = self.sample.wish.width;
        // Numbers without any letters may be counters.
        let is_counted =
            !self.values(place).skip(usize::from(has_header)).any(|it| has_letter(&it));
        let could_be = |other: usize| {
            let values = || self.values(other).skip(usize::from(self.has_name(other)));
            let of_start = other == 0
                && match self.held[0].0 {
                    ColumnKind::ShortHex
                    | ColumnKind::HashesOf32Bits
                    | ColumnKind::HexOrDecimal => true,
                    ColumnKind::Numbers => radix != Radix::Hex,
                    _ => false,
                };
            of_start
                || values()
                    .any(|it| is_rival(&it, width) || is_counted && is_spelled_out(&it, width))
                || is_counted && self.foreign_in(other).is_some()
        };
        // If this column has a usual name of fingerprints, only other columns with such names are
        // rivals.
        let of_fingerprints = |place| fields::is_of_fingerprints(&self.name(place));
        let is_named = has_header && of_fingerprints(place);
        let mut others = (0..self.count).filter(|it| {
            *it != place && !self.is_named_id(*it) && (!is_named || of_fingerprints(*it))
        });
        let other = others.find(|it| could_be(*it))?;
        let (one, two) = (place.min(other), place.max(other));
        let (one, two) = (self.call(one, has_header), self.call(two, has_header));
        let reason = format!("{one} and {two} could both hold the fingerprints");
        let (likely, radix) = match self.held[other].0 {
            ColumnKind::Fingerprints(Radix::Hex) if is_counted => (Some(other), None),
            ColumnKind::Other if is_counted => (None, None),
            _ => (Some(place), said(radix)),
        };
        let columns = likely.map(|place| (place, self.likely_id(place)));
        Some(Unclear { reason, columns, radix, ..Unclear::default() })
    }

    /// Reads the column that contains fingerprints, if there is only one.
    fn take(&self) -> Option<Result<LineForm, Unclear>> {
        let found = (0..self.count).filter_map(|place| match self.held[place] {
            (ColumnKind::Fingerprints(radix), has_header) if !self.is_named_id(place) => {
                Some((place, radix, has_header))
            }
            _ => None,
        });
        // Prefer hex numbers: decimal numbers are more often ids.
        let (place, radix, has_header) = found.min_by_key(|it| it.1 != Radix::Hex)?;
        let id = self.likely_id(place);
        if let Some(unclear) = self.rival_of(place) {
            return Some(Err(unclear));
        }
        let unclear = |reason| {
            let columns = Some((place, id));
            Some(Err(Unclear { reason, columns, radix: said(radix), ..Unclear::default() }))
        };
        if radix != Radix::Hex && self.count > 1 && !has_header && self.is_ascending(place) {
            let reason = format!(
                "column {} has ascending decimal numbers, which are likely ids; if they are \
                 fingerprints, name the columns with --fingerprint-field, --id-field and --radix",
                place + 1
            );
            return Some(Err(Unclear { reason, ..Unclear::default() }));
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
                "{} holds fingerprints, but any of {others} other columns could hold the ids",
                self.call(place, has_header)
            ));
        }
        // A single line does not show whether the id is missing or the fingerprint.
        if self.rows.len() == 1 && id.is_some_and(|id| is_missing(self.rows[0][id])) {
            return unclear(format!("the id in {} is missing", self.call(id.unwrap_or(0), false)));
        }
        let mut note = format!("{} is read as the fingerprint", self.call(place, has_header));
        if radix != Radix::Hex {
            note += &format!(" ({})", words(radix));
        }
        match id {
            Some(id) => note += &format!(" and {} as the id", self.call(id, has_header)),
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

    /// Whether the decimal numbers of a column ascend in small steps, like ids assigned in
    /// sequence.
    fn is_ascending(&self, place: usize) -> bool {
        let numbers: Vec<i128> =
            self.values(place).filter_map(|value| value.trim().parse().ok()).collect();
        let (Some(first), Some(last)) = (numbers.first(), numbers.last()) else { return false };
        numbers.len() > 2 && numbers.is_sorted() && (last - first) < last / 16
    }

    /// Whether the header names exactly one id column among several other columns.
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

    /// The reason to reject the input if a column contains numbers that may be hex or decimal.
    fn hex_or_decimal(&self) -> Option<Unclear> {
        let place =
            (0..self.count).find(|place| self.held[*place].0 == ColumnKind::HexOrDecimal)?;
        Some(hex_or_decimal(place, self.likely_id(place)))
    }

    /// The reason to reject hashes of 32 bits for a width of 64: they would get 32 leading zeros.
    fn hashes_of_32_bits(&self) -> Option<Unclear> {
        (0..self.count)
            .find(|place| self.held[*place].0 == ColumnKind::HashesOf32Bits)
            .map(of_32_bits)
    }

    /// The reason to reject hashes of more than 64 bits, binary digits, and rounded numbers.
    fn foreign(&self) -> Option<Unclear> {
        let (place, kind) = (0..self.count).find_map(|it| Some((it, self.foreign_in(it)?)))?;
        let has_header = self.has_name(place) && foreign_spelling(&self.name(place)).is_none();
        let reason = format!("{} holds {kind}", self.call(place, has_header));
        Some(Unclear { reason, ..Unclear::default() })
    }

    /// The name of an unsupported spelling, if nearly all values of a column are hashes in it.
    fn foreign_in(&self, place: usize) -> Option<String> {
        let hex_len = |value: &str| {
            let is_hex = value.bytes().all(|byte| byte.is_ascii_hexdigit());
            (is_hex && value.len() >= LONG_HASH_MIN).then_some(value.len())
        };
        let width = self.sample.wish.width;
        let kind = |value: &str| match foreign_spelling(value) {
            Some(spelling) => Some(format!("numbers, each {spelling}")),
            None => hex_len(value).map(|len| {
                format!(
                    "hashes of {} bits ({len} hex digits), expected fingerprints of {width}: make \
                     hashes of {width} bits, such as hash_size=8 of imagehash for 64",
                    4 * len
                )
            }),
        };
        let last = kind(&unquoted(self.rows.last()?[place]))?;
        let count = self.values(place).filter(|it| kind(it).as_ref() == Some(&last)).count();
        (4 * count >= 3 * (self.rows.len() - usize::from(self.has_name(place)))).then_some(last)
    }
}

/// Rejects a line whose columns may be in the wrong order: a short number before another value, or
/// an id that looks like a fingerprint.
fn refuse_doubtful<'a>(
    line: &[u8],
    parsed: Option<LineRecord<'a>>,
    width: Width,
) -> Result<Option<LineRecord<'a>>, String> {
    let end = line.iter().position(|byte| b"\t,: ".contains(byte));
    let (Some((_, id)), Some(end)) = (parsed, end) else { return Ok(parsed) };
    let start = str::from_utf8(&line[..end]).unwrap_or_default();
    let doubt = if !has_nearly_all_digits(start, width) {
        format!("'{start}' is a short number and may be an id")
    } else if let Some(IdRef::Text(id)) = id
        && is_rival(id, width)
    {
        format!("'{start}' and '{id}' could both be the fingerprint")
    } else {
        return Ok(parsed);
    };
    Err(format!("{doubt}; name the columns with --fingerprint-field and --id-field"))
}

/// Whether a value in another column could be the fingerprint. Never for narrow fingerprints, which
/// look like ids.
fn is_rival(value: &str, width: Width) -> bool {
    width.bits() >= 32 && has_letter(value) && is_spelled_out(value, width)
}

fn has_letter(value: &str) -> bool {
    value.bytes().any(|byte| byte.is_ascii_alphabetic())
}

/// The radix, if the user must set it because it is not the default.
fn said(radix: Radix) -> Option<Radix> {
    Some(radix).filter(|radix| *radix != Radix::Hex)
}

/// Describes fingerprints in a radix other than hex.
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
        "column {} has 8 hex digits in each line, which are hashes of 32 bits, expected \
         fingerprints of 64; to make a store of 32 bits, use --bits 32",
        place + 1
    );
    Unclear { reason, width: Width::new(32), ..Unclear::default() }
}

/// Whether a line looks like a header of a table with fingerprints.
fn is_header(line: &str) -> bool {
    let is_usual = |name: &str| fields::is_of_fingerprints(name) || fields::is_id(name);
    let cut = Separator::ALL.iter().filter_map(|separator| separator.split(line).ok());
    cut.flatten().any(|name| is_name(name) && is_usual(unquoted(name).trim()))
}

/// Whether a value represents a missing value.
fn is_missing(value: &str) -> bool {
    fields::is_missing(&unquoted(value))
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

/// One of the first lines, neither blank nor a comment.
struct Line<'a> {
    text: &'a str,
    /// The number of input bytes up to the end of the line.
    end: usize,
    /// The line number, counted from 1.
    number: usize,
}

/// The first lines, and whether they suffice for a decision.
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
        // A line that is not text is a bad record, and it ends the sample.
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
