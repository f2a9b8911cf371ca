//! Documents, many of them near or equal, and the expected results for them.

use std::collections::{BTreeMap, BTreeSet};

use fpstore_text::{TextHasher, TextRecipe};

use super::{Random, oracle};

#[derive(Clone)]
pub struct Document {
    /// The letter d and the position.
    pub id: String,
    pub words: Vec<String>,
    /// A field used to rank documents.
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

/// Documents with this number of words each; most are copies of earlier documents with fewer than
/// `changes` changes.
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

/// One line of JSON for each document.
pub fn json_lines(documents: &[Document]) -> String {
    let line = |of: &Document| format!("{{\"id\":\"{}\",\"text\":\"{}\"}}\n", of.id, of.text());
    documents.iter().map(line).collect()
}

/// The pairs of positions of documents that are near and similar by this measure.
pub fn confirmed_pairs(
    documents: &[Document],
    k: u32,
    threshold: f64,
    similarity: impl Fn(usize, usize) -> f64,
) -> BTreeMap<(usize, usize), f64> {
    let values: Vec<u64> = documents.iter().map(|document| document.fingerprint).collect();
    oracle::confirmed_pairs(&values, k, threshold, similarity)
}
