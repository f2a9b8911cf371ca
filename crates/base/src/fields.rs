//! Usual names of fields and columns in files of other programs.
//!
//! All readers of fingerprints and documents use these lists, so that they accept the same names.

/// Names of fields that contain ids.
pub const ID: [&str; 16] = [
    "id",
    "docid",
    "doc_id",
    "document_id",
    "uid",
    "uuid",
    "url",
    "uri",
    "path",
    "filepath",
    "file_path",
    "file",
    "filename",
    "file_name",
    "name",
    "image",
];

/// Names of fields that contain the texts of documents.
pub const TEXT: [&str; 10] = [
    "text",
    "content",
    "contents",
    "body",
    "raw_content",
    "page_content",
    "document",
    "article",
    "passage",
    "message",
];

/// Words in the names of columns that contain fingerprints.
const OF_FINGERPRINTS: [&str; 6] = ["hash", "fingerprint", "finger", "print", "bits", "signature"];

/// Values that stand for a missing value, in lower case; `\\n` is the null of SQL dumps.
const MISSING: [&str; 17] = [
    "",
    "-",
    "?",
    "null",
    "\\n",
    "none",
    "nil",
    "nan",
    "na",
    "n/a",
    "error",
    "err",
    "failed",
    "<na>",
    "#n/a",
    "(null)",
    "undefined",
];

/// Whether a value stands for a missing value, in upper or lower case, with or without white space
/// around it.
pub fn is_missing(value: &str) -> bool {
    MISSING.iter().any(|one| value.trim().eq_ignore_ascii_case(one))
}

/// Whether a field with this name contains ids, in upper or lower case.
pub fn is_id(name: &str) -> bool {
    ID.iter().any(|one| name.eq_ignore_ascii_case(one))
}

/// Whether a field with this name contains texts, in upper or lower case.
pub fn is_text(name: &str) -> bool {
    TEXT.iter().any(|one| name.eq_ignore_ascii_case(one))
}

/// Whether a column with this name contains fingerprints.
pub fn is_of_fingerprints(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    OF_FINGERPRINTS.iter().any(|part| name.contains(part)) || ["fp", "sig", "hex"].contains(&&*name)
}
