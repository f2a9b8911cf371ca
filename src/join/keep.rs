//! Which documents of clusters to keep and which to drop.

use super::cluster::Cluster;
use super::clusters::Clusters;
use crate::error::{Error, Result};
use fpstore_base::Fingerprint;
use fpstore_base::IdRef;

/// Which documents are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum KeepRule {
    /// Of each cluster the document with the smallest id of the representative, and every document
    /// in no cluster.
    Representative,
    /// Of each cluster the document with the smallest id, numbers by value, texts by bytes; and
    /// every document in no cluster.
    SmallestId,
    /// All documents of the largest cluster, ties to the first one, and no other document.
    LargestCluster,
}

/// Whether a document is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It is kept.
    Keep,
    /// It is dropped.
    Drop,
}

/// The position of an id that no fingerprint has.
const NONE: u32 = u32::MAX;
/// Stands for all ids of a fingerprint.
const ALL: u32 = u32::MAX - 1;

impl Clusters {
    /// Calls `each` with each document of the store and whether `rule` keeps it, by ascending
    /// fingerprint, then in the order of the ids.
    ///
    /// # Errors
    ///
    /// As [`Clusters::for_each`].
    ///
    /// # Examples
    ///
    /// ```
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let folder = tempfile::tempdir()?;
    /// # let mut builder = fpstore::Builder::new(folder.path().join("news.fps"))?;
    /// # builder.push(7.into(), "a.html")?;
    /// # let store = builder.finish()?;
    /// use fpstore::join::{ClusterMethod, Fate, JoinOptions, KeepRule, clusters};
    ///
    /// let found = clusters(&store, &JoinOptions::new(3), ClusterMethod::Star)?;
    /// found.for_each_document(KeepRule::Representative, |fate, fingerprint, id| {
    ///     if fate == Fate::Drop {
    ///         println!("{fingerprint} {id:?}");
    ///     }
    ///     Ok::<(), fpstore::Error>(())
    /// })?;
    /// # Ok(()) }
    /// ```
    pub fn for_each_document<E: From<Error>>(
        &self,
        rule: KeepRule,
        mut each: impl FnMut(Fate, Fingerprint, Option<IdRef<'_>>) -> Result<(), E>,
    ) -> Result<(), E> {
        let clustered = self.kept_ids(rule)?;
        let others = if rule == KeepRule::LargestCluster { NONE } else { ALL };
        let mut rest = clustered.iter().peekable();
        let mut position = 0;
        let values = self.values();
        self.store().for_each(|hit| {
            let fingerprint = hit.fingerprint();
            // A fingerprint of the store that is not among the values was dropped before.
            let among = values.get(position as usize) == Some(&fingerprint.value());
            let kept = match rest.next_if(|(at, _)| among && *at == position) {
                Some(&(_, kept)) => kept,
                None if among => others,
                None => NONE,
            };
            position += u32::from(among);
            let fate = |number: u32| {
                if kept == ALL || kept == number { Fate::Keep } else { Fate::Drop }
            };
            let mut number = 0;
            for id in hit.ids() {
                each(fate(number), fingerprint, Some(id?))?;
                number += 1;
            }
            if number == 0 { each(fate(0), fingerprint, None) } else { Ok(()) }
        })
    }

    /// For each fingerprint in a cluster its position, and which of its ids is kept.
    fn kept_ids(&self, rule: KeepRule) -> Result<Vec<(u32, u32)>> {
        let mut largest: (u64, u64) = (0, 0);
        if rule == KeepRule::LargestCluster {
            let mut ordinal = 0;
            self.for_each(|cluster| {
                if cluster.size > largest.0 {
                    largest = (cluster.size, ordinal);
                }
                ordinal += 1;
                Ok::<(), Error>(())
            })?;
        }
        let mut ordinal = 0;
        let mut kept_ids = Vec::new();
        self.for_each(|cluster| {
            let kept = match rule {
                KeepRule::Representative => Some((0, smallest(cluster, 0))),
                KeepRule::SmallestId => Some(smallest_of_all(cluster)),
                KeepRule::LargestCluster => None,
            };
            for (number, member) in cluster.members.iter().enumerate() {
                let value = member.fingerprint.value();
                let position = self.values().partition_point(|other| *other < value) as u32;
                let kept_id = match kept {
                    Some((of, id)) if of == number => id,
                    None if ordinal == largest.1 => ALL,
                    _ => NONE,
                };
                kept_ids.push((position, kept_id));
            }
            ordinal += 1;
            Ok::<(), Error>(())
        })?;
        kept_ids.sort_unstable();
        Ok(kept_ids)
    }
}

/// The position of the smallest id of a member.
fn smallest(cluster: &Cluster, member: usize) -> u32 {
    let ids = cluster.members[member].ids.iter().zip(0..);
    ids.min().map_or(0, |(_, position)| position)
}

/// The member with the smallest id, and the position of that id. Members without ids come last.
fn smallest_of_all(cluster: &Cluster) -> (usize, u32) {
    let key = |number: &usize| {
        let member = &cluster.members[*number];
        let id = member.ids.iter().min();
        (id.is_none(), id, member.fingerprint)
    };
    let member = (0..cluster.members.len()).min_by(|a, b| key(a).cmp(&key(b))).unwrap_or(0);
    (member, smallest(cluster, member))
}
