//! The class `Recipe`, which describes how fingerprints are made from texts.

use std::sync::{Mutex, PoisonError};

use arrow_array::builder::UInt64Builder;
use fpstore_report::page::ComparedFeatures;
use fpstore_text::{
    CountWeight, FeatureHash, HashKey, RecipeChanges, TextHasher, TextRecipe, TextResources,
    Tokenizer, Weight,
};
use pyo3::IntoPyObjectExt;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList, PyString, PyTuple};

use super::options::{GivenSources, Sources, positive, tie_of};
use crate::errors::{Failure, input_error, named as with_name, recipe_error};
use crate::input::arguments::{pair_or_none, str_of, text, text_or_none};
use crate::input::whole::Whole;
use crate::notebook::Page;
use crate::rows::Column;
use crate::tuple_class::answer;
use crate::work::{Reporter, held, run};

/// Maximum length in bytes of a text that is hashed while the interpreter is held.
const SHORT_LEN: usize = 1 << 14;
/// Maximum number of features of each text that an HTML page shows.
const FEATURES_SHOWN: usize = 10;
/// Maximum number of hashers in the pool.
const HASHERS_KEPT: usize = 16;

/// A recipe describes how fingerprints are made from texts. Equal recipes make equal fingerprints
/// on every machine; `print` shows the complete recipe.
///
/// Parameters
/// ----------
/// name : str, optional
///     `"minhash"` (the default, for texts in any language), `"simhash"`, `"code"`, or `"1e0ng"`,
///     which makes the same values as the PyPI package `simhash`. Each of the other parameters
///     changes one part of this recipe, like the options of the program `fpstore`.
/// segment : str, optional
/// shingle, ngram : int, optional
///     How texts are cut into features.
/// count : str, optional
///     How a repeated feature is weighted: `"once"`, `"log"` or `"count"`.
/// top, tie : int, optional
/// df : DfTable or path, optional
/// weights : dict, optional
///     With `count`, the weights of features in the vote of `simhash`.
/// hash, hash_key : str, optional
/// keep_case, keep_form, keep_marks : bool, default False
///     Whether differences of case, form or marks are preserved; by default they are removed.
/// stop_words : str or list of str, optional
///     A language such as `"en"`, or a list of words.
///
/// Raises
/// ------
/// RecipeError
///     The parts do not fit together.
///
/// Examples
/// --------
/// >>> recipe = fpstore.Recipe("simhash", shingle=3)
/// >>> recipe == fpstore.Recipe("simhash", shingle=3), recipe.method
/// (True, 'simhash')
#[pyclass(frozen, module = "fpstore", eq, hash)]
pub(crate) struct Recipe {
    pub(super) recipe: TextRecipe,
    sources: Sources,
    hashers: Mutex<Vec<TextHasher>>,
}

impl PartialEq for Recipe {
    fn eq(&self, other: &Self) -> bool {
        self.recipe == other.recipe
    }
}

impl std::hash::Hash for Recipe {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.recipe.hash(state);
    }
}

/// The recipe in an argument: an object, a name, or the text of a recipe.
pub(crate) fn recipe_text_of(given: &Bound<'_, PyAny>) -> PyResult<fpstore::Recipe> {
    if let Ok(recipe) = given.cast::<Recipe>() {
        return Ok(recipe.get().recipe.to_recipe());
    }
    let Ok(text) = given.cast::<PyString>() else {
        let kind = given.get_type().qualname()?;
        return Err(PyTypeError::new_err(format!("recipe must be a Recipe or a name, not {kind}")));
    };
    let text = str_of(text).map_err(|error| with_name(error, "recipe"))?;
    let external = fpstore::Recipe::from_text(text).filter(fpstore::Recipe::is_external);
    if let Some(external) = external {
        return Ok(external);
    }
    Ok(named(given.py(), text)?.to_recipe())
}

/// A hasher of texts for the recipe in an argument, else for the recipe of the store, else for the
/// default recipe.
pub(crate) fn hasher_of(
    given: Option<&Bound<'_, PyAny>>,
    stored: Option<&fpstore::Store>,
) -> PyResult<TextHasher> {
    if let Some(recipe) = given.and_then(|given| given.cast::<Recipe>().ok()) {
        return Ok(recipe.get().hasher()?);
    }
    let recipe = match given {
        Some(given) => Some(recipe_text_of(given)?),
        None => stored.and_then(fpstore::Store::recipe),
    };
    let recipe = recipe.as_ref().map(TextRecipe::from_recipe).transpose().map_err(Failure::from)?;
    Ok(TextHasher::new(&recipe.unwrap_or_default()).map_err(Failure::from)?)
}

/// The recipe in an argument: an object, a name, or `None` for the default recipe.
pub(crate) fn recipe_object<'py>(
    py: Python<'py>,
    given: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, Recipe>> {
    if let Some(recipe) = given.and_then(|given| given.cast::<Recipe>().ok()) {
        return Ok(recipe.clone());
    }
    Ok(py.get_type::<Recipe>().call1((given,))?.cast_into()?)
}

/// The recipe that has the given name or canonical text.
fn named(py: Python<'_>, name: &str) -> PyResult<TextRecipe> {
    if !name.contains('\n') {
        return Ok(TextRecipe::named(name).map_err(Failure::from)?);
    }
    let recipe = fpstore::Recipe::from_text(name)
        .ok_or_else(|| recipe_error(py, "a recipe must be a text without control characters"))?;
    Ok(TextRecipe::from_recipe(&recipe).map_err(Failure::from)?)
}

impl Recipe {
    /// The fingerprint of a document with the given features: a dictionary of features and weights,
    /// or distinct tokens.
    fn of_features_of(&self, features: &Bound<'_, PyAny>) -> PyResult<Option<u64>> {
        let py = features.py();
        let weighted = match features.hasattr("items")? {
            true => features.clone(),
            false if features.is_instance_of::<PyString>() => {
                let message = "the features of a document must be a dictionary or a list of tokens";
                return Err(input_error(py, message));
            }
            false => PyDict::new(py).call_method1("fromkeys", (features, 1.0))?,
        };
        let mut list: Vec<(String, Weight)> = Vec::new();
        for item in weighted.call_method0("items")?.try_iter()? {
            let (feature, number): (Bound<'_, PyAny>, f64) = item?.extract()?;
            let feature: String = text(&feature).map_err(|error| with_name(error, "features"))?;
            let weight = Weight::try_from(number)
                .map_err(|fault| input_error(py, format!("{feature}: {number} is {fault}")))?;
            list.push((feature, weight));
        }
        self.with_hasher(py, 0, |hasher| {
            let features = list.iter().map(|(text, weight)| (text.as_str(), *weight));
            Ok(hasher.fingerprint_of_features(features).map(fpstore::Fingerprint::value))
        })
    }

    pub(crate) fn check_takes_texts(&self, py: Python<'_>) -> PyResult<()> {
        if self.recipe.tokenizer == Tokenizer::Given {
            let message = "this recipe needs features with weights, see of_features";
            return Err(recipe_error(py, message));
        }
        Ok(())
    }

    pub(super) fn made(recipe: TextRecipe, sources: Sources) -> Result<Self, Failure> {
        let hasher = TextHasher::with_resources(&recipe, sources.load()?)?;
        Ok(Recipe { recipe, sources, hashers: Mutex::new(vec![hasher]) })
    }

    /// A hasher of this recipe, from the pool or new.
    pub(crate) fn hasher(&self) -> Result<TextHasher, Failure> {
        let kept = self.hashers.lock().unwrap_or_else(PoisonError::into_inner).pop();
        match kept {
            Some(hasher) => Ok(hasher),
            None => Ok(TextHasher::with_resources(&self.recipe, self.sources.load()?)?),
        }
    }

    pub(super) fn keep(&self, hasher: TextHasher) {
        let mut kept = self.hashers.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.len() < HASHERS_KEPT {
            kept.push(hasher);
        }
    }

    /// Calls `work` with a hasher. The interpreter is released if `len`, the text length, is large.
    fn with_hasher<T: Send>(
        &self,
        py: Python<'_>,
        len: usize,
        work: impl FnOnce(&mut TextHasher) -> Result<T, Failure> + Send,
    ) -> PyResult<T> {
        let all = || {
            let mut hasher = self.hasher()?;
            let result = work(&mut hasher)?;
            self.keep(hasher);
            Ok(result)
        };
        if len < SHORT_LEN { held(all) } else { run(py, &Reporter::default(), |_| all()) }
    }

    /// The comparison of two texts, and the features that only one of them has.
    fn compared(
        &self,
        py: Python<'_>,
        texts: [&str; 2],
    ) -> PyResult<(fpstore_text::Comparison, [Vec<String>; 2])> {
        self.check_takes_texts(py)?;
        let mut found = self.with_hasher(py, texts[0].len() + texts[1].len(), |hasher| {
            Ok(fpstore_text::Comparison::of(hasher, texts)?)
        })?;
        let only = std::mem::take(&mut found.only);
        let only = only.map(|features| features.into_iter().map(|feature| feature.text).collect());
        Ok((found, only))
    }

    fn name(&self) -> Option<&'static str> {
        let names = TextRecipe::NAMES.iter().copied();
        names.into_iter().find(|name| TextRecipe::named(name).is_ok_and(|of| of == self.recipe))
    }
}

/// Parses an optional keyword argument.
fn parsed<T>(
    text: Option<&str>,
    parse: impl FnOnce(&str) -> fpstore_text::Result<T>,
) -> Result<Option<T>, Failure> {
    Ok(text.map(parse).transpose()?)
}

#[pymethods]
impl Recipe {
    #[new]
    #[pyo3(signature = (
        name=None, *, segment=None, shingle=None, ngram=None, count=None, top=None, tie=None,
        hash=None, hash_key=None, keep_case=false, keep_form=false, keep_marks=false,
        stop_words=None, df=None, weights=None
    ))]
    fn new(
        py: Python<'_>,
        #[pyo3(from_py_with = text_or_none)] name: Option<&str>,
        #[pyo3(from_py_with = text_or_none)] segment: Option<&str>,
        shingle: Option<Whole>,
        ngram: Option<Whole>,
        #[pyo3(from_py_with = text_or_none)] count: Option<&str>,
        top: Option<Whole>,
        tie: Option<Whole>,
        #[pyo3(from_py_with = text_or_none)] hash: Option<&str>,
        #[pyo3(from_py_with = text_or_none)] hash_key: Option<&str>,
        keep_case: bool,
        keep_form: bool,
        keep_marks: bool,
        stop_words: Option<&Bound<'_, PyAny>>,
        df: Option<&Bound<'_, PyAny>>,
        weights: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let mut recipe = named(py, name.unwrap_or(TextRecipe::DEFAULT_NAME))?;
        let GivenSources { sources, language } = GivenSources::of(stop_words, df, weights)?;
        let changes = RecipeChanges {
            segment: parsed(segment, Tokenizer::named)?,
            usual_shingle: name.is_none(),
            shingle: positive("shingle", shingle, 1000)?,
            ngram: positive("ngram", ngram, 1000)?,
            count: parsed(count, CountWeight::named)?,
            top: positive("top", top, u32::MAX)?,
            tie: tie.map(tie_of).transpose()?,
            hash: parsed(hash, FeatureHash::spelled)?,
            hash_key: parsed(hash_key, HashKey::from_hex)?,
            keep_case,
            keep_form,
            keep_marks,
        };
        changes.apply(&mut recipe).map_err(Failure::from)?;
        // The recipe contains only the name of the language, by which it finds the list of stop
        // words.
        let lists = language.map(|list| TextResources::default().stop_words(list));
        lists.unwrap_or_default().name_in(&mut recipe).map_err(Failure::from)?;
        sources.load()?.name_in(&mut recipe).map_err(Failure::from)?;
        Ok(Recipe::made(recipe, sources)?)
    }

    #[classattr]
    #[pyo3(name = "NAMES")]
    fn names(py: Python<'_>) -> PyResult<Py<PyTuple>> {
        Ok(PyTuple::new(py, TextRecipe::NAMES)?.unbind())
    }

    /// The canonical text of the recipe, which stores contain.
    #[getter]
    fn text(&self) -> String {
        self.recipe.to_recipe().text().to_owned()
    }

    /// The hash method, `minhash` or `simhash`.
    #[getter]
    fn method(&self) -> &'static str {
        self.recipe.method.name()
    }

    /// The usual maximum distance of near-duplicates, in bits.
    #[getter]
    fn usual_k(&self) -> u32 {
        self.recipe.usual_k()
    }

    /// The distance within which the fingerprints of 99 % of text pairs with this similarity are.
    ///
    /// Parameters
    /// ----------
    /// similarity : float
    ///     Jaccard similarity of the features of the texts.
    ///
    /// Returns
    /// -------
    /// int
    pub(crate) fn candidate_k(&self, py: Python<'_>, similarity: f64) -> PyResult<u32> {
        if !(similarity > 0.0 && similarity <= 1.0) {
            let message = format!("similarity is {similarity}, expected above 0 and at most 1");
            return Err(input_error(py, message));
        }
        Ok(self.recipe.candidate_k(similarity))
    }

    /// The fingerprint of a text.
    ///
    /// Parameters
    /// ----------
    /// text : str
    ///
    /// Returns
    /// -------
    /// int or None
    ///     `None` for a text without features.
    ///
    /// Examples
    /// --------
    /// >>> fpstore.Recipe().fingerprint("The quick brown fox") == fpstore.Recipe().fingerprint("the QUICK brown fox!")
    /// True
    #[pyo3(signature = (text, /))]
    fn fingerprint(
        &self,
        py: Python<'_>,
        #[pyo3(from_py_with = text)] text: &str,
    ) -> PyResult<Option<u64>> {
        self.check_takes_texts(py)?;
        self.with_hasher(py, text.len(), |hasher| {
            Ok(hasher.fingerprint(text).map(fpstore::Fingerprint::value))
        })
    }

    /// The tokens of a text, which are words or characters.
    ///
    /// Parameters
    /// ----------
    /// text : str
    ///
    /// Returns
    /// -------
    /// list of str
    #[pyo3(signature = (text, /))]
    fn tokens(
        &self,
        py: Python<'_>,
        #[pyo3(from_py_with = text)] text: &str,
    ) -> PyResult<Vec<String>> {
        self.check_takes_texts(py)?;
        self.with_hasher(py, text.len(), |hasher| {
            let mut tokens = Vec::new();
            hasher.each_token(text, |token| tokens.push(token.to_owned()));
            Ok(tokens)
        })
    }

    /// The features of a text, in the order of their positions.
    ///
    /// Parameters
    /// ----------
    /// text : str
    ///
    /// Returns
    /// -------
    /// list of fpstore.types.Feature
    #[pyo3(signature = (text, /))]
    fn features<'py>(
        &self,
        py: Python<'py>,
        #[pyo3(from_py_with = text)] text: &str,
    ) -> PyResult<Bound<'py, PyList>> {
        self.check_takes_texts(py)?;
        let features = self.with_hasher(py, text.len(), |hasher| Ok(hasher.features(text)))?;
        let features: PyResult<Vec<_>> = features
            .into_iter()
            .map(|of| answer!(py, "Feature", of.text, of.hash, of.count, of.weight.as_f64()))
            .collect();
        PyList::new(py, features?)
    }

    /// Compares two texts.
    ///
    /// Parameters
    /// ----------
    /// first, second : str
    ///
    /// Returns
    /// -------
    /// fpstore.types.Comparison
    ///     The distance of the fingerprints, the similarity estimated from this distance, and the
    ///     exact similarity of the features.
    ///
    /// Raises
    /// ------
    /// InputError
    ///     A text has no features.
    ///
    /// Examples
    /// --------
    /// >>> round(fpstore.Recipe().compare("one two three four", "one two three five").jaccard, 2)
    /// 0.5
    #[pyo3(signature = (first, second, /))]
    fn compare<'py>(
        &self,
        py: Python<'py>,
        #[pyo3(from_py_with = text)] first: &str,
        #[pyo3(from_py_with = text)] second: &str,
    ) -> PyResult<Bound<'py, PyAny>> {
        let (found, [first, second]) = self.compared(py, [first, second])?;
        let values = found.fingerprints.map(fpstore::Fingerprint::value);
        let (distance, estimate, jaccard) = (found.distance, found.estimate, found.jaccard);
        let values = <(u64, u64)>::from(values);
        let common = found.common_count;
        answer!(py, "Comparison", values, distance, estimate, jaccard, common, first, second)
    }

    /// An HTML page with the differences of two texts, their fingerprints and features.
    ///
    /// Parameters
    /// ----------
    /// first, second : str
    /// names : tuple of str, optional
    ///     Titles of the texts.
    ///
    /// Returns
    /// -------
    /// fpstore.types.Page
    ///
    /// Raises
    /// ------
    /// InputError
    ///     A text has no features.
    ///
    /// Examples
    /// --------
    /// >>> page = fpstore.Recipe().compare_page("the quick fox", "the slow fox")
    /// >>> "<del>quick</del><ins>slow</ins>" in page.html()
    /// True
    #[pyo3(signature = (first, second, /, *, names=None))]
    fn compare_page(
        &self,
        py: Python<'_>,
        #[pyo3(from_py_with = text)] first: &str,
        #[pyo3(from_py_with = text)] second: &str,
        #[pyo3(from_py_with = pair_or_none)] names: Option<(String, String)>,
    ) -> PyResult<Page> {
        let (found, only) = self.compared(py, [first, second])?;
        let shown = |at: usize| (only[at].len(), &only[at][..only[at].len().min(FEATURES_SHOWN)]);
        let features = ComparedFeatures {
            jaccard: found.jaccard,
            common_count: found.common_count,
            only: [shown(0), shown(1)],
            more: "compare",
        };
        let page = fpstore_report::page::Comparison {
            names: names.as_ref().map_or(["first", "second"], |(one, other)| [one, other]),
            fingerprints: found.fingerprints,
            estimate: Some(found.estimate),
            texts: Some([first, second]),
            features: Some(features),
        };
        Ok(Page(py.detach(|| page.page())))
    }

    /// The fingerprint of features that another program has made, or the fingerprints of many
    /// documents.
    ///
    /// Parameters
    /// ----------
    /// features : dict, or list or iterator of dict or list
    ///     A dictionary of features and their weights. For many documents, each document is such a
    ///     dictionary, or a list of distinct tokens, whose weights are 1.
    ///
    /// Returns
    /// -------
    /// int, None or Column
    ///
    /// Examples
    /// --------
    /// >>> recipe = fpstore.Recipe()
    /// >>> column = recipe.of_features([["one", "two"], {"two": 1.0, "one": 1.0}, []])
    /// >>> column[0] == column[1] == recipe.of_features({"one": 1.0, "two": 1.0}), column[2]
    /// (True, None)
    #[pyo3(signature = (features, /))]
    fn of_features<'py>(&self, features: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let py = features.py();
        if features.hasattr("items")? {
            return self.of_features_of(features)?.into_bound_py_any(py);
        }
        let mut values = UInt64Builder::new();
        for document in features.try_iter()? {
            values.append_option(self.of_features_of(&document?)?);
        }
        Column::new(values.finish(), Some(self.recipe.to_recipe())).into_bound_py_any(py)
    }

    /// A recipe is pickled as its text, its word list, its table and its weights.
    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        let make = py.import("fpstore._fpstore")?.getattr("_recipe_of")?;
        let df = self.sources.df.as_ref().map(|bytes| PyBytes::new(py, bytes));
        let state = (self.text(), &self.sources.stop_words, df, &self.sources.weights);
        (make, state).into_pyobject(py)
    }

    fn __str__(&self) -> String {
        self.text()
    }

    fn __repr__(&self) -> String {
        match self.name() {
            Some(name) => format!("Recipe('{name}')"),
            None => format!("Recipe({:?})", self.text()),
        }
    }
}

/// Restores a pickled recipe.
#[pyfunction]
pub(crate) fn _recipe_of(
    py: Python<'_>,
    #[pyo3(from_py_with = text)] text: &str,
    #[pyo3(from_py_with = text_or_none)] stop_words: Option<String>,
    df: Option<Vec<u8>>,
    #[pyo3(from_py_with = text_or_none)] weights: Option<String>,
) -> PyResult<Recipe> {
    Ok(Recipe::made(named(py, text)?, Sources { stop_words, df, weights })?)
}
