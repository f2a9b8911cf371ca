//! Fingerprints equal the results of slow reference implementations, and have the documented
//! properties of their methods.

use super::*;

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
                // Few distinct hashes cause ties.
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
    // Texts of the data set, reduced to ASCII without the characters that join words.
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

/// The basis of SimHash: the proportion of differing bits estimates the angle between the vectors.
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
    // A single proportion has a standard deviation of up to 1/16 from its expected value; the
    // mean of 400 proportions must be far closer to it.
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
            // if the repetitions dominated, 32 bits would differ.
            assert!(plain.distance(with) <= 12, "{name}: {}", plain.distance(with));
            let apart = plain.distance(plain_other);
            let apart_with = with.distance(with_other);
            assert!(apart_with + 12 >= apart, "{name}: {apart_with} instead of {apart}");
        }
    }
}

/// Texts without a word or letter: with recipes of earlier stores they have no fingerprint, else
/// each text is a single feature.
#[test]
fn a_text_without_words_is_its_own_feature() {
    let bare = ["... --- !!!", "...", "\u{3002}\u{ff0c}", "\u{1f600}", "\u{1f600}\u{1f600}", "+ ="];
    for name in ["minhash", "simhash"] {
        let recipe = TextRecipe::named(name).unwrap();
        let mut hasher = TextHasher::new(&recipe).unwrap();
        let mut stored = TextHasher::new(&before(&recipe)).unwrap();
        for text in ["", " ", "\n\n", "\u{3000}"] {
            assert_eq!(hasher.fingerprint(text), None, "{name}: {text:?}");
            assert_eq!(stored.fingerprint(text), None, "{name}: {text:?}");
        }
        let found: Vec<Fingerprint> =
            bare.iter().map(|text| hasher.fingerprint(text).unwrap()).collect();
        for (at, text) in bare.iter().enumerate() {
            assert_eq!(stored.fingerprint(text), None, "{name}: {text:?}");
            assert_eq!(hasher.distinct_features(text).len(), 1);
            // Leading and trailing white space is ignored, and the division into pieces has no
            // effect.
            let padded = format!(" \n{text}\t ");
            assert_eq!(hasher.fingerprint(&padded), Some(found[at]));
            padded.chars().for_each(|c| hasher.feed(c.encode_utf8(&mut [0; 4])));
            assert_eq!(hasher.finish(), Some(found[at]));
            // Unrelated texts of this kind are as distant as any unrelated texts.
            for other in &found[..at] {
                assert!(found[at].distance(*other) > recipe.usual_k(), "{name}: {text:?}");
            }
            let listed = hasher.features(text);
            assert_eq!((listed.len(), listed[0].count), (1, 1));
            // With a single word, the text is an ordinary text: its features are its words.
            let worded = format!("{text} a {text}");
            assert_eq!(hasher.fingerprint(&worded), hasher.fingerprint("a"));
            assert_eq!(hasher.fingerprint("a"), stored.fingerprint("a"));
        }
        // A finished text has no effect on the next.
        assert_eq!(hasher.fingerprint(bare[0]), Some(found[0]));
        assert_eq!(hasher.fingerprint(bare[1]), Some(found[1]));
        // Texts that are processed in several pieces.
        let [long, longer] = [20_000, 20_001].map(|count| "-- ".repeat(count));
        assert_ne!(hasher.fingerprint(&long), hasher.fingerprint(&longer));
    }
    assert_eq!(simhash([], TieRule::One), None);
    assert_eq!(simhash([(u64::MAX, Weight::ZERO)], TieRule::One), None);
    // All words are stop words.
    let list = StopWords::from_list("# of no use\nthe\n\nof\n");
    let recipe = TextRecipe { stop_words: Some(list.id()), ..words_recipe() };
    let resources = TextResources::default().stop_words(list);
    let mut hasher = TextHasher::with_resources(&recipe, resources).unwrap();
    assert_eq!(hasher.features("The of, THE")[0].text, "the of, the");
    let before = TextRecipe { featureless: FeaturelessText::NoFingerprint, ..recipe };
    let list = StopWords::from_list("# of no use\nthe\n\nof\n");
    let resources = TextResources::default().stop_words(list);
    let mut hasher = TextHasher::with_resources(&before, resources).unwrap();
    assert_eq!(hasher.fingerprint("The of, THE"), None);
    let mut plain = TextHasher::new(&words_recipe()).unwrap();
    assert_eq!(hasher.fingerprint("the cat of night"), plain.fingerprint("cat night"));
    // Stop words are also removed if tokens are letters, and a recipe can name a built-in list.
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

/// Pairs of texts that look the same: the second has invisible characters or other apostrophes.
const SAME_TO_READERS: [(&str, &str); 11] = [
    ("L'\u{e9}quipe s'est install\u{e9}e", "L\u{2019}\u{e9}quipe s\u{2019}est install\u{e9}e"),
    ("it's 'all' the dogs' fault", "\u{200f}it\u{2bc}s \u{2018}all\u{2019} the dogs\u{ff07} fault"),
    ("Landwirtschaft im Bund", "Land\u{ad}wirt\u{ad}schaft im Bund"),
    ("Landwirtschaft im Bund", "\u{feff}Land\u{200b}wirt\u{2060}schaft im\u{feff} Bund"),
    // Persian without and with the non-joiner, and Mongolian without and with its vowel separator.
    (
        "\u{645}\u{6cc}\u{62e}\u{648}\u{627}\u{647}\u{645} \u{631}\u{641}\u{62a}",
        "\u{645}\u{6cc}\u{200c}\u{62e}\u{648}\u{627}\u{647}\u{645} \u{631}\u{641}\u{62a}",
    ),
    ("\u{182a}\u{1820} \u{182a}", "\u{182a}\u{180e}\u{1820} \u{182a}\u{180b}"),
    // An ideograph without and with a variation selector, emoji with joiner and selectors, a letter
    // with its accent.
    ("\u{845b}\u{98fe} a", "\u{845b}\u{e0100}\u{98fe} a"),
    ("ok \u{2764}\u{1f469}\u{1f4bb} yes", "ok \u{2764}\u{fe0f}\u{1f469}\u{200d}\u{1f4bb} yes"),
    ("caf\u{e9} nu", "cafe\u{34f}\u{301} nu"),
    // Hawaiian, Hebrew, Greek and Afrikaans, as keyboards write them.
    (
        "Hawai'i \u{5d2}'\u{5d9}\u{5e8} \u{3b1}\u{3bb}\u{3bb}' \u{3b5} 'n",
        "Hawai\u{2bb}i \u{5d2}\u{5f3}\u{5d9}\u{5e8} \u{3b1}\u{3bb}\u{3bb}\u{1fbd} \u{3b5} \u{149}",
    ),
    ("--", "\u{2066}--\u{2069}"),
];

#[test]
fn texts_that_look_the_same_have_the_same_fingerprint() {
    for name in ["minhash", "simhash"] {
        let recipe = TextRecipe::named(name).unwrap();
        let mut hasher = TextHasher::new(&recipe).unwrap();
        for (plain, other) in SAME_TO_READERS {
            let expected = hasher.fingerprint(plain);
            assert_eq!(hasher.fingerprint(other), expected, "{name} {plain}");
            // Fed in two parts, cut at each position.
            for (cut, _) in other.char_indices() {
                hasher.feed(&other[..cut]);
                hasher.feed(&other[cut..]);
                assert_eq!(hasher.finish(), expected, "{name} {plain}");
            }
        }
        // Visible signs or white space instead of an apostrophe change the words. They do not
        // change tokens of letters, except the acute, whose normal form contains a mark.
        let plain = hasher.fingerprint("it's so");
        for seen in ["it`s so", "it\u{b4}s so", "it\u{2032}s so", "it s so", "it\u{a0}s so"] {
            let is_same = hasher.fingerprint(seen) == plain;
            let is_of_letters = name == "simhash" && !seen.contains('\u{b4}');
            assert_eq!(is_same, is_of_letters, "{name} {seen:?}");
        }
        assert_eq!(hasher.fingerprint("\u{200b}\u{ad} \u{feff}"), None);
    }
    let mut code = TextHasher::new(&TextRecipe::named("code").unwrap()).unwrap();
    let [plain, hidden, quoted] = ["x = 'a'; y", "x\u{200b} = 'a\u{200c}'; y", "x = \u{2019}a'; y"]
        .map(|text| code.fingerprint(text));
    assert_eq!(hidden, plain);
    assert_ne!(quoted, plain);
}

#[test]
fn lists_are_brought_into_the_form_of_the_recipe() {
    let named = |text: &str, recipe: &TextRecipe| {
        let resources = TextResources::default().stop_words(StopWords::from_list(text));
        let mut recipe = recipe.clone();
        resources.name_in(&mut recipe).unwrap();
        (TextHasher::with_resources(&recipe, resources).unwrap(), recipe)
    };
    let (mut plain, recipe) = named("the\nand\ndon't\nstrasse", &words_recipe());
    let expected = plain.fingerprint("cat hat mat");
    let text = "The cat and the hat and Stra\u{df}e don\u{2019}t mat";
    for list in
        ["The\nAnd \nDon\u{2019}t\nSTRASSE", "\u{feff} the\r\nand,\ndon\u{2bc}t\nstra\u{df}e"]
    {
        let (mut hasher, same) = named(list, &words_recipe());
        assert_eq!(hasher.fingerprint(text), expected);
        // The id of the list is computed from its words in the compared form.
        assert_eq!(same, recipe);
    }
    let kept = TextRecipe { case: Case::Kept, ..words_recipe() };
    assert_ne!(named("The", &kept).1, named("the", &kept).1);
    // A recipe of an earlier store contains the id of the list as written, and compares the words
    // as written.
    let list = StopWords::from_list("The\nhat");
    let stored = TextRecipe { stop_words: Some(list.id()), ..keeping(&words_recipe()) };
    let resources = TextResources::default().stop_words(list);
    let mut stored = TextHasher::with_resources(&stored, resources).unwrap();
    let mut hasher = TextHasher::new(&words_recipe()).unwrap();
    assert_eq!(stored.fingerprint("The cat hat"), hasher.fingerprint("the cat"));
    // All built-in lists are found by recipes that name them.
    for (code, recipe) in [("en", words_recipe()), ("fr", words_recipe()), ("ar", words_recipe())] {
        let mut recipe = recipe;
        let resources = TextResources::default().stop_words(StopWords::of_language(code).unwrap());
        resources.name_in(&mut recipe).unwrap();
        TextHasher::new(&recipe).unwrap();
    }
    let list = StopWords::from_list("New York\nThe\n--");
    let resources = TextResources::default().stop_words(list);
    assert_eq!(resources.unmatched(&words_recipe()), ["--", "New York"]);
}
