//! Changes of single parts of a recipe, as users request them.
//!
//! The program and the Python package fill in [`RecipeChanges`] from their options. Only this file
//! defines the meaning of a change. A change without effect on the recipe is refused.

use super::parts::{Case, Tokenizer};
use super::text_recipe::TextRecipe;
use crate::error::{Error, Result};
use crate::features::hash::{FeatureHash, HashKey};
use crate::votes::TieRule;
use crate::votes::weight::CountWeight;

/// The default number of consecutive words in a feature.
const USUAL_SHINGLE: u32 = 2;
/// The default number of letters in a feature; larger, because a word has several letters.
pub(super) const USUAL_SHINGLE_OF_LETTERS: u32 = 7;

/// The parts of a recipe that a user changes. The default changes nothing.
///
/// # Examples
///
/// ```
/// use fpstore_text::{RecipeChanges, TextRecipe};
///
/// let mut recipe = TextRecipe::named("simhash")?;
/// let changes = RecipeChanges { shingle: Some(3), ..RecipeChanges::default() };
/// changes.apply(&mut recipe)?;
/// assert!(recipe.to_recipe().text().contains("\nsegment=words\nshingle=3\n"));
///
/// // MinHash has no vote, so `top` has no meaning.
/// let changes = RecipeChanges { top: Some(100), ..RecipeChanges::default() };
/// assert!(changes.apply(&mut TextRecipe::default()).is_err());
/// # Ok::<(), fpstore_text::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RecipeChanges {
    /// [`TextRecipe::tokenizer`].
    pub segment: Option<Tokenizer>,
    /// Whether `segment` also sets its default shingle. Set this if the user named no recipe; the
    /// shingle of a named recipe is kept.
    pub usual_shingle: bool,
    /// [`TextRecipe::shingle`]. Counts words unless `segment` is a tokenizer of other tokens.
    pub shingle: Option<u32>,
    /// [`TextRecipe::ngram`], and [`TextRecipe::letter_ngram`] if the recipe has it: the length of
    /// features in all scripts without spaces.
    pub ngram: Option<u32>,
    /// [`VoteRules::count`](crate::VoteRules::count).
    pub count: Option<CountWeight>,
    /// [`VoteRules::top`](crate::VoteRules::top).
    pub top: Option<u32>,
    /// [`VoteRules::ties`](crate::VoteRules::ties).
    pub tie: Option<TieRule>,
    /// [`TextRecipe::hash`].
    pub hash: Option<FeatureHash>,
    /// The key of the hash.
    pub hash_key: Option<HashKey>,
    /// Keep capitals: [`Case::Kept`].
    pub keep_case: bool,
    /// Keep the form of characters: disables [`TextRecipe::nfkc`], and keeps
    /// [`TextRecipe::ignorables`] and [`TextRecipe::apostrophes`].
    pub keep_form: bool,
    /// Keep [`TextRecipe::vowel_marks`].
    pub keep_marks: bool,
}

impl RecipeChanges {
    /// Changes a recipe.
    ///
    /// # Errors
    ///
    /// [`Error::UselessChange`] if the recipe does not have the part. The recipe may then be partly
    /// changed.
    pub fn apply(&self, recipe: &mut TextRecipe) -> Result<()> {
        match self.segment {
            Some(tokenizer) => recipe.tokenizer = tokenizer,
            None if self.shingle.is_some() && recipe.tokenizer == Tokenizer::Letters => {
                recipe.tokenizer = Tokenizer::Words;
            }
            None => {}
        }
        if let (Some(tokenizer), true) = (self.segment, self.usual_shingle) {
            let of_letters = tokenizer == Tokenizer::Letters;
            recipe.shingle = if of_letters { USUAL_SHINGLE_OF_LETTERS } else { USUAL_SHINGLE };
        }
        recipe.shingle = self.shingle.unwrap_or(recipe.shingle);
        recipe.ngram = self.ngram.unwrap_or(recipe.ngram);
        recipe.letter_ngram = recipe.letter_ngram.map(|len| self.ngram.unwrap_or(len));
        recipe.hash = self.hash.unwrap_or(recipe.hash);
        if let Some(key) = self.hash_key {
            let without_key = || useless("hash_key", "the hash of this recipe, which takes no key");
            recipe.hash = recipe.hash.with_key(key).ok_or_else(without_key)?;
        }
        self.change_votes(recipe)?;
        if self.keep_case {
            recipe.case = Case::Kept;
        }
        recipe.nfkc &= !self.keep_form;
        recipe.ignorables |= self.keep_form;
        recipe.apostrophes |= self.keep_form;
        recipe.vowel_marks |= self.keep_marks;
        self.check_has_lines(recipe)
    }

    fn change_votes(&self, recipe: &mut TextRecipe) -> Result<()> {
        let given = [
            (self.count.is_some(), "count"),
            (self.top.is_some(), "top"),
            (self.tie.is_some(), "tie"),
        ];
        let Some((_, part)) = given.into_iter().find(|(given, _)| *given) else { return Ok(()) };
        let method = recipe.method.name();
        let Some(rules) = recipe.votes_mut() else {
            return Err(useless(
                part,
                &format!("{method}, which weighs no features; simhash does"),
            ));
        };
        rules.count = self.count.unwrap_or(rules.count);
        rules.top = self.top.or(rules.top);
        rules.ties = self.tie.unwrap_or(rules.ties);
        Ok(())
    }

    /// Refuses changes of parts without a line in the recipe: they would have no effect.
    fn check_has_lines(&self, recipe: &TextRecipe) -> Result<()> {
        let recipe = recipe.to_recipe();
        let has_line =
            |part| recipe.text().lines().any(|line| line.starts_with(&format!("{part}=")));
        let given = [
            (self.shingle.is_some(), "shingle"),
            (self.ngram.is_some(), "ngram"),
            (self.count.is_some(), "count"),
        ];
        match given.into_iter().find(|&(given, part)| given && !has_line(part)) {
            Some((_, part)) => Err(useless(part, "the segment of this recipe")),
            None => Ok(()),
        }
    }
}

fn useless(part: &'static str, with: &str) -> Error {
    Error::UselessChange { part, with: with.into() }
}
