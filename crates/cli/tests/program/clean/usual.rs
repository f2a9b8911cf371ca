//! The default criterion without -k and --confirm, and its message.

use super::{documents, removed};
use crate::common::documents::json_lines;
use crate::common::program::{Desk, text};

const FEATURES: &str = "by Jaccard similarity 0.8 or more, computed from all features of documents \
                        within 12 bits";
const SKETCHES: &str = "by Jaccard similarity 0.8 or more, estimated from the sketches of documents \
                        within 12 bits";

#[test]
fn the_shortest_command_compares_features() {
    let documents = documents(300, 97);
    let desk = Desk::with("docs.jsonl", &json_lines(&documents));
    let listed = |more: &[&str]| desk.run(&[&["clean", "docs.jsonl", "--list"], more].concat(), 0);
    let (usual, err) = listed(&[]);
    assert!(err.contains(FEATURES), "{err}");
    let gone = removed(&documents, Some(0.8), |_, _| 0);
    assert_eq!(usual.lines().count(), documents.len() - gone.len());
    assert_eq!(usual, listed(&["--confirm", "0.8"]).0);
    let (alone, err) = listed(&["-k", "7"]);
    assert!(alone != usual && err.contains("by fingerprints within 7 bits alone"), "{err}");
    // Contained documents are searched with the same default criterion.
    let (contained, err) = listed(&["--confirm-contains", "1.0"]);
    assert!(err.contains(FEATURES) && contained.lines().count() > usual.lines().count(), "{err}");
    let (_, err) = listed(&["--judge", "bytes"]);
    assert!(err.contains("by what is the same alone"), "{err}");
}

#[test]
fn votes_are_looked_for_within_the_distance_that_a_join_can_do() {
    let desk = Desk::with("docs.jsonl", &json_lines(&documents(100, 98)));
    let args = ["clean", "docs.jsonl", "--list", "--recipe", "simhash"];
    assert!(desk.run(&args, 0).1.contains(FEATURES));
    let (_, err) = desk.run(&[&args[..], &["--confirm", "0.8"]].concat(), 0);
    assert!(err.contains("within 17 bits"), "{err}");
}

#[test]
fn fingerprints_decide_where_nothing_else_can_be_compared() {
    let lines = json_lines(&documents(60, 99));
    let desk = Desk::with("docs.jsonl", &lines);
    let says = |args: &[&str], input: &str, part: &str| {
        let output = desk.output(&[&["clean", "--list"], args].concat(), input);
        let err = text(output.stderr);
        assert!(output.status.success() && err.contains(part), "{args:?}: {err}");
    };
    let alone = |k: u32| format!("by fingerprints within {k} bits alone");
    says(&["--docs", "-"], &lines, &alone(7));
    says(&["--docs", "docs.jsonl", "--unit", "words:20"], "", FEATURES);
    for (name, more, part) in [
        ("plain.fps", &["-k", "5"][..], alone(5)),
        ("sketched.fps", &["--sketch"], SKETCHES.to_string()),
    ] {
        let args = ["build", "--docs", "docs.jsonl", "-s", name, "-q"];
        desk.ok(&[&args[..], more].concat(), "");
        says(&["--docs", "docs.jsonl", "-s", name], "", &part);
        says(&["--docs", "-", "-s", name], &lines, &part);
    }
    desk.write("ready.jsonl", "{\"id\":\"a\",\"fp\":\"00000000000000ff\"}\n");
    says(&["ready.jsonl", "--fingerprint-field", "fp"], "", &alone(3));
}
