//! Tests `--confirm`: the pairs of similar documents are those of an exhaustive comparison.

use std::collections::{BTreeMap, BTreeSet};

use fpstore::join::confirm::sketch_similarity;
use fpstore_text::sketch;

use crate::common::documents::{Document, confirmed_pairs, documents, json_lines};
use crate::common::oracle;
use crate::common::program::TestDir;

/// Pairs of documents, given by their positions, with the printed similarity.
type Pairs = BTreeMap<(usize, usize), String>;

/// A folder with documents of a few dozen words, many of them near or equal.
fn dir(count: usize) -> (TestDir, Vec<Document>) {
    let documents = documents(count, 16, 40, 4);
    // The first line is a document without features: it is in no pair and has no position.
    let none = "{\"id\":\"none\",\"text\":\" \"}\n";
    (TestDir::with("docs.jsonl", &format!("{none}{}", json_lines(&documents))), documents)
}

fn shown(pairs: BTreeMap<(usize, usize), f64>) -> Pairs {
    pairs.into_iter().map(|(pair, is)| (pair, format!("{is:.4}"))).collect()
}

/// The expected pairs, computed by comparing all documents.
fn alike(documents: &[Document], k: u32, threshold: f64) -> Pairs {
    let similarity = |one: usize, other: usize| documents[one].similarity(&documents[other]);
    shown(confirmed_pairs(documents, k, threshold, similarity))
}

/// The position of a document, by its id.
fn position(id: &str) -> usize {
    id[1..].parse().unwrap()
}

fn positions(one: &str, other: &str) -> (usize, usize) {
    let (one, other) = (position(one), position(other));
    (one.min(other), one.max(other))
}

/// The lines of the documents that are kept, from the position `from` on.
fn kept(documents: &[Document], from: usize, dropped: &BTreeMap<usize, usize>) -> Vec<String> {
    let kept = (from..documents.len()).filter(|at| !dropped.contains_key(at));
    kept.map(|at| format!("{:016x}\t{}", documents[at].fingerprint, documents[at].id)).collect()
}

#[test]
fn confirmed_pairs_are_those_of_each_with_each() {
    let (dir, documents) = dir(150);
    for threshold in ["0.8", "0.6", "1", "0.9"] {
        let args = ["pairs", "--docs", "docs.jsonl", "--confirm", threshold];
        let threshold: f64 = threshold.parse().unwrap();
        let expected = alike(&documents, 64, threshold);
        let (out, err) = dir.run(&args, 0);
        assert!(err.contains(&format!("{} pairs of similarity {threshold}", expected.len())));
        let mut found = BTreeMap::new();
        for line in out.lines() {
            let columns: Vec<&str> = line.split('\t').collect();
            let [_, _, _, similarity, one, other] = columns[..] else { panic!("{line}") };
            assert!(found.insert(positions(one, other), similarity.to_string()).is_none());
        }
        assert_eq!(found, expected);
        // JSON, one thread with little memory, and a folder of two files give the same pairs.
        let json = [&args[..], &["--format", "json", "--memory", "64MiB", "--threads", "1"]];
        let json = dir.ok(&json.concat(), "");
        assert_eq!(json.lines().count(), expected.len());
        assert!(json.lines().all(|line| line.contains("\"similarity\":")));
    }
}

#[test]
fn clusters_of_confirmed_pairs_keep_and_drop_each_document_once() {
    let (dir, documents) = dir(120);
    let pairs = alike(&documents, 64, 0.8);
    let cluster = ["cluster", "--docs", "docs.jsonl", "--confirm", "0.8"];
    let (out, err) = dir.run(&cluster, 0);
    assert!(err.contains("of similarity 0.8"), "{err}");
    let mut number_of = BTreeMap::new();
    for line in out.lines() {
        let columns: Vec<&str> = line.split('\t').collect();
        let [number, _, _, _, _, _, id] = columns[..] else { panic!("{line}") };
        assert!(number_of.insert(id.to_string(), number.to_string()).is_none());
    }
    for &(one, other) in pairs.keys() {
        let [one, other] = [one, other].map(|at| &documents[at].id);
        assert!(number_of[one] == number_of[other], "{one} and {other} are a pair");
    }
    // --stable keeps the cluster numbers of an earlier output in any format.
    dir.write("before.tsv", &out);
    let stable = [&cluster[..], &["--stable", "before.tsv", "-q"]].concat();
    assert_eq!(dir.ok(&stable, ""), out);
    let json = dir.ok(&[&stable[..], &["--format", "json"]].concat(), "");
    dir.write("before.json", &json);
    assert_eq!(dir.ok(&[&cluster[..], &["--stable", "before.json", "-q"]].concat(), ""), out);
    for rule in ["representative", "smallest-id", "first", "largest-cluster"] {
        let keep = [&cluster[..], &["--keep", rule, "-q"]].concat();
        let kept = dir.ok(&keep, "");
        let dropped = dir.ok(&[&keep[..], &["--drop"]].concat(), "");
        let all: BTreeSet<&str> =
            kept.lines().chain(dropped.lines()).map(|l| l.split('\t').nth(1).unwrap()).collect();
        assert_eq!(all.len(), documents.len());
        assert_eq!(kept.lines().count() + dropped.lines().count(), documents.len());
        if rule == "first" {
            let mut seen = BTreeSet::new();
            let first = |document: &&Document| match number_of.get(&document.id) {
                Some(number) => seen.insert(number.clone()),
                None => true,
            };
            let expected: Vec<String> = documents
                .iter()
                .filter(first)
                .map(|d| format!("{:016x}\t{}", d.fingerprint, d.id))
                .collect();
            assert_eq!(kept.lines().collect::<Vec<_>>(), expected);
        }
    }
}

#[test]
fn dedup_drops_what_is_alike_to_an_earlier_kept_document() {
    let (dir, documents) = dir(120);
    let pairs = alike(&documents, 64, 0.8);
    let is_near = |one: usize, other: usize| pairs.contains_key(&(one, other));
    let dropped = oracle::dropped(0..0, 0..documents.len(), is_near);
    let dedup = ["clean", "docs.jsonl", "--confirm", "0.8", "--list"];
    let (out, err) = dir.run(&[&dedup[..], &["--removed", "removed.tsv"]].concat(), 0);
    assert_eq!(out.lines().collect::<Vec<_>>(), kept(&documents, 0, &dropped));
    assert!(err.contains(&format!("{} documents removed", dropped.len())), "{err}");
    let matches = dir.read("removed.tsv");
    assert_eq!(matches.lines().count(), dropped.len());
    for line in matches.lines() {
        let columns: Vec<&str> = line.split('\t').collect();
        let [_, _, _, similarity, id, kept_id, "new", _] = columns[..] else { panic!("{line}") };
        assert_eq!(similarity, pairs[&positions(id, kept_id)]);
        assert!(!dropped.contains_key(&position(kept_id)));
    }
}

#[test]
fn documents_are_joined_without_confirmation_too() {
    let (dir, documents) = dir(100);
    let expected = alike(&documents, 7, 0.0);
    let (out, err) = dir.run(&["pairs", "--docs", "docs.jsonl"], 0);
    assert!(err.contains(&format!("{} pairs within 7 bits", expected.len())), "{err}");
    assert!(err.contains("used recipe minhash"), "{err}");
    assert_eq!(out.lines().count(), expected.len());
    let (kept, _) = dir.run(&["clean", "docs.jsonl", "-k", "7", "--list"], 0);
    let (same, _) = dir.run(&["cluster", "--docs", "docs.jsonl", "--method", "leader", "-q"], 0);
    let dropped: usize = documents.len() - kept.lines().count();
    let clusters: BTreeSet<&str> = same.lines().map(|l| l.split('\t').next().unwrap()).collect();
    assert_eq!(same.lines().count() - clusters.len(), dropped);
    // Compared with a store that has them, by its recipe, all documents are removed.
    dir.ok(&["build", "--docs", "docs.jsonl", "-s", "docs.fps", "--recipe", "simhash", "-q"], "");
    let against = ["dedup", "-s", "docs.fps", "--docs", "docs.jsonl", "--list"];
    let (out, err) = dir.run(&against, 0);
    assert!(out.is_empty() && err.contains("0 documents kept"), "{err}");
    let other = [&against[..], &["--recipe", "minhash"]].concat();
    let (_, err) = dir.run(&other, 2);
    assert!(err.contains("recipe"), "{err}");
}

#[test]
fn what_cannot_be_confirmed_is_refused_with_the_remedy() {
    let (dir, _) = dir(3);
    dir.write("pages.tsv", "00000000000000ff\ta\n");
    dir.ok(&["build", "pages.tsv", "-s", "pages.fps", "-q"], "");
    dir.ok(&["build", "--docs", "docs.jsonl", "-s", "sketched.fps", "--sketch", "-q"], "");
    for (args, expected) in [
        (&["pairs", "pages.tsv", "--confirm", "0.8"][..], "add --docs"),
        (&["cluster", "pages.fps", "--confirm", "0.8"], "keeps no sketches"),
        (&["query", "00ff", "-s", "pages.fps", "--confirm", "0.8"], "keeps no sketches"),
        (&["query", "00ff", "-s", "sketched.fps", "--confirm", "0.8"], "not fingerprints"),
        (
            &["query", "--from", "pages.tsv", "-s", "sketched.fps", "--confirm", "0.8"],
            "--from with --docs",
        ),
        (
            &["query", "--text", "a b c", "-s", "sketched.fps", "--confirm", "0.8", "--limit", "1"],
            "--limit cannot be used with --confirm",
        ),
        (&["query", "00ff", "-s", "pages.fps", "--encoding", "gbk"], "--encoding is for documents"),
        (&["build", "pages.tsv", "-s", "new.fps", "--sketch"], "add --docs"),
        (&["add", "pages.tsv", "-s", "sketched.fps", "--recipe", "minhash"], "add documents"),
        (&["pairs", ".", "--confirm", "0.8"], "is a folder, so --docs is assumed"),
        (&["pairs", "--docs", "docs.jsonl", "--confirm", "0.8", "-k", "3"], "leave out -k"),
        (&["cluster", "--docs", "docs.jsonl", "--confirm", "0.8", "-k", "3"], "leave out -k"),
        (&["pairs", "--docs", "--confirm", "0.8"], "files or folders"),
        (&["pairs", "pages.tsv", "--recipe", "minhash"], "add --docs"),
        (&["dedup", "--within", "pages.tsv", "--recipe", "minhash"], "--recipe is for documents"),
        (&["dedup", "-s", "pages.fps", "--docs", "docs.jsonl", "--confirm", "0.8"], "recipe"),
    ] {
        let (_, err) = dir.run(args, 2);
        assert!(err.contains(expected), "{args:?}: {err}");
    }
    for bad in ["0", "1.5", "-1", "much"] {
        let args = ["pairs", "--docs", "docs.jsonl", &format!("--confirm={bad}")];
        let output = dir.output(&args, "");
        assert_eq!(output.status.code(), Some(2), "{bad}");
    }
}

/// The expected pairs with sketches of `len` bytes: within 12 bits, and with similar sketches.
fn alike_by_sketches(documents: &[Document], len: u8) -> Pairs {
    let sketches: Vec<Vec<u8>> = documents
        .iter()
        .map(|document| sketch(&document.features.iter().copied().collect::<Vec<u64>>(), len))
        .collect();
    let similarity = |one: usize, other: usize| sketch_similarity(&sketches[one], &sketches[other]);
    shown(confirmed_pairs(documents, 12, 0.8, similarity))
}

#[test]
fn a_store_with_sketches_confirms_without_the_documents() {
    let (dir, documents) = dir(140);
    let lines = dir.read("docs.jsonl");
    let lines: Vec<&str> = lines.lines().collect();
    dir.write("first.jsonl", format!("{}\n", lines[..90].join("\n")));
    dir.write("second.jsonl", format!("{}\n", lines[90..].join("\n")));
    for len in [32, 128] {
        let store = format!("{len}.fps");
        let sketch = format!("--sketch={len}");
        dir.ok(&["build", "--docs", "first.jsonl", "-s", &store, &sketch, "-q"], "");
        dir.ok(&["add", "--docs", "second.jsonl", "-s", &store, "-q"], "");
        let info = dir.ok(&["info", "-s", &store], "");
        assert!(info.contains(&format!("sketches       {len} bytes for each id")), "{info}");
        let expected = alike_by_sketches(&documents, len);
        for compacted in [false, true] {
            if compacted {
                dir.ok(&["compact", "--all", "-s", &store, "-q"], "");
            }
            let out = dir.ok(&["pairs", &store, "--confirm", "0.8", "-q"], "");
            let mut found = BTreeMap::new();
            for line in out.lines() {
                let columns: Vec<&str> = line.split('\t').collect();
                let [_, _, _, similarity, one, other] = columns[..] else { panic!("{line}") };
                found.insert(positions(one, other), similarity.to_string());
            }
            assert_eq!(found, expected, "{len}");
            let clusters = dir.ok(&["cluster", &store, "--confirm", "0.8", "-q"], "");
            assert!(clusters.lines().count() > 0);
        }
        // Each document, as a text, a file and a record, finds itself and similar documents.
        let ask = ["query", "-s", &store, "--confirm", "0.8"];
        let from = [&ask[..], &["--from", "docs.jsonl", "--docs"]].concat();
        let from = dir.ok(&from, "");
        assert_eq!(from.lines().count(), documents.len() + 2 * expected.len(), "{len}");
        for (number, line) in lines[1..].iter().enumerate().take(20) {
            let text = line.split('"').nth(7).unwrap();
            let id = &documents[number].id;
            let out = dir.ok(&[&ask[..], &["--text", text]].concat(), "");
            let is_its = |pair: &&(usize, usize)| pair.0 == number || pair.1 == number;
            let partners = expected.keys().filter(is_its).count();
            assert_eq!(out.lines().count(), 1 + partners);
            assert!(out.lines().any(|line| line.ends_with(&format!("\t0\t1.0000\t{id}"))), "{out}");
            let own: Vec<&str> =
                from.lines().filter_map(|line| line.strip_prefix(&format!("{id}\t"))).collect();
            assert_eq!(out.lines().collect::<Vec<_>>(), own);
            dir.write("one.txt", text);
            assert_eq!(dir.ok(&[&ask[..], &["--file", "one.txt"]].concat(), ""), out);
            assert_eq!(dir.ok(&[&ask[..], &["--id", id]].concat(), ""), out);
            let json = dir.ok(&[&ask[..], &["--text", text, "--format", "json"]].concat(), "");
            assert!(json.contains("\"similarities\":["), "{json}");
        }
    }
    // Without --confirm, a store with sketches gives the same answers as one without.
    dir.ok(&["build", "--docs", "docs.jsonl", "-s", "plain.fps", "-q"], "");
    let plain = dir.ok(&["dump", "-s", "plain.fps"], "");
    assert_eq!(dir.ok(&["dump", "-s", "128.fps"], ""), plain);
}

#[test]
fn dedup_against_a_store_with_sketches_confirms_and_adds() {
    let (dir, documents) = dir(140);
    let lines = dir.read("docs.jsonl");
    let lines: Vec<&str> = lines.lines().collect();
    // The first line of `lines` is the document without features.
    dir.write("old.jsonl", format!("{}\n", lines[..71].join("\n")));
    dir.write("new.jsonl", format!("{}\n", lines[71..].join("\n")));
    let pairs = alike_by_sketches(&documents, 128);
    for within in [false, true] {
        dir.ok(&["build", "--docs", "old.jsonl", "-s", "old.fps", "--sketch", "-qf"], "");
        let is_near = |one, other| (within || one < 70) && pairs.contains_key(&(one, other));
        let dropped = oracle::dropped(0..70, 70..140, is_near);
        let mut args = vec!["dedup", "-s", "old.fps", "--docs", "new.jsonl", "--list"];
        args.extend(["--confirm", "0.8", "--add", "--removed", "removed.tsv", "-f"]);
        args.extend(within.then_some("--within"));
        let (out, err) = dir.run(&args, 0);
        assert_eq!(out.lines().collect::<Vec<_>>(), kept(&documents, 70, &dropped));
        assert!(err.contains("kept and added"), "{err}");
        let matches = dir.read("removed.tsv");
        let stored = matches.lines().filter(|line| line.contains("\tstored\t")).count();
        assert_eq!(stored, dropped.values().filter(|&&other| other < 70).count());
        assert_eq!(matches.lines().count() > stored, within);
        for line in matches.lines() {
            let columns: Vec<&str> = line.split('\t').collect();
            let [_, _, _, similarity, id, other, _, _] = columns[..] else { panic!("{line}") };
            assert_eq!(similarity, pairs[&positions(id, other)]);
        }
        // The added documents have sketches, so the repeated command finds all of them in the
        // store.
        let again = [&args[..], &["-q"]].concat();
        assert_eq!(dir.ok(&again, ""), "");
    }
    // Documents that are added without --confirm have sketches, too.
    dir.ok(&["build", "--docs", "old.jsonl", "-s", "old.fps", "--sketch", "-qf"], "");
    let plain =
        ["dedup", "-s", "old.fps", "--docs", "new.jsonl", "--list", "--add", "-k", "0", "-q"];
    let out = dir.ok(&plain, "");
    assert!(out.lines().count() > 20);
    assert!(dir.ok(&["info", "-s", "old.fps"], "").contains("128 bytes for each id"));
}
