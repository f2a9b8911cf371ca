//! Parsers for values of options. The valid names and ranges come from the library, so that the
//! command line, Python and the server accept the same values.

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use fpstore::options::K;
use fpstore::{Choice, Width};

/// Parses a distance in bits.
pub(crate) fn distance() -> impl TypedValueParser<Value = u32> {
    clap::value_parser!(u32).range(K.min as i64..=K.max as i64)
}

/// Parses the width of fingerprints in bits.
pub(crate) fn width() -> impl TypedValueParser<Value = Width> {
    clap::value_parser!(u32)
        .try_map(|bits| Width::new(bits).ok_or_else(|| format!("expected {}", Width::EXPECTED)))
}

/// Parses one of the names of `T`. The long help then lists all names with descriptions.
pub(crate) fn choice<T: Choice + Send + Sync>() -> impl TypedValueParser<Value = T> {
    parser(|name, meaning| PossibleValue::new(name).help(meaning))
}

/// Parses one of the names of `T`, without descriptions in the help.
pub(crate) fn bare_choice<T: Choice + Send + Sync>() -> impl TypedValueParser<Value = T> {
    parser(|name, _| PossibleValue::new(name))
}

fn parser<T: Choice + Send + Sync>(
    value: fn(&'static str, &'static str) -> PossibleValue,
) -> impl TypedValueParser<Value = T> {
    let values = T::NAMES.iter().map(move |(name, _, meaning)| value(name, meaning));
    PossibleValuesParser::new(values).try_map(|name| T::named(&name))
}
