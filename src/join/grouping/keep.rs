//! Determines which documents of clusters to keep and to drop.
//!
//! [`KeepRule`] is the rule, both for clusters of a store and for clusters of confirmed documents.
//! The program and the Python package use the names of the rules defined here.

use std::collections::HashMap;

use super::Cluster;
use super::clusters::Clusters;
use crate::base::error::{Error, Result};
use fpstore_base::{Fingerprint, IdRef};

fpstore_base::choices! {
    /// The rule that determines which documents of clusters are kept.
    ///
    /// "First" refers to an order of documents: for documents of a store, the order of their ids,
    /// numbers by value and texts by bytes; for confirmed documents, the order of their numbers.
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
        /// The document with the smallest id in each cluster, and every document outside of
        /// clusters. Ids are compared by value if they are numbers, by bytes if they are texts.
        SmallestId = "smallest-id": "The smallest id of each cluster",
        /// The first document of each cluster, and every document outside of clusters.
        First = "first": "The first record of each cluster in the files",
        /// All documents of the largest cluster (of ties, the first), and no other document.
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

    /// The kept document of a cluster, or `None` if the rule keeps or drops all documents of a
    /// cluster. The first `own_count` documents belong to the representative.
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
    /// The document is kept.
    Keep,
    /// The document is dropped.
    Drop,
}

/// In place of the position of a kept id: no document of the fingerprint is kept.
const NONE: u32 = u32::MAX;
/// In place of the position of a kept id: all documents of the fingerprint are kept.
const ALL: u32 = u32::MAX - 1;

impl Clusters {
    /// Calls `each` with each document of the store and its fate under `rule`. Documents are sorted
    /// by fingerprint; documents with the same fingerprint are in the order of their ids in the
    /// store.
    ///
    /// # Errors
    ///
    /// The same as [`Clusters::for_each`].
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
        self.store.for_each(|hit| {
            let fingerprint = hit.fingerprint();
            // `values` may be only a part of the fingerprints of the store: all others were dropped
            // before clusters were made.
            let among = self.values.get(position as usize) == Some(&fingerprint.value());
            let kept = match rest.next_if(|(at, _)| among && *at == position) {
                Some(&(_, kept)) => kept,
                None if among => others,
                None => NONE,
            };
            let parts = parts.get(&position).filter(|_| among);
            position += u32::from(among);
            let fate = |number: u32| {
                let of_part = parts.and_then(|parts| parts.get(&number)).copied();
                let is_kept = of_part.unwrap_or(kept == ALL || kept == number);
                if is_kept { Fate::Keep } else { Fate::Drop }
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
    /// that returns whether `rule` keeps a document. Its arguments are the position of the member
    /// and the position of the id in the member; 0 if the member has no ids.
    ///
    /// # Errors
    ///
    /// The same as [`Clusters::for_each`].
    pub fn for_each_kept<E: From<Error>>(
        &self,
        rule: KeepRule,
        mut each: impl FnMut(&Cluster, &dyn Fn(usize, usize) -> bool) -> Result<(), E>,
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
            let (kept, is_largest) = (kept_one(cluster, rule), ordinal == largest);
            ordinal += 1;
            // A rule that keeps no single document of each cluster keeps all of the largest one.
            each(cluster, &|member, id| kept.map_or(is_largest, |kept| kept == (member, id)))
        })
    }

    fn kept_ids(&self, rule: KeepRule) -> Result<KeptIds> {
        let mut kept_ids = KeptIds::default();
        self.for_each_kept(rule, |cluster, is_kept| {
            for (number, member) in cluster.members.iter().enumerate() {
                let value = member.fingerprint.value();
                let position = self.values.partition_point(|other| *other < value) as u32;
                if member.places.is_empty() {
                    // No document of the member is kept, one document, or all of them.
                    let ids = 0..member.document_count() as u32;
                    let mut kept = ids.filter(|&id| is_kept(number, id as usize));
                    let first = kept.next().unwrap_or(NONE);
                    let kept_id = if kept.next().is_some() { ALL } else { first };
                    kept_ids.whole.push((position, kept_id));
                    continue;
                }
                let of_part = kept_ids.parts.entry(position).or_default();
                for (id, &place) in member.places.iter().enumerate() {
                    of_part.insert(place, is_kept(number, id));
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
    /// For each fingerprint in exactly one cluster: its position, and the position of its kept id,
    /// or [`ALL`] or [`NONE`]. Ascending.
    whole: Vec<(u32, u32)>,
    /// For each fingerprint in several clusters, by its position: whether each id is kept, by the
    /// position of the id.
    parts: HashMap<u32, HashMap<u32, bool>>,
}

/// The document that a rule keeps: its member, and the position of its id in the member.
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
