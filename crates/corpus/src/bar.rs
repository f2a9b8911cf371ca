//! The bar for near-duplicates (the least similarity or greatest distance): the bar of the
//! settings, or the strictest bar that reaches a target number of documents.

use std::collections::{HashMap, HashSet};

use super::dropped::{Dropped, KeptDocument};
use super::error::{Error, Result};
use super::number::Number;
use super::ranking::ComparedDocuments;
use super::spool::Spools;

/// Similarity bars are tried in steps of 1/100.
const STEPS: f64 = 100.0;

/// The possible bars, the strictest first: least similarities, or greatest distances.
#[derive(Clone, Copy, Debug)]
pub(super) enum Bars {
    /// Least similarities from 1 down to this one, in steps of 1/100.
    Similarity(f64),
    /// Greatest distances from 0 up to this one, in bits.
    Distance(u32),
}

impl Bars {
    /// The number of the most lenient bar, which is the bar of the settings.
    fn last(self) -> u32 {
        match self {
            Bars::Similarity(least) => ((1.0 - least) * STEPS - 1e-9).ceil().max(0.0) as u32,
            Bars::Distance(k) => k,
        }
    }

    /// The bar with this number.
    fn at(self, number: u32) -> f64 {
        match self {
            Bars::Similarity(least) => ((STEPS - f64::from(number)) / STEPS).max(least),
            Bars::Distance(_) => f64::from(number),
        }
    }

    /// How far a dropped document is from the document kept instead: 1 minus the similarity, or the
    /// distance in bits.
    fn remoteness(self, dropped: &Dropped, distance: u32) -> f64 {
        match self {
            Bars::Similarity(_) => 1.0 - dropped.similarity.unwrap_or(1.0),
            Bars::Distance(_) => f64::from(distance),
        }
    }
}

/// The dropped documents, and the bar at which they are dropped.
pub(super) struct Decided {
    pub(super) dropped: Vec<Dropped>,
    /// The least similarity, or the greatest distance.
    pub(super) bar: f64,
}

/// Drops documents at the bar of the settings. With a target, finds by bisection the strictest bar
/// that leaves at most `target` documents, documents without fingerprint included. If that bar
/// leaves fewer, dropped documents are kept again until the target is reached: first those least
/// similar to their kept document, then those with the best rank; of equal documents only one.
///
/// `drop_at` returns the documents dropped at a bar. Its first call is for the most lenient bar.
pub(super) fn set_bar(
    bars: Bars,
    target: Option<u64>,
    spools: &Spools,
    compared: &ComparedDocuments,
    mut drop_at: impl FnMut(f64) -> Result<Vec<Dropped>>,
) -> Result<Decided> {
    let last = bars.last();
    let dropped = drop_at(bars.at(last))?;
    let Some(target) = target else { return Ok(Decided { dropped, bar: bars.at(last) }) };
    let count = compared.len() as u64 + spools.counts().empty_count;
    let left = |dropped: &[Dropped]| count - dropped.len() as u64;
    if left(&dropped) > target {
        return Err(Error::TargetNotReached { target, least: left(&dropped) });
    }
    // `high` is the strictest bar known to leave few enough documents; bars before `low` fail.
    let (mut low, mut high, mut best) = (0, last, dropped);
    while low < high {
        let middle = low + (high - low) / 2;
        let dropped = drop_at(bars.at(middle))?;
        if left(&dropped) <= target {
            (high, best) = (middle, dropped);
        } else {
            low = middle + 1;
        }
    }
    let missing = target - left(&best);
    bring_back(&mut best, missing, bars, spools, compared)?;
    Ok(Decided { dropped: best, bar: bars.at(high) })
}

/// Keeps up to `count` dropped documents again, the farthest from their kept document first.
fn bring_back(
    dropped: &mut Vec<Dropped>,
    count: u64,
    bars: Bars,
    spools: &Spools,
    compared: &ComparedDocuments,
) -> Result<()> {
    if count == 0 || dropped.is_empty() {
        return Ok(());
    }
    // The fingerprint and the digest of features of each dropped document, to find equal documents.
    let mut contents: HashMap<Number, (u64, u64)> =
        dropped.iter().map(|one| (one.number, (0, 0))).collect();
    spools.each(|number, entry| {
        if let Some(content) = contents.get_mut(&number) {
            *content = (entry.fingerprint.value(), entry.digest);
        }
        Ok(())
    })?;
    let remoteness = |one: &Dropped| {
        let distance = (contents[&one.number].0 ^ one.other_fingerprint.value()).count_ones();
        bars.remoteness(one, distance)
    };
    let mut order: Vec<(f64, &Dropped)> =
        dropped.iter().map(|one| (remoteness(one), one)).collect();
    order.sort_by(|one, other| {
        let by_rank = || {
            let [one, other] = [one, other].map(|it| compared.ranking.rank_of(it.1.number));
            one.cmp(&other)
        };
        other.0.total_cmp(&one.0).then_with(by_rank)
    });
    let mut seen: HashSet<(u64, u64)> = HashSet::new();
    let mut back: HashSet<Number> = HashSet::new();
    for (remoteness, one) in order {
        if back.len() as u64 >= count || remoteness <= 0.0 {
            break;
        }
        // Documents near a stored document are not kept again.
        if matches!(one.other, KeptDocument::New(_)) && seen.insert(contents[&one.number]) {
            back.insert(one.number);
        }
    }
    dropped.retain(|one| !back.contains(&one.number));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_lead_from_the_strictest_to_that_of_the_settings() {
        let bars = |bars: Bars| (0..=bars.last()).map(|at| bars.at(at)).collect::<Vec<f64>>();
        assert_eq!(bars(Bars::Distance(3)), [0.0, 1.0, 2.0, 3.0]);
        assert_eq!(bars(Bars::Similarity(0.97)), [1.0, 0.99, 0.98, 0.97]);
        assert_eq!(bars(Bars::Similarity(0.975)), [1.0, 0.99, 0.98, 0.975]);
        assert_eq!(bars(Bars::Similarity(1.0)), [1.0]);
        assert_eq!(bars(Bars::Similarity(0.8)).len(), 21);
    }
}
