//! What helps against a bad record, where passing over records would only lose them.

use fpstore::Radix;

const DOCUMENTS: &str = "documents are read by 'fpstore build --docs' and 'fpstore fingerprint', and a column or \
    field of fingerprints by 'fpstore build --fingerprint-field NAME'";

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
        return Some(
            "--id-field, --text-field and --fingerprint-field name the fields; --line-ids takes \
             numbers of lines as ids"
                .into(),
        );
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
