//! The numbers of clusters, kept from one run to the next.

use std::cmp::Reverse;
use std::collections::HashSet;

use super::clusters::Clusters;
use crate::error::{Error, Result};
use fpstore_base::{Fingerprint, IdRef};

impl Clusters {
    /// Gives clusters the numbers that they had in an earlier run. `earlier` returns the number of
    /// the cluster in which a document was, if it was in one.
    ///
    /// A number goes to the cluster with most of the documents that had it, ties to the earlier
    /// cluster. A cluster that could have several numbers gets the one that most of its documents
    /// had, ties to the smaller number. All other clusters get numbers above `last`.
    ///
    /// # Errors
    ///
    /// As [`Clusters::for_each`].
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

/// Which earlier clusters the documents of each new one were in.
#[derive(Default)]
pub(super) struct Shared {
    /// For a new cluster and an earlier one: the number of documents in both, the number of the
    /// earlier one, and the position of the new one.
    list: Vec<(Reverse<u64>, u64, usize)>,
    count: usize,
}

impl Shared {
    /// Takes the next cluster; `had` are the earlier numbers of its documents.
    pub(super) fn take(&mut self, had: &mut Vec<u64>) {
        had.sort_unstable();
        let position = self.count;
        let of = |same: &[u64]| (Reverse(same.len() as u64), same[0], position);
        self.list.extend(had.chunk_by(|a, b| a == b).map(of));
        self.count += 1;
        had.clear();
    }

    /// The numbers of the new clusters in order.
    pub(super) fn numbers(mut self, last: u64) -> Vec<u64> {
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
