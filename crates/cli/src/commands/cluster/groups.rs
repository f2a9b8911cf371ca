//! Clusters of fingerprints and of confirmed documents, with a common trait for printing.

use fpstore::join::confirm::{ConfirmedClusters, ConfirmedMember};
use fpstore::join::{Cluster, ClusterMember, Clusters, EarlierClusters, Fate, KeepRule};
use fpstore::rows::{ClusterMemberRow, ClusterRow};
use fpstore::{Error, Fingerprint, Id, IdRef, Width};

use crate::run::join_input::Ids;

/// Callback for each document, and whether it is kept.
pub(crate) type EachFate<'a> =
    dyn FnMut(Fate, Fingerprint, Option<&str>) -> anyhow::Result<()> + 'a;

/// Clusters that can be printed.
pub(crate) trait Groups {
    /// The width of the fingerprints.
    fn width(&self) -> Width;

    /// Reuses the cluster numbers of an earlier output.
    fn keep_numbers(&mut self, earlier: &EarlierClusters) -> anyhow::Result<()>;

    fn for_each(
        &self,
        each: &mut dyn FnMut(ClusterRow) -> anyhow::Result<()>,
    ) -> anyhow::Result<()>;

    /// Calls `each` for all documents, also for documents in no cluster.
    fn for_each_document(&self, rule: KeepRule, each: &mut EachFate<'_>) -> anyhow::Result<()>;
}

/// Clusters of the fingerprints of a store.
pub(crate) struct StoreGroups {
    pub(crate) found: Clusters,
    pub(crate) ids: Ids,
    pub(crate) width: Width,
}

/// The id in the user's input.
fn own_id(id: &str, ids: Ids) -> Option<&str> {
    ids.split(IdRef::Text(id)).1
}

impl Groups for StoreGroups {
    fn width(&self) -> Width {
        self.width
    }

    fn keep_numbers(&mut self, earlier: &EarlierClusters) -> anyhow::Result<()> {
        let ids = self.ids;
        self.found.keep_numbers(earlier.last(), |fingerprint, id| {
            let id = id.map(|id| id.to_string());
            earlier.number(fingerprint, id.as_deref().and_then(|id| own_id(id, ids)))
        })?;
        Ok(())
    }

    fn for_each(
        &self,
        each: &mut dyn FnMut(ClusterRow) -> anyhow::Result<()>,
    ) -> anyhow::Result<()> {
        let own = |id: &Id| own_id(&id.to_string(), self.ids).map(String::from);
        let member = |member: &ClusterMember| ClusterMemberRow {
            fingerprint: self.width.hex(member.fingerprint),
            distance: member.distance,
            similarity: None,
            ids: member.ids.iter().map(own).collect(),
        };
        self.found.for_each(|cluster: &Cluster| {
            each(ClusterRow {
                cluster: cluster.number,
                size: cluster.size,
                diameter: cluster.diameter,
                diameter_is_exact: cluster.diameter_is_exact,
                representative: self.width.hex(cluster.members[0].fingerprint),
                members: cluster.members.iter().map(member).collect(),
            })
        })
    }

    fn for_each_document(&self, rule: KeepRule, each: &mut EachFate<'_>) -> anyhow::Result<()> {
        self.found.for_each_document(rule, |fate, fingerprint, id| {
            let id = id.map(|id| id.to_string());
            each(fate, fingerprint, id.as_deref().and_then(|id| own_id(id, self.ids)))
        })
    }
}

/// Clusters of documents with confirmed pairs.
pub(crate) struct ConfirmedGroups(pub(crate) ConfirmedClusters);

impl ConfirmedGroups {
    fn id(&self, document: u32) -> Result<Option<String>, Error> {
        Ok(self.0.id(document)?.map(|id| id.to_string()))
    }

    fn member(&self, member: &ConfirmedMember) -> Result<ClusterMemberRow, Error> {
        Ok(ClusterMemberRow {
            fingerprint: member.fingerprint.into(),
            distance: member.distance,
            similarity: Some(member.similarity),
            ids: member
                .documents
                .iter()
                .map(|&number| self.id(number))
                .collect::<Result<_, _>>()?,
        })
    }
}

impl Groups for ConfirmedGroups {
    /// Fingerprints computed from documents always have 64 bits.
    fn width(&self) -> Width {
        Width::FULL
    }

    fn keep_numbers(&mut self, earlier: &EarlierClusters) -> anyhow::Result<()> {
        self.0.keep_numbers(earlier.last(), |fingerprint, _, id| {
            let id = id.map(|id| id.to_string());
            Ok(earlier.number(fingerprint, id.as_deref()))
        })
    }

    fn for_each(
        &self,
        each: &mut dyn FnMut(ClusterRow) -> anyhow::Result<()>,
    ) -> anyhow::Result<()> {
        self.0.for_each(|cluster| {
            let members = cluster.members.iter().map(|member| self.member(member));
            each(ClusterRow {
                cluster: cluster.number,
                size: cluster.size,
                diameter: cluster.diameter,
                diameter_is_exact: cluster.diameter_is_exact,
                representative: cluster.members[0].fingerprint.into(),
                members: members.collect::<Result<_, _>>()?,
            })
        })
    }

    /// Documents are visited in the order of the files.
    fn for_each_document(&self, rule: KeepRule, each: &mut EachFate<'_>) -> anyhow::Result<()> {
        self.0.for_each_document(rule, |fate, number| {
            let fingerprint = self.0.fingerprint(number).unwrap_or_default();
            each(fate, fingerprint, self.id(number)?.as_deref())
        })
    }
}
