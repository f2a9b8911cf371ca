//! Fingerprints of texts equal published values and those of an independent slow implementation.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use fpstore_text::{
    Case, CountWeight, DfBuilder, DfTable, Error, Factor, FeatureHash, Fingerprint, GivenWeights,
    HashKey, Method, Recipe, StopWords, TextHasher, TextRecipe, TextResources, TieRule, Tokenizer,
    VoteRules, Weight, simhash,
};
use serde_json::Value;

#[path = "../../../tests/common/random.rs"]
mod random;

use random::Random;

/// Pairs of words, each with one vote: easy to follow by hand.
fn words_recipe() -> TextRecipe {
    TextRecipe {
        tokenizer: Tokenizer::Words,
        shingle: 2,
        method: voting(VoteRules::default()),
        ..TextRecipe::default()
    }
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

/// Texts with the fingerprints that 1e0ng/simhash gives them.
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

/// SimHash as one would explain it: for each bit, from the first to the last, add the weight of
/// every feature that has it and take away that of every other. In 128 bits, so nothing overflows.
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

/// The whole way of [`words_recipe`] and its kin for ASCII texts, in plain loops.
fn slow_fingerprint(text: &str, recipe: &TextRecipe) -> Option<u64> {
    let text = if recipe.case == Case::Kept { text.to_string() } else { text.to_lowercase() };
    let words: Vec<&str> =
        text.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty()).collect();
    let shingle = recipe.shingle as usize;
    let mut counts: BTreeMap<String, u64> = BTreeMap::new();
    for window in words.windows(shingle.min(words.len()).max(1)) {
        *counts.entry(window.join(" ")).or_default() += 1;
    }
    let Some(rules) = recipe.votes() else {
        // The minima themselves are tested where they are.
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

#[test]
fn published_combinations_come_out_with_either_tie_rule() {
    let published = json("simhash_published.json");
    let mut cases = 0;
    for case in published["combine_unweighted"]["cases"].as_array().unwrap() {
        let hashes: Vec<u64> = case["hashes"].as_array().unwrap().iter().map(hex).collect();
        let features = hashes.iter().map(|&hash| (hash, Weight::ONE));
        let found = value(simhash(features, TieRule::Zero));
        // Theirs is 0 for no features; ours is none.
        let expected = if hashes.is_empty() { None } else { Some(hex(&case["simhash"])) };
        assert_eq!(found, expected, "{case}");
        cases += 1;
    }
    for case in published["combine_weighted"]["cases"].as_array().unwrap() {
        let features = case["features"].as_array().unwrap().iter().map(|feature| {
            (hex(&feature["hash"]), Weight::try_from(feature["weight"].as_f64().unwrap()).unwrap())
        });
        assert_eq!(value(simhash(features, TieRule::Zero)), Some(hex(&case["simhash"])));
        cases += 1;
    }
    // go-dedup and mfonda: matches of an expression that on these texts finds the words.
    for case in published["text_words_fnv1"]["cases"].as_array().unwrap() {
        let text = case["text"].as_str().unwrap();
        let features =
            text.split(' ').map(|word| (FeatureHash::Fnv1.of(word.as_bytes()), Weight::ONE));
        let expected = Some(hex(&case["simhash"]));
        assert_eq!(value(simhash(features, TieRule::One)), expected, "{text}");
        let recipe = TextRecipe {
            shingle: 1,
            hash: FeatureHash::Fnv1,
            method: voting(VoteRules {
                count: CountWeight::Count,
                ties: TieRule::One,
                ..VoteRules::default()
            }),
            ..words_recipe()
        };
        assert_eq!(value(TextHasher::new(&recipe).unwrap().fingerprint(text)), expected);
        cases += 1;
    }
    // 1e0ng: MD5, weights up to 24 950.
    let numbers: Vec<String> = (0..500).map(|n: u32| n.to_string()).collect();
    for (case, features) in published["features_1e0ng"]["cases"].as_array().unwrap().iter().zip([
        vec![("aaa", 1), ("bbb", 1)],
        numbers.iter().map(|n| (n.as_str(), 1)).collect(),
        numbers.iter().zip(0..).map(|(n, i)| (n.as_str(), 50 * i)).collect(),
    ]) {
        let weighted = features.iter().map(|&(name, weight)| (name, Weight::whole(weight)));
        let mut recipe = TextRecipe::of_given_features();
        recipe.hash = FeatureHash::Md5Low64;
        let found = TextHasher::new(&recipe).unwrap().fingerprint_of_features(weighted);
        assert_eq!(value(found), Some(hex(&case["simhash"])), "{case}");
        cases += 1;
    }
    assert!(cases > 10, "{cases}");
    for case in published["distance"]["cases"].as_array().unwrap() {
        let [a, b] = ["a", "b"].map(|name| Fingerprint::new(hex(&case[name])));
        assert_eq!(u64::from(a.distance(b)), case["distance"].as_u64().unwrap());
    }
}

#[test]
fn every_text_of_1e0ng_has_the_fingerprint_that_1e0ng_gives() {
    let mut hasher = TextHasher::new(&TextRecipe::named("1e0ng").unwrap()).unwrap();
    let texts = texts_of_1e0ng();
    assert_eq!(texts.len(), 467);
    for (text, expected) in texts {
        assert_eq!(value(hasher.fingerprint(&text)), Some(expected), "{text:?}");
        // And in parts, cut anywhere.
        for part in text.split_inclusive(|c: char| u32::from(c).is_multiple_of(3)) {
            hasher.feed(part);
        }
        assert_eq!(value(hasher.finish()), Some(expected), "{text:?} in parts");
    }
}

#[test]
fn hashes_are_the_published_ones() {
    let vectors = json("hash_vectors.json");
    let siphash = &vectors["siphash_2_4_64"];
    let key = HashKey::from_hex(siphash["key"].as_str().unwrap()).unwrap();
    assert_eq!(key.0, [0x0706_0504_0302_0100, 0x0f0e_0d0c_0b0a_0908]);
    let outputs = siphash["output_bytes_little_endian_u64"].as_array().unwrap();
    assert_eq!(outputs.len(), 64);
    for (len, output) in outputs.iter().enumerate() {
        let input: Vec<u8> = (0..len).map(|n| n as u8).collect();
        let found = FeatureHash::SipHash24(key).of(&input);
        assert_eq!(found, hex(output).swap_bytes(), "{len} bytes");
    }
    for case in vectors["fnv1_64"]["cases"].as_array().unwrap() {
        let input = case[0].as_str().unwrap();
        assert_eq!(FeatureHash::Fnv1.of(input.as_bytes()), hex(&case[1]), "{input}");
    }
    for case in vectors["md5_low64"]["cases"].as_array().unwrap() {
        let input = case[0].as_str().unwrap();
        assert_eq!(FeatureHash::Md5Low64.of(input.as_bytes()), hex(&case[2]), "{input}");
    }
}

/// SipHash-1-3 has no published list; this one is written from the paper, with the rounds as
/// parameters, and first shown to give the published values of 2-4.
#[test]
fn siphash_1_3_is_that_of_the_paper() {
    fn siphash(key: [u64; 2], input: &[u8], compression: u32, finalisation: u32) -> u64 {
        let mut v = [
            key[0] ^ 0x736f_6d65_7073_6575,
            key[1] ^ 0x646f_7261_6e64_6f6d,
            key[0] ^ 0x6c79_6765_6e65_7261,
            key[1] ^ 0x7465_6462_7974_6573,
        ];
        let round = |v: &mut [u64; 4]| {
            v[0] = v[0].wrapping_add(v[1]);
            v[2] = v[2].wrapping_add(v[3]);
            v[1] = v[1].rotate_left(13) ^ v[0];
            v[3] = v[3].rotate_left(16) ^ v[2];
            v[0] = v[0].rotate_left(32);
            v[2] = v[2].wrapping_add(v[1]);
            v[0] = v[0].wrapping_add(v[3]);
            v[1] = v[1].rotate_left(17) ^ v[2];
            v[3] = v[3].rotate_left(21) ^ v[0];
            v[2] = v[2].rotate_left(32);
        };
        let mut words: Vec<[u8; 8]> = input
            .chunks(8)
            .map(|chunk| {
                let mut word = [0; 8];
                word[..chunk.len()].copy_from_slice(chunk);
                word
            })
            .collect();
        if input.len().is_multiple_of(8) {
            words.push([0; 8]);
        }
        words.last_mut().unwrap()[7] = input.len() as u8;
        for word in words.into_iter().map(u64::from_le_bytes) {
            v[3] ^= word;
            (0..compression).for_each(|_| round(&mut v));
            v[0] ^= word;
        }
        v[2] ^= 0xff;
        (0..finalisation).for_each(|_| round(&mut v));
        v[0] ^ v[1] ^ v[2] ^ v[3]
    }
    let key = HashKey([0x0706_0504_0302_0100, 0x0f0e_0d0c_0b0a_0908]);
    for len in 0..200_usize {
        let input: Vec<u8> = (0..len).map(|n| n as u8).collect();
        let [slow24, slow13] = [(2, 4), (1, 3)].map(|(c, d)| siphash(key.0, &input, c, d));
        assert_eq!(FeatureHash::SipHash24(key).of(&input), slow24);
        assert_eq!(FeatureHash::SipHash13(key).of(&input), slow13);
    }
    assert_eq!(FeatureHash::default().of(b"fpstore"), siphash([0, 0], b"fpstore", 1, 3));
}

#[test]
fn the_fast_vote_is_the_slow_one() {
    let mut random = Random::new(4);
    for round in 0..3000 {
        let count = random.below(40) + if round % 100 == 0 { 3000 } else { 0 };
        let features: Vec<(u64, Weight)> = (0..count)
            .map(|_| {
                let weight = match random.below(4) {
                    0 => Weight::ZERO,
                    1 => Weight::ONE,
                    2 => Weight::whole(random.below(6)),
                    _ => Weight::from_raw(random.below(1 << 46)).unwrap(),
                };
                // Few distinct hashes make ties.
                let hash = if random.below(2) == 0 { random.next() } else { random.below(4) };
                (hash, weight)
            })
            .collect();
        for ties in [TieRule::Zero, TieRule::One] {
            let found = value(simhash(features.iter().copied(), ties));
            assert_eq!(found, slow_simhash(&features, ties), "round {round}");
        }
    }
}

#[test]
fn whole_texts_agree_with_the_slow_implementation() {
    let mut random = Random::new(5);
    let vocabulary: Vec<String> =
        (0..300).map(|n| format!("{}{n}", ["the", "Of", "x", "word"][n % 4])).collect();
    for round in 0..400_u64 {
        let rules = VoteRules {
            count: [CountWeight::Once, CountWeight::Log, CountWeight::Count][round as usize % 3],
            ties: if round % 2 == 0 { TieRule::Zero } else { TieRule::One },
            ..VoteRules::default()
        };
        let recipe = TextRecipe {
            shingle: 1 + random.below(4) as u32,
            method: if round % 4 == 3 { Method::MinHash } else { voting(rules) },
            case: [Case::Kept, Case::Lower, Case::Folded][round as usize % 3],
            ..words_recipe()
        };
        let mut hasher = TextHasher::new(&recipe).unwrap();
        let len = if round % 50 == 0 { 30_000 } else { random.below(300) };
        let mut text = String::new();
        for _ in 0..len {
            let spread = 1 + random.below(300);
            text.push_str(&vocabulary[random.below(spread) as usize]);
            text.push_str([" ", ", ", "\n", " - "][random.below(4) as usize]);
        }
        let expected = slow_fingerprint(&text, &recipe);
        assert_eq!(value(hasher.fingerprint(&text)), expected, "round {round}");
        assert_eq!(value(hasher.fingerprint(&text)), expected, "round {round} again");
    }
    // Real texts, as far as they are ASCII without what ties words together.
    let mut compared = 0;
    for (text, _) in texts_of_1e0ng() {
        if text.bytes().any(|b| !b.is_ascii() || b"'._:;,".contains(&b)) {
            continue;
        }
        let recipe = words_recipe();
        let recipe = TextRecipe { tokenizer: Tokenizer::Words, ..recipe };
        let found = value(TextHasher::new(&recipe).unwrap().fingerprint(&text));
        assert_eq!(found, slow_fingerprint(&text, &recipe), "{text:?}");
        compared += 1;
    }
    assert!(compared > 5, "{compared}");
}

#[test]
fn parts_give_what_the_whole_gives() {
    let mut random = Random::new(6);
    let whole: String =
        texts_of_1e0ng().iter().map(|(text, _)| format!("{text}\n")).collect::<String>().repeat(3);
    let chars: Vec<usize> = whole.char_indices().map(|(at, _)| at).collect();
    for name in ["words", "letters", "characters", "forward", "jieba"] {
        let recipe = TextRecipe {
            tokenizer: Tokenizer::named(name).unwrap(),
            shingle: 3,
            ngram: 3,
            ..words_recipe()
        };
        let mut hasher = TextHasher::new(&recipe).unwrap();
        let expected = hasher.fingerprint(&whole);
        for _ in 0..5 {
            let mut at = 0;
            while at < whole.len() {
                let next = chars[random.below(chars.len() as u64) as usize];
                let end = if next > at { next } else { whole.len() };
                let end = if random.below(2) == 0 { end.min(at + 200) } else { end };
                let end = (end..=whole.len()).find(|&end| whole.is_char_boundary(end)).unwrap();
                hasher.feed(&whole[at..end]);
                at = end;
            }
            assert_eq!(hasher.finish(), expected, "{name}");
        }
    }
}

/// What makes SimHash work: the share of differing bits estimates the angle between the vectors.
#[test]
fn the_share_of_differing_bits_is_the_angle_over_pi() {
    let mut random = Random::new(7);
    let (mut error_sum, mut bias_sum) = (0.0, 0.0);
    const ROUNDS: u32 = 400;
    for round in 0..ROUNDS {
        let size = 200 + random.below(400) as usize;
        let kept = f64::from(round) / f64::from(ROUNDS);
        let mut pair = [Vec::new(), Vec::new()];
        for _ in 0..size {
            let hash = random.next();
            let weight = |random: &mut Random| 0.5 + random.below(1000) as f64 / 500.0;
            let w = weight(&mut random);
            if random.below(1000) as f64 / 1000.0 < kept {
                let other = if random.below(2) == 0 { w } else { weight(&mut random) };
                pair[0].push((hash, w));
                pair[1].push((hash, other));
            } else {
                pair[0].push((hash, w));
                pair[1].push((random.next(), w));
            }
        }
        let dot: f64 =
            pair[0].iter().zip(&pair[1]).filter(|(a, b)| a.0 == b.0).map(|(a, b)| a.1 * b.1).sum();
        let norm = |v: &[(u64, f64)]| v.iter().map(|(_, w)| w * w).sum::<f64>().sqrt();
        let angle = (dot / (norm(&pair[0]) * norm(&pair[1]))).min(1.0).acos();
        let [a, b] = pair.map(|vector| {
            let weighted = vector.iter().map(|&(hash, w)| (hash, Weight::try_from(w).unwrap()));
            simhash(weighted, TieRule::Zero).unwrap()
        });
        let share = f64::from(a.distance(b)) / 64.0;
        let expected = angle / std::f64::consts::PI;
        error_sum += (share - expected).abs();
        bias_sum += share - expected;
    }
    // One share has a standard deviation of up to 1/16; the mean of 400 must be far nearer.
    let (error, bias) = (error_sum / f64::from(ROUNDS), bias_sum / f64::from(ROUNDS));
    assert!(error < 0.06 && bias.abs() < 0.01, "error {error:.4}, bias {bias:.4}");
}

#[test]
fn one_repeated_token_does_not_decide_a_fingerprint() {
    let article = "Near-duplicate documents abound on the web. Two such documents differ from \
                   each other in a very small portion that displays advertisements, for example. \
                   Such differences are irrelevant for web search. So the quality of a web crawler \
                   increases if it can assess whether a newly crawled page is a near-duplicate.";
    let other = "The committee met on Tuesday and agreed that the old bridge should be closed to \
                 heavy traffic until an engineer has looked at the cracks in its second pillar. \
                 Residents of the eastern quarter, who must now drive round, were not amused.";
    for name in ["minhash", "simhash", "code"] {
        let mut hasher = TextHasher::new(&TextRecipe::named(name).unwrap()).unwrap();
        for wall in ["0000 ", ". . . ", "_ _ ", "0", "-----", "\u{4e00} ", "la la "] {
            let wall = wall.repeat(5000);
            let walled = |text: &str| format!("{text}\n{wall}\n");
            let mut of = |text: &str| hasher.fingerprint(text).unwrap();
            let (plain, plain_other) = (of(article), of(other));
            let (with, with_other) = (of(&walled(article)), of(&walled(other)));
            // The repeated text adds at most ten features to about 250, so about 4 bits may differ;
            // if it outweighed the rest, 32 would.
            assert!(plain.distance(with) <= 12, "{name}: {}", plain.distance(with));
            let apart = plain.distance(plain_other);
            let apart_with = with.distance(with_other);
            assert!(apart_with + 12 >= apart, "{name}: {apart_with} instead of {apart}");
        }
    }
}

#[test]
fn a_text_without_features_has_no_fingerprint() {
    for name in ["minhash", "simhash"] {
        let mut hasher = TextHasher::new(&TextRecipe::named(name).unwrap()).unwrap();
        for text in ["", " ", "\n\n", "... --- !!!", "\u{3002}\u{ff0c}", "\u{200b}"] {
            assert_eq!(hasher.fingerprint(text), None, "{name}: {text:?}");
        }
        assert!(hasher.fingerprint("a").is_some());
    }
    assert_eq!(simhash([], TieRule::One), None);
    assert_eq!(simhash([(u64::MAX, Weight::ZERO)], TieRule::One), None);
    // All words left out.
    let list = StopWords::from_list("# of no use\nthe\n\nof\n");
    let recipe = TextRecipe { stop_words: Some(list.id()), ..words_recipe() };
    let resources = TextResources::default().stop_words(list);
    let mut hasher = TextHasher::with_resources(&recipe, resources).unwrap();
    assert_eq!(hasher.fingerprint("The of, THE"), None);
    let mut plain = TextHasher::new(&words_recipe()).unwrap();
    assert_eq!(hasher.fingerprint("the cat of night"), plain.fingerprint("cat night"));
    // Stop words are also left out where tokens are letters, and the recipe names a built-in list.
    let list = StopWords::of_language("en").unwrap();
    let letters = TextRecipe::named("simhash").unwrap();
    let recipe = TextRecipe { stop_words: Some(list.id()), ..letters.clone() };
    let mut hasher = TextHasher::new(&recipe).unwrap();
    let mut plain = TextHasher::new(&letters).unwrap();
    let expected = plain.fingerprint("catastrophe tonight");
    assert_eq!(hasher.fingerprint("A catastrophe of tonight"), expected);
    let mut letters = String::new();
    hasher.each_token("a cat of mine", |letter| letters.push_str(letter));
    assert_eq!(letters, "cat");
}

#[test]
fn weights_come_from_tables_and_lists() {
    let counted = VoteRules { count: CountWeight::Count, ..VoteRules::default() };
    let weighed = |rules| TextRecipe { shingle: 1, method: voting(rules), ..words_recipe() };
    let base = weighed(counted);
    let texts = ["the cat sat", "the dog sat", "the bird flew", "a"];
    let mut plain = TextHasher::new(&base).unwrap();
    let mut builder = DfBuilder::new(&base);
    texts.iter().for_each(|text| builder.add(&mut plain, text));
    builder.add(&mut plain, "");
    let table = builder.finish(2);
    assert_eq!((table.document_count(), table.entry_count()), (4, 2));
    let mut bytes = Vec::new();
    table.write_to(&mut bytes).unwrap();
    assert_eq!(DfTable::from_bytes(&bytes, "a.df").unwrap(), table);
    for at in 0..bytes.len() {
        let mut damaged = bytes.clone();
        damaged[at] ^= 0x10;
        assert!(DfTable::from_bytes(&damaged, "a.df").is_err(), "byte {at}");
        assert!(DfTable::from_bytes(&bytes[..at], "a.df").is_err(), "cut at {at}");
    }

    let mut recipe = base.clone();
    let resources = TextResources::default().df_table(table.clone());
    resources.name_in(&mut recipe).unwrap();
    let by_idf = VoteRules { factor: Factor::Idf(table.id()), ..counted };
    assert_eq!(recipe, weighed(by_idf));
    // MinHash has no weights.
    let mut minhash = TextRecipe { method: Method::MinHash, ..base.clone() };
    let error = resources.name_in(&mut minhash).unwrap_err().to_string();
    assert!(error.contains("minhash") && error.contains("simhash"), "{error}");
    let mut hasher = TextHasher::with_resources(&recipe, resources.clone()).unwrap();
    let hash = |word: &str| base.hash.of(word.as_bytes());
    // log2(1 + 4/3), log2(1 + 4/2), log2(1 + 4).
    let idf = |numerator, denominator| Weight::log2_ratio(numerator, denominator);
    let features = [
        (hash("the"), idf(7, 3).times(Weight::whole(2))),
        (hash("sat"), idf(6, 2)),
        (hash("new"), idf(5, 1)),
    ];
    let expected = slow_simhash(&features, TieRule::Zero);
    assert_eq!(value(hasher.fingerprint("The sat the new")), expected);
    // The heaviest feature alone decides with top 1.
    let recipe = weighed(VoteRules { top: Some(1), ..by_idf });
    let mut hasher = TextHasher::with_resources(&recipe, resources.clone()).unwrap();
    assert_eq!(value(hasher.fingerprint("sat new")), Some(hash("new")));
    // A table for other features is refused, and so is none.
    let other = TextRecipe { shingle: 2, ..recipe.clone() };
    let error = TextHasher::with_resources(&other, resources).unwrap_err().to_string();
    assert!(error.contains("shingle=1") && error.contains("shingle=2"), "{error}");
    assert!(TextHasher::new(&recipe).unwrap_err().to_string().contains("none was given"));

    let list = GivenWeights::from_list("cat\t5\ndog\t3\n", "weights").unwrap();
    let recipe = weighed(VoteRules { factor: Factor::Given(list.id()), ..counted });
    let resources = TextResources::default().weights(list);
    let mut hasher = TextHasher::with_resources(&recipe, resources).unwrap();
    let features = [
        (hash("cat"), Weight::whole(5)),
        (hash("dog"), Weight::whole(6)),
        (hash("x"), Weight::ONE),
    ];
    let expected = slow_simhash(&features, TieRule::Zero);
    assert_eq!(value(hasher.fingerprint("cat dog x dog")), expected);
    for bad in ["cat", "cat\t6", "cat\t0", "cat\t1.5", "cat\t1\ncat\t2"] {
        let error = GivenWeights::from_list(bad, "weights").unwrap_err().to_string();
        assert!(error.starts_with("weights: line "), "{error}");
    }
}

/// The number of the rule that docs/recipe-spec.md indexes with this phrase.
fn df_rule(phrase: &str) -> u8 {
    let spec = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/recipe-spec.md");
    let spec = std::fs::read_to_string(spec).unwrap();
    let row = spec.lines().find(|line| line.starts_with("| D-") && line.contains(phrase));
    let cell = row.unwrap_or_else(|| panic!("no rule on {phrase}")).split('|').nth(1).unwrap();
    cell.trim().strip_prefix("D-").unwrap().parse().unwrap()
}

/// A table with one field changed and a right checksum, so that only the named rule is broken.
#[test]
fn each_broken_rule_of_a_df_file_is_named_as_in_the_specification() {
    let base = words_recipe();
    let mut hasher = TextHasher::new(&base).unwrap();
    let mut builder = DfBuilder::new(&base);
    builder.add(&mut hasher, "one two three");
    let mut bytes = Vec::new();
    builder.finish(1).write_to(&mut bytes).unwrap();
    assert!(DfTable::from_bytes(&bytes, "a.df").is_ok());
    let text_len = u64::from(bytes[12]);
    let entries = 32 + text_len;
    let len = bytes.len() as u64;
    let [magic, version, lengths, ascend, range, crc, reserved, text] =
        ["magic", "version", "lengths", "ascend", "range", "CRC", "reserved", "the text"]
            .map(df_rule);
    // Rule, first byte to change, new bytes, place in the error.
    for (rule, at, new, place) in [
        (magic, 0, &b"?"[..], 0),
        (version, 8, &[2], 8),
        (reserved, 10, &[1], 10),
        (lengths, 24, &[3], 12),
        (lengths, 12, &[0, 0, 0, 0xff], 12),
        (text, 33, &[0xff], 33),
        (ascend, entries + 12, &[0; 8], entries + 12),
        (range, entries + 8, &[0], entries + 8),
        (range, entries + 8, &[2], entries + 8),
        (crc, len - 1, &[0], len - 4),
    ] {
        let mut damaged = bytes.clone();
        damaged[at as usize..at as usize + new.len()].copy_from_slice(new);
        if rule != crc {
            let end = damaged.len() - 4;
            let right = crc32fast::hash(&damaged[..end]);
            damaged[end..].copy_from_slice(&right.to_le_bytes());
        } else {
            damaged[at as usize] = !bytes[at as usize];
        }
        if rule == text || rule == lengths {
            // The checksum is judged before the lengths, and these before the text.
            let mut both = damaged.clone();
            *both.last_mut().unwrap() ^= 1;
            let error = DfTable::from_bytes(&both, "a.df").unwrap_err().to_string();
            assert!(error.ends_with(&format!("(D-{crc})")), "{error}");
        }
        match DfTable::from_bytes(&damaged, "a.df") {
            Err(Error::DamagedTable { path, offset, rule: found, .. }) => {
                assert_eq!((path.as_path(), offset, found), (Path::new("a.df"), place, rule));
            }
            other => panic!("rule D-{rule}: {other:?}"),
        }
    }
}

#[test]
fn recipes_read_what_they_write_and_refuse_the_rest() {
    let mut recipes: Vec<TextRecipe> =
        TextRecipe::NAMES.iter().map(|name| TextRecipe::named(name).unwrap()).collect();
    recipes.push(TextRecipe::of_given_features());
    for name in ["jieba", "forward", "backward", "fewest", "letters"] {
        let tokenizer = Tokenizer::named(name).unwrap();
        let list = StopWords::from_list("a").id();
        recipes.push(TextRecipe {
            tokenizer,
            ngram: if name == "letters" { 4 } else { 1 },
            shingle: 2,
            stop_words: Some(list),
            hash: FeatureHash::SipHash24(HashKey([1, u64::MAX])),
            method: voting(VoteRules {
                factor: Factor::Given(list),
                top: Some(99),
                ties: TieRule::One,
                ..VoteRules::default()
            }),
            ..words_recipe()
        });
        let method = Method::MinHash;
        recipes.push(TextRecipe { tokenizer, method, ..words_recipe() });
    }
    for recipe in recipes {
        let text = recipe.to_recipe();
        assert!(text.text().starts_with("fpstore-text=1\n"), "{text}");
        let again = TextRecipe::from_recipe(&text).unwrap();
        assert_eq!(again.to_recipe(), text);
    }
    let minhash = TextRecipe { method: Method::MinHash, ..words_recipe() }.to_recipe();
    let wrong = Recipe::from_text(&minhash.text().replace("empty", "count=once\nempty")).unwrap();
    let error = TextRecipe::from_recipe(&wrong).unwrap_err().to_string();
    assert!(error.contains("count=once"), "{error}");
    let text = words_recipe().to_recipe();
    for (from, to, part) in [
        ("fpstore-text=1", "fpstore-text=2", "fpstore-text=2"),
        ("nfkc 18.0", "nfkc 17.0", "nfkc 17.0"),
        ("segment=", "segment=x", "segment=x"),
        ("\nngram=2", "\nngram=0", "ngram=0"),
        ("\nngram=2", "\nngram=02", "ngram=02"),
        ("tie=zero", "tie=two", "tie=two"),
        ("method=simhash", "method=hash", "method=hash"),
        ("method=simhash\n", "", "no line 'method'"),
        ("empty=nothing", "empty=nothing\nmore=1", "more=1"),
        ("siphash-1-3 0", "siphash-1-3 g", "32 hex digits"),
    ] {
        let changed = text.text().replacen(from, to, 1);
        assert_ne!(changed, text.text(), "{from}");
        let recipe = Recipe::from_text(&changed).unwrap();
        let error = TextRecipe::from_recipe(&recipe).unwrap_err().to_string();
        assert!(error.contains(part), "{error}");
    }
    assert!(TextRecipe::from_recipe(&Recipe::external()).is_err());
    assert!(TextRecipe::named("french").unwrap_err().to_string().contains("1e0ng"));
}

/// Worked out apart from this crate; docs/recipe-spec.md shows it.
#[test]
fn the_example_of_the_format_page_comes_out() {
    let spec = include_str!("../../../docs/recipe-spec.md");
    let mut hasher = TextHasher::new(&words_recipe()).unwrap();
    let hash = FeatureHash::default();
    let fingerprint = hasher.fingerprint("One two, three").unwrap();
    assert_eq!(fingerprint.value(), 0x0948_0109_4034_402c);
    for value in [hash.of(b"one two"), hash.of(b"two three"), fingerprint.value()] {
        assert!(spec.contains(&format!("`{value:016x}`")), "{value:016x}");
    }
    let minhash = TextRecipe { method: Method::MinHash, ..words_recipe() };
    let minhash = value(TextHasher::new(&minhash).unwrap().fingerprint("One two, three")).unwrap();
    assert!(spec.contains(&format!("`{minhash:016x}`")), "{minhash:016x}");
    // Pairs of characters for Chinese.
    let text = "\u{4eca}\u{5929}\u{5929}\u{6c14}";
    let pairs = ["\u{4eca}\u{5929}", "\u{5929}\u{5929}", "\u{5929}\u{6c14}"];
    let features = pairs.map(|pair| (hash.of(pair.as_bytes()), Weight::ONE));
    let mut hasher = TextHasher::new(&TextRecipe::named("simhash").unwrap()).unwrap();
    assert_eq!(value(hasher.fingerprint(text)), slow_simhash(&features, TieRule::Zero));
}

/// One number for all texts of 1e0ng, many of them Chinese, the same on all machines. When the
/// rules change, the test prints the new numbers.
#[test]
fn all_machines_give_the_same_fingerprints() {
    let texts = texts_of_1e0ng();
    let digest = |recipe: &TextRecipe| {
        let mut hasher = TextHasher::new(recipe).unwrap();
        texts.iter().fold(0_u64, |digest, (text, _)| {
            let value = value(hasher.fingerprint(text)).unwrap_or(1);
            (digest.rotate_left(7) ^ value).wrapping_mul(0x9e37_79b9_7f4a_7c15)
        })
    };
    let mut found = Vec::new();
    for name in TextRecipe::NAMES {
        found.push(format!("{name} {:016x}", digest(&TextRecipe::named(name).unwrap())));
    }
    for name in ["words", "letters", "characters", "jieba", "forward", "backward", "fewest"] {
        let tokenizer = Tokenizer::named(name).unwrap();
        for (shingle, ngram) in [(1, 1), (2, 3)] {
            let recipe = TextRecipe { tokenizer, shingle, ngram, ..words_recipe() };
            found.push(format!("{name} {shingle} {ngram} {:016x}", digest(&recipe)));
        }
    }
    let expected = include_str!("../../../tests/data/text/digests.txt");
    let lines: Vec<&str> = expected.lines().collect();
    assert_eq!(found, lines, "\n{}", found.join("\n"));
}
