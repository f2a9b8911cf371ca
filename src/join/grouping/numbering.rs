//! Keeps the numbers of clusters from one run to the next.
//!
//! A cluster gets the number of a cluster of the earlier run that shares documents with it, so that
//! labels by people stay valid. All other clusters get new numbers.
//!
//! A caller fills [`EarlierClusters`] from the output of an earlier run. [`Clusters::keep_numbers`]
//! and `ConfirmedClusters::keep_numbers` match the numbers.

use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};

use super::clusters::Clusters;
use crate::base::error::{Error, Result};
use fpstore_base::{Fingerprint, IdRef};

/// The numbers of the clusters of an earlier run, by document.
///
/// Ids are compared by their texts, as in the output.
///
/// ```
/// use fpstore::Fingerprint;
/// use fpstore::join::EarlierClusters;
///
/// let mut earlier = EarlierClusters::default();
/// earlier.insert(4, Fingerprint::new(7), Some("a.html"));
/// assert_eq!(earlier.number(Fingerprint::new(8), Some("a.html")), Some(4));
/// assert_eq!(earlier.last(), 4);
/// ```
#[derive(Clone, Debug, Default)]
pub struct EarlierClusters {
    by_id: HashMap<String, u64>,
    by_fingerprint: HashMap<Fingerprint, u64>,
    last: u64,
}

impl EarlierClusters {
    /// Records the number of the cluster of a document. A document without an id is identified by
    /// its fingerprint.
    pub fn insert(&mut self, cluster: u64, fingerprint: Fingerprint, id: Option<&str>) {
        self.last = self.last.max(cluster);
        match id {
            Some(id) => self.by_id.insert(id.into(), cluster),
            None => self.by_fingerprint.insert(fingerprint, cluster),
        };
    }

    /// The largest recorded number; 0 if there is none.
    pub fn last(&self) -> u64 {
        self.last
    }

    /// The number of the earlier cluster of a document, if it was in a cluster.
    pub fn number(&self, fingerprint: Fingerprint, id: Option<&str>) -> Option<u64> {
        match id {
            Some(id) => self.by_id.get(id).copied(),
            None => self.by_fingerprint.get(&fingerprint).copied(),
        }
    }
}

impl Clusters {
    /// Gives the clusters the numbers that they had in an earlier run. `earlier` returns the number
    /// of the earlier cluster of a document, if it was in a cluster.
    ///
    /// A number goes to the cluster that contains the most documents of the earlier cluster with
    /// this number, of ties to the first cluster. A cluster to which several numbers could go gets
    /// the number that most of its documents had, of ties the smallest. All other clusters get
    /// numbers above `last`.
    ///
    /// # Errors
    ///
    /// The same as [`Clusters::for_each`].
    pub fn keep_numbers(
        &mut self,
        last: u64,
        mut earlier: impl FnMut(Fingerprint, Option<IdRef<'_>>) -> Option<u64>,
    ) -> Result<()> {
        let mut shared = Shared::default();
        let mut had: Vec<u64> = Vec::new();
        self.numbers = None;
        self.for_each(|cluster| {
            for member in &cluster.members {
                let fingerprint = member.fingerprint;
                if member.ids.is_empty() {
                    had.extend(earlier(fingerprint, None));
                }
                had.extend(
                    member.ids.iter().filter_map(|id| earlier(fingerprint, Some(id.as_ref()))),
                );
            }
            shared.take(&mut had);
            Ok::<(), Error>(())
        })?;
        self.numbers = Some(shared.numbers(last));
        Ok(())
    }
}

/// Counts the documents that new clusters share with earlier clusters.
#[derive(Default)]
pub(in crate::join) struct Shared {
    /// For each new cluster and earlier cluster with common documents: the number of common
    /// documents, the number of the earlier cluster, and the position of the new cluster.
    list: Vec<(Reverse<u64>, u64, usize)>,
    count: usize,
}

impl Shared {
    /// Adds the next new cluster, and empties `had`, the earlier numbers of its documents.
    pub(in crate::join) fn take(&mut self, had: &mut Vec<u64>) {
        had.sort_unstable();
        let position = self.count;
        let of = |same: &[u64]| (Reverse(same.len() as u64), same[0], position);
        self.list.extend(had.chunk_by(|a, b| a == b).map(of));
        self.count += 1;
        had.clear();
    }

    /// The numbers of the new clusters, in the order in which they were added.
    pub(in crate::join) fn numbers(mut self, last: u64) -> Vec<u64> {
        self.list.sort_unstable();
        let mut numbers = vec![0; self.count];
        let mut given = HashSet::new();
        for (_, number, cluster) in self.list {
            if numbers[cluster] == 0 && given.insert(number) {
                numbers[cluster] = number;
            }
        }
        let new = numbers.iter_mut().filter(|number| **number == 0);
        new.zip(last + 1..).for_each(|(number, next)| *number = next);
        numbers
    }
}
