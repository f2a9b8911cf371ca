//! The fields that are read beside ids and texts.

use fpstore_documents::Document;

use super::settings::Cleaner;

/// The names of the fields, each once.
#[derive(Clone, Debug, Default)]
pub(super) struct OtherFields {
    names: Vec<String>,
    source: Option<String>,
    url: Option<String>,
}

impl OtherFields {
    /// Those that the settings need.
    pub(super) fn of(settings: &Cleaner<'_>) -> Self {
        let source = settings.named_source_field().map(String::from);
        let url = settings.judged_url_field().map(String::from);
        let names = settings.keep.field_names(source.as_deref(), url.as_deref());
        OtherFields { names, source, url }
    }

    pub(super) fn names(&self) -> &[String] {
        &self.names
    }

    /// The source of a document, if sources are asked for and it has one.
    pub(super) fn source<'a>(&self, document: &Document<'a>) -> Option<&'a str> {
        self.get(document, self.source.as_deref()?)
    }

    /// The address of a document, if addresses are asked for and it has one; or why it is none. A
    /// number is no address: documents of one number are not one page.
    pub(super) fn address<'a>(&self, document: &Document<'a>) -> Result<Option<&'a str>, String> {
        let Some(field) = self.url.as_deref() else { return Ok(None) };
        match self.get(document, field) {
            Some(number) if number.trim().parse::<f64>().is_ok() => {
                Err(format!("{number} in '{field}', expected an address"))
            }
            address => Ok(address),
        }
    }

    /// The merits of a document by the rules that rate it, or why one of its fields is bad.
    pub(super) fn merits(
        &self,
        settings: &Cleaner<'_>,
        document: &Document<'_>,
    ) -> Result<Vec<u64>, String> {
        let value = |name: &str| self.get(document, name);
        settings.keep.merits(self.source(document), value, document.text_len)
    }

    /// The value of a field; an empty one is none.
    fn get<'a>(&self, document: &Document<'a>, name: &str) -> Option<&'a str> {
        let at = self.names.iter().position(|other| other == name)?;
        let value = document.fields.get(at)?.as_deref()?;
        Some(value).filter(|value| !value.trim().is_empty())
    }
}
