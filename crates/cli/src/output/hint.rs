//! Hints printed after an error: how the user can fix it.

use std::ffi::OsString;
use std::io::ErrorKind;

use fpstore::{Error, InputPlace, IoError};
use fpstore_base::packed::IS_PARQUET;

use super::remedy::holds_pictures;
use super::{corpus_error, remedy};

const SKIP_BAD_HINT: &str = "to count bad records and continue, use --skip-bad";

const SKIPPED_BAD_HINT: &str = "--skip-bad skips records, but a damaged file only in a folder: \
    leave the file out, repair it, or name its folder";

const RECIPE_HINT: &str = "if the fingerprints have the recipe of the store, give --recipe with \
    its name, or with a file of the recipe that 'info' prints";

/// The hint if the fingerprints of an input have another width than the store.
const WIDTH_HINT: &str = "fingerprints of different widths cannot be compared: to set the width \
    of fingerprints in files, use --bits";

/// Parts of error messages about invalid combinations of options, each with its hint.
const REFUSED: [(&str, &str); 17] = [
    ("no field of addresses is named", "name it with --url-field"),
    ("documents are not compared by address", "add address to --judge, or leave out --url-field"),
    ("a store has no addresses", "to compare the new documents, use --within"),
    ("the similarity decides on near-duplicates", "add near to --judge, or leave out --confirm"),
    ("the distance decides on near-duplicates", "add near to --judge, or leave out -k"),
    ("containment is computed from features", "leave out --confirm-contains or -k"),
    ("so a distance has no effect", "leave out -k or --confirm"),
    ("has no features of its documents", "leave out --confirm-contains or -s"),
    ("for one document per cluster", "leave out --per-cluster or --target"),
    ("which does not change judged pairs", "leave out --pairs or --target"),
    ("the threshold for near-duplicates; judge", "add near to --judge, or leave out --target"),
    ("judged pairs apply only if", "to compare the new documents, use --within"),
    ("two new fields have the same name", "give --annotate and --cluster-size two names"),
    ("annotated documents are kept", "leave out --max-loss or --annotate"),
    ("with the source of the documents", "name another field with --source-field"),
    ("with an address", "name another field with --url-field"),
    ("which the rule '", "name another field in the rule of --keep"),
];

/// The hint for an error, if there is one. `told` is the printed message, `given` the command line,
/// and `offers` checks whether the command has an option.
pub(crate) fn of(
    error: &anyhow::Error,
    told: &str,
    given: &[OsString],
    offers: impl Fn(&str) -> bool,
) -> Option<String> {
    // The message of some errors omits the cause reported by the system: print it as the hint.
    let of_system = || {
        let causes = error.chain().filter_map(|cause| cause.downcast_ref());
        let mut plain = causes.filter_map(fpstore_base::plain_cause);
        plain.find(|cause| !told.contains(cause)).map(Into::into)
    };
    let of_items = || {
        let items: &corpus_error::OfItems = error.downcast_ref()?;
        // `--line-ids` is not proposed for benchmark items, whose default ids are line numbers.
        let offers = |option: &str| option != "line_ids" && offers(option);
        of_text(&items.0, given, offers).map(|hint| items.hint(hint))
    };
    let store = error.downcast_ref().and_then(|error| of_store(error, given, &offers));
    store
        .or_else(|| error.downcast_ref().and_then(|error| of_text(error, given, &offers)))
        .or_else(of_items)
        .or_else(of_system)
}

fn of_store(error: &Error, given: &[OsString], offers: impl Fn(&str) -> bool) -> Option<String> {
    match error {
        Error::UnclearInput { fingerprint_column, id_column, radix, width, .. } => {
            let mut more = Vec::new();
            // Without --fingerprint-field the command cannot select columns, so no hint helps.
            if fingerprint_column.is_some() && !offers("fingerprint_field") {
                return None;
            }
            if let Some(column) = fingerprint_column {
                more.extend(["--fingerprint-field".into(), column.to_string()]);
                more.extend(id_column.iter().flat_map(|id| ["--id-field".into(), id.to_string()]));
            }
            more.extend(radix.iter().flat_map(|radix| ["--radix".into(), radix.to_string()]));
            if let Some(width) = width.filter(|_| offers("bits")) {
                more.extend(["--bits".into(), width.to_string()]);
            }
            (!more.is_empty()).then(|| remedy::so_run(given, &more))
        }
        Error::BadInput { reason, .. } if remedy::says_what_to_do(reason) => None,
        Error::BadInput { name, place, reason } => {
            let with_docs =
                |more: &[String]| remedy::with_docs(given, more).filter(|_| offers("docs"));
            remedy::of_fingerprints(name, reason, &with_docs)
                .or_else(|| {
                    let is_first = *place == InputPlace::Line(1) && offers("fingerprint_field");
                    is_first.then(|| remedy::of_first_line(name, reason, &with_docs))
                })
                .or_else(|| of_bad_record(given, offers))
        }
        Error::Io(IoError { path, source, .. }) if is_parquet(source) => {
            let with_docs =
                |more: &[String]| remedy::with_docs(given, more).filter(|_| offers("docs"));
            Some(remedy::of_parquet(path, &with_docs))
        }
        Error::Io(IoError { path, source, .. })
            if source.kind() == ErrorKind::IsADirectory && path.is_dir() =>
        {
            Some(remedy::of_folder(path, offers("images"), offers("docs")))
        }
        Error::Io(IoError { path, source, doing: "put temporary files into" })
            if source.kind() == ErrorKind::NotFound =>
        {
            Some(remedy::of_no_folder(path))
        }
        Error::NotAStore { path, .. } if path.is_dir() && holds_pictures(path) => {
            Some(remedy::of_folder(path, offers("images"), offers("docs")))
        }
        Error::NotAStore { path, .. } if path.is_file() => {
            Some(remedy::of_file_for_store(path, given))
        }
        Error::NoStore { path } => Some(remedy::of_no_store(path)),
        Error::OtherGeneration { .. } => Some(remedy::OF_OTHER_GENERATION.into()),
        Error::StoreExists { .. } if offers("force") => {
            Some("to replace it once the new one is complete, use --force".into())
        }
        Error::Corrupt { path, .. } => {
            // No hint for a file outside a store, because 'verify' needs a store.
            let store = path.parent().filter(|folder| folder.join("MANIFEST").exists())?;
            Some(format!("run 'fpstore verify -s {}' for a full report", store.display()))
        }
        Error::NoSpace { .. } => Some(
            "make room, or put temporary files elsewhere with --temp-dir; to start anyway, use \
             --skip-space-check"
                .into(),
        ),
        Error::TooManyPairs { .. } => Some(
            "nothing was written; raise --max-pairs, lower -k, or leave out copies with --distinct"
                .into(),
        ),
        Error::RecipeMismatch { store, given } if store.is_external() && given.is_external() => {
            offers("bits").then(|| WIDTH_HINT.into())
        }
        Error::RecipeMismatch { given, .. } if given.is_external() => {
            offers("recipe").then(|| RECIPE_HINT.into())
        }
        Error::RecipeMismatch { store, given } => {
            offers("unit").then(|| remedy::of_units(store, given)).flatten()
        }
        Error::Locked { .. } => Some(
            "to wait until it has finished, use --wait; if it is 'fpstore serve --writable', use \
             its requests: POST /v1/check-and-add, PUT and DELETE /v1/ids, POST /v1/expire, \
             /v1/label, /v1/compact; for many records build a separate store with 'fpstore \
             build', then send POST /v1/import"
                .into(),
        ),
        Error::Follower { path, .. } => Some(format!(
            "change the followed store instead; or end the follower, and make this a store of its \
             own with 'fpstore promote {}'",
            path.display()
        )),
        Error::InvalidOptions { reason } => options_for(reason).map(Into::into),
        Error::Compacting { .. } => Some("to wait until it has finished, use --wait".into()),
        _ => None,
    }
}

/// The hint for an error in files of documents.
fn of_text(
    error: &fpstore_documents::Error,
    given: &[OsString],
    offers: impl Fn(&str) -> bool,
) -> Option<String> {
    if let fpstore_documents::Error::UnclearFields { likely, .. } = error {
        let options = [
            ("--id-field", &likely.id_field),
            ("--text-field", &likely.text_field),
            ("--fingerprint-field", &likely.fingerprint_field),
        ];
        let options = options.iter().filter(|(name, _)| remedy::is_offered(name, &offers));
        let named = options.filter_map(|(name, field)| Some((*name, field.as_deref()?)));
        let mut more: Vec<String> =
            named.flat_map(|(name, field)| [name.to_string(), field.to_string()]).collect();
        more.extend(likely.radix.iter().flat_map(|it| ["--radix".into(), it.to_string()]));
        if likely.line_ids && offers("line_ids") {
            more.push("--line-ids".into());
        }
        return Some(match more.is_empty() {
            true => remedy::fields(&offers),
            false => remedy::so_run(given, &more),
        });
    }
    if let fpstore_documents::Error::BadFile { name, reason } = error
        && let Some(hint) = remedy::of_header(name, reason, given)
    {
        return Some(hint);
    }
    if let fpstore_documents::Error::Io(IoError { path, .. }) = error
        && !path.exists()
    {
        let name = path.display();
        return match (offers("literal"), offers("text")) {
            (true, _) if offers("store") => Some(format!(
                "'{name}' is taken for the name of a file: if it is the text itself, add --literal; \
                 if it is the id of a record, add -s"
            )),
            (true, _) => Some(format!(
                "'{name}' is taken for the name of a file: if it is the text itself, add --literal"
            )),
            (_, true) => Some(format!(
                "'{name}' is taken for the name of a file: to search for a text, use --text"
            )),
            _ => None,
        };
    }
    if let fpstore_documents::Error::Io(IoError { path, source, .. }) = error
        && is_parquet(source)
        && path.exists()
    {
        return offers("docs_format").then(|| "to read it, use --docs-format parquet".into());
    }
    let helps = |found: Option<String>| found.or_else(|| of_bad_record(given, &offers));
    match error {
        fpstore_documents::Error::BadInput { reason, .. } if remedy::says_what_to_do(reason) => {
            None
        }
        fpstore_documents::Error::BadInput { name, reason, .. } => {
            helps(remedy::of_documents(name, reason, &offers))
        }
        // --skip-bad cannot skip a damaged file that the user named: the hint says so.
        error if error.is_of_file() && skips_bad(given) => helps(None),
        _ => None,
    }
}

/// Whether the error is a Parquet file in place of lines of text.
fn is_parquet(fault: &std::io::Error) -> bool {
    fault.to_string().contains(IS_PARQUET)
}

/// Whether the command line already skips bad records.
fn skips_bad(given: &[OsString]) -> bool {
    given.iter().any(|word| word == "--skip-bad")
}

/// The hint for a bad record: how the command can skip it.
fn of_bad_record(given: &[OsString], offers: impl Fn(&str) -> bool) -> Option<String> {
    offers("skip_bad").then(|| match skips_bad(given) {
        true => SKIPPED_BAD_HINT.into(),
        false => SKIP_BAD_HINT.into(),
    })
}

/// The hint for options that the library rejected for this reason, if there is one.
fn options_for(reason: &str) -> Option<&'static str> {
    let found = REFUSED.iter().find(|(part, _)| reason.contains(part));
    found.map(|(_, help)| *help)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// If an error message of the library changes, its part in [`REFUSED`] must change, too:
    /// otherwise its hint would no longer be printed.
    #[test]
    fn each_part_stands_in_a_reason_of_the_library() {
        let sources = [
            include_str!("../../../corpus/src/work.rs"),
            include_str!("../../../corpus/src/cleaning.rs"),
            include_str!("../../../corpus/src/keep_rules.rs"),
        ];
        // Joins string literals that continue on the next line after a backslash.
        let whole = |source: &str| -> String {
            let mut lines = source.split("\\\n");
            let first = lines.next().unwrap_or_default().to_string();
            lines.fold(first, |text, line| text + line.trim_start())
        };
        let sources = sources.map(whole);
        for (part, _) in REFUSED {
            assert!(sources.iter().any(|source| source.contains(part)), "{part}");
        }
    }
}
