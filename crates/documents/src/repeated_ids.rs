//! Detects that documents share an id, in little memory.
//!
//! Lists of removed documents and of near-duplicates contain ids, so a user must know if an id
//! belongs to several documents. Ids are noted by hashes of 64 bits. If there are more ids than
//! [`EXACT_IDS_MAX`], only a part of the ids is noted, which is halved each time the memory is
//! full. Whether an id is in that part depends on its hash alone, so all documents with an id are
//! noted, or none.

use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash, Hasher};

use fpstore_base::{Id, IdRef};

/// The maximum number of ids for which every repetition is detected; each takes about 16 bytes of
/// memory.
const EXACT_IDS_MAX: usize = 1 << 18;

/// Documents that share an id with an earlier one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct RepeatedIds {
    /// The number of documents that share an id with an earlier one; a lower bound if only a part
    /// of the ids was noted.
    pub count: u64,
    /// The id of the first document that shares its id with an earlier one.
    pub first: Option<Id>,
    /// Whether only a part of the ids was noted, because there are more than 262,144.
    pub is_least: bool,
}

/// Notes ids, to count repeated ones.
#[derive(Clone, Debug, Default)]
pub struct IdNotes {
    seen: HashSet<u64>,
    /// Only ids whose hash ends in this number of zero bits are noted.
    zeros: u32,
}

impl IdNotes {
    /// Notes the id of the next document, and counts it in `found` if it was noted before.
    pub fn note(&mut self, id: IdRef<'_>, found: &mut RepeatedIds) {
        // The keys of this hasher are fixed, so that the same documents yield the same counts.
        let mut hasher = DefaultHasher::new();
        id.hash(&mut hasher);
        let hash = hasher.finish();
        if hash.trailing_zeros() < self.zeros {
            return;
        }
        if !self.seen.insert(hash) {
            found.count += 1;
            found.first.get_or_insert_with(|| id.to_id());
        }
        while self.seen.len() > EXACT_IDS_MAX {
            self.zeros += 1;
            found.is_least = true;
            self.seen.retain(|hash| hash.trailing_zeros() >= self.zeros);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repeats_are_counted_exactly_up_to_the_limit() {
        let (mut notes, mut found) = (IdNotes::default(), RepeatedIds::default());
        for id in [IdRef::U64(7), IdRef::Text("7"), IdRef::Text("b")] {
            notes.note(id, &mut found);
        }
        assert_eq!(found, RepeatedIds::default());
        for id in [IdRef::Text("b"), IdRef::U64(7), IdRef::Text("b")] {
            notes.note(id, &mut found);
        }
        let first = Some(Id::Text("b".into()));
        assert_eq!(found, RepeatedIds { count: 3, first, is_least: false });
        let (mut notes, mut found) = (IdNotes::default(), RepeatedIds::default());
        (0..EXACT_IDS_MAX as u64).for_each(|id| notes.note(IdRef::U64(id), &mut found));
        notes.note(IdRef::U64(5), &mut found);
        assert_eq!((found.count, found.is_least), (1, false));
    }

    #[test]
    fn of_many_ids_a_part_is_noted_and_the_memory_is_bounded() {
        let count = 5 * EXACT_IDS_MAX as u64;
        let (mut notes, mut found) = (IdNotes::default(), RepeatedIds::default());
        (0..count).for_each(|id| notes.note(IdRef::U64(id), &mut found));
        assert_eq!((found.count, found.is_least), (0, true));
        assert!(notes.seen.len() <= EXACT_IDS_MAX);
        // If a file is given twice, the repeated ids are detected.
        (0..count).for_each(|id| notes.note(IdRef::U64(id), &mut found));
        let repeated = found.count;
        assert!((count / 16..count / 4).contains(&repeated), "{repeated}");
        assert!(notes.seen.len() <= EXACT_IDS_MAX);
    }
}
