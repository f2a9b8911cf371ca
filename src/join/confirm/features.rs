//! Keeps the contents (features or sketches) of documents in a temporary file.

use std::hash::Hasher;
use std::ops::Range;

use bytemuck::Pod;
use siphasher::sip::SipHasher13;

use super::nodes::Nodes;
use super::prefixes::FeatureSets;
use super::similarity::{jaccard, sketch_similarity};
use crate::base::error::{Error, Result};
use fpstore_base::watch::Watch;
use fpstore_disk::{ScratchFile, ScratchFolder};

/// The kind of contents to compare.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum FeatureKind {
    /// The hashes of all features, ascending.
    #[default]
    Sets,
    /// Sketches.
    Sketches,
}

/// Number of buffered bytes that are written together.
const BUFFER_LEN: usize = 1 << 16;
/// The length of a feature in bytes.
const FEATURE_LEN: u64 = size_of::<u64>() as u64;

/// The contents of documents in a temporary file: written in order, then read for any node.
#[derive(Debug)]
pub(super) struct FeatureFile {
    kind: FeatureKind,
    file: ScratchFile,
    buffer: Vec<u8>,
    /// The position in the file after the content of each document.
    ends: Vec<u64>,
    /// The first document of each node, which has the content of the node.
    documents: Vec<u32>,
}

impl FeatureFile {
    pub(super) fn create(kind: FeatureKind, folder: &ScratchFolder) -> Result<Self> {
        let (file, buffer) = (ScratchFile::create(folder)?, Vec::new());
        Ok(FeatureFile { kind, file, buffer, ends: Vec::new(), documents: Vec::new() })
    }

    pub(super) fn kind(&self) -> FeatureKind {
        self.kind
    }

    /// Appends the features or the sketch of the next document.
    pub(super) fn push(&mut self, content: &[u8]) -> Result<()> {
        if content.len() / size_of::<u64>() >= u32::MAX as usize {
            let reason = format!("the features of a document take {} bytes", content.len());
            return Err(Error::TooLarge { reason });
        }
        self.buffer.extend_from_slice(content);
        self.ends.push(self.file.len() + self.buffer.len() as u64);
        if self.buffer.len() >= BUFFER_LEN { self.flush() } else { Ok(()) }
    }

    fn flush(&mut self) -> Result<()> {
        self.file.append(&self.buffer)?;
        self.buffer.clear();
        Ok(())
    }

    /// Ends the list of documents. After this call, the contents of nodes can be read.
    pub(super) fn group(&mut self, nodes: &Nodes) -> Result<()> {
        self.documents = (0..nodes.len() as u32).map(|node| nodes.documents(node)[0]).collect();
        self.flush()
    }

    fn range_of(&self, node: u32) -> Range<u64> {
        let document = self.documents[node as usize] as usize;
        let start = document.checked_sub(1).map_or(0, |before| self.ends[before]);
        start..self.ends[document]
    }

    /// Reads the content of a node; `T` is `u64` for features and `u8` for sketches.
    pub(super) fn read<T: Pod>(&self, node: u32, content: &mut Vec<T>) -> Result<()> {
        let range = self.range_of(node);
        content.resize((range.end - range.start) as usize / size_of::<T>(), T::zeroed());
        Ok(self.file.read_at(bytemuck::cast_slice_mut(content), range.start)?)
    }

    /// The similarity of each pair of nodes. The watch can stop the work between comparisons.
    pub(super) fn compare(&self, pairs: &[(u32, u32)], watch: &Watch) -> Result<Vec<f64>> {
        match self.kind {
            FeatureKind::Sets => self.compare_by(pairs, watch, jaccard),
            FeatureKind::Sketches => self.compare_by(pairs, watch, sketch_similarity),
        }
    }

    fn compare_by<T: Pod>(
        &self,
        pairs: &[(u32, u32)],
        watch: &Watch,
        similarity: impl Fn(&[T], &[T]) -> f64,
    ) -> Result<Vec<f64>> {
        let (mut own, mut others) = (Vec::new(), Vec::new());
        let mut found = Vec::with_capacity(pairs.len());
        for same in pairs.chunk_by(|a, b| a.0 == b.0) {
            self.read(same[0].0, &mut own)?;
            for &(_, other) in same {
                watch.look()?;
                self.read(other, &mut others)?;
                found.push(similarity(&own, &others));
            }
        }
        Ok(found)
    }
}

/// The sets of features of these nodes: set `i` is the set of `nodes[i]`.
pub(super) struct InOrder<'a> {
    pub(super) file: &'a FeatureFile,
    pub(super) nodes: &'a [u32],
}

impl FeatureSets for InOrder<'_> {
    fn count(&self) -> u32 {
        self.nodes.len() as u32
    }

    fn range_of(&self, set: u32) -> Range<u64> {
        let bytes = self.file.range_of(self.nodes[set as usize]);
        bytes.start / FEATURE_LEN..bytes.end / FEATURE_LEN
    }

    fn read_at(&self, start: u64, features: &mut [u64]) -> Result<()> {
        let bytes = bytemuck::cast_slice_mut(features);
        Ok(self.file.file.read_at(bytes, start * FEATURE_LEN)?)
    }
}

/// A hash that identifies a set of features, which must be ascending and distinct.
pub fn feature_digest(features: &[u64]) -> u64 {
    digest(bytemuck::cast_slice(features))
}

/// A hash that identifies the bytes of features or of a sketch.
pub(super) fn digest(features: &[u8]) -> u64 {
    let mut hasher = SipHasher13::new();
    hasher.write(features);
    hasher.finish()
}
