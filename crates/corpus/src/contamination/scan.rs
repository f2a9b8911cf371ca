//! Searches documents for items; each worker thread has its own scanner.

use std::ops::Range;
use std::sync::Arc;

use super::index::Index;
use super::items::{Item, TextWords, each_shingle};
use super::passage::best;

/// All items to search for.
#[derive(Debug)]
pub(super) struct Items {
    pub(super) list: Vec<Item>,
    pub(super) indexes: Vec<Index>,
}

impl Items {
    pub(super) fn new(list: Vec<Item>) -> Self {
        let indexes = Index::all(&list);
        Items { list, indexes }
    }
}

/// An item found in a document.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct ItemMatch {
    /// The position of the item in [`Items::list`].
    pub(super) item: u32,
    /// The share of the shingles of the item that the passage contains.
    pub(super) contained: f64,
    /// The byte range of the passage in the text.
    pub(super) bytes: Range<usize>,
    /// The character range of the passage in the text.
    pub(super) chars: Range<usize>,
    pub(super) passage: String,
}

/// Searches texts for items; reuses its memory from document to document.
pub(super) struct Scanner {
    items: Arc<Items>,
    words: TextWords,
    candidates: Vec<u32>,
    shingles: Vec<(u64, u32)>,
}

impl Scanner {
    pub(super) fn new(items: Arc<Items>) -> Self {
        Scanner { items, words: TextWords::default(), candidates: Vec::new(), shingles: Vec::new() }
    }

    /// The items found in a text, sorted by number, each with its best passage.
    pub(super) fn scan(&mut self, text: &str) -> Vec<ItemMatch> {
        let Scanner { items, words, candidates, shingles } = self;
        words.take(text);
        let mut held = Vec::new();
        for index in &items.indexes {
            candidates.clear();
            each_shingle(&words.hashes, index.shingle, |hash| {
                candidates.extend_from_slice(index.items(hash));
            });
            if candidates.is_empty() {
                continue;
            }
            candidates.sort_unstable();
            candidates.dedup();
            shingles.clear();
            each_shingle(&words.hashes, index.shingle, |hash| {
                shingles.push((hash, shingles.len() as u32));
            });
            shingles.sort_unstable();
            for &number in &*candidates {
                let item = &items.list[number as usize];
                let Some(passage) = best(item, shingles) else { continue };
                if passage.shingle_count < item.least {
                    continue;
                }
                let (first, last) = (passage.words.start, passage.words.end - 1);
                let bytes = words.places[first].start..words.places[last].end;
                held.push(ItemMatch {
                    item: number,
                    contained: passage.shingle_count as f64 / item.shingles.len() as f64,
                    passage: text[bytes.clone()].into(),
                    chars: 0..0,
                    bytes,
                });
            }
        }
        held.sort_unstable_by_key(|held| held.item);
        count_characters(text, &mut held);
        held
    }
}

/// Converts byte ranges of passages to character ranges, in one pass over the text.
fn count_characters(text: &str, held: &mut [ItemMatch]) {
    let mut bounds: Vec<(usize, usize, bool)> = Vec::new();
    for (at, one) in held.iter().enumerate() {
        bounds.push((one.bytes.start, at, false));
        bounds.push((one.bytes.end, at, true));
    }
    bounds.sort_unstable();
    let (mut byte, mut character) = (0, 0);
    for (bound, at, is_end) in bounds {
        character += text[byte..bound].chars().count();
        byte = bound;
        let chars = &mut held[at].chars;
        *(if is_end { &mut chars.end } else { &mut chars.start }) = character;
    }
}
