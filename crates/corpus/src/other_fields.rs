//! The fields of documents that a cleaning reads in addition to ids and texts.

use fpstore_base::fields::is_missing;
use fpstore_documents::Document;

use super::settings::Cleaner;

/// The distinct names of these fields, and which of them contain the source and the address.
#[derive(Clone, Debug, Default)]
pub(super) struct OtherFields {
    names: Vec<String>,
    source: Option<String>,
    url: Option<String>,
}

impl OtherFields {
    /// The fields that the settings need.
    pub(super) fn of(settings: &Cleaner<'_>) -> Self {
        let source = settings.named_source_field().map(String::from);
        let url = settings.judged_url_field().map(String::from);
        let names = settings.keep.field_names(source.as_deref(), url.as_deref());
        OtherFields { names, source, url }
    }

    pub(super) fn names(&self) -> &[String] {
        &self.names
    }

    /// The source of a document, if sources are needed and the document has a source.
    pub(super) fn source<'a>(&self, document: &Document<'a>) -> Option<&'a str> {
        self.get(document, self.source.as_deref()?)
    }

    /// The address of a document, if addresses are needed and the document has an address. A number
    /// is an error, because documents with the same number need not be the same page.
    pub(super) fn address<'a>(&self, document: &Document<'a>) -> Result<Option<&'a str>, String> {
        let Some(field) = self.url.as_deref() else { return Ok(None) };
        match self.get(document, field) {
            Some(value) if is_missing(value) => Ok(None),
            Some(number) if number.trim().parse::<f64>().is_ok() => {
                Err(format!("'{field}' is {number}, expected an address"))
            }
            address => Ok(address),
        }
    }

    /// The merits of a document by the keep rules, or a message about an invalid field.
    pub(super) fn merits(
        &self,
        settings: &Cleaner<'_>,
        document: &Document<'_>,
    ) -> Result<Vec<u64>, String> {
        let value = |name: &str| self.get(document, name);
        settings.keep.merits(self.source(document), value, document.text_len)
    }

    /// The value of a field; an empty value counts as missing.
    fn get<'a>(&self, document: &Document<'a>, name: &str) -> Option<&'a str> {
        let at = self.names.iter().position(|other| other == name)?;
        let value = document.fields.get(at)?.as_deref()?;
        Some(value).filter(|value| !value.trim().is_empty())
    }
}
