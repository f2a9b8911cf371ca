//! Options for reading documents, with defaults.
//!
//! The program fills in a [`DocumentOptions`] from its arguments; all readers of this crate borrow
//! it.

use std::fmt;
use std::sync::Arc;

use super::capped::DOCUMENT_LEN_MAX;
use super::decode::TextEncoding;
use super::folders::FileChoice;
use super::formats::{DocumentFormat, HtmlPart, TextFormat};
use super::ready::ReadyForm;
use fpstore_base::watch::Observer;
use fpstore_base::{InputPlace, Resources, setters};
use fpstore_text::{PassageUnit, TextRecipe};

/// The default names of the fields of ids and texts.
pub(super) const ID_FIELD: &str = "id";
pub(super) const TEXT_FIELD: &str = "text";

/// Maximum number of bytes of documents in memory, unless a single document is larger.
const IN_FLIGHT_LEN: u64 = 64 << 20;

/// Options for reading documents.
///
/// By default the name of each file determines its format, the id is in the field `id`, and the
/// text in the field `text`; if such a field is missing, the only field with another common name in
/// the first file is used. Texts are UTF-8, the first bad record is an error, and all cores work.
#[derive(Clone, Debug)]
pub struct DocumentOptions {
    pub(crate) format: Option<DocumentFormat>,
    pub(crate) id_field: Option<String>,
    pub(crate) line_ids: bool,
    pub(crate) text_field: Option<String>,
    pub(crate) ready: Option<crate::ready::ReadyForm>,
    pub(crate) text_format: TextFormat,
    pub(crate) unit: Option<PassageUnit>,
    pub(crate) fields: Vec<String>,
    pub(crate) new_fields: Vec<String>,
    pub(crate) digests: bool,
    pub(crate) encoding: Option<TextEncoding>,
    pub(crate) html: HtmlPart,
    pub(crate) skip_bad: bool,
    pub(crate) whole_files: bool,
    pub(crate) files: FileChoice,
    pub(crate) len_max: u64,
    pub(crate) in_flight_len: u64,
    pub(crate) threads: usize,
    pub(crate) observer: Option<Observer>,
    pub(crate) bad_records: Option<BadRecords>,
}

impl Default for DocumentOptions {
    fn default() -> Self {
        DocumentOptions {
            format: None,
            id_field: None,
            line_ids: false,
            text_field: None,
            ready: None,
            text_format: TextFormat::Plain,
            unit: None,
            fields: Vec::new(),
            new_fields: Vec::new(),
            digests: false,
            encoding: None,
            html: HtmlPart::default(),
            skip_bad: false,
            whole_files: false,
            files: FileChoice::default(),
            len_max: DOCUMENT_LEN_MAX,
            in_flight_len: IN_FLIGHT_LEN,
            threads: 0,
            observer: None,
            bad_records: None,
        }
    }
}

impl DocumentOptions {
    setters! {
        /// Sets the format of all files.
        format: impl Into<Option<DocumentFormat>>,
        /// Sets whether the number of the line, or of the row in Parquet, is the id of a document,
        /// instead of a field. With several files, the file names are prefixed, as in `a.jsonl:7`.
        line_ids: bool,
        /// Sets the format of the texts in fields, rows and lines; plain text by default.
        text_format: TextFormat,
        /// Sets the unit of passages: each passage of a text is then a document by itself. Its id
        /// is the id of the document, `#`, and its number among the passages of the document, from
        /// 1; it has the place and the fields of the document. A document without passages counts
        /// as a document without text. Only texts have passages, not features or ready
        /// fingerprints. Without a unit here, the recipe of a hasher decides.
        unit: impl Into<Option<PassageUnit>>,
        /// Sets the names of fields or columns that are passed to the caller in addition to the
        /// text, in this order, as [`Document::fields`](crate::Document::fields); names must be
        /// distinct. Only JSON, tables and web archives have such fields.
        fields: Vec<String>,
        /// Sets the names of the fields that
        /// [`DocumentFile::copy_records`](crate::DocumentFile::copy_records) will add; a document
        /// that already has such a field is bad.
        new_fields: Vec<String>,
        /// Sets whether documents come with digests of their texts, as
        /// [`Document::digests`](crate::Document::digests).
        digests: bool,
        /// Sets the part of an HTML page that is its text. Fingerprints of different parts are not
        /// comparable, and recipes do not contain the part.
        html: HtmlPart,
        /// Sets the encoding of texts. Without it texts are UTF-8, and pages have the encoding that
        /// they declare, else the detected one. A byte order mark and the `charset` of a web
        /// archive's record or response take precedence.
        encoding: impl Into<Option<TextEncoding>>,
        /// Sets whether bad records are counted and skipped; otherwise the first bad record is an
        /// error. The same applies to files found in a folder that cannot be read.
        skip_bad: bool,
        /// Sets whether the caller skips the documents of files that cannot be read to their ends,
        /// see [`DocumentSummary::unread`](crate::DocumentSummary::unread); messages then mention
        /// it.
        whole_files: bool,
        /// Sets the selection of the files of folders.
        files: FileChoice,
        /// Sets the callback for bad records, called for each skipped record in input order. A
        /// [`DocumentSummary`](crate::DocumentSummary) lists only the first ten.
        bad_records: impl Into<Option<BadRecords>>,
        /// Sets the observer, which receives the number of bytes read from the inputs
        /// ([`Phase::Documents`](crate::Phase::Documents)) and may end the work.
        observer: impl Into<Option<Observer>>,
    }

    /// Sets the name of the field or column of the id. By default this is `id`, else the only field
    /// with one of the names in [`fields::ID`](fpstore_base::fields::ID);
    /// [`DocumentSummary::guess`](crate::DocumentSummary::guess) contains the choice.
    #[must_use]
    pub fn id_field(mut self, name: impl Into<String>) -> Self {
        self.id_field = Some(name.into());
        self
    }

    /// Sets the name of the field or column of the text. By default this is `text`, else the only
    /// field with one of the names in [`fields::TEXT`](fpstore_base::fields::TEXT).
    #[must_use]
    pub fn text_field(mut self, name: impl Into<String>) -> Self {
        self.text_field = Some(name.into());
        self
    }

    /// These options with the unit of a recipe, [`TextRecipe::unit`], unless a unit is set.
    #[must_use]
    pub fn of_recipe(mut self, recipe: &TextRecipe) -> Self {
        self.unit = self.unit.or(recipe.unit);
        self
    }

    /// The unit of passages, if passages are read as documents.
    pub fn passage_unit(&self) -> Option<PassageUnit> {
        self.unit
    }

    /// The encoding of texts that cannot declare an encoding.
    pub(crate) fn text_encoding(&self) -> TextEncoding {
        self.encoding.unwrap_or_default()
    }

    /// Whether bad records are counted and skipped.
    pub fn skips_bad(&self) -> bool {
        self.skip_bad
    }

    /// Sets the length of the longest document, record or page, in bytes after decompression; 64
    /// MiB by default. A longer one is bad, and is not held in memory.
    #[must_use]
    pub fn max_document(mut self, len: u64) -> Self {
        self.len_max = len.max(1);
        self
    }

    /// Limits the memory for documents to about `memory` bytes: lowers the length of the longest
    /// document ([`DocumentOptions::max_document`], which a later call can set again) and the total
    /// length of the documents in progress to an eighth of `memory`.
    #[must_use]
    pub fn memory(mut self, memory: impl Into<Option<u64>>) -> Self {
        if let Some(memory) = memory.into() {
            // The features of a document take up to four times its length, an HTML page eight
            // times.
            let share = (memory / 8).max(1 << 16);
            self.len_max = self.len_max.min(share);
            self.in_flight_len = self.in_flight_len.min(share);
        }
        self
    }

    /// Sets the number of threads; one for each core by default. The result does not depend on it.
    #[must_use]
    pub fn threads(mut self, threads: impl Into<Option<usize>>) -> Self {
        self.threads = threads.into().unwrap_or_default();
        self
    }

    /// Sets memory, threads and the observer at once. Reading creates no temporary files.
    #[must_use]
    pub fn resources(self, resources: &Resources) -> Self {
        let observer = resources.observer.clone();
        self.memory(resources.memory).threads(resources.threads).observer(observer)
    }
}

/// The callback for bad records: receives the place in the input, and the fault.
#[derive(Clone)]
pub struct BadRecords(pub(super) Arc<Tell>);

type Tell = dyn Fn(InputPlace, &str) + Send + Sync;

impl BadRecords {
    /// A callback that calls `told` with each bad record.
    pub fn new(told: impl Fn(InputPlace, &str) + Send + Sync + 'static) -> Self {
        BadRecords(Arc::new(told))
    }
}

impl fmt::Debug for BadRecords {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("BadRecords")
    }
}

/// The names of the fields of a document.
#[derive(Clone, Copy, Debug)]
pub(super) struct Names<'a> {
    /// The field of the id; `None` if line numbers are the ids.
    pub(super) id: Option<&'a str>,
    pub(super) text: &'a str,
    /// Set if the text is a ready fingerprint, which is then read as its 16 digits.
    pub(super) ready: Option<ReadyForm>,
    /// The fields requested in addition to the text.
    pub(super) fields: &'a [String],
    /// The fields that will be added, which must not exist yet.
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

/// The maximum number of names listed in an error.
pub(super) const LISTED_MAX: usize = 10;

/// A list of names for an error.
pub(super) fn listed(names: &[&str]) -> String {
    let shown = names.get(..LISTED_MAX).unwrap_or(names).join(", ");
    if names.len() > LISTED_MAX { format!("{shown}, ...") } else { shown }
}
