//! The recipes to measure, and the fingerprints that they give the texts of a labelled set.

use fpstore_text::{
    CountWeight, DfBuilder, Factor, FeatureHash, HashKey, Method, TextHasher, TextRecipe,
    TextResources, Tokenizer,
};

use crate::Failure;
use crate::set::Set;

/// The recipes of the table: a name, then changes to the recipe `base`, else to the recipe of that
/// name, else to the default recipe. A `+` joins two recipes that provide half of the bits each.
pub const RECIPES: &[&str] = &[
    "1e0ng",
    "s-l7-c2 base=simhash",
    "s-l7-c2-log base=simhash count=log",
    "s-l7-c2-count base=simhash count=count",
    "s-l5-c2 base=simhash shingle=5",
    "s-l9-c2 base=simhash shingle=9",
    "s-w1-c2 base=simhash segment=words shingle=1",
    "s-w2-c2 base=simhash segment=words shingle=2",
    "s-w2-c2-idf base=simhash segment=words shingle=2 factor=idf",
    "s-w3-c3 base=simhash segment=words shingle=3 ngram=3",
    "s-jieba1 base=simhash segment=jieba shingle=1",
    "m-w1-c1 base=minhash segment=words shingle=1 ngram=1",
    "m-w1-c2 base=minhash segment=words shingle=1 ngram=2",
    "m-w2-c1 base=minhash segment=words shingle=2 ngram=1",
    "m-w2-c2 base=minhash segment=words shingle=2 ngram=2",
    "m-w2-c3 base=minhash segment=words shingle=2 ngram=3",
    "m-w3-c2 base=minhash segment=words shingle=3 ngram=2",
    "m-w3-c3 base=minhash segment=words shingle=3 ngram=3",
    "m-l5-c2 base=minhash segment=letters shingle=5 ngram=2",
    "m-l7-c2 base=minhash segment=letters shingle=7 ngram=2",
    "m-l9-c2 base=minhash segment=letters shingle=9 ngram=2",
    "m-l11-c2 base=minhash segment=letters shingle=11 ngram=2",
    "m-l11-c3 base=minhash segment=letters shingle=11 ngram=3",
    "m-c3 base=minhash segment=characters ngram=3",
    "m-c5 base=minhash segment=characters ngram=5",
    "m-jieba1 base=minhash segment=jieba shingle=1",
    "m-jieba2 base=minhash segment=jieba shingle=2",
    "mix-w2-w1 base=minhash segment=words shingle=2 + base=minhash segment=words shingle=1",
    "mix-w2-w3 base=minhash segment=words shingle=2 + base=minhash segment=words shingle=3",
    "mix-w2-s base=minhash segment=words shingle=2 + base=simhash segment=words shingle=2",
];

/// A recipe to be measured.
pub struct Candidate {
    pub name: String,
    /// One recipe for all bits, or two: for the low half and for the high half.
    parts: Vec<Part>,
}

struct Part {
    recipe: TextRecipe,
    /// Whether features are weighted by their frequencies in the set itself.
    idf: bool,
}

impl Candidate {
    /// Parses a line: a name, then `name=value` and `+`, separated by spaces.
    pub fn parse(line: &str) -> Result<Self, Failure> {
        let (name, changes) = line.split_once(' ').unwrap_or((line, ""));
        let parts = changes.split(" + ").map(|changes| Part::parse(name, changes));
        Ok(Candidate { name: name.into(), parts: parts.collect::<Result<_, Failure>>()? })
    }

    /// Whether the hash has a key.
    pub fn is_keyed(&self) -> bool {
        self.parts.iter().all(|part| matches!(part.recipe.hash, FeatureHash::SipHash13(_)))
    }

    /// The fingerprints of the texts of a set; `key` is the key of the hash.
    pub fn fingerprints(&self, set: &Set, key: u64) -> Result<Vec<Option<u64>>, Failure> {
        let mut all = Vec::new();
        for part in &self.parts {
            all.push(part.fingerprints(set, key)?);
        }
        let Some(high) = all.pop() else { return Ok(Vec::new()) };
        let Some(low) = all.pop() else { return Ok(high) };
        const LOW: u64 = 0xffff_ffff;
        let mix = |(low, high): (Option<u64>, Option<u64>)| Some(low? & LOW | high? & !LOW);
        Ok(low.into_iter().zip(high).map(mix).collect())
    }
}

impl Part {
    fn parse(name: &str, changes: &str) -> Result<Self, Failure> {
        let mut part = Part { recipe: TextRecipe::named(name).unwrap_or_default(), idf: false };
        let Part { recipe, idf } = &mut part;
        for change in changes.split_whitespace() {
            let (name, value) = change.split_once('=').ok_or("expected name=value")?;
            match name {
                "base" => *recipe = TextRecipe::named(value)?,
                "ignorables" => recipe.ignorables = value == "kept",
                "apostrophes" => recipe.apostrophes = value == "kept",
                "segment" => recipe.tokenizer = Tokenizer::named(value)?,
                "shingle" => recipe.shingle = value.parse()?,
                "ngram" => recipe.ngram = value.parse()?,
                "hash" => recipe.hash = FeatureHash::spelled(value)?,
                "method" => recipe.method = Method::named(value)?,
                "factor" if value == "idf" => *idf = true,
                _ => {
                    let rules = recipe.votes_mut().ok_or("MinHash knows no weights")?;
                    match name {
                        "count" => rules.count = CountWeight::named(value)?,
                        "top" => rules.top = Some(value.parse()?),
                        _ => return Err(format!("{name} is not known").into()),
                    }
                }
            }
        }
        Ok(part)
    }

    fn fingerprints(&self, set: &Set, key: u64) -> Result<Vec<Option<u64>>, Failure> {
        let mut recipe = self.recipe.clone();
        if let FeatureHash::SipHash13(words) = &mut recipe.hash {
            *words = HashKey([key, 0]);
        }
        let mut resources = TextResources::default();
        if self.idf {
            let mut hasher = TextHasher::new(&recipe)?;
            let mut builder = DfBuilder::new(&recipe);
            set.texts.iter().for_each(|text| builder.add(&mut hasher, text));
            let table = builder.finish(2);
            recipe.votes_mut().ok_or("MinHash knows no weights")?.factor = Factor::Idf(table.id());
            resources = resources.df_table(table);
        }
        let mut hasher = TextHasher::with_resources(&recipe, resources)?;
        Ok(set.texts.iter().map(|text| hasher.fingerprint(text).map(|f| f.value())).collect())
    }
}
