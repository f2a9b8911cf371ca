//! Targets that read documents from files of every format.

use std::panic::{self, AssertUnwindSafe};
use std::sync::Once;

use fpstore_documents::{
    Admission, DocumentFormat, DocumentOptions, DocumentSummary, hash_documents,
};
use fpstore_text::{TextHasher, TextRecipe};
use serde_json::Value;

use crate::site::file;

type Documents = Vec<(String, Option<u64>)>;

/// The documents of a file, and the summary or the error. The names of fields are guessed unless
/// `named` is set.
fn read(
    bytes: &[u8],
    format: DocumentFormat,
    skip_bad: bool,
    named: bool,
) -> (Documents, Result<DocumentSummary, String>) {
    let recipe = match format {
        DocumentFormat::Features => TextRecipe::of_given_features(),
        _ => TextRecipe::default(),
    };
    let path = file("documents", bytes);
    let mut options = DocumentOptions::default().format(format).skip_bad(skip_bad).threads(1);
    if named {
        options = options.id_field("id").text_field("text");
    }
    let hasher = TextHasher::new(&recipe).unwrap();
    let mut documents = Documents::new();
    let done = hash_documents(&[path], &hasher, &options, |document| {
        documents.push((document.id.to_string(), document.fingerprint.map(|of| of.value())));
        Ok::<Admission, fpstore_documents::Error>(Admission::Taken)
    });
    (documents, done.map_err(|error| error.to_string()))
}

/// Reads a file with and without skipping bad records, and checks that both reads agree.
fn check(bytes: &[u8], format: DocumentFormat) -> Documents {
    use DocumentFormat::{Csv, JsonLines, Parquet, Tsv};
    // Fields are not guessed if bad records are skipped, so both reads get the names of the fields.
    let has_columns = matches!(format, Csv | JsonLines | Parquet | Tsv);
    if has_columns {
        let _ = read(bytes, format, false, false);
    }
    let (first, strict) = read(bytes, format, false, has_columns);
    let (all, skipping) = read(bytes, format, true, has_columns);
    match (strict, skipping) {
        (Ok(_), Ok(skipping)) => {
            assert_eq!(skipping.skipped_count, 0);
            assert_eq!(first, all);
        }
        (Err(error), Ok(skipping)) => {
            assert!(skipping.skipped_count > 0, "{error}");
            assert!(all.starts_with(&first));
        }
        (Ok(_), Err(error)) => panic!("refused only with bad records skipped: {error}"),
        (Err(_), Err(_)) => {}
    }
    all
}

/// Reads JSON Lines: another parser must read the same ids and texts.
pub fn json(bytes: &[u8]) {
    let documents = check(bytes, DocumentFormat::JsonLines);
    let mut hasher = TextHasher::new(&TextRecipe::default()).unwrap();
    let mut expected = Vec::new();
    for line in bytes.split(|&byte| byte == b'\n') {
        let Ok(Value::Object(object)) = serde_json::from_slice(line) else { continue };
        if let Some(Value::String(text)) = object.get("text") {
            expected.push(hasher.fingerprint(text).map(|of| of.value()));
        }
    }
    // The library rejects some lines that this parser accepts, so its documents are a subset.
    let mut expected = expected.into_iter();
    for (id, fingerprint) in documents {
        assert!(expected.any(|other| other == fingerprint), "document {id}");
    }
}

pub fn features(bytes: &[u8]) {
    check(bytes, DocumentFormat::Features);
}

pub fn csv(bytes: &[u8]) {
    check(bytes, DocumentFormat::Csv);
}

/// Reads TSV: in a file without quotes, each row must be a line, and tabs must separate its fields.
pub fn tsv(bytes: &[u8]) {
    check(bytes, DocumentFormat::Tsv);
}

pub fn html(bytes: &[u8]) {
    let all = check(bytes, DocumentFormat::Html);
    assert!(all.len() <= 1);
}

pub fn plain(bytes: &[u8]) {
    check(bytes, DocumentFormat::Plain);
    check(bytes, DocumentFormat::Lines);
}

pub fn parquet(bytes: &[u8]) {
    without_hook(|| {
        check(bytes, DocumentFormat::Parquet);
    });
}

/// Calls `act`. The Parquet parser is known to panic, which the library must catch; any other panic
/// ends the process.
pub fn without_hook(act: impl FnOnce()) {
    static QUIET: Once = Once::new();
    // The panic hook of the fuzzer ends the process even if a panic is caught, so it is replaced.
    QUIET.call_once(|| panic::set_hook(Box::new(|_| {})));
    if let Err(reason) = panic::catch_unwind(AssertUnwindSafe(act)) {
        let text = reason.downcast_ref::<String>().map(String::as_str);
        eprintln!("panic: {}", text.or(reason.downcast_ref().copied()).unwrap_or("?"));
        std::process::abort();
    }
}
