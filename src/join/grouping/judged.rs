//! Judged pairs of documents, and their effect on the connected components of a store.
//!
//! [`read`] reads the store and finds the documents of the judged pairs. [`Judged::join`] merges
//! the components of documents judged as duplicates. A component that then contains two documents
//! judged different is *contested*; [`Judged::divide`] divides it again when its members are in
//! memory. [`Clusters`](super::clusters::Clusters) calls the three functions in this order.

use std::collections::{BTreeMap, HashSet};

use super::ClusterMember;
use super::constrained_sets::ConstrainedSets;
use super::disjoint_sets::DisjointSets;
use super::judged_nodes::{DocumentPlace, JudgedNodes, Node};
use super::reading::ReadValues;
use crate::base::error::{Error, Result};
use crate::base::judged::JudgedPairs;
use crate::join::engine::finder::{PairFinder, ValuePair};
use crate::join::engine::sides::SidesMut;
use crate::join::options::JoinOptions;
use crate::store::Store;
use crate::writing::sort::{RecordSorter, SortResources};
use fpstore_base::labels::Label;
use fpstore_base::watch::{Phase, Watch};

/// The pairs of a contested component get the memory divided by this number.
const PAIRS_DIVISOR: u64 = 4;

/// The numbers of judged pairs that had an effect on the clusters or were skipped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct JudgedDocuments {
    /// The number of pairs judged as duplicates; both documents are in the same cluster.
    pub duplicate_count: u64,
    /// The number of pairs judged different; the documents are in different clusters.
    pub different_count: u64,
    /// The number of skipped pairs: at least one of the two ids is not in the store.
    pub unknown_count: u64,
}

/// The judged pairs of documents of a store.
#[derive(Debug)]
pub(in crate::join) struct Judged {
    /// The judged documents, ascending.
    documents: Vec<DocumentPlace>,
    /// Pairs of documents, given by their positions in `documents`.
    duplicates: Vec<(u32, u32)>,
    different: Vec<(u32, u32)>,
    /// The names of the contested components: those with two documents judged different.
    pub(super) contested: HashSet<u32>,
    own_id: fn(&str) -> &str,
    k: u32,
    resources: SortResources,
}

/// Reads all fingerprints of a store, and finds the judged documents.
pub(super) fn read(
    store: &Store,
    options: &JoinOptions,
    pairs: &JudgedPairs,
    own_id: fn(&str) -> &str,
) -> Result<(ReadValues, Judged, JudgedDocuments)> {
    let (mut values, mut copied) = (Vec::new(), Vec::new());
    let mut places: Vec<Option<DocumentPlace>> = vec![None; pairs.id_count()];
    let watch = options.watch(Phase::Read, Some(store.info().fingerprint_count()));
    store.for_each(|hit| {
        let position = values.len() as u32;
        let mut count = 0;
        for id in hit.ids() {
            let id = id?.to_string();
            let own = own_id(&id);
            if let Some(number) = pairs.number(own).filter(|_| !own.is_empty())
                && places[number as usize].replace((position, count)).is_some()
            {
                let reason = format!(
                    "several records have the id '{own}', so judgements of it are ambiguous; leave \
                     out its pairs"
                );
                return Err(Error::InvalidOptions { reason });
            }
            count += 1;
        }
        if count > 1 {
            copied.push(position);
        }
        values.push(hit.fingerprint().value());
        Ok::<(), Error>(watch.tick(1)?)
    })?;
    let mut documents: Vec<DocumentPlace> = places.iter().flatten().copied().collect();
    documents.sort_unstable();
    let position = |number: u32| documents.binary_search(&places[number as usize]?).ok();
    let known = |label| -> Vec<(u32, u32)> {
        let pair =
            |&(one, other): &(u32, u32)| Some((position(one)? as u32, position(other)? as u32));
        pairs.pairs(label).iter().filter_map(pair).collect()
    };
    let (duplicates, different) = (known(Label::Duplicate), known(Label::Different));
    let all = pairs.duplicate_count() + pairs.different_count();
    let obeyed = JudgedDocuments {
        duplicate_count: duplicates.len() as u64,
        different_count: different.len() as u64,
        unknown_count: (all - duplicates.len() - different.len()) as u64,
    };
    let resources = options.sort_resources()?;
    let resources = SortResources { memory: resources.memory / PAIRS_DIVISOR, ..resources };
    let (contested, k) = (HashSet::new(), options.k);
    let judged = Judged { documents, duplicates, different, contested, own_id, k, resources };
    Ok((ReadValues { values: values.into(), copied, numbers: None }, judged, obeyed))
}

impl Judged {
    /// Merges the components of documents judged as duplicates, then records contested components.
    pub(super) fn join(&mut self, components: &mut DisjointSets) {
        let position = |at: u32| self.documents[at as usize].0;
        for &(one, other) in &self.duplicates {
            components.union(position(one), position(other));
        }
        for &(one, other) in &self.different {
            let name = components.find(position(one));
            if name == components.find(position(other)) {
                self.contested.insert(name);
            }
        }
    }

    /// Divides a contested component into clusters. Clusters are sorted by their first document,
    /// the members of each by fingerprint. `component` contains the position of each member.
    pub(super) fn divide(
        &self,
        component: &[(u32, u32)],
        members: &[ClusterMember],
        watch: &Watch,
    ) -> Result<Vec<Vec<ClusterMember>>> {
        let nodes = JudgedNodes::new(&self.documents, self.own_id, component, members);
        let both = |&(one, other): &(u32, u32)| Some((nodes.of(one)?, nodes.of(other)?));
        let apart = self.different.iter().filter_map(both);
        let mut sets = ConstrainedSets::new(nodes.list.len() as u32, apart);
        for (one, other) in self.duplicates.iter().filter_map(both) {
            sets.union(one, other);
        }
        for member in 0..members.len() {
            let own = nodes.of_member(member);
            for one in own.clone() {
                (one + 1..own.end).for_each(|other| sets.union(one, other));
            }
        }
        for distance in 1..=self.k {
            self.merge_at(distance, &nodes, members, &mut sets, watch)?;
        }
        let mut clusters: BTreeMap<u32, Vec<&Node>> = BTreeMap::new();
        for (at, node) in (0..).zip(&nodes.list) {
            clusters.entry(sets.find(at)).or_default().push(node);
        }
        let members_of = |own: &Vec<&Node>| {
            let parts = own.chunk_by(|a, b| a.member == b.member);
            parts.map(|nodes| part_of(&members[nodes[0].member as usize], nodes)).collect()
        };
        Ok(clusters.values().map(members_of).collect())
    }

    /// Merges the sets of documents whose fingerprints have this distance, in the order of pairs.
    fn merge_at(
        &self,
        distance: u32,
        nodes: &JudgedNodes,
        members: &[ClusterMember],
        sets: &mut ConstrainedSets,
        watch: &Watch,
    ) -> Result<()> {
        let mut values: Vec<u64> =
            members.iter().map(|member| member.fingerprint.value()).collect();
        let own = values.clone();
        let position = |value: u64| own.partition_point(|other| *other < value);
        let mut sorter = RecordSorter::new(self.resources.clone(), false);
        let mut take = |found: &mut Vec<ValuePair>| {
            watch.look()?;
            for (one, other) in found.drain(..) {
                if (one ^ other).count_ones() != distance {
                    continue;
                }
                let (one, other) = (position(one.min(other)), position(one.max(other)));
                for one in nodes.of_member(one) {
                    for other in nodes.of_member(other) {
                        // A pair whose union would have no effect need not be sorted.
                        if !sets.is_settled(one, other) {
                            sorter.push_bare(u64::from(one) << 32 | u64::from(other))?;
                        }
                    }
                }
            }
            Ok(())
        };
        PairFinder::new(distance).find(SidesMut::Within(&mut values), &mut take)?;
        sorter.finish()?.pass(|key, _| {
            sets.union((key >> 32) as u32, key as u32);
            Ok(())
        })
    }
}

/// The member with only those of its documents that are in these nodes.
fn part_of(member: &ClusterMember, nodes: &[&Node]) -> ClusterMember {
    let mut places: Vec<u32> = nodes.iter().flat_map(|node| &node.places).copied().collect();
    if places.len() == member.ids.len() {
        return member.clone();
    }
    places.sort_unstable();
    let ids = places.iter().map(|&place| member.ids[place as usize].clone()).collect();
    ClusterMember { fingerprint: member.fingerprint, distance: 0, ids, places }
}
