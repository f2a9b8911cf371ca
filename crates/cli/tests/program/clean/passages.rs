//! Tests `clean --passages`: repeated passages are cut out of their documents, or listed, or the
//! whole document is removed.

use std::collections::BTreeMap;
use std::fs;

use serde_json::{Value, json};

use super::formats::{compressed, decompressed};
use super::{are_near, documents, near_args};
use crate::common::documents::Document;
use crate::common::program::TestDir;
use crate::common::{Random, oracle};

/// The text between two passages.
const BETWEEN: &str = "\n \n\n";

/// Documents of one to five passages each; many passages are near-duplicates.
fn pages(seed: u64) -> Vec<Vec<Document>> {
    let mut random = Random::new(seed);
    let mut passages = documents(300, seed).into_iter();
    let mut pages = Vec::new();
    loop {
        let count = 1 + random.next() as usize % 5;
        let page: Vec<Document> = passages.by_ref().take(count).collect();
        if page.is_empty() {
            return pages;
        }
        pages.push(page);
    }
}

fn text(page: &[Document]) -> String {
    let texts: Vec<String> = page.iter().map(Document::text).collect();
    format!(" {}\n", texts.join(BETWEEN))
}

/// The expected result: for each page its removed passages, each with its similarity to the kept
/// passage. Without a threshold, passages are compared by fingerprint.
fn removed(pages: &[Vec<Document>], threshold: Option<f64>) -> Vec<BTreeMap<usize, f64>> {
    let all: Vec<&Document> = pages.iter().flatten().collect();
    let near = |one: usize, other: usize| are_near(all[one], all[other], threshold);
    let likeness = |one: &Document, kept: &Document| match threshold {
        Some(_) => one.similarity(kept),
        None => 1.0 - f64::from(oracle::distance(kept.fingerprint, one.fingerprint)) / 64.0,
    };
    let dropped = oracle::dropped(0..0, 0..all.len(), near);
    let mut first = 0;
    let of_page = |page: &Vec<Document>| {
        let own = (0..page.len()).filter_map(|at| Some((at, all[*dropped.get(&(first + at))?])));
        let own = own.map(|(at, kept)| (at, likeness(&page[at], kept))).collect();
        first += page.len();
        own
    };
    pages.iter().map(of_page).collect()
}

/// The expected text of a page without its removed passages; `None` if nothing is left.
fn cut(page: &[Document], removed: &BTreeMap<usize, f64>) -> Option<String> {
    let mut rest = " ".to_string();
    for (at, passage) in page.iter().enumerate().filter(|(at, _)| !removed.contains_key(at)) {
        rest.push_str(&passage.text());
        if (at + 1..page.len()).any(|later| !removed.contains_key(&later)) {
            rest.push_str(BETWEEN);
        }
    }
    (removed.len() < page.len()).then(|| rest + "\n")
}

fn line(number: usize, text: &str) -> String {
    format!("{{\"n\":[{number},  1.50],\"text\":{},\"id\":\"p{number}\"}}\r\n", json!(text))
}

fn row(number: usize, text: &str) -> String {
    format!("\"p{number}\",\"{text}\",x\n")
}

/// The content of a file of pages; `text` returns the text of each page.
fn file(
    pages: &[Vec<Document>],
    record: fn(usize, &str) -> String,
    text: impl Fn(usize) -> Option<String>,
) -> String {
    (0..pages.len()).filter_map(|at| Some(record(at, &text(at)?))).collect()
}

#[test]
fn passages_are_cut_out_and_the_rest_stays_byte_for_byte() {
    let pages = pages(91);
    for confirm in [None, Some("0.8")] {
        assert_cut_out(&pages, confirm);
    }
}

fn assert_cut_out(pages: &[Vec<Document>], confirm: Option<&str>) {
    let removed = removed(pages, confirm.map(|it| it.parse().unwrap()));
    let near = near_args(confirm);
    let count = |is: fn(Option<String>) -> bool| -> usize {
        let cut = pages.iter().zip(&removed).filter(|(_, removed)| !removed.is_empty());
        cut.filter(|(page, removed)| is(cut_of(page, removed))).count()
    };
    fn cut_of(page: &[Document], removed: &BTreeMap<usize, f64>) -> Option<String> {
        cut(page, removed)
    }
    let (changed, whole) = (count(|rest| rest.is_some()), count(|rest| rest.is_none()));
    assert!(changed > 20 && whole > 10, "{changed} {whole}");
    for (name, head, record) in [
        ("in.jsonl", "\u{feff}\n", line as fn(usize, &str) -> String),
        ("in.jsonl.gz", "", line),
        ("in.csv", "id,text,x\n", row),
    ] {
        let dir = TestDir::new();
        let whole_text = |at: usize| Some(text(&pages[at]));
        let content = head.to_string() + &file(pages, record, whole_text);
        dir.write(name, compressed(name, content.as_bytes()));
        let cut = |at: usize| match removed[at].is_empty() {
            true => whole_text(at),
            false => cut(&pages[at], &removed[at]),
        };
        let expected = head.to_string() + &file(pages, record, cut);
        let args = ["clean", name, "--unit", "paragraph", "--passages", "cut", "-o"];
        let out = format!("out/{name}");
        let (_, err) = dir.run(&[&args[..], &["out/"], &near].concat(), 0);
        assert_eq!(String::from_utf8(decompressed(&dir, &out)).unwrap(), expected);
        assert!(
            err.contains(&format!("cut out of {changed} documents; {whole} documents removed"))
        );
        // A second cleaning finds no more near passages.
        let args = ["clean", &out, "--unit", "paragraph", "--list"];
        let (_, err) = dir.run(&[&args[..], &near].concat(), 0);
        assert!(err.contains(" 0 passages removed"), "{err}");
    }
}

#[test]
fn documents_go_by_the_part_of_them_that_is_repeated() {
    let pages = pages(92);
    let removed = removed(&pages, Some(0.8));
    let part = |at: usize| {
        let len = |of: usize| pages[at][of].text().chars().count();
        let gone: usize = removed[at].keys().map(|&of| len(of)).sum();
        gone as f64 / (0..pages[at].len()).map(len).sum::<usize>() as f64
    };
    let dir = TestDir::new();
    fs::create_dir(dir.path("in")).unwrap();
    dir.write("in/a.jsonl", file(&pages, line, |at| Some(text(&pages[at]))));
    for least in ["0.01", "0.5", "1"] {
        let stays = |at: usize| part(at) < least.parse().unwrap();
        let fate = format!("drop:{least}");
        let args = ["clean", "in", "--unit", "paragraph", "--passages", &fate];
        dir.run(&[&args[..], &["-o", &fate]].concat(), 0);
        let expected = file(&pages, line, |at| stays(at).then(|| text(&pages[at])));
        assert_eq!(dir.read(&format!("{fate}/a.jsonl")), expected);
    }
    // If each file is one document, files are listed instead of copied.
    fs::remove_file(dir.path("in/a.jsonl")).unwrap();
    let name = |at: usize| format!("in/{at:03}.txt");
    for (at, page) in pages.iter().enumerate() {
        dir.write(&name(at), text(page));
    }
    let args = ["clean", "in", "--unit", "paragraph", "--passages", "drop:0.5"];
    dir.run(&[&args[..], &["-o", "whole"]].concat(), 0);
    let kept = (0..pages.len()).filter(|&at| part(at) < 0.5);
    let expected: String = kept.map(|at| name(at) + "\n").collect();
    assert_eq!(dir.read_names("whole"), expected);
    let args = ["clean", "in", "--unit", "paragraph", "--passages", "cut", "-o", "cut"];
    let (_, err) = dir.run(&args, 2);
    assert!(err.contains("000.txt: it is one document, and has no records"), "{err}");
}

#[test]
fn attributes_name_the_places_of_removed_passages() {
    let pages = pages(93);
    for confirm in [None, Some("0.8")] {
        assert_annotated(&pages, confirm);
    }
}

fn assert_annotated(pages: &[Vec<Document>], confirm: Option<&str>) {
    let removed = removed(pages, confirm.map(|it| it.parse().unwrap()));
    let near = near_args(confirm);
    let dir = TestDir::new();
    fs::create_dir(dir.path("in")).unwrap();
    dir.write("in/a.jsonl", file(pages, line, |at| Some(text(&pages[at]))));
    let expected = |first: usize| -> Vec<Value> {
        let page = |at: usize| {
            let span = |(&of, &likeness): (&usize, &f64)| {
                let passage = &pages[at][of];
                let before = pages[at][..of].iter().map(|it| it.text().len() + BETWEEN.len());
                let start = 1 + before.sum::<usize>();
                json!([start, start + passage.text().len(), likeness])
            };
            let spans: Vec<Value> = removed[at].iter().map(span).collect();
            json!({ "id": format!("p{at}"), "attributes": { "fpstore_near": spans } })
        };
        (first..pages.len()).map(page).collect()
    };
    let args = ["clean", "in", "--unit", "paragraph", "--passages", "annotate"];
    let (_, err) = dir.run(&[&args[..], &["-o", "out"], &near].concat(), 0);
    let marked = removed.iter().filter(|removed| !removed.is_empty()).count();
    assert!(err.contains(&format!("{marked} documents have marked passages")), "{err}");
    let lines = |name: &str| -> Vec<Value> {
        dir.read(name).lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    };
    // Both values are formatted and parsed again, because parsing a printed number can change its
    // last bit.
    let parsed = |line: &Value| serde_json::from_str(&line.to_string()).unwrap();
    let expected: Vec<Value> = expected(0).iter().map(parsed).collect();
    assert_eq!(lines("out/a.jsonl"), expected);
    // For formats other than JSON Lines, and for files of a single document, the attributes are in
    // a separate file.
    dir.write("in/b.csv", format!("id,text,x\n{}", row(0, &text(&pages[0]))));
    dir.write("in/c.txt", text(&pages[0]));
    dir.run(&[&args[..], &["-o", "all"], &near].concat(), 0);
    let spans = |name: &str| lines(name)[0]["attributes"]["fpstore_near"].as_array().unwrap().len();
    let [csv, txt] = ["all/b.csv.jsonl", "all/c.txt.jsonl"].map(spans);
    assert_eq!((csv, txt), (pages[0].len(), pages[0].len()));
}

#[test]
fn attributes_in_one_file_are_compressed_as_its_name_says() {
    let dir = TestDir::new();
    let lines = "{\"id\":1,\"text\":\"one two\"}\n{\"id\":2,\"text\":\"one two\"}\n";
    for name in ["a.jsonl", "b.jsonl.gz", "c.jsonl.zst"] {
        dir.write(name, compressed(name, lines.as_bytes()));
    }
    dir.write("d.csv", "id,text\n1,one two\n2,one two\n");
    let expected = "{\"attributes\":{\"fpstore_near\":[]},\"id\":\"1\"}\n\
                    {\"attributes\":{\"fpstore_near\":[[0,7,1.0]]},\"id\":\"2\"}\n";
    let args = ["clean", "--unit", "line", "--passages", "annotate", "-q", "-f"];
    for docs in ["a.jsonl", "b.jsonl.gz", "c.jsonl.zst", "d.csv"] {
        for output in ["x.jsonl", "x.jsonl.gz", "x.jsonl.zst"] {
            dir.run(&[&args[..], &[docs, "-o", output]].concat(), 0);
            let found = String::from_utf8(decompressed(&dir, output)).unwrap();
            assert_eq!(found, expected, "{docs} to {output}");
        }
    }
    // In an output folder, files with the name of an input are compressed like the input; files
    // with a new name are not.
    fs::create_dir(dir.path("in")).unwrap();
    for name in ["b.jsonl.gz", "d.csv"] {
        fs::copy(dir.path(name), dir.path("in").join(name)).unwrap();
    }
    dir.run(&[&args[..], &["in", "-o", "out"]].concat(), 0);
    assert_eq!(decompressed(&dir, "out/b.jsonl.gz").len(), expected.len());
    assert_eq!(dir.read("out/d.csv.jsonl").lines().count(), 2);
}

#[test]
fn the_text_is_cut_in_the_field_that_was_guessed_or_lies_deeper() {
    let line = |at: usize| {
        let text = json!(format!("the same words in both of these\n\nown {at}"));
        format!("{{\"id\":{at},\"content\":{text},\"m\":{{\"t\":{text}}}}}\n")
    };
    let dir = TestDir::with("a.jsonl", &(line(0) + &line(1)));
    let args = ["clean", "a.jsonl", "--unit", "paragraph", "--passages", "cut", "-q"];
    for (field, name) in [(&[][..], "content"), (&["--text-field", "m.t"], "t")] {
        dir.run(&[&args[..], field, &["-f", "-o", "out.jsonl"]].concat(), 0);
        let cut = line(1).replacen(
            &format!("\"{name}\":\"the same words in both of these\\n\\nown 1\""),
            &format!("\"{name}\":\"own 1\""),
            1,
        );
        assert_ne!(cut, line(1));
        assert_eq!(dir.read("out.jsonl"), line(0) + &cut);
    }
}

#[test]
fn what_does_not_fit_passages_is_refused_before_any_work() {
    let dir = TestDir::with("a.jsonl", "{\"id\":\"a\",\"text\":[\"one\",\"two\"]}\n");
    let cut = ["--unit", "line", "--passages", "cut", "-o", "out.jsonl"];
    for (args, told) in [
        (&["--unit", "line", "-o", "out.jsonl"][..], "--passages cut"),
        (&["--passages", "cut", "-o", "out.jsonl"], "--unit"),
        (&["--unit", "line", "--passages", "drop:2", "-o", "o"], "a part above 0 and at most 1"),
        (&["--unit", "line", "--passages", "cut", "--list"], "--list"),
        (&[&cut[..], &["--text-field", "text[]"]].concat(), "joined from arrays"),
        (&[&cut[..], &["--text-format", "html"]].concat(), "its texts are markup"),
    ] {
        let output = dir.output(&[&["clean", "a.jsonl"], args].concat(), "");
        assert_eq!(output.status.code(), Some(2), "{args:?}");
        let err = String::from_utf8(output.stderr).unwrap();
        assert!(err.contains(told), "{told}: {err}");
        dir.assert_files(&["a.jsonl"]);
    }
}

#[test]
fn a_store_knows_its_passages_and_is_compared_with_no_others() {
    let pages = pages(94);
    let dir = TestDir::new();
    dir.write("a.jsonl", file(&pages, line, |at| Some(text(&pages[at]))));
    let count: usize = pages.iter().map(Vec::len).sum();
    for (unit, store) in [(&["--unit", "paragraph"][..], "parts.fps"), (&[], "whole.fps")] {
        dir.run(&[&["build", "--docs", "a.jsonl", "-q", "-s", store], unit].concat(), 0);
    }
    let (_, err) = dir.run(&["clean", "a.jsonl", "--list", "-s", "parts.fps"], 0);
    assert!(err.contains(&format!("{count} passages: 0 passages kept")), "{err}");
    dir.run(&["add", "--docs", "a.jsonl", "-s", "parts.fps"], 0);
    let (_, err) = dir.run(&["info", "-s", "parts.fps"], 0);
    assert_eq!(err, "");
    for (args, told) in [
        (&["-s", "parts.fps", "--unit", "line"][..], "leave out --unit, or use --unit paragraph"),
        (&["-s", "parts.fps", "--recipe", "minhash"], "passages with it, use --unit paragraph"),
        (&["-s", "whole.fps", "--unit", "line"], "contains whole documents"),
    ] {
        let args = &[&["clean", "a.jsonl", "--list"], args].concat();
        let (_, err) = dir.run(args, 2);
        assert!(err.contains("recipes differ: ") && err.contains(told), "{told}: {err}");
    }
    let (_, err) = dir.run(&["add", "--docs", "a.jsonl", "-s", "whole.fps", "--unit", "line"], 2);
    assert!(err.contains("only the given recipe has unit=line"), "{err}");
}
