//! The names of the fields or columns that are read.

use super::options::{DocumentOptions, ID_FIELD, TEXT_FIELD};
use super::ready::ReadyForm;

/// The names of the fields of a document.
#[derive(Clone, Copy, Debug)]
pub(super) struct Names<'a> {
    /// `None` if ids are numbers of lines.
    pub(super) id: Option<&'a str>,
    pub(super) text: &'a str,
    /// Given if the text is a fingerprint that was made elsewhere, and then read as its 16 digits.
    pub(super) ready: Option<ReadyForm>,
    /// Those that the caller wants beside the text.
    pub(super) fields: &'a [String],
    /// Those that must not be there.
    pub(super) new: &'a [String],
}

impl DocumentOptions {
    pub(super) fn text_name(&self) -> &str {
        self.text_field.as_deref().unwrap_or(TEXT_FIELD)
    }

    pub(super) fn names(&self) -> Names<'_> {
        Names {
            id: (!self.line_ids).then(|| self.id_field.as_deref().unwrap_or(ID_FIELD)),
            text: self.text_name(),
            ready: self.ready,
            fields: &self.fields,
            new: &self.new_fields,
        }
    }
}

/// The names that an error lists at most.
pub(super) const LISTED_MAX: usize = 10;

/// Names in a list for an error.
pub(super) fn listed(names: &[&str]) -> String {
    let shown = names.get(..LISTED_MAX).unwrap_or(names).join(", ");
    if names.len() > LISTED_MAX { format!("{shown}, ...") } else { shown }
}
