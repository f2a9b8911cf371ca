//! The k-way merge of sorted inputs: runs on disk, and columns still in memory.
//!
//! A heap contains the next key of each of the k inputs, so an entry costs log k comparisons. Equal
//! keys are in the order of the inputs. Example: the keys 1 3 3 and 2 3 give 1 2 3 3 3, where the
//! first two 3 are from the first input.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;

use crate::base::error::Result;
use crate::writing::sort::block::{BLOCK_COUNT, RunBlock};
use crate::writing::sort::run::RunReader;
use crate::writing::sort::sketched;
use fpstore_base::IdRef;

/// An input of a merge: sorted entries, read block by block.
pub(super) enum MergeInput<'a> {
    SortedRun(RunReader<'a>),
    Keys(&'a [u64]),
    Numbers(&'a [(u64, u64)]),
    /// Keys with the positions of their texts in the arena.
    Texts(&'a [(u64, u64)], &'a Arena),
}

impl MergeInput<'_> {
    /// Replaces `block` by the next entries. Returns `false` after the last entry.
    pub(super) fn next_block(&mut self, block: &mut RunBlock) -> Result<bool> {
        if let MergeInput::SortedRun(reader) = self {
            return reader.next_block(block);
        }
        block.clear();
        match self {
            MergeInput::SortedRun(_) => {}
            MergeInput::Keys(keys) => block.keys.extend_from_slice(take(keys)),
            MergeInput::Numbers(entries) => block.set_numbers(take(entries)),
            MergeInput::Texts(entries, arena) => {
                while let Some((&(key, place), rest)) = entries.split_first()
                    && !block.is_full()
                {
                    block.push_text(key, arena.text(place));
                    *entries = rest;
                }
            }
        }
        Ok(!block.keys.is_empty())
    }
}

/// Removes the entries of one block from the front of `rest` and returns them.
fn take<'a, T>(rest: &mut &'a [T]) -> &'a [T] {
    let (taken, left) = rest.split_at(rest.len().min(BLOCK_COUNT));
    *rest = left;
    taken
}

/// Concatenated texts, each preceded by its length (u32, little-endian).
#[derive(Debug, Default)]
pub(super) struct Arena {
    bytes: Vec<u8>,
}

impl Arena {
    /// Appends a text. Returns its position.
    pub(super) fn push(&mut self, text: &[u8]) -> u64 {
        self.push_by(|bytes| bytes.extend_from_slice(text))
    }

    /// Appends the text that `write` writes. Returns its position.
    pub(super) fn push_by(&mut self, write: impl FnOnce(&mut Vec<u8>)) -> u64 {
        let place = self.bytes.len();
        crate::bytes::fields::put_u32(&mut self.bytes, 0);
        write(&mut self.bytes);
        let len = (self.bytes.len() - place - 4) as u32;
        self.bytes[place..place + 4].copy_from_slice(&len.to_le_bytes());
        place as u64
    }

    /// Appends all texts of another arena. Returns the offset to add to the positions of these
    /// texts.
    pub(super) fn append(&mut self, other: &Arena) -> u64 {
        let base = self.bytes.len() as u64;
        self.bytes.extend_from_slice(&other.bytes);
        base
    }

    pub(super) fn text(&self, place: u64) -> &[u8] {
        let (len, rest) = self.bytes[place as usize..].split_at(4);
        let len = len.iter().rev().fold(0, |len, &byte| len << 8 | usize::from(byte));
        &rest[..len]
    }

    pub(super) fn len(&self) -> usize {
        self.bytes.len()
    }

    pub(super) fn clear(&mut self) {
        self.bytes.clear();
    }
}

/// The id of an entry, looked up in its block on demand.
#[derive(Clone, Copy)]
pub(crate) struct EntryId<'a> {
    block: &'a RunBlock,
    at: usize,
}

impl<'a> EntryId<'a> {
    pub(crate) fn get(self) -> Option<IdRef<'a>> {
        self.block.id(self.at)
    }

    /// Appends the entry to a block.
    pub(super) fn append_to(self, block: &mut RunBlock) {
        block.push_entry(self.block, self.at);
    }

    /// The id and the sketch of an entry of a [`sketched`](super::sketched) column.
    pub(crate) fn get_sketched(self) -> Option<(IdRef<'a>, &'a [u8])> {
        self.block.text(self.at).map(sketched::decode)
    }
}

/// Calls `each` with each entry by ascending key. Entries with equal keys come in the order of the
/// inputs, and within one input in the order of the input.
pub(super) fn merge(
    inputs: Vec<MergeInput<'_>>,
    mut each: impl FnMut(u64, EntryId<'_>) -> Result<()>,
) -> Result<()> {
    let mut cursors = Vec::with_capacity(inputs.len());
    for input in inputs {
        let mut cursor = Cursor { input, block: RunBlock::default(), at: 0 };
        if cursor.input.next_block(&mut cursor.block)? {
            cursors.push(cursor);
        }
    }
    if let [only] = cursors.as_mut_slice() {
        loop {
            for (at, &key) in only.block.keys.iter().enumerate() {
                each(key, EntryId { block: &only.block, at })?;
            }
            if !only.input.next_block(&mut only.block)? {
                return Ok(());
            }
        }
    }
    let mut heap: BinaryHeap<Reverse<(u64, usize)>> = cursors
        .iter()
        .enumerate()
        .map(|(number, cursor)| Reverse((cursor.key(), number)))
        .collect();
    while let Some(mut top) = heap.peek_mut() {
        let Reverse((key, number)) = *top;
        let cursor = &mut cursors[number];
        each(key, EntryId { block: &cursor.block, at: cursor.at })?;
        cursor.at += 1;
        if cursor.at == cursor.block.keys.len() {
            cursor.at = 0;
            if !cursor.input.next_block(&mut cursor.block)? {
                PeekMut::pop(top);
                continue;
            }
        }
        *top = Reverse((cursor.key(), number));
    }
    Ok(())
}

struct Cursor<'a> {
    input: MergeInput<'a>,
    block: RunBlock,
    at: usize,
}

impl Cursor<'_> {
    fn key(&self) -> u64 {
        self.block.keys[self.at]
    }
}
