//! Tests that Parquet output has the same rows as tab-separated lines.

use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::Field;

use crate::common::program::TestDir;
use crate::common::{clustered, record_lines};

/// Reads a Parquet file: each row as a line of its values, in the order of `columns`, with
/// fingerprints in hex.
fn lines_of(dir: &TestDir, name: &str, columns: &[&str]) -> Vec<String> {
    let file = std::fs::File::open(dir.path(name)).unwrap();
    let reader = SerializedFileReader::new(file).unwrap();
    let line = |row: parquet::record::Row| {
        let row = row.into_columns();
        let names: Vec<&str> = row.iter().map(|(name, _)| name.as_str()).collect();
        let shown = columns.iter().map(|column| {
            let at = names.iter().position(|name| name == column);
            match at.map(|at| &row[at].1) {
                Some(Field::ULong(value)) => format!("{value:016x}"),
                Some(Field::Str(text)) => text.clone(),
                Some(Field::Null) => String::new(),
                Some(Field::Double(value)) => format!("{value:.4}"),
                Some(other) => other.to_string(),
                None => panic!("no column {column} among {names:?}"),
            }
        });
        shown.collect::<Vec<_>>().join("\t")
    };
    reader.get_row_iter(None).unwrap().map(|row| line(row.unwrap())).collect()
}

fn dir() -> TestDir {
    let records = clustered(600, 5);
    let dir = TestDir::with("pages.tsv", &record_lines(&records));
    dir.ok(&["build", "pages.tsv", "-s", "store.fps", "-q", "--label", "first"], "");
    dir
}

/// Runs a command with tab-separated output and with Parquet output, and compares the two.
fn assert_same(dir: &TestDir, args: &[&str], columns: &[&str]) {
    let lines = dir.ok(args, "");
    assert!(lines.lines().count() > 3, "{args:?}: {lines}");
    dir.ok(&[args, &["--format", "parquet", "-o", "table.parquet", "-f"]].concat(), "");
    let expected: Vec<&str> = lines.lines().collect();
    assert_eq!(lines_of(dir, "table.parquet", columns), expected, "{args:?}");
}

#[test]
fn pairs_and_answers_can_be_tables() {
    let dir = dir();
    let pairs = ["first", "second", "distance", "first_id", "second_id"];
    assert_same(&dir, &["pairs", "store.fps", "-q"], &pairs);
    let query = ["query", "-s", "store.fps", "-q"];
    let columns = ["query", "fingerprint", "distance", "id"];
    assert_same(&dir, &[&query[..], &["-k", "24", "0f0f"]].concat(), &columns);
    let from = [&query[..], &["--from", "pages.tsv"]].concat();
    let columns = ["query_id", "query", "fingerprint", "distance", "label", "id"];
    assert_same(&dir, &[&from[..], &["--labels"]].concat(), &columns);
    assert_same(&dir, &[&from[..], &["--labels", "--nearest", "2"]].concat(), &columns);
    let (_, err) = dir.run(&[&from[..], &["--format", "parquet"]].concat(), 2);
    assert!(err.contains("name a file with -o"), "{err}");
}

#[test]
fn similarities_are_a_column() {
    let text = |n: usize| (0..60).map(|w| format!("w{} ", w + n)).collect::<String>();
    let documents: String =
        (0..6).map(|n| format!("{{\"id\":\"d{n}\",\"text\":\"{}\"}}\n", text(n))).collect();
    let dir = TestDir::with("docs.jsonl", &documents);
    let pairs = ["pairs", "--docs", "docs.jsonl", "--confirm", "0.5", "-q"];
    let columns = ["first", "second", "distance", "similarity", "first_id", "second_id"];
    assert_same(&dir, &pairs, &columns);
    dir.ok(&["build", "--docs", "docs.jsonl", "-s", "store.fps", "--sketch", "-q"], "");
    let query = ["query", "--from", "docs.jsonl", "--docs", "-s", "store.fps", "-q"];
    let columns = ["query_id", "query", "fingerprint", "distance", "similarity", "id"];
    assert_same(&dir, &[&query[..], &["--confirm", "0.5"]].concat(), &columns);
}
