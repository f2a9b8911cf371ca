//! Tests the reasons for which `clean` removes documents: an equal address, equal bytes, equal
//! tokens, or similarity.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use super::{are_near, documents, near_args, removed};
use crate::common::Random;
use crate::common::documents::Document;
use crate::common::program::TestDir;

/// A document: its text, and its address, given as the number of a page and a spelling of its URL.
struct Page {
    document: Document,
    text: String,
    address: Option<(u64, String)>,
}

fn pages(count: usize, seed: u64) -> Vec<Page> {
    let mut random = Random::new(seed);
    let spelled = |page: u64, number: u64| match number {
        0 => format!("http://Example.com/p/{page}"),
        1 => format!("https://example.com:443/p/{page}/#top"),
        2 => format!("HTTPS://example.COM/%70/{page}?utm_source=x&fbclid=y"),
        _ => format!("example.com/p/{page}"),
    };
    let page = |document: Document| {
        let text = match random.next() % 4 {
            0 => document.text().to_uppercase() + "!",
            1 => document.text().replace(' ', "  "),
            _ => document.text(),
        };
        let (number, spelling) = (random.next() % 90, random.next() % 3);
        let address = (number % 4 > 0).then(|| (number, spelled(number, spelling)));
        Page { document, text, address }
    };
    documents(count, seed).into_iter().map(page).collect()
}

fn lines(pages: &[Page]) -> Vec<String> {
    let line = |Page { document, text, address }: &Page| {
        let url = address.as_ref().map_or("null".into(), |(_, url)| format!("\"{url}\""));
        format!("{{\"id\":\"{}\",\"text\":\"{text}\",\"url\":{url}}}\n", document.id)
    };
    pages.iter().map(line).collect()
}

/// The removed documents, each with the kept document and the reason.
type Removed = BTreeMap<usize, (usize, &'static str)>;

fn reason_of(one: &Page, other: &Page, is_confirmed: bool) -> &'static str {
    match (one.text == other.text, one.document.words == other.document.words) {
        (true, _) => "bytes",
        (_, true) => "text",
        _ if is_confirmed => "confirmed",
        _ => "near",
    }
}

/// The expected result, computed by comparing all documents with each other.
fn expected(
    pages: &[Page],
    threshold: Option<f64>,
    by_address: bool,
    key: impl Fn(&Page) -> Reverse<usize>,
) -> Removed {
    let mut order: Vec<usize> = (0..pages.len()).collect();
    order.sort_by_key(|&at| (key(&pages[at]), at));
    let number = |at: usize| pages[at].address.as_ref().map(|(number, _)| *number);
    let (mut bests, mut namesakes, mut rest) = (BTreeMap::new(), Vec::new(), Vec::new());
    for at in order {
        match number(at).filter(|_| by_address) {
            Some(number) if bests.contains_key(&number) => namesakes.push((at, bests[&number])),
            number => {
                number.map(|number| bests.insert(number, at));
                rest.push(at);
            }
        }
    }
    let list: Vec<Document> = rest.iter().map(|&at| pages[at].document.clone()).collect();
    let near = removed(&list, threshold, |at, _| at);
    let of = |(at, kept): (&usize, &usize)| {
        let (at, kept) = (rest[*at], rest[*kept]);
        (at, (kept, reason_of(&pages[at], &pages[kept], threshold.is_some())))
    };
    let mut all: Removed = near.iter().map(of).collect();
    for (at, best) in namesakes {
        let kept = all.get(&best).map_or(best, |(kept, _)| *kept);
        all.insert(at, (kept, "address"));
    }
    all
}

/// Parses a list of removed documents: for each, the kept document and the reason.
fn listed(rows: &str) -> BTreeMap<usize, (usize, String)> {
    let of = |line: &str| {
        let columns: Vec<&str> = line.split('\t').collect();
        let [_, _, _, _, id, other, "new", reason] = columns[..] else { panic!("{line}") };
        let number = |id: &str| id[1..].parse::<usize>().unwrap();
        (number(id), (number(other), reason.to_string()))
    };
    rows.lines().map(of).collect()
}

#[test]
fn each_removed_document_goes_by_the_first_reason_that_holds() {
    let pages = pages(300, 70);
    let lines = lines(&pages);
    let dir = TestDir::with("in/docs.jsonl", &lines.concat());
    for (confirm, keep, by_address) in [
        (None, "first", false),
        (None, "first", true),
        (None, "longest", true),
        (Some("0.8"), "first", true),
        (Some("0.8"), "longest", true),
        (Some("0.8"), "longest", false),
    ] {
        let longest = |page: &Page| Reverse(if keep == "longest" { page.text.len() } else { 0 });
        let threshold = confirm.map(|is| is.parse().unwrap());
        let expected = expected(&pages, threshold, by_address, longest);
        let mut args = vec!["clean", "in", "--keep", keep, "-o", "out/", "-f"];
        args.extend(near_args(confirm));
        args.extend(by_address.then_some(["--url-field", "url"]).into_iter().flatten());
        args.extend(["--removed", "r.tsv"]);
        let (_, err) = dir.run(&args, 0);
        let found = listed(&dir.read("r.tsv"));
        let case = format!("{confirm:?} {keep} {by_address}");
        assert!(found.keys().eq(expected.keys()), "{case}");
        for (at, (kept, reason)) in &found {
            if threshold.is_some() {
                assert_eq!((*kept, reason.as_str()), expected[at], "{case}: {at}");
                continue;
            }
            // Any near document may be named as the kept one, but it must be kept.
            assert!(!found.contains_key(kept), "{case}: {at}");
            if reason != "address" {
                assert!(are_near(&pages[*at].document, &pages[*kept].document, None));
                assert_eq!(reason, reason_of(&pages[*at], &pages[*kept], false), "{case}: {at}");
            } else {
                assert_eq!(expected[at].1, "address", "{case}: {at}");
            }
        }
        let kept: String =
            (0..pages.len()).filter(|at| !found.contains_key(at)).map(|at| &*lines[at]).collect();
        assert_eq!(dir.read("out/docs.jsonl"), kept, "{case}");
        let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
        found.values().for_each(|(_, reason)| *counts.entry(reason).or_default() += 1);
        let names = ["address", "bytes", "text", "near", "confirmed"];
        let told = names.iter().filter_map(|name| Some(format!("{name} {}", counts.get(name)?)));
        let told = format!("removed by reason: {}\n", told.collect::<Vec<_>>().join(", "));
        assert!(err.contains(&told), "{case}: {told} {err}");
        assert_eq!(counts.len(), 3 + usize::from(by_address), "{case}: {counts:?}");
    }
}

#[test]
fn without_what_is_near_only_the_same_is_removed() {
    let pages = pages(300, 71);
    let lines = lines(&pages);
    let dir = TestDir::with("docs.jsonl", &lines.concat());
    let number = |at: usize| pages[at].address.as_ref().map(|(number, _)| *number);
    for (judge, by_address, bytes, text) in [
        ("address", true, false, false),
        ("bytes", false, true, false),
        ("text", false, false, true),
        ("address,bytes,text", true, true, true),
        ("bytes,text", false, true, true),
    ] {
        let mut args = vec!["clean", "docs.jsonl", "--judge", judge, "-o", "k.jsonl"];
        args.extend(by_address.then_some(["--url-field", "url"]).into_iter().flatten());
        let (_, err) = dir.run(&[&args[..], &["-f", "--removed", "r.tsv"]].concat(), 0);
        assert!(err.contains("judged by exact equality only; near-duplicates are kept"), "{err}");
        let (mut seen, mut kept): (BTreeSet<u64>, Vec<usize>) = Default::default();
        let (mut namesakes, mut gone) = (Vec::new(), BTreeMap::new());
        for at in 0..pages.len() {
            if number(at).is_some_and(|number| by_address && !seen.insert(number)) {
                namesakes.push(at);
                continue;
            }
            let same =
                kept.iter().find(|&&other| match reason_of(&pages[at], &pages[other], false) {
                    "bytes" => bytes || text,
                    "text" => text,
                    _ => false,
                });
            match same {
                Some(&other) => gone.insert(at, (other, pages[at].text == pages[other].text)),
                None => {
                    kept.push(at);
                    None
                }
            };
        }
        let found = listed(&dir.read("r.tsv"));
        for (at, (other, is_same)) in &gone {
            let reason = if *is_same && bytes { "bytes" } else { "text" };
            assert_eq!(found[at], (*other, reason.to_string()), "{judge}: {at}");
        }
        assert!(namesakes.iter().all(|at| found[at].1 == "address"), "{judge}");
        assert_eq!(found.len(), gone.len() + namesakes.len(), "{judge}");
        assert!(found.len() > 10, "{judge}");
        let kept: String = kept.iter().map(|&at| &*lines[at]).collect();
        assert_eq!(dir.read("k.jsonl"), kept, "{judge}");
    }
}

/// Without the reason `text`, the same documents are removed, for the reason `near`.
#[test]
fn leaving_out_equal_texts_leaves_their_name_out() {
    let pages = pages(200, 72);
    let dir = TestDir::with("docs.jsonl", &lines(&pages).concat());
    let args = ["clean", "docs.jsonl", "-k", "7", "-f", "-q", "--removed"];
    dir.run(&[&args[..], &["all.tsv", "-o", "all.jsonl"]].concat(), 0);
    dir.run(&[&args[..], &["near.tsv", "-o", "near.jsonl", "--judge", "near"]].concat(), 0);
    assert_eq!(dir.read("all.jsonl"), dir.read("near.jsonl"));
    let without = |rows: &str| -> String {
        rows.lines().map(|line| format!("{}\n", line.rsplit_once('\t').unwrap().0)).collect()
    };
    let [all, near] = ["all.tsv", "near.tsv"].map(|name| dir.read(name));
    assert_eq!(without(&all), without(&near));
    assert!(near.lines().all(|line| line.ends_with("\tnear")));
    assert!(all.lines().any(|line| line.ends_with("\tbytes")));
}

#[test]
fn a_store_is_compared_with_what_is_left_of_an_address() {
    let line = |id: &str, words: &str, url: &str| {
        format!("{{\"id\":\"{id}\",\"text\":\"{words}\",\"url\":\"{url}\"}}\n")
    };
    let words = |first: u32| (first..first + 30).map(|at| format!("w{at} ")).collect::<String>();
    let dir = TestDir::with("old.jsonl", &line("old", &words(0), "http://a/old"));
    dir.run(&["build", "--docs", "old.jsonl", "-s", "s.fps", "-q", "--sketch"], 0);
    // Of address 1, the best document (a) equals the stored one; of address 2, the best document
    // (c) is kept.
    let new = [
        line("a", &words(0), "http://a/1"),
        line("b", &words(100), "https://A/1/"),
        line("c", &words(200), "http://a/2"),
        line("d", &words(300), "http://a/2#x"),
        line("e", &words(100), "http://a/3"),
    ];
    dir.write("new.jsonl", new.concat());
    for (near, reason) in [(["--confirm", "0.8"], "confirmed"), (["-k", "7"], "near")] {
        let args = ["clean", "new.jsonl", "-s", "s.fps", "--within", "--url-field", "url"];
        let out = ["-o", "out.jsonl", "-f", "--removed", "r.tsv"];
        dir.run(&[&args[..], &near, &out].concat(), 0);
        let rows = dir.read("r.tsv");
        let rows: Vec<Vec<&str>> =
            rows.lines().map(|it| it.split('\t').skip(4).collect()).collect();
        assert_eq!(
            rows,
            [
                vec!["a", "old", "stored", reason],
                vec!["b", "old", "stored", "address"],
                vec!["d", "c", "new", "address"],
            ]
        );
        assert_eq!(dir.read("out.jsonl"), [&*new[2], &*new[4]].concat());
    }
}

#[test]
fn placeholders_of_missing_addresses_are_not_one_address() {
    let placeholders =
        ["NULL", "None", "\\N", "N/A", "nan", "-", "/", "#", "about:blank", "http://"];
    let mut csv = "id,url,text\n".to_string();
    for (id, url) in placeholders.iter().enumerate() {
        for id in [2 * id, 2 * id + 1] {
            let words: String = (0..12).map(|at| format!("w{id}x{at} ")).collect();
            csv += &format!("{id},{url},{words}\n");
        }
    }
    let dir = TestDir::with("n.csv", &csv);
    let args = ["clean", "n.csv", "--url-field", "url", "-o", "k.csv"];
    let (_, err) = dir.run(&args, 2);
    assert!(err.contains("no document has the field 'url' with an address"), "{err}");
    // Two documents with the same address, then documents with placeholders for addresses: only the
    // second document is removed.
    let pages = "p,http://a/1,a page about ferries\nq,http://a/1,another page about ferries\n";
    dir.write("n.csv", format!("{csv}{pages}"));
    dir.run(&args, 0);
    let first = pages.split_inclusive('\n').next().unwrap();
    assert_eq!(dir.read("k.csv"), format!("{csv}{first}"));
}

#[test]
fn of_an_address_and_a_cluster_no_more_stay_than_were_asked_for() {
    let words = |last: &str| (0..40).map(|at| format!("w{at} ")).collect::<String>() + last;
    let line = |id: &str, words: &str, url: u32| {
        format!("{{\"id\":\"{id}\",\"text\":\"{words}\",\"url\":\"http://a/{url}\"}}\n")
    };
    let all = [
        line("a", &words("x"), 1),
        line("b", &words("y"), 2),
        line("c", &words("z"), 2),
        line("d", &words("v"), 3),
        line("e", "something else entirely", 3),
    ];
    let dir = TestDir::with("docs.jsonl", &all.concat());
    let args = ["clean", "docs.jsonl", "--confirm", "0.8", "--url-field", "url"];
    let more = ["--per-cluster", "2", "--cluster-size", "n", "--removed", "r.tsv", "-o", "k.jsonl"];
    dir.run(&[&args[..], &more].concat(), 0);
    let found = dir.read("r.tsv");
    let found: Vec<Vec<&str>> = found.lines().map(|it| it.split('\t').skip(4).collect()).collect();
    assert_eq!(
        found,
        [
            vec!["c", "b", "new", "address"],
            vec!["d", "a", "new", "confirmed"],
            vec!["e", "a", "new", "address"],
        ]
    );
    let sized = |at: usize| all[at].replace("\"}\n", "\",\"n\":5}\n");
    assert_eq!(dir.read("k.jsonl"), sized(0) + &sized(1));
}

#[test]
fn reasons_that_cannot_be_looked_for_are_refused() {
    let dir = TestDir::with("a.jsonl", "{\"id\":1,\"text\":\"one two three\",\"f\":\"ff\"}\n");
    dir.run(&["build", "--docs", "a.jsonl", "-s", "s.fps", "-q"], 0);
    for (args, expected) in [
        (&["--judge", "address"][..], "no field of addresses is named"),
        (&["--url-field", "url", "--judge", "near"], "not compared by address"),
        (&["--url-field", "url"], "no document has the field 'url'"),
        (&["--judge", "bytes", "--confirm", "0.8"], "the similarity decides on near-duplicates"),
        (&["--judge", "bytes", "-k", "3"], "the distance decides on near-duplicates"),
        (&["--judge", "bytes", "-s", "s.fps"], "a store has only fingerprints"),
        (&["--url-field", "id", "-s", "s.fps"], "a store has no addresses"),
        (&["--fingerprint-field", "f", "--judge", "bytes,near"], "equal texts cannot be found"),
    ] {
        let docs: &[&str] = if args[0] == "--fingerprint-field" { &[] } else { &["--docs"] };
        let base = ["a.jsonl", "-o", "b.jsonl"];
        let (_, err) = dir.run(&[&["clean"], docs, &base, args].concat(), 2);
        assert!(err.contains(expected), "{args:?}: {err}");
        assert!(!dir.path("b.jsonl").exists());
    }
    dir.write("prints.tsv", "0123456789abcdef\ta\n");
    let err =
        String::from_utf8(dir.output(&["dedup", "prints.tsv", "--judge", "bytes"], "").stderr)
            .unwrap();
    assert!(err.contains("'fpstore clean' cleans documents, and has --judge"), "{err}");
}
