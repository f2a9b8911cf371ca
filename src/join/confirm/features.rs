//! The features of nodes, or sketches of them, in a temporary file.

use bytemuck::Pod;

use super::similarity::{at_least, sketch_similarity};
use crate::base::error::Result;
use crate::disk::{ScratchFile, ScratchFolder};
use fpstore_base::watch::Watch;

/// What is compared.
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
    places: Vec<Option<Place>>,
}

/// Where the features of a node are, in bytes.
#[derive(Clone, Copy, Debug)]
struct Place {
    offset: u64,
    len: u64,
}

impl FeatureFile {
    pub(super) fn create(
        kind: FeatureKind,
        node_count: usize,
        folder: &ScratchFolder,
    ) -> Result<Self> {
        let file = ScratchFile::create(folder)?;
        Ok(FeatureFile { kind, file, places: vec![None; node_count] })
    }

    pub(super) fn kind(&self) -> FeatureKind {
        self.kind
    }

    /// For each node whether its features are there.
    pub(super) fn are_set(&self) -> impl Iterator<Item = bool> {
        self.places.iter().map(Option::is_some)
    }

    pub(super) fn put(&mut self, node: u32, features: &[u8]) -> Result<()> {
        let place = Place { offset: self.file.len(), len: features.len() as u64 };
        self.file.append(features)?;
        self.places[node as usize] = Some(place);
        Ok(())
    }

    fn place(&self, node: u32) -> Place {
        self.places[node as usize].expect("the features of all candidates are there")
    }

    /// Reads the features of a node, of the type of its kind.
    pub(super) fn read<T: Pod>(&self, node: u32, features: &mut Vec<T>) -> Result<()> {
        let Place { offset, len } = self.place(node);
        features.resize(len as usize / size_of::<T>(), T::zeroed());
        self.file.read_at(bytemuck::cast_slice_mut(features), offset)
    }

    /// The pairs that are alike enough, with their similarity. The watch, which counts them, is asked
    /// while they are compared.
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
                // Sets of very different sizes need not be read. Sketches have one length.
                let [a, b] =
                    [one, other].map(|node| self.place(node).len as f64 / size_of::<T>() as f64);
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
