//! Scripts without spaces between words: unrelated texts are distinguished, edited texts are found,
//! and recipes of earlier stores yield unchanged fingerprints.

use std::collections::BTreeSet;

use super::*;

/// A text in each of Thai, Lao, Khmer, Burmese, Javanese and Yi, and its fingerprints by recipes of
/// earlier stores, without a length for letters: `minhash`, `simhash`, and `minhash` with the
/// segment `jieba`.
const BEFORE: &[(&str, [u64; 3])] = &[
    (
        "\u{e40}\u{e23}\u{e32}\u{e23}\u{e39}\u{e49}\u{e08}\u{e31}\u{e01}\u{e01}\u{e31}\u{e19}\
         \u{e21}\u{e32}\u{e19}\u{e32}\u{e19}\u{e41}\u{e25}\u{e49}\u{e27} \u{e41}\u{e25}\
         \u{e30}\u{e27}\u{e31}\u{e19}\u{e19}\u{e35}\u{e49}\u{e40}\u{e23}\u{e32}\u{e08}\u{e30}\
         \u{e44}\u{e1b}\u{e15}\u{e25}\u{e32}\u{e14}\u{e14}\u{e49}\u{e27}\u{e22}\u{e01}\u{e31}\
         \u{e19} \u{e51}\u{e52} \u{e1a}\u{e32}\u{e17}",
        [0xcdbc_6027_1183_11b0, 0x86e2_8c4c_4405_088f, 0xf2aa_103f_6260_d248],
    ),
    (
        "\u{e9e}\u{eb2}\u{eaa}\u{eb2}\u{ea5}\u{eb2}\u{ea7}\u{ec0}\u{e9b}\u{eb1}\u{e99}\u{e9e}\
         \u{eb2}\u{eaa}\u{eb2}\u{e97}\u{eb2}\u{e87}\u{e81}\u{eb2}\u{e99} \u{ec1}\u{ea5}\
         \u{eb0} two \u{e84}\u{eb3}",
        [0xeefa_ff46_f5ca_8970, 0xbaeb_8b8d_a2dc_3fff, 0xf8a9_1466_83aa_7abf],
    ),
    (
        "\u{1797}\u{17b6}\u{179f}\u{17b6}\u{1781}\u{17d2}\u{1798}\u{17c2}\u{179a}\u{1787}\
         \u{17b6}\u{1797}\u{17b6}\u{179f}\u{17b6}\u{1795}\u{17d2}\u{179b}\u{17bc}\u{179c}\
         \u{1780}\u{17b6}\u{179a} \u{179a}\u{1794}\u{179f}\u{17cb}\u{1794}\u{17d2}\u{179a}\
         \u{1791}\u{17c1}\u{179f}\u{1780}\u{1798}\u{17d2}\u{1796}\u{17bb}\u{1787}\u{17b6}",
        [0xbd11_3c84_386d_25c1, 0xdd7b_f7ee_07bd_ed60, 0x92c9_a8e7_72ee_8739],
    ),
    (
        "\u{1019}\u{103c}\u{1014}\u{103a}\u{1019}\u{102c}\u{1018}\u{102c}\u{101e}\u{102c}\
         \u{1005}\u{1000}\u{102c}\u{1038}\u{101e}\u{100a}\u{103a} \u{101b}\u{102f}\u{1036}\
         \u{1038}\u{101e}\u{102f}\u{1036}\u{1038}\u{1018}\u{102c}\u{101e}\u{102c}\u{1005}\
         \u{1000}\u{102c}\u{1038}\u{1016}\u{103c}\u{1005}\u{103a}\u{101e}\u{100a}\u{103a}",
        [0xd3d7_1b6d_9fb4_da4f, 0x7f3d_5bc5_936f_5b11, 0x81d0_b33c_597c_80bc],
    ),
    (
        "\u{a9a7}\u{a9b1}\u{a997}\u{a9ae} \u{a9b1}\u{a9ae}",
        [0xa272_07be_9f94_a67a, 0x9b90_01c6_34db_5209, 0xa272_07be_9f94_a67a],
    ),
    (
        "\u{a28b}\u{a0bf}\u{a0c0} \u{a000}\u{a001}",
        [0x4689_72b0_95ac_9cd7, 0x7c58_4427_a817_e4ae, 0x4689_72b0_95ac_9cd7],
    ),
];

#[test]
fn a_stored_recipe_without_a_length_for_letters_gives_what_it_gave() {
    let jieba = TextRecipe { tokenizer: Tokenizer::named("jieba").unwrap(), ..Default::default() };
    let recipes = [TextRecipe::default(), TextRecipe::named("simhash").unwrap(), jieba];
    for (text, expected) in BEFORE {
        for (recipe, expected) in recipes.iter().zip(expected) {
            let found = TextHasher::new(&before(recipe)).unwrap().fingerprint(text);
            assert_eq!(value(found), Some(*expected), "{text} {:x?}", value(found));
            assert_ne!(before(recipe).to_recipe(), recipe.to_recipe());
        }
    }
    // Recipes on which the length for letters has no effect do not contain it.
    for name in ["code", "1e0ng"] {
        let recipe = TextRecipe::named(name).unwrap();
        assert!(!recipe.to_recipe().text().contains("letter-ngram"), "{name}");
        assert_eq!(TextRecipe::from_recipe(&recipe.to_recipe()).unwrap(), recipe);
    }
}

/// An artificial language with the letters from `first` on: 20 000 words of one to seven letters,
/// four on average. The word of rank r is drawn with a probability of about 1 / r.
struct Language {
    words: Vec<String>,
    random: Random,
}

impl Language {
    fn new(first: u32, letter_count: u64, seed: u64) -> Self {
        let mut random = Random::new(seed);
        let mut words = BTreeSet::new();
        while words.len() < 20_000 {
            let len = 1 + random.below(4) + random.below(4);
            // Some letters are far more frequent than others.
            let mut letter = || random.below(letter_count).min(random.below(letter_count)) as u32;
            let letters = (0..len).map(|_| char::from_u32(first + letter()).unwrap());
            words.insert(letters.collect::<String>());
        }
        // Words are shuffled, so that rank and spelling are independent.
        let mut words: Vec<String> = words.into_iter().collect();
        for at in (1..words.len()).rev() {
            words.swap(at, random.below(at as u64 + 1) as usize);
        }
        Language { words, random }
    }

    fn word(&mut self) -> String {
        let exponent = self.random.below(1 << 20) as f64 / f64::from(1 << 20);
        let rank = (self.words.len() as f64).powf(exponent) as usize - 1;
        self.words[rank].clone()
    }

    fn text(&mut self, count: usize) -> Vec<String> {
        (0..count).map(|_| self.word()).collect()
    }

    /// The same text with every sixtieth word replaced.
    fn edited(&mut self, text: &[String]) -> Vec<String> {
        let mut edited = text.to_vec();
        for at in (0..text.len()).step_by(60) {
            edited[at] = self.word();
        }
        edited
    }
}

fn jaccard(one: &[u64], other: &[u64]) -> f64 {
    let [one, other] = [one, other].map(|hashes| hashes.iter().collect::<BTreeSet<_>>());
    one.intersection(&other).count() as f64 / one.union(&other).count() as f64
}

/// A long text contains nearly all pairs of a few dozen letters, so with pairs of letters as
/// features all long texts would be similar.
#[test]
fn unrelated_long_texts_of_letters_are_told_apart_and_edited_ones_found() {
    let scripts = [
        ("Thai", 0xe01, 46),
        ("Lao", 0xe81, 50),
        ("Myanmar", 0x1000, 55),
        ("Khmer", 0x1780, 60),
        ("Tai Tham", 0x1a20, 60),
        ("Javanese", 0xa984, 50),
    ];
    for (name, first, letter_count) in scripts {
        let mut language = Language::new(first, letter_count, u64::from(first));
        for recipe in ["minhash", "simhash"] {
            let recipe = TextRecipe::named(recipe).unwrap();
            let mut hasher = TextHasher::new(&recipe).unwrap();
            let k = recipe.usual_k();
            for count in [100, 5000] {
                let texts: Vec<Vec<String>> = (0..5).map(|_| language.text(count)).collect();
                let near: Vec<_> = texts.iter().map(|text| language.edited(text)).collect();
                let mut of = |text: &[String]| {
                    let text = text.concat();
                    (hasher.fingerprint(&text).unwrap(), hasher.distinct_features(&text))
                };
                let texts: Vec<_> = texts.iter().map(|text| of(text)).collect();
                let near: Vec<_> = near.iter().map(|text| of(text)).collect();
                for at in 0..texts.len() {
                    let case = format!("{name}, {count} words, {}", recipe.method.name());
                    let similarity = jaccard(&texts[at].1, &near[at].1);
                    assert!(similarity > 0.88, "{case}: {similarity}");
                    for other in 0..at {
                        let similarity = jaccard(&texts[at].1, &texts[other].1);
                        assert!(similarity < 0.2, "{case}: {similarity}");
                        let distance = texts[at].0.distance(texts[other].0);
                        assert!(distance > k, "{case}: {distance}");
                    }
                }
                let found =
                    texts.iter().zip(&near).filter(|(one, near)| one.0.distance(near.0) <= k);
                assert!(found.count() >= 4, "{name}, {count} words");
            }
        }
    }
}

/// UAX #29 treats a run of signs (of Yi or cuneiform) as a single word, so with words as tokens any
/// edit would replace the only feature.
#[test]
fn edited_texts_of_signs_are_found() {
    for (name, first, sign_count) in [("Yi", 0xa000, 1100), ("cuneiform", 0x12000, 900)] {
        let mut language = Language::new(first, sign_count, u64::from(first));
        let mut hasher = TextHasher::new(&TextRecipe::default()).unwrap();
        let text = language.text(500);
        let near = language.edited(&text).concat();
        let other = language.text(500).concat();
        let mut of = |text: &str| hasher.distinct_features(text);
        let (text, near, other) = (of(&text.concat()), of(&near), of(&other));
        assert!(jaccard(&text, &near) > 0.9, "{name}");
        assert!(jaccard(&text, &other) < 0.2, "{name}");
    }
}
