//! Finds all pairs of similar sets of features, by prefix filtering.
//!
//! Sets are processed in blocks. The sets of a block are added to the index, and then compared with
//! all sets before them in the index, on all threads. When the index is full, the remaining sets
//! are only compared with it; they are indexed in the next pass.

use super::led_sets::{Buffers, Matcher, index_memory};
use super::likeness::Likeness;
use super::pass_sets::{KnownSets, PassSets, TokenFile};
use super::postings::Postings;
use super::prefixes::{FeatureSets, Prefixes, Rarity, len_of};
use crate::base::error::Result;
use crate::base::side_by_side::{Part, side_by_side};
use crate::join::options::JoinOptions;
use fpstore_base::watch::{Phase, Watch};

/// Calls `each` with each pair of sets whose Jaccard similarity is at least `threshold`, the smaller
/// number first, and the similarity; in any order. Returns the number of compared pairs.
pub(super) fn similar_pairs(
    sets: &(impl FeatureSets + ?Sized),
    threshold: f64,
    options: &JoinOptions,
    mut each: impl FnMut(u32, u32, f64) -> Result<()>,
) -> Result<u64> {
    let resources = options.budget()?;
    let (memory, threads) = (resources.memory, resources.threads.max(1));
    // Sets without features have no tokens to find them by. They are equal to one another.
    let (empty, sets_with): (Vec<u32>, Vec<u32>) =
        (0..sets.count()).partition(|&set| len_of(sets, set) == 0);
    for (at, &one) in empty.iter().enumerate() {
        empty[at + 1..].iter().try_for_each(|&other| each(one, other, 1.0))?;
    }
    let rarity = Rarity::of(sets, &sets_with, memory, threads, options)?;
    let watch: &Watch = &options.watch(Phase::Confirm, Some(sets_with.len() as u64));
    let likeness = Likeness::from(threshold);
    let prefixes = Prefixes(likeness);
    let matcher = Matcher { sets, likeness, prefixes, watch };
    let folder = options.sort_resources()?.folder;
    let mut left;
    let mut compared = 0;
    let mut own = PassSets::Unknown(&sets_with, &rarity);
    loop {
        watch.report()?;
        let feature_count = own.feature_count(sets);
        let mut postings = Postings::new(index_memory(memory).0, prefixes, feature_count)?;
        let mut rest = TokenFile::new(&folder);
        for block in own.blocks(sets) {
            let parts = side_by_side(&Part::all(threads), |part| {
                let mut prepared = KnownSets::default();
                own.each(part.of_indices(block.clone()), sets, prefixes, |set, _, known| {
                    prepared.push(set, known);
                    Ok(())
                })?;
                Ok(prepared)
            })?;
            for (set, known) in parts.iter().flat_map(KnownSets::each) {
                if rest.is_empty() && postings.fits(known) {
                    postings.push(set, known)?;
                } else {
                    rest.push(set, known)?;
                }
            }
            let found = side_by_side(&parts, |part| {
                let (mut buffers, mut pairs) = (Buffers::default(), Vec::new());
                for (set, known) in part.each() {
                    watch.tick(1)?;
                    postings.meet(known, &mut buffers.found);
                    buffers.found.sets.retain(|&other| other < set);
                    matcher.each_similar((set, &[]), &mut buffers, |other, similarity| {
                        pairs.push((other, set, similarity));
                        true
                    })?;
                }
                Ok((pairs, buffers.compared))
            })?;
            for (pairs, count) in found {
                compared += count;
                pairs.into_iter().try_for_each(|(one, other, is)| each(one, other, is))?;
            }
        }
        rest.end_piece()?;
        if rest.is_empty() {
            break;
        }
        left = rest;
        own = PassSets::Known(&left);
    }
    Ok(compared)
}
