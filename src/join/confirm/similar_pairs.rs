//! Finds all pairs of similar sets of features, by prefix filtering.
//!
//! Sets are processed in blocks. The sets of a block are added to the index, and then compared with
//! all sets before them in the index, on all threads. When the index is full, the remaining sets
//! are only compared with it; they are indexed in the next pass.

use super::led_sets::{Buffers, INDEX_DIVISOR, Matcher, Prepared, block_len};
use super::likeness::Likeness;
use super::postings::Postings;
use super::prefixes::{FeatureSets, Outline, Prefixes, Rarity, each_set};
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
        (0..sets.count()).partition(|&set| sets.len_of(set) == 0);
    for (at, &one) in empty.iter().enumerate() {
        empty[at + 1..].iter().try_for_each(|&other| each(one, other, 1.0))?;
    }
    let rarity = Rarity::of(sets, &sets_with, memory, threads, options)?;
    let watch: &Watch = &options.watch(Phase::Confirm, Some(sets_with.len() as u64));
    let likeness = Likeness::from(threshold);
    let prefixes = Prefixes(likeness);
    let matcher = Matcher { sets, likeness, prefixes, rarity: &rarity, watch };
    let (mut left, mut compared) = (sets_with.as_slice(), 0);
    while !left.is_empty() {
        watch.report()?;
        let feature_count = left.iter().map(|&set| sets.len_of(set)).sum();
        let mut postings = Postings::new(memory / INDEX_DIVISOR, prefixes, feature_count);
        let (mut indexed, mut is_full) = (0, false);
        let mut rest = left;
        while !rest.is_empty() {
            let block;
            (block, rest) = rest.split_at(block_len(sets, rest));
            let parts = side_by_side(&Part::all(threads), |part| {
                let own = &block[part.of_len(block.len())];
                let (mut prepared, mut ordered) = (Prepared::default(), Vec::new());
                each_set(sets, own, |set, features| {
                    let all = &mut prepared.tokens;
                    let tokens = prefixes.tokens(features, &rarity, &mut ordered, all);
                    prepared.push(set, Outline::of(features), features, tokens);
                    Ok(())
                })?;
                Ok(prepared)
            })?;
            for (set, _, known) in parts.iter().flat_map(Prepared::each) {
                is_full |= !postings.fits(known.1);
                if !is_full {
                    postings.push(set, known);
                    indexed += 1;
                }
            }
            let found = side_by_side(&parts, |part| {
                let (mut buffers, mut pairs) = (Buffers::default(), Vec::new());
                for (set, features, known) in part.each() {
                    watch.tick(1)?;
                    postings.meet(known, &mut buffers.found);
                    buffers.found.sets.retain(|&other| other < set);
                    matcher.each_similar(features, &mut buffers, |other, similarity| {
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
        left = &left[indexed..];
    }
    Ok(compared)
}
