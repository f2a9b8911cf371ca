//! Records in memory, in input order or sorted.

use crate::writing::sort::memory_part::MemoryPart;
use crate::writing::sort::merge::Arena;
use crate::writing::sort::{partition, sketched};
use fpstore_base::IdRef;

/// Records in input order, in three columns: without ids, with numbers as ids, with texts as ids.
///
/// The records of one key are read in the order of these columns. To preserve the order of the ids
/// of one key, numbers after the first text are stored as texts.
#[derive(Debug, Default)]
pub(crate) struct RecordBatch {
    pub(super) bare: Vec<u64>,
    pub(super) numbers: Vec<(u64, u64)>,
    pub(super) texts: Vec<(u64, u64)>,
    arena: Arena,
    pub(super) largest_number: u64,
    pub(super) any_text: bool,
}

impl RecordBatch {
    pub(crate) fn push_bare(&mut self, key: u64) {
        self.bare.push(key);
    }

    /// Appends a record with a valid id.
    pub(crate) fn push(&mut self, key: u64, id: IdRef<'_>) {
        match id {
            IdRef::U64(number) if self.texts.is_empty() => {
                self.largest_number = self.largest_number.max(number);
                self.numbers.push((key, number));
            }
            IdRef::U64(number) => self.push_text(key, &number.to_string()),
            IdRef::Text(text) => self.push_text(key, text),
        }
    }

    /// Appends a record with a valid id and its sketch. In a batch without sketches, `sketch` is
    /// empty.
    pub(crate) fn push_sketched(&mut self, key: u64, id: IdRef<'_>, sketch: &[u8]) {
        if sketch.is_empty() {
            return self.push(key, id);
        }
        match id {
            IdRef::U64(number) => self.largest_number = self.largest_number.max(number),
            IdRef::Text(_) => self.any_text = true,
        }
        let place = self.arena.push_by(|bytes| sketched::encode(id, sketch, bytes));
        self.texts.push((key, place));
    }

    pub(super) fn push_text(&mut self, key: u64, text: &str) {
        self.any_text = true;
        let place = self.arena.push(text.as_bytes());
        self.texts.push((key, place));
    }

    /// Appends all records of another batch. With `after_texts`, its numbers are stored as texts.
    pub(super) fn append(&mut self, other: &RecordBatch, after_texts: bool) {
        self.bare.extend_from_slice(&other.bare);
        if !after_texts {
            self.numbers.extend_from_slice(&other.numbers);
        } else {
            for &(key, number) in &other.numbers {
                self.push_text(key, &number.to_string());
            }
        }
        self.largest_number = self.largest_number.max(other.largest_number);
        self.any_text |= other.any_text;
        let base = self.arena.append(&other.arena);
        self.texts.extend(other.texts.iter().map(|&(key, place)| (key, base + place)));
    }

    /// The keys of all records.
    pub(crate) fn keys(&self) -> impl Iterator<Item = u64> {
        let with_ids = self.numbers.iter().chain(&self.texts).map(|entry| entry.0);
        self.bare.iter().copied().chain(with_ids)
    }

    /// All records. The batch must not contain sketches.
    pub(crate) fn records(&self) -> impl Iterator<Item = (u64, Option<IdRef<'_>>)> {
        let bare = self.bare.iter().map(|&key| (key, None));
        let numbers = self.numbers.iter().map(|&(key, id)| (key, Some(IdRef::U64(id))));
        let text = |place| str::from_utf8(self.arena.text(place)).ok().map(IdRef::Text);
        bare.chain(numbers).chain(self.texts.iter().map(move |&(key, place)| (key, text(place))))
    }

    pub(crate) fn count(&self) -> u64 {
        (self.bare.len() + self.numbers.len() + self.texts.len()) as u64
    }

    pub(super) fn memory_len(&self) -> u64 {
        let entries = 8 * self.bare.len() + 16 * (self.numbers.len() + self.texts.len());
        (entries + self.arena.len()) as u64
    }

    /// The memory in bytes during the sort: the records, and scratch memory for the scattered
    /// entries. A pair takes 16 bytes of it, and 8 more for the stable sort of a large part.
    pub(super) fn sorting_len(&self) -> u64 {
        let pairs = self.numbers.len() + self.texts.len();
        self.memory_len() + (8 * self.bare.len()).max(24 * pairs) as u64
    }

    pub(super) fn sort(&mut self, scratch: &mut Scratch, threads: usize) {
        partition::sort(&mut self.numbers, &mut scratch.pairs, threads);
        partition::sort(&mut self.texts, &mut scratch.pairs, threads);
        partition::sort(&mut self.bare, &mut scratch.keys, threads);
        self.bare.dedup();
    }

    /// Removes all records but keeps the allocated memory.
    pub(super) fn clear(&mut self) {
        self.bare.clear();
        self.numbers.clear();
        self.texts.clear();
        self.arena.clear();
        (self.largest_number, self.any_text) = (0, false);
    }

    /// All records. The batch must be sorted.
    pub(super) fn whole(&self) -> MemoryPart<'_> {
        let RecordBatch { bare, numbers, texts, arena, .. } = self;
        MemoryPart { bare, numbers, texts, arena }
    }
}

/// Scratch memory for sorting. Reused from run to run: freeing and allocating it again would
/// fragment the heap.
#[derive(Debug, Default)]
pub(super) struct Scratch {
    pairs: Vec<(u64, u64)>,
    keys: Vec<u64>,
}
