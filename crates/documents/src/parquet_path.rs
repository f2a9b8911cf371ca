//! Columns of Parquet selected by a path into structs and lists: `meta.url`, `messages[].content`.
//!
//! The path is first checked against the schema, before a row is read, so that a wrong name is an
//! error of the file. Then it is followed in each row.

use ::parquet::basic::{ConvertedType, Repetition};
use ::parquet::data_type::AsBytes;
use ::parquet::record::{Field, Row};
use ::parquet::schema::types::{SchemaDescriptor, Type, TypePtr};

use super::options::{Names, listed};
use super::paths::{self, Gathered, rest};
use super::raw::digest_of;

/// A path to values: a column, and the rest of the path below it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Column<'p> {
    /// The index of the column among the top-level columns.
    pub(super) place: usize,
    /// The rest of the path below the column: empty, or it begins with `.` or `[]`.
    rest: &'p str,
    /// The whole path, as given by the user.
    pub(super) name: &'p str,
}

impl<'p> Column<'p> {
    /// Finds the column for `name`: the column of this name, or the column with the longest name
    /// that `name` begins with; `None` if there is no such column.
    ///
    /// # Errors
    ///
    /// The message if two columns or fields have the name, or if the path leads to no value.
    pub(super) fn find(columns: &[TypePtr], name: &'p str) -> Result<Option<Self>, String> {
        let found = way_below(columns, name, name)?;
        Ok(found.map(|(place, rest)| Column { place, rest, name }))
    }

    /// Whether the path leads into a list, so that a row may have several values.
    pub(super) fn is_list(&self) -> bool {
        self.rest.contains("[]")
    }

    /// The value at the end of the path in the column `field`, if the path has no list. Null if a
    /// struct on the path is null.
    pub(super) fn value<'f>(&self, field: &'f Field) -> &'f Field {
        const NULL: &Field = &Field::Null;
        let (mut at, mut way) = (field, self.rest);
        while let Some(fields) = way.strip_prefix('.') {
            let Field::Group(row) = at else { return NULL };
            let Some(found) = field_below(row, fields) else { return NULL };
            (at, way) = found;
        }
        at
    }

    /// The texts at the ends of the path in the column `field`, joined; `text` converts a single
    /// value to text.
    pub(super) fn texts(
        &self,
        field: &Field,
        text: &dyn Fn(&Field) -> Result<String, String>,
    ) -> Result<String, String> {
        let mut gathered = Gathered::default();
        gather(field, self.rest, text, &mut gathered)?;
        // The schema contains the field, so it is null in all elements: this counts as an empty
        // text.
        Ok(gathered.finish().unwrap_or_default())
    }
}

/// The column by whose values copying recognises rows: the column of the texts, else the column of
/// the ids; `None` if both are in lists, or if several columns have the name.
pub(super) fn witness<'p>(
    schema: &SchemaDescriptor,
    names: &Names<'p>,
) -> Option<(usize, &'p str)> {
    let column = |name: &'p str| {
        let columns = schema.columns().iter().enumerate();
        let mut named = columns.filter(|(_, it)| it.path().parts().join(".") == name);
        let (place, column) = named.next()?;
        (named.next().is_none() && column.max_rep_level() == 0).then_some((place, name))
    };
    column(names.text).or_else(|| column(names.id?))
}

/// The digest of a value of the [`witness`], equal to [`digest_of`] of its bytes in the column.
/// `None` if the value does not have a type of texts or ids.
pub(super) fn digest(value: &Field) -> Option<u64> {
    match value {
        Field::Null => Some(digest_of([[]])),
        Field::Str(text) => Some(digest_of([text])),
        Field::Bytes(bytes) => Some(digest_of([bytes.data()])),
        Field::Int(number) => Some(digest_of([number.as_bytes()])),
        Field::UInt(number) => Some(digest_of([number.as_bytes()])),
        Field::Long(number) => Some(digest_of([number.as_bytes()])),
        Field::ULong(number) => Some(digest_of([number.as_bytes()])),
        _ => None,
    }
}

/// The index among `types` of the field that a path begins with (of several the field with the
/// longest name), and the rest of the path. `name` is the whole path. Two fields that lead to a
/// value are an error.
fn way_below<'p>(
    types: &[TypePtr],
    way: &'p str,
    name: &str,
) -> Result<Option<(usize, &'p str)>, String> {
    let begun = |(place, one): (usize, &TypePtr)| Some((place, rest(way, one.name())?));
    let mut ways: Vec<_> = types.iter().enumerate().filter_map(begun).collect();
    ways.sort_by_key(|(_, rest)| rest.len());
    let ends = |(place, rest): &(usize, &str)| check(&types[*place], rest, name);
    let Some((first, others)) = ways.split_first() else { return Ok(None) };
    let is_second = |other: &(usize, &str)| other.1 == first.1 || ends(other).is_ok();
    if others.iter().any(is_second) {
        return Err(super::records::twice(name));
    }
    ends(first)?;
    Ok(Some(*first))
}

/// Checks the rest of the path `name` against the schema; the error is the reason why it leads to
/// no value.
fn check(at: &Type, way: &str, name: &str) -> Result<(), String> {
    let so_far = &name[..name.len() - way.len()];
    match (way.strip_prefix("[]"), way.strip_prefix('.'), element_of(at)) {
        (Some(way), _, Some(element)) => check(element, way, name),
        (Some(_), _, None) => Err(format!("column '{so_far}' is not a list")),
        (_, Some(fields), None) if at.is_group() && !is_map(at) => {
            let found = way_below(at.get_fields(), fields, name)?;
            found.map(|_| ()).ok_or_else(|| {
                let names: Vec<&str> = at.get_fields().iter().map(|field| field.name()).collect();
                format!("no field '{fields}' in column '{so_far}', only {}", listed(&names))
            })
        }
        (_, Some(_), Some(_)) => Err(format!("column {}", paths::is_array(so_far))),
        (_, Some(_), None) => Err(format!("column '{so_far}' has no fields")),
        (None, None, Some(_)) => Err(format!("column {}", paths::is_array(so_far))),
        (None, None, None) if at.is_group() && !is_map(at) => {
            Err(format!("column {}", paths::is_object(so_far)))
        }
        // The type of the values is checked when a value is read.
        (None, None, None) => Ok(()),
    }
}

fn gather(
    field: &Field,
    way: &str,
    text: &dyn Fn(&Field) -> Result<String, String>,
    to: &mut Gathered,
) -> Result<(), String> {
    match (field, way.strip_prefix("[]"), way.strip_prefix('.')) {
        (Field::Null, _, _) => Ok(()),
        (Field::ListInternal(list), Some(way), _) => {
            for element in list.elements() {
                to.any_element = true;
                gather(element, way, text, to)?;
            }
            Ok(())
        }
        (Field::Group(row), _, Some(fields)) => match field_below(row, fields) {
            Some((field, way)) => gather(field, way, text, to),
            None => Ok(()),
        },
        (field, _, _) => {
            to.push(&text(field)?);
            Ok(())
        }
    }
}

/// The field of a struct that `fields` begins with (of several the field with the longest name),
/// and the rest of the path.
fn field_below<'f, 'p>(row: &'f Row, fields: &'p str) -> Option<(&'f Field, &'p str)> {
    let below = row.get_column_iter();
    let found = below.filter_map(|(name, field)| Some((field, rest(fields, name)?)));
    found.min_by_key(|(_, way)| way.len())
}

/// The element type, if a type is a list, by the same compatibility rules as the row reader.
fn element_of(list: &Type) -> Option<&Type> {
    if !list.is_group() || list.get_basic_info().converted_type() != ConvertedType::LIST {
        return None;
    }
    let repeated = list.get_fields().first()?;
    let fields = if repeated.is_group() { repeated.get_fields() } else { &[] };
    let is_nested = repeated.get_basic_info().converted_type() == ConvertedType::LIST
        || matches!(fields, [only] if is_repeated(only));
    let is_element =
        fields.len() != 1 || repeated.name() == "array" || repeated.name().ends_with("_tuple");
    match is_element && !is_nested {
        true => Some(repeated),
        false => fields.first().map(|element| &**element),
    }
}

fn is_repeated(of: &Type) -> bool {
    let info = of.get_basic_info();
    info.has_repetition() && info.repetition() == Repetition::REPEATED
}

fn is_map(of: &Type) -> bool {
    let converted = of.get_basic_info().converted_type();
    matches!(converted, ConvertedType::MAP | ConvertedType::MAP_KEY_VALUE)
}

#[cfg(test)]
mod tests {
    use ::parquet::schema::parser::parse_message_type;

    use super::*;

    /// The result of following a name in a schema with structs and lists.
    fn check(name: &str) -> Result<bool, String> {
        let schema = parse_message_type(
            "message docs {
                required int64 id;
                optional binary a.b (UTF8);
                optional group meta {
                    optional binary url (UTF8);
                    optional group a { optional binary b (UTF8); }
                }
                optional group tags (LIST) { repeated group list { optional binary element (UTF8); } }
                optional group old (LIST) { repeated binary array (UTF8); }
                optional group messages (LIST) {
                    repeated group list {
                        optional group element {
                            optional binary role (UTF8);
                            optional binary content (UTF8);
                        }
                    }
                }
                optional binary two (UTF8);
                optional binary two (UTF8);
                optional group doc { optional binary body (UTF8); optional binary body (UTF8); }
                optional group page { optional binary url (UTF8); }
                optional binary page.url (UTF8);
                optional group pairs (MAP) {
                    repeated group key_value { required binary key (UTF8); optional binary value; }
                }
            }",
        )
        .unwrap();
        let column = Column::find(schema.get_fields(), name)?.ok_or("none")?;
        Ok(column.is_list())
    }

    #[test]
    fn a_name_leads_into_structs_and_lists_or_is_refused() {
        for (name, is_list) in [
            ("id", false),
            ("a.b", false),
            ("meta.url", false),
            ("meta.a.b", false),
            ("tags[]", true),
            ("old[]", true),
            ("messages[].content", true),
        ] {
            assert_eq!(check(name), Ok(is_list), "{name}");
        }
        for (name, part) in [
            ("mess", "none"),
            ("meta", "'meta' is an object, expected a text; 'meta.FIELD'"),
            ("meta.uri", "no field 'uri' in column 'meta', only url, a"),
            ("meta.url.host", "column 'meta.url' has no fields"),
            ("meta[].url", "column 'meta' is not a list"),
            ("tags", "'tags' is an array, expected a text; 'tags[]' names"),
            ("messages.content", "'messages' is an array"),
            ("messages[]", "'messages[]' is an object"),
            ("messages[].text", "no field 'text' in column 'messages[]', only role, content"),
            ("pairs.key", "column 'pairs' has no fields"),
            ("two", "two columns have the name 'two'"),
            ("doc.body", "two columns have the name 'doc.body'"),
            ("page.url", "two columns have the name 'page.url'"),
        ] {
            assert!(check(name).unwrap_err().contains(part), "{name}: {:?}", check(name));
        }
    }
}
