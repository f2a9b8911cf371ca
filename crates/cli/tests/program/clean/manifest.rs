//! Tests `clean --manifest`.

use serde_json::Value;
use sha2::{Digest, Sha256};

use super::{documents, removed};
use crate::common::documents::json_lines;
use crate::common::program::{TestDir, with_slashes};

/// Fails unless a list names these files with their actual lengths and digests.
fn assert_files(dir: &TestDir, list: &Value, expected: &[&str]) {
    let files = list.as_array().unwrap();
    let paths: Vec<String> =
        files.iter().map(|file| with_slashes(file["path"].as_str().unwrap())).collect();
    assert_eq!(paths, expected);
    for file in files {
        let bytes = std::fs::read(dir.path(file["path"].as_str().unwrap())).unwrap();
        let digest: String = Sha256::digest(&bytes).iter().map(|it| format!("{it:02x}")).collect();
        assert_eq!(file["bytes"], bytes.len(), "{file}");
        assert_eq!(file["sha256"], digest, "{file}");
    }
}

#[test]
fn a_manifest_has_settings_counts_and_digests_of_all_files() {
    let documents = documents(200, 95);
    let dir = TestDir::new();
    dir.write("in/a.jsonl", json_lines(&documents[..90]));
    dir.write("in/b.jsonl", json_lines(&documents[90..]) + "{\"id\":\"empty\",\"text\":\"\"}\n");
    let args = ["clean", "in", "--confirm", "0.8", "-o", "out", "--removed", "r.tsv"];
    let args = [&args[..], &["--losses", "l.tsv", "--manifest", "m.json", "-q"]].concat();
    dir.run(&args, 0);
    let manifest: Value = serde_json::from_str(&dir.read("m.json")).unwrap();
    assert_files(&dir, &manifest["inputs"], &["in/a.jsonl", "in/b.jsonl"]);
    assert_files(&dir, &manifest["outputs"], &["out/a.jsonl", "out/b.jsonl", "r.tsv", "l.tsv"]);
    let gone = removed(&documents, Some(0.8), |_, _| 0).len();
    let counts = &manifest["counts"];
    assert_eq!(counts["documents"], 200);
    assert_eq!(counts["removed"], gone);
    assert_eq!(counts["kept"], 200 - gone);
    let reasons = counts["removed_by_reason"].as_object().unwrap();
    assert_eq!(reasons.values().map(|count| count.as_u64().unwrap()).sum::<u64>(), gone as u64);
    assert_eq!(counts["without_fingerprint"], 1);
    assert_eq!(manifest["settings"]["confirm"], 0.8);
    assert_eq!(manifest["settings"]["keep"], "first");
    assert!(manifest["settings"].get("files").is_none());
    assert!(manifest["judgement"].as_str().unwrap().starts_with("by Jaccard similarity 0.8"));
    assert_eq!(manifest["losses"][0]["removed"], gone);
    assert_eq!(manifest["fpstore"], env!("CARGO_PKG_VERSION"));
    // An existing manifest is not replaced without `-f`.
    let args = ["clean", "in", "--list", "--manifest", "m.json"];
    let (_, err) = dir.run(&args, 2);
    assert!(err.contains("m.json exists"), "{err}");
}
