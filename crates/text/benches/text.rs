//! Measures the time to compute fingerprints of texts, next to the time of the tokenizer alone.
//!
//! The texts are those of `tests/data/text`, in an order from a fixed seed, joined to documents of
//! about 4 KB; with `FPSTORE_DATA`, chapters of the Bible and Chinese statutes of the full
//! collection.

use std::collections::BTreeMap;
use std::fs::File;
use std::hint::black_box;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::sync::OnceLock;
use std::time::Instant;

use fpstore_text::{CountWeight, Method, TextHasher, TextRecipe, Tokenizer, VoteRules, Weight};

const DOCUMENT_LEN: usize = 4096;
const TOTAL_LEN: usize = 4 << 20;
/// The number of rounds; odd, so that the median is the time of one round.
const ROUNDS: usize = 11;

fn main() {
    // `cargo test --benches` only checks that the benchmark runs.
    let is_test = !std::env::args().any(|argument| argument == "--bench");
    let only = std::env::args().skip(1).find(|argument| !argument.starts_with('-'));
    let (total, rounds) = if is_test { (1 << 16, 1) } else { (TOTAL_LEN, ROUNDS) };
    let english = corpus(total, "bible_en_a_chapters", |text| text.is_ascii());
    let chinese = corpus(total, "zh_statutes_a", |text| {
        text.chars().filter(|c| ('\u{4e00}'..='\u{9fff}').contains(c)).count() * 4 > text.len()
    });
    let base =
        TextRecipe { method: Method::SimHash(VoteRules::default()), ..TextRecipe::default() };
    let of = |tokenizer: &str, shingle: u32, ngram: u32| TextRecipe {
        tokenizer: Tokenizer::named(tokenizer).expect("a tokenizer"),
        shingle,
        ngram,
        ..base.clone()
    };
    let counted = |count| TextRecipe {
        method: Method::SimHash(VoteRules { count, ..VoteRules::default() }),
        ..of("words", 1, 2)
    };
    let minhash = |recipe| TextRecipe { method: Method::MinHash, ..recipe };
    if !is_test {
        println!(
            "Megabytes of text a second of CPU time, one thread, medians of {rounds} rounds in turn.\n"
        );
        println!("| case | tokens only | fingerprints | share |\n|---|---:|---:|---:|");
    }
    ready_features(&english, rounds, is_test);
    for (name, corpus, recipe) in [
        ("text/english/words-1", &english, of("words", 1, 2)),
        ("text/english/words-2", &english, of("words", 2, 2)),
        ("text/english/words-1-log", &english, counted(CountWeight::Log)),
        ("text/english/words-1-count", &english, counted(CountWeight::Count)),
        ("text/english/letters-7", &english, of("letters", 7, 2)),
        ("text/english/words-2-minhash", &english, minhash(of("words", 2, 2))),
        ("text/english/letters-7-minhash", &english, minhash(of("letters", 7, 2))),
        ("text/chinese/jieba-1", &chinese, of("jieba", 1, 1)),
        ("text/chinese/jieba-2", &chinese, of("jieba", 2, 1)),
        ("text/chinese/forward-1", &chinese, of("forward", 1, 1)),
        ("text/chinese/words-2", &chinese, of("words", 2, 2)),
        ("text/chinese/words-2-minhash", &chinese, minhash(of("words", 2, 2))),
    ] {
        if only.as_ref().is_some_and(|only| !name.contains(only.as_str())) {
            continue;
        }
        let mut hasher = TextHasher::new(&recipe).expect("no tables");
        let (mut plain, mut full) = (Vec::new(), Vec::new());
        for round in 0..rounds {
            for turn in 0..2 {
                let start = cpu_seconds();
                let is_plain = (round + turn) % 2 == 0;
                for text in corpus {
                    if is_plain {
                        hasher.each_token(text, |token| {
                            black_box(token);
                        });
                    } else {
                        black_box(hasher.fingerprint(text));
                    }
                }
                let times = if is_plain { &mut plain } else { &mut full };
                times.push(cpu_seconds() - start);
            }
        }
        let ratios: Vec<f64> = plain.iter().zip(&full).map(|(plain, full)| plain / full).collect();
        let len: usize = corpus.iter().map(String::len).sum();
        let speed = |times: &[f64]| len as f64 / 1e6 / median(times);
        if !is_test {
            let (tokens, prints) = (speed(&plain), speed(&full));
            println!("| {name} | {tokens:.0} | {prints:.0} | {:.2} |", median(&ratios));
        }
    }
}

/// Measures fingerprints of words that are already counted, the input of the package `simhash` of
/// PyPI; see `benches/program/simhash_rival.py`.
fn ready_features(corpus: &[String], rounds: usize, is_test: bool) {
    let features: Vec<Vec<(String, u64)>> = corpus
        .iter()
        .map(|text| {
            let mut counts: BTreeMap<String, u64> = BTreeMap::new();
            let text = text.to_lowercase();
            for word in text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()) {
                *counts.entry(word.to_string()).or_default() += 1;
            }
            counts.into_iter().collect()
        })
        .collect();
    let mut hasher = TextHasher::new(&TextRecipe::of_given_features()).expect("no tables");
    let mut times = Vec::new();
    for _ in 0..rounds {
        let start = cpu_seconds();
        for counts in &features {
            let weighted = counts.iter().map(|(word, n)| (word.as_str(), Weight::whole(*n)));
            black_box(hasher.fingerprint_of_features(weighted));
        }
        times.push(cpu_seconds() - start);
    }
    let len: usize = corpus.iter().map(String::len).sum();
    if !is_test {
        println!("| text/english/ready-features | | {:.0} | |", len as f64 / 1e6 / median(&times));
    }
}

/// The CPU time of this thread, which excludes other jobs of a busy machine. Without `/proc`, the
/// elapsed time.
fn cpu_seconds() -> f64 {
    static START: OnceLock<Instant> = OnceLock::new();
    let clock = START.get_or_init(Instant::now).elapsed().as_secs_f64();
    let ran = || {
        let text = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
        text.split(' ').next()?.parse::<f64>().ok()
    };
    ran().map_or(clock, |nanos| nanos / 1e9)
}

fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    sorted[sorted.len() / 2]
}

/// Documents of `total` bytes together, joined from the texts of `set` that `wanted` accepts.
fn corpus(total: usize, set: &str, wanted: impl Fn(&str) -> bool) -> Vec<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/data/text");
    let (path, join) = match std::env::var_os("FPSTORE_DATA") {
        Some(data) => (Path::new(&data).join("text").join(set).join("docs.jsonl.zst"), false),
        None => (folder.join("simhash_1e0ng_text.jsonl.zst"), true),
    };
    let file = zstd::Decoder::new(File::open(path).expect("the data")).expect("zstd");
    let texts: Vec<String> = BufReader::new(file)
        .lines()
        .map(|line| {
            let row: serde_json::Value =
                serde_json::from_str(&line.expect("a line")).expect("JSON");
            row["text"].as_str().expect("a text").to_string()
        })
        .filter(|text| wanted(text))
        .collect();
    let mut documents: Vec<String> = Vec::new();
    let (mut len, mut state) = (0, 1_u64);
    while len < total {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        let text = &texts[(state >> 33) as usize % texts.len()];
        len += text.len();
        match documents.last_mut().filter(|last| join && last.len() < DOCUMENT_LEN) {
            Some(last) => {
                last.push('\n');
                last.push_str(text);
            }
            None => documents.push(text.clone()),
        }
    }
    documents
}
