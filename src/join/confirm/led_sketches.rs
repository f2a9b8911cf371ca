//! Finds leaders among documents with sketches: pairs with near fingerprints are candidates, their
//! sketches are compared.
//!
//! Uses the algorithm of [`leaders`](crate::join::grouping::leaders), with similar sketches as the
//! condition. Documents are compared with leaders only, so a dense cluster, which has few leaders,
//! is cheap.

use super::led_sets::{LedSet, Unlike};
use super::similarity::{check_threshold, sketch_similarity};
use crate::base::error::Result;
use crate::join::grouping::leaders::{Judge, lead};
use crate::join::options::JoinOptions;
use fpstore_base::watch::Phase;

/// Callback that replaces the contents of a buffer by the sketch of a document.
pub type ReadSketch<'a> = dyn Fn(u32, &mut Vec<u8>) -> Result<()> + Sync + 'a;

/// Number of sampled documents from which the number of comparisons is estimated.
const SAMPLE_COUNT: usize = if cfg!(test) { 32 } else { 512 };

/// Finds the leaders among documents. In the order of their numbers, a document that is similar to
/// no leader becomes a leader; any other document is represented by the first similar leader.
/// Returns all other documents, by ascending number, and the number of compared pairs.
///
/// `fingerprints` are the fingerprints of the documents, and `read` reads their sketches. Two
/// documents are similar if their fingerprints lie within the distance of `options` and their
/// [`sketch_similarity`] is at least `threshold`. If there are many documents, `expect` is called
/// before they are compared, with an estimate of the comparisons from a sample.
///
/// # Errors
///
/// * [`Error::InvalidOptions`](crate::Error::InvalidOptions) if the threshold is not above 0 and at
///   most 1.
/// * Errors of `read`, and the errors of [`near_pairs`](crate::join::near_pairs).
pub fn lead_sketches(
    fingerprints: &[u64],
    read: &ReadSketch<'_>,
    threshold: f64,
    options: &JoinOptions,
    expect: impl FnOnce(Unlike),
) -> Result<(Vec<LedSet>, u64)> {
    check_threshold(threshold)?;
    options.check()?;
    let count = fingerprints.len();
    let all: Vec<u32> = (0..count as u32).collect();
    let lead_some = |documents: &[u32], threads: usize| -> Result<(Vec<(u32, f64)>, u64)> {
        let values: Vec<u64> = documents.iter().map(|&at| fingerprints[at as usize]).collect();
        let judge = |_| SketchJudge {
            documents,
            read,
            threshold,
            current: None,
            own: Vec::new(),
            other: Vec::new(),
            compared: 0,
        };
        let mut judges: Vec<SketchJudge<'_, '_>> = (0..threads).map(judge).collect();
        let watch = options.watch(Phase::Cluster, Some(values.len() as u64));
        let led = lead(&values, options.k, &mut judges, &watch)?;
        Ok((led, judges.iter().map(|judge| judge.compared).sum::<u64>()))
    };
    if count >= 2 * SAMPLE_COUNT {
        let sample: Vec<u32> = all.iter().copied().step_by(count / SAMPLE_COUNT).collect();
        let (led, compared) = lead_some(&sample, 1)?;
        let found = (0..).zip(&led).filter(|(at, (leader, _))| at != leader).count();
        let failed = compared - found as u64;
        let times = count as f64 / sample.len() as f64;
        let pair_count = (failed as f64 * times * times) as u64;
        expect(Unlike { document_count: count as u64, pair_count });
    }
    let (led, compared) = lead_some(&all, options.budget()?.threads.max(1))?;
    let led = (0..).zip(led).filter(|(set, (leader, _))| set != leader);
    let led = led.map(|(set, (leader, similarity))| LedSet { set, leader, similarity });
    Ok((led.collect(), compared))
}

/// Judges by sketches whether a document is similar to a leader.
struct SketchJudge<'a, 'b> {
    documents: &'a [u32],
    read: &'a ReadSketch<'b>,
    threshold: f64,
    /// The position of the document whose sketch is in `own`.
    current: Option<u32>,
    own: Vec<u8>,
    other: Vec<u8>,
    compared: u64,
}

impl Judge for SketchJudge<'_, '_> {
    type Bond = f64;

    fn judge(&mut self, document: u32, leader: u32) -> Result<Option<f64>> {
        if self.current != Some(document) {
            (self.read)(self.documents[document as usize], &mut self.own)?;
            self.current = Some(document);
        }
        (self.read)(self.documents[leader as usize], &mut self.other)?;
        let similarity = sketch_similarity(&self.own, &self.other);
        self.compared += 1;
        Ok((similarity >= self.threshold).then_some(similarity))
    }
}
