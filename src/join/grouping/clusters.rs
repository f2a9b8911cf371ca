//! Finds the clusters of near-duplicates in a store.
//!
//! A join finds the near pairs of a store, disjoint sets unite them into connected components, and
//! a [`ClusterMethod`] divides each component. The cost is the cost of the join, plus 24 bytes of
//! memory for each fingerprint.
//!
//! Example for k = 1: 0b000, 0b001 and 0b011 are one component. With `components` it is one
//! cluster. With `leader` only 0b000 and 0b001 form a cluster, because 0b011 has distance 2 from
//! the leader 0b000.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::cluster_method::ClusterMethod;
use super::disjoint_sets::{DisjointSets, PositionIndex, for_each_batch};
use super::graph::NearGraph;
use super::judged::{self, Judged, JudgedDocuments};
use super::leaders::{AcceptAll, lead};
use super::reading::{JoinMemory, ReadValues, read};
use super::{Cluster, ClusterMember, by_degree, cluster_of, number_of};
use crate::base::error::{Error, Result};
use crate::base::in_order::in_order;
use crate::base::judged::JudgedPairs;
use crate::join::engine::one_join::Join;
use crate::join::engine::values::JoinValues;
use crate::join::options::JoinOptions;
use crate::search::Searcher;
use crate::store::Store;
use fpstore_base::Fingerprint;
use fpstore_base::watch::{Phase, Watch};

/// The clusters of a store.
///
/// Contains connected components; [`Clusters::for_each`] divides them into clusters.
#[derive(Debug)]
pub struct Clusters {
    pub(in crate::join) store: Store,
    k: u32,
    method: ClusterMethod,
    pub(in crate::join) values: Arc<Vec<u64>>,
    /// For each member, the name of its component and its position in `values`.
    members: Vec<(u32, u32)>,
    judged: Option<Judged>,
    /// The number of each cluster, in the order of [`Clusters::for_each`]; `None` for 1, 2, 3 ...
    pub(in crate::join) numbers: Option<Vec<u64>>,
    threads: usize,
    watch: Watch,
}

/// Finds the clusters of two or more documents in a store. `method` defines how documents within
/// the distance of the options form clusters.
///
/// Documents with the same fingerprint cost no more than one document. Takes 24 bytes of memory for
/// each fingerprint, and in addition the memory of a join while pairs are found.
///
/// # Errors
///
/// * The errors of [`near_pairs`](crate::join::near_pairs).
/// * [`Error::InvalidOptions`] if the memory is too small, or if the options have a share.
/// * [`Error::TooLarge`] if there are more than 2^32 - 2 fingerprints.
///
/// # Examples
///
/// ```
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let folder = tempfile::tempdir()?;
/// # let mut builder = fpstore::Builder::new(folder.path().join("news.fps"))?;
/// for (fingerprint, id) in [(0b0, "a"), (0b111, "b"), (0b11111, "c"), (u64::MAX, "d")] {
///     builder.push(fingerprint.into(), id)?;
/// }
/// let store = builder.finish()?;
///
/// use fpstore::join::{ClusterMethod, JoinOptions, clusters};
/// let found = clusters(&store, &JoinOptions::new(3), ClusterMethod::Star)?;
/// found.for_each(|cluster| {
///     assert_eq!(cluster.representative().ids[0].to_string(), "b");
///     assert_eq!((cluster.size, cluster.diameter), (3, 5));
///     Ok::<(), fpstore::Error>(())
/// })?;
/// # Ok(()) }
/// ```
pub fn clusters(store: &Store, options: &JoinOptions, method: ClusterMethod) -> Result<Clusters> {
    check(options)?;
    let store = &store.pinned();
    let memory = JoinMemory::of(store, options)?;
    let values = read(store, options, false)?;
    Clusters::among(store, options, method, memory, values, None)
}

/// Like [`clusters`](crate::join::clusters()) with [`ClusterMethod::Components`], but obeys pairs
/// that people judged as duplicates or as different. `own_id` extracts the id used in judged pairs
/// from an id of the store, which may contain more than that; it returns an empty text if there is
/// no such id.
///
/// Two documents judged as duplicates are in the same cluster, whatever their distance. Two
/// documents judged different are never in the same cluster: a component that contains both is
/// divided again. Its documents start in clusters of their own, and the clusters of documents
/// judged as duplicates are merged. Then the near pairs of the component are processed in the order
/// of their distance, then of their smaller document, then of their larger document, where
/// documents are ordered by fingerprint, then by id as text. A pair merges the clusters of its two
/// documents, unless the merged cluster would contain two documents judged different. This is
/// single linkage with "cannot link" constraints; all other components stay unchanged.
///
/// A judged pair is skipped if one of its ids is not in the store. A component that is divided
/// again takes the time of a join of its members for each distance from 1 to `k`.
///
/// # Errors
///
/// The errors of [`clusters`](crate::join::clusters()), and [`Error::InvalidOptions`] if several
/// records have the same id and it is in a judged pair.
///
/// # Examples
///
/// ```
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let folder = tempfile::tempdir()?;
/// # let mut builder = fpstore::Builder::new(folder.path().join("news.fps"))?;
/// for (fingerprint, id) in [(0b0, "a"), (0b1, "b"), (0b111, "c"), (u64::MAX, "d")] {
///     builder.push(fingerprint.into(), id)?;
/// }
/// let store = builder.finish()?;
///
/// use fpstore::join::{JoinOptions, JudgedPairs, LabelFile, judged_clusters};
/// let pairs = JudgedPairs::new(&LabelFile::parse("a\tc\t0\nc\td\t1\n")?)?;
/// let (found, obeyed) = judged_clusters(&store, &JoinOptions::new(3), &pairs, |id| id)?;
/// let mut sizes = Vec::new();
/// found.for_each(|cluster| {
///     sizes.push(cluster.size);
///     Ok::<(), fpstore::Error>(())
/// })?;
/// assert_eq!(sizes, [2, 2]);
/// assert_eq!((obeyed.duplicate_count, obeyed.different_count), (1, 1));
/// # Ok(()) }
/// ```
pub fn judged_clusters(
    store: &Store,
    options: &JoinOptions,
    pairs: &JudgedPairs,
    own_id: fn(&str) -> &str,
) -> Result<(Clusters, JudgedDocuments)> {
    check(options)?;
    let store = &store.pinned();
    let memory = JoinMemory::of(store, options)?;
    let (values, judged, obeyed) = judged::read(store, options, pairs, own_id)?;
    let method = ClusterMethod::Components;
    let found = Clusters::among(store, options, method, memory, values, Some(judged))?;
    Ok((found, obeyed))
}

/// Returns an error for invalid options, and for a share: clusters need all pairs.
fn check(options: &JoinOptions) -> Result<()> {
    options.check()?;
    if options.share.count > 1 {
        let reason = "clusters need all pairs, not one share of them".into();
        return Err(Error::InvalidOptions { reason });
    }
    Ok(())
}

impl Clusters {
    /// The clusters of the fingerprints in `values`, which are some or all fingerprints of a store.
    fn among(
        store: &Store,
        options: &JoinOptions,
        method: ClusterMethod,
        memory: JoinMemory,
        values: ReadValues,
        mut judged: Option<Judged>,
    ) -> Result<Clusters> {
        let ReadValues { values, copied, .. } = values;
        let threads = memory.0.threads;
        let positions = PositionIndex::new(&values);
        let mut components = DisjointSets::new(values.len() as u32);
        let side = JoinValues::owned(Arc::clone(&values));
        Join::new(vec![side], options, memory.0).run(&mut |found| {
            for (one, other) in found.drain(..) {
                components.union(positions.of(&values, one), positions.of(&values, other));
            }
            Ok(())
        })?;
        drop(positions);
        if let Some(judged) = &mut judged {
            judged.join(&mut components);
        }
        let members = components.members(&copied);
        let watch = options.watch(Phase::Cluster, Some(members.len() as u64));
        let (store, k, numbers) = (store.clone(), options.k, None);
        Ok(Clusters { store, k, method, values, members, judged, numbers, threads, watch })
    }

    /// Calls `each` with each cluster, sorted by the smallest fingerprint of its component. Can be
    /// called any number of times. Other threads look up and divide the next components meanwhile,
    /// so the members of a few components are in memory at a time.
    ///
    /// # Errors
    ///
    /// [`Error::Corrupt`] if the store is damaged, [`Error::Interrupted`] if the observer ends the
    /// work, and any error that `each` returns.
    pub fn for_each<E: From<Error>>(
        &self,
        mut each: impl FnMut(&Cluster) -> Result<(), E>,
    ) -> Result<(), E> {
        let watch = self.watch.next(Phase::Cluster, Some(self.members.len() as u64));
        let has_ids = self.store.info().id_count() > 0;
        let worker = || {
            let (mut searcher, watch) = (has_ids.then(|| self.store.searcher()), &watch);
            move |components: &[(u32, u32)]| {
                let mut found = Vec::new();
                for component in components.chunk_by(|a, b| a.0 == b.0) {
                    let members = self.load(component, searcher.as_mut(), watch)?;
                    found.extend(self.divide(component, members, watch)?);
                }
                Ok(found)
            }
        };
        let mut count = 0;
        in_order(
            self.threads,
            worker,
            |give| for_each_batch(&self.members, give),
            |found: Vec<Cluster>| {
                found.into_iter().try_for_each(|mut cluster| {
                    count += 1;
                    cluster.number = number_of(count, self.numbers.as_deref());
                    each(&cluster)
                })
            },
        )
    }

    /// The members of a component, with their ids if there is a searcher.
    fn load(
        &self,
        component: &[(u32, u32)],
        mut searcher: Option<&mut Searcher>,
        watch: &Watch,
    ) -> Result<Vec<ClusterMember>> {
        let mut members = Vec::with_capacity(component.len());
        for &(_, at) in component {
            watch.look()?;
            let fingerprint = Fingerprint::new(self.values[at as usize]);
            let mut ids = Vec::new();
            if let Some(searcher) = &mut searcher {
                for hit in searcher.search(fingerprint, 0)?.hits() {
                    for id in hit.ids() {
                        ids.push(id?.to_id());
                    }
                }
            }
            members.push(ClusterMember { fingerprint, distance: 0, ids, places: Vec::new() });
        }
        Ok(members)
    }

    /// Divides a component, whose members ascend by fingerprint, into clusters; obeys judged pairs.
    fn divide(
        &self,
        component: &[(u32, u32)],
        members: Vec<ClusterMember>,
        watch: &Watch,
    ) -> Result<Vec<Cluster>> {
        let name = component.first().map_or(0, |member| member.0);
        let Some(judged) = self.judged.as_ref().filter(|judged| judged.contested.contains(&name))
        else {
            return self.clusters_of(members, watch);
        };
        let parts = judged.divide(component, &members, watch)?;
        drop(members);
        let clusters: Result<Vec<_>> =
            parts.into_iter().map(|members| self.clusters_of(members, watch)).collect();
        Ok(clusters?.into_iter().flatten().collect())
    }

    /// The clusters that the method forms of these members, which ascend by fingerprint.
    fn clusters_of(&self, members: Vec<ClusterMember>, watch: &Watch) -> Result<Vec<Cluster>> {
        let groups = if self.method == ClusterMethod::Leader {
            self.by_leaders(&members, watch)?
        } else {
            watch.tick(members.len() as u64)?;
            by_degrees(&members, self.k, self.method, watch)?
        };
        let mut members: Vec<Option<ClusterMember>> = members.into_iter().map(Some).collect();
        let mut take =
            |at: u32| members[at as usize].take().expect("each member is in one cluster");
        let clusters =
            groups.iter().map(|group| cluster_of(group.iter().map(|&at| take(at)).collect()));
        Ok(clusters.filter(|cluster| cluster.size > 1).collect())
    }

    /// A group for each leader: the positions of the leader and of the members that it leads.
    fn by_leaders(&self, members: &[ClusterMember], watch: &Watch) -> Result<Vec<Vec<u32>>> {
        let order = by_degree(members, |_| 0);
        let values: Vec<u64> =
            order.iter().map(|&at| members[at as usize].fingerprint.value()).collect();
        let mut groups: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
        let led = lead(&values, self.k, &mut [AcceptAll], watch)?;
        for (&at, (leader, ())) in order.iter().zip(led) {
            groups.entry(leader).or_default().push(at);
        }
        Ok(groups.into_values().collect())
    }
}

/// The positions of the members of each cluster of a component; the representative comes first.
fn by_degrees(
    members: &[ClusterMember],
    k: u32,
    method: ClusterMethod,
    watch: &Watch,
) -> Result<Vec<Vec<u32>>> {
    let graph = NearGraph::new(members, k, watch)?;
    let order = by_degree(members, |at| graph.degrees[at as usize]);
    if method == ClusterMethod::Components {
        return Ok(vec![order]);
    }
    let mut taken = vec![false; members.len()];
    let mut groups: Vec<Vec<u32>> = Vec::new();
    for center in order {
        if std::mem::replace(&mut taken[center as usize], true) {
            continue;
        }
        watch.look()?;
        let mut group = vec![center];
        graph.for_each_neighbour(center, |near| {
            if !std::mem::replace(&mut taken[near as usize], true) {
                group.push(near);
            }
        });
        groups.push(group);
    }
    Ok(groups)
}
