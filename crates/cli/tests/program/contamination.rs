//! Tests `fpstore contamination`: the found benchmark items, and the copied corpus without them.
//! Unit tests of the library compare the found items with an exhaustive comparison.

use std::fs;

use fpstore_corpus::Error;
use fpstore_corpus::contamination::ContaminationCheck;
use fpstore_documents::DocumentOptions;
use serde_json::Value;

use super::clean::formats::{CSV, JSON_LINES, TSV, compressed, decompressed, expected};
use crate::common::documents::Document;
use crate::common::program::{TestDir, text};

const LONG: &str = "The lighthouse on the northern cape was built of granite from the island itself, \
                    which the keepers of later years said was the reason why no storm had ever moved \
                    it, although the sea took the houses beside it twice and the road to the village \
                    more often than anybody in the village could remember or wanted to count";
const SHORT: &str = "Which river flows past the old town of Regensburg and then on to Passau?";
const OTHER: &str = "Which river flows past the old town of Heidelberg and then on to Mannheim?";

fn item(text: &str) -> String {
    serde_json::json!({"question": text, "answer": "?"}).to_string() + "\n"
}

fn document(id: &str, text: &str) -> String {
    serde_json::json!({"id": id, "text": text}).to_string() + "\n"
}

/// A folder with four benchmark items, whose ids are the line numbers 1 to 4, and a corpus of five
/// documents.
fn dir() -> TestDir {
    let dir = TestDir::new();
    dir.write("items.jsonl", [LONG, SHORT, "Too few words", OTHER].map(item).concat());
    let edited = LONG.replace("granite", "grey stone").replace("twice", "three times");
    let documents = [
        document("whole", LONG),
        document(
            "inside",
            &format!("\u{c4}\u{df} {}\n\n{edited}. {}", "x ".repeat(900), "y ".repeat(900)),
        ),
        document("loud", &format!("QUIZ: {}", SHORT.to_uppercase().replace(' ', "  "))),
        document("innocent", "Which river flows past the old town is not asked here, nor anywhere"),
        document("empty", ""),
    ];
    dir.write("in/all.jsonl", documents.concat());
    dir
}

const ARGS: [&str; 6] =
    ["contamination", "--against", "items.jsonl", "--against-text-field", "question", "--docs"];

#[test]
fn items_are_found_whole_edited_and_inside_of_long_documents() {
    let dir = dir();
    let (out, err) = dir.run(&[&ARGS[..], &["in/all.jsonl", "--format", "json"]].concat(), 0);
    let rows: Vec<Value> = out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let found: Vec<(&str, &str)> = rows
        .iter()
        .map(|row| (row["id"].as_str().unwrap(), row["item"].as_str().unwrap()))
        .collect();
    assert_eq!(found, [("whole", "1"), ("inside", "1"), ("loud", "2")]);
    assert_eq!((&rows[0]["contained"], &rows[2]["contained"]), (&1.0.into(), &1.0.into()));
    let part = rows[1]["contained"].as_f64().unwrap();
    assert!((0.5..1.0).contains(&part), "{part}");
    assert_eq!(rows[0]["file"], "in/all.jsonl");
    assert!(err.contains("2 of 3 items found, 2 of them whole, in 3 of 5 documents"), "{err}");
    assert!(err.contains("2 items of fewer than 50 words"), "{err}");
    assert!(err.contains("1 item with fewer than 6 words not searched: 3;"), "{err}");

    // The printed offsets are those of the passage in its document.
    let corpus = dir.read("in/all.jsonl");
    for (row, line) in rows.iter().zip(corpus.lines()) {
        let document: Value = serde_json::from_str(line).unwrap();
        let text = document["text"].as_str().unwrap();
        let at = |name: &str| row[name].as_u64().unwrap() as usize;
        let passage = &text[at("byte_start")..at("byte_end")];
        let chars: String = text.chars().take(at("end")).skip(at("start")).collect();
        assert_eq!(chars, passage);
        assert!(passage.len() > 60 && !passage.contains("x x"), "{passage}");
    }
    let lines = dir.ok(&[&ARGS[..], &["in/all.jsonl", "-q"]].concat(), "");
    let first: Vec<&str> = lines.lines().next().unwrap().split('\t').collect();
    assert_eq!(first[..4], ["1", "1.0000", "in/all.jsonl", "whole"]);
    assert_eq!(first[4..], ["0", &LONG.len().to_string(), "0", &LONG.len().to_string()]);
}

#[test]
fn the_library_gives_the_rows_of_the_program() {
    let dir = dir();
    let place = |name: &str| dir.path(name).display().to_string();
    let (items, corpus) = (place("items.jsonl"), place("in/all.jsonl"));
    let args = ["contamination", "--against", &items, "--against-text-field", "question"];
    let out = dir.ok(&[&args[..], &["--docs", &corpus, "--format", "json", "-q"]].concat(), "");
    let expected: Vec<Value> = out.lines().map(|row| serde_json::from_str(row).unwrap()).collect();
    let options = DocumentOptions::default();
    let items_are = options.clone().text_field("question").line_ids(true);
    let mut rows = Vec::new();
    let account = ContaminationCheck::new([items], items_are, [corpus], options)
        .run(|found| -> Result<(), Error> {
            rows.push(serde_json::to_value(found.row).unwrap());
            Ok(())
        })
        .unwrap();
    assert_eq!(rows, expected);
    assert_eq!((account.found_count, account.contaminated_count), (3, 3));
}

#[test]
fn rules_say_how_much_of_an_item_must_be_held() {
    let dir = dir();
    let count =
        |more: &[&str]| dir.ok(&[&ARGS[..], &["in", "-q"], more].concat(), "").lines().count();
    assert_eq!(count(&[]), 3);
    assert_eq!(count(&["--contains", "1.0"]), 2);
    assert_eq!(count(&["--contains", "1", "--shingle", "1"]), 2);
    // With a lower share, a similar question and a page with a phrase of an item match, too.
    assert_eq!(count(&["--short-contains", "0.3"]), 6);
    assert_eq!(count(&["--min-words", "15"]), 2);
    // Questions with the same wording except a name match only themselves, unless a lower share
    // suffices.
    dir.write("in/all.jsonl", document("near", &SHORT.replace("Passau", "Linz")));
    assert_eq!((count(&[]), count(&["--short-contains", "0.8"])), (1, 0));
    dir.write("in/all.jsonl", document("same", SHORT));
    assert_eq!((count(&[]), count(&["--short-contains", "1"])), (1, 1));
    for (more, expected) in [
        (
            &["--contains", "0"][..],
            "contains is 0, expected a share of the shingles of items, above 0",
        ),
        (&["--short-shingle", "0"], "short_shingle is 0, expected 1 to 100 words"),
        (&["--min-words", "900"], "none of 4 items has 900 words or more"),
        (&["--against", "none.jsonl"], "none.jsonl"),
        (&["--html", "-"], "--html needs the name of a file"),
    ] {
        let output = dir.output(&[&ARGS[..], &["in"], more].concat(), "");
        let err = text(output.stderr);
        assert!(output.status.code() == Some(2) && err.contains(expected), "{more:?}: {err}");
    }
}

#[test]
fn a_corpus_without_the_items_is_the_same_bytes_in_every_format() {
    let dir = TestDir::new();
    let words = |seed: usize, len: usize| -> Vec<String> {
        (0..len).map(|at| format!("w{}", (seed * len + at) * 48_271 % 65_537)).collect()
    };
    let documents: Vec<Document> =
        (0..40).map(|at| Document::of(format!("d{at}"), words(at, 80))).collect();
    let items: Vec<&Document> = documents.iter().filter(|it| it.id.ends_with('3')).collect();
    let lines: String = items.iter().map(|it| document(&it.id, &it.text())).collect();
    dir.write("items.jsonl", lines);
    for (format, name) in
        [(JSON_LINES, "a.jsonl"), (CSV, "b.csv.gz"), (TSV, "c.tsv"), (JSON_LINES, "d.jsonl.zst")]
    {
        dir.write(&format!("in/x/{name}"), compressed(name, &format.file(&documents, |_| true)));
    }
    for (at, document) in documents.iter().enumerate().take(5) {
        dir.write(&format!("in/page{at}.txt"), document.text());
    }
    let args =
        ["contamination", "--against", "items.jsonl", "--docs", "in", "-o", "out", "--found"];
    let (out, err) = dir.run(&[&args[..], &["found.tsv"]].concat(), 0);
    assert!(out.is_empty() && err.contains("4 of 4 items found"), "{err}");
    assert_eq!(dir.read("found.tsv").lines().count(), 4 * 4 + 1);
    for (format, name) in
        [(JSON_LINES, "a.jsonl"), (CSV, "b.csv.gz"), (TSV, "c.tsv"), (JSON_LINES, "d.jsonl.zst")]
    {
        let clean = expected(&format, &documents, |at| at % 10 != 3);
        assert!(decompressed(&dir, &format!("out/x/{name}")) == clean, "{name}");
    }
    let kept = dir.read_names("out/kept-files.txt");
    assert_eq!(
        kept.lines().map(|line| line.trim_end_matches(".txt").to_string()).collect::<Vec<_>>(),
        ["in/page0", "in/page1", "in/page2", "in/page4"]
    );

    // Existing outputs are replaced only on request, and inputs never.
    let (_, err) = dir.run(&[&args[..], &["more.tsv"]].concat(), 2);
    assert!(err.contains("exists; to replace it once"), "{err}");
    dir.run(&[&args[..], &["found.tsv", "-f"]].concat(), 0);
    let items = dir.read("items.jsonl");
    for output in ["items.jsonl", "in/x/a.jsonl", "in/out.jsonl"] {
        let args =
            ["contamination", "--against", "items.jsonl", "--docs", "in/x/a.jsonl", "-f", "-o"];
        let (_, err) =
            dir.run(&[&args[..], &[output]].concat(), if output == "in/out.jsonl" { 0 } else { 2 });
        assert!(output == "in/out.jsonl" || err.contains("would be overwritten"), "{err}");
    }
    assert_eq!(dir.read("items.jsonl"), items);
}

#[test]
fn a_damaged_file_of_a_folder_is_left_out_and_named() {
    let dir = dir();
    let whole = compressed("b.jsonl.gz", dir.read("in/all.jsonl").as_bytes());
    dir.write("in/b.jsonl.gz", &whole[..whole.len() / 2]);
    dir.write(
        "in/c.jsonl",
        "no json\n".to_string() + &document("z", LONG) + &document("y", "fine"),
    );
    let args = [&ARGS[..], &["in", "-o", "out", "--found", "f.tsv"]].concat();
    dir.run(&args, 2);
    let (_, err) = dir.run(&[&args[..], &["-f", "--skip-bad"]].concat(), 2);
    assert!(
        err.contains("b.jsonl.gz") && err.contains("1 file could not be read to the end"),
        "{err}"
    );
    assert!(!dir.path("out/b.jsonl.gz").exists());
    assert_eq!(dir.read("out/c.jsonl"), "no json\n".to_string() + &document("y", "fine"));
    let all = dir.read("in/all.jsonl");
    let clean: String = all.lines().skip(3).map(|line| line.to_string() + "\n").collect();
    assert_eq!(dir.read("out/all.jsonl"), clean);
}

#[cfg_attr(windows, ignore = "no file has such a name there")]
#[test]
fn a_page_shows_items_beside_passages_and_nothing_of_theirs_is_markup() {
    let dir = dir();
    let hostile = format!("<script>alert(1)</script> {SHORT} <img src=x onerror=alert(2)>");
    dir.write("in/<b>.jsonl", document("<i>id</i>", &hostile));
    dir.write("more.jsonl", item(&format!("{SHORT} <u>under</u>")));
    let args =
        [&ARGS[..], &["in", "--against", "more.jsonl", "--html", "page.html", "-q"]].concat();
    let out = dir.ok(&args, "");
    assert!(out.contains("items.jsonl:2"), "{out}");
    let page = dir.read("page.html");
    assert!(page.contains("<del>granite</del><ins>grey stone</ins>"), "{page}");
    assert!(page.contains("&lt;i&gt;id&lt;/i&gt;") && page.contains("&lt;b&gt;.jsonl"));
    for markup in ["<script", "<img", "<i>", "<u>", "<b>"] {
        assert!(!page.contains(markup), "{markup}");
    }
    let (_, err) = dir.run(&args, 2);
    assert!(err.contains("page.html"), "{err}");
    let args = [&args[..], &["-f", "--html-max", "1"]].concat();
    dir.ok(&args, "");
    assert!(dir.read("page.html").contains("A sample of 1 of the "));
    assert!(fs::read_dir(dir.folder()).unwrap().count() == 4);
}

/// Documents have the same ids as in `clean`, and no file name can break a line of the output.
#[cfg(unix)]
#[test]
fn a_line_has_one_document_whatever_its_id_and_its_file_are_named() {
    let dir = dir();
    dir.write("in/bad.jsonl", document("a\nb", LONG));
    let (_, err) = dir.run(&[&ARGS[..], &["in/bad.jsonl"]].concat(), 2);
    assert!(err.contains("line 1: bad id: it holds NUL, CR or LF"), "{err}");
    let odd = "in/odd\n\\name.jsonl";
    dir.write(odd, [document("a\\nb", LONG), document("a\tb", LONG)].concat());
    let (out, _) = dir.run(&[&ARGS[..], &[odd]].concat(), 0);
    let rows: Vec<Vec<&str>> = out.lines().map(|line| line.split('\t').collect()).collect();
    let ids: Vec<&str> = rows.iter().map(|row| row[3]).collect();
    assert_eq!(ids, ["a\\\\nb", "a\\tb"], "{out}");
    assert!(rows.iter().all(|row| row[2] == "in/odd\\n\\\\name.jsonl"), "{out}");
}
