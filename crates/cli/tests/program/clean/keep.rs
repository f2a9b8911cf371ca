//! Tests `clean --keep` with several rules, applied in order.

use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::fs;

use super::{documents, near_args, removed};
use crate::common::documents::Document;
use crate::common::program::{TestDir, text};

const SOURCES: [&str; 4] = ["curated", "wiki", "crawl", ""];

fn source_of(at: usize) -> &'static str {
    SOURCES[at * 7 % 4]
}

/// Every fifth document has no quality, and every fourth no source.
fn quality_of(at: usize, document: &Document) -> Option<u64> {
    document.score.filter(|_| !at.is_multiple_of(5)).map(|score| score % 4)
}

fn line(at: usize, document: &Document, source_field: &str) -> String {
    let quality = quality_of(at, document).map_or("null".into(), |quality| quality.to_string());
    format!(
        "{{\"id\":\"{}\",\"{source_field}\":\"{}\",\"meta\":{{\"q\":{quality}}},\"text\":\"{}\"}}\n",
        document.id,
        source_of(at),
        document.text()
    )
}

#[test]
fn rules_decide_one_after_the_other() {
    let documents = documents(240, 40);
    let dir = TestDir::new();
    let lines = |field: &str, stays: &dyn Fn(usize) -> bool| -> String {
        let stay = documents.iter().enumerate().filter(|(at, _)| stays(*at));
        stay.map(|(at, document)| line(at, document, field)).collect()
    };
    dir.write("docs.jsonl", lines("source", &|_| true));
    dir.write("other.jsonl", lines("origin", &|_| true));
    let place = |at: usize| SOURCES[..2].iter().position(|source| *source == source_of(at));
    let source = |at: usize| place(at).unwrap_or(2);
    let best = |at: usize, document: &Document| Reverse(quality_of(at, document));
    let longest = |document: &Document| Reverse(document.text().len());
    let mut results = BTreeSet::new();
    for confirm in [None, Some(0.7)] {
        for (rules, removed) in [
            (
                "source:curated,wiki,best:meta.q,longest",
                removed(&documents, confirm, |at, it| (source(at), best(at, it), longest(it))),
            ),
            (
                "best:meta.q,source:curated,wiki,last",
                removed(&documents, confirm, |at, it| (best(at, it), source(at), Reverse(at))),
            ),
            (
                "longest,newest:meta.q,first",
                removed(&documents, confirm, |at, it| (longest(it), best(at, it))),
            ),
        ] {
            let mut args = vec!["clean", "docs.jsonl", "--keep", rules, "-q"];
            let similarity = confirm.map(|is| is.to_string());
            args.extend(near_args(similarity.as_deref()));
            dir.run(&[&args[..], &["-o", "kept.jsonl", "-f"]].concat(), 0);
            let kept = lines("source", &|at| !removed.contains_key(&at));
            assert!(dir.read("kept.jsonl") == kept, "{rules}");
            args[1] = "other.jsonl";
            args.extend(["--source-field", "origin", "-o", "kept.jsonl", "-f"]);
            dir.run(&args, 0);
            let kept = lines("origin", &|at| !removed.contains_key(&at));
            assert!(dir.read("kept.jsonl") == kept, "{rules}");
            results.insert(fs::read(dir.path("kept.jsonl")).unwrap());
        }
    }
    assert_eq!(results.len(), 6);
    for (rules, part) in [
        ("longest,first,last", "'last' comes after 'first', which already decides every tie"),
        ("longest,wiki", "expected first, last, longest, newest:FIELD, best:FIELD or source:A,B"),
        ("source:Curated,Wiki", "no document has one of the sources"),
        (
            "longest,best:meta.z",
            "no document has the field 'meta.z', which the rule 'best:meta.z' needs",
        ),
    ] {
        let args = ["clean", "docs.jsonl", "--keep", rules, "-o", "x.jsonl", "-f"];
        let output = dir.output(&args, "");
        let err = text(output.stderr);
        assert!(output.status.code() == Some(2) && err.contains(part), "{rules}: {err}");
    }
}
