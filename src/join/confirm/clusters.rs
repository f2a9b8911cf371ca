//! Clusters of documents with similar features.

use std::cmp::Reverse;
use std::collections::HashMap;

use super::compared::Compared;
use super::features::FeatureFile;
use super::ids::DocumentIds;
use super::nodes::Nodes;
use crate::base::error::{Error, Result};
use crate::base::side_by_side::side_by_side;
use crate::join::grouping::cluster_method::ClusterMethod;
use crate::join::grouping::disjoint_sets::DisjointSets;
use crate::join::grouping::keep::{Fate, KeepRule};
use crate::join::grouping::numbering::Shared;
use crate::join::grouping::{diameter, number_of};
use crate::join::options::JoinOptions;
use fpstore_base::watch::{Phase, Watch};
use fpstore_base::{Fingerprint, Id};

/// Maximum number of members of a cluster whose similarities a single thread computes.
const MEMBERS_PER_THREAD: usize = if cfg!(test) { 2 } else { 64 };

/// A member of a cluster: one or more documents with equal features and equal fingerprints.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ConfirmedMember {
    /// The fingerprint of these documents.
    pub fingerprint: Fingerprint,
    /// The distance between this fingerprint and the one of the representative, in bits.
    pub distance: u32,
    /// The Jaccard similarity of these documents and the representative.
    pub similarity: f64,
    /// The numbers of these documents, ascending.
    pub documents: Vec<u32>,
}

/// Two or more documents that are near-duplicates.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ConfirmedCluster {
    /// The number of the cluster. Clusters are numbered 1, 2, 3 ... in the order of the smallest
    /// fingerprint of their component; with [`ClusterMethod::Leader`], in the order of their
    /// leaders. [`ConfirmedClusters::keep_numbers`] changes the numbers.
    pub number: u64,
    /// The number of documents in the cluster.
    pub size: u64,
    /// The largest distance between two fingerprints of the cluster, or a lower bound of it.
    pub diameter: u32,
    /// Whether `diameter` is exact; it is always exact for up to 4096 members.
    pub diameter_is_exact: bool,
    /// The members: first the representative, then all others by descending similarity, ties by
    /// their first document. The representative is the member that is similar to the most
    /// documents, of ties the one with the smallest document number; with [`ClusterMethod::Leader`]
    /// it is the leader.
    pub members: Vec<ConfirmedMember>,
}

/// A pair of nodes: the representative of a cluster, and a member of the cluster.
type Member = (u32, u32);

impl Compared {
    /// The clusters of two or more documents. `method` defines how similar documents form clusters.
    /// For [`ClusterMethod::Leader`], the order of documents is the order of their numbers.
    ///
    /// With [`ClusterMethod::Leader`], many documents of a common template cost no more than the
    /// same number of unrelated documents. The other methods find all similar pairs, because they
    /// need the number of documents that each document is similar to.
    pub(super) fn clusters(self, method: ClusterMethod) -> Result<ConfirmedClusters> {
        let (members, compared_count) = self.members(method)?;
        let Compared { nodes, sets, options, ids, .. } = self;
        let watch = options.watch(Phase::Cluster, Some(members.len() as u64));
        Ok(ConfirmedClusters {
            nodes,
            sets,
            options,
            ids,
            compared_count,
            members,
            numbers: None,
            watch,
        })
    }

    /// The members of all clusters, cluster by cluster, the representative first in each; and the
    /// number of compared pairs.
    fn members(&self, method: ClusterMethod) -> Result<(Vec<Member>, u64)> {
        let nodes = &self.nodes;
        let first = |node: u32| nodes.documents(node)[0];
        let mut order: Vec<u32> = (0..nodes.len() as u32).collect();
        let mut compared_count = 0;
        // The component of each node; 0 for all nodes if clusters do not depend on components.
        let mut component_of = vec![0; nodes.len()];
        if method == ClusterMethod::Leader {
            order.sort_unstable_by_key(|&node| first(node));
        } else {
            // The number of documents similar to each node, including its own documents.
            let weight = |node: u32| nodes.documents(node).len() as u64;
            let mut degrees: Vec<u64> = order.iter().map(|&node| weight(node)).collect();
            let mut components = DisjointSets::new(nodes.len() as u32);
            compared_count += self.each_similar(&self.options, |one, other, _| {
                degrees[one as usize] += weight(other);
                degrees[other as usize] += weight(one);
                components.union(one, other);
                Ok(())
            })?;
            order.iter().for_each(|&node| component_of[node as usize] = components.find(node));
            order.sort_unstable_by_key(|&node| (Reverse(degrees[node as usize]), first(node)));
        }
        // For each position in `order`: the position of the representative of that node.
        let mut center_of: Vec<u32> = (0..order.len() as u32).collect();
        if method == ClusterMethod::Components {
            let mut centers: HashMap<u32, u32> = HashMap::new();
            for (at, &node) in (0..).zip(&order) {
                center_of[at as usize] = *centers.entry(component_of[node as usize]).or_insert(at);
            }
        } else {
            // In this order, each node that is in no star yet becomes the centre of a star (a
            // leader), and all similar nodes that are in no star yet join the star.
            let (led, count) = self.lead(&order)?;
            compared_count += count;
            led.iter().for_each(|led| center_of[led.set as usize] = led.leader);
        }
        let mut members: Vec<(u32, u32, u32)> = (0..)
            .zip(&order)
            .map(|(at, &node)| (component_of[node as usize], center_of[at as usize], at))
            .collect();
        members.sort_unstable();
        let clusters = members.chunk_by(|a, b| a.1 == b.1);
        let node_at = |at: u32| order[at as usize];
        let clusters = clusters
            .filter(|all| all.len() > 1 || nodes.documents(node_at(all[0].2)).len() > 1)
            .flat_map(|all| all.iter().map(|&(_, center, at)| (node_at(center), node_at(at))));
        Ok((clusters.collect(), compared_count))
    }
}

/// The clusters found by a [`Confirmer`](super::Confirmer).
#[derive(Debug)]
pub struct ConfirmedClusters {
    nodes: Nodes,
    sets: FeatureFile,
    options: JoinOptions,
    ids: DocumentIds,
    compared_count: u64,
    /// The members cluster by cluster, the representative first in each.
    members: Vec<Member>,
    numbers: Option<Vec<u64>>,
    watch: Watch,
}

impl ConfirmedClusters {
    /// The number of pairs of documents with different features that were compared.
    pub fn compared_count(&self) -> u64 {
        self.compared_count
    }

    /// The number of documents, in clusters or not.
    pub(super) fn document_count(&self) -> usize {
        self.nodes.document_count()
    }

    /// The id of a document, by its number; `None` if the document has no id.
    ///
    /// # Errors
    ///
    /// [`Error::Io`] if temporary files cannot be read.
    pub fn id(&self, document: u32) -> Result<Option<Id>> {
        self.ids.get(document)
    }

    /// The fingerprint of a document, by its number.
    pub fn fingerprint(&self, document: u32) -> Option<Fingerprint> {
        self.nodes.of(document).map(|node| self.nodes.fingerprint(node))
    }

    /// Calls `each` with each cluster, in the order of the original numbers, even after
    /// [`ConfirmedClusters::keep_numbers`] changed them. Can be called any number of times. Holds
    /// the members of one cluster in memory at a time.
    ///
    /// # Errors
    ///
    /// [`Error::Io`] if temporary files cannot be read, [`Error::Interrupted`] if the observer ends
    /// the work, and any error that `each` returns.
    pub fn for_each<E: From<Error>>(
        &self,
        mut each: impl FnMut(&ConfirmedCluster) -> Result<(), E>,
    ) -> Result<(), E> {
        let watch = self.watch.next(Phase::Cluster, Some(self.members.len() as u64));
        for (group, count) in self.members.chunk_by(|a, b| a.0 == b.0).zip(1..) {
            watch.tick(group.len() as u64).map_err(Error::from)?;
            let mut cluster = self.cluster_of(group, &watch)?;
            cluster.number = number_of(count, self.numbers.as_deref());
            each(&cluster)?;
        }
        Ok(())
    }

    /// Calls `each` with each document, in the order of their numbers, and whether `rule` keeps it.
    ///
    /// # Errors
    ///
    /// The same as [`ConfirmedClusters::for_each`].
    pub fn for_each_document<E: From<Error>>(
        &self,
        rule: KeepRule,
        mut each: impl FnMut(Fate, u32) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut is_kept = vec![rule != KeepRule::LargestCluster; self.document_count()];
        let mut largest = 0;
        self.for_each(|cluster| {
            let documents = cluster.members.iter().flat_map(|member| &member.documents);
            if rule != KeepRule::LargestCluster {
                let kept = self.kept_one(cluster, rule)?;
                documents.for_each(|&number| is_kept[number as usize] = Some(number) == kept);
            } else if cluster.size > largest {
                largest = cluster.size;
                is_kept.fill(false);
                documents.for_each(|&number| is_kept[number as usize] = true);
            }
            Ok::<(), Error>(())
        })?;
        let fate = |is_kept| if is_kept { Fate::Keep } else { Fate::Drop };
        (0..).zip(is_kept).try_for_each(|(number, is_kept)| each(fate(is_kept), number))
    }

    /// The document of a cluster that `rule` keeps; `None` if it keeps or drops all of them.
    fn kept_one(&self, cluster: &ConfirmedCluster, rule: KeepRule) -> Result<Option<u32>> {
        let named = |&number: &u32| {
            let id = if rule.compares_ids() { self.id(number)? } else { None };
            Ok((number, id))
        };
        let documents = cluster.members.iter().flat_map(|member| &member.documents);
        let documents = documents.map(named).collect::<Result<Vec<(u32, Option<Id>)>>>()?;
        let own_count = cluster.members[0].documents.len();
        let kept = rule.choose(
            &documents,
            own_count,
            |(number, _)| *number,
            |&(number, id)| (id.is_none(), id, *number),
        );
        Ok(kept.map(|(number, _)| *number))
    }

    /// Gives the clusters the numbers that they had in an earlier run. `earlier` returns the number
    /// of the earlier cluster of a document, given its fingerprint, number and id; `last` is the
    /// last number of the earlier run. The rules are the same as in
    /// [`Clusters::keep_numbers`](crate::join::Clusters::keep_numbers).
    ///
    /// # Errors
    ///
    /// The same as [`ConfirmedClusters::for_each`].
    pub fn keep_numbers<E: From<Error>>(
        &mut self,
        last: u64,
        mut earlier: impl FnMut(Fingerprint, u32, Option<Id>) -> Result<Option<u64>, E>,
    ) -> Result<(), E> {
        let mut shared = Shared::default();
        let mut had: Vec<u64> = Vec::new();
        self.numbers = None;
        self.for_each(|cluster| {
            for member in &cluster.members {
                for &document in &member.documents {
                    let id = self.id(document).map_err(E::from)?;
                    had.extend(earlier(member.fingerprint, document, id)?);
                }
            }
            shared.take(&mut had);
            Ok::<(), E>(())
        })?;
        self.numbers = Some(shared.numbers(last));
        Ok(())
    }

    /// The cluster with these members, the representative first; its number is not set yet.
    fn cluster_of(&self, group: &[Member], watch: &Watch) -> Result<ConfirmedCluster> {
        let ConfirmedClusters { nodes, sets, options, .. } = self;
        let (center, pairs) = (group[0].0, &group[1..]);
        let similarities = if pairs.len() <= MEMBERS_PER_THREAD {
            vec![sets.compare(pairs, watch)?]
        } else {
            let threads = options.budget()?.threads.max(1);
            let parts: Vec<&[Member]> = pairs.chunks(pairs.len().div_ceil(threads)).collect();
            side_by_side(&parts, |part| sets.compare(part, watch))?
        };
        let fingerprint = nodes.fingerprint(center);
        let member = |node: u32, similarity: f64| ConfirmedMember {
            fingerprint: nodes.fingerprint(node),
            distance: nodes.fingerprint(node).distance(fingerprint),
            similarity,
            documents: nodes.documents(node).to_vec(),
        };
        let mut members = vec![member(center, 1.0)];
        let others = pairs.iter().zip(similarities.into_iter().flatten());
        members.extend(others.map(|(&(_, node), similarity)| member(node, similarity)));
        members[1..].sort_by(|a, b| {
            let order = b.similarity.total_cmp(&a.similarity);
            order.then(a.documents[0].cmp(&b.documents[0]))
        });
        let values: Vec<u64> = members.iter().map(|member| member.fingerprint.value()).collect();
        let (diameter, diameter_is_exact) = diameter(&values);
        let size = members.iter().map(|member| member.documents.len() as u64).sum();
        Ok(ConfirmedCluster { number: 0, size, diameter, diameter_is_exact, members })
    }
}
