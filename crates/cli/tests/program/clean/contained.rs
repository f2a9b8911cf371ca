//! Tests `clean --confirm-contains`: documents are removed only if the kept document has their
//! features.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use super::{are_near, documents, removed};
use crate::common::documents::{Document, json_lines};
use crate::common::oracle;
use crate::common::program::{TestDir, text};

/// Whether `kept` has at least this part of the features of `document`, and at least as many
/// features.
fn contains(kept: &Document, document: &Document, part: f64) -> bool {
    let (own, other) = (&document.features, &kept.features);
    let common = own.intersection(other).count();
    other.len() >= own.len() && common as f64 / own.len() as f64 >= part
}

#[test]
fn what_is_kept_has_the_features_of_what_goes() {
    let documents = documents(240, 70);
    let dir = TestDir::with("docs.jsonl", &json_lines(&documents));
    for keep in ["longest", "first"] {
        let key = |at: usize| match keep {
            "longest" => Reverse(documents[at].text().len()),
            _ => Reverse(0),
        };
        for (confirm, part) in [
            (Some("0.5"), "1.0"),
            (Some("0.5"), "0.95"),
            (Some("0.9"), "0.5"),
            (None, "1.0"),
            (None, "0.9"),
        ] {
            let threshold = confirm.map_or(0.0, |text| text.parse().unwrap());
            let least: f64 = part.parse().unwrap();
            let mut order: Vec<usize> = (0..documents.len()).collect();
            order.sort_by_key(|&at| (key(at), at));
            let alike = |kept: usize, at: usize| {
                let (kept, document) = (&documents[kept], &documents[at]);
                are_near(kept, document, Some(threshold)) && contains(kept, document, least)
            };
            let gone: BTreeMap<usize, usize> = oracle::dropped(0..0, order, alike);
            let without = removed(&documents, Some(threshold), |at, _| key(at));
            assert!(gone.len() > 10 && gone.len() <= without.len(), "{}", gone.len());
            let mut args = vec!["clean", "docs.jsonl", "--keep", keep, "-o", "kept.jsonl", "-f"];
            args.extend(["--confirm-contains", part]);
            args.extend(confirm.iter().flat_map(|confirm| ["--confirm", confirm]));
            let (_, err) = dir.run(&args, 0);
            let before = if confirm.is_some() { ", and by " } else { "judged by " };
            let judgement = match least {
                1.0 => format!("{before}containment of all features in the kept document\n"),
                least => format!(
                    "{before}containment of {least} or more of the features in the kept document\n"
                ),
            };
            assert!(err.contains(&judgement), "{err}");
            let kept: Vec<Document> = (0..documents.len())
                .filter(|at| !gone.contains_key(at))
                .map(|at| documents[at].clone())
                .collect();
            assert!(dir.read("kept.jsonl") == json_lines(&kept), "{keep} {confirm:?} {part}");
        }
    }
    dir.ok(&["build", "--docs", "docs.jsonl", "-s", "s.fps", "--sketch", "-q"], "");
    let args = ["clean", "docs.jsonl", "-o", "x.jsonl", "--confirm-contains"];
    for (more, part) in [
        (&["1.0", "-k", "7"][..], "documents are compared by the distance"),
        (
            &["0", "--confirm", "0.8"],
            "the share of contained features is 0, expected a number above 0",
        ),
        (&["1", "--confirm", "0.8", "-s", "s.fps"], "a store has no features of its documents"),
    ] {
        let output = dir.output(&[&args[..], more].concat(), "");
        let err = text(output.stderr);
        assert!(output.status.code() == Some(2) && err.contains(part), "{more:?}: {err}");
    }
}
