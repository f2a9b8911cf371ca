//! Tests the default criterion of `clean`, without -k and --confirm, and the message about it.

use super::{documents, removed};
use crate::common::documents::json_lines;
use crate::common::program::{TestDir, text};

const FEATURES: &str = "by Jaccard similarity 0.8 or more, computed from all features";
const SKETCHES: &str = "by Jaccard similarity 0.8 or more, estimated from the sketches of documents \
                        within 12 bits";

#[test]
fn the_shortest_command_compares_features() {
    let documents = documents(300, 97);
    let dir = TestDir::with("docs.jsonl", &json_lines(&documents));
    let listed = |more: &[&str]| dir.run(&[&["clean", "docs.jsonl", "--list"], more].concat(), 0);
    let (usual, err) = listed(&[]);
    assert!(err.contains(FEATURES), "{err}");
    let gone = removed(&documents, Some(0.8), |_, _| 0);
    assert_eq!(usual.lines().count(), documents.len() - gone.len());
    assert_eq!(usual, listed(&["--confirm", "0.8"]).0);
    let (alone, err) = listed(&["-k", "7"]);
    assert!(alone != usual && err.contains("by fingerprints within 7 bits alone"), "{err}");
    let (_, err) = listed(&["--confirm-contains", "1.0"]);
    assert!(err.contains("judged by containment of all features in the kept document"), "{err}");
    let (_, err) = listed(&["--judge", "bytes"]);
    assert!(err.contains("by exact equality only"), "{err}");
}

#[test]
fn a_distance_beside_a_similarity_is_refused() {
    let dir = TestDir::with("docs.jsonl", &json_lines(&documents(10, 98)));
    let args = ["clean", "docs.jsonl", "--list", "--confirm", "0.8", "-k", "12"];
    let (_, err) = dir.run(&args, 2);
    assert!(err.contains("so a distance has no effect"), "{err}");
}

#[test]
fn fingerprints_decide_where_nothing_else_can_be_compared() {
    let lines = json_lines(&documents(60, 99));
    let dir = TestDir::with("docs.jsonl", &lines);
    let says = |args: &[&str], input: &str, part: &str| {
        let output = dir.output(&[&["clean", "--list"], args].concat(), input);
        let err = text(output.stderr);
        assert!(output.status.success() && err.contains(part), "{args:?}: {err}");
    };
    let alone = |k: u32| format!("by fingerprints within {k} bits alone");
    says(&["--docs", "-"], &lines, FEATURES);
    says(&["--docs", "-", "-k", "7"], &lines, &alone(7));
    says(&["--docs", "docs.jsonl", "--unit", "words:20"], "", FEATURES);
    for (name, more, part) in [
        ("plain.fps", &["-k", "5"][..], alone(5)),
        ("sketched.fps", &["--sketch"], SKETCHES.to_string()),
    ] {
        let args = ["build", "--docs", "docs.jsonl", "-s", name, "-q"];
        dir.ok(&[&args[..], more].concat(), "");
        says(&["--docs", "docs.jsonl", "-s", name], "", &part);
        says(&["--docs", "-", "-s", name], &lines, &part);
    }
    dir.write("ready.jsonl", "{\"id\":\"a\",\"fp\":\"00000000000000ff\"}\n");
    says(&["ready.jsonl", "--fingerprint-field", "fp"], "", &alone(3));
}
