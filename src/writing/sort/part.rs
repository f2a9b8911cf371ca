//! Sorted records in memory, in parts of whole keys.

use crate::base::error::Result;
use crate::writing::sort::merge::{Arena, EntryId, MergeInput, merge};
use fpstore_base::IdRef;

/// The most records of a part that come from one column, unless a key has more.
const PART_COUNT: usize = if cfg!(test) { 40 } else { 1 << 13 };

/// Some keys and their records.
#[derive(Clone, Copy)]
pub(crate) struct RecordPart<'a> {
    pub(super) bare: &'a [u64],
    pub(super) numbers: &'a [(u64, u64)],
    pub(super) texts: &'a [(u64, u64)],
    pub(super) arena: &'a Arena,
    /// Whether texts are ids with their sketches.
    pub(super) is_sketched: bool,
}

impl<'a> RecordPart<'a> {
    pub(crate) fn count(&self) -> usize {
        self.bare.len() + self.numbers.len() + self.texts.len()
    }

    /// Whether a key has more records than a part is made of, so that it is the only one.
    pub(crate) fn is_long(&self) -> bool {
        self.count() > 3 * PART_COUNT
    }

    /// The parts of this one, in order.
    pub(super) fn split(self) -> impl Iterator<Item = RecordPart<'a>> {
        let mut rest = self;
        std::iter::from_fn(move || {
            let part = rest.take_first();
            (part.count() > 0).then_some(part)
        })
    }

    /// Removes the first part.
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
        // All up to there have the same key.
        if part.count() == 0 { self.take_while(|key| key == bound) } else { part }
    }

    fn take_while(&mut self, belongs: impl Fn(u64) -> bool) -> Self {
        let bare = self.bare.partition_point(|&key| belongs(key));
        let numbers = self.numbers.partition_point(|entry| belongs(entry.0));
        let texts = self.texts.partition_point(|entry| belongs(entry.0));
        let first = RecordPart {
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

    /// The columns in the order of their ids.
    pub(super) fn inputs(self) -> [MergeInput<'a>; 3] {
        [
            MergeInput::Keys(self.bare),
            MergeInput::Numbers(self.numbers),
            MergeInput::Texts(self.texts, self.arena),
        ]
    }

    /// As [`SortedRecords::pass_sketched`](super::SortedRecords::pass_sketched).
    pub(crate) fn pass_sketched(
        self,
        each: impl FnMut(u64, Option<(IdRef<'_>, &[u8])>) -> Result<()>,
    ) -> Result<()> {
        merge(self.inputs().into(), with_sketches(self.is_sketched, each))
    }
}

/// Calls `each` with the id and the sketch of an entry.
pub(super) fn with_sketches(
    is_sketched: bool,
    mut each: impl FnMut(u64, Option<(IdRef<'_>, &[u8])>) -> Result<()>,
) -> impl FnMut(u64, EntryId<'_>) -> Result<()> {
    move |key, id| match is_sketched {
        true => each(key, id.get_sketched()),
        false => each(key, id.get().map(|id| (id, &[][..]))),
    }
}
