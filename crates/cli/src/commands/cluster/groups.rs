//! Two kinds of clusters, of fingerprints and of documents with confirmed similarity, with a common
//! trait for printing.

use fpstore::join::confirm::{ConfirmedClusters, ConfirmedMember};
use fpstore::join::{Cluster, ClusterMember, Clusters, EarlierClusters, Fate, KeepRule};
use fpstore::rows::{ClusterMemberRow, ClusterRow};
use fpstore::{Error, Fingerprint, Id, IdRef, Width};

use crate::run::join_input::Ids;

/// Callback for each document: whether it is kept, its fingerprint, its id.
pub(crate) type EachFate<'a> =
    dyn FnMut(Fate, Fingerprint, Option<&str>) -> anyhow::Result<()> + 'a;

/// Clusters that can be printed.
pub(crate) trait Groups {
    /// The width of the fingerprints, in bits.
    fn width(&self) -> Width;

    /// Renumbers the clusters: a cluster that was in an earlier output keeps its number.
    fn keep_numbers(&mut self, earlier: &EarlierClusters) -> anyhow::Result<()>;

    fn for_each(
        &self,
        each: &mut dyn FnMut(ClusterRow) -> anyhow::Result<()>,
    ) -> anyhow::Result<()>;

    /// Calls `each` for all documents, including documents in no cluster.
    fn for_each_document(&self, rule: KeepRule, each: &mut EachFate<'_>) -> anyhow::Result<()>;
}

/// Clusters of the fingerprints in a store.
pub(crate) struct StoreGroups {
    pub(crate) found: Clusters,
    pub(crate) ids: Ids,
    pub(crate) width: Width,
}

/// The id of a document in the input, without the position that `ids` may put before it.
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

/// Clusters of documents whose similarity was confirmed by their features.
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

    /// Calls `each` for the documents in the order of the files.
    fn for_each_document(&self, rule: KeepRule, each: &mut EachFate<'_>) -> anyhow::Result<()> {
        self.0.for_each_document(rule, |fate, number| {
            let fingerprint = self.0.fingerprint(number).unwrap_or_default();
            each(fate, fingerprint, self.id(number)?.as_deref())
        })
    }
}
