//! The merges that a compaction would do.

use crate::store::Store;
use crate::writing::writer::compact::{Compaction, candidates, label_of_all};
use crate::writing::writer::tier::{self, Candidate};

/// A merge that [`Writer::compact`](crate::Writer::compact) would do.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct PlannedMerge {
    /// The number of merged segments.
    pub segments: u64,
    /// The label of the new segment; empty if it would have no label.
    pub label: String,
    /// The length of the merged segment files in bytes.
    pub read_len: u64,
    /// The number of deleted fingerprints that the new segment would omit.
    pub deleted_fingerprints: u64,
}

impl Store {
    /// The merges that [`Writer::compact`](crate::Writer::compact) would do now, in order. A later
    /// merge may merge the result of an earlier one; the records and bytes of such a result are
    /// estimated as the sum over its inputs.
    ///
    /// # Examples
    ///
    /// ```
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("pages.fps");
    /// # fpstore::Builder::new(&path)?.finish()?;
    /// # fpstore::Builder::append(&path, fpstore::BuildOptions::default())?.finish()?;
    /// use fpstore::Store;
    /// use fpstore::writer::Compaction;
    ///
    /// let merges = Store::open(&path)?.compacting(&Compaction::All);
    /// assert_eq!(merges[0].segments, 2);
    /// # Ok(()) }
    /// ```
    pub fn compacting(&self, what: &Compaction) -> Vec<PlannedMerge> {
        let mut segments = candidates(self.snapshot().segments());
        let mut merges = Vec::new();
        match what {
            Compaction::Rewrite => {
                let each = segments.iter().map(std::slice::from_ref);
                merges.extend(each.map(|part| planned(part, &part[0].label)));
            }
            Compaction::One => {
                if let Some(label) = label_of_all(&segments) {
                    merges.push(planned(&segments, label));
                }
            }
            Compaction::Tier | Compaction::All => {
                let pick = if *what == Compaction::All { tier::pick_label } else { tier::pick };
                while let Some(range) = pick(&segments) {
                    let merge = planned(&segments[range.clone()], &segments[range.start].label);
                    let merged = merged(&segments[range.clone()], &merge.label);
                    // If every record is deleted, no segment remains.
                    segments.splice(range, Some(merged).filter(|merged| merged.fingerprints > 0));
                    merges.push(merge);
                }
            }
        }
        merges
    }
}

fn planned(part: &[Candidate], label: &str) -> PlannedMerge {
    PlannedMerge {
        segments: part.len() as u64,
        label: label.to_owned(),
        read_len: part.iter().map(|segment| segment.file_len).sum(),
        deleted_fingerprints: part.iter().map(|segment| segment.deleted).sum(),
    }
}

/// The merged segment, assuming that no two inputs share a fingerprint.
fn merged(part: &[Candidate], label: &str) -> Candidate {
    Candidate {
        label: label.to_owned(),
        file_len: part.iter().map(Candidate::live_len).sum(),
        fingerprints: part.iter().map(Candidate::live_fingerprints).sum(),
        deleted: 0,
        live_ids: part.iter().map(|segment| segment.live_ids).sum(),
    }
}
