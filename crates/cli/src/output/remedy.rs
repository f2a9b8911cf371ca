//! Hints for specific errors: missing stores, and files in an unexpected format, where
//! `--skip-bad` would only lose data.

use std::ffi::OsString;
use std::io::Read;
use std::path::{Path, PathBuf};

use fpstore::{Radix, Recipe, Store};
use fpstore_base::packed::with_new;
use fpstore_text::TextRecipe;

/// Maximum number of directory entries that are examined to find stores.
const BESIDE_MAX: usize = 10_000;
/// Maximum number of stores that a message names.
const SHOWN_MAX: usize = 5;

/// Maximum number of entries that are examined to decide whether a folder contains pictures.
const PICTURES_LOOKED_AT: usize = 1000;

/// Extensions of picture files, including formats that the program cannot read.
const PICTURE_ENDS: [&str; 12] =
    ["avif", "bmp", "gif", "heic", "heif", "jpeg", "jpg", "jxl", "png", "tif", "tiff", "webp"];

/// Whether the command has this option; `option` is spelled as on the command line, such as
/// `--id-field`.
pub(crate) fn is_offered(option: &str, offers: &dyn Fn(&str) -> bool) -> bool {
    offers(&option.trim_start_matches('-').replace('-', "_"))
}

/// The hint to name the fields, with those options for fields that the command has.
pub(crate) fn fields(offers: &dyn Fn(&str) -> bool) -> String {
    let names = ["--id-field", "--text-field", "--fingerprint-field"];
    let offered: Vec<&str> = names.into_iter().filter(|name| is_offered(name, offers)).collect();
    let named = match &offered[..] {
        [] => String::new(),
        [one] => format!("name the field with {one}"),
        [names @ .., last] => format!("name the fields with {} and {last}", names.join(", ")),
    };
    match offers("line_ids") {
        true => format!("{named}; to use line numbers as ids, use --line-ids"),
        false => named,
    }
}

/// Common names of the first column in tables of documents.
const USUAL: [&str; 14] = [
    "id", "doc_id", "docid", "document", "url", "uri", "text", "content", "body", "title", "name",
    "key", "path", "file",
];

/// The name of standard input in error messages.
const STANDARD_INPUT: &str = "standard input";

const PICTURE: &str = "the input is a picture; to hash the pictures of a folder, use 'fpstore \
    build --images FOLDER'";

const DOCUMENTS: &str = "to read documents, use 'fpstore build --docs' or 'fpstore fingerprint'; \
    to read a column or field of fingerprints, use 'fpstore build --fingerprint-field NAME'";

/// The hint for a store with another generation than the requested one.
pub(crate) const OF_OTHER_GENERATION: &str = "if you kept a copy of that generation with \
    'fpstore backup' or 'fpstore export --hard-link', name its folder with -s";

/// The hint for a store and documents whose recipes define passages differently; `None` if the
/// definitions are the same.
pub(crate) fn of_units(store: &Recipe, given: &Recipe) -> Option<String> {
    let unit = |recipe| TextRecipe::from_recipe(recipe).ok().map(|recipe| recipe.unit);
    match (unit(store)?, unit(given)?) {
        (of_store, of_given) if of_store == of_given => None,
        (Some(unit), None) => Some(format!(
            "the store contains passages of texts: to compare passages with it, use --unit {unit}"
        )),
        (Some(unit), Some(_)) => Some(format!(
            "the store contains passages of another unit: leave out --unit, or use --unit {unit}"
        )),
        (None, _) => Some(
            "the store contains whole documents: leave out --unit, or build a store of passages \
             with 'fpstore build --docs --unit'"
                .into(),
        ),
    }
}

/// The hint for a missing store: where the path came from (if not from `-s`), and either a store in
/// the same folder with a similar name, or the command that makes a store.
pub(crate) fn of_no_store(path: &Path) -> String {
    let variable = std::env::var_os("FPSTORE").filter(|value| !value.is_empty());
    let is_default = variable.as_deref().map_or(path == Path::new("store.fps"), |it| path == it);
    let meant = match variable.is_some() {
        _ if !is_default => String::new(),
        true => "$FPSTORE names it; ".into(),
        false => "it is the default without -s and $FPSTORE; ".into(),
    };
    let stores = stores_beside(path);
    match nearest(path, &stores) {
        Some(near) if !is_default => format!("{meant}did you mean {}?", near.display()),
        _ if stores.is_empty() || !is_default => {
            format!("{meant}make one with 'fpstore build FILE -s {}'", path.display())
        }
        _ => {
            let shown: Vec<String> =
                stores.iter().take(SHOWN_MAX).map(|store| store.display().to_string()).collect();
            let more = if stores.len() > SHOWN_MAX { ", ..." } else { "" };
            let lies = if stores.len() == 1 { "is a store" } else { "are stores" };
            format!(
                "{meant}in the same folder {lies}: {}{more}; to make a store, use 'fpstore build'",
                shown.join(", ")
            )
        }
    }
}

/// The stores in the folder of `path`.
fn stores_beside(path: &Path) -> Vec<PathBuf> {
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
    stores
}

/// A store in the same folder whose name is similar, if there is one.
pub(crate) fn near_store(path: &Path) -> Option<PathBuf> {
    nearest(path, &stores_beside(path)).cloned()
}

/// The store with the name most similar to `path`, with or without the extension, if only few
/// letters differ.
fn nearest<'a>(path: &Path, stores: &'a [PathBuf]) -> Option<&'a PathBuf> {
    let name = path.file_name().unwrap_or_default().to_string_lossy().to_lowercase();
    let distance = |store: &&PathBuf| {
        let other = store.file_name().unwrap_or_default().to_string_lossy().to_lowercase();
        let stem = other.strip_suffix(".fps").unwrap_or(&other);
        [&*other, stem].map(|other| strsim::damerau_levenshtein(&name, other)).into_iter().min()
    };
    let near = stores.iter().min_by_key(distance)?;
    let distance = distance(&near)?;
    (distance <= 2.max(name.len() / 4) && distance < name.len()).then_some(near)
}

/// The hint for a file that was given in place of a store.
pub(crate) fn of_file_for_store(path: &Path, given: &[OsString]) -> String {
    let file = path.display();
    let from = given.iter().position(|word| word == "--from").and_then(|at| given.get(at + 1));
    match from {
        Some(from) => {
            let from = in_quotes(&from.to_string_lossy());
            format!("to compare the records of two files, run: fpstore join {from} {file}")
        }
        None => format!("to make a store of the file, run: fpstore build {file} -s NAME.fps"),
    }
}

/// The hint to repeat the user's command with more options; two commands if the fingerprints could
/// be decimal or hex.
pub(crate) fn so_run(given: &[OsString], more: &[String]) -> String {
    let command = again(given, more);
    match command.strip_suffix(" --radix dec") {
        Some(start) => format!(
            "if they are decimal, run: {command}\nif they are hex, run: {start} --radix hex"
        ),
        None => format!("if so, run: {command}"),
    }
}

/// The user's command with more options, quoted for a shell.
pub(crate) fn again(given: &[OsString], more: &[String]) -> String {
    let given = given.iter().skip(1).map(|word| word.to_string_lossy());
    let words: Vec<String> = ["fpstore".into()]
        .into_iter()
        .chain(given)
        .chain(more.iter().map(|word| word.as_str().into()))
        .map(|word| in_quotes(&word))
        .collect();
    words.join(" ")
}

/// The hint for a table whose first line is no header, or has other separators than expected: the
/// command that reads or converts the table.
pub(crate) fn of_header(name: &str, reason: &str, given: &[OsString]) -> Option<String> {
    let is_table = |format: &str| {
        let has_format = given.iter().any(|word| word == "--docs-format");
        let more = ["--docs-format".into(), format.into()];
        (!has_format).then(|| format!("if so, run: {}", again(given, &more)))
    };
    if reason.contains("are separated by tabs") {
        return is_table("tsv");
    }
    if reason.contains("are separated by commas") {
        return is_table("csv");
    }
    if !has_end(name, &["csv", "tsv", "tab", "txt"])
        || name.ends_with(".gz")
        || name.ends_with(".zst")
    {
        return None;
    }
    let (path, more) = (in_quotes(name), "and name the new file");
    let new = in_quotes(&with_new(Path::new(name)).to_string_lossy());
    let head = head_of(Path::new(name))?;
    let named = given.iter().position(|word| word == "--encoding");
    let named = named.and_then(|at| given.get(at + 1)).map(|name| name.to_string_lossy());
    let (from, to) = match (&head[..], named.as_deref()) {
        ([0xff, 0xfe, ..] | [0xfe, 0xff, ..], _) => ("utf-16", "utf-8"),
        ([0xef, 0xbb, 0xbf, ..], _) | (_, None) => ("utf-8-sig", "utf-8"),
        // Proposes no command, because the detected encoding is unknown here.
        (_, Some("detect")) => return None,
        (_, Some(named)) => (named, named),
    };
    // Proposes no command: with CR alone as line end, the whole file is one line.
    if !head.contains(&b'\n') {
        return None;
    }
    // The first line is no header, so 'sed' deletes it; UTF-16 is unreadable for 'sed'.
    if reason.starts_with("line 1 is ") && from != "utf-16" {
        return Some(format!("run: sed 1d {path} > {new}, {more}"));
    }
    let convert = match reason.split_once("are separated by '") {
        Some((_, separator)) => format!(
            "csv.field_size_limit(2**31 - 1); csv.writer(sys.stdout).writerows(csv.reader(table, \
             delimiter=\"{}\"))",
            separator.chars().next()?
        ),
        None if reason.starts_with("line 1 is ") => {
            "next(table); sys.stdout.writelines(table)".into()
        }
        None => return None,
    };
    Some(format!(
        "run: python3 -c 'import csv, sys; sys.stdout.reconfigure(encoding=\"{to}\", newline=\"\"); \
         table = open(0, encoding=\"{from}\", newline=\"\"); {convert}' < {path} > {new}, {more}"
    ))
}

/// The first bytes of a file.
fn head_of(path: &Path) -> Option<Vec<u8>> {
    let mut head = Vec::new();
    std::fs::File::open(path).ok()?.take(1 << 16).read_to_end(&mut head).ok()?;
    Some(head)
}

/// The hint for a Parquet file in place of lines.
pub(crate) fn of_parquet(path: &Path, with_docs: WithDocs<'_>) -> String {
    let more = ["--docs-format".into(), "parquet".into()];
    let is_named = has_end(&path.to_string_lossy(), &["parquet"]);
    // No command for standard input: Parquet is read from its end and cannot be piped.
    match path == Path::new(STANDARD_INPUT) {
        true => DOCUMENTS.into(),
        false => documents(with_docs, if is_named { &[] } else { &more }),
    }
}

/// Quotes a word for a shell, if necessary.
fn in_quotes(word: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "-_./=:,+@%^".contains(c);
    match !word.is_empty() && word.chars().all(is_plain) {
        true => word.into(),
        false => format!("'{}'", word.replace('\'', r"'\''")),
    }
}

/// Builds the user's command changed so that it reads documents, with more options, quoted for a
/// shell; `None` if there is no such command.
type WithDocs<'a> = &'a dyn Fn(&[String]) -> Option<String>;

/// The user's command with `--docs` and more options; for `dedup`, the command `clean` instead.
/// `None` for `query` without `--from`, which cannot have `--docs`.
pub(crate) fn with_docs(given: &[OsString], more: &[String]) -> Option<String> {
    let is_query = given.get(1).is_some_and(|name| name == "query");
    if is_query && !given.iter().any(|word| word.to_string_lossy().starts_with("--from")) {
        return None;
    }
    let (head, rest) = given.split_at(given.len().min(2));
    let mut words = head.to_vec();
    match head.get(1).is_some_and(|name| name == "dedup") && !answers_stream(rest) {
        true => words[1] = "clean".into(),
        false => words.push("--docs".into()),
    }
    words.extend(more.iter().map(OsString::from));
    words.extend_from_slice(rest);
    Some(again(&words, &[]))
}

/// Whether `dedup` with these arguments answers the records of standard input one by one.
pub(crate) fn answers_stream(arguments: &[OsString]) -> bool {
    ["--add", "-"].iter().all(|option| arguments.iter().any(|word| word == option))
}

/// The hint if a file for fingerprints seems to contain documents.
fn documents(with_docs: WithDocs<'_>, more: &[String]) -> String {
    match with_docs(more) {
        Some(command) => {
            format!(
                "if it contains documents, run: {command}; if it contains a field of fingerprints, \
                 name the field with --fingerprint-field NAME"
            )
        }
        None => DOCUMENTS.into(),
    }
}

/// The hint for a first line that is not a record: probably a header, or columns in another order.
pub(crate) fn of_first_line(name: &str, reason: &str, with_docs: WithDocs<'_>) -> String {
    let columns = "name the columns of the fingerprint and the id with --fingerprint-field N and \
                   --id-field N";
    let text = reason.strip_prefix('\'').and_then(|text| text.split_once("' is not a fingerprint"));
    let is_usual =
        |text: &str| USUAL.contains(&text.trim_matches('"').to_ascii_lowercase().as_str());
    // If the extension of the file does not show the format, the proposed command sets it.
    let format = ["--docs-format".into(), "csv".into()];
    let more = if has_end(name, &["csv", "tsv", "tab"]) { &[][..] } else { &format };
    match text.filter(|(text, _)| is_usual(text)).and_then(|_| with_docs(more)) {
        Some(command) => format!("if the table contains documents, run: {command}; {columns}"),
        None => columns.into(),
    }
}

/// Whether a file has the extension of a picture.
fn is_picture(path: &Path) -> bool {
    let end = path.extension().map(|end| end.to_string_lossy().to_ascii_lowercase());
    end.is_some_and(|end| PICTURE_ENDS.contains(&end.as_str()))
}

/// Whether more than half of the examined files in a folder and its subfolders are pictures.
pub(crate) fn holds_pictures(folder: &Path) -> bool {
    let mut folders = vec![folder.to_path_buf()];
    let (mut seen, mut pictures, mut others) = (0, 0, 0);
    while let Some(folder) = folders.pop() {
        let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
        for entry in entries {
            seen += 1;
            if seen > PICTURES_LOOKED_AT {
                return pictures > others;
            }
            let path: PathBuf = entry.path();
            match entry.file_type() {
                Ok(kind) if kind.is_dir() => folders.push(path),
                Ok(_) if is_picture(&path) => pictures += 1,
                _ => others += 1,
            }
        }
    }
    pictures > others
}

/// The hint for a folder in place of a file. `has_images` and `has_docs`: whether the command has
/// the options `--images` and `--docs`.
pub(crate) fn of_folder(folder: &Path, has_images: bool, has_docs: bool) -> String {
    let name = folder.display();
    match (holds_pictures(folder), has_images) {
        (true, true) => format!("{name} holds pictures: to read them, use --images {name}"),
        (true, false) => format!(
            "{name} holds pictures: to make a store of them, run 'fpstore build --images {name} -s \
             NAME.fps'"
        ),
        (false, _) if has_docs => format!("to read the documents in {name}, use --docs"),
        (false, _) => format!("{name} is a folder; name a file, or a store"),
    }
}

/// The hint for a missing folder.
pub(crate) fn of_no_folder(folder: &Path) -> String {
    let name = in_quotes(&folder.to_string_lossy());
    format!("there is no folder {name}; to make it, run: mkdir -p {name}")
}

/// The hint for a bad record of fingerprints, if it shows that the whole file has another format.
pub(crate) fn of_fingerprints(name: &str, reason: &str, with_docs: WithDocs<'_>) -> Option<String> {
    if let Some(text) = reason.strip_prefix('\'')
        && let Some((text, _)) = text.split_once("' is not a fingerprint")
    {
        return of_text(name, text, reason, with_docs);
    }
    if is_picture(Path::new(name)) {
        return Some(PICTURE.into());
    }
    if reason.starts_with("byte ") && reason.contains("not UTF-8") {
        let binary = "the input looks binary";
        return Some(if has_end(name, &["parquet"]) {
            format!("{binary}; {}", documents(with_docs, &[]))
        } else {
            format!("{binary}; to read binary fingerprints, use --input-format; {DOCUMENTS}")
        });
    }
    None
}

fn of_text(name: &str, text: &str, reason: &str, with_docs: WithDocs<'_>) -> Option<String> {
    let expects = |radix: Radix| reason.ends_with(radix.expected());
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    if let Some(digits) = text.strip_prefix('-')
        && is_number(digits)
        && !expects(Radix::SignedDecimal)
    {
        return Some("to read signed decimal numbers, use --radix sdec".into());
    }
    if is_number(text) && text.len() > 16 && expects(Radix::Hex) {
        return Some(
            "to read decimal numbers, use --radix dec; for signed ones, --radix sdec".into(),
        );
    }
    // If the extension of the file does not show the format, the proposed command sets it.
    let of_format = |format: &str, ends: &[&str]| {
        let more = ["--docs-format".into(), format.into()];
        let is_named = name == STANDARD_INPUT || has_end(name, ends);
        documents(with_docs, if is_named { &[] } else { &more })
    };
    if text.starts_with('{') || text.starts_with('[') {
        let documents = of_format("jsonl", &["jsonl", "ndjson", "json"]);
        return Some(format!("the input looks like JSON; {documents}"));
    }
    if text.starts_with('<') {
        let documents = of_format("html", &["html", "htm", "xhtml", "xml"]);
        return Some(format!("the input looks like HTML or XML; {documents}"));
    }
    let is_of_documents = ["jsonl", "ndjson", "json", "parquet", "html", "htm"];
    has_end(name, &is_of_documents).then(|| documents(with_docs, &[]))
}

/// Whether a name ends with one of these extensions, possibly followed by `.gz` or `.zst`.
fn has_end(name: &str, ends: &[&str]) -> bool {
    let name = name.to_ascii_lowercase();
    let name = name.strip_suffix(".gz").or(name.strip_suffix(".zst")).unwrap_or(&name);
    name.rsplit_once('.').is_some_and(|(_, end)| ends.contains(&end))
}

/// Whether the error message of a bad record already contains the fix. Then no `--skip-bad` is
/// proposed, which would skip most records of the file.
pub(crate) fn says_what_to_do(reason: &str) -> bool {
    [
        "is an array",
        "an array, expected one object per line",
        "is an object, expected a text",
        " converts it",
        "holds bytes, expected fingerprints",
        "it is a floating-point number",
        "it is 64 binary digits",
    ]
    .iter()
    .any(|part| reason.contains(part))
}

/// The hint for a bad record of documents.
pub(crate) fn of_documents(
    name: &str,
    reason: &str,
    offers: &dyn Fn(&str) -> bool,
) -> Option<String> {
    if let Some(text) = reason.strip_prefix('\'')
        && let Some((text, _)) = text.split_once("' is not a fingerprint")
    {
        return of_text("", text, reason, &|_| None);
    }
    if is_picture(Path::new(name)) {
        return Some(PICTURE.into());
    }
    if name == STANDARD_INPUT && reason.starts_with("expected value at column 1") {
        let format = "standard input is read as JSON Lines; for a table, use --docs-format csv";
        return Some(format!("{format}, for one document --docs-format text"));
    }
    if reason.starts_with("no field '") {
        return Some(fields(offers));
    }
    // An unclosed quote: skipping the record would also lose all lines up to the next quote.
    let is_quote = reason.contains("the quote that opens") || reason.contains("the quote opens");
    is_quote
        .then(|| "close or double the quote; quotes have no meaning in tab-separated tables".into())
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
            let remedy = of_fingerprints(name, &reason, &|_| None).unwrap();
            assert!(remedy.contains(part), "{remedy}");
        }
        for reason in [
            "'xyz' is not a fingerprint: digit 1 is 'x', expected 1 to 16 hex digits".into(),
            format!(
                "'99999999999999999999' is not a fingerprint: it is out of range, expected {}",
                Radix::Decimal.expected()
            ),
        ] {
            assert_eq!(of_fingerprints("a.txt", &reason, &|_| None), None);
        }
        let remedy = of_fingerprints("a.bin", "byte 1 of the line is not UTF-8", &|_| None);
        assert!(remedy.unwrap().contains("--input-format"));
        assert!(
            of_documents("a.csv", "the quote that opens in line 2 is never closed", &|_| true)
                .is_some()
        );
        assert_eq!(of_documents("a.jsonl", "expected value at column 1", &|_| true), None);
    }
}
