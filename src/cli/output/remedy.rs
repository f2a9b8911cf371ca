//! What helps against a bad record, where passing over records would only lose them.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use fpstore::{Radix, Store};

/// Entries of a folder that are looked at for stores.
const BESIDE_MAX: usize = 10_000;
/// Stores that a message names.
const SHOWN_MAX: usize = 5;

/// The options that name fields.
pub(in crate::cli) const FIELDS: &str = "--id-field, --text-field and --fingerprint-field name the \
    fields; --line-ids takes numbers of lines as ids";

const DOCUMENTS: &str = "documents are read by 'fpstore build --docs' and 'fpstore fingerprint', and a column or \
    field of fingerprints by 'fpstore build --fingerprint-field NAME'";

/// What the user can do where there is no store: a store beside the place with a near name, or how
/// the place came about.
pub(in crate::cli) fn of_no_store(path: &Path) -> String {
    let variable = std::env::var_os("FPSTORE").filter(|value| !value.is_empty());
    let is_default = variable.as_deref().map_or(path == Path::new("store.fps"), |it| path == it);
    let meant = match variable.is_some() {
        _ if !is_default => String::new(),
        true => "$FPSTORE names it; ".into(),
        false => "it is meant where neither -s nor $FPSTORE names one; ".into(),
    };
    let folder = match path.parent() {
        Some(folder) if folder != Path::new("") => folder,
        _ => Path::new("."),
    };
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut stores: Vec<PathBuf> = entries
        .take(BESIDE_MAX)
        .filter(|entry| Store::is_at(entry.path()))
        .map(|entry| path.with_file_name(entry.file_name()))
        .collect();
    stores.sort();
    let name = path.file_name().unwrap_or_default().to_string_lossy().to_lowercase();
    let likeness = |store: &PathBuf| {
        let other = store.file_name().unwrap_or_default().to_string_lossy().to_lowercase();
        strsim::damerau_levenshtein(&name, &other)
    };
    let near = stores.iter().min_by_key(|store| likeness(store));
    match near {
        Some(near) if !is_default && likeness(near) <= 2.max(name.len() / 4) => {
            format!("{meant}did you mean {}?", near.display())
        }
        _ if stores.is_empty() || !is_default => {
            format!("{meant}make one with 'fpstore build FILE -s {}'", path.display())
        }
        _ => {
            let shown: Vec<String> =
                stores.iter().take(SHOWN_MAX).map(|store| store.display().to_string()).collect();
            let more = if stores.len() > SHOWN_MAX { ", ..." } else { "" };
            let lies = if stores.len() == 1 { "is a store" } else { "are stores" };
            format!("{meant}here {lies}: {}{more}; 'fpstore build' makes one", shown.join(", "))
        }
    }
}

/// The command that was given, with more options, as a shell takes it.
pub(in crate::cli) fn again(given: &[OsString], more: &[String]) -> String {
    let given = given.iter().skip(1).map(|word| word.to_string_lossy());
    let words: Vec<String> = ["fpstore".into()]
        .into_iter()
        .chain(given)
        .chain(more.iter().map(|word| word.as_str().into()))
        .map(|word| in_quotes(&word))
        .collect();
    words.join(" ")
}

/// A word as a shell takes it.
fn in_quotes(word: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "-_./=:,+@%^".contains(c);
    match !word.is_empty() && word.chars().all(is_plain) {
        true => word.into(),
        false => format!("'{}'", word.replace('\'', r"'\''")),
    }
}

/// What the user can do about a bad record of fingerprints, if its fault shows that the whole file
/// is of another kind than was said.
pub(in crate::cli) fn of_fingerprints(name: &str, reason: &str) -> Option<String> {
    if let Some(text) = reason.strip_prefix('\'')
        && let Some((text, _)) = text.split_once("' is not a fingerprint")
    {
        return of_text(name, text, reason);
    }
    if reason.starts_with("byte ") && reason.contains("not UTF-8") {
        let binary = "the input looks binary";
        return Some(if has_end(name, &["parquet"]) {
            format!("{binary}; {DOCUMENTS}")
        } else {
            format!("{binary}; --input-format reads binary fingerprints, and {DOCUMENTS}")
        });
    }
    None
}

fn of_text(name: &str, text: &str, reason: &str) -> Option<String> {
    let expects = |radix: Radix| reason.ends_with(radix.expected());
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    if let Some(digits) = text.strip_prefix('-')
        && is_number(digits)
        && !expects(Radix::SignedDecimal)
    {
        return Some("--radix sdec reads signed decimal numbers".into());
    }
    if is_number(text) && text.len() > 16 && expects(Radix::Hex) {
        return Some("--radix dec reads decimal numbers, sdec signed ones".into());
    }
    if text.starts_with('{') || text.starts_with('[') {
        return Some(format!("the input looks like JSON; {DOCUMENTS}"));
    }
    if text.starts_with('<') {
        return Some(format!("the input looks like HTML or XML; {DOCUMENTS}"));
    }
    if text.starts_with("PAR1") {
        return Some(format!("the input is Parquet; {DOCUMENTS}"));
    }
    let is_of_documents = ["jsonl", "ndjson", "json", "parquet", "html", "htm"];
    has_end(name, &is_of_documents).then(|| DOCUMENTS.into())
}

/// Whether a name ends so, before `.gz` or `.zst`.
fn has_end(name: &str, ends: &[&str]) -> bool {
    let name = name.to_ascii_lowercase();
    let name = name.strip_suffix(".gz").or(name.strip_suffix(".zst")).unwrap_or(&name);
    name.rsplit_once('.').is_some_and(|(_, end)| ends.contains(&end))
}

/// What the user can do about a bad record of documents.
pub(in crate::cli) fn of_documents(reason: &str) -> Option<String> {
    if let Some(text) = reason.strip_prefix('\'')
        && let Some((text, _)) = text.split_once("' is not a fingerprint")
    {
        return of_text("", text, reason);
    }
    if reason.starts_with("no field '") {
        return Some(FIELDS.into());
    }
    // Passing over such a record would lose all that seems to stand between its quotes.
    let is_quote = reason.contains("the quote that opens") || reason.contains("the quote opens");
    is_quote
        .then(|| "close or double the quote; quotes in tab-separated tables mean nothing".into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_of_another_kind_is_told_from_a_bad_record() {
        for (name, text, part) in [
            ("a.tsv", "{\"id\":1", "--docs"),
            ("a", "<html>", "--docs"),
            ("a.JSONL.gz", "xyz", "--docs"),
            ("a.tsv", "1234567890123456789", "--radix dec"),
            ("a.tsv", "-900", "--radix sdec"),
        ] {
            let reason = format!("'{text}' is not a fingerprint: expected 1 to 16 hex digits");
            let remedy = of_fingerprints(name, &reason).unwrap();
            assert!(remedy.contains(part), "{remedy}");
        }
        for reason in [
            "'xyz' is not a fingerprint: digit 1 is 'x', expected 1 to 16 hex digits".into(),
            format!(
                "'99999999999999999999' is not a fingerprint: it is out of range, expected {}",
                Radix::Decimal.expected()
            ),
        ] {
            assert_eq!(of_fingerprints("a.txt", &reason), None);
        }
        let remedy = of_fingerprints("a.bin", "byte 1 of the line is not UTF-8, expected text");
        assert!(remedy.unwrap().contains("--input-format"));
        assert!(of_documents("the quote that opens in line 2 has no end").is_some());
        assert_eq!(of_documents("expected value at column 1"), None);
    }
}
