//! Tests `clean --target N`, which relaxes the threshold until at most N documents are left.

use std::collections::BTreeMap;

use super::documents;
use crate::common::documents::{Document, json_lines};
use crate::common::oracle;
use crate::common::program::TestDir;

/// The removed documents at a threshold, each with its kept document and the distance between them.
fn removed_at(
    documents: &[Document],
    remoteness: impl Fn(&Document, &Document) -> Option<f64>,
) -> BTreeMap<usize, f64> {
    let of = |one: usize, other: usize| remoteness(&documents[one], &documents[other]);
    let near = |one: usize, other: usize| of(one, other).is_some();
    let dropped = oracle::dropped(0..0, 0..documents.len(), near);
    dropped.iter().map(|(&at, &kept)| (at, of(kept, at).unwrap())).collect()
}

/// The expected result if at most `target` documents may be kept: the first threshold that keeps at
/// most this many; then the removed documents least similar to their kept document are restored
/// until `target` are kept, of equal documents at most one. `None` if every threshold keeps more.
fn expected(
    documents: &[Document],
    target: usize,
    bars: &[f64],
    remoteness: impl Fn(&Document, &Document, f64) -> Option<f64>,
) -> Option<(f64, Vec<usize>)> {
    let at_bar =
        |&bar: &f64| (bar, removed_at(documents, |one, other| remoteness(one, other, bar)));
    let is_enough =
        |(_, removed): &(f64, BTreeMap<usize, f64>)| documents.len() - removed.len() <= target;
    let (bar, mut removed) = bars.iter().map(at_bar).find(is_enough)?;
    let mut order: Vec<(f64, usize)> = removed.iter().map(|(&at, &far)| (-far, at)).collect();
    order.sort_by(|one, other| one.0.total_cmp(&other.0).then(one.1.cmp(&other.1)));
    let mut back: Vec<usize> = Vec::new();
    for (far, at) in order {
        let content = |at: usize| (documents[at].fingerprint, &documents[at].features);
        let is_new = back.iter().all(|&other| content(other) != content(at));
        if far < 0.0 && is_new && documents.len() - removed.len() < target {
            removed.remove(&at);
            back.push(at);
        }
    }
    Some((bar, removed.into_keys().collect()))
}

#[test]
fn the_strictest_bar_is_taken_that_leaves_so_many() {
    let documents = documents(250, 80);
    let dir = TestDir::with("docs.jsonl", &json_lines(&documents));
    let alike = |one: &Document, other: &Document, bar: f64| {
        let similarity = one.similarity(other);
        (similarity >= bar).then_some(1.0 - similarity)
    };
    let bars: Vec<f64> = (60..=100).rev().map(|bar| f64::from(bar) / 100.0).collect();
    let least = documents.len() - removed_at(&documents, |a, b| alike(a, b, 0.6)).len();
    let same = removed_at(&documents, |a, b| alike(a, b, 1.0)).len();
    let args = ["clean", "docs.jsonl", "--confirm", "0.6", "-o", "k.jsonl", "-f"];
    let lists = |target: usize| {
        let target = target.to_string();
        let own = ["--target", &target, "--removed", "r.tsv"];
        let (_, err) = dir.run(&[&args[..], &own].concat(), 0);
        let rows = dir.read("r.tsv");
        let ids = rows.lines().map(|line| line.split('\t').nth(4).unwrap()[1..].parse().unwrap());
        (ids.collect::<Vec<usize>>(), err)
    };
    let mut reached = 0;
    for target in (least..documents.len() - same + 10).step_by(7) {
        let (bar, removed) = expected(&documents, target, &bars, alike).unwrap();
        let (found, err) = lists(target);
        assert_eq!(found, removed, "{target}");
        assert!(err.contains(&format!("judged by Jaccard similarity {bar} or more")), "{err}");
        reached += usize::from(documents.len() - found.len() == target);
        // Only the first threshold, which removes equal documents, keeps fewer than `target`.
        assert!(documents.len() - found.len() == target || bar == 1.0, "{target}");
    }
    assert!(reached > 5, "{reached}");

    // A smaller target cannot be reached; the same command with a larger target continues the job.
    let too_few = (least - 1).to_string();
    let own = ["clean", "docs.jsonl", "--confirm", "0.6", "-o", "n.jsonl", "--target"];
    let (_, err) = dir.run(&[&own[..], &[&too_few]].concat(), 2);
    assert!(err.contains(&format!("{least} documents are left even at the most relaxed")), "{err}");
    assert!(!dir.path("n.jsonl").exists());
    let (_, err) = dir.run(&[&own[..], &[&least.to_string()]].concat(), 0);
    assert!(err.contains("continuing unfinished work"), "{err}");
    assert_eq!(dir.read("n.jsonl").lines().count(), least);
}

#[test]
fn without_similarities_the_distance_is_the_bar() {
    let documents = documents(250, 81);
    let dir = TestDir::with("docs.jsonl", &json_lines(&documents));
    let bars: Vec<f64> = (0..=12).map(f64::from).collect();
    let near = |one: &Document, other: &Document, bar: f64| {
        let distance = oracle::distance(one.fingerprint, other.fingerprint);
        (f64::from(distance) <= bar).then_some(f64::from(distance))
    };
    let least = documents.len() - removed_at(&documents, |a, b| near(a, b, 12.0)).len();
    for target in (least..documents.len()).step_by(11) {
        let (bar, removed) = expected(&documents, target, &bars, near).unwrap();
        let text = target.to_string();
        let args = ["clean", "docs.jsonl", "-k", "12", "--target", &text, "-f"];
        let (_, err) = dir.run(&[&args[..], &["-o", "k.jsonl"]].concat(), 0);
        assert!(err.contains(&format!("judged by fingerprints within {bar} bits")), "{err}");
        let left = dir.read("k.jsonl").lines().count();
        assert_eq!(left, documents.len() - removed.len(), "{target}");
        assert!(left == target || bar == 0.0);
    }
    for (args, expected) in [
        (&["--target", "9", "--per-cluster", "2"][..], "for one document per cluster"),
        (
            &["--target", "9", "--judge", "bytes"],
            "the target is reached by changing the threshold for near-duplicates",
        ),
    ] {
        let base = ["clean", "docs.jsonl", "-o", "x.jsonl"];
        let (_, err) = dir.run(&[&base[..], args].concat(), 2);
        assert!(err.contains(expected), "{err}");
    }
}

#[test]
fn documents_without_fingerprint_are_among_those_that_are_left() {
    let documents = documents(60, 82);
    let without: String =
        (0..5).map(|at| format!("{{\"id\": \"w{at}\", \"text\": \"\"}}\n")).collect();
    let dir = TestDir::with("docs.jsonl", &(json_lines(&documents) + &without));
    let clean = |target: usize, status: i32| {
        let target = target.to_string();
        let args = ["clean", "docs.jsonl", "-k", "12", "--target", &target, "-f"];
        dir.run(&[&args[..], &["-o", "left.jsonl"]].concat(), status).1
    };
    for target in [documents.len() - 6, documents.len() - 1, documents.len() + 5] {
        clean(target, 0);
        assert!(dir.read("left.jsonl").lines().count() <= target);
    }
    let err = clean(5, 2);
    assert!(err.contains("documents are left even at the most relaxed threshold"), "{err}");
    let least = err.split("documents are left").next().unwrap().split_whitespace().last().unwrap();
    let least: usize = least.parse().unwrap();
    clean(least, 0);
    assert_eq!(dir.read("left.jsonl").lines().count(), least);
}
