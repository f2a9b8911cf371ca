//! Tests `clean` on copies of templates that have too many features for one round of comparison.

use super::removed;
use crate::common::Random;
use crate::common::documents::{Document, json_lines};
use crate::common::program::TestDir;

/// The features of a round must fit into memory, so a round compares a part of the documents. Dense
/// groups are merged without enumerating their pairs.
#[test]
fn copies_of_templates_are_confirmed_in_rounds_with_the_same_result() {
    let mut random = Random::new(1);
    let document = |at: usize| {
        let template = random.below(4);
        let mut words: Vec<String> = (0..300).map(|word| format!("t{template}x{word}")).collect();
        for _ in 0..1 + random.below(29) {
            words[random.below(300) as usize] = format!("v{}", random.below(500));
        }
        Document::of(format!("d{at}"), words)
    };
    let documents: Vec<Document> = (0..1000).map(document).collect();
    let removed = removed(&documents, Some(0.8), |_, _| 0);
    assert!(removed.len() > 100);
    let dir = TestDir::with("docs.jsonl", &json_lines(&documents));
    dir.ok(&["clean", "docs.jsonl", "--confirm", "0.8", "-o", "kept.jsonl", "-q"], "");
    let kept: Vec<Document> = (0..documents.len())
        .filter(|at| !removed.contains_key(at))
        .map(|at| documents[at].clone())
        .collect();
    assert!(dir.read("kept.jsonl") == json_lines(&kept));
}
