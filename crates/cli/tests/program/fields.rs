//! Tests `--fingerprint-field`: fingerprints in fields of tables and JSON; and the same records
//! printed in these formats.

use crate::common::program::TestDir;
use crate::common::{Record, clustered};

const COUNT: usize = 500;

/// A folder with files of the same records as lines, CSV with signed numbers, TSV with hex, JSON
/// with nested numbers, and Parquet.
fn dir() -> TestDir {
    let records: Vec<Record> = clustered(COUNT as u64, 11);
    let id = |number: usize| format!("image {number}");
    let (mut lines, mut csv, mut tsv) = (String::new(), "id,phash\n".to_string(), String::new());
    let mut json = String::new();
    tsv += "phash\tsize\tid\n";
    for (number, (value, _)) in records.iter().enumerate() {
        let id = id(number);
        lines += &format!("{value:016x}\t{id}\n");
        csv += &format!("\"{id}\",{}\n", value.cast_signed());
        tsv += &format!("0x{value:x}\t7\t{id}\n");
        json += &format!("{{\"meta\":{{\"phash\":{value}}},\"id\":\"{id}\"}}\n");
    }
    let dir = TestDir::with("lines.tsv", &lines);
    dir.write("signed.csv", csv);
    dir.write("hex.tsv", tsv);
    dir.write("numbers.jsonl", json);
    dir.ok(&["build", "lines.tsv", "-s", "lines.fps", "-q"], "");
    let parquet = ["dump", "-s", "lines.fps", "--format", "parquet", "-o", "dumped.parquet", "-q"];
    dir.ok(&parquet, "");
    dir
}

/// The files, each with the options to read it.
const FILES: [(&str, &[&str]); 4] = [
    ("signed.csv", &["--fingerprint-field", "phash", "--radix", "sdec"]),
    ("hex.tsv", &["--fingerprint-field", "phash"]),
    ("numbers.jsonl", &["--fingerprint-field", "meta.phash"]),
    ("dumped.parquet", &["--fingerprint-field", "fingerprint"]),
];

#[test]
fn a_column_of_fingerprints_is_read_as_the_lines_are() {
    let dir = dir();
    let dumped = dir.ok(&["dump", "-s", "lines.fps"], "");
    let sorted = |text: String| {
        let mut lines: Vec<String> = text.lines().map(String::from).collect();
        lines.sort();
        lines
    };
    let pairs = sorted(dir.ok(&["pairs", "lines.tsv", "-q"], ""));
    let found = dir.ok(&["query", "-s", "lines.fps", "--from", "lines.tsv", "-q"], "");
    let kept = dir.ok(&["dedup", "lines.tsv", "-q"], "");
    assert!(pairs.len() > 20 && kept.lines().count() < COUNT);
    for (file, how) in FILES {
        let with = |args: &[&'static str]| [args, how].concat();
        dir.ok(&with(&["build", file, "-s", "same.fps", "-f", "-q"]), "");
        assert_eq!(dir.ok(&["dump", "-s", "same.fps"], ""), dumped, "{file}");
        assert_eq!(sorted(dir.ok(&with(&["pairs", file, "-q"]), "")), pairs, "{file}");
        let from = with(&["query", "-s", "lines.fps", "-q", "--from", file]);
        assert_eq!(sorted(dir.ok(&from, "")), sorted(found.clone()), "{file}");
        dir.ok(&["build", "-s", "grown.fps", "-f", "-q", "--allow-empty"], "");
        dir.ok(&with(&["add", file, "-s", "grown.fps", "-q"]), "");
        assert_eq!(dir.ok(&["dump", "-s", "grown.fps"], ""), dumped, "{file}");
        if file != "dumped.parquet" {
            // The list is sorted, because `dumped.parquet` has the records in another order.
            let list = with(&["clean", file, "--list", "-q"]);
            assert_eq!(dir.ok(&list, ""), kept, "{file}");
        }
    }
}

#[test]
fn tables_of_fingerprints_are_cleaned_like_documents() {
    let dir = dir();
    let kept = dir.ok(&["dedup", "lines.tsv", "-q"], "");
    let args = ["clean", "numbers.jsonl", "--fingerprint-field", "meta.phash", "-o", "clean.jsonl"];
    dir.ok(&[&args[..], &["-q", "--removed", "removed.tsv"]].concat(), "");
    let clean = dir.read("clean.jsonl");
    assert_eq!(clean.lines().count(), kept.lines().count());
    let all = dir.read("numbers.jsonl");
    let mut of_input = all.lines();
    assert!(clean.lines().all(|line| of_input.any(|other| other == line)));
    assert_eq!(dir.read("removed.tsv").lines().count(), COUNT - clean.lines().count());
    // A stream of JSON Lines is answered record by record.
    dir.ok(&["build", "-s", "seen.fps", "-q"], "");
    let stream = ["dedup", "-s", "seen.fps", "--fingerprint-field", "meta.phash", "--add", "-"];
    let answers = dir.ok(&[&stream[..], &["-k", "3", "-q"]].concat(), &all);
    let new = answers.lines().filter(|line| line.starts_with("new\t")).count();
    assert_eq!((new, answers.lines().count()), (kept.lines().count(), COUNT));
}

#[test]
fn what_is_no_fingerprint_is_refused_with_its_place_and_a_remedy() {
    let dir = dir();
    dir.write(
        "more.jsonl",
        "{\"id\":1,\"fp\":\"ff\"}\n{\"id\":2,\"fp\":1.5}\n{\"id\":3,\"fp\":null}\n",
    );
    for (args, part) in [
        (&["signed.csv", "--fingerprint-field", "phash"][..], "for signed ones, --radix sdec"),
        (&["signed.csv", "--fingerprint-field", "hash"], "no column 'hash' among id, phash"),
        (&["more.jsonl", "--fingerprint-field", "fp"], "line 2: invalid type: floating point"),
        (&["lines.tsv", "--fingerprint-field", "fp", "--docs-format", "lines"], "no field 'fp'"),
        (&["hex.tsv", "--fingerprint-field", "phash", "--text-field", "x"], "is for texts"),
        (&["hex.tsv", "--fingerprint-field", "phash", "--sketch"], "add --docs"),
        (&["hex.tsv", "--fingerprint-field", "phash", "--input-format", "u64le"], "leave out"),
        (&["dumped.parquet"], "--fingerprint-field"),
        (&["numbers.jsonl"], "--fingerprint-field"),
    ] {
        let (_, err) = dir.run(&[&["build", "-s", "no.fps"], args].concat(), 2);
        assert!(err.contains(part), "{args:?}: {err}");
        assert!(!dir.path("no.fps").exists());
    }
    let confirm = ["pairs", "hex.tsv", "--fingerprint-field", "phash", "--confirm", "0.8"];
    assert!(dir.run(&confirm, 2).1.contains("--confirm compares texts"));
    let annotated = ["dedup", "lines.tsv", "--annotate", "of", "-o", "x"];
    let err = String::from_utf8(dir.output(&annotated, "").stderr).unwrap();
    assert!(err.contains("'fpstore clean' cleans documents, and has --annotate"), "{err}");
    // A record with a null has no fingerprint: it is reported, but is not an error.
    let skip = ["build", "more.jsonl", "--fingerprint-field", "fp", "--skip-bad", "-s", "one.fps"];
    let (_, err) = dir.run(&skip, 0);
    assert!(
        err.contains("1 bad record skipped")
            && err.contains("without fingerprint (no features, or a null): 3"),
        "{err}"
    );
    assert_eq!(dir.ok(&["dump", "-s", "one.fps"], ""), "00000000000000ff\t1\n");
}

#[test]
fn a_dump_can_be_json_and_as_short_as_asked() {
    let dir = dir();
    let json = dir.ok(&["dump", "-s", "lines.fps", "--format", "json"], "");
    dir.write("dumped.jsonl", json);
    let build = ["build", "dumped.jsonl", "--fingerprint-field", "fingerprint", "-s", "again.fps"];
    dir.ok(&[&build[..], &["-q"]].concat(), "");
    let lines = dir.ok(&["dump", "-s", "lines.fps", "-q"], "");
    assert_eq!(dir.ok(&["dump", "-s", "again.fps"], ""), lines);
    for limit in [0, 1, 7, COUNT, COUNT + 1] {
        let cut = dir.ok(&["dump", "-s", "lines.fps", "--limit", &limit.to_string()], "");
        let expected: String = lines.split_inclusive('\n').take(limit).collect();
        assert_eq!(cut, expected);
    }
    dir.run(&["dump", "-s", "lines.fps", "--format", "json", "--separator", ","], 2);
    // `-o` writes reports to files, too.
    for report in [&["info", "-s", "lines.fps"][..], &["stats", "-s", "lines.fps"]] {
        let printed = dir.ok(&[report, &["--format", "json"]].concat(), "");
        dir.ok(&[report, &["--format", "json", "-q", "-o", "report.json", "-f"]].concat(), "");
        assert_eq!(dir.read("report.json"), printed);
        let (_, err) = dir.run(&[report, &["-o", "report.json"]].concat(), 2);
        assert!(err.contains("exists"), "{err}");
    }
}
