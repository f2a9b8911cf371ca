//! The fingerprints of documents, by the ids with which a [`LabelFile`] names the documents.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use super::evaluation::Evaluation;
use fpstore::{Error, Result, Store};
use fpstore_base::labels::{BadLabel, LabelFile, LabelledPairs};
use fpstore_base::watch::Observer;
use fpstore_base::{Fingerprint, Width};

/// Documents with distinct ids and their fingerprints, to be measured on labelled pairs.
///
/// ```
/// use fpstore_report::evaluate::{LabelFile, MeasuredDocuments};
///
/// let mut documents = MeasuredDocuments::default();
/// for (id, value) in [("a", 0), ("b", 1), ("c", 255)] {
///     documents.push(id.into(), Some(value.into()))?;
/// }
/// let labels = LabelFile::parse("a\tb\t1\na\tc\t0\n")?;
/// let found = documents.evaluate(&documents.pairs(&labels)?, false, None)?;
/// assert_eq!(found.best().k, 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct MeasuredDocuments {
    numbers: HashMap<String, usize>,
    values: Vec<Option<Fingerprint>>,
}

impl MeasuredDocuments {
    /// Adds a document. A document without features has the fingerprint `None`, and its pairs are
    /// never found.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidOptions`] if another document has the id.
    pub fn push(&mut self, id: String, fingerprint: Option<Fingerprint>) -> Result<()> {
        let number = self.values.len();
        match self.numbers.entry(id) {
            Entry::Occupied(same) => {
                let (id, before) = (same.key(), same.get() + 1);
                let reason =
                    format!("two documents have the id '{id}': number {before} and {}", number + 1);
                Err(Error::InvalidOptions { reason })
            }
            Entry::Vacant(new) => {
                new.insert(number);
                self.values.push(fingerprint);
                Ok(())
            }
        }
    }

    /// Adds all records of a store. A record that was stored twice is one document.
    ///
    /// # Errors
    ///
    /// * [`Error::InvalidOptions`] if a fingerprint has no id or fewer than 64 bits, or if two
    ///   fingerprints have the same id.
    /// * [`Error::Corrupt`] if the store is damaged.
    pub fn push_store(&mut self, store: &Store) -> Result<()> {
        let path = store.info().path;
        let refused = |reason| Err(Error::InvalidOptions { reason });
        if store.width() != Width::FULL {
            return refused(format!(
                "{}: fingerprints of {} bits cannot be evaluated, expected 64 bits",
                path.display(),
                store.width()
            ));
        }
        store.for_each(|record| {
            let mut ids = record.ids().peekable();
            if ids.peek().is_none() {
                return refused(without_id(&path.display().to_string()));
            }
            for id in ids {
                let (id, value) = (id?.to_string(), Some(record.fingerprint()));
                let before = self.numbers.get(&id).map(|number| self.values[*number]);
                if before != Some(value) {
                    self.push(id, value)?;
                }
            }
            Ok(())
        })
    }

    /// Looks up the ids of a file of labels, and returns its pairs of documents.
    ///
    /// # Errors
    ///
    /// [`BadLabel`] with the line number, if no document has one of the ids of a line, or if the
    /// pair is invalid.
    pub fn pairs(&self, labels: &LabelFile) -> std::result::Result<LabelledPairs, BadLabel> {
        labels.numbered(&self.numbers)
    }

    /// Measures these documents on `pairs`. Arguments: see [`Evaluation::of`].
    ///
    /// # Errors
    ///
    /// The same as for [`Evaluation::of`].
    pub fn evaluate(
        &self,
        pairs: &LabelledPairs,
        unlisted_differ: bool,
        observer: Option<Observer>,
    ) -> Result<Evaluation> {
        Evaluation::of(pairs, &self.values, unlisted_differ, observer)
    }
}

/// The error message for an input with a fingerprint that has no id.
pub fn without_id(input: &str) -> String {
    format!("{input}: a fingerprint without an id has no labels")
}
