//! Measures recipes on labelled sets of texts: best F1 and its k for each recipe and set.
//!
//!     cargo run --release -p fpstore-text --example measure_recipes -- DATA [SET]... > table.md
//!
//! DATA is the folder of the collection, with `text/SET/docs.jsonl.zst`, `near.tsv.zst` and, for
//! some sets, `pairs.tsv.zst`. `RECIPES` may name a file with a recipe a line: a name, then changes
//! to the default one as `name=value`, all separated by spaces; else those of [`RECIPES`] are
//! measured.
//!
//! Documents in Chinese and in other languages are measured apart: a column is the documents of one
//! language in one set, under one truth. A recipe that is chosen on some data looks better there
//! than elsewhere, so all is also measured on two halves of each set; documents that are labelled
//! duplicates are in one half.
//!
//! There are two truths:
//!
//! * *near*: all pairs of documents (one of each group with equal shingles), of which those with
//!   Jaccard 0.8 or more are duplicates and those that are not listed are none; what lies between
//!   is left out.
//! * *pairs*: labels that people or the source gave. Where they name only duplicates, the pairs
//!   that are not listed in either table are taken as none.

use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;

use fpstore_text::{
    CountWeight, DfBuilder, Factor, FeatureHash, HashKey, SimHasher, TextRecipe, TextResources,
    Tokenizer,
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
    "l7-c2-log segment=letters shingle=7 ngram=2 count=log",
    "l7-c2-count segment=letters shingle=7 ngram=2 count=count",
    "l4-c2-once segment=letters shingle=4 ngram=2 count=once",
    "l5-c2-once segment=letters shingle=5 ngram=2 count=once",
    "l6-c2-once segment=letters shingle=6 ngram=2 count=once",
    "l7-c2-once segment=letters shingle=7 ngram=2 count=once",
    "l7-c3-once segment=letters shingle=7 ngram=3 count=once",
    "l8-c2-once segment=letters shingle=8 ngram=2 count=once",
    "l9-c2-once segment=letters shingle=9 ngram=2 count=once",
    "l11-c2-once segment=letters shingle=11 ngram=2 count=once",
    "c3-once segment=characters ngram=3 count=once",
    "c5-once segment=characters ngram=5 count=once",
    "jieba1-once segment=jieba shingle=1 count=once",
    "jieba2-once segment=jieba shingle=2 count=once",
    "forward1-once segment=forward shingle=1 count=once",
    "backward1-once segment=backward shingle=1 count=once",
    "fewest1-once segment=fewest shingle=1 count=once",
];

const K_MAX: usize = 16;

/// The counts of this many hash keys are added. With one key, the result for a set with many
/// documents made from one template is half luck.
const KEY_COUNT: u64 = 3;

type Failure = Box<dyn std::error::Error>;
/// All documents, then each half.
const VIEW_COUNT: usize = 3;

/// By language and truth.
type Curves = Vec<(Column, [Curve; VIEW_COUNT])>;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Column {
    is_chinese: bool,
    truth: &'static str,
}

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
    println!(
        "| set | language | truth | recipe | best F1 | k | precision | recall | F1 at 3 | at 6 | area | half 1 | half 2 |"
    );
    println!("|---|---|---|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|");
    let mut scores: Vec<Score> = Vec::new();
    for set in &sets {
        let set = Set::read(&folder, set)?;
        for line in &recipes {
            let (name, curves) = set.measure(line)?;
            for (column, views) in curves {
                let [curve, half_1, half_2] = &views;
                let best = curve.best();
                let [f3, f6] = [3, 6].map(|k| curve.f1(k));
                println!(
                    "| {} | {} | {} | {name} | {:.3} | {best} | {:.3} | {:.3} | {f3:.3} | {f6:.3} | {:.3} | {:.3} | {:.3} |",
                    set.name,
                    if column.is_chinese { "Chinese" } else { "other" },
                    column.truth,
                    curve.f1(best),
                    curve.precision(best),
                    curve.recall(best),
                    curve.area(),
                    half_1.best_f1(),
                    half_2.best_f1(),
                );
                let best_f1 = views.map(|curve| curve.best_f1());
                scores.push(Score { recipe: name.clone(), column, best_f1 });
            }
        }
    }
    let names: Vec<&str> = recipes.iter().filter_map(|line| line.split(' ').next()).collect();
    print_means(&names, &scores);
    Ok(())
}

/// The result of a recipe in one column.
struct Score {
    recipe: String,
    column: Column,
    best_f1: [f64; VIEW_COUNT],
}

/// Whether a column is one of a group.
type Group = fn(&Column) -> bool;

/// The columns over which means are taken.
const GROUPS: &[(&str, Group)] = &[
    ("all", |_| true),
    ("Chinese", |column| column.is_chinese),
    ("other languages", |column| !column.is_chinese),
    ("near", |column| column.truth == "near"),
    ("pairs", |column| column.truth == "pairs"),
];

fn print_means(names: &[&str], scores: &[Score]) {
    let mean = |name: &str, group: Group, view: usize| -> f64 {
        let wanted = scores.iter().filter(|score| score.recipe == name && group(&score.column));
        let values: Vec<f64> = wanted.map(|score| score.best_f1[view]).collect();
        values.iter().sum::<f64>() / values.len() as f64
    };
    println!("\nMeans of best F1:\n");
    let heads: Vec<&str> = GROUPS.iter().map(|(head, _)| *head).collect();
    println!("| recipe | {} |\n|---|{}", heads.join(" | "), "---:|".repeat(heads.len()));
    let mut sorted = names.to_vec();
    sorted.sort_by(|a, b| mean(b, GROUPS[0].1, 0).total_cmp(&mean(a, GROUPS[0].1, 0)));
    for name in &sorted {
        let values: Vec<String> =
            GROUPS.iter().map(|(_, group)| format!("{:.4}", mean(name, *group, 0))).collect();
        println!("| {name} | {} |", values.join(" | "));
    }
    println!("\nThe winner over one half, and its place on the other:\n");
    println!("| columns | chosen on | winner | place on the other half | behind its winner by |");
    println!("|---|---|---|---:|---:|");
    for (head, group) in &GROUPS[..3] {
        for (chosen, other) in [(1, 2), (2, 1)] {
            let by = |view: usize| {
                let mut order = names.to_vec();
                order.sort_by(|a, b| mean(b, *group, view).total_cmp(&mean(a, *group, view)));
                order
            };
            let (winner, order) = (by(chosen)[0], by(other));
            let place = order.iter().position(|name| *name == winner).unwrap_or(0) + 1;
            let behind = mean(order[0], *group, other) - mean(winner, *group, other);
            println!(
                "| {head} | half {chosen} | {winner} | {place} of {} | {behind:.4} |",
                names.len()
            );
        }
    }
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

    /// Counts a pair that is a duplicate or none, at this distance if it is not too far.
    fn count(&mut self, is_duplicate: bool, distance: Option<usize>) {
        self.duplicates += u64::from(is_duplicate);
        if let Some(d) = distance {
            let counts = if is_duplicate { &mut self.good } else { &mut self.bad };
            counts[d] += 1;
        }
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
        // A half may have none.
        self.sums(k).0 / self.duplicates.max(1) as f64
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

    fn best_f1(&self) -> f64 {
        self.f1(self.best())
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
    /// Whether the documents of a kind are in Chinese.
    is_chinese: [bool; 2],
    /// Whether a document is the first of those with equal shingles.
    first: Vec<bool>,
    /// For each document whether it is in the second half.
    second_half: Vec<bool>,
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
        let is_chinese = [false, true].map(|kind| {
            let texts = || texts.iter().zip(&kinds).filter(|(_, k)| **k == kind).map(|(t, _)| t);
            let is_han = |c: &char| ('\u{4e00}'..='\u{9fff}').contains(c);
            let han: usize = texts().map(|text| text.chars().filter(is_han).count()).sum();
            // Three bytes each.
            han * 6 > texts().map(String::len).sum()
        });
        let second_half = halves(texts.len(), near.iter().chain(&pairs));
        Ok(Set { name: name.into(), texts, kinds, is_chinese, first, second_half, near, pairs })
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
            for (column, views) in self.curves_of(recipe, idf)? {
                match sums.iter_mut().find(|(known, _)| *known == column) {
                    Some((_, sums)) => {
                        sums.iter_mut().zip(&views).for_each(|(sum, curve)| sum.add(curve));
                    }
                    None => sums.push((column, views)),
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
            recipe.factor = Factor::Idf(table.id());
            resources = resources.df_table(table);
        }
        let mut hasher = SimHasher::with_resources(&recipe, resources)?;
        let fingerprints: Vec<Option<u64>> =
            self.texts.iter().map(|text| hasher.fingerprint(text).map(|f| f.value())).collect();
        Ok(self.curves(&fingerprints))
    }

    fn curves(&self, fingerprints: &[Option<u64>]) -> Curves {
        let mut curves: Curves = Vec::new();
        let only_duplicates = self.pairs.values().all(|&label| label == 1);
        for kind in [false, true].into_iter().filter(|kind| self.kinds.contains(kind)) {
            let is_chinese = self.is_chinese[usize::from(kind)];
            let column = |truth| Column { is_chinese, truth };
            let in_kind = |&(a, _): &(u32, u32)| self.kinds[a as usize] == kind;
            let mut near: [Curve; VIEW_COUNT] = Default::default();
            let firsts = |(a, b): (u32, u32)| self.first[a as usize] && self.first[b as usize];
            for (&pair, _) in self
                .near
                .iter()
                .filter(|(pair, label)| **label == 1 && firsts(**pair) && in_kind(pair))
            {
                let d = self.distance(fingerprints, pair);
                self.views_of(pair).for_each(|view| near[view].count(true, d));
            }
            let mut pairs: [Curve; VIEW_COUNT] = Default::default();
            for (&pair, &label) in self.pairs.iter().filter(|(pair, _)| in_kind(pair)) {
                let d = self.distance(fingerprints, pair);
                if matches!(label, 0 | 1) {
                    self.views_of(pair).for_each(|view| pairs[view].count(label == 1, d));
                }
            }
            let bad = self.unlisted(fingerprints, kind);
            for view in 0..VIEW_COUNT {
                near[view].bad = bad.near[view];
                if only_duplicates {
                    pairs[view].bad = bad.both[view];
                }
            }
            for (truth, views) in [("near", near), ("pairs", pairs)] {
                if views[0].duplicates > 0 {
                    curves.push((column(truth), views));
                }
            }
        }
        curves
    }

    fn distance(&self, fingerprints: &[Option<u64>], (a, b): (u32, u32)) -> Option<usize> {
        let d = (fingerprints[a as usize]? ^ fingerprints[b as usize]?).count_ones() as usize;
        (d <= K_MAX).then_some(d)
    }

    /// All, and the half in which both documents are.
    fn views_of(&self, (a, b): (u32, u32)) -> impl Iterator<Item = usize> {
        let [a, b] = [a, b].map(|number| usize::from(self.second_half[number as usize]));
        std::iter::once(0).chain((a == b).then_some(1 + a))
    }

    /// Pairs of first documents within `K_MAX` that are not in `near`, and that are in neither
    /// table.
    fn unlisted(&self, fingerprints: &[Option<u64>], kind: bool) -> Unlisted {
        let (numbers, values): (Vec<u32>, Vec<u64>) = (0..)
            .zip(fingerprints)
            .filter(|&(n, _)| self.first[n as usize] && self.kinds[n as usize] == kind)
            .filter_map(|(n, f)| Some((n, (*f)?)))
            .unzip();
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        let parts: Vec<Unlisted> = std::thread::scope(|scope| {
            let workers: Vec<_> = (0..threads)
                .map(|part| {
                    let (numbers, values) = (&numbers, &values);
                    scope.spawn(move || self.unlisted_part(numbers, values, part, threads))
                })
                .collect();
            workers.into_iter().map(|worker| worker.join().expect("it counts")).collect()
        });
        let mut sum = Unlisted::default();
        for part in parts {
            for view in 0..VIEW_COUNT {
                for d in 0..=K_MAX {
                    sum.near[view][d] += part.near[view][d];
                    sum.both[view][d] += part.both[view][d];
                }
            }
        }
        sum
    }

    fn unlisted_part(
        &self,
        numbers: &[u32],
        values: &[u64],
        part: usize,
        parts: usize,
    ) -> Unlisted {
        let mut bad = Unlisted::default();
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
                    let in_neither = !(may_be && self.pairs.contains_key(&pair));
                    for view in self.views_of(pair) {
                        bad.near[view][d] += 1;
                        bad.both[view][d] += u64::from(in_neither);
                    }
                }
            }
        }
        bad
    }
}

/// Pairs that are no duplicates, by view and distance.
#[derive(Clone, Debug, Default)]
struct Unlisted {
    /// Those not in `near`.
    near: [[u64; K_MAX + 1]; VIEW_COUNT],
    /// Those in neither table.
    both: [[u64; K_MAX + 1]; VIEW_COUNT],
}

/// Divides the documents into halves; documents that labels connect stay in one half.
fn halves<'a>(
    document_count: usize,
    labels: impl Iterator<Item = (&'a (u32, u32), &'a i8)>,
) -> Vec<bool> {
    let mut parent: Vec<u32> = (0..document_count as u32).collect();
    let root = |parent: &mut Vec<u32>, mut number: u32| {
        while parent[number as usize] != number {
            parent[number as usize] = parent[parent[number as usize] as usize];
            number = parent[number as usize];
        }
        number
    };
    for (&(a, b), _) in labels.filter(|(_, label)| **label == 1) {
        let [a, b] = [root(&mut parent, a), root(&mut parent, b)];
        // The smaller one, so that the order of the labels does not matter.
        parent[a.max(b) as usize] = a.min(b);
    }
    (0..document_count as u32)
        .map(|number| {
            let root = u64::from(root(&mut parent, number));
            root.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 63 == 1
        })
        .collect()
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
            "segment" => recipe.tokenizer = Tokenizer::named(value)?,
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
