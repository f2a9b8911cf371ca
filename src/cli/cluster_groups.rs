//! Clusters of fingerprints and of confirmed documents, with one face for printing.

use anyhow::bail;
use fpstore::join::confirm::{ConfirmedClusters, ConfirmedMember};
use fpstore::join::{Cluster, ClusterMember, ClusterMethod, Clusters, Fate, KeepRule};
use fpstore::{Error, Fingerprint, Id};

use super::cluster::KeepArg;
use super::cluster_rows::{Group, GroupMember};
use super::confirm::ConfirmedDocuments;
use super::join_input::Ids;
use super::previous::Previous;

/// Is called with each document, and whether it is kept.
pub(super) type EachFate<'a> =
    dyn FnMut(Fate, Fingerprint, Option<&str>) -> anyhow::Result<()> + 'a;

/// Clusters that can be printed.
pub(super) trait Groups {
    /// Keeps the numbers of an earlier output.
    fn keep_numbers(&mut self, previous: &Previous) -> anyhow::Result<()>;

    fn for_each(&self, each: &mut dyn FnMut(Group) -> anyhow::Result<()>) -> anyhow::Result<()>;

    /// Calls `each` with all documents, also those in no cluster.
    fn for_each_document(&self, rule: KeepArg, each: &mut EachFate<'_>) -> anyhow::Result<()>;
}

/// Clusters of the fingerprints of a store.
pub(super) struct StoreGroups {
    pub(super) found: Clusters,
    pub(super) ids: Ids,
}

/// The id in the input of the user.
fn own_id(id: &str, ids: Ids) -> Option<&str> {
    match ids {
        Ids::AsTheyAre => Some(id),
        ids => ids.split(id).1,
    }
}

impl Groups for StoreGroups {
    fn keep_numbers(&mut self, previous: &Previous) -> anyhow::Result<()> {
        let ids = self.ids;
        self.found.keep_numbers(previous.last(), |fingerprint, id| {
            let id = id.map(|id| id.to_string());
            previous.number(fingerprint, id.as_deref().and_then(|id| own_id(id, ids)))
        })?;
        Ok(())
    }

    fn for_each(&self, each: &mut dyn FnMut(Group) -> anyhow::Result<()>) -> anyhow::Result<()> {
        let own = |id: &Id| own_id(&id.to_string(), self.ids).map(String::from);
        let member = |member: &ClusterMember| GroupMember {
            fingerprint: member.fingerprint,
            distance: member.distance,
            similarity: None,
            ids: member.ids.iter().map(own).collect(),
        };
        self.found.for_each(|cluster: &Cluster| {
            each(Group {
                number: cluster.number,
                size: cluster.size,
                diameter: cluster.diameter,
                diameter_is_exact: cluster.diameter_is_exact,
                members: cluster.members.iter().map(member).collect(),
            })
        })
    }

    fn for_each_document(&self, rule: KeepArg, each: &mut EachFate<'_>) -> anyhow::Result<()> {
        let rule = match rule {
            KeepArg::Representative => KeepRule::Representative,
            KeepArg::SmallestId | KeepArg::First => KeepRule::SmallestId,
            KeepArg::LargestCluster => KeepRule::LargestCluster,
        };
        self.found.for_each_document(rule, |fate, fingerprint, id| {
            let id = id.map(|id| id.to_string());
            each(fate, fingerprint, id.as_deref().and_then(|id| own_id(id, self.ids)))
        })
    }
}

/// Clusters of documents whose pairs are confirmed.
pub(super) struct ConfirmedGroups<'a> {
    documents: &'a ConfirmedDocuments,
    found: ConfirmedClusters<'a>,
}

impl<'a> ConfirmedGroups<'a> {
    pub(super) fn new(
        documents: &'a ConfirmedDocuments,
        method: ClusterMethod,
    ) -> Result<Self, Error> {
        Ok(ConfirmedGroups { documents, found: documents.confirmed.clusters(method)? })
    }

    fn member(&self, member: &ConfirmedMember) -> anyhow::Result<GroupMember> {
        let ids = member
            .documents
            .iter()
            .map(|&number| self.documents.ids.text(number as usize).map(Some));
        Ok(GroupMember {
            fingerprint: member.fingerprint,
            distance: member.distance,
            similarity: Some(member.similarity),
            ids: ids.collect::<anyhow::Result<_>>()?,
        })
    }
}

impl Groups for ConfirmedGroups<'_> {
    fn keep_numbers(&mut self, previous: &Previous) -> anyhow::Result<()> {
        let ids = &self.documents.ids;
        self.found.keep_numbers(previous.last(), |fingerprint, document| {
            Ok(previous.number(fingerprint, Some(&ids.text(document as usize)?)))
        })
    }

    fn for_each(&self, each: &mut dyn FnMut(Group) -> anyhow::Result<()>) -> anyhow::Result<()> {
        self.found.for_each(|cluster| {
            let members = cluster.members.iter().map(|member| self.member(member));
            each(Group {
                number: cluster.number,
                size: cluster.size,
                diameter: cluster.diameter,
                diameter_is_exact: cluster.diameter_is_exact,
                members: members.collect::<anyhow::Result<_>>()?,
            })
        })
    }

    /// Documents come in the order of the files.
    fn for_each_document(&self, rule: KeepArg, each: &mut EachFate<'_>) -> anyhow::Result<()> {
        let ConfirmedDocuments { ids, confirmed, .. } = self.documents;
        let mut is_kept = vec![rule != KeepArg::LargestCluster; ids.len()];
        let mut largest = 0;
        self.found.for_each(|cluster| -> anyhow::Result<()> {
            let documents = || cluster.members.iter().flat_map(|member| &member.documents).copied();
            let kept = match rule {
                KeepArg::Representative => cluster.members[0].documents.first().copied(),
                KeepArg::First => documents().min(),
                KeepArg::SmallestId => {
                    let named = documents().map(|number| Ok((ids.text(number as usize)?, number)));
                    let named = named.collect::<anyhow::Result<Vec<_>>>()?;
                    named.into_iter().min().map(|(_, number)| number)
                }
                KeepArg::LargestCluster => {
                    if cluster.size > largest {
                        largest = cluster.size;
                        is_kept.fill(false);
                        documents().for_each(|number| is_kept[number as usize] = true);
                    }
                    return Ok(());
                }
            };
            documents().for_each(|number| is_kept[number as usize] = Some(number) == kept);
            Ok(())
        })?;
        for (number, is_kept) in (0..).zip(is_kept) {
            let fate = if is_kept { Fate::Keep } else { Fate::Drop };
            let Some(fingerprint) = confirmed.fingerprint(number) else {
                bail!("document {number} was not read");
            };
            each(fate, fingerprint, Some(&ids.text(number as usize)?))?;
        }
        Ok(())
    }
}
