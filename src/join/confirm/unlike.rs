//! Detection of very many near documents that are not similar.
//!
//! Each document is compared with the leaders near it until it is similar to one. If few documents
//! are similar, nearly all become leaders, and the comparisons grow with the square of the number
//! of documents; no exact method is known that avoids this. A sample detects this case beforehand.

use std::fmt;

use super::candidates::Candidates;
use super::in_groups::Entry;
use super::lead::FeatureJudge;
use super::likeness::Likeness;
use crate::base::error::Result;
use crate::join::grouping::leaders::{Judge, lead};
use fpstore_base::watch::Phase;

/// Approximate number of documents in a sample.
const SAMPLE_COUNT: usize = if cfg!(test) { 32 } else { 512 };

/// Near documents, most of which are not similar.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Unlike {
    /// The number of documents.
    pub document_count: u64,
    /// The number of their pairs that are compared and not similar, estimated from a sample. It is
    /// too high rather than too low if some of the documents are similar.
    pub pair_count: u64,
}

impl fmt::Display for Unlike {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Unlike { document_count, pair_count } = self;
        write!(
            f,
            "{document_count} documents have near fingerprints and are mostly not alike, so about \
             {pair_count} pairs of them are compared"
        )
    }
}

/// Counts the pairs that are not similar.
struct Counting<'a> {
    judge: FeatureJudge<'a>,
    unlike: u64,
}

impl Judge for Counting<'_> {
    type Bond = f64;

    fn judge(&mut self, document: u32, leader: u32) -> Result<Option<f64>> {
        let bond = self.judge.judge(document, leader)?;
        self.unlike += u64::from(bond.is_none());
        Ok(bond)
    }
}

impl Candidates {
    /// The connected documents among which [`Candidates::lead`] compares the most dissimilar pairs,
    /// if it compares at least `pairs_min` of these there. The number is estimated by leading a
    /// sample of them.
    ///
    /// # Errors
    ///
    /// As [`Candidates::lead`].
    pub fn unlike(&self, likeness: impl Into<Likeness>, pairs_min: u64) -> Result<Option<Unlike>> {
        let likeness = likeness.into();
        self.check_complete(likeness.similarity)?;
        likeness.check(self.sets.kind())?;
        // Up to this many documents have fewer pairs.
        let least = (2.0 * pairs_min as f64).sqrt() as usize;
        if self.nodes.len() <= least {
            return Ok(None);
        }
        let entries = self.entries();
        let mut most: Option<Unlike> = None;
        for group in entries.chunk_by(|a, b| a.0 == b.0).filter(|group| group.len() > least.max(1))
        {
            let step = group.len().div_ceil(SAMPLE_COUNT);
            let sample: Vec<_> = group.iter().copied().step_by(step).collect();
            let value = |entry: &Entry| self.nodes.fingerprint(entry.2).value();
            let values: Vec<u64> = sample.iter().map(value).collect();
            let judge = FeatureJudge::new(self, &sample, self.feature_memory()?, likeness);
            let mut judges = [Counting { judge, unlike: 0 }];
            let watch = self.options.watch(Phase::Cluster, None);
            lead(&values, self.options.k, &mut judges, &watch)?;
            let times = group.len() as f64 / sample.len() as f64;
            let pair_count = (judges[0].unlike as f64 * times * times) as u64;
            if pair_count >= pairs_min.max(most.map_or(1, |most| most.pair_count + 1)) {
                most = Some(Unlike { document_count: group.len() as u64, pair_count });
            }
        }
        Ok(most)
    }
}
