//! Finding records by id.

use std::collections::HashMap;

use fpstore_base::watch::{Observer, Phase, Watch};
use fpstore_base::{Fingerprint, IdRef};

use super::Store;
use crate::base::error::{Error, Result};
use crate::base::section::StoreIndex;
use crate::search::snapshot::canonical;

/// The maximum number of ids of a fingerprint that [`Store::count_stored`] compares.
const IDS_MAX: usize = 1000;

/// A stored record that has a requested id.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoundRecord {
    /// The stored fingerprint.
    pub fingerprint: Fingerprint,
    /// The sketch stored with the id; empty in a store without sketches.
    pub sketch: Vec<u8>,
    /// The store that contains the record, if several stores are queried together.
    pub store: StoreIndex,
}

impl Store {
    /// Finds the records with these ids. Returns for each id its records by ascending fingerprint,
    /// or an empty list. A number and its decimal text are the same id.
    ///
    /// A store has no index of ids, so this is one scan of all fingerprints and ids, like
    /// [`Store::for_each`], for any number of ids. The observer is called during the scan.
    ///
    /// # Errors
    ///
    /// The errors of [`Store::for_each`], and [`Error::Interrupted`] if the observer ends the work.
    ///
    /// # Examples
    ///
    #[cfg_attr(feature = "write", doc = "```")]
    #[cfg_attr(not(feature = "write"), doc = "```ignore")]
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let folder = tempfile::tempdir()?;
    /// # let mut builder = fpstore::Builder::new(folder.path().join("news.fps"))?;
    /// # builder.push(7.into(), "a.html")?;
    /// # let store = builder.finish()?;
    /// let found = store.find_ids(&["a.html".into(), "b.html".into()], None)?;
    /// assert_eq!(found[0][0].fingerprint, 7.into());
    /// assert!(found[1].is_empty());
    /// # Ok(()) }
    /// ```
    pub fn find_ids(
        &self,
        ids: &[IdRef<'_>],
        observer: Option<Observer>,
    ) -> Result<Vec<Vec<FoundRecord>>> {
        let mut wanted: HashMap<IdRef<'_>, Vec<usize>> = HashMap::new();
        for (at, id) in ids.iter().enumerate() {
            wanted.entry(canonical(*id)).or_default().push(at);
        }
        let mut found = vec![Vec::new(); ids.len()];
        let watch = Watch::new(observer, Phase::Read, None);
        self.for_each(|hit| {
            for (store, hit) in hit.stores() {
                let mut stored = hit.ids();
                while let Some(id) = stored.next() {
                    for &at in wanted.get(&canonical(id?)).into_iter().flatten() {
                        let (fingerprint, sketch) = (hit.fingerprint(), stored.sketch().to_vec());
                        found[at].push(FoundRecord { fingerprint, sketch, store });
                    }
                    watch.tick(1)?;
                }
            }
            Ok::<(), Error>(())
        })?;
        Ok(found)
    }

    /// Counts the given records that are stored. A record without an id counts if its fingerprint
    /// is stored. A program that adds records can thus find out whether they were added before.
    /// Only the first 1 000 ids of a fingerprint are compared.
    ///
    /// # Errors
    ///
    /// [`Error::Corrupt`] if the store is damaged.
    ///
    /// # Examples
    ///
    #[cfg_attr(feature = "write", doc = "```")]
    #[cfg_attr(not(feature = "write"), doc = "```ignore")]
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let folder = tempfile::tempdir()?;
    /// # let mut builder = fpstore::Builder::new(folder.path().join("news.fps"))?;
    /// # builder.push(7.into(), "a.html")?;
    /// # let store = builder.finish()?;
    /// let records = [(7.into(), Some("a.html".into())), (7.into(), Some("b.html".into()))];
    /// assert_eq!(store.count_stored(records)?, 1);
    /// # Ok(()) }
    /// ```
    pub fn count_stored<'a>(
        &self,
        records: impl IntoIterator<Item = (Fingerprint, Option<IdRef<'a>>)>,
    ) -> Result<u64> {
        let mut searcher = self.searcher();
        let mut count = 0;
        for (fingerprint, id) in records {
            let mut is_stored = false;
            for hit in searcher.search(fingerprint, 0)?.hits() {
                let Some(wanted) = id.map(canonical) else {
                    is_stored = true;
                    break;
                };
                for stored in hit.stored_ids().take(IDS_MAX) {
                    is_stored |= canonical(stored?) == wanted;
                }
            }
            count += u64::from(is_stored);
        }
        Ok(count)
    }
}
