//! Documents in files: read one after the other, made to fingerprints on all cores.
//!
//! [`hash_documents`] and [`count_document_frequencies`] (`pipeline`) walk the inputs, `reading`
//! cuts them into raw documents on one thread, `task` decodes and hashes these on the others, and
//! the caller takes the results in order. The formats are in `records` (many documents in a file),
//! `whole_file` (a file is a document), `json` and `parquet`; `ready` is for fingerprints in place of texts. The reader does as little as it can:
//! it finds where a document ends and leaves the rest to the workers.
//!
//! Inputs may be hostile. `capped` limits the length of a document, `page_tree` the tree of a page,
//! and `guard` makes errors of the panics of the parsers of others.

mod capped;
mod copy;
mod decode;
mod delimited;
mod disguise;
mod files;
mod folders;
mod guard;
mod in_memory;
mod inputs;
mod json;
mod markup;
mod page_tree;
#[cfg(feature = "parquet")]
mod parquet;
mod pipeline;
mod reading;
mod ready;
mod records;
mod summary;
mod task;
mod warc;
mod whole_file;

use fpstore_base::Radix;
use fpstore_base::watch::Observer;

pub use copy::{DecideFate, RecordFate};
pub use decode::TextEncoding;
pub use files::{DocumentFile, DocumentFiles, DocumentPlace};
pub use folders::{FileChoice, PassedOver};
pub use in_memory::text_of_bytes;
pub use inputs::DocumentFormat;
pub use markup::TextFormat;
pub use pipeline::{
    Admission, Document, count_document_frequencies, hash_documents, read_features,
    read_fingerprints, read_texts,
};
pub use reading::Wanted;
pub use summary::{BadRecords, DocumentSummary};
pub use whole_file::HtmlPart;

/// Bytes of documents that are in memory at a time, as long as no single one is larger.
const IN_FLIGHT_LEN: u64 = 64 << 20;

/// The names that an error lists at most.
const LISTED_MAX: usize = 10;

/// Names in a list for an error.
fn listed(names: &[&str]) -> String {
    let shown = names.get(..LISTED_MAX).unwrap_or(names).join(", ");
    if names.len() > LISTED_MAX { format!("{shown}, ...") } else { shown }
}

/// Options for reading documents.
///
/// By default the name of each file decides its format, the id is in the field `id`, the text in
/// the field `text`, texts are UTF-8, the first bad record is an error, and all cores work.
#[derive(Clone, Debug)]
pub struct DocumentOptions {
    format: Option<DocumentFormat>,
    id_field: String,
    line_ids: bool,
    text_field: String,
    ready: Option<Radix>,
    text_format: TextFormat,
    rank_field: Option<String>,
    new_field: Option<String>,
    encoding: TextEncoding,
    html: HtmlPart,
    skip_bad: bool,
    files: FileChoice,
    len_max: u64,
    in_flight_len: u64,
    threads: usize,
    observer: Option<Observer>,
    bad_records: Option<BadRecords>,
}

impl Default for DocumentOptions {
    fn default() -> Self {
        DocumentOptions {
            format: None,
            id_field: "id".into(),
            line_ids: false,
            text_field: "text".into(),
            ready: None,
            text_format: TextFormat::Plain,
            rank_field: None,
            new_field: None,
            encoding: TextEncoding::UTF_8,
            html: HtmlPart::default(),
            skip_bad: false,
            files: FileChoice::default(),
            len_max: capped::DOCUMENT_LEN_MAX,
            in_flight_len: IN_FLIGHT_LEN,
            threads: 0,
            observer: None,
            bad_records: None,
        }
    }
}

impl DocumentOptions {
    /// Sets the format of all files.
    #[must_use]
    pub fn format(mut self, format: DocumentFormat) -> Self {
        self.format = Some(format);
        self
    }

    /// Sets the name of the field or column of the id.
    #[must_use]
    pub fn id_field(mut self, name: impl Into<String>) -> Self {
        self.id_field = name.into();
        self
    }

    /// Sets whether the number of the line, or of the row in Parquet, is the id of a document, instead
    /// of a field; if there are several files, their names come before it, as in `a.jsonl:7`.
    #[must_use]
    pub fn line_ids(mut self, line_ids: bool) -> Self {
        self.line_ids = line_ids;
        self
    }

    /// Sets the name of the field or column of the text.
    #[must_use]
    pub fn text_field(mut self, name: impl Into<String>) -> Self {
        self.text_field = name.into();
        self
    }

    /// Sets what the texts in fields, rows and lines are; plain texts by default.
    #[must_use]
    pub fn text_format(mut self, format: TextFormat) -> Self {
        self.text_format = format;
        self
    }

    /// Sets the name of a field or column that says which of near documents is the better one; it is
    /// given to the caller as [`Document::rank`]. Only JSON and tables have such fields.
    #[must_use]
    pub fn rank_field(mut self, name: Option<String>) -> Self {
        self.rank_field = name;
        self
    }

    /// Sets the name of a field that [`DocumentFile::copy_records`] will add; a document that has it
    /// already is bad.
    #[must_use]
    pub fn new_field(mut self, name: Option<String>) -> Self {
        self.new_field = name;
        self
    }

    fn names(&self) -> json::Names<'_> {
        json::Names {
            id: (!self.line_ids).then_some(&self.id_field),
            text: &self.text_field,
            ready: self.ready,
            rank: self.rank_field.as_deref(),
            new: self.new_field.as_deref(),
        }
    }

    fn columns(&self, is_tsv: bool) -> records::Columns<'_> {
        records::Columns { is_tsv, names: self.names() }
    }

    /// Sets the part of a page in HTML that is its text. Fingerprints of two parts are not
    /// comparable, and no recipe tells them apart.
    #[must_use]
    pub fn html(mut self, part: HtmlPart) -> Self {
        self.html = part;
        self
    }

    /// Sets the encoding of texts.
    #[must_use]
    pub fn encoding(mut self, encoding: TextEncoding) -> Self {
        self.encoding = encoding;
        self
    }

    /// Sets whether bad records are counted and skipped; otherwise the first one is an error. The
    /// same holds for files that were found in a folder and cannot be read.
    #[must_use]
    pub fn skip_bad(mut self, skip_bad: bool) -> Self {
        self.skip_bad = skip_bad;
        self
    }

    /// Sets which files of folders are read.
    #[must_use]
    pub fn files(mut self, files: FileChoice) -> Self {
        self.files = files;
        self
    }

    /// Sets the length of the longest document, record or page, in bytes after decompression; 64
    /// MiB by default. A longer one is bad, and is not held in memory.
    #[must_use]
    pub fn max_document(mut self, len: u64) -> Self {
        self.len_max = len.max(1);
        self
    }

    /// Limits the memory for documents to about `memory` bytes: it lowers the limit of
    /// [`DocumentOptions::max_document`] to an eighth, unless that is set after this, and the
    /// length of all documents under way as well.
    #[must_use]
    pub fn memory(mut self, memory: u64) -> Self {
        // The features of a document take up to four times its length, a page in HTML eight times.
        let share = (memory / 8).max(1 << 16);
        self.len_max = self.len_max.min(share);
        self.in_flight_len = self.in_flight_len.min(share);
        self
    }

    /// Sets the number of worker threads; 0 is one for each core. The result does not depend on it.
    #[must_use]
    pub fn threads(mut self, threads: usize) -> Self {
        self.threads = threads;
        self
    }

    /// Sets what is told of each bad record as it is skipped, in its place among the others; a summary
    /// names only the first ten.
    #[must_use]
    pub fn bad_records(mut self, bad_records: impl Into<Option<BadRecords>>) -> Self {
        self.bad_records = bad_records.into();
        self
    }

    /// Sets the observer, which receives the number of bytes read from the inputs
    /// ([`Phase::Documents`](crate::Phase::Documents)) and may end the work.
    #[must_use]
    pub fn observer(mut self, observer: impl Into<Option<Observer>>) -> Self {
        self.observer = observer.into();
        self
    }
}
