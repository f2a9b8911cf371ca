//! Paths of fields into objects and arrays: `meta.url`, `messages[].content`.
//!
//! A name is first tried as a whole, because a field may have dots in its name. Otherwise the part
//! before `.` is the name of an object, and the part before `[]` the name of an array: the rest of
//! the path is followed in each element. A text may be in an array; an id may not, because it is a
//! single value.

/// The separator between the texts of an array.
const SEPARATOR: char = '\n';

/// The rest of a path after the field `key`: empty if the path ends at this field, else it begins
/// with `.` or `[]`. `None` if the path does not begin with the field.
pub(super) fn rest<'p>(path: &'p str, key: &str) -> Option<&'p str> {
    let rest = path.strip_prefix(key)?;
    (rest.is_empty() || rest.starts_with('.') || rest.starts_with("[]")).then_some(rest)
}

/// Whether a path leads into an array.
pub(super) fn has_array(path: &str) -> bool {
    path.ends_with("[]") || path.contains("[].") || path.contains("[][")
}

/// The error for an id, or another single value, in an array.
pub(super) fn not_single(path: &str) -> String {
    format!("'{path}' names the values of an array, expected a field with a single value")
}

/// The error for a field `key` that contains an array in place of a text.
pub(super) fn is_array(key: &str) -> String {
    format!(
        "'{key}' is an array, expected a text; '{key}[]' names the texts in it, '{key}[].FIELD' those \
         in its objects"
    )
}

/// The error for the path `key.rest` to a text, if `key` contains an array in place of an object.
pub(super) fn is_array_before(key: &str, rest: &str) -> String {
    format!("'{key}' is an array; '{key}[].{rest}' names the texts in its objects")
}

/// The error for the path `key.rest` to an id or another single value, if `key` contains an array
/// in place of an object.
pub(super) fn is_array_of_values(key: &str, rest: &str) -> String {
    format!(
        "'{key}' is an array, and '{rest}' below it may have many values; name a field with a \
         single value"
    )
}

/// The error for a field `key` that contains an object in place of a text.
pub(super) fn is_object(key: &str) -> String {
    format!("'{key}' is an object, expected a text; '{key}.FIELD' names a field of it")
}

/// The texts at the ends of a path, joined.
#[derive(Debug, Default)]
pub(super) struct Gathered {
    text: Option<String>,
    /// Whether any element of an array was visited.
    pub(super) any_element: bool,
}

impl Gathered {
    pub(super) fn push(&mut self, text: &str) {
        match &mut self.text {
            None => self.text = Some(text.into()),
            Some(all) => {
                all.push(SEPARATOR);
                all.push_str(text);
            }
        }
    }

    /// The joined text. Arrays without elements, and nulls, yield an empty text; `None` if there
    /// are elements and no element has the field.
    pub(super) fn finish(self) -> Option<String> {
        match self.any_element {
            true => self.text,
            false => Some(self.text.unwrap_or_default()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_goes_on_behind_a_field_that_it_names() {
        for (path, key, expected) in [
            ("text", "text", Some("")),
            ("meta.url", "meta", Some(".url")),
            ("meta.url", "meta.url", Some("")),
            ("a[].b", "a", Some("[].b")),
            ("a[][]", "a", Some("[][]")),
            ("meta.url", "met", None),
            ("meta", "meta.url", None),
        ] {
            assert_eq!(rest(path, key), expected, "{path} {key}");
        }
        assert!(has_array("a[]") && has_array("a.b[].c") && !has_array("a.b"));
    }

    #[test]
    fn texts_are_joined_by_line_feeds() {
        let mut gathered = Gathered::default();
        gathered.push("one");
        gathered.push("");
        gathered.push("two");
        gathered.any_element = true;
        assert_eq!(gathered.finish().unwrap(), "one\n\ntwo");
        assert_eq!(Gathered::default().finish().unwrap(), "");
        assert_eq!(Gathered { text: None, any_element: true }.finish(), None);
    }
}
