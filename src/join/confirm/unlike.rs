//! Whether very many documents are near one another and not alike.
//!
//! Each document is compared with the leaders that are near it until it is alike to one. Where few are
//! alike, nearly all become leaders, and the comparisons grow with the square of the documents: no
//! exact method is known that avoids this. A sample tells so beforehand.

use std::fmt;

use super::candidates::Candidates;
use super::in_groups::Entry;
use super::lead::FeatureJudge;
use super::likeness::Likeness;
use crate::base::error::Result;
use crate::join::grouping::leaders::{Judge, lead};
use fpstore_base::watch::Phase;

/// The documents of a sample, about.
const SAMPLE_COUNT: usize = if cfg!(test) { 32 } else { 512 };

/// Documents that are near one another, of which most are not alike.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Unlike {
    /// The documents.
    pub document_count: u64,
    /// The pairs of them that are compared and not alike, as a sample tells: rather more than there
    /// are, if some of the documents are alike.
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

/// Counts the pairs that are not alike.
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
    /// The connected documents among which [`Candidates::lead`] compares the most pairs that are not
    /// alike, if it compares at least `pairs_min` of these there. It leads a sample of them.
    ///
    /// # Errors
    ///
    /// As [`Candidates::lead`].
    pub fn unlike(&self, likeness: impl Into<Likeness>, pairs_min: u64) -> Result<Option<Unlike>> {
        let likeness = likeness.into();
        self.check_complete(likeness.similarity)?;
        likeness.check(self.sets.kind())?;
        // No more documents than this make fewer pairs.
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
