//! The parts of a recipe that callers change, checked so that none is ignored in silence.

use std::path::PathBuf;

use fpstore_text::{
    Case, CountWeight, DfTable, FeatureHash, GivenWeights, HashKey, Method, StopWords, TextRecipe,
    TextResources, TieRule, Tokenizer,
};

use crate::errors::Failure;

/// Lists and tables in a form that can be pickled.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Sources {
    /// The words of a list, one on each line.
    pub(super) stop_words: Option<String>,
    /// The bytes of a table of document frequencies.
    pub(super) df: Option<Vec<u8>>,
    /// Lines of feature, tab and weight.
    pub(super) weights: Option<String>,
}

impl Sources {
    pub(super) fn load(&self) -> Result<TextResources, Failure> {
        let mut resources = TextResources::default();
        if let Some(words) = &self.stop_words {
            resources = resources.stop_words(StopWords::from_list(words));
        }
        if let Some(bytes) = &self.df {
            resources = resources.df_table(DfTable::from_bytes(bytes, "df")?);
        }
        if let Some(lines) = &self.weights {
            resources = resources.weights(GivenWeights::from_list(lines, "weights")?);
        }
        Ok(resources)
    }
}

/// Changes of a named recipe.
#[derive(Debug, Default)]
pub(super) struct Changes {
    pub(super) segment: Option<String>,
    pub(super) shingle: Option<i64>,
    pub(super) ngram: Option<i64>,
    pub(super) count: Option<String>,
    pub(super) top: Option<i64>,
    pub(super) tie: Option<i64>,
    pub(super) hash: Option<String>,
    pub(super) hash_key: Option<String>,
    pub(super) keep_case: bool,
    pub(super) keep_form: bool,
    pub(super) keep_marks: bool,
}

fn refused(message: impl Into<String>) -> Failure {
    Failure::Input(message.into())
}

fn positive(name: &str, value: Option<i64>, most: u32) -> Result<Option<u32>, Failure> {
    let Some(value) = value else { return Ok(None) };
    match u32::try_from(value) {
        Ok(value) if (1..=most).contains(&value) => Ok(Some(value)),
        _ => Err(refused(format!("{name} is {value}, expected 1 to {most}"))),
    }
}

impl Changes {
    /// Changes the recipe. `is_default` says that the caller named none.
    pub(super) fn apply(&self, recipe: &mut TextRecipe, is_default: bool) -> Result<(), Failure> {
        let shingle = positive("shingle", self.shingle, 1000)?;
        let ngram = positive("ngram", self.ngram, 1000)?;
        match &self.segment {
            Some(name) => recipe.tokenizer = Tokenizer::named(name)?,
            // shingle counts words unless segment says otherwise.
            None if shingle.is_some() && recipe.tokenizer == Tokenizer::Letters => {
                recipe.tokenizer = Tokenizer::Words;
            }
            None => {}
        }
        if let (Some(name), true) = (self.segment.as_deref(), is_default) {
            recipe.shingle = if name == "letters" { 7 } else { 2 };
        }
        recipe.shingle = shingle.unwrap_or(recipe.shingle);
        recipe.ngram = ngram.unwrap_or(recipe.ngram);
        if let Some(text) = &self.hash {
            recipe.hash = FeatureHash::spelled(text)?;
        }
        if let Some(hex) = &self.hash_key {
            let key = HashKey::from_hex(hex)?;
            recipe.hash = match recipe.hash {
                FeatureHash::SipHash13(_) => FeatureHash::SipHash13(key),
                FeatureHash::SipHash24(_) => FeatureHash::SipHash24(key),
                _ => return Err(refused("hash_key: the hash of this recipe has no key")),
            };
        }
        self.apply_votes(recipe)?;
        if self.keep_case {
            recipe.case = Case::Kept;
        }
        recipe.nfkc &= !self.keep_form;
        recipe.vowel_marks |= self.keep_marks;
        let text = recipe.to_recipe();
        let given = [
            (shingle.is_some(), "shingle"),
            (ngram.is_some(), "ngram"),
            (self.count.is_some(), "count"),
        ];
        for (_, name) in given.into_iter().filter(|(given, _)| *given) {
            if !text.text().lines().any(|line| line.starts_with(&format!("{name}="))) {
                let message = format!("{name} has no meaning with the segment of this recipe");
                return Err(refused(message));
            }
        }
        Ok(())
    }

    fn apply_votes(&self, recipe: &mut TextRecipe) -> Result<(), Failure> {
        let top = positive("top", self.top, u32::MAX)?;
        let given =
            [(self.count.is_some(), "count"), (top.is_some(), "top"), (self.tie.is_some(), "tie")];
        let Some((_, name)) = given.into_iter().find(|(given, _)| *given) else { return Ok(()) };
        let Method::SimHash(rules) = &mut recipe.method else {
            let message = format!(
                "{name} has no meaning with minhash, which weighs no features; 'simhash' does"
            );
            return Err(refused(message));
        };
        if let Some(name) = &self.count {
            rules.count = CountWeight::named(name)?;
        }
        rules.top = top.or(rules.top);
        rules.ties = match self.tie {
            None => rules.ties,
            Some(0) => TieRule::Zero,
            Some(1) => TieRule::One,
            Some(other) => return Err(refused(format!("tie is {other}, expected 0 or 1"))),
        };
        Ok(())
    }
}

/// The bytes of a table of document frequencies.
pub(super) fn read_table(path: &PathBuf) -> Result<Vec<u8>, Failure> {
    let doing = "read";
    std::fs::read(path)
        .map_err(|source| fpstore::Error::Io { doing, path: path.clone(), source }.into())
}
