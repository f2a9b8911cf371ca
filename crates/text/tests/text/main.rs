//! Fingerprints of texts equal published values and the values of an independent slow
//! implementation.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use fpstore_text::{
    Case, CountWeight, DfBuilder, DfTable, Error, Factor, FeatureHash, FeaturelessText,
    Fingerprint, GivenWeights, HashKey, Method, Recipe, StopWords, TextHasher, TextRecipe,
    TextResources, TieRule, Tokenizer, VoteRules, Weight, simhash,
};
use serde_json::Value;

mod fingerprints;
mod published;
#[path = "../../../../tests/common/random.rs"]
mod random;
mod recipes;
mod resources;
mod scripts;

use random::Random;

/// A recipe that is easy to compute by hand: pairs of words, each with one vote.
fn words_recipe() -> TextRecipe {
    TextRecipe {
        tokenizer: Tokenizer::Words,
        shingle: 2,
        method: voting(VoteRules::default()),
        ..TextRecipe::default()
    }
}

/// The recipe as in earlier stores, which keep ignorables and the forms of apostrophes.
fn keeping(recipe: &TextRecipe) -> TextRecipe {
    stored(recipe, &["ignorables=", "apostrophes="])
}

/// The recipe as in the earliest stores: like [`keeping`], but also without a length for letters
/// and without a fingerprint for a text without features.
fn before(recipe: &TextRecipe) -> TextRecipe {
    let featureless = FeaturelessText::NoFingerprint;
    let recipe = match recipe.featureless {
        FeaturelessText::WholeText => &TextRecipe { featureless, ..recipe.clone() },
        _ => recipe,
    };
    stored(recipe, &["ignorables=", "apostrophes=", "letter-ngram="])
}

/// The recipe that is read from the text of `recipe` without the lines `unknown`.
fn stored(recipe: &TextRecipe, unknown: &[&str]) -> TextRecipe {
    let text = recipe.to_recipe();
    let is_known = |line: &&str| !unknown.iter().any(|start| line.starts_with(start));
    let lines: Vec<&str> = text.text().lines().filter(is_known).collect();
    let text = Recipe::from_text(&lines.join("\n")).unwrap();
    let stored = TextRecipe::from_recipe(&text).unwrap();
    assert_eq!(stored.to_recipe(), text);
    stored
}

fn voting(rules: VoteRules) -> Method {
    Method::SimHash(rules)
}

fn data(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/data/text").join(name)
}

fn json(name: &str) -> Value {
    serde_json::from_slice(&std::fs::read(data(name)).unwrap()).unwrap()
}

fn hex(value: &Value) -> u64 {
    u64::from_str_radix(value.as_str().unwrap(), 16).unwrap()
}

/// Texts with their fingerprints computed by 1e0ng/simhash.
fn texts_of_1e0ng() -> Vec<(String, u64)> {
    let bytes = std::fs::read(data("simhash_1e0ng_text.jsonl.zst")).unwrap();
    let lines = String::from_utf8(zstd::decode_all(bytes.as_slice()).unwrap()).unwrap();
    lines
        .lines()
        .map(|line| {
            let row: Value = serde_json::from_str(line).unwrap();
            (row["text"].as_str().unwrap().to_string(), hex(&row["simhash"]))
        })
        .collect()
}

/// SimHash by its definition: for each bit, adds the weights of the features whose hash has the
/// bit, and subtracts the weights of the others; in 128 bits, so that nothing overflows.
fn slow_simhash(features: &[(u64, Weight)], ties: TieRule) -> Option<u64> {
    let features: Vec<&(u64, Weight)> =
        features.iter().filter(|(_, weight)| *weight > Weight::ZERO).collect();
    if features.is_empty() {
        return None;
    }
    let mut value = 0_u64;
    for bit in (0..64).rev() {
        let mut sum = 0_i128;
        for (hash, weight) in &features {
            if hash & (1 << bit) == 0 {
                sum -= i128::from(weight.raw());
            } else {
                sum += i128::from(weight.raw());
            }
        }
        value = value << 1 | u64::from(sum > 0 || sum == 0 && ties == TieRule::One);
    }
    Some(value)
}

/// All steps of [`words_recipe`] and similar recipes for ASCII texts, in plain loops.
fn slow_fingerprint(text: &str, recipe: &TextRecipe) -> Option<u64> {
    let text = if recipe.case == Case::Kept { text.to_string() } else { text.to_lowercase() };
    let words: Vec<&str> =
        text.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty()).collect();
    let shingle = recipe.shingle as usize;
    let mut counts: BTreeMap<String, u64> = BTreeMap::new();
    for window in words.windows(shingle.min(words.len()).max(1)) {
        *counts.entry(window.join(" ")).or_default() += 1;
    }
    let whole = text.trim();
    if counts.is_empty() && recipe.featureless == FeaturelessText::WholeText && !whole.is_empty() {
        counts.insert(whole.into(), 1);
    }
    let Some(rules) = recipe.votes() else {
        // The minima have separate tests in their module.
        let features = counts.keys().map(|feature| (feature.as_str(), Weight::ONE));
        return value(TextHasher::new(recipe).unwrap().fingerprint_of_features(features));
    };
    let features: Vec<(u64, Weight)> = counts
        .iter()
        .map(|(feature, &count)| (recipe.hash.of(feature.as_bytes()), rules.count.of(count)))
        .collect();
    slow_simhash(&features, rules.ties)
}

fn value(fingerprint: Option<Fingerprint>) -> Option<u64> {
    fingerprint.map(Fingerprint::value)
}
