//! Options that select a recipe, by name or from a file, and options that change parts of it.

use std::path::Path;

use anyhow::{Context, anyhow, bail};
use clap::Args;
use fpstore::Recipe;
use fpstore_base::read_inputs;
use fpstore_text::{
    CountWeight, Error, FeatureHash, HashKey, RecipeChanges, TextHasher, TextRecipe, TextResources,
    TieRule, Tokenizer,
};

use super::first_given;
use super::recipe_files::RecipeFileArgs;
use crate::session::choice::bare_choice;

/// Options that define how texts are converted to fingerprints.
#[derive(Args, Debug)]
#[command(next_help_heading = "From texts to fingerprints")]
pub(crate) struct RecipeArgs {
    /// Recipe: minhash, simhash, code, 1e0ng, or a file with a recipe as 'info' prints it [default:
    /// minhash; simhash for features with weights]
    #[arg(long, value_name = "RECIPE")]
    recipe: Vec<String>,
    /// Units of texts: words, letters, characters, python-characters; for Chinese also jieba,
    /// forward, backward, fewest
    #[arg(long, value_name = "HOW", hide_short_help = true)]
    segment: Option<String>,
    /// Number of consecutive words in a feature; of letters with --segment letters
    #[arg(long, value_name = "W", hide_short_help = true, value_parser = clap::value_parser!(u32).range(1..=1000))]
    shingle: Option<u32>,
    /// Number of consecutive characters in a feature, in scripts without spaces or with --segment
    /// characters [default: 2 for signs, as in Chinese; 6 for letters, as in Thai]
    #[arg(long, value_name = "N", hide_short_help = true, value_parser = clap::value_parser!(u32).range(1..=1000))]
    ngram: Option<u32>,
    /// Weight of a feature by its number of occurrences: count, log, or once (no effect)
    #[arg(long, value_name = "RULE", hide_short_help = true)]
    count: Option<String>,
    /// Use only the N heaviest features of a text
    #[arg(long, value_name = "N", hide_short_help = true, value_parser = clap::value_parser!(u32).range(1..))]
    top: Option<u32>,
    /// Hash of features: siphash-1-3, siphash-2-4, md5-low-64, fnv-1
    #[arg(long, value_name = "HASH", hide_short_help = true)]
    hash: Option<String>,
    /// Key of the hash, 32 hex digits
    #[arg(long, value_name = "HEX", hide_short_help = true)]
    hash_key: Option<String>,
    /// Value of a bit whose votes are tied: zero, one
    #[arg(long, value_name = "BIT", value_parser = bare_choice::<TieRule>(), hide_short_help = true)]
    tie: Option<TieRule>,
    /// Distinguish upper and lower case
    #[arg(long, hide_short_help = true)]
    keep_case: bool,
    /// Distinguish compatibility characters, such as full-width letters, from plain ones, and keep
    /// invisible characters and curly apostrophes
    #[arg(long, hide_short_help = true)]
    keep_form: bool,
    /// Keep vowel marks and accents of Hebrew and Arabic, which most texts leave out
    #[arg(long, hide_short_help = true)]
    keep_marks: bool,
    #[command(flatten)]
    resources: RecipeFileArgs,
}

/// The recipe that a command uses if the user gives none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DefaultRecipe {
    /// The recipe that finds the most duplicates.
    Best,
    /// SimHash: for `fpstore simhash`, whose name implies it.
    SimHash,
}

impl DefaultRecipe {
    fn name(self) -> &'static str {
        match self {
            DefaultRecipe::Best => TextRecipe::DEFAULT_NAME,
            DefaultRecipe::SimHash => "simhash",
        }
    }
}

impl RecipeArgs {
    /// Whether the user gave a recipe.
    pub(crate) fn is_given(&self) -> bool {
        !self.recipe.is_empty()
    }

    /// The recipe given by the user, if any. More than one is an error.
    fn name(&self) -> anyhow::Result<Option<&str>> {
        match self.recipe.as_slice() {
            [] => Ok(None),
            [name] => Ok(Some(name)),
            _ => bail!("--recipe is given twice; fingerprints of two recipes cannot be compared"),
        }
    }

    /// The first option that changes a part of a recipe, if the user gave no `--recipe` to change.
    pub(crate) fn first_change(&self) -> Option<&'static str> {
        let RecipeFileArgs { df, stop_words, weights } = &self.resources;
        let given = [
            (self.segment.is_some(), "--segment"),
            (self.shingle.is_some(), "--shingle"),
            (self.ngram.is_some(), "--ngram"),
            (self.count.is_some(), "--count"),
            (self.top.is_some(), "--top"),
            (self.hash.is_some(), "--hash"),
            (self.hash_key.is_some(), "--hash-key"),
            (self.tie.is_some(), "--tie"),
            (self.keep_case, "--keep-case"),
            (self.keep_form, "--keep-form"),
            (self.keep_marks, "--keep-marks"),
            (df.is_some(), "--df"),
            (stop_words.is_some(), "--stop-words"),
            (weights.is_some(), "--weights"),
        ];
        first_given(given).filter(|_| !self.is_given())
    }

    /// The hasher of `recipe`, the recipe of a store. The user can give the lists and tables that
    /// it refers to, but not change it.
    pub(crate) fn hasher_of(&self, recipe: &Recipe) -> anyhow::Result<TextHasher> {
        let hasher = self.resources.hasher_of(recipe)?;
        let mut changed = hasher.recipe().clone();
        self.change(&mut changed)?;
        if changed != *hasher.recipe() {
            bail!(
                "the recipe of the store sets the units and weights of its texts; leave out \
                 options for them"
            );
        }
        Ok(hasher)
    }

    /// Prints the default recipe, if the user gave no recipe.
    pub(crate) fn report_default(&self, default: DefaultRecipe, for_features: bool) {
        if !self.is_given() && self.segment.is_none() && self.shingle.is_none() && !for_features {
            message!("used recipe {}; to select another, use --recipe", default.name());
        }
    }

    /// The hasher of the recipe given by the user, or of the default. With `for_features` it hashes
    /// extracted features in place of texts.
    pub(crate) fn hasher(&self, for_features: bool) -> anyhow::Result<TextHasher> {
        self.hasher_or(DefaultRecipe::Best, for_features)
    }

    /// Like [`RecipeArgs::hasher`], but with the default recipe `default` for texts.
    pub(crate) fn hasher_or(
        &self,
        default: DefaultRecipe,
        for_features: bool,
    ) -> anyhow::Result<TextHasher> {
        match (for_features, self.name()?) {
            (true, None) => self.changed(TextRecipe::of_given_features()),
            (false, None) => self.changed(TextRecipe::named(default.name())?),
            (_, Some(name)) => self.hasher_named(name, for_features),
        }
    }

    /// One hasher, with its name, for each recipe given by the user, or with `all` for each
    /// built-in recipe.
    pub(crate) fn hashers(
        &self,
        for_features: bool,
        all: bool,
    ) -> anyhow::Result<Vec<(String, TextHasher)>> {
        let names = TextRecipe::NAMES.iter().map(|name| name.to_string());
        let names = if all { names.collect() } else { self.recipe.clone() };
        if names.is_empty() {
            let name = if for_features { "simhash" } else { DefaultRecipe::Best.name() };
            return Ok(vec![(name.into(), self.hasher(for_features)?)]);
        }
        let named = |name: String| Ok((name.clone(), self.hasher_named(&name, for_features)?));
        names.into_iter().map(named).collect()
    }

    fn hasher_named(&self, name: &str, for_features: bool) -> anyhow::Result<TextHasher> {
        let mut recipe = base_recipe(name)?;
        // Features in the input are not tokenized again, whichever built-in recipe is used.
        if for_features && TextRecipe::NAMES.contains(&name) {
            recipe.tokenizer = Tokenizer::Given;
        }
        self.changed(recipe)
    }

    fn changed(&self, mut recipe: TextRecipe) -> anyhow::Result<TextHasher> {
        let resources = self.resources.load()?;
        self.change(&mut recipe)?;
        resources.name_in(&mut recipe)?;
        // A built-in list gets no message about unmatched words, because users cannot change it.
        if self.resources.stop_words.as_ref().is_none_or(|list| list.exists()) {
            report_unmatched(&resources, &recipe);
        }
        Ok(TextHasher::with_resources(&recipe, resources)?)
    }

    fn change(&self, recipe: &mut TextRecipe) -> anyhow::Result<()> {
        let changes = RecipeChanges {
            segment: self.segment.as_deref().map(Tokenizer::named).transpose()?,
            usual_shingle: self.recipe.is_empty(),
            shingle: self.shingle,
            ngram: self.ngram,
            count: self.count.as_deref().map(CountWeight::named).transpose()?,
            top: self.top,
            tie: self.tie,
            hash: self.hash.as_deref().map(FeatureHash::spelled).transpose()?,
            hash_key: self.hash_key.as_deref().map(HashKey::from_hex).transpose()?,
            keep_case: self.keep_case,
            keep_form: self.keep_form,
            keep_marks: self.keep_marks,
        };
        changes.apply(recipe).map_err(|error| match error {
            Error::UselessChange { part, with } => {
                anyhow!("--{} has no meaning with {with}", part.replace('_', "-"))
            }
            error => error.into(),
        })
    }
}

/// Prints how many words of the stop-word and weight lists can never match a feature.
fn report_unmatched(resources: &TextResources, recipe: &TextRecipe) {
    let unmatched = resources.unmatched(recipe);
    if let Some(first) = unmatched.first() {
        let words = if unmatched.len() == 1 { "word" } else { "words" };
        message!(
            "{} {words} in lists without effect: '{first}' is not a single word or feature by this recipe",
            unmatched.len(),
        );
    }
}

/// The built-in recipe with this name, else the recipe in the file with this name.
fn base_recipe(name: &str) -> anyhow::Result<TextRecipe> {
    let path = Path::new(name);
    match TextRecipe::named(name) {
        Err(_) if path.is_file() => {
            let text =
                read_inputs::read_list(path).with_context(|| format!("cannot read {name}"))?;
            // Also accepts the lines that `info` prints: indented, the first one beginning with
            // `recipe`.
            let lines: Vec<&str> = text
                .lines()
                .map(|line| line.trim().trim_start_matches("recipe").trim())
                .filter(|line| !line.is_empty())
                .collect();
            let recipe = Recipe::from_text(&lines.join("\n"));
            let recipe = recipe.with_context(|| format!("{name} holds no recipe"))?;
            TextRecipe::from_recipe(&recipe).with_context(|| name.to_string())
        }
        recipe => Ok(recipe?),
    }
}
