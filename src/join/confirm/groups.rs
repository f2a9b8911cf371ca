//! Groups of documents that may be similar, by their fingerprints and outlines alone, for engines
//! that compare each group in a process of its own.

use super::connected::connected;
use super::nodes::{DOCUMENT_LEN, Nodes};
use super::outline::{Outline, Outlines};
use crate::base::error::Result;
use crate::join::options::JoinOptions;
use fpstore_base::Fingerprint;
use fpstore_base::watch::Phase;

/// The fingerprints of documents, and digests and outlines of their features.
///
/// Documents are numbered 0, 1, 2 and so on, in the order in which they are pushed. Each takes 60
/// bytes of memory, and 33 more with an outline.
#[derive(Debug, Default)]
pub struct Documents {
    /// Fingerprint and digest.
    list: Vec<(u64, u64)>,
    outlines: Vec<Option<Outline>>,
    /// The similarity that pairs need, if outlines are used.
    threshold: Option<f64>,
}

impl Documents {
    /// An empty list of documents, which are grouped by their fingerprints.
    pub fn new() -> Self {
        Documents::default()
    }

    /// An empty list of documents with outlines, which reject most pairs whose similarity is below
    /// `threshold`, and a pair at the threshold wrongly once in 10^9 times.
    pub fn outlined(threshold: f64) -> Self {
        Documents { threshold: Some(threshold), ..Documents::default() }
    }

    /// Takes the next document, with the [`feature_digest`](super::feature_digest) and the
    /// [`Outline`] of its features.
    pub fn push_outlined(
        &mut self,
        fingerprint: Fingerprint,
        digest: u64,
        outline: Option<Outline>,
    ) {
        self.list.push((fingerprint.value(), digest));
        self.outlines.extend(self.threshold.map(|_| outline));
    }

    /// Connects the documents whose fingerprints lie within the distance of the options, unless
    /// their outlines reject the pair.
    ///
    /// # Errors
    ///
    /// As [`near_pairs`](crate::join::near_pairs); [`Error::TooLarge`](crate::Error::TooLarge) for
    /// more than 2^32 - 2 documents.
    pub fn groups(self, options: &JoinOptions) -> Result<DocumentGroups> {
        options.check()?;
        let Documents { list, outlines, threshold } = self;
        let nodes = Nodes::new(&list, &options.watch(Phase::Join, None))?;
        let outline_len = outlines.len() as u64 * size_of::<Option<Outline>>() as u64;
        let options = options.reserve(list.len() as u64 * DOCUMENT_LEN + outline_len);
        drop(list);
        let outlines = Outlines::new(outlines, threshold.unwrap_or_default());
        let mut sets = connected(&nodes, &outlines, &options.max_pairs(None))?;
        let groups = (0..nodes.len() as u32).map(|node| sets.find(node)).collect();
        Ok(DocumentGroups { nodes, groups })
    }
}

/// Groups of documents.
#[derive(Debug)]
pub struct DocumentGroups {
    nodes: Nodes,
    /// For each node, the smallest node to which pairs connect it.
    groups: Vec<u32>,
}

impl DocumentGroups {
    /// The number of the group of a document.
    pub fn of(&self, document: u32) -> Option<u32> {
        self.nodes.of(document).map(|node| self.groups[node as usize])
    }
}
