//! The features of nodes, or sketches of them, in a temporary file.

use bytemuck::Pod;

use super::similarity::{at_least, sketch_similarity};
use crate::base::error::{Error, Result};
use fpstore_base::watch::Watch;
use fpstore_disk::{ScratchFile, ScratchFolder};

/// The kind of content that is compared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum FeatureKind {
    /// The hashes of all features, ascending.
    #[default]
    Sets,
    /// Sketches.
    Sketches,
}

/// The features of nodes.
#[derive(Debug)]
pub(super) struct FeatureFile {
    kind: FeatureKind,
    file: ScratchFile,
    /// The offset of the features of each node in the file, in bytes.
    offsets: Vec<u64>,
    /// The number of features, or the bytes of the sketch, of each node; [`UNSET`] until they are
    /// taken.
    lens: Vec<u32>,
}

const UNSET: u32 = u32::MAX;

impl FeatureFile {
    pub(super) fn create(
        kind: FeatureKind,
        node_count: usize,
        folder: &ScratchFolder,
    ) -> Result<Self> {
        let file = ScratchFile::create(folder)?;
        let (offsets, lens) = (vec![0; node_count], vec![UNSET; node_count]);
        Ok(FeatureFile { kind, file, offsets, lens })
    }

    pub(super) fn kind(&self) -> FeatureKind {
        self.kind
    }

    /// Whether the features of each node have been taken.
    pub(super) fn are_set(&self) -> impl Iterator<Item = bool> {
        self.lens.iter().map(|&len| len != UNSET)
    }

    pub(super) fn put(&mut self, node: u32, features: &[u8]) -> Result<()> {
        let len_of_one = match self.kind {
            FeatureKind::Sets => size_of::<u64>(),
            FeatureKind::Sketches => 1,
        };
        let count = features.len() / len_of_one;
        let len = u32::try_from(count).ok().filter(|&len| len != UNSET).ok_or_else(|| {
            let reason = format!("a document with {count} features, expected fewer than 2^32 - 1");
            Error::TooLarge { reason }
        })?;
        let offset = self.file.len();
        self.file.append(features)?;
        (self.offsets[node as usize], self.lens[node as usize]) = (offset, len);
        Ok(())
    }

    /// Reads the features of a node; `T` is the type for the kind of features.
    pub(super) fn read<T: Pod>(&self, node: u32, features: &mut Vec<T>) -> Result<()> {
        let (offset, len) = (self.offsets[node as usize], self.lens[node as usize]);
        assert_ne!(len, UNSET, "the features of all candidates are there");
        features.resize(len as usize, T::zeroed());
        Ok(self.file.read_at(bytemuck::cast_slice_mut(features), offset)?)
    }

    /// The pairs with a similarity of at least `threshold`, and their similarity. The watch can
    /// stop the work between comparisons.
    pub(super) fn confirm(
        &self,
        pairs: &[(u32, u32)],
        threshold: f64,
        watch: &Watch,
    ) -> Result<Vec<(u32, u32, f64)>> {
        match self.kind {
            FeatureKind::Sets => {
                self.compare(pairs, threshold, watch, |one, other| at_least(one, other, threshold))
            }
            FeatureKind::Sketches => self.compare(pairs, threshold, watch, |one, other| {
                let similarity = sketch_similarity(one, other);
                (similarity >= threshold).then_some(similarity)
            }),
        }
    }

    /// Keeps the pairs for which `compare` returns a similarity.
    fn compare<T: Pod>(
        &self,
        pairs: &[(u32, u32)],
        threshold: f64,
        watch: &Watch,
        compare: impl Fn(&[T], &[T]) -> Option<f64>,
    ) -> Result<Vec<(u32, u32, f64)>> {
        let (mut features, mut others) = (Vec::new(), Vec::new());
        let mut kept = Vec::new();
        for same in pairs.chunk_by(|a, b| a.0 == b.0) {
            self.read(same[0].0, &mut features)?;
            for &(one, other) in same {
                watch.look()?;
                // The sizes of some sets rule out the similarity. Sketches have one length.
                let [a, b] = [one, other].map(|node| f64::from(self.lens[node as usize]));
                if a.min(b) < threshold * a.max(b) - 1.0 {
                    continue;
                }
                self.read(other, &mut others)?;
                if let Some(similarity) = compare(&features, &others) {
                    kept.push((one, other, similarity));
                }
            }
        }
        Ok(kept)
    }
}
