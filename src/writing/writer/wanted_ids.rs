//! The ids of a deletion.

use std::collections::HashMap;

use fpstore_base::IdRef;

/// The ids to delete. A text that is a canonical number is treated as the number, because one
/// segment may store it as a text and another as a number.
#[derive(Clone, Debug, Default)]
pub(super) struct WantedIds {
    numbers: HashMap<u64, bool>,
    texts: HashMap<Box<str>, bool>,
}

impl WantedIds {
    pub(super) fn insert(&mut self, id: IdRef<'_>) {
        match number_of(id) {
            Ok(number) => self.numbers.insert(number, false),
            Err(text) => self.texts.insert(text.into(), false),
        };
    }

    /// Whether an id is wanted; if so, marks it as found.
    pub(super) fn find(&mut self, id: IdRef<'_>) -> bool {
        let found = match number_of(id) {
            Ok(number) => self.numbers.get_mut(&number),
            Err(text) => self.texts.get_mut(text),
        };
        match found {
            Some(found) => {
                *found = true;
                true
            }
            None => false,
        }
    }

    /// Marks all ids as not found.
    pub(super) fn forget_found(&mut self) {
        self.numbers.values_mut().chain(self.texts.values_mut()).for_each(|found| *found = false);
    }

    pub(super) fn has(&self, id: IdRef<'_>) -> bool {
        match number_of(id) {
            Ok(number) => self.numbers.contains_key(&number),
            Err(text) => self.texts.contains_key(text),
        }
    }

    /// Whether `self` and `other` have an id in common.
    pub(super) fn has_any_of(&self, other: &WantedIds) -> bool {
        other.numbers.keys().any(|number| self.numbers.contains_key(number))
            || other.texts.keys().any(|text| self.texts.contains_key(text))
    }

    /// Whether `self` contains all ids of `other`.
    pub(super) fn has_all_of(&self, other: &WantedIds) -> bool {
        other.numbers.keys().all(|number| self.numbers.contains_key(number))
            && other.texts.keys().all(|text| self.texts.contains_key(text))
    }

    pub(super) fn wanted(&self) -> u64 {
        (self.numbers.len() + self.texts.len()) as u64
    }

    pub(super) fn found(&self) -> u64 {
        self.numbers.values().chain(self.texts.values()).filter(|found| **found).count() as u64
    }
}

pub(super) fn number_of(id: IdRef<'_>) -> Result<u64, &str> {
    match id {
        IdRef::U64(number) => Ok(number),
        IdRef::Text(text) => IdRef::canonical_number(text).ok_or(text),
    }
}
