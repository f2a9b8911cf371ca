//! The text forms of recipes, and fingerprints that are the same on all machines.

use super::*;

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
        ("fpstore-text=1", "fpstore-text=2", "it has version 2"),
        ("nfkc 18.0", "nfkc 17.0", "nfkc 17.0"),
        ("segment=", "segment=x", "segment=x"),
        ("\nngram=2", "\nngram=0", "ngram=0"),
        ("\nngram=2", "\nngram=02", "ngram=02"),
        ("ignorables=dropped", "ignorables=kept", "ignorables=kept, expected dropped"),
        ("apostrophes=folded", "apostrophes=kept", "apostrophes=kept, expected folded"),
        ("tie=zero", "tie=two", "tie=two"),
        ("method=simhash", "method=hash", "method=hash"),
        ("method=simhash\n", "", "no line 'method'"),
        ("empty=text", "empty=text\nmore=1", "more=1"),
        ("empty=text", "empty=all", "empty=all"),
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

/// The example in docs/recipe-spec.md, computed independently of this crate.
#[test]
fn the_example_of_the_format_page_comes_out() {
    let spec = include_str!("../../../../docs/recipe-spec.md");
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
    let default = TextRecipe::default();
    let hidden = "Don\u{2019}t st\u{ad}op";
    for (recipe, text, expected) in [
        (&default, "Don't stop", 0x663c_dc37_e377_51bb),
        (&default, hidden, 0x663c_dc37_e377_51bb),
        (&keeping(&default), hidden, 0x3fe6_dfdb_4945_c54a),
    ] {
        let found = value(TextHasher::new(recipe).unwrap().fingerprint(text)).unwrap();
        assert_eq!(found, expected, "{text}");
        assert!(spec.contains(&format!("`{found:016x}`")), "{found:016x}");
    }
    // The features of Chinese are pairs of characters.
    let text = "\u{4eca}\u{5929}\u{5929}\u{6c14}";
    let pairs = ["\u{4eca}\u{5929}", "\u{5929}\u{5929}", "\u{5929}\u{6c14}"];
    let features = pairs.map(|pair| (hash.of(pair.as_bytes()), Weight::ONE));
    let mut hasher = TextHasher::new(&TextRecipe::named("simhash").unwrap()).unwrap();
    assert_eq!(value(hasher.fingerprint(text)), slow_simhash(&features, TieRule::Zero));
}

/// A digest over all texts of 1e0ng, many of them Chinese, the same on all machines: for the
/// recipes of this release, and for the recipes of earlier stores.
#[test]
fn all_machines_give_the_same_fingerprints() {
    let now = include_str!("../../../../tests/data/text/digests.txt");
    assert_digests(now, TextRecipe::clone);
    assert_digests(include_str!("../../../../tests/data/text/digests-kept.txt"), keeping);
    assert_digests(include_str!("../../../../tests/data/text/digests-before.txt"), before);
}

/// Compares the digest of each recipe with the stored digest. If any differ, all digests are
/// printed.
fn assert_digests(expected: &str, stored: fn(&TextRecipe) -> TextRecipe) {
    let texts = texts_of_1e0ng();
    let digest = |recipe: &TextRecipe| {
        let mut hasher = TextHasher::new(&stored(recipe)).unwrap();
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
    let lines: Vec<&str> = expected.lines().collect();
    assert_eq!(found, lines, "\n{}", found.join("\n"));
}
