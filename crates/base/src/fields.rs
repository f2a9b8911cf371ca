//! Common names of fields and columns in files of other programs.
//!
//! Tables of fingerprints and documents share the list, so that all readers know the same names.

/// Names of fields with ids.
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

/// Names of fields with the texts of documents.
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

/// Parts of names of columns with fingerprints.
const OF_FINGERPRINTS: [&str; 6] = ["hash", "fingerprint", "finger", "print", "bits", "signature"];

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
