//! Sorted records in memory, split into parts. Each key is in one part only.

use crate::writing::sort::merge::{Arena, MergeInput};

/// The maximum number of records of a part in each column, unless a single key has more.
const PART_COUNT: usize = if cfg!(test) { 40 } else { 1 << 13 };

/// All records of a range of keys, in columns sorted by key.
#[derive(Clone, Copy)]
pub(super) struct MemoryPart<'a> {
    pub(super) bare: &'a [u64],
    pub(super) numbers: &'a [(u64, u64)],
    pub(super) texts: &'a [(u64, u64)],
    pub(super) arena: &'a Arena,
}

impl<'a> MemoryPart<'a> {
    pub(super) fn count(&self) -> usize {
        self.bare.len() + self.numbers.len() + self.texts.len()
    }

    /// Whether the part is a single key with more records than a normal part.
    pub(super) fn is_long(&self) -> bool {
        self.count() > 3 * PART_COUNT
    }

    /// The distinct keys, ascending.
    pub(super) fn keys(&self) -> Vec<u64> {
        let mut keys = self.bare.to_vec();
        keys.extend(self.numbers.iter().chain(self.texts).map(|entry| entry.0));
        keys.sort();
        keys.dedup();
        keys
    }

    /// Splits this part into smaller parts, in the order of the keys.
    pub(super) fn split(self) -> impl Iterator<Item = MemoryPart<'a>> {
        let mut rest = self;
        std::iter::from_fn(move || {
            let part = rest.take_first();
            (part.count() > 0).then_some(part)
        })
    }

    /// Removes the first keys and returns their records as a smaller part.
    fn take_first(&mut self) -> Self {
        let longest = self.bare.len().max(self.numbers.len()).max(self.texts.len());
        let bound = if longest <= PART_COUNT {
            None
        } else if self.bare.len() == longest {
            self.bare.get(PART_COUNT).copied()
        } else {
            let pairs = if self.numbers.len() == longest { self.numbers } else { self.texts };
            pairs.get(PART_COUNT).map(|entry| entry.0)
        };
        let Some(bound) = bound else {
            let part = *self;
            (self.bare, self.numbers, self.texts) = (&[], &[], &[]);
            return part;
        };
        let part = self.take_while(|key| key < bound);
        // If no record is below the bound, the first key alone has more than `PART_COUNT` records.
        if part.count() == 0 { self.take_while(|key| key == bound) } else { part }
    }

    fn take_while(&mut self, belongs: impl Fn(u64) -> bool) -> Self {
        let bare = self.bare.partition_point(|&key| belongs(key));
        let numbers = self.numbers.partition_point(|entry| belongs(entry.0));
        let texts = self.texts.partition_point(|entry| belongs(entry.0));
        let first = MemoryPart {
            bare: &self.bare[..bare],
            numbers: &self.numbers[..numbers],
            texts: &self.texts[..texts],
            ..*self
        };
        self.bare = &self.bare[bare..];
        self.numbers = &self.numbers[numbers..];
        self.texts = &self.texts[texts..];
        first
    }

    /// The columns in the order in which the ids of one key are read: none, numbers, texts.
    pub(super) fn inputs(self) -> [MergeInput<'a>; 3] {
        [
            MergeInput::Keys(self.bare),
            MergeInput::Numbers(self.numbers),
            MergeInput::Texts(self.texts, self.arena),
        ]
    }
}
