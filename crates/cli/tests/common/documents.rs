//! Generates test documents, many of them near-duplicates or equal, and computes the expected
//! pairs.

use std::collections::{BTreeMap, BTreeSet};

use fpstore_text::{TextHasher, TextRecipe};

use super::{Random, oracle};

#[derive(Clone)]
pub struct Document {
    /// The id: the letter d and the position of the document.
    pub id: String,
    pub words: Vec<String>,
    /// The value of a field by which tests rank documents.
    pub score: Option<u64>,
    pub fingerprint: u64,
    pub features: BTreeSet<u64>,
}

impl Document {
    /// A document without a score.
    pub fn of(id: String, words: Vec<String>) -> Self {
        Document::new(id, words, None)
    }

    fn new(id: String, words: Vec<String>, score: Option<u64>) -> Self {
        let mut hasher = TextHasher::new(&TextRecipe::default()).unwrap();
        let text = words.join(" ");
        let fingerprint = hasher.fingerprint(&text).unwrap().value();
        let features = hasher.distinct_features(&text).into_iter().collect();
        Document { id, words, score, fingerprint, features }
    }

    pub fn text(&self) -> String {
        self.words.join(" ")
    }

    pub fn similarity(&self, other: &Document) -> f64 {
        oracle::similarity(&self.features, &other.features)
    }
}

/// Makes `count` documents of `word_count` words. Most are copies of earlier documents with fewer
/// than `changes` changed words.
pub fn documents(count: usize, seed: u64, word_count: u64, changes: u64) -> Vec<Document> {
    let mut random = Random::new(seed);
    let mut documents: Vec<Document> = Vec::new();
    for number in 0..count {
        let mut words = match documents.len() {
            len if len > 0 && !random.next().is_multiple_of(3) => {
                documents[random.next() as usize % len].words.clone()
            }
            _ => (0..word_count).map(|_| format!("w{}", random.next() % 500)).collect(),
        };
        for _ in 0..random.next() % changes {
            let at = random.next() as usize % words.len();
            words[at] = format!("v{}", random.next() % 500);
        }
        if random.next().is_multiple_of(4) {
            words.push("longer".into());
        }
        let score = Some(random.next() % 50).filter(|score| score % 10 > 0);
        documents.push(Document::new(format!("d{number}"), words, score));
    }
    documents
}

/// The documents as JSON Lines.
pub fn json_lines(documents: &[Document]) -> String {
    let line = |of: &Document| format!("{{\"id\":\"{}\",\"text\":\"{}\"}}\n", of.id, of.text());
    documents.iter().map(line).collect()
}

/// Compares all documents with each other, and returns the positions of each pair that is near and
/// similar enough.
pub fn confirmed_pairs(
    documents: &[Document],
    k: u32,
    threshold: f64,
    similarity: impl Fn(usize, usize) -> f64,
) -> BTreeMap<(usize, usize), f64> {
    let values: Vec<u64> = documents.iter().map(|document| document.fingerprint).collect();
    oracle::confirmed_pairs(&values, k, threshold, similarity)
}
