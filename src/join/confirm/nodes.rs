//! Nodes: groups of documents with equal fingerprints and equal features.
//!
//! The documents of a node are compared once, as one document. Documents are grouped by sorting;
//! each document takes [`DOCUMENT_LEN`] bytes of memory.

use crate::base::error::{Error, Result};
use fpstore_base::Fingerprint;
use fpstore_base::watch::Watch;

/// Documents with the same fingerprint and the same features.
#[derive(Clone, Copy, Debug)]
struct Node {
    fingerprint: u64,
    /// The documents of the node are `order[start..start + count]`.
    start: u32,
    count: u32,
}

/// All documents, grouped into nodes. Nodes ascend by fingerprint, then by their first document.
#[derive(Debug)]
pub(super) struct Nodes {
    nodes: Vec<Node>,
    /// The numbers of the documents of the first node, of the second, and so on; ascending within a
    /// node.
    order: Vec<u32>,
    /// The distinct fingerprints, ascending.
    fingerprints: Vec<Fingerprint>,
    /// The first node of each distinct fingerprint, followed by the number of nodes.
    firsts: Vec<u32>,
    /// The node of each document.
    of_document: Vec<u32>,
}

/// Bytes of memory for each document.
pub(super) const DOCUMENT_LEN: u64 = 16 + 4 + 4 + 16 + 8 + 4 + 4;

impl Nodes {
    /// Groups documents, each given as its fingerprint and the digest of its features. The watch
    /// can interrupt the work.
    pub(super) fn new(documents: &[(u64, u64)], watch: &Watch) -> Result<Self> {
        let count = u32::try_from(documents.len()).ok().filter(|&count| count < u32::MAX);
        let Some(count) = count else {
            let reason =
                format!("{} documents, but at most 2^32 - 2 can be compared", documents.len());
            return Err(Error::TooLarge { reason });
        };
        let order = sorted(documents, count, watch)?;
        let mut nodes: Vec<Node> = Vec::new();
        let mut start = 0;
        for same in order.chunk_by(|&a, &b| documents[a as usize] == documents[b as usize]) {
            let (fingerprint, count) = (documents[same[0] as usize].0, same.len() as u32);
            nodes.push(Node { fingerprint, start, count });
            start += count;
        }
        for same in nodes.chunk_by_mut(|a, b| a.fingerprint == b.fingerprint) {
            same.sort_unstable_by_key(|node| order[node.start as usize]);
        }
        let mut sorted = Nodes {
            order: Vec::with_capacity(order.len()),
            of_document: vec![0; order.len()],
            fingerprints: Vec::new(),
            firsts: Vec::new(),
            nodes,
        };
        for (number, node) in (0..).zip(&mut sorted.nodes) {
            let own = &order[node.start as usize..][..node.count as usize];
            own.iter().for_each(|&document| sorted.of_document[document as usize] = number);
            node.start = sorted.order.len() as u32;
            sorted.order.extend_from_slice(own);
            if sorted.fingerprints.last().is_none_or(|last| last.value() != node.fingerprint) {
                sorted.fingerprints.push(Fingerprint::new(node.fingerprint));
                sorted.firsts.push(number);
            }
        }
        sorted.firsts.push(sorted.nodes.len() as u32);
        Ok(sorted)
    }

    pub(super) fn len(&self) -> usize {
        self.nodes.len()
    }

    pub(super) fn document_count(&self) -> usize {
        self.order.len()
    }

    /// The distinct fingerprints, ascending.
    pub(super) fn fingerprints(&self) -> &[Fingerprint] {
        &self.fingerprints
    }

    /// The nodes with this fingerprint.
    pub(super) fn with(&self, fingerprint: Fingerprint) -> std::ops::Range<u32> {
        match self.fingerprints.binary_search(&fingerprint) {
            Ok(at) => self.firsts[at]..self.firsts[at + 1],
            Err(_) => 0..0,
        }
    }

    /// For each distinct fingerprint, ascending: the range of its nodes.
    pub(super) fn each_group(&self) -> impl Iterator<Item = std::ops::Range<u32>> {
        self.firsts.windows(2).map(|pair| pair[0]..pair[1])
    }

    pub(super) fn fingerprint(&self, node: u32) -> Fingerprint {
        Fingerprint::new(self.nodes[node as usize].fingerprint)
    }

    /// The numbers of the documents of a node, ascending.
    pub(super) fn documents(&self, node: u32) -> &[u32] {
        let Node { start, count, .. } = self.nodes[node as usize];
        &self.order[start as usize..][..count as usize]
    }

    /// The node of a document.
    pub(super) fn of(&self, document: u32) -> Option<u32> {
        self.of_document.get(document as usize).copied()
    }
}

/// Approximate number of documents sorted between two checks of the watch.
const PART_COUNT: usize = if cfg!(test) { 4 } else { 1 << 16 };

/// The numbers of the documents, sorted by fingerprint, digest and number. They are first divided
/// into parts by the leading bits of the fingerprint; between two parts the work can be stopped.
fn sorted(documents: &[(u64, u64)], count: u32, watch: &Watch) -> Result<Vec<u32>> {
    let bits = (documents.len() / PART_COUNT).max(1).ilog2().clamp(1, 16);
    let part_of = |number: u32| (documents[number as usize].0 >> (64 - bits)) as usize;
    let mut ends = vec![0_usize; 1 << bits];
    (0..count).for_each(|number| ends[part_of(number)] += 1);
    let mut next = 0;
    for end in &mut ends {
        next += std::mem::replace(end, next);
    }
    let mut order = vec![0; documents.len()];
    for number in 0..count {
        let end = &mut ends[part_of(number)];
        order[*end] = number;
        *end += 1;
    }
    let mut start = 0;
    for end in ends {
        watch.look()?;
        order[start..end].sort_unstable_by_key(|&number| (documents[number as usize], number));
        start = end;
    }
    Ok(order)
}

/// The number of pairs of `count` documents.
pub(super) fn pairs_within(count: u64) -> u64 {
    count * (count - 1) / 2
}
