//! Which columns of lines hold fingerprints and ids, decided from the first lines of an input.
//!
//! The rule, in this order; a line that is blank or starts with `#` does not count:
//!
//! 1. The form that is documented: if the first line starts with a fingerprint of all digits of the
//!    width, or with any fingerprint while no other column of the line looks like one, lines are read
//!    so.
//! 2. Else the first lines decide, a hundred or 256 KiB of them (`first_lines`). They are cut
//!    at tabs, else semicolons, else commas, else at their last space or colon; all must have as
//!    many columns. The column whose values are all fingerprints ([`Kind::is_strong`]) is the
//!    fingerprint. A first line that has a name there is a header.
//! 3. The other column is the id. Of several, it is the one that the header calls `id`, else the only
//!    one with a name in [`fields::ID`].
//! 4. What two columns could be, and what nearly fits, is refused, with what would say it. Hashes of
//!    32 bits are refused where the width is 64 bits, unless the radix is given.
//!
//! Fingerprints of fewer than 32 bits look like any other number: they are read as documented.
//!
//! The decision depends on the bytes of the input alone, never on how they arrive. Every later line
//! must fit, or is a bad record.

use super::column_kind::{Form, Kind, TOLD_DIGITS_MIN};
use super::column_layout::{
    Found, Layout, Rows, Unclear, hashes_of_32_bits, hex_or_decimal, is_name, kind_of, rows,
};
use super::columns::{Columns, Separator, unquoted};
use super::first_lines::{Line, sample};
use super::line_record::parse_record;
use fpstore_base::{Fingerprint, Radix, Width};

/// What is known of the columns before the input is seen.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Wish {
    pub(super) radix: Option<Radix>,
    /// The columns of the fingerprint and of the id, from 0.
    pub(super) columns: Option<(usize, Option<usize>)>,
    pub(super) skip_bad: bool,
    pub(super) is_exact: bool,
    pub(super) width: Width,
}

impl Wish {
    fn form(&self) -> Form {
        Form { radix: self.radix, width: self.width }
    }
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

/// How the lines of an input are read, by its first bytes, which start a line; `None` if more of them
/// are needed. `is_whole` if there are no more.
pub(super) fn decide(bytes: &[u8], is_whole: bool, wish: &Wish) -> Option<LineForm> {
    let documented = LineForm::Documented(wish.radix.unwrap_or_default());
    let tells_nothing = wish.width.digits() < TOLD_DIGITS_MIN;
    if (wish.is_exact || tells_nothing) && wish.columns.is_none() {
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

/// The first lines of an input.
struct Sample<'a> {
    lines: &'a [Line<'a>],
    wish: &'a Wish,
}

impl<'a> Sample<'a> {
    fn reads(&self, line: &str) -> bool {
        let radix = self.wish.radix.unwrap_or_default();
        let fits = |fingerprint: Fingerprint| match radix {
            Radix::SignedDecimal => true,
            _ => self.wish.width.fits(fingerprint),
        };
        let found = parse_record(line.as_bytes(), radix);
        matches!(found, Ok(Some((fingerprint, _))) if fits(fingerprint))
    }

    /// The column at the start of a line, as documented.
    fn first_column(line: &str) -> &str {
        line.split(['\t', ',', ':', ' ']).next().unwrap_or(line)
    }

    /// Whether a line that can be read as documented may mean something else.
    fn is_doubtful(&self, line: &str) -> bool {
        let kind = |text: &str| Kind::of([text].into_iter(), self.wish.form());
        match kind(Self::first_column(line)) {
            Kind::HexOrDecimal | Kind::Hex32 => true,
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
        let (form, width) = (self.wish.form(), self.wish.width);
        let layouts: Vec<Layout<'_>> =
            Separator::ALL.iter().filter_map(|one| Layout::of(self.lines, *one, form)).collect();
        let first = Kind::of(self.lines.iter().map(|line| Self::first_column(line.text)), form);
        let is_readable = readable == self.lines.len();
        if is_readable && first == Kind::HexOrDecimal && self.lines.len() > 1 {
            return Err(Unclear { columns: None, ..hex_or_decimal(0, None, width) });
        }
        if is_readable && (first.is_strong() || first == Kind::HexOrDecimal) {
            return Ok(None);
        }
        let strong = layouts.iter().find(|layout| layout.columns(Kind::is_strong).next().is_some());
        if is_readable {
            return match strong {
                Some(layout) => self.instead_of_first(layout, first),
                None if first == Kind::Hex32 && form.radix.is_none() => {
                    Err(hashes_of_32_bits(0, None))
                }
                None => Ok(None),
            };
        }
        if let Some(layout) = strong {
            return layout.take(Kind::is_strong);
        }
        let has = |kind: Kind| layouts.iter().find(|it| it.columns(|one| one == kind).count() == 1);
        if let Some(layout) = has(Kind::Hex32) {
            let found = layout.take(|kind| kind == Kind::Hex32)?;
            return match found {
                Some((columns, _)) if form.radix.is_none() => {
                    Err(hashes_of_32_bits(columns.fingerprint, None))
                }
                found => Ok(found),
            };
        }
        if let Some(layout) = has(Kind::HexOrDecimal) {
            let place = layout.columns(|kind| kind == Kind::HexOrDecimal).next().unwrap_or(0);
            return Err(hex_or_decimal(place, layout.likely_id(place), width));
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
        let is_hex = layout.kinds[place].0 == Kind::Hex;
        if first == Kind::Number && is_hex && places.len() == 1 {
            return layout.take(Kind::is_strong);
        }
        Err(Unclear {
            reason: format!(
                "columns 1 and {} could both hold the fingerprints; column {} has {}",
                place + 1,
                place + 1,
                layout.kinds[place].0.describe(self.wish.width)
            ),
            columns: Some((place, Some(0))),
            radix: layout.kinds[place].0.radix().filter(|radix| *radix != Radix::Hex),
            width: None,
        })
    }

    /// The user names the columns.
    fn with_columns(
        &self,
        fingerprint: usize,
        id: Option<usize>,
    ) -> Result<(Columns, Option<String>), Unclear> {
        let (radix, form) = (self.wish.radix, self.wish.form());
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
            rows.iter().any(value) || kind_of(&rows[1..], fingerprint, form).radix().is_some()
        };
        let best = fitting.iter().position(|(_, rows)| fits_any(rows)).unwrap_or(0);
        if fitting.is_empty() {
            let reason = format!("no line has a column {}", most + 1);
            return Err(Unclear { reason, ..Unclear::default() });
        }
        let (separator, rows) = fitting.swap_remove(best);
        let all = kind_of(&rows, fingerprint, form);
        if all == Kind::HexOrDecimal && rows.len() > 1 {
            return Err(hex_or_decimal(fingerprint, id, form.width));
        }
        let rest = kind_of(&rows[1..], fingerprint, form);
        if [all, rest].contains(&Kind::Hex32) && all != Kind::Hex && radix.is_none() {
            return Err(hashes_of_32_bits(fingerprint, None));
        }
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
            notes.push(format!("read {} in column {}", kind.describe(form.width), fingerprint + 1));
        }
        Ok((columns, (!notes.is_empty()).then(|| notes.join(", and "))))
    }
}
