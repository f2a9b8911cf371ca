//! A set of labelled texts, and the counts of its pairs by distance.

use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;

use crate::Failure;
use crate::curve::{Curve, K_MAX};

/// The number of views of a set: all documents, and each half.
pub const VIEW_COUNT: usize = 3;

/// The curves of each view, by language and truth.
pub type Curves = Vec<(Column, [Curve; VIEW_COUNT])>;

/// The documents of one language under one truth.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Column {
    pub is_chinese: bool,
    pub truth: &'static str,
}

pub struct Set {
    pub name: String,
    pub texts: Vec<String>,
    /// The kind of shingle of each document. Only pairs of documents of the same kind are labelled.
    kinds: Vec<bool>,
    /// For each kind of shingle, whether its documents are in Chinese.
    is_chinese: [bool; 2],
    /// For each document, whether it is the first one with its shingles.
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
    pub fn read(folder: &Path, name: &str) -> Result<Self, Failure> {
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
            // Chinese if more than half of the bytes are Han, which has three bytes for a
            // character.
            han * 6 > texts().map(String::len).sum()
        });
        let second_half = halves(texts.len(), near.iter().chain(&pairs));
        Ok(Set { name: name.into(), texts, kinds, is_chinese, first, second_half, near, pairs })
    }

    pub fn curves(&self, fingerprints: &[Option<u64>]) -> Curves {
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

    /// The views that contain both documents: the whole set, and a half if it contains both.
    fn views_of(&self, (a, b): (u32, u32)) -> impl Iterator<Item = usize> {
        let [a, b] = [a, b].map(|number| usize::from(self.second_half[number as usize]));
        std::iter::once(0).chain((a == b).then_some(1 + a))
    }

    /// Counts the pairs within `K_MAX` of documents with distinct shingles: pairs missing from
    /// `near`, and pairs missing from both tables.
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

/// Numbers of pairs that are not duplicates, for each view and distance.
#[derive(Clone, Debug, Default)]
struct Unlisted {
    /// Pairs not in `near`.
    near: [[u64; K_MAX + 1]; VIEW_COUNT],
    /// Pairs in neither table.
    both: [[u64; K_MAX + 1]; VIEW_COUNT],
}

/// Divides the documents into halves; documents connected by labels are in the same half.
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
        // The smaller number becomes the root, so that the order of the labels does not matter.
        parent[a.max(b) as usize] = a.min(b);
    }
    (0..document_count as u32)
        .map(|number| {
            let root = u64::from(root(&mut parent, number));
            root.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 63 == 1
        })
        .collect()
}
