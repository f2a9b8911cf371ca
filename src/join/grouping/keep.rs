//! The documents of clusters to keep and to drop.
//!
//! [`KeepRule`] is the rule for clusters of a store and for clusters of confirmed documents. The
//! program and the Python package take its names from here.

use std::collections::HashMap;

use super::Cluster;
use super::clusters::Clusters;
use crate::base::error::{Error, Result};
use fpstore_base::{Fingerprint, IdRef};

fpstore_base::choices! {
    /// The documents of a cluster that are kept.
    ///
    /// The order of documents in a store is the order of their ids, numbers by value, texts by
    /// bytes. The order of confirmed documents is the order of their numbers.
    ///
    /// ```
    /// use fpstore::join::KeepRule;
    ///
    /// assert_eq!("smallest-id".parse::<KeepRule>()?, KeepRule::SmallestId);
    /// assert_eq!(KeepRule::First.to_string(), "first");
    /// # Ok::<(), fpstore::UnknownName>(())
    /// ```
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    #[non_exhaustive]
    pub enum KeepRule {
        /// The first document of the representative of each cluster, and every document outside of
        /// clusters.
        Representative = "representative": "The representative of each cluster",
        /// The document with the smallest id of each cluster, numbers by value, texts by bytes; and
        /// every document outside of clusters.
        SmallestId = "smallest-id": "The smallest id of each cluster",
        /// The first document of each cluster, and every document outside of clusters.
        First = "first": "The first record of each cluster in the files",
        /// All documents of the largest cluster, ties to the first one, and no other document.
        LargestCluster = "largest-cluster": "The documents of the largest cluster, and no others",
    }
}

impl KeepRule {
    /// Whether the rule compares ids, which must then be read.
    pub(in crate::join) fn compares_ids(self) -> bool {
        match self {
            KeepRule::SmallestId => true,
            KeepRule::Representative | KeepRule::First | KeepRule::LargestCluster => false,
        }
    }

    /// The kept document of a cluster, or `None` if the rule keeps or drops all of them. The first
    /// `own_count` documents belong to the representative.
    pub(in crate::join) fn choose<'a, D, O: Ord, I: Ord>(
        self,
        documents: &'a [D],
        own_count: usize,
        order: impl Fn(&&'a D) -> O,
        id: impl Fn(&&'a D) -> I,
    ) -> Option<&'a D> {
        match self {
            KeepRule::Representative => documents[..own_count].iter().min_by_key(order),
            KeepRule::First => documents.iter().min_by_key(order),
            KeepRule::SmallestId => documents.iter().min_by_key(id),
            KeepRule::LargestCluster => None,
        }
    }
}

/// Whether a document is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It is kept.
    Keep,
    /// It is dropped.
    Drop,
}

/// The kept documents of one cluster.
#[derive(Clone, Copy)]
enum KeptDocuments {
    All,
    None,
    /// The document with this member and this position of its id; 0 if the member has no ids.
    One {
        member: usize,
        id: usize,
    },
}

/// A position that no id has: no document of the fingerprint is kept.
const NONE: u32 = u32::MAX;
/// Stands for all ids: all documents of the fingerprint are kept.
const ALL: u32 = u32::MAX - 1;

impl Clusters {
    /// Calls `each` with each document of the store and its fate under `rule`, by ascending
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
        let KeptIds { whole: clustered, parts } = self.kept_ids(rule)?;
        let others = if rule == KeepRule::LargestCluster { NONE } else { ALL };
        let mut rest = clustered.iter().peekable();
        let mut position = 0;
        let values = self.values();
        self.store().for_each(|hit| {
            let fingerprint = hit.fingerprint();
            // A fingerprint of the store that is not among the values was dropped earlier.
            let among = values.get(position as usize) == Some(&fingerprint.value());
            let kept = match rest.next_if(|(at, _)| among && *at == position) {
                Some(&(_, kept)) => kept,
                None if among => others,
                None => NONE,
            };
            let parts = parts.get(&position).filter(|_| among);
            position += u32::from(among);
            let fate = |number: u32| {
                let kept = parts.and_then(|parts| parts.get(&number)).copied().unwrap_or(kept);
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

    /// Calls `each` with each cluster, in the order of [`Clusters::for_each`], and with a function
    /// that returns whether `rule` keeps the document with a given member and position of its id; 0
    /// if the member has no ids.
    ///
    /// # Errors
    ///
    /// As [`Clusters::for_each`].
    pub fn for_each_kept<E: From<Error>>(
        &self,
        rule: KeepRule,
        mut each: impl FnMut(&Cluster, &dyn Fn(usize, usize) -> bool) -> Result<(), E>,
    ) -> Result<(), E> {
        self.for_each_with_kept(rule, |cluster, kept| {
            let is_kept = |at_member: usize, at_id: usize| match kept {
                KeptDocuments::All => true,
                KeptDocuments::None => false,
                KeptDocuments::One { member, id } => (at_member, at_id) == (member, id),
            };
            each(cluster, &is_kept)
        })
    }

    fn for_each_with_kept<E: From<Error>>(
        &self,
        rule: KeepRule,
        mut each: impl FnMut(&Cluster, KeptDocuments) -> Result<(), E>,
    ) -> Result<(), E> {
        let (mut largest, mut largest_size) = (0, 0);
        if rule == KeepRule::LargestCluster {
            let mut ordinal = 0;
            self.for_each(|cluster| {
                if cluster.size > largest_size {
                    (largest, largest_size) = (ordinal, cluster.size);
                }
                ordinal += 1;
                Ok::<(), Error>(())
            })?;
        }
        let mut ordinal: u64 = 0;
        self.for_each(|cluster| {
            let kept = match kept_one(cluster, rule) {
                Some((member, id)) => KeptDocuments::One { member, id },
                None if ordinal == largest => KeptDocuments::All,
                None => KeptDocuments::None,
            };
            ordinal += 1;
            each(cluster, kept)
        })
    }

    fn kept_ids(&self, rule: KeepRule) -> Result<KeptIds> {
        let mut kept_ids = KeptIds::default();
        self.for_each_with_kept(rule, |cluster, kept| {
            for (number, member) in cluster.members.iter().enumerate() {
                let value = member.fingerprint.value();
                let position = self.values().partition_point(|other| *other < value) as u32;
                let kept_id = match kept {
                    KeptDocuments::All => ALL,
                    KeptDocuments::One { member, id } if member == number => id as u32,
                    _ => NONE,
                };
                if member.places.is_empty() {
                    kept_ids.whole.push((position, kept_id));
                    continue;
                }
                let of_part = kept_ids.parts.entry(position).or_default();
                for (id, &place) in (0..).zip(&member.places) {
                    let is_kept = [ALL, id].contains(&kept_id);
                    of_part.insert(place, if is_kept { ALL } else { NONE });
                }
            }
            Ok::<(), Error>(())
        })?;
        kept_ids.whole.sort_unstable();
        Ok(kept_ids)
    }
}

/// The kept documents of clusters.
#[derive(Default)]
struct KeptIds {
    /// The position of each fingerprint in a cluster, and its kept id; ascending.
    whole: Vec<(u32, u32)>,
    /// For fingerprints in several clusters: the kept id by position, then by position of the id.
    parts: HashMap<u32, HashMap<u32, u32>>,
}

/// The member and the position of the id that a rule keeps.
fn kept_one(cluster: &Cluster, rule: KeepRule) -> Option<(usize, usize)> {
    let id_count = |member: usize| cluster.members[member].ids.len().max(1);
    let each_id = |member: usize| (0..id_count(member)).map(move |id| (member, id));
    let documents: Vec<_> = (0..cluster.members.len()).flat_map(each_id).collect();
    // Documents without ids come last, in the order of their fingerprints.
    let order = |&&(member, id): &&(usize, usize)| {
        let member = &cluster.members[member];
        let own = member.ids.get(id);
        (own.is_none(), own, member.fingerprint, id)
    };
    rule.choose(&documents, id_count(0), order, order).copied()
}
