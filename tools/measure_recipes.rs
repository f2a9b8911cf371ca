//! Measures recipes on labelled sets of texts: best F1 and its k for each recipe and set.
//!
//!     cargo run --release --example measure_recipes -- DATA [SET]... > table.md
//!
//! DATA is the folder of the collection, with `text/SET/docs.jsonl.zst`, `near.tsv.zst` and, for some
//! sets, `pairs.tsv.zst`. `RECIPES` may name a file with a recipe a line: a name, then changes to the
//! default one as `name=value`, all separated by spaces; else those of [`RECIPES`] are measured.
//!
//! Two truths are asked:
//!
//! * *near*: all pairs of documents (one of each group with equal shingles), of which those with Jaccard
//!   0.8 or more are duplicates and those that are not listed are none; what lies between is left out.
//! * *pairs*: labels that people or the source gave. Where they name only duplicates, the pairs that are
//!   not listed in either table are taken as none.

use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;

use fpstore::{
    CountWeight, DfBuilder, Factor, FeatureHash, HashKey, Segment, SimHasher, TextRecipe,
    TextResources,
};

/// The recipes of the table: names and changes to the default.
const RECIPES: &[&str] = &[
    "1e0ng",
    "w2-c2-once segment=words shingle=2 ngram=2 count=once",
    "w2-c2-log segment=words shingle=2 ngram=2 count=log",
    "w2-c2-count segment=words shingle=2 ngram=2 count=count",
    "w2-c2-once-idf segment=words shingle=2 ngram=2 count=once factor=idf",
    "w1-c1-once segment=words shingle=1 ngram=1 count=once",
    "w1-c2-once segment=words shingle=1 ngram=2 count=once",
    "w2-c1-once segment=words shingle=2 ngram=1 count=once",
    "w3-c2-once segment=words shingle=3 ngram=2 count=once",
    "w3-c3-once segment=words shingle=3 ngram=3 count=once",
    "l5-c2-once segment=letters shingle=5 ngram=2 count=once",
    "l7-c2-once segment=letters shingle=7 ngram=2 count=once",
    "l9-c2-once segment=letters shingle=9 ngram=2 count=once",
    "c3-once segment=characters ngram=3 count=once",
    "c5-once segment=characters ngram=5 count=once",
    "jieba1-once segment=jieba shingle=1 count=once",
    "jieba2-once segment=jieba shingle=2 count=once",
    "forward1-once segment=forward shingle=1 count=once",
    "backward1-once segment=backward shingle=1 count=once",
    "fewest1-once segment=fewest shingle=1 count=once",
];

const K_MAX: usize = 16;

/// The counts of so many hash keys are added up: what sets full of families made from one template give with one key is
/// half luck.
const KEY_COUNT: u64 = 3;

type Failure = Box<dyn std::error::Error>;
/// By the name of the truth.
type Curves = Vec<(&'static str, Curve)>;

fn main() -> Result<(), Failure> {
    let mut arguments = std::env::args().skip(1);
    let data = arguments.next().ok_or("usage: measure_recipes DATA [SET]...")?;
    let folder = Path::new(&data).join("text");
    let wanted: Vec<String> = arguments.collect();
    let mut sets: Vec<String> = std::fs::read_dir(&folder)?
        .map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned()))
        .collect::<Result<_, std::io::Error>>()?;
    sets.retain(|set| wanted.is_empty() || wanted.contains(set));
    sets.sort();
    let listed = match std::env::var("RECIPES") {
        Ok(file) => std::fs::read_to_string(file)?,
        Err(_) => RECIPES.join("\n"),
    };
    let recipes: Vec<&str> =
        listed.lines().filter(|line| !line.trim().is_empty() && !line.starts_with('#')).collect();
    println!("| set | truth | recipe | best F1 | k | precision | recall | F1 at 3 | at 6 | area |");
    println!("|---|---|---|---:|---:|---:|---:|---:|---:|---:|");
    let mut means: Vec<(String, f64, usize)> = Vec::new();
    for set in &sets {
        let set = Set::read(&folder, set)?;
        for line in &recipes {
            let (name, curves) = set.measure(line)?;
            for (truth, curve) in curves {
                let best = curve.best();
                let [f3, f6] = [3, 6].map(|k| curve.f1(k));
                println!(
                    "| {} | {truth} | {name} | {:.3} | {best} | {:.3} | {:.3} | {f3:.3} | {f6:.3} | {:.3} |",
                    set.name,
                    curve.f1(best),
                    curve.precision(best),
                    curve.recall(best),
                    curve.area(),
                );
                let key = format!("{name} | {truth}");
                match means.iter_mut().find(|(known, ..)| *known == key) {
                    Some((_, sum, count)) => {
                        *sum += curve.f1(best);
                        *count += 1;
                    }
                    None => means.push((key, curve.f1(best), 1)),
                }
            }
        }
    }
    println!("\n| recipe | truth | mean of best F1 | sets |\n|---|---|---:|---:|");
    for (key, sum, count) in means {
        println!("| {key} | {:.4} | {count} |", sum / count as f64);
    }
    Ok(())
}

/// Counts of pairs by distance, 0 to `K_MAX`.
#[derive(Clone, Debug, Default)]
struct Curve {
    /// Duplicates at each distance, and all duplicates.
    good: [u64; K_MAX + 1],
    bad: [u64; K_MAX + 1],
    duplicates: u64,
}

impl Curve {
    fn add(&mut self, other: &Curve) {
        for k in 0..=K_MAX {
            self.good[k] += other.good[k];
            self.bad[k] += other.bad[k];
        }
        self.duplicates += other.duplicates;
    }

    fn sums(&self, k: usize) -> (f64, f64) {
        let sum = |counts: &[u64]| counts.iter().take(k + 1).sum::<u64>() as f64;
        (sum(&self.good), sum(&self.bad))
    }

    fn precision(&self, k: usize) -> f64 {
        let (good, bad) = self.sums(k);
        if good + bad == 0.0 { 1.0 } else { good / (good + bad) }
    }

    fn recall(&self, k: usize) -> f64 {
        self.sums(k).0 / self.duplicates as f64
    }

    fn f1(&self, k: usize) -> f64 {
        let (precision, recall) = (self.precision(k), self.recall(k));
        if precision + recall == 0.0 {
            0.0
        } else {
            2.0 * precision * recall / (precision + recall)
        }
    }

    fn best(&self) -> usize {
        (0..=K_MAX).rev().max_by(|&a, &b| self.f1(a).total_cmp(&self.f1(b))).unwrap_or(0)
    }

    /// Under precision over recall, from one k to the next by the trapezoid.
    fn area(&self) -> f64 {
        let (mut area, mut recall, mut precision) = (0.0, 0.0, self.precision(0));
        for k in 0..=K_MAX {
            let (r, p) = (self.recall(k), self.precision(k));
            area += (r - recall) * (p + precision) / 2.0;
            (recall, precision) = (r, p);
        }
        area
    }
}

struct Set {
    name: String,
    texts: Vec<String>,
    /// Only pairs of documents of the same kind of shingle have known labels.
    kinds: Vec<bool>,
    /// Whether a document is the first of those with equal shingles.
    first: Vec<bool>,
    near: HashMap<(u32, u32), i8>,
    pairs: HashMap<(u32, u32), i8>,
}

fn lines(path: &Path) -> Result<impl Iterator<Item = std::io::Result<String>>, Failure> {
    Ok(BufReader::new(zstd::Decoder::new(File::open(path)?)?).lines())
}

impl Set {
    fn read(folder: &Path, name: &str) -> Result<Self, Failure> {
        let folder = folder.join(name);
        let (mut texts, mut kinds, mut ids) = (Vec::new(), Vec::new(), HashMap::new());
        for line in lines(&folder.join("docs.jsonl.zst"))? {
            let document: serde_json::Value = serde_json::from_str(&line?)?;
            let field = |name: &str| document[name].as_str().unwrap_or_default().to_string();
            ids.insert(field("id"), texts.len() as u32);
            kinds.push(matches!(field("lang").as_str(), "zh" | "ja" | "zh_TW"));
            texts.push(field("text"));
        }
        let mut first = vec![true; texts.len()];
        let mut table = |file: &str, equal: bool| -> Result<HashMap<(u32, u32), i8>, Failure> {
            let path = folder.join(file);
            let mut labels = HashMap::new();
            if !path.exists() {
                return Ok(labels);
            }
            for line in lines(&path)?.skip(1) {
                let line = line?;
                let fields: Vec<&str> = line.split('\t').collect();
                let (a, b) = (ids[fields[0]], ids[fields[1]]);
                let same = fields.get(4).is_some_and(|kind| kind.starts_with("same-"));
                if equal && same && !fields[4].starts_with("same-title") && fields[3] == "1.0000" {
                    first[b as usize] = false;
                }
                labels.insert((a.min(b), a.max(b)), fields[2].parse()?);
            }
            Ok(labels)
        };
        let near = table("near.tsv.zst", true)?;
        let pairs = table("pairs.tsv.zst", false)?;
        Ok(Set { name: name.into(), texts, kinds, first, near, pairs })
    }

    fn measure(&self, line: &str) -> Result<(String, Curves), Failure> {
        let mut words = line.split_whitespace();
        let name = words.next().ok_or("a recipe without a name")?.to_string();
        let (recipe, idf) = recipe_of(&name, words)?;
        let mut sums: Curves = Vec::new();
        for key in 0..KEY_COUNT {
            let mut recipe = recipe.clone();
            match &mut recipe.hash {
                FeatureHash::SipHash13(words) => *words = HashKey([key, 0]),
                _ if key > 0 => break,
                _ => {}
            }
            for (place, (truth, curve)) in self.curves_of(recipe, idf)?.into_iter().enumerate() {
                match sums.get_mut(place) {
                    Some((_, sum)) => sum.add(&curve),
                    None => sums.push((truth, curve)),
                }
            }
        }
        Ok((name, sums))
    }

    fn curves_of(&self, mut recipe: TextRecipe, idf: bool) -> Result<Curves, Failure> {
        let mut resources = TextResources::default();
        if idf {
            let mut hasher = SimHasher::new(&recipe)?;
            let mut builder = DfBuilder::new(&recipe);
            self.texts.iter().for_each(|text| builder.add(&mut hasher, text));
            let table = builder.finish(2);
            recipe.factor = Factor::Idf(table.mark());
            resources.df_table = Some(table);
        }
        let mut hasher = SimHasher::with_resources(&recipe, resources)?;
        let fingerprints: Vec<Option<u64>> =
            self.texts.iter().map(|text| hasher.fingerprint(text).map(|f| f.value())).collect();
        Ok(self.curves(&fingerprints))
    }

    fn curves(&self, fingerprints: &[Option<u64>]) -> Curves {
        let distance = |(a, b): (u32, u32)| -> Option<usize> {
            Some((fingerprints[a as usize]? ^ fingerprints[b as usize]?).count_ones() as usize)
        };
        let mut near = Curve::default();
        let firsts = |(a, b): (u32, u32)| self.first[a as usize] && self.first[b as usize];
        for (&pair, _) in self.near.iter().filter(|(pair, label)| **label == 1 && firsts(**pair)) {
            near.duplicates += 1;
            if let Some(d) = distance(pair).filter(|&d| d <= K_MAX) {
                near.good[d] += 1;
            }
        }
        let mut pairs = Curve::default();
        let only_duplicates = self.pairs.values().all(|&label| label == 1);
        for (&pair, &label) in &self.pairs {
            let d = distance(pair).filter(|&d| d <= K_MAX);
            pairs.duplicates += u64::from(label == 1);
            match (label, d) {
                (1, Some(d)) => pairs.good[d] += 1,
                (0, Some(d)) => pairs.bad[d] += 1,
                _ => {}
            }
        }
        let (bad_near, bad_both) = self.unlisted(fingerprints);
        near.bad = bad_near;
        if only_duplicates {
            pairs.bad = bad_both;
        }
        let mut curves = vec![("near", near)];
        if !self.pairs.is_empty() {
            curves.push(("pairs", pairs));
        }
        curves
    }

    /// Pairs of first documents within `K_MAX` that are not in `near`, and that are in neither table.
    fn unlisted(&self, fingerprints: &[Option<u64>]) -> ([u64; K_MAX + 1], [u64; K_MAX + 1]) {
        let mut bad = ([0; K_MAX + 1], [0; K_MAX + 1]);
        for kind in [false, true] {
            let (numbers, values): (Vec<u32>, Vec<u64>) = (0..)
                .zip(fingerprints)
                .filter(|&(n, _)| self.first[n as usize] && self.kinds[n as usize] == kind)
                .filter_map(|(n, f)| Some((n, (*f)?)))
                .unzip();
            let threads = 2;
            let parts: Vec<_> = std::thread::scope(|scope| {
                let workers: Vec<_> = (0..threads)
                    .map(|part| {
                        let (numbers, values) = (&numbers, &values);
                        scope.spawn(move || self.unlisted_part(numbers, values, part, threads))
                    })
                    .collect();
                workers.into_iter().map(|worker| worker.join().expect("it counts")).collect()
            });
            for (near, both) in parts {
                for d in 0..=K_MAX {
                    bad.0[d] += near[d];
                    bad.1[d] += both[d];
                }
            }
        }
        bad
    }

    fn unlisted_part(
        &self,
        numbers: &[u32],
        values: &[u64],
        part: usize,
        parts: usize,
    ) -> ([u64; K_MAX + 1], [u64; K_MAX + 1]) {
        let mut bad = ([0; K_MAX + 1], [0; K_MAX + 1]);
        let listed: HashSet<u32> =
            self.near.keys().chain(self.pairs.keys()).flat_map(|&(a, b)| [a, b]).collect();
        let is_listed: Vec<bool> = numbers.iter().map(|n| listed.contains(n)).collect();
        for i in (part..values.len()).step_by(parts) {
            for (block, chunk) in values[i + 1..].chunks(8).enumerate() {
                let close = |value: &u64| (value ^ values[i]).count_ones() as usize <= K_MAX;
                if !chunk.iter().fold(false, |any, value| any | close(value)) {
                    continue;
                }
                for (place, value) in chunk.iter().enumerate() {
                    let d = (value ^ values[i]).count_ones() as usize;
                    if d > K_MAX {
                        continue;
                    }
                    let j = i + 1 + block * 8 + place;
                    let pair = (numbers[i].min(numbers[j]), numbers[i].max(numbers[j]));
                    let may_be = is_listed[i] && is_listed[j];
                    if may_be && self.near.contains_key(&pair) {
                        continue;
                    }
                    bad.0[d] += 1;
                    bad.1[d] += u64::from(!(may_be && self.pairs.contains_key(&pair)));
                }
            }
        }
        bad
    }
}

/// The recipe of a line, and whether it takes a table of document frequencies of the set itself.
fn recipe_of<'a>(
    name: &str,
    changes: impl Iterator<Item = &'a str>,
) -> Result<(TextRecipe, bool), Failure> {
    let mut recipe = TextRecipe::named(name).unwrap_or_default();
    let mut idf = false;
    for change in changes {
        let (name, value) = change.split_once('=').ok_or("expected name=value")?;
        match name {
            "base" => recipe = TextRecipe::named(value)?,
            "segment" => recipe.segment = Segment::named(value)?,
            "shingle" => recipe.shingle = value.parse()?,
            "ngram" => recipe.ngram = value.parse()?,
            "count" => recipe.count = CountWeight::named(value)?,
            "top" => recipe.top = Some(value.parse()?),
            "hash" => recipe.hash = FeatureHash::spelled(value)?,
            "factor" => idf = value == "idf",
            _ => return Err(format!("{name} is not known").into()),
        }
    }
    Ok((recipe, idf))
}
