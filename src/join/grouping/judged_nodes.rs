//! The documents of a contested component (which contains documents judged different), grouped into
//! nodes: documents that need not be distinguished form one node.

use std::ops::Range;

use super::ClusterMember;

/// A document of a store: the position of its fingerprint, and the position of its id among the ids
/// of that fingerprint.
pub(super) type DocumentPlace = (u32, u32);

/// A judged document, or all documents of one fingerprint that are not judged. The documents that
/// are not judged are always in the same cluster, because they have distance 0 and no constraint
/// keeps them apart.
#[derive(Debug)]
pub(super) struct Node {
    /// The position of the fingerprint of the node among the members of the component.
    pub(super) member: u32,
    /// The positions of the ids of the node among the ids of the fingerprint; empty if the
    /// fingerprint has no ids.
    pub(super) places: Vec<u32>,
}

/// The nodes of a component, sorted by fingerprint, then by the smallest id as text. Of the nodes
/// of a fingerprint, nodes without an id come last.
#[derive(Debug)]
pub(super) struct JudgedNodes {
    pub(super) list: Vec<Node>,
    /// For each member, the end of its nodes in `list`.
    ends: Vec<u32>,
    /// For each judged document in the component: its number and its node. Ascending.
    judged: Vec<(u32, u32)>,
}

impl JudgedNodes {
    /// `documents` are the judged documents of the store, ascending; `component` contains the
    /// position of each member in the store.
    pub(super) fn new(
        documents: &[DocumentPlace],
        own_id: fn(&str) -> &str,
        component: &[(u32, u32)],
        members: &[ClusterMember],
    ) -> Self {
        let mut nodes = JudgedNodes { list: Vec::new(), ends: Vec::new(), judged: Vec::new() };
        for ((number, member), &(_, position)) in (0..).zip(members).zip(component) {
            let first = documents.partition_point(|document| document.0 < position);
            let own = documents[first..].iter().take_while(|place| place.0 == position);
            let own: Vec<&DocumentPlace> = own.collect();
            nodes.add(own_id, number, member, first as u32, &own);
        }
        nodes.judged.sort_unstable();
        nodes
    }

    /// Adds the nodes of a member. `own` are its judged documents, numbered from `first` on.
    fn add(
        &mut self,
        own_id: fn(&str) -> &str,
        number: u32,
        member: &ClusterMember,
        first: u32,
        own: &[&DocumentPlace],
    ) {
        let places = 0..member.ids.len() as u32;
        if own.is_empty() {
            self.list.push(Node { member: number, places: places.collect() });
            self.ends.push(self.list.len() as u32);
            return;
        }
        let text = |&place: &u32| {
            let id = member.ids[place as usize].to_string();
            let own = own_id(&id);
            (own.is_empty(), String::from(own))
        };
        let is_judged = |place: &u32| own.iter().any(|judged| judged.1 == *place);
        let rest: Vec<u32> = places.filter(|place| !is_judged(place)).collect();
        let mut nodes: Vec<(Option<u32>, Vec<u32>)> =
            (first..).zip(own).map(|(document, place)| (Some(document), vec![place.1])).collect();
        if !rest.is_empty() {
            nodes.push((None, rest));
        }
        nodes.sort_by_cached_key(|(_, places)| places.iter().map(text).min());
        for (document, places) in nodes {
            self.judged.extend(document.map(|document| (document, self.list.len() as u32)));
            self.list.push(Node { member: number, places });
        }
        self.ends.push(self.list.len() as u32);
    }

    /// The range of the nodes of a member.
    pub(super) fn of_member(&self, member: usize) -> Range<u32> {
        let start = member.checked_sub(1).map_or(0, |before| self.ends[before]);
        start..self.ends[member]
    }

    /// The node of a judged document; `None` if the document is not in the component.
    pub(super) fn of(&self, document: u32) -> Option<u32> {
        let at = self.judged.binary_search_by_key(&document, |entry| entry.0).ok()?;
        Some(self.judged[at].1)
    }
}
