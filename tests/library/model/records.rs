//! The expected contents of a store: a list of records, and the effect of each operation on it.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::rc::Rc;

use crate::common::{Record, oracle};
use fpstore::{Id, IdRef};

/// A record of the model. Ids are texts: a number and its decimal text are the same id.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stored {
    pub value: u64,
    pub id: Option<Rc<str>>,
    pub label: Rc<str>,
}

/// The records of a store, the oldest first. Merges are not in the model, because they must not
/// change any answer.
#[derive(Clone, Debug, Default)]
pub struct Records(pub Vec<Stored>);

impl Records {
    pub fn add(&mut self, label: &str, records: &[Record]) {
        let label: Rc<str> = label.into();
        let stored = |(value, id): &Record| {
            let id = id.as_ref().map(|id| id.to_string().into());
            Stored { value: *value, id, label: label.clone() }
        };
        self.0.extend(records.iter().map(stored));
    }

    /// Deletes fingerprints and returns the number of stored fingerprints deleted.
    pub fn delete_values(&mut self, wanted: &BTreeSet<u64>) -> u64 {
        let stored: BTreeSet<u64> = self.0.iter().map(|of| of.value).collect();
        self.0.retain(|of| !wanted.contains(&of.value));
        wanted.intersection(&stored).count() as u64
    }

    /// Deletes ids and returns the number of stored ids deleted. If a fingerprint was also added
    /// without an id, deleting its last id of a label deletes these records, too, because a merge
    /// cannot tell them apart.
    pub fn delete_ids(&mut self, wanted: &BTreeSet<Rc<str>>) -> u64 {
        let (mut found, mut left, mut lost) = (BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
        for of in &self.0 {
            let Some(id) = &of.id else { continue };
            if wanted.contains(id) {
                found.insert(id.clone());
                lost.insert((of.label.clone(), of.value));
            } else {
                left.insert((of.label.clone(), of.value));
            }
        }
        self.0.retain(|of| match &of.id {
            Some(id) => !wanted.contains(id),
            None => {
                let place = (of.label.clone(), of.value);
                !lost.contains(&place) || left.contains(&place)
            }
        });
        found.len() as u64
    }

    /// Adds records that replace all older records with their ids; of several new records with the
    /// same id, the last one counts. Returns the number of replaced stored ids, and the number of
    /// added records.
    pub fn replace(&mut self, label: &str, before: &[Record], records: &[Record]) -> (u64, u64) {
        let (mut numbers, mut texts) = (BTreeMap::new(), BTreeMap::new());
        for record in records {
            let id = record.1.as_ref().expect("records that replace others have ids").to_string();
            match IdRef::canonical_number(&id) {
                Some(number) => numbers.insert(number, record.clone()),
                None => texts.insert(id, record.clone()),
            };
        }
        let last: Vec<Record> = numbers.into_values().chain(texts.into_values()).collect();
        let found = self.delete_ids(&last.iter().filter_map(id_of).collect());
        self.add(label, before);
        self.add(label, &last);
        (found, last.len() as u64)
    }

    pub fn expire(&mut self, before: &str) {
        self.0.retain(|of| of.label.is_empty() || &*of.label >= before);
    }

    /// Gives all records the latest of their labels, or no label if a record has none.
    pub fn become_one(&mut self) {
        let is_labelled = self.0.iter().all(|of| !of.label.is_empty());
        let greatest = self.0.iter().map(|of| of.label.clone()).max().filter(|_| is_labelled);
        let label = greatest.unwrap_or_else(|| "".into());
        self.0.iter_mut().for_each(|of| of.label = label.clone());
    }

    pub fn labels(&self) -> BTreeSet<Rc<str>> {
        self.0.iter().map(|of| of.label.clone()).collect()
    }

    /// The ids of each fingerprint under one label, or under all labels.
    pub fn by_value(&self, label: Option<&str>) -> BTreeMap<u64, Vec<String>> {
        let mut all = BTreeMap::<u64, Vec<String>>::new();
        for of in self.0.iter().filter(|of| label.is_none_or(|label| *of.label == *label)) {
            all.entry(of.value).or_default().extend(of.id.as_deref().map(String::from));
        }
        all
    }
}

pub fn id_of(record: &Record) -> Option<Rc<str>> {
    record.1.as_ref().map(|id| id.to_string().into())
}

/// An id of the model as a caller may give it: a number as a number or as a text.
pub fn spelled(id: &str, as_number: bool) -> Id {
    match IdRef::canonical_number(id).filter(|_| as_number) {
        Some(number) => Id::U64(number),
        None => Id::Text(id.into()),
    }
}

/// A fingerprint in one of several stores: its ids, each once, with their labels; without ids, the
/// labels of its segments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    pub store: usize,
    pub ids: Vec<(String, String)>,
    pub labels: BTreeSet<String>,
}

/// The records of one or several stores, prepared for scans.
pub struct Index {
    pub values: Vec<u64>,
    pub places: BTreeMap<u64, Vec<Place>>,
    pub record_count: usize,
}

impl Index {
    pub fn of(stores: &[Rc<Records>]) -> Self {
        let (mut places, mut seen) = (BTreeMap::<u64, Vec<Place>>::new(), HashSet::new());
        for (store, records) in stores.iter().enumerate() {
            for of in &records.0 {
                let of_value = places.entry(of.value).or_default();
                if of_value.last().is_none_or(|last| last.store != store) {
                    of_value.push(Place { store, ids: Vec::new(), labels: BTreeSet::new() });
                }
                let place = of_value.last_mut().unwrap();
                match &of.id {
                    Some(id) if seen.insert((store, of.value, id.clone())) => {
                        place.ids.push((id.to_string(), of.label.to_string()));
                    }
                    Some(_) => {}
                    None => drop(place.labels.insert(of.label.to_string())),
                }
            }
        }
        for place in places.values_mut().flatten().filter(|place| !place.ids.is_empty()) {
            place.labels.clear();
        }
        let values = places.keys().copied().collect();
        let record_count = stores.iter().map(|records| records.0.len()).sum();
        Index { values, places, record_count }
    }

    /// Distance and value of each stored fingerprint within `k` bits, in answer order.
    pub fn scan(&self, needle: u64, k: u32) -> Vec<(u32, u64)> {
        let found = oracle::scan(&self.values, needle, k).into_iter();
        found.map(|(distance, value, _)| (distance, value)).collect()
    }

    /// The documents in the order of pairs: one for each id, or one for a fingerprint without ids.
    pub fn documents(&self) -> Vec<(u64, usize, Option<&str>)> {
        let mut documents = Vec::new();
        for (value, places) in &self.places {
            for place in places {
                let ids = place.ids.iter().map(|(id, _)| Some(id.as_str()));
                let bare = place.ids.is_empty().then_some(None);
                documents.extend(ids.chain(bare).map(|id| (*value, place.store, id)));
            }
        }
        documents
    }
}
