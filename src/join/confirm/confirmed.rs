//! The confirmed pairs of documents, sorted in a temporary file.

use super::ids::DocumentIds;
use super::nodes::{Nodes, pairs_within};
use crate::base::error::{Error, Result};
use crate::join::engine::callback::CallbackError;
use crate::join::options::JoinOptions;
use crate::writing::sort::{RecordSorter, SortResources, SortedRecords};
use fpstore_base::watch::Phase;
use fpstore_base::{Fingerprint, Id, IdRef};

/// The sorter of pairs gets the memory divided by this number, the join gets the rest.
const SORTER_DIVISOR: u64 = 4;

/// Two documents with similar features.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct ConfirmedPair {
    /// The number of the document with the smaller fingerprint; of equal fingerprints, the smaller
    /// number.
    pub first: u32,
    /// The number of the other document.
    pub second: u32,
    /// The fingerprints of both documents.
    pub fingerprints: [Fingerprint; 2],
    /// The Jaccard similarity of the features of both documents, 0 to 1; with sketches an estimate.
    pub similarity: f64,
}

impl ConfirmedPair {
    /// The distance of the fingerprints in bits.
    pub fn distance(&self) -> u32 {
        self.fingerprints[0].distance(self.fingerprints[1])
    }
}

/// Pairs of documents with similar features.
#[derive(Debug)]
pub struct Confirmed {
    nodes: Nodes,
    options: JoinOptions,
    /// Pairs of similar nodes, the smaller node first, with their similarity.
    edges: SortedRecords,
    /// The number of pairs of documents; `equal_count` of them have equal fingerprints.
    pair_count: u64,
    equal_count: u64,
    candidate_count: u64,
    /// The ids of the documents, if the caller gave any.
    ids: DocumentIds,
}

impl Confirmed {
    /// The number of pairs of documents; with `distinct`, only of pairs whose fingerprints differ.
    pub fn pair_count(&self, distinct: bool) -> u64 {
        if distinct { self.pair_count - self.equal_count } else { self.pair_count }
    }

    /// The number of pairs whose features were compared.
    pub fn candidate_count(&self) -> u64 {
        self.candidate_count
    }

    /// The id of a document, by its number; `None` if the document has no id.
    ///
    /// # Errors
    ///
    /// [`Error::Io`] if temporary files cannot be read.
    pub fn id(&self, document: u32) -> Result<Option<Id>> {
        self.ids.get(document)
    }

    /// Calls `each` with each pair; with `distinct`, only with pairs whose fingerprints differ.
    ///
    /// Pairs are sorted by first fingerprint. Pairs whose first documents have equal features
    /// follow one another, sorted by second fingerprint, then by the numbers of the documents.
    ///
    /// # Errors
    ///
    /// [`Error::Io`] if temporary files cannot be read, and any error that `each` returns.
    pub fn for_each_pair<E: From<Error>>(
        &self,
        distinct: bool,
        mut each: impl FnMut(ConfirmedPair) -> Result<(), E>,
    ) -> Result<(), E> {
        let nodes = &self.nodes;
        let watch = self.options.watch(Phase::Publish, Some(self.pair_count(distinct)));
        let mut each = |pair| {
            watch.tick(1).map_err(Error::from)?;
            each(pair)
        };
        let copies_until = |next: &mut u32, end: u32, each: &mut dyn FnMut(_) -> Result<(), E>| {
            for node in std::mem::replace(next, end.max(*next))..end {
                let (documents, own) = (nodes.documents(node), nodes.fingerprint(node));
                for (at, &first) in documents.iter().enumerate().filter(|_| !distinct) {
                    for &second in &documents[at + 1..] {
                        let fingerprints = [own; 2];
                        each(ConfirmedPair { first, second, fingerprints, similarity: 1.0 })?;
                    }
                }
            }
            Ok(())
        };
        let mut next = 0;
        let mut failed = CallbackError::default();
        let passed = self.each_edge(|one, other, similarity| {
            failed.check(copies_until(&mut next, one + 1, &mut each))?;
            let fingerprints = [one, other].map(|node| nodes.fingerprint(node));
            if distinct && fingerprints[0] == fingerprints[1] {
                return Ok(());
            }
            for &first in nodes.documents(one) {
                for &second in nodes.documents(other) {
                    let pair = ConfirmedPair { first, second, fingerprints, similarity };
                    failed.check(each(pair))?;
                }
            }
            Ok(())
        });
        failed.result(passed)?;
        copies_until(&mut next, nodes.len() as u32, &mut each)
    }

    /// Calls `each` with each pair of similar nodes, the smaller node first, in ascending order.
    pub(super) fn each_edge(
        &self,
        mut each: impl FnMut(u32, u32, f64) -> Result<()>,
    ) -> Result<()> {
        self.edges.pass(|key, id| match id.get() {
            Some(IdRef::U64(bits)) => each((key >> 32) as u32, key as u32, f64::from_bits(bits)),
            _ => Ok(()),
        })
    }
}

/// Sorts pairs of nodes, and counts the pairs of documents.
pub(super) struct EdgeSorter {
    sorter: RecordSorter,
    most: u64,
    pair_count: u64,
    equal_count: u64,
}

impl EdgeSorter {
    pub(super) fn new(options: &JoinOptions) -> Result<Self> {
        let resources = options.sort_resources()?;
        let own = SortResources { memory: resources.memory / SORTER_DIVISOR, ..resources };
        let sorter = RecordSorter::new(own, false);
        let most = options.pairs_max();
        Ok(EdgeSorter { sorter, most, pair_count: 0, equal_count: 0 })
    }

    /// The options of a join that runs while a sorter takes its part of the memory.
    pub(super) fn beside(options: &JoinOptions) -> Result<JoinOptions> {
        Ok(options.reserve(options.sort_resources()?.memory / SORTER_DIVISOR))
    }

    pub(super) fn push(
        &mut self,
        nodes: &Nodes,
        one: u32,
        other: u32,
        similarity: f64,
    ) -> Result<()> {
        let [first, second] = [one, other].map(|node| nodes.documents(node).len() as u64);
        let is_equal = nodes.fingerprint(one) == nodes.fingerprint(other);
        self.count(first * second, is_equal)?;
        let key = u64::from(one) << 32 | u64::from(other);
        self.sorter.push(key, IdRef::U64(similarity.to_bits()))
    }

    fn count(&mut self, pairs: u64, is_equal: bool) -> Result<()> {
        self.pair_count += pairs;
        self.equal_count += if is_equal { pairs } else { 0 };
        if self.pair_count > self.most {
            return Err(Error::TooManyPairs { most: self.most });
        }
        Ok(())
    }

    pub(super) fn finish(
        mut self,
        nodes: Nodes,
        ids: DocumentIds,
        options: JoinOptions,
        candidate_count: u64,
    ) -> Result<Confirmed> {
        for node in 0..nodes.len() as u32 {
            let copies = nodes.documents(node).len() as u64;
            self.count(pairs_within(copies), true)?;
        }
        let EdgeSorter { sorter, pair_count, equal_count, .. } = self;
        let edges = sorter.finish()?;
        Ok(Confirmed { nodes, options, edges, pair_count, equal_count, candidate_count, ids })
    }
}
