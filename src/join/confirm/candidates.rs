//! The first two stages of a confirmation: [`Documents`], whose fingerprints are joined, and
//! [`Candidates`], whose features are compared.

use std::hash::Hasher;
use std::ops::ControlFlow;

use siphasher::sip::SipHasher13;

use super::confirmed::{Confirmed, EdgeSorter};
use super::connected::{Connected, each_pair};
use super::features::{FeatureFile, FeatureKind};
use super::ids::DocumentIds;
use super::nodes::{DOCUMENT_LEN, Nodes};
use super::outline::{Outline, Outlines};
use crate::base::error::{Error, Result};
use crate::base::side_by_side::side_by_side;
use crate::join::options::JoinOptions;
use fpstore_base::Fingerprint;
use fpstore_base::Interrupted;
use fpstore_base::watch::{Observer, Phase, Watch};

/// Candidate pairs compared at a time, by all threads together.
const BATCH_COUNT: usize = if cfg!(test) { 16 } else { 1 << 15 };

/// The fingerprints of documents, and digests of their features.
///
/// Documents are numbered 0, 1, 2 and so on, in the order in which they are pushed. Each takes 60
/// bytes of memory, and 33 more with an outline.
#[derive(Debug, Default)]
pub struct Documents {
    /// Fingerprint and digest.
    list: Vec<(u64, u64)>,
    kind: FeatureKind,
    /// The outlines of all documents; empty if outlines are not used.
    outlines: Vec<Option<Outline>>,
    /// The similarity that pairs need, if outlines are used.
    threshold: Option<f64>,
}

impl Documents {
    /// An empty list of documents with features.
    pub fn new() -> Self {
        Documents::default()
    }

    /// An empty list of documents with sketches instead of features. Similarities are then
    /// estimates.
    pub fn of_sketches() -> Self {
        Documents { kind: FeatureKind::Sketches, ..Documents::default() }
    }

    /// An empty list of documents with features and outlines. Outlines reject most pairs whose
    /// similarity is below `threshold` before their features are read.
    pub fn outlined(threshold: f64) -> Self {
        Documents { threshold: Some(threshold), ..Documents::default() }
    }

    /// Takes the next document of [`Documents::outlined`]; the caller has kept the
    /// [`feature_digest`] and the [`Outline`] of its features. The outlines reject a pair at the
    /// threshold wrongly once in 10^9 times.
    pub fn push_outlined(
        &mut self,
        fingerprint: Fingerprint,
        digest: u64,
        outline: Option<Outline>,
    ) {
        self.push_digest(fingerprint, digest);
        self.outlines.push(outline);
    }

    /// A list with room for `count` documents, which [`Documents::put_outlined`] fills in any
    /// order.
    pub fn outlined_places(threshold: f64, count: usize) -> Self {
        let (list, outlines) = (vec![(0, 0); count], vec![None; count]);
        Documents { list, outlines, ..Documents::outlined(threshold) }
    }

    /// As [`Documents::push_outlined`], for the document with this number.
    pub fn put_outlined(
        &mut self,
        document: u32,
        fingerprint: Fingerprint,
        digest: u64,
        outline: Option<Outline>,
    ) {
        self.list[document as usize] = (fingerprint.value(), digest);
        self.outlines[document as usize] = outline;
    }

    /// Takes the next document. Its features are ascending and without repeats.
    pub fn push(&mut self, fingerprint: Fingerprint, features: &[u64]) {
        self.push_digest(fingerprint, feature_digest(features));
        if self.threshold.is_some() {
            self.outlines.push(Outline::of(features));
        }
    }

    fn push_digest(&mut self, fingerprint: Fingerprint, digest: u64) {
        debug_assert_eq!(self.kind, FeatureKind::Sets);
        self.list.push((fingerprint.value(), digest));
    }

    /// Takes the next document of [`Documents::of_sketches`]. All sketches have one length.
    pub fn push_sketch(&mut self, fingerprint: Fingerprint, sketch: &[u8]) {
        debug_assert_eq!(self.kind, FeatureKind::Sketches);
        self.list.push((fingerprint.value(), digest(sketch)));
    }

    /// The number of documents.
    pub(super) fn len(&self) -> u64 {
        self.list.len() as u64
    }

    /// Whether there is no document.
    pub(super) fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// Finds the documents that are in a candidate pair: a pair whose fingerprints lie within the
    /// distance of the options and whose features are not equal.
    pub(super) fn candidates(self, options: &JoinOptions) -> Result<Candidates> {
        self.find(options, false)
    }

    /// Finds the documents that [`Candidates::lead`] may compare. Dense groups are connected
    /// without enumerating their pairs, so these are the documents in candidate pairs and possibly
    /// more.
    ///
    /// # Errors
    ///
    /// As [`near_pairs`](crate::join::near_pairs); [`Error::TooLarge`] for more than 2^32 - 2
    /// documents.
    pub fn candidates_to_lead(self, options: &JoinOptions) -> Result<Candidates> {
        self.find(options, true)
    }

    fn find(self, options: &JoinOptions, to_lead: bool) -> Result<Candidates> {
        self.find_by(options, |nodes, outlines, options| {
            let mut connected = Connected::new(nodes.len());
            if to_lead {
                connected.connect(nodes, outlines, options)?;
            } else {
                each_pair(nodes, nodes.fingerprints(), outlines, options, |one, other| {
                    connected.add(one, other);
                    Ok(())
                })?;
            }
            Ok(connected)
        })
    }

    pub(super) fn find_by<E: From<Error>>(
        self,
        options: &JoinOptions,
        connect: impl FnOnce(&Nodes, &Outlines, &JoinOptions) -> Result<Connected, E>,
    ) -> Result<Candidates, E> {
        options.check()?;
        let count = self.len();
        let digests = self.list.iter().map(|&(_, digest)| digest).collect();
        let Documents { list, kind, outlines, threshold } = self;
        let watch = options.watch(Phase::Join, None);
        let nodes = Nodes::new(&list, &watch)?;
        drop(list);
        let outline_len = if outlines.is_empty() { 0 } else { size_of::<Option<Outline>>() as u64 };
        let outlines = Outlines::new(outlines, threshold.unwrap_or_default());
        let options = options.reserve(count * (DOCUMENT_LEN + outline_len));
        let unlimited = options.clone().max_pairs(None);
        let Connected { is_candidate, mut sets, pair_count } =
            connect(&nodes, &outlines, &unlimited)?;
        let groups = (0..nodes.len() as u32).map(|node| sets.find(node)).collect();
        let folder = options.sort_resources()?.folder;
        let sets = FeatureFile::create(kind, nodes.len(), &folder)?;
        Ok(Candidates {
            nodes,
            outlines,
            outlined: threshold,
            digests,
            is_candidate,
            groups,
            selected: Vec::new(),
            pair_count,
            sets,
            options,
            ids: DocumentIds::default(),
        })
    }
}

/// Rejects a similarity outside of the valid range, above 0 and at most 1.
pub(super) fn check_threshold(threshold: f64) -> Result<()> {
    if threshold > 0.0 && threshold <= 1.0 {
        return Ok(());
    }
    let reason = format!("similarity {threshold}, expected one above 0 and at most 1");
    Err(Error::InvalidOptions { reason })
}

/// A hash that identifies a set of features, which is ascending and without repeats.
pub fn feature_digest(features: &[u64]) -> u64 {
    digest(bytemuck::cast_slice(features))
}

fn digest(features: &[u8]) -> u64 {
    let mut hasher = SipHasher13::new();
    hasher.write(features);
    hasher.finish()
}

/// Documents in candidate pairs; their features are read next.
#[derive(Debug)]
pub struct Candidates {
    pub(super) nodes: Nodes,
    pub(super) outlines: Outlines,
    /// The similarity below which the outlines reject pairs.
    outlined: Option<f64>,
    /// The digest of the features of each document.
    digests: Vec<u64>,
    pub(super) is_candidate: Vec<bool>,
    /// For each node, the smallest node that pairs connect it with.
    pub(super) groups: Vec<u32>,
    /// Whether the group of each node is selected; empty if all groups are.
    selected: Vec<bool>,
    pair_count: u64,
    pub(super) sets: FeatureFile,
    pub(super) options: JoinOptions,
    /// The ids of the documents, if the caller gave any.
    pub(super) ids: DocumentIds,
}

impl Candidates {
    /// The number of candidate pairs of documents with different features; of candidates to lead,
    /// the number of pairs that connect them.
    pub(super) fn pair_count(&self) -> u64 {
        self.pair_count
    }

    /// The number of the group of a document. All candidate pairs lie within groups, so each group
    /// can be confirmed separately, with the same result.
    pub fn group_of(&self, document: u32) -> Option<u32> {
        self.nodes.of(document).map(|node| self.groups[node as usize])
    }

    /// Limits [`Candidates::needs`] and [`Candidates::lead`] to the groups selected by
    /// `is_selected`, until the next call. Discards all features taken so far.
    pub fn turn_to(&mut self, is_selected: impl Fn(u32) -> bool) -> Result<()> {
        self.selected = self.groups.iter().map(|&group| is_selected(group)).collect();
        let folder = self.options.sort_resources()?.folder;
        self.sets = FeatureFile::create(self.sets.kind(), self.nodes.len(), &folder)?;
        Ok(())
    }

    /// Whether the group of a node is selected.
    pub(super) fn is_selected(&self, node: u32) -> bool {
        self.selected.is_empty() || self.selected[node as usize]
    }

    /// Whether the features of a document are needed. Of documents with equal features, only the
    /// first one is needed.
    pub fn needs(&self, document: u32) -> bool {
        let Some(node) = self.nodes.of(document) else { return false };
        self.is_candidate[node as usize]
            && self.is_selected(node)
            && self.nodes.documents(node)[0] == document
    }

    /// Takes the features of a document for which [`Candidates::needs`] holds, in any order of the
    /// documents.
    ///
    /// # Errors
    ///
    /// * [`Error::InvalidOptions`] if they differ from the features that were pushed before.
    /// * [`Error::Io`] if the temporary file cannot be written.
    pub fn take(&mut self, document: u32, features: &[u64]) -> Result<()> {
        self.take_bytes(document, bytemuck::cast_slice(features))
    }

    /// As [`Candidates::take`] for documents with sketches.
    ///
    /// # Errors
    ///
    /// As [`Candidates::take`].
    pub fn take_sketch(&mut self, document: u32, sketch: &[u8]) -> Result<()> {
        self.take_bytes(document, sketch)
    }

    fn take_bytes(&mut self, document: u32, features: &[u8]) -> Result<()> {
        let pushed = self.digests.get(document as usize);
        let (Some(node), true) = (self.nodes.of(document), pushed == Some(&digest(features)))
        else {
            let reason = format!("document {document} has other features than it had before");
            return Err(Error::InvalidOptions { reason });
        };
        self.sets.put(node, features)
    }

    /// Rejects a threshold below the one of the outlines, and missing features.
    pub(super) fn check_complete(&self, threshold: f64) -> Result<()> {
        check_threshold(threshold)?;
        if let Some(outlined) = self.outlined.filter(|outlined| threshold < *outlined) {
            let reason = format!("similarity {threshold}, and the outlines are for {outlined}");
            return Err(Error::InvalidOptions { reason });
        }
        let mut needed = (0..).zip(self.is_candidate.iter().zip(self.sets.are_set()));
        let missing =
            needed.find(|(node, (is, is_set))| **is && !is_set && self.is_selected(*node));
        let Some((node, _)) = missing else { return Ok(()) };
        let document = self.nodes.documents(node)[0];
        let reason = format!("the features of document {document} were not given");
        Err(Error::InvalidOptions { reason })
    }

    /// Compares the features of all candidate pairs, and keeps the pairs whose Jaccard similarity
    /// is at least `threshold`. Documents with equal features have similarity 1.
    ///
    /// # Errors
    ///
    /// * [`Error::InvalidOptions`] if the threshold is not above 0 and at most 1, if it is below
    ///   the threshold of [`Documents::outlined`], or if needed features are missing.
    /// * [`Error::TooManyPairs`] if there are more pairs of documents than the options allow.
    /// * Otherwise as [`near_pairs`](crate::join::near_pairs).
    pub(super) fn confirm(self, threshold: f64) -> Result<Confirmed> {
        self.check_complete(threshold)?;
        let mut edges = EdgeSorter::new(&self.options, self.pair_count)?;
        let options = EdgeSorter::beside(&self.options)?;
        let watch = options.watch(Phase::Confirm, Some(self.pair_count));
        let all = self.nodes.fingerprints();
        self.each_alike(
            all,
            |_, _| true,
            threshold,
            (&options, &watch),
            |one, other, similarity| edges.push(&self.nodes, one, other, similarity),
        )?;
        let Candidates { nodes, ids, options, .. } = self;
        edges.finish(nodes, ids, options)
    }

    /// Calls `each` with each similar candidate pair that `is_selected` accepts, and its
    /// similarity. Only nodes with one of these ascending fingerprints are compared. The watch
    /// counts the compared pairs.
    pub(super) fn each_alike(
        &self,
        fingerprints: &[Fingerprint],
        mut is_selected: impl FnMut(u32, u32) -> bool + Send,
        threshold: f64,
        (options, watch): (&JoinOptions, &Watch),
        mut each: impl FnMut(u32, u32, f64) -> Result<()> + Send,
    ) -> Result<()> {
        let threads = options.sort_resources()?.threads.max(1);
        let mut batch: Vec<(u32, u32)> = Vec::new();
        let mut flush = |batch: &mut Vec<(u32, u32)>| -> Result<()> {
            // Sorted by the first node, so that its features are read once.
            batch.sort_unstable();
            let parts: Vec<&[(u32, u32)]> =
                batch.chunks(batch.len().div_ceil(threads).max(1)).collect();
            let kept = side_by_side(&parts, |part| self.sets.confirm(part, threshold, watch))?;
            watch.tick(batch.len() as u64)?;
            for (one, other, similarity) in kept.into_iter().flatten() {
                each(one, other, similarity)?;
            }
            batch.clear();
            Ok(())
        };
        // The join finds the pairs again while earlier ones are compared; the progress counts the
        // comparisons.
        let own = watch.clone();
        let observer = Observer::new(move |_| match own.report() {
            Ok(()) => ControlFlow::Continue(()),
            Err(Interrupted) => ControlFlow::Break(()),
        });
        let options = options.clone().max_pairs(None).observer(observer);
        each_pair(&self.nodes, fingerprints, &self.outlines, &options, |one, other| {
            if is_selected(one, other) {
                batch.push((one, other));
            }
            if batch.len() >= BATCH_COUNT { flush(&mut batch) } else { Ok(()) }
        })?;
        flush(&mut batch)
    }
}
