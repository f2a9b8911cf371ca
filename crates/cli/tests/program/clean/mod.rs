//! Tests `clean`: which documents are kept, and that their copies are equal byte for byte.

mod clusters;
mod contained;
mod copies;
mod damaged;
mod dry_run;
pub mod formats;
mod judged;
mod keep;
mod losses;
mod manifest;
mod output_names;
mod passages;
mod reasons;
mod refusals;
mod report_page;
mod rounds;
mod target;
mod usual;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::Read;

use fpstore_text::TextRecipe;

#[cfg(unix)]
use crate::common::Random;
use crate::common::documents::{self, Document};
use crate::common::oracle;
use crate::common::program::{TestDir, names_in, with_slashes};
use formats::{CSV, JSON_LINES, TSV, archived, compressed, decompressed, expected, record_of};

/// Test documents, many of them near-duplicates or equal.
fn documents(count: usize, seed: u64) -> Vec<Document> {
    documents::documents(count, seed, 40, 3)
}

fn are_near(one: &Document, other: &Document, threshold: Option<f64>) -> bool {
    match threshold {
        Some(threshold) => one.similarity(other) >= threshold,
        None => {
            let k = TextRecipe::default().usual_k();
            oracle::distance(one.fingerprint, other.fingerprint) <= k
        }
    }
}

/// The options by which `clean` uses the criterion of these tests: similarity, else distance.
fn near_args(confirm: Option<&str>) -> [&str; 2] {
    confirm.map_or(["-k", "7"], |is| ["--confirm", is])
}

/// The expected result: for each removed document the kept document. Of near-duplicates, the
/// document with the smallest key is kept.
fn removed<K: Ord>(
    documents: &[Document],
    threshold: Option<f64>,
    key: impl Fn(usize, &Document) -> K,
) -> BTreeMap<usize, usize> {
    let mut order: Vec<usize> = (0..documents.len()).collect();
    order.sort_by_key(|&at| (key(at, &documents[at]), at));
    let near = |one: usize, other: usize| are_near(&documents[one], &documents[other], threshold);
    oracle::dropped(0..0, order, near)
}

#[test]
fn web_archives_are_cleaned_record_by_record() {
    let documents = documents(120, 24);
    let other = |at: usize| record_of("request", &format!("r{at}"), "application/http", "GET /");
    let gone = record_of("response", "gone", "application/http", "HTTP/1.1 404 No\r\n\r\n");
    let info = record_of("warcinfo", "i", "application/warc-fields", "software: x\r\n");
    let removed = removed(&documents, Some(0.8), |_, _| 0);
    let file = |stays: &dyn Fn(usize) -> bool| {
        let records = documents.iter().enumerate().map(|(at, document)| {
            let own = if stays(at) { archived(at, document) } else { String::new() };
            format!("{}{own}", other(at))
        });
        format!("{info}{}{gone}", records.collect::<String>())
    };
    for name in ["a.warc", "a.warc.gz"] {
        let dir = TestDir::new();
        dir.write(&format!("in/{name}"), compressed(name, file(&|_| true).as_bytes()));
        let args = ["clean", "in", "--confirm", "0.8", "-o", "out", "--removed", "r.tsv"];
        let (_, err) = dir.run(&args, 0);
        assert!(err.contains("skipped 1 response that is not a page or text"), "{err}");
        // The similarity column is not compared: the titles differ, so similarities do, too.
        let rows = dir.read("r.tsv");
        let ids: BTreeSet<&str> =
            rows.lines().map(|line| line.split('\t').nth(4).unwrap()).collect();
        assert!(ids.len() * 10 > removed.len() * 8, "{} of {}", ids.len(), removed.len());
        let stays = |at: usize| !ids.contains(documents[at].id.as_str());
        let out = format!("out/{name}");
        assert!(decompressed(&dir, &out) == file(&stays).as_bytes());
        if name.ends_with(".gz") {
            // In the copy, each record is a separate member of the archive.
            let bytes = fs::read(dir.path(&out)).unwrap();
            let mut first = String::new();
            flate2::read::GzDecoder::new(&bytes[..]).read_to_string(&mut first).unwrap();
            assert_eq!(first, info);
        }
    }
}

#[test]
fn records_without_ids_go_by_their_lines() {
    let lines = ["{\"text\":\"<b>one</b> two three\"}\n", "{\"text\":\"one two three\"}\n"];
    let dir = TestDir::with("a.jsonl", &lines.concat());
    let (_, err) = dir.run(&["clean", "a.jsonl", "-o", "b.jsonl"], 2);
    assert!(err.contains("--line-ids"), "{err}");
    let args = ["clean", "a.jsonl", "--line-ids", "--removed", "r.tsv", "-o", "b.jsonl"];
    dir.run(&args, 0);
    assert_eq!(dir.read("r.tsv"), "");
    dir.run(&[&args[..], &["--text-format", "html", "-f"]].concat(), 0);
    assert!(dir.read("r.tsv").contains("\t2\t1\tnew"), "{}", dir.read("r.tsv"));
    assert_eq!(dir.read("b.jsonl"), lines[0]);
}

#[test]
fn what_is_kept_is_the_same_bytes_in_every_format_and_compression() {
    let documents = documents(240, 17);
    for (confirm, threads) in [(None, "1"), (Some("0.8"), "2")] {
        let threshold = confirm.map(|text| text.parse().unwrap());
        let removed = removed(&documents, threshold, |_, _| 0);
        assert!(removed.len() > 50);
        for format in [JSON_LINES, CSV, TSV] {
            for ending in ["", ".gz", ".zst"] {
                let dir = TestDir::new();
                let parts = [0..100, 100..100, 100..240];
                let name = |part: usize| format!("in/{}/docs.{}{ending}", part % 2, format.end);
                let names = [name(0), name(1).replace("docs", "none"), name(1)];
                for (part, name) in parts.clone().into_iter().zip(&names) {
                    let bytes = format.file(&documents[part], |_| true);
                    dir.write(name, compressed(name, &bytes));
                }
                let mut args = vec!["clean", "in", "-o", "out/", "--removed", "r.tsv"];
                args.extend(["--threads", threads]);
                args.extend(near_args(confirm));
                let (out, err) = dir.run(&args, 0);
                let counts = format!("{} documents removed", removed.len());
                assert!(out.is_empty() && err.contains(&counts), "{err}");
                for (part, name) in parts.into_iter().zip(&names) {
                    let stays = |at: usize| !removed.contains_key(&(part.start + at));
                    let expected = expected(&format, &documents[part.clone()], stays);
                    let found = decompressed(&dir, &name.replace("in/", "out/"));
                    assert!(found == expected, "{name}");
                }
                let rows = dir.read("r.tsv");
                for (line, (&at, &kept)) in rows.lines().zip(&removed) {
                    let columns: Vec<&str> = line.split('\t').collect();
                    let [own, other, distance, similarity, id, kept_id, "new", _] = columns[..]
                    else {
                        panic!("{line}")
                    };
                    let (document, kept) = (&documents[at], &documents[kept]);
                    assert_eq!(id, document.id);
                    assert_eq!(own, format!("{:016x}", document.fingerprint));
                    // The list may contain any kept document near the removed one.
                    let of = documents.iter().find(|document| document.id == kept_id).unwrap();
                    assert!(are_near(of, document, threshold), "{line}, {}", kept.id);
                    assert_eq!(other, format!("{:016x}", of.fingerprint));
                    let bits = oracle::distance(of.fingerprint, document.fingerprint);
                    assert_eq!(distance, bits.to_string());
                    assert_eq!(similarity.is_empty(), confirm.is_none());
                }
                assert_eq!(rows.lines().count(), removed.len());
                assert_eq!(names_in(&dir.path("out")), ["0", "1"]);
            }
        }
    }
}

#[test]
fn the_rule_says_which_of_near_documents_is_kept() {
    let documents = documents(200, 18);
    let dir = TestDir::new();
    dir.write("docs.jsonl", JSON_LINES.file(&documents, |_| true));
    // Every third record has no score.
    let score = |at: usize, document: &Document| if at % 3 == 2 { None } else { document.score };
    let largest = |at, document: &Document| std::cmp::Reverse(score(at, document));
    let longest = |document: &Document| std::cmp::Reverse(document.text().len());
    let mut results = BTreeSet::new();
    for (rule, removed) in [
        ("first", removed(&documents, Some(0.7), |_, _| 0)),
        ("last", removed(&documents, Some(0.7), |at, _| std::cmp::Reverse(at))),
        ("longest", removed(&documents, Some(0.7), |_, document| longest(document))),
        ("best:score", removed(&documents, Some(0.7), largest)),
        ("newest:score", removed(&documents, Some(0.7), largest)),
    ] {
        let args = ["clean", "docs.jsonl", "--confirm", "0.7", "--keep", rule];
        dir.run(&[&args[..], &["-o", "kept.jsonl", "-f"]].concat(), 0);
        let stays = |at: usize| !removed.contains_key(&at);
        let kept = fs::read(dir.path("kept.jsonl")).unwrap();
        assert!(kept == expected(&JSON_LINES, &documents, stays), "{rule}");
        let list = dir.ok(&[&args[..], &["--list", "-q"]].concat(), "");
        let ids: Vec<&str> = list.lines().map(|line| line.split('\t').nth(1).unwrap()).collect();
        let kept_ids = documents.iter().enumerate().filter(|(at, _)| stays(*at));
        assert_eq!(ids, kept_ids.map(|(_, document)| document.id.as_str()).collect::<Vec<_>>());
        results.insert(kept);
    }
    assert_eq!(results.len(), 4);
    let bad = ["clean", "docs.jsonl", "--keep", "newest:text", "-o", "x.jsonl"];
    let (_, err) = dir.run(&bad, 2);
    assert!(
        err.contains("'text' is ") && err.contains(", expected a date such as 2026-11-22"),
        "{err}"
    );
}

/// The features of all candidates exceed the memory limit, so comparison takes rounds.
#[test]
fn large_documents_are_confirmed_in_rounds_with_the_same_result() {
    let documents = documents::documents(300, 23, 900, 69);
    let dir = TestDir::new();
    dir.write("docs.jsonl", JSON_LINES.file(&documents, |_| true));
    let last = removed(&documents, Some(0.8), |at, _| std::cmp::Reverse(at));
    assert!(last.len() > 50);
    let args = ["clean", "docs.jsonl", "--confirm", "0.8", "--keep", "last", "-q"];
    let to = ["-o", "kept.jsonl", "--removed", "removed.tsv"];
    dir.ok(&[&args[..], &to].concat(), "");
    let kept = fs::read(dir.path("kept.jsonl")).unwrap();
    assert!(kept == expected(&JSON_LINES, &documents, |at| !last.contains_key(&at)));
    for line in dir.read("removed.tsv").lines() {
        let fields: Vec<&str> = line.split('\t').collect();
        let of = |id: &str| id[1..].parse::<usize>().unwrap();
        let [removed, other] = [fields[4], fields[5]].map(of);
        assert_eq!(last[&removed], other, "{line}");
        let similarity = documents[removed].similarity(&documents[other]);
        assert_eq!(fields[3], format!("{similarity:.4}"), "{line}");
    }
}

#[test]
fn documents_are_marked_instead_of_removed() {
    let documents = documents(120, 19);
    let removed = removed(&documents, Some(0.8), |_, _| 0);
    let dir = TestDir::new();
    dir.write("docs.jsonl.gz", compressed("x.gz", &JSON_LINES.file(&documents, |_| true)));
    let args = ["clean", "docs.jsonl.gz", "--annotate", "copy_of", "-o", "out.jsonl.gz"];
    let (_, err) = dir.run(&args, 0);
    assert!(err.contains(&format!("{} documents marked", removed.len())), "{err}");
    let text = String::from_utf8(decompressed(&dir, "out.jsonl.gz")).unwrap();
    let lines = text.trim_start_matches('\u{feff}').lines().filter(|line| !line.is_empty());
    for ((at, document), line) in documents.iter().enumerate().zip(lines) {
        let object: serde_json::Value = serde_json::from_str(line).unwrap();
        assert_eq!(object["id"], *document.id);
        match removed.contains_key(&at) {
            true => {
                let id = object["copy_of"].as_str().unwrap();
                let of = documents.iter().find(|document| document.id == id).unwrap();
                assert!(are_near(of, document, Some(0.8)));
            }
            false => assert!(object["copy_of"].is_null()),
        }
    }
    // It is an error if documents already have the new field.
    let again = ["clean", "out.jsonl.gz", "--annotate", "copy_of", "-o", "x.jsonl.gz"];
    let (_, err) = dir.run(&again, 2);
    assert!(err.contains("line 1: field 'copy_of' exists already"), "{err}");
    assert!(!dir.path("x.jsonl.gz").exists());
}

#[test]
fn new_documents_are_compared_with_a_store_and_remembered() {
    let documents = documents(200, 20);
    let (old, new) = documents.split_at(80);
    let dir = TestDir::new();
    dir.write("old.jsonl", JSON_LINES.file(old, |_| true));
    dir.write("new/a.csv", CSV.file(new, |_| true));
    dir.ok(&["build", "--docs", "old.jsonl", "-s", "s.fps", "-q", "-k", "7"], "");
    let is_known = |document: &Document| old.iter().any(|other| are_near(other, document, None));
    let unknown: Vec<usize> = (0..new.len()).filter(|&at| !is_known(&new[at])).collect();
    let rest: Vec<Document> = unknown.iter().map(|&at| new[at].clone()).collect();
    let again = removed(&rest, None, |_, _| 0);
    let kept: BTreeSet<usize> =
        (0..rest.len()).filter(|at| !again.contains_key(at)).map(|at| unknown[at]).collect();
    assert!(kept.len() < unknown.len() && unknown.len() < new.len());
    let args = ["clean", "new", "-s", "s.fps"];
    dir.run(&[&args[..], &["-o", "known", "--removed", "r.tsv"]].concat(), 0);
    let stays = |at| !is_known(&new[at]);
    assert!(fs::read(dir.path("known/a.csv")).unwrap() == CSV.file(new, stays));
    assert!(dir.read("r.tsv").lines().all(|line| line.ends_with("\tstored\tnear")));
    let adding = [&args[..], &["--within", "--add", "-o", "out"]].concat();
    let (_, err) = dir.run(&adding, 0);
    assert!(err.contains(&format!("{} documents kept and added", kept.len())), "{err}");
    let stays = |at| kept.contains(&at);
    assert!(fs::read(dir.path("out/a.csv")).unwrap() == CSV.file(new, stays));
    let count = dir.json(&["info", "-s", "s.fps"])["ids"].as_u64();
    assert_eq!(count, Some((old.len() + kept.len()) as u64));
    // In a second run, all documents are stored, so none is new.
    let (_, err) = dir.run(&[&args[..], &["-o", "none"]].concat(), 0);
    assert!(err.contains("0 documents kept"), "{err}");
    assert_eq!(fs::read(dir.path("none/a.csv")).unwrap(), CSV.head.as_bytes());
}

#[test]
fn files_that_are_documents_are_listed() {
    let documents = documents(40, 21);
    let removed = removed(&documents, Some(0.8), |_, _| 0);
    let dir = TestDir::new();
    for (at, document) in documents.iter().enumerate() {
        dir.write(&format!("in/{at:02}.txt"), document.text());
    }
    dir.run(&["clean", "in", "-o", "out/"], 0);
    let stays = |at: &usize| !removed.contains_key(at);
    let kept: Vec<usize> = (0..documents.len()).filter(stays).collect();
    let kept: String = kept.iter().map(|at| format!("in/{at:02}.txt\n")).collect();
    assert_eq!(dir.read_names("out/kept-files.txt"), kept);
    dir.run(&["clean", "in", "-o", "list.txt"], 0);
    assert_eq!(dir.read_names("list.txt"), kept);
    let (_, err) = dir.run(&["clean", "in", "-o", "x", "--annotate", "of"], 2);
    assert!(err.contains("have no fields"), "{err}");
}

#[test]
fn what_cannot_be_compared_stays() {
    let dir = TestDir::new();
    let long = "x".repeat(3000);
    let text = format!(
        "{{\"id\":1,\"text\":\"one two three four\"}}\nno json\n{{\"id\":2,\"text\":\"\"}}\n\
         {{\"id\":3,\"text\":\"one two three four\"}}\n{{\"id\":4,\"text\":\"{long}\"}}\n"
    );
    dir.write("a.jsonl", &text);
    let args = ["clean", "a.jsonl", "-o", "b.jsonl", "--max-document", "2KiB"];
    let (_, err) = dir.run(&args, 2);
    assert!(err.contains("a.jsonl: line 2") && err.contains("--skip-bad"), "{err}");
    // A command that fails at once leaves no files.
    dir.assert_files(&["a.jsonl"]);
    let (_, err) = dir.run(&[&args[..], &["--skip-bad"]].concat(), 0);
    assert!(
        err.contains("1 document without fingerprint and 2 bad records are kept unchanged"),
        "{err}"
    );
    let expected = text.replace("{\"id\":3,\"text\":\"one two three four\"}\n", "");
    assert_eq!(dir.read("b.jsonl"), expected);
    dir.assert_files(&["a.jsonl", "b.jsonl"]);
}

#[test]
fn an_output_that_would_do_harm_is_refused() {
    let dir = TestDir::with("in/a.jsonl", "{\"id\":1,\"text\":\"one two three\"}\n");
    dir.write("in/b/a.jsonl", "{\"id\":2,\"text\":\"four five six\"}\n");
    dir.write("out/a.jsonl", "precious");
    dir.write(
        "wide.jsonl",
        "{\"id\":1,\"text\":\"x\"}\n".encode_utf16().flat_map(u16::to_le_bytes).collect::<Vec<_>>(),
    );
    for (args, expected) in [
        (&["in"][..], "name the output for the kept documents with -o"),
        (&["in/a.jsonl", "-o", "in/a.jsonl"], "in/a.jsonl would be overwritten"),
        (&["in", "-o", "in"], "would be overwritten"),
        (&["in", "-o", "in/b/c"], "lies in in, whose files are read"),
        (&["in", "-o", "out"], "out/a.jsonl exists; to replace it"),
        (&["in/a.jsonl", "in/../in/a.jsonl", "-o", "new"], "name it once"),
        (&["-", "-o", "new"], "write it to a file first"),
        (&["missing", "-o", "new"], "missing"),
        (&["wide.jsonl", "-o", "new", "--encoding", "utf-16le"], "convert it to UTF-8 first"),
        (&["in", "-o", "new", "--keep", "best:score", "--docs-format", "lines"], "'score'"),
    ] {
        let (_, err) = dir.run(&[&["clean"], args].concat(), 2);
        assert!(with_slashes(&err).contains(expected), "{args:?}: {err}");
    }
    for (args, expected) in [
        (&["clean", "in/a.jsonl", "--keep", "longest"][..], "with -o"),
        (&["clean", "in/a.jsonl", "-s", "s.fps", "--keep", "last"], "add --within"),
    ] {
        let (_, err) = dir.run(args, 2);
        assert!(err.contains(expected), "{args:?}: {err}");
    }
    assert_eq!(dir.read("out/a.jsonl"), "precious");
    dir.run(&["clean", "in", "-o", "out", "-f"], 0);
    assert_eq!(dir.read("out/a.jsonl"), dir.read("in/a.jsonl"));
    assert_eq!(dir.read("out/b/a.jsonl"), dir.read("in/b/a.jsonl"));
}

/// If a killed command is repeated, it continues, and its result is the same as without the kill.
#[cfg(unix)]
#[test]
fn a_killed_command_goes_on_where_it_was() {
    let documents = documents(600, 22);
    let dir = TestDir::new();
    for (number, part) in documents.chunks(60).enumerate() {
        dir.write(&format!("in/{number}.jsonl"), JSON_LINES.file(part, |_| true));
        dir.write(&format!("in/{number}.csv"), CSV.file(part, |_| true));
    }
    let old: Vec<Document> = documents[..30].to_vec();
    dir.write("old.jsonl", JSON_LINES.file(&old, |_| true));
    dir.ok(&["build", "--docs", "old.jsonl", "-s", "s.fps", "-q", "-k", "7"], "");
    let args = ["clean", "in", "-s", "s.fps", "--within", "--add", "-q"];
    let run = |out: &'static str| [&args[..], &["-o", out, "--removed"]].concat();
    dir.run(&["export", "-s", "s.fps", "-o", "backup"], 0);
    let whole = [&run("whole")[..], &["whole.tsv"]].concat();
    dir.run(&whole, 0);
    let whole_info = dir.json(&["info", "-s", "s.fps"])["ids"].clone();
    let mut random = Random::new(23);
    let mut killed = 0;
    for round in 0..6 {
        fs::remove_dir_all(dir.path("s.fps")).unwrap();
        dir.ok(&["build", "--docs", "old.jsonl", "-s", "s.fps", "-q", "-k", "7"], "");
        let _ = fs::remove_dir_all(dir.path("out"));
        let _ = fs::remove_file(dir.path("out.tsv"));
        let part = [&run("out")[..], &["out.tsv"]].concat();
        for _ in 0..3 {
            let mut child = dir.command(&part).spawn().unwrap();
            std::thread::sleep(std::time::Duration::from_millis(random.next() % (40 + 40 * round)));
            let _ = child.kill();
            if child.wait().unwrap().success() {
                break;
            }
            killed += 1;
        }
        if dir.path("out/.fpstore-dedup/job.json").exists() || !dir.path("out.tsv").exists() {
            let output = dir.command(&part).output().unwrap();
            let told = String::from_utf8_lossy(&output.stderr).into_owned();
            // The kill may have come after the work was complete.
            let had_ended =
                told.contains("an earlier run of the same cleaning completed its outputs");
            assert!(output.status.success() || had_ended, "{told}");
        }
        // If the job had ended, a leftover folder without a description file can remain.
        let _ = fs::remove_dir_all(dir.path("out/.fpstore-dedup"));
        assert_eq!(names_in(&dir.path("out")), names_in(&dir.path("whole")));
        for name in names_in(&dir.path("whole")) {
            let read = |folder: &str| fs::read(dir.path(folder).join(&name)).unwrap();
            assert!(read("out") == read("whole"), "{name}");
        }
        assert_eq!(dir.read("out.tsv"), dir.read("whole.tsv"));
        assert_eq!(dir.json(&["info", "-s", "s.fps"])["ids"], whole_info);
    }
    assert!(killed > 0);
    // A stopped command, whose leftovers another command must not use.
    dir.run(&["clean", "in", "-o", "other", "-k", "5", "--removed", "/dev/full"], 2);
    let (_, err) = dir.run(&["clean", "in", "-o", "other"], 2);
    assert!(
        err.contains("holds unfinished work with other settings") && err.contains("--force"),
        "{err}"
    );
    dir.run(&["clean", "in", "-o", "other", "-f"], 0);
}
