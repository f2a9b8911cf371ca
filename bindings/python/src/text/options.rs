//! Keywords of `Recipe` as values of Rust, and the lists and tables that a recipe needs.

use std::path::PathBuf;

use fpstore_text::{DfTable, GivenWeights, StopWords, TextResources, TieRule};

use crate::errors::Failure;
use crate::input::whole::Whole;

/// Lists and tables in a form that can be pickled.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Sources {
    /// The words of a list, one on each line.
    pub(super) stop_words: Option<String>,
    /// The bytes of a table of document frequencies.
    pub(super) df: Option<Vec<u8>>,
    /// Lines of feature, tab and weight.
    pub(super) weights: Option<String>,
}

impl Sources {
    pub(super) fn load(&self) -> Result<TextResources, Failure> {
        let mut resources = TextResources::default();
        if let Some(words) = &self.stop_words {
            resources = resources.stop_words(StopWords::from_list(words));
        }
        if let Some(bytes) = &self.df {
            resources = resources.df_table(DfTable::from_bytes(bytes, "df")?);
        }
        if let Some(lines) = &self.weights {
            resources = resources.weights(GivenWeights::from_list(lines, "weights")?);
        }
        Ok(resources)
    }
}

/// A number from 1 to `most`.
pub(super) fn positive(
    name: &str,
    value: Option<Whole>,
    most: u32,
) -> Result<Option<u32>, Failure> {
    let Some(value) = value else { return Ok(None) };
    match u32::try_from(value) {
        Ok(value) if (1..=most).contains(&value) => Ok(Some(value)),
        _ => Err(Failure::Input(format!("{name} is {value}, expected 1 to {most}"))),
    }
}

/// The rule for ties that gives this bit.
pub(super) fn tie_of(bit: Whole) -> Result<TieRule, Failure> {
    match bit.0 {
        0 => Ok(TieRule::Zero),
        1 => Ok(TieRule::One),
        _ => Err(Failure::Input(format!("tie is {bit}, expected 0 or 1"))),
    }
}

/// The bytes of a table of document frequencies.
pub(super) fn read_table(path: &PathBuf) -> Result<Vec<u8>, Failure> {
    Ok(std::fs::read(path)
        .map_err(fpstore::IoError::of("read", path))
        .map_err(fpstore::Error::Io)?)
}
