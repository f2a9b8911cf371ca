//! Lines cut into columns of one number, and what the columns hold.

use super::column_kind::{Form, Kind, fits};
use super::columns::{Columns, Separator, unquoted};
use super::first_lines::Line;
use fpstore_base::{Radix, Width, fields};

/// The longest name of a column that is a header.
const NAME_LEN_MAX: usize = 60;

/// Why columns are not clear, and what would make them so.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Unclear {
    pub(super) reason: String,
    /// The columns that are most likely meant, from 0.
    pub(super) columns: Option<(usize, Option<usize>)>,
    pub(super) radix: Option<Radix>,
    pub(super) width: Option<Width>,
}

/// Columns, and what was guessed in words; `None` for lines of the documented form.
pub(super) type Found = Result<Option<(Columns, Option<String>)>, Unclear>;

pub(super) type Rows<'a> = Vec<Vec<&'a str>>;

/// The columns of all lines, unless a line cannot be split.
pub(super) fn rows<'a>(lines: &[Line<'a>], separator: Separator) -> Option<Rows<'a>> {
    lines.iter().map(|line| separator.split(line.text).ok()).collect()
}

pub(super) fn kind_of(rows: &[Vec<&str>], place: usize, form: Form) -> Kind {
    let values: Vec<_> =
        rows.iter().map(|row| unquoted(row.get(place).copied().unwrap_or_default())).collect();
    Kind::of(values.iter().map(AsRef::as_ref), form)
}

pub(super) fn hex_or_decimal(place: usize, id: Option<usize>, width: Width) -> Unclear {
    Unclear {
        reason: format!(
            "column {} has {} without a letter, which could be hex or decimal",
            place + 1,
            Kind::HexOrDecimal.describe(width)
        ),
        columns: Some((place, id)),
        radix: Some(Radix::Decimal),
        width: None,
    }
}

/// Refuses hashes of 32 bits where fingerprints of 64 are read: they would be kept with 32 zeros in
/// front of each.
pub(super) fn hashes_of_32_bits(place: usize, columns: Option<(usize, Option<usize>)>) -> Unclear {
    Unclear {
        reason: format!(
            "column {} has 8 hex digits in each line, hashes of 32 bits, and fingerprints of 64 are \
             read; --bits 32 keeps them as what they are",
            place + 1
        ),
        columns,
        radix: None,
        width: Width::new(32),
    }
}

/// Whether a value can be the name of a column: neither a value that is missing, nor a fingerprint with
/// a fault.
pub(super) fn is_name(value: &str) -> bool {
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
pub(super) struct Layout<'a> {
    separator: Separator,
    lines: &'a [Line<'a>],
    form: Form,
    rows: Rows<'a>,
    /// For each column its kind, and whether it is that of all lines but the first, which has a name.
    pub(super) kinds: Vec<(Kind, bool)>,
}

impl<'a> Layout<'a> {
    pub(super) fn of(lines: &'a [Line<'a>], separator: Separator, form: Form) -> Option<Self> {
        let rows = rows(lines, separator)?;
        let count = rows.first()?.len();
        if rows.iter().any(|row| row.len() != count)
            || (count == 1) != (separator == Separator::None)
        {
            return None;
        }
        let kind = |place: usize| {
            let (all, rest) = (kind_of(&rows, place, form), kind_of(&rows[1..], place, form));
            match all == Kind::Other && rest != Kind::Other && is_name(rows[0][place]) {
                true => (rest, true),
                false => (all, false),
            }
        };
        let kinds = (0..count).map(kind).collect();
        Some(Layout { separator, lines, form, rows, kinds })
    }

    /// The columns of some kinds.
    pub(super) fn columns(&self, is_wanted: impl Fn(Kind) -> bool) -> impl Iterator<Item = usize> {
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
    pub(super) fn take(&self, is_wanted: impl Fn(Kind) -> bool) -> Found {
        let places: Vec<usize> = self.columns(is_wanted).collect();
        let place = places[0];
        let (kind, has_header) = self.kinds[place];
        let id = self.likely_id(place);
        let unclear = |reason| {
            let radix = kind.radix().filter(|radix| *radix != Radix::Hex);
            Err(Unclear { reason, columns: Some((place, id)), radix, width: None })
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
            return Err(Unclear { reason, columns: Some((place, None)), ..Unclear::default() });
        }
        let mut note = format!("took {} for the fingerprint", self.call(place, has_header));
        if kind != Kind::Hex {
            note += &format!(" ({})", kind.describe(self.form.width));
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
    pub(super) fn likely_id(&self, fingerprint: usize) -> Option<usize> {
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
    pub(super) fn long_hashes(&self) -> Option<Unclear> {
        let long = |place: usize| match self.kinds[place].0 {
            // Shorter ones are more likely dates, times or keys.
            Kind::LongHex(len @ 24..) => Some((place, len)),
            _ => None,
        };
        let (place, len) = (0..self.kinds.len()).find_map(long)?;
        let reason = format!(
            "{} holds hashes of {} bits ({len} hex digits), and a fingerprint has {width}: make \
             hashes of {width} bits, such as hash_size=8 of imagehash for 64",
            self.call(place, self.kinds[place].1),
            4 * len,
            width = self.form.width
        );
        Some(Unclear { reason, ..Unclear::default() })
    }

    /// Refuses a column in which all but a few values are fingerprints.
    pub(super) fn nearly(&self) -> Option<Unclear> {
        let wanted = [Kind::Hex, Kind::Decimal { signed: false }, Kind::Decimal { signed: true }];
        let of_any_radix = Form { radix: None, ..self.form };
        let count = |place: usize, kind| {
            self.rows
                .iter()
                .filter(|row| {
                    fits(&unquoted(row[place]), kind)
                        && Kind::of([&*unquoted(row[place])].into_iter(), of_any_radix).is_strong()
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
                width: None,
            });
        }
        None
    }
}
