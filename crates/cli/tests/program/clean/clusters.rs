//! Tests `clean --per-cluster`, which keeps several documents of a cluster, and `--cluster-size`.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::formats::compressed;
use super::{documents, near_args, removed};
use crate::common::documents::{Document, json_lines};
use crate::common::program::TestDir;

/// The documents that are kept in addition to the first one of their cluster: those with the next
/// smallest keys.
fn spared<K: Ord>(
    documents: &[Document],
    removed: &BTreeMap<usize, usize>,
    per_cluster: usize,
    key: impl Fn(usize, &Document) -> K,
) -> BTreeSet<usize> {
    let mut of_leaders: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for (&at, &leader) in removed {
        of_leaders.entry(leader).or_default().push(at);
    }
    let mut spared = BTreeSet::new();
    for list in of_leaders.values_mut() {
        list.sort_by_key(|&at| (key(at, &documents[at]), at));
        spared.extend(&list[..list.len().min(per_cluster - 1)]);
    }
    spared
}

/// The size of the cluster of a document.
fn size_of(removed: &BTreeMap<usize, usize>, at: usize) -> u64 {
    let leader = removed.get(&at).copied().unwrap_or(at);
    1 + removed.values().filter(|&&other| other == leader).count() as u64
}

#[test]
fn several_of_a_cluster_stay_and_tell_its_size() {
    let documents = documents(200, 60);
    let lines = json_lines(&documents);
    let lines: Vec<&str> = lines.lines().collect();
    let dir = TestDir::new();
    let empty = "{\"id\":\"none\",\"text\":\"\"}\n";
    dir.write("in/a.jsonl.gz", compressed("x.gz", (lines.join("\n") + "\n" + empty).as_bytes()));
    for (confirm, keep) in [(None, "first"), (Some("0.8"), "longest")] {
        let longest = |_: usize, document: &Document| match keep {
            "longest" => Reverse(document.text().len()),
            _ => Reverse(0),
        };
        let removed = removed(&documents, confirm.map(|is| is.parse().unwrap()), longest);
        for per_cluster in [1, 2, 4] {
            let spared = spared(&documents, &removed, per_cluster, longest);
            let stays = |at: &usize| !removed.contains_key(at) || spared.contains(at);
            let count = per_cluster.to_string();
            let mut args = vec!["clean", "in", "--keep", keep, "--per-cluster", &count];
            args.extend(near_args(confirm));
            args.extend(["-o", "out", "-f", "--removed", "r.tsv"]);
            let (_, err) = dir.run(&args, 0);
            let gone = removed.len() - spared.len();
            assert!(err.contains(&format!("{gone} documents removed")), "{err}");
            assert_eq!(dir.read("r.tsv").lines().count(), gone);
            let kept: Vec<usize> = (0..documents.len()).filter(stays).collect();
            let expected: String = kept.iter().map(|&at| format!("{}\n", lines[at])).collect();
            let found = String::from_utf8(super::decompressed(&dir, "out/a.jsonl.gz")).unwrap();
            assert_eq!(found, expected + empty, "{per_cluster}");

            // The same command, with a field for the cluster sizes.
            args.extend(["--cluster-size", "size"]);
            dir.run(&args, 0);
            let found = String::from_utf8(super::decompressed(&dir, "out/a.jsonl.gz")).unwrap();
            let expected: String = kept
                .iter()
                .map(|&at| {
                    let line = lines[at].strip_suffix('}').unwrap();
                    format!("{line},\"size\":{}}}\n", size_of(&removed, at))
                })
                .collect();
            assert_eq!(found, expected + &empty.replace('}', ",\"size\":null}"));
        }
        assert!(removed.len() > 50 && spared(&documents, &removed, 4, longest).len() > 20);
    }
}

/// With `--annotate` no document is removed, and duplicates have both fields: the id and the size.
#[test]
fn marks_have_the_size_beside_the_id() {
    let documents = documents(120, 61);
    let removed = removed(&documents, Some(0.8), |_, _| 0);
    let dir = TestDir::with("docs.jsonl", &json_lines(&documents));
    let args = ["clean", "docs.jsonl", "--annotate", "copy_of", "-o", "out.jsonl"];
    dir.run(&[&args[..], &["--cluster-size", "size"]].concat(), 0);
    let text = dir.read("out.jsonl");
    for (at, line) in text.lines().enumerate() {
        let object: Value = serde_json::from_str(line).unwrap();
        let id = removed.get(&at).map(|&leader| Value::from(documents[leader].id.as_str()));
        assert_eq!(object["copy_of"], id.unwrap_or_default());
        assert_eq!(object["size"], size_of(&removed, at));
    }
    assert_eq!(text.lines().count(), documents.len());
    let (_, err) = dir.run(&[&args[..], &["-f", "--cluster-size", "copy_of"]].concat(), 2);
    assert!(err.contains("two new fields have the same name"), "{err}");
    let (_, err) = dir.run(&["clean", "docs.jsonl", "-o", "x", "--per-cluster", "0"], 2);
    assert!(err.contains("per_cluster is 0, expected 1 to 4294967295 documents"), "{err}");
}

/// Documents near a stored document are removed, however many documents of a cluster may be kept.
#[test]
fn documents_near_a_stored_one_are_not_spared() {
    let documents = documents(150, 62);
    let (old, new) = documents.split_at(50);
    let dir = TestDir::with("old.jsonl", &json_lines(old));
    dir.write("new.jsonl", json_lines(new));
    dir.ok(&["build", "--docs", "old.jsonl", "-s", "s.fps", "-q", "-k", "7"], "");
    let is_known = |at: usize| old.iter().any(|other| super::are_near(other, &new[at], None));
    let rest: Vec<usize> = (0..new.len()).filter(|&at| !is_known(at)).collect();
    let unknown: Vec<Document> = rest.iter().map(|&at| new[at].clone()).collect();
    let removed = removed(&unknown, None, |_, _| 0);
    let spared = spared(&unknown, &removed, 2, |_, _| 0);
    assert!(!spared.is_empty() && rest.len() < new.len());
    let args = ["clean", "new.jsonl", "-s", "s.fps", "--within", "--per-cluster", "2"];
    dir.run(&[&args[..], &["-o", "out.jsonl"]].concat(), 0);
    let stays = |at: &usize| !removed.contains_key(at) || spared.contains(at);
    let kept: Vec<Document> =
        (0..unknown.len()).filter(stays).map(|at| unknown[at].clone()).collect();
    assert_eq!(dir.read("out.jsonl"), json_lines(&kept));
}
