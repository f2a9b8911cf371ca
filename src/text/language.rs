//! Recipes by name and by language: which were measured to be best (`benches/recipes.md`).

use crate::error::Result;
use crate::text::hash::FeatureHash;
use crate::text::recipe::{Segment, TextRecipe, invalid};
use crate::text::weight::CountWeight;

/// Languages of scripts that put no spaces between words.
const DENSE_LANGUAGES: &[&str] = &[
    "bo", "cmn", "dz", "ja", "jpn", "khm", "km", "lao", "lo", "mya", "my", "tha", "th", "wuu",
    "yue", "zh", "zho",
];

impl TextRecipe {
    /// The names of the recipes that [`TextRecipe::named`] knows.
    pub const NAMES: &'static [&'static str] = &["auto", "en", "zh", "1e0ng"];

    /// A recipe by name.
    ///
    /// * `auto`, the default, for texts in any language: the winner over all labelled sets of texts.
    /// * `en`: the winner over those that are not mostly in Han.
    /// * `zh`: the winner over those that are.
    /// * `1e0ng` gives what the Python package `simhash` of 1e0ng gives with its defaults.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidRecipe`](crate::Error::InvalidRecipe) with the names there are.
    pub fn named(name: &str) -> Result<Self> {
        match name {
            "auto" => Ok(TextRecipe::default()),
            "en" => Ok(TextRecipe { ngram: 3, ..TextRecipe::default() }),
            "zh" => Ok(TextRecipe { segment: Segment::Words, shingle: 3, ..TextRecipe::default() }),
            "1e0ng" => Ok(TextRecipe {
                nfkc: false,
                segment: Segment::PythonCharacters,
                ngram: 4,
                count: CountWeight::Count,
                hash: FeatureHash::Md5Low64,
                empty_feature: true,
                ..TextRecipe::default()
            }),
            name => {
                let names = TextRecipe::NAMES.join(", ");
                Err(invalid(format!("there is no recipe '{name}', expected {names}")))
            }
        }
    }

    /// The recipe for texts in a language, by its code (`en`, `zh-TW`), or `auto`.
    ///
    /// Chinese and other languages whose scripts put no spaces between words get the recipe named `zh`, others the one
    /// named `en`. For texts in several languages there is `auto`: it goes by the script at each place of a text, so
    /// they can share a store.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidRecipe`](crate::Error::InvalidRecipe) if that is no code.
    ///
    /// # Examples
    ///
    /// ```
    /// use fpstore::TextRecipe;
    ///
    /// assert_eq!(TextRecipe::for_language("ja")?, TextRecipe::named("zh")?);
    /// assert_eq!(TextRecipe::for_language("pt-BR")?, TextRecipe::named("en")?);
    /// # Ok::<(), fpstore::Error>(())
    /// ```
    pub fn for_language(code: &str) -> Result<Self> {
        let language = code.split(['-', '_']).next().unwrap_or_default().to_ascii_lowercase();
        let is_code =
            matches!(language.len(), 2 | 3) && language.bytes().all(|b| b.is_ascii_alphabetic());
        match language.as_str() {
            "auto" => TextRecipe::named("auto"),
            dense if DENSE_LANGUAGES.contains(&dense) => TextRecipe::named("zh"),
            _ if is_code => TextRecipe::named("en"),
            _ => {
                let reason = format!("'{code}' is no code of a language, expected one as en or zh");
                Err(invalid(reason))
            }
        }
    }
}
