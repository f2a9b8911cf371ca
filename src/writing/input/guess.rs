//! Which columns of lines hold fingerprints and ids, decided from the first lines of an input.
//!
//! The rule, in this order; a line that is blank or starts with `#` does not count:
//!
//! 1. The form that is documented: if the first line starts with a fingerprint of 16 hex digits, or
//!    with any fingerprint while no other column of the line looks like one, lines are read so.
//! 2. Else the first [`SAMPLE_COUNT`] lines decide, or the first [`SAMPLE_LEN`] bytes. They are cut
//!    at tabs, else semicolons, else commas, else at their last space or colon; all must have as
//!    many columns. The column whose values are all fingerprints ([`Kind::is_strong`]; if there is
//!    none, hashes of 32 bits) is the fingerprint. A first line that has a name there is a header.
//! 3. The other column is the id. Of several, it is the one that the header calls `id`, else the only
//!    one with a name in [`fields::ID`].
//! 4. What two columns could be, and what nearly fits, is refused, with what would say it.
//!
//! The decision depends on the bytes of the input alone, never on how they arrive. Every later line
//! must fit, or is a bad record.

use super::column_kind::{Kind, fits};
use super::columns::{Columns, Separator, unquoted};
use super::line_record::parse_record;
use fpstore_base::{Radix, fields};

/// The number of lines that decide.
const SAMPLE_COUNT: usize = 100;
/// The number of bytes that decide.
const SAMPLE_LEN: usize = 1 << 18;
/// The longest name of a column that is a header.
const NAME_LEN_MAX: usize = 60;

/// What is known of the columns before the input is seen.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Wish {
    pub(super) radix: Option<Radix>,
    /// The columns of the fingerprint and of the id, from 0.
    pub(super) columns: Option<(usize, Option<usize>)>,
    pub(super) skip_bad: bool,
    pub(super) is_exact: bool,
}

/// How the lines of an input are read.
#[derive(Clone, Debug)]
pub(super) enum LineForm {
    /// As documented: the fingerprint, then optionally a separator and the id.
    Documented(Radix),
    /// By columns; what was guessed is said in words.
    Columns(Columns, Option<String>),
    /// Not at all.
    Unclear(Unclear),
}

impl Default for LineForm {
    fn default() -> Self {
        LineForm::Documented(Radix::default())
    }
}

/// Why columns are not clear, and what would make them so.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Unclear {
    pub(super) reason: String,
    /// The columns that are most likely meant, from 0.
    pub(super) columns: Option<(usize, Option<usize>)>,
    pub(super) radix: Option<Radix>,
}

/// How the lines of an input are read, by its first bytes, which start a line; `None` if more of them
/// are needed. `is_whole` if there are no more.
pub(super) fn decide(bytes: &[u8], is_whole: bool, wish: &Wish) -> Option<LineForm> {
    let documented = LineForm::Documented(wish.radix.unwrap_or_default());
    if wish.is_exact && wish.columns.is_none() {
        return Some(documented);
    }
    let (lines, is_whole) = sample(bytes, is_whole);
    let Some(first) = lines.first() else { return is_whole.then_some(documented) };
    let sample = Sample { lines: &lines, wish };
    if wish.columns.is_none() && sample.reads(first.text) && !sample.is_doubtful(first.text) {
        return Some(documented);
    }
    if !is_whole {
        return None;
    }
    let found = match wish.columns {
        Some((fingerprint, id)) => sample.with_columns(fingerprint, id).map(Some),
        None => sample.guess(),
    };
    Some(match found {
        Ok(None) => documented,
        Ok(Some((columns, note))) => LineForm::Columns(columns, note),
        Err(unclear) => LineForm::Unclear(unclear),
    })
}

/// A line that counts.
struct Line<'a> {
    text: &'a str,
    /// The length of the input up to its end.
    end: usize,
    /// From 1.
    number: usize,
}

/// The lines that decide, and whether there are no more of them.
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
        // Such a line is a bad record, which ends what can be told.
        let Ok(text) = str::from_utf8(line) else { return (lines, true) };
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

type Found = Result<Option<(Columns, Option<String>)>, Unclear>;

/// The first lines of an input.
struct Sample<'a> {
    lines: &'a [Line<'a>],
    wish: &'a Wish,
}

impl<'a> Sample<'a> {
    fn reads(&self, line: &str) -> bool {
        matches!(parse_record(line.as_bytes(), self.wish.radix.unwrap_or_default()), Ok(Some(_)))
    }

    /// The column at the start of a line, as documented.
    fn first_column(line: &str) -> &str {
        line.split(['\t', ',', ':', ' ']).next().unwrap_or(line)
    }

    /// Whether a line that can be read as documented may mean something else.
    fn is_doubtful(&self, line: &str) -> bool {
        let kind = |text: &str| Kind::of([text].into_iter(), self.wish.radix);
        match kind(Self::first_column(line)) {
            Kind::HexOrDecimal => true,
            first if first.is_strong() => false,
            _ => Separator::ALL.iter().any(|separator| {
                let columns = separator.split(line).unwrap_or_default();
                columns.iter().skip(1).any(|column| kind(&unquoted(column)).is_strong())
            }),
        }
    }

    fn guess(&self) -> Found {
        let readable = self.lines.iter().filter(|line| self.reads(line.text)).count();
        match self.guess_strictly(readable) {
            // Lines that do not fit may be bad records among those of the documented form. Where all
            // fit and are still in doubt, skipping would change nothing.
            Err(_) if self.wish.skip_bad && (1..self.lines.len()).contains(&readable) => Ok(None),
            found => found,
        }
    }

    fn guess_strictly(&self, readable: usize) -> Found {
        let radix = self.wish.radix;
        let layouts: Vec<Layout<'_>> =
            Separator::ALL.iter().filter_map(|one| Layout::of(self.lines, *one, radix)).collect();
        let first = Kind::of(self.lines.iter().map(|line| Self::first_column(line.text)), radix);
        let is_readable = readable == self.lines.len();
        if is_readable && first == Kind::HexOrDecimal && self.lines.len() > 1 {
            return Err(Unclear { columns: None, ..hex_or_decimal(0, None) });
        }
        if is_readable && (first.is_strong() || first == Kind::HexOrDecimal) {
            return Ok(None);
        }
        let strong = layouts.iter().find(|layout| layout.columns(Kind::is_strong).next().is_some());
        if is_readable {
            return match strong {
                Some(layout) if first != Kind::Hex32 => self.instead_of_first(layout, first),
                _ => Ok(None),
            };
        }
        if let Some(layout) = strong {
            return layout.take(Kind::is_strong);
        }
        let has = |kind: Kind| layouts.iter().find(|it| it.columns(|one| one == kind).count() == 1);
        if let Some(layout) = has(Kind::Hex32) {
            return layout.take(|kind| kind == Kind::Hex32);
        }
        if let Some(layout) = has(Kind::HexOrDecimal) {
            let place = layout.columns(|kind| kind == Kind::HexOrDecimal).next().unwrap_or(0);
            return Err(hex_or_decimal(place, layout.likely_id(place)));
        }
        let unclear = layouts.iter().find_map(Layout::long_hashes);
        match unclear.or_else(|| layouts.iter().find_map(Layout::nearly)) {
            Some(unclear) => Err(unclear),
            None => Ok(None),
        }
    }

    /// All lines start with hex numbers that are no fingerprints of 64 bits, and there is a column of
    /// such.
    fn instead_of_first(&self, layout: &Layout<'a>, first: Kind) -> Found {
        let places: Vec<usize> = layout.columns(Kind::is_strong).collect();
        let place = places[0];
        let is_hex = layout.kinds[place].0 == Kind::Hex64;
        if first == Kind::Number && is_hex && places.len() == 1 {
            return layout.take(Kind::is_strong);
        }
        Err(Unclear {
            reason: format!(
                "columns 1 and {} could both hold the fingerprints; column {} has {}",
                place + 1,
                place + 1,
                layout.kinds[place].0.describe()
            ),
            columns: Some((place, Some(0))),
            radix: layout.kinds[place].0.radix().filter(|radix| *radix != Radix::Hex),
        })
    }

    /// The user names the columns.
    fn with_columns(
        &self,
        fingerprint: usize,
        id: Option<usize>,
    ) -> Result<(Columns, Option<String>), Unclear> {
        let radix = self.wish.radix;
        let most = fingerprint.max(id.unwrap_or(0));
        let fitting = Separator::ALL.iter().filter_map(|separator| {
            let rows = rows(self.lines, *separator)?;
            let has_all = rows.iter().any(|row| row.len() > most);
            (has_all && (*separator != Separator::None || most == 0)).then_some((*separator, rows))
        });
        let mut fitting: Vec<_> = fitting.collect();
        let fits_any = |rows: &Rows<'_>| {
            let spelled = radix.unwrap_or_default();
            let value = |row: &Vec<&str>| {
                row.get(fingerprint).is_some_and(|it| {
                    fpstore_base::Fingerprint::parse(unquoted(it).trim(), spelled).is_ok()
                })
            };
            rows.iter().any(value) || kind_of(&rows[1..], fingerprint, radix).radix().is_some()
        };
        let best = fitting.iter().position(|(_, rows)| fits_any(rows)).unwrap_or(0);
        if fitting.is_empty() {
            let reason = format!("no line has a column {}", most + 1);
            return Err(Unclear { reason, ..Unclear::default() });
        }
        let (separator, rows) = fitting.swap_remove(best);
        let all = kind_of(&rows, fingerprint, radix);
        if all == Kind::HexOrDecimal && rows.len() > 1 {
            return Err(hex_or_decimal(fingerprint, id));
        }
        let rest = kind_of(&rows[1..], fingerprint, radix);
        let is_decimal = |kind: Kind| matches!(kind, Kind::Decimal { .. });
        let kind = if is_decimal(all) { all } else { rest };
        let radix = radix.or(kind.radix()).unwrap_or_default();
        let name = rows[0].get(fingerprint).copied().unwrap_or_default();
        let is_value = fpstore_base::Fingerprint::parse(unquoted(name).trim(), radix).is_ok();
        let header = !is_value && is_name(name) && rows.len() > 1;
        let columns = Columns {
            separator,
            count: None,
            fingerprint,
            id,
            radix,
            header_end: header.then_some(self.lines[0].end as u64),
        };
        let mut notes = Vec::new();
        if header {
            notes.push(format!("took line {} for a header", self.lines[0].number));
        }
        if self.wish.radix.is_none() && radix != Radix::Hex {
            notes.push(format!("read {} in column {}", kind.describe(), fingerprint + 1));
        }
        Ok((columns, (!notes.is_empty()).then(|| notes.join(", and "))))
    }
}

type Rows<'a> = Vec<Vec<&'a str>>;

/// The columns of all lines, unless a line cannot be split.
fn rows<'a>(lines: &[Line<'a>], separator: Separator) -> Option<Rows<'a>> {
    lines.iter().map(|line| separator.split(line.text).ok()).collect()
}

fn kind_of(rows: &[Vec<&str>], place: usize, radix: Option<Radix>) -> Kind {
    let values: Vec<_> =
        rows.iter().map(|row| unquoted(row.get(place).copied().unwrap_or_default())).collect();
    Kind::of(values.iter().map(AsRef::as_ref), radix)
}

fn hex_or_decimal(place: usize, id: Option<usize>) -> Unclear {
    Unclear {
        reason: format!(
            "column {} has numbers of 16 digits without a letter, which could be hex or decimal",
            place + 1
        ),
        columns: Some((place, id)),
        radix: Some(Radix::Decimal),
    }
}

/// Whether a value can be the name of a column: neither a value that is missing, nor a fingerprint with
/// a fault.
fn is_name(value: &str) -> bool {
    const MISSING: [&str; 12] =
        ["", "-", "?", "null", "none", "nil", "nan", "na", "n/a", "error", "err", "failed"];
    let value = unquoted(value);
    let value = value.trim();
    let hex = value.bytes().filter(u8::is_ascii_hexdigit).count();
    value.len() <= NAME_LEN_MAX
        && !MISSING.contains(&value.to_ascii_lowercase().as_str())
        && value.chars().any(char::is_alphabetic)
        && (value.len() < 8 || 4 * hex < 3 * value.len())
}

/// Lines that all have as many columns.
struct Layout<'a> {
    separator: Separator,
    lines: &'a [Line<'a>],
    rows: Rows<'a>,
    /// For each column its kind, and whether it is that of all lines but the first, which has a name.
    kinds: Vec<(Kind, bool)>,
}

impl<'a> Layout<'a> {
    fn of(lines: &'a [Line<'a>], separator: Separator, radix: Option<Radix>) -> Option<Self> {
        let rows = rows(lines, separator)?;
        let count = rows.first()?.len();
        if rows.iter().any(|row| row.len() != count)
            || (count == 1) != (separator == Separator::None)
        {
            return None;
        }
        let kind = |place: usize| {
            let (all, rest) = (kind_of(&rows, place, radix), kind_of(&rows[1..], place, radix));
            match all == Kind::Other && rest != Kind::Other && is_name(rows[0][place]) {
                true => (rest, true),
                false => (all, false),
            }
        };
        let kinds = (0..count).map(kind).collect();
        Some(Layout { separator, lines, rows, kinds })
    }

    /// The columns of some kinds.
    fn columns(&self, is_wanted: impl Fn(Kind) -> bool) -> impl Iterator<Item = usize> {
        (0..self.kinds.len()).filter(move |place| is_wanted(self.kinds[*place].0))
    }

    /// The name of a column in the header, without quotes.
    fn name(&self, place: usize) -> String {
        unquoted(self.rows[0][place]).trim().to_string()
    }

    /// How a column is called in messages.
    fn call(&self, place: usize, has_header: bool) -> String {
        match has_header {
            true => format!("column {} ({})", place + 1, self.name(place)),
            false => format!("column {}", place + 1),
        }
    }

    /// Takes the one column of a kind for the fingerprint.
    fn take(&self, is_wanted: impl Fn(Kind) -> bool) -> Found {
        let places: Vec<usize> = self.columns(is_wanted).collect();
        let place = places[0];
        let (kind, has_header) = self.kinds[place];
        let id = self.likely_id(place);
        let unclear = |reason| {
            let radix = kind.radix().filter(|radix| *radix != Radix::Hex);
            Err(Unclear { reason, columns: Some((place, id)), radix })
        };
        if let [_, second, ..] = places.as_slice() {
            return unclear(format!(
                "{} and {} could both hold the fingerprints",
                self.call(place, has_header),
                self.call(*second, has_header)
            ));
        }
        let name_is_sure = fields::is_of_fingerprints(&self.name(place))
            || (0..self.rows[0].len()).any(|other| fields::is_id(&self.name(other)));
        if has_header && !name_is_sure {
            return unclear(format!(
                "line {} could be a header or a record without fingerprint",
                self.lines[0].number
            ));
        }
        let others = self.rows[0].len() - 1;
        if others > 1 && !self.has_one_id(place, has_header) {
            return unclear(format!(
                "{} holds fingerprints, and {others} other columns could hold the ids",
                self.call(place, has_header)
            ));
        }
        let empty = |row: &Vec<&str>| id.is_some_and(|id| unquoted(row[id]).trim().is_empty());
        if let Some(at) = self.rows.iter().position(empty) {
            let (line, id) = (self.lines[at].number, id.unwrap_or(0));
            let reason = format!("the id is missing in line {line}, column {}", id + 1);
            return Err(Unclear { reason, columns: Some((place, None)), radix: None });
        }
        let mut note = format!("took {} for the fingerprint", self.call(place, has_header));
        if kind != Kind::Hex64 {
            note += &format!(" ({})", kind.describe());
        }
        match id {
            Some(id) => note += &format!(" and {} for the id", self.call(id, has_header)),
            None => note += ", without ids",
        }
        let header_end = has_header.then_some(self.lines[0].end as u64);
        let columns = Columns {
            separator: self.separator,
            count: Some(self.rows[0].len()),
            fingerprint: place,
            id,
            radix: kind.radix().unwrap_or_default(),
            header_end,
        };
        Ok(Some((columns, Some(note))))
    }

    /// Whether the header leaves no doubt which of several columns holds the ids.
    fn has_one_id(&self, fingerprint: usize, has_header: bool) -> bool {
        let names = (0..self.rows[0].len()).filter(|place| *place != fingerprint);
        let names: Vec<String> = names.map(|place| self.name(place)).collect();
        let is_named = |name: &&String| fields::is_id(name);
        has_header
            && (names.iter().filter(|name| name.eq_ignore_ascii_case("id")).count() == 1
                || names.iter().filter(is_named).count() == 1)
    }

    /// The column that holds the ids most likely.
    fn likely_id(&self, fingerprint: usize) -> Option<usize> {
        let others: Vec<usize> = (0..self.rows[0].len()).filter(|it| *it != fingerprint).collect();
        let is_called_id = |place: &&usize| self.name(**place).eq_ignore_ascii_case("id");
        let named = others.iter().find(is_called_id);
        let named = named.or_else(|| others.iter().find(|it| fields::is_id(&self.name(**it))));
        let distinct = |place: &&usize| {
            let values: std::collections::HashSet<&str> =
                self.rows.iter().map(|row| row[**place]).collect();
            values.len() == self.rows.len() && !values.contains("")
        };
        named.or_else(|| others.iter().find(distinct)).or(others.first()).copied()
    }

    /// Refuses hashes of more than 64 bits.
    fn long_hashes(&self) -> Option<Unclear> {
        let long = |place: usize| match self.kinds[place].0 {
            // Shorter ones are more likely dates, times or keys.
            Kind::LongHex(len @ 24..) => Some((place, len)),
            _ => None,
        };
        let (place, len) = (0..self.kinds.len()).find_map(long)?;
        let reason = format!(
            "{} holds hashes of {} bits ({len} hex digits), and a fingerprint has 64: make hashes of \
             64 bits, such as hash_size=8 of imagehash",
            self.call(place, self.kinds[place].1),
            4 * len
        );
        Some(Unclear { reason, ..Unclear::default() })
    }

    /// Refuses a column in which all but a few values are fingerprints.
    fn nearly(&self) -> Option<Unclear> {
        let wanted = [Kind::Hex64, Kind::Decimal { signed: false }, Kind::Decimal { signed: true }];
        let count = |place: usize, kind| {
            self.rows
                .iter()
                .filter(|row| {
                    fits(&unquoted(row[place]), kind)
                        && Kind::of([&*unquoted(row[place])].into_iter(), None).is_strong()
                })
                .count()
        };
        for (place, kind) in (0..self.kinds.len()).flat_map(|at| wanted.map(|kind| (at, kind))) {
            let fitting = count(place, kind);
            if fitting < 2 || 4 * fitting < 3 * self.rows.len() {
                continue;
            }
            let odd = self.rows.iter().position(|row| !fits(&unquoted(row[place]), kind))?;
            return Some(Unclear {
                reason: format!(
                    "column {} holds fingerprints, but '{}' in line {}",
                    place + 1,
                    unquoted(self.rows[odd][place]).escape_debug(),
                    self.lines[odd].number
                ),
                columns: Some((place, self.likely_id(place))),
                radix: kind.radix().filter(|radix| *radix != Radix::Hex),
            });
        }
        None
    }
}
