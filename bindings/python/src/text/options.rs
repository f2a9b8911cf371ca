//! Converts the keyword arguments of `Recipe`, among them the word lists and tables that a recipe
//! needs.

use fpstore_text::{DfTable as Table, GivenWeights, StopWords, TextResources, TieRule};

use pyo3::prelude::*;
use pyo3::types::PyString;

use super::df_table::DfTable;
use crate::errors::{Failure, input_error, named};
use crate::input::arguments::{path, str_of, texts};
use crate::input::whole::Whole;

/// The word list, table and weights of a recipe, in a form that can be pickled.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Sources {
    /// The stop words, one on each line.
    pub(super) stop_words: Option<String>,
    /// The bytes of a table of document frequencies.
    pub(super) df: Option<Vec<u8>>,
    /// Lines of a feature, a tab and its weight.
    pub(super) weights: Option<String>,
}

impl Sources {
    pub(super) fn load(&self) -> Result<TextResources, Failure> {
        let mut resources = TextResources::default();
        if let Some(words) = &self.stop_words {
            resources = resources.stop_words(StopWords::from_list(words));
        }
        if let Some(bytes) = &self.df {
            resources = resources.df_table(Table::from_bytes(bytes, "df")?);
        }
        if let Some(lines) = &self.weights {
            resources = resources.weights(GivenWeights::from_list(lines, "weights")?);
        }
        Ok(resources)
    }
}

/// The word lists, tables and weights in arguments.
pub(super) struct GivenSources {
    pub(super) sources: Sources,
    /// The stop words of a language. They are not in `sources`: a recipe finds them by name.
    pub(super) language: Option<StopWords>,
}

impl GivenSources {
    pub(super) fn of(
        stop_words: Option<&Bound<'_, PyAny>>,
        df: Option<&Bound<'_, PyAny>>,
        weights: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        if let (Some(df), Some(_)) = (df, weights) {
            let message = "df and weights both weigh features; give one of them";
            return Err(input_error(df.py(), message));
        }
        let mut sources = Sources::default();
        let mut language = None;
        if let Some(given) = stop_words {
            let with_name = |error| named(error, "stop_words");
            match given.is_instance_of::<PyString>() {
                true => {
                    let code = str_of(given).map_err(with_name)?;
                    language = Some(StopWords::of_language(code).map_err(Failure::from)?);
                }
                false => sources.stop_words = Some(texts(given).map_err(with_name)?.join("\n")),
            }
        }
        sources.df = df.map(table_of).transpose()?;
        sources.weights = weights.map(lines_of).transpose()?;
        Ok(GivenSources { sources, language })
    }
}

/// The bytes of a table of document frequencies, given as an object or a file.
fn table_of(given: &Bound<'_, PyAny>) -> PyResult<Vec<u8>> {
    if let Ok(table) = given.cast::<DfTable>() {
        return Ok(table.get().bytes.clone());
    }
    let path = path(given).map_err(|error| named(error, "df"))?;
    let read = std::fs::read(&path).map_err(fpstore::IoError::of("read", &path));
    let bytes = read.map_err(fpstore::Error::Io).map_err(Failure::from)?;
    // Parsed already here, so that an error names the file.
    Table::from_bytes(&bytes, &path).map_err(Failure::from)?;
    Ok(bytes)
}

/// Converts a dictionary of weights to lines of a feature, a tab and its weight.
fn lines_of(weights: &Bound<'_, PyAny>) -> PyResult<String> {
    let mut lines = String::new();
    for item in weights.call_method0("items")?.try_iter()? {
        let (feature, weight): (Bound<'_, PyAny>, Bound<'_, PyAny>) = item?.extract()?;
        let (feature, weight) = (feature.str()?, weight.str()?);
        let feature = str_of(&feature).map_err(|error| named(error, "weights"))?;
        lines.push_str(&format!("{feature}\t{}\n", str_of(&weight)?));
    }
    Ok(lines)
}

/// Checks that the option `name` is a number from 1 to `most`.
pub(super) fn positive(
    name: &str,
    value: Option<Whole>,
    most: u32,
) -> Result<Option<u32>, Failure> {
    let Some(value) = value else { return Ok(None) };
    match u32::try_from(value.0) {
        Ok(value) if (1..=most).contains(&value) => Ok(Some(value)),
        _ => Err(Failure::Input(format!("{name} is {value}, expected 1 to {most}"))),
    }
}

/// The tie rule that gives the bit value `bit`.
pub(super) fn tie_of(bit: Whole) -> Result<TieRule, Failure> {
    match bit.0 {
        0 => Ok(TieRule::Zero),
        1 => Ok(TieRule::One),
        _ => Err(Failure::Input(format!("tie is {bit}, expected 0 or 1"))),
    }
}
