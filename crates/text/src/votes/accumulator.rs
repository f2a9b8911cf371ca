//! The vote of features with different weights.

use crate::features::counts::FeatureCounts;
use crate::votes::bit_counts::BitCounts;
use crate::votes::weight::{CountWeight, Weight};
use crate::votes::{TieRule, Votes};
use fpstore_base::Fingerprint;

/// Features with a count, or a whole weight, from 1 to this number are added in groups of equal
/// weight, which is faster than one by one.
const GROUP_COUNT: usize = 8;

/// Collects weighted features for the vote.
#[derive(Clone, Debug)]
pub(crate) struct Accumulator {
    weighted: Vec<(Weight, u64)>,
    votes: Votes,
    groups: Vec<BitCounts>,
}

impl Accumulator {
    pub(crate) fn new() -> Self {
        Accumulator {
            weighted: Vec::new(),
            votes: Votes::default(),
            groups: vec![BitCounts::default(); GROUP_COUNT],
        }
    }

    /// The fingerprint by the votes of counted features; `rule` makes weights of the counts.
    pub(crate) fn vote_by_count(
        &mut self,
        counts: &FeatureCounts,
        rule: CountWeight,
        ties: TieRule,
    ) -> Option<Fingerprint> {
        for (hash, count) in counts.iter() {
            match self.groups.get_mut((count - 1) as usize) {
                Some(group) if !group.is_full() => group.add(hash),
                _ => self.votes.add(hash, rule.of(count)),
            }
        }
        self.decide(|count| rule.of(count), ties)
    }

    /// The fingerprint by the votes of weighted features, or only of the `top` heaviest of them.
    pub(crate) fn vote_heaviest(
        &mut self,
        features: impl Iterator<Item = (Weight, u64)>,
        top: Option<u32>,
        ties: TieRule,
    ) -> Option<Fingerprint> {
        self.weighted.clear();
        self.weighted.extend(features);
        if let Some(top) = top.map(|top| top as usize)
            && top < self.weighted.len()
        {
            let heavier_first =
                |(weight, hash): &(Weight, u64)| (std::cmp::Reverse(*weight), *hash);
            self.weighted.select_nth_unstable_by_key(top, heavier_first);
            self.weighted.truncate(top);
        }
        for &(weight, hash) in &self.weighted {
            // Most given weights are small whole numbers.
            let whole = weight.raw() >> Weight::FRACTION_BITS;
            let place =
                if Weight::whole(whole) == weight { whole.wrapping_sub(1) } else { u64::MAX };
            match usize::try_from(place).ok().and_then(|place| self.groups.get_mut(place)) {
                Some(group) if !group.is_full() => group.add(hash),
                _ => self.votes.add(hash, weight),
            }
        }
        self.decide(Weight::whole, ties)
    }

    /// The fingerprint by all votes and groups, which are then cleared. The first group has count
    /// or weight 1.
    fn decide(&mut self, weight_of: impl Fn(u64) -> Weight, ties: TieRule) -> Option<Fingerprint> {
        for (group, count) in self.groups.iter_mut().zip(1..) {
            let (counts, features) = group.take();
            if features > 0 {
                self.votes.add_counts(&counts, features, weight_of(count));
            }
        }
        let decided = self.votes.decide(ties);
        self.votes.clear();
        decided
    }
}
