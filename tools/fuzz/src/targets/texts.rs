//! Targets that read recipes, and the lists and tables named in recipes.

use fpstore_text::{
    DfTable, GivenWeights, Recipe, StopWords, TextHasher, TextRecipe, TextResources,
};

use crate::sign;

/// Reads a recipe: it must be written identically, and must be able to make fingerprints.
pub fn recipe(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let _ = TextRecipe::named(text);
    let Some(given) = Recipe::from_text(text) else { return };
    let Ok(recipe) = TextRecipe::from_recipe(&given) else { return };
    assert_eq!(recipe.to_recipe(), given);
    if let Ok(mut hasher) = TextHasher::new(&recipe) {
        let once = hasher.fingerprint("Two fish, 2 fish: \u{9c7c}\u{1f41f}");
        assert_eq!(once, hasher.fingerprint("Two fish, 2 fish: \u{9c7c}\u{1f41f}"));
    }
}

/// Reads a list as weights and as stop words: the order of its lines must not change its id.
pub fn weights(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    // In another order of the lines, a CR could become part of a line end, and a byte order mark
    // part of a line.
    let text = text.replace(['\r', '\u{feff}'], "");
    let text = text.as_str();
    let backwards: Vec<&str> = text.lines().rev().collect();
    let backwards = backwards.join("\n");
    let words = StopWords::from_list(text);
    assert_eq!(words.id(), StopWords::from_list(&backwards).id());
    let weights = GivenWeights::from_list(text, "weights");
    let again = GivenWeights::from_list(&backwards, "weights");
    assert_eq!(weights.is_ok(), again.is_ok());
    let Ok(weights) = weights else { return };
    assert_eq!(weights.id(), again.unwrap().id());
    let mut recipe = TextRecipe::named("simhash").unwrap();
    let resources = TextResources::default().weights(weights).stop_words(words);
    // It is an error if two spellings of a feature have different weights.
    let Ok(()) = resources.name_in(&mut recipe) else { return };
    if let Ok(mut hasher) = TextHasher::with_resources(&recipe, resources) {
        let start: String = text.chars().take(500).collect();
        assert_eq!(hasher.fingerprint(&start), hasher.fingerprint(&start));
    }
}

/// Reads a table of document frequencies: it must be written identically.
pub fn df(bytes: &[u8]) {
    let mut bytes = bytes.to_vec();
    sign::crc_at_end(&mut bytes);
    let Ok(table) = DfTable::from_bytes(&bytes, "df") else { return };
    let mut written = Vec::new();
    table.write_to(&mut written).unwrap();
    assert_eq!(written, bytes);
    let mut recipe = TextRecipe::named("simhash").unwrap();
    let is_empty = table.document_count() == 0;
    let resources = TextResources::default().df_table(table);
    resources.name_in(&mut recipe).unwrap();
    if let Ok(mut hasher) = TextHasher::with_resources(&recipe, resources) {
        // If the table was counted over no documents, all features have weight 0.
        assert!(hasher.fingerprint("one two three four five six").is_some() || is_empty);
    }
}
