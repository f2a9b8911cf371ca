//! Finds the passage of a document that contains the most shingles of an item.

use std::ops::Range;

use super::items::Item;

/// A passage, and the number of distinct shingles of the item in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Passage {
    pub(super) shingle_count: usize,
    /// The range of words of the document that the passage consists of.
    pub(super) words: Range<usize>,
}

/// Finds the best passage. `shingles` are the shingles of the document with their positions,
/// sorted.
///
/// The best passage contains the most shingles of the item; of several, the shortest, then the
/// first. A passage has at most [`Item::span_max`] words.
pub(super) fn best(item: &Item, shingles: &[(u64, u32)]) -> Option<Passage> {
    let mut hits: Vec<(u32, u32)> = Vec::new();
    for (number, &hash) in (0..).zip(&item.shingles) {
        let start = shingles.partition_point(|&(other, _)| other < hash);
        let equal = shingles[start..].iter().take_while(|&&(other, _)| other == hash);
        hits.extend(equal.map(|&(_, at)| (at, number)));
    }
    hits.sort_unstable();
    // The number of occurrences of each shingle of the item, from hit `first` to the current hit.
    let mut counts = vec![0_u32; item.shingles.len()];
    let (mut first, mut shingle_count) = (0, 0);
    let mut best: Option<Passage> = None;
    for &(at, number) in &hits {
        let count = &mut counts[number as usize];
        *count += 1;
        shingle_count += usize::from(*count == 1);
        let end = at as usize + item.shingle;
        while first < hits.len() {
            let (start, earliest) = hits[first];
            let is_repeated = counts[earliest as usize] > 1;
            if end - start as usize <= item.span_max() && !is_repeated {
                break;
            }
            counts[earliest as usize] -= 1;
            shingle_count -= usize::from(!is_repeated);
            first += 1;
        }
        let words = hits[first].0 as usize..end;
        let is_better = best.as_ref().is_none_or(|best| {
            let known = (best.shingle_count, std::cmp::Reverse(best.words.len()));
            (shingle_count, std::cmp::Reverse(words.len())) > known
        });
        if is_better {
            best = Some(Passage { shingle_count, words });
        }
    }
    best
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::super::items::each_shingle;
    use super::super::rules::ShingleRules;
    use super::*;

    /// The slow reference: tries all passages of up to `span_max` words.
    fn by_trying_all(item: &Item, words: &[u64]) -> Option<Passage> {
        let mut found: Option<Passage> = None;
        for start in 0..words.len() {
            for end in start + item.shingle..=words.len().min(start + item.span_max()) {
                let mut held = BTreeSet::new();
                each_shingle(&words[start..end], item.shingle, |hash| {
                    if item.shingles.binary_search(&hash).is_ok() {
                        held.insert(hash);
                    }
                });
                let key = |it: &Passage| {
                    (it.shingle_count, std::cmp::Reverse((it.words.len(), it.words.start)))
                };
                let passage = Passage { shingle_count: held.len(), words: start..end };
                if !held.is_empty() && found.as_ref().is_none_or(|it| key(&passage) > key(it)) {
                    found = Some(passage);
                }
            }
        }
        found
    }

    #[test]
    fn the_best_passage_is_that_of_trying_all() {
        let mut seed = 11_u64;
        let mut pick = |count: u64| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (seed >> 33) % count
        };
        let hash = |word: u64| word.wrapping_mul(0x2545_f491_4f6c_dd1d);
        let mut held_some = 0;
        for round in 0..400 {
            let kinds = 3 + round % 20;
            let mut text = |len: u64| (0..len).map(|_| hash(pick(kinds))).collect::<Vec<u64>>();
            let (item, document) = (text(6 + round % 9), text(round % 60));
            let item = Item::of(&item, &ShingleRules::default()).unwrap();
            let mut shingles = Vec::new();
            each_shingle(&document, item.shingle, |hash| {
                shingles.push((hash, shingles.len() as u32));
            });
            shingles.sort_unstable();
            let found = best(&item, &shingles);
            held_some += usize::from(found.is_some());
            assert_eq!(found, by_trying_all(&item, &document), "round {round}");
        }
        assert!(held_some > 50, "{held_some}");
    }
}
