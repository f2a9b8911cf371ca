//! Tests the report of losses of a cleaning, and `--max-loss`, which stops a cleaning that removes
//! too much.

use std::collections::BTreeMap;
use std::fs;

use super::{documents, removed};
use crate::common::documents::{Document, json_lines};
use crate::common::program::{TestDir, names_in, text};

/// A folder with three files, and the positions of the documents that a cleaning removes. Some
/// documents of the first two files are near-duplicates; the third file has copies of a template.
struct Site {
    dir: TestDir,
    documents: Vec<Document>,
    removed: BTreeMap<usize, usize>,
}

const NAMES: [&str; 3] = ["a.jsonl", "b.jsonl", "c.jsonl"];

/// The number of the file that contains the document at a position.
fn file_of(at: usize) -> usize {
    [120, 240].iter().filter(|start| at >= **start).count()
}

fn source_of(at: usize) -> &'static str {
    ["web", "books", ""][at % 3]
}

fn site() -> Site {
    let mut documents = documents(240, 50);
    let template = |at: usize| {
        let mut words: Vec<String> = (0..80).map(|word| format!("t{word}")).collect();
        words[40] = format!("own{at}");
        Document::of(format!("t{at}"), words)
    };
    documents.extend((0..130).map(template));
    let dir = TestDir::new();
    for (file, name) in NAMES.iter().enumerate() {
        let own = documents.iter().enumerate().filter(|(at, _)| file_of(*at) == file);
        let line = |(at, document): (usize, &Document)| {
            let line = json_lines(std::slice::from_ref(document));
            line.replacen('{', &format!("{{\"from\":\"{}\",", source_of(at)), 1)
        };
        dir.write(&format!("in/{name}"), own.map(line).collect::<String>());
    }
    let removed = removed(&documents, Some(0.8), |_, _| 0);
    Site { dir, documents, removed }
}

impl Site {
    /// Counts the documents for which `is_of` is true, and the removed ones among them.
    fn counted(&self, is_of: impl Fn(usize) -> bool) -> (usize, usize) {
        let all = (0..self.documents.len()).filter(|&at| is_of(at)).count();
        (all, self.removed.keys().filter(|&&at| is_of(at)).count())
    }
}

#[test]
fn losses_are_counted_by_file_and_by_source() {
    let site = site();
    let args = ["clean", "in", "--source-field", "from", "-o", "out"];
    let args = [&args[..], &["--losses", "losses.tsv"]].concat();
    let (_, err) = site.dir.run(&args, 0);
    let mut expected = Vec::new();
    let mut expect = |kind: &str, name: &str, (documents, removed): (usize, usize)| {
        expected.push(format!("{kind}\t{name}\t{documents}\t{removed}\t0\n"));
    };
    expect("all", "", site.counted(|_| true));
    for (file, name) in NAMES.iter().enumerate() {
        expect("file", name, site.counted(|at| file_of(at) == file));
    }
    for source in ["", "books", "web"] {
        expect("source", source, site.counted(|at| source_of(at) == source));
    }
    assert_eq!(site.dir.read("losses.tsv"), expected.concat());
    // The third file has copies of a template: all but the first are removed.
    let (all, gone) = site.counted(|at| file_of(at) == 2);
    assert_eq!((all, gone), (130, 129));
    for part in [
        "judged by Jaccard similarity 0.8 or more, computed from all features",
        " 99.2 % removed:         129 of         130  c.jsonl\n",
        "130 documents in a cluster of 't0': t0 t1 t2 t3",
        "warning: c.jsonl lost 99.2 % (129 of 130); see the largest clusters\n",
    ] {
        assert!(err.contains(part), "{part}: {err}");
    }
    assert_eq!(err.matches("in a cluster of").count(), largest(&site).len());
    let sizes: Vec<String> =
        largest(&site).iter().map(|size| format!("{size} documents in a cluster of")).collect();
    let places: Vec<usize> = sizes.iter().map(|size| err.find(size).expect(size)).collect();
    assert!(places.is_sorted(), "{err}");
    // With `-q` the report is not printed.
    let (_, err) = site.dir.run(&[&args[..], &["-f", "-q"]].concat(), 0);
    assert_eq!(err, "");
    assert_eq!(site.dir.read("losses.tsv"), expected.concat());
}

/// The sizes of the largest clusters, kept documents included.
fn largest(site: &Site) -> Vec<usize> {
    let mut sizes: BTreeMap<usize, usize> = BTreeMap::new();
    site.removed.values().for_each(|&kept| *sizes.entry(kept).or_insert(1) += 1);
    let mut sizes: Vec<usize> = sizes.into_values().filter(|&size| size >= 10).collect();
    sizes.sort_unstable();
    sizes.reverse();
    sizes.truncate(10);
    sizes
}

#[test]
fn too_large_a_loss_stops_before_anything_is_written() {
    let site = site();
    let dir = &site.dir;
    dir.write("old.jsonl", "{\"id\":\"old\",\"text\":\"one two three four five\"}\n");
    for store in ["s.fps", "t.fps"] {
        dir.ok(&["build", "--docs", "old.jsonl", "-s", store, "-k", "7", "-q"], "");
    }
    let args = ["clean", "in", "--within", "--add", "--removed", "r.tsv", "-q"];
    let run =
        |store: &'static str, out: &'static str| [&args[..], &["-s", store, "-o", out]].concat();
    dir.run(&[&run("t.fps", "whole")[..], &["-f"]].concat(), 0);
    let removed = dir.read("r.tsv");
    fs::remove_file(dir.path("r.tsv")).unwrap();

    let before = dir.json(&["info", "-s", "s.fps"]);
    let limited = |limit: &'static str| [&run("s.fps", "out")[..], &["--max-loss", limit]].concat();
    let (out, err) = dir.run(&limited("50%"), 2);
    assert_eq!(out, "");
    for part in [
        "c.jsonl would lose 99.2 % (129 of 130), but only 50 % is allowed",
        "with a higher --max-loss",
    ] {
        assert!(err.contains(part), "{part}: {err}");
    }
    assert_eq!(names_in(&dir.path("out")), [".fpstore-dedup"]);
    assert!(!dir.path("r.tsv").exists());
    assert_eq!(dir.json(&["info", "-s", "s.fps"]), before);
    // The job continues with another limit: the limit is no setting that identifies a job.
    let loud: Vec<&str> = limited("0.9").into_iter().filter(|arg| *arg != "-q").collect();
    let (_, err) = dir.run(&loud, 2);
    assert!(err.contains("1 of 1 parts of the input are read"), "{err}");
    assert!(err.contains("130 documents in a cluster of 't0'"), "{err}");
    dir.run(&limited("100%"), 0);
    assert_eq!(names_in(&dir.path("out")), NAMES);
    for name in NAMES {
        let read = |folder: &str| dir.read(&format!("{folder}/{name}"));
        assert!(read("out") == read("whole"), "{name}");
    }
    assert_eq!(dir.read("r.tsv"), removed);
    let ids = |store: &str| dir.json(&["info", "-s", store])["ids"].clone();
    assert_eq!(ids("s.fps"), ids("t.fps"));

    for (more, part) in [
        (&["--max-loss", "50"][..], "expected a share of the documents, such as 50% or 0.5"),
        (&["--max-loss", "50%", "--annotate", "copy_of"], "annotated documents are kept"),
    ] {
        let output = dir.output(&[&["clean", "in", "-o", "x"], more].concat(), "");
        let err = text(output.stderr);
        assert!(output.status.code() == Some(2) && err.contains(part), "{err}");
    }
    let err = String::from_utf8(dir.output(&["dedup", "old.tsv", "--max-loss", "50%"], "").stderr)
        .unwrap();
    assert!(err.contains("'fpstore clean' cleans documents, and has --max-loss"), "{err}");
}

/// `--max-loss` also limits `--list`. For records of fingerprints no table of files is printed.
#[test]
fn a_list_has_a_limit_of_its_loss() {
    let site = site();
    let list = |limit: &'static str, status| {
        site.dir.run(&["clean", "in", "--list", "--max-loss", limit], status)
    };
    let (out, err) = list("20%", 2);
    assert_eq!(out, "");
    assert!(err.contains("would lose"), "{err}");
    let (out, _) = list("100%", 0);
    assert_eq!(out.lines().count(), site.documents.len() - site.removed.len());
}

/// If each document is a file, no table of files is printed, because it would have one row for each
/// document.
#[test]
fn files_that_are_documents_are_no_rows() {
    let dir = TestDir::new();
    for at in 0..4 {
        dir.write(&format!("in/{at}.txt"), "one two three four five six");
    }
    let (_, err) = dir.run(&["clean", "in", "-o", "out/", "--losses", "l.tsv"], 0);
    assert_eq!(dir.read("l.tsv"), "all\t\t4\t3\t0\n");
    assert!(!err.contains("warning") && !err.contains(".txt"), "{err}");
}
