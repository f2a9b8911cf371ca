//! Features and fingerprints of documents equal the features and fingerprints of their texts.

use fpstore_documents::{Admission, DocumentOptions, Error, read_features};
use fpstore_text::{TextHasher, TextRecipe};

/// Features and fingerprints computed together equal the results of computing each alone.
#[test]
fn features_and_fingerprints_of_documents_are_those_of_texts() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("texts.jsonl");
    let texts = ["", " - ", "one", "one two one two three", "\u{7532}\u{4e59}\u{4e19} and more"];
    let mut lines = String::new();
    for (number, text) in texts.iter().enumerate() {
        lines.push_str(&format!("{{\"id\":{number},\"text\":\"{text}\"}}\n"));
    }
    std::fs::write(&path, lines).unwrap();
    for name in TextRecipe::NAMES {
        let mut hasher = TextHasher::new(&TextRecipe::named(name).unwrap()).unwrap();
        let mut number = 0;
        let options = DocumentOptions::default();
        let task_hasher = hasher.clone();
        read_features(std::slice::from_ref(&path), &task_hasher, &options, |document| {
            let text = texts[number];
            number += 1;
            assert_eq!(document.fingerprint, hasher.fingerprint(text), "{name}: {text:?}");
            let mut features = hasher.distinct_features(text);
            features.sort_unstable();
            if !features.is_empty() {
                assert_eq!(document.features, features, "{name}: {text:?}");
            }
            Ok::<_, Error>(Admission::Taken)
        })
        .unwrap();
        assert_eq!(number, texts.len());
    }
}
