//! Look-ups in tables of values and their names in recipes.

use crate::error::Error;

pub(super) fn name_of<T: PartialEq + Copy>(names: &[(T, &'static str)], value: T) -> &'static str {
    names.iter().find(|(named, _)| *named == value).map_or("?", |(_, name)| name)
}

pub(super) fn by_name<T: Copy>(names: &[(T, &'static str)], name: &str) -> Option<T> {
    names.iter().find(|(_, known)| *known == name).map(|(value, _)| *value)
}

pub(super) fn names_of<T>(names: &[(T, &str)]) -> String {
    let names: Vec<&str> = names.iter().map(|(_, name)| *name).collect();
    names.join(", ")
}

pub(super) fn unknown(kind: &'static str, name: &str, expected: String) -> Error {
    Error::UnknownName { kind, name: name.into(), expected }
}
