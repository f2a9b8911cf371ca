//! Finds leaders among sets of features: each set that is similar to an earlier leader is
//! represented by the first such leader. All other sets are leaders.
//!
//! Sets are processed in blocks. The sets of a block are compared with the leaders of earlier
//! blocks on all threads; sets that are not similar to any are then compared one by one with the
//! leaders in the same block. Only leaders are indexed, so many copies of a template cost no more
//! than other sets.
//!
//! If the leaders do not fit into memory, the remaining sets are compared in further passes, each
//! with an index of further leaders: memory affects the time, never the result. A pass reads the
//! tokens of the sets, and the features only of sets that may be similar.

use std::fmt;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

use super::likeness::Likeness;
use super::pass_sets::{KnownSets, PassSets, TokenFile};
use super::postings::{Found, Postings};
use super::prefixes::{FeatureSets, Prefixes, Rarity, len_of, read};
use super::similarity::{common_at_least, jaccard_of, least_common, least_contained};
use crate::base::error::Result;
use crate::base::side_by_side::{Part, side_by_side};
use crate::join::options::JoinOptions;
use fpstore_base::watch::{Phase, Watch};
use fpstore_disk::ScratchFolder;

/// Number of sampled sets from which the number of comparisons is estimated.
const SAMPLE_COUNT: usize = if cfg!(test) { 32 } else { 1 << 12 };
/// Finding this many sets by a common token costs about as much as comparing two sets.
const MEETINGS_PER_COMPARISON: u64 = 16;
/// The memory of the index in the first pass, which also needs the counts of [`Rarity`], and in
/// further passes.
pub(super) fn index_memory(memory: u64) -> (u64, u64) {
    (memory / 2, memory / 8 * 7)
}

/// A set that is similar to a leader.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct LedSet {
    /// The number of the set.
    pub set: u32,
    /// The number of the leader of the set, which is smaller.
    pub leader: u32,
    /// The Jaccard similarity of the set and its leader.
    pub similarity: f64,
}

/// The work that [`lead_sets`] did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct LeadingCosts {
    /// How often a token of a set was also a token of an indexed set.
    pub meetings: u64,
    /// The number of pairs of sets whose features were compared.
    pub compared: u64,
    /// The number of passes over the sets that had no leader yet.
    pub passes: u64,
}

/// Finds the leaders among sets. In the order of their numbers, a set that is similar to no leader
/// becomes a leader; any other set is represented by the first similar leader. Returns the sets
/// that are not leaders, by ascending number.
///
/// The result is exact. It does not depend on the memory and the threads of `options`; the distance
/// of the options is not used. Each set takes up to 24 bytes in addition to that memory.
/// Each pass indexes as many leaders as fit into half of the memory, from the second pass on seven
/// eighths, and compares all remaining sets with these. Of the remaining sets, a temporary file keeps the rare features: about a fifth
/// of all features at a similarity of 0.8.
///
/// Most sets are compared with at most one other set. Only sets that share rare features without
/// being similar, such as filled-in templates, may be compared with many. If there are many sets,
/// `expect` is called before they are compared, with an estimate of the comparisons from a sample.
///
/// # Errors
///
/// * [`Error::InvalidOptions`](crate::Error::InvalidOptions) for an invalid likeness.
/// * The errors of [`FeatureSets::read_at`], and an error for invalid `options`.
pub fn lead_sets(
    sets: &(impl FeatureSets + ?Sized),
    likeness: Likeness,
    options: &JoinOptions,
    expect: impl FnOnce(Unlike),
) -> Result<(Vec<LedSet>, LeadingCosts)> {
    likeness.check()?;
    let resources = options.budget()?;
    lead_within(sets, likeness, options, (resources.memory, resources.threads.max(1)), expect)
}

/// Like [`lead_sets`], but with this memory and number of threads instead of those of the options.
fn lead_within(
    sets: &(impl FeatureSets + ?Sized),
    likeness: Likeness,
    options: &JoinOptions,
    (memory, threads): (u64, usize),
    expect: impl FnOnce(Unlike),
) -> Result<(Vec<LedSet>, LeadingCosts)> {
    // Sets without features have no tokens to find them by. They are equal to one another, and
    // contained in every set.
    let (empty, rest): (Vec<u32>, Vec<u32>) =
        (0..sets.count()).partition(|&set| len_of(sets, set) == 0);
    let first = empty.first().map_or(0, |&first| if likeness.similarity > 0.0 { first } else { 0 });
    let similarity = if sets.count() > 0 && len_of(sets, first) > 0 { 0.0 } else { 1.0 };
    let of_empty = |&set: &u32| LedSet { set, leader: first, similarity };
    let mut led: Vec<LedSet> = empty.iter().filter(|set| **set != first).map(of_empty).collect();
    let rarity = Rarity::of(sets, &rest, memory, threads, options)?;
    let watch = &options.watch(Phase::Cluster, Some(rest.len() as u64));
    let prefixes = Prefixes(likeness);
    let leading = Leading {
        matcher: Matcher { sets, likeness, prefixes, watch },
        threads,
        folder: &options.sort_resources()?.folder,
        compared: AtomicU64::new(0),
        meetings: AtomicU64::new(0),
    };
    if rest.len() >= 2 * SAMPLE_COUNT {
        expect(leading.estimate(&rest, &rarity)?);
    }
    let index_memory = index_memory(memory);
    let mut costs = LeadingCosts { passes: u64::from(!rest.is_empty()), ..Default::default() };
    let mut left = leading.pass(&PassSets::Unknown(&rest, &rarity), index_memory.0, &mut led)?;
    drop((rest, rarity));
    while !left.is_empty() {
        left = leading.pass(&PassSets::Known(&left), index_memory.1, &mut led)?;
        costs.passes += 1;
    }
    led.sort_unstable_by_key(|led| led.set);
    costs.meetings = leading.meetings.into_inner();
    costs.compared = leading.compared.into_inner();
    Ok((led, costs))
}

/// The condition for sets to be similar, and the features of the sets.
#[derive(Clone, Copy)]
pub(super) struct Matcher<'a, S: ?Sized> {
    pub(super) sets: &'a S,
    pub(super) likeness: Likeness,
    pub(super) prefixes: Prefixes,
    pub(super) watch: &'a Watch,
}

/// Buffers and counters of a thread.
#[derive(Default)]
pub(super) struct Buffers {
    /// The candidates: sets that share tokens with the current set.
    pub(super) found: Found,
    own: Vec<u64>,
    other: Vec<u64>,
    /// The set whose features are in `other`.
    held: Option<u32>,
    meetings: u64,
    pub(super) compared: u64,
}

impl<S: FeatureSets + ?Sized> Matcher<'_, S> {
    /// Calls `each` with each set in `buffers.found` that is similar to the set `number`, and with
    /// their similarity, until `each` returns false. The features of the set are `own`; if this is
    /// empty, they are read.
    pub(super) fn each_similar(
        &self,
        (number, mut own): (u32, &[u64]),
        buffers: &mut Buffers,
        mut each: impl FnMut(u32, f64) -> bool,
    ) -> Result<()> {
        let Buffers { found, own: read_own, other, held, compared, .. } = buffers;
        if own.is_empty() && !found.sets.is_empty() {
            read(self.sets, &[number], read_own)?;
            own = read_own;
        }
        for &set in &found.sets {
            let (a, b) = (own.len(), len_of(self.sets, set));
            let mut least = least_common(a, b, self.likeness.similarity);
            if let Some(part) = self.likeness.contained {
                if b < a {
                    continue;
                }
                least = least.max(least_contained(a, part));
            }
            if least > a.min(b) {
                continue;
            }
            self.watch.look()?;
            if *held != Some(set) {
                read(self.sets, &[set], other)?;
                *held = Some(set);
            }
            *compared += 1;
            if let Some(common) = common_at_least(own, other, least)
                && !each(set, jaccard_of(common, a, b))
            {
                break;
            }
        }
        Ok(())
    }

    /// The first set in `buffers.found` that is similar to the set `own.0`, see
    /// [`Matcher::each_similar`].
    fn first_similar(&self, own: (u32, &[u64]), buffers: &mut Buffers) -> Result<Option<LedSet>> {
        let mut first = None;
        self.each_similar(own, buffers, |leader, similarity| {
            first = Some(LedSet { set: own.0, leader, similarity });
            false
        })?;
        Ok(first)
    }
}

struct Leading<'a, S: ?Sized> {
    matcher: Matcher<'a, S>,
    threads: usize,
    folder: &'a ScratchFolder,
    compared: AtomicU64,
    meetings: AtomicU64,
}

impl<S: FeatureSets + ?Sized> Leading<'_, S> {
    /// Compares the sets with the leaders among them. When the index of leaders is full, no more
    /// leaders are added: the sets that are similar to none of the indexed leaders are returned for
    /// the next pass.
    fn pass(
        &self,
        sets: &PassSets<'_>,
        memory: u64,
        led: &mut Vec<LedSet>,
    ) -> Result<TokenFile<'_>> {
        let matcher = &self.matcher;
        matcher.watch.report()?;
        let mut postings =
            Postings::new(memory, matcher.prefixes, sets.feature_count(matcher.sets))?;
        let mut rest = TokenFile::new(self.folder);
        let mut buffers = Buffers::default();
        for block in sets.blocks(matcher.sets) {
            let parts = side_by_side(&Part::all(self.threads), |part| {
                self.compare(sets, part.of_indices(block.clone()), &postings)
            })?;
            postings.begin_block();
            for (unled, its) in parts {
                led.extend(its);
                for (set, known) in unled.each() {
                    buffers.meetings += postings.meet_fresh(known, &mut buffers.found);
                    if let Some(its) = matcher.first_similar((set, &[]), &mut buffers)? {
                        led.push(its);
                    } else if rest.is_empty() && postings.fits(known) {
                        postings.push(set, known)?;
                    } else {
                        rest.push(set, known)?;
                    }
                }
            }
        }
        rest.end_piece()?;
        self.count(&buffers);
        Ok(rest)
    }

    /// Estimates from a sample how many comparisons will find that two sets are not similar. Twice
    /// as many sets take up to four times as many; fewer if most sets have similar leaders. So the
    /// growth is that from half of the sample to the whole.
    fn estimate(&self, sets: &[u32], rarity: &Rarity) -> Result<Unlike> {
        let every = |step: usize| sets.iter().copied().step_by(step).collect::<Vec<u32>>();
        let step = sets.len() / SAMPLE_COUNT;
        let cost = |sample: &[u32]| -> Result<f64> {
            let mut led = Vec::new();
            self.pass(&PassSets::Unknown(sample, rarity), u64::MAX, &mut led)?;
            let [compared, met] =
                [&self.compared, &self.meetings].map(|count| count.swap(0, Ordering::Relaxed));
            Ok((compared - led.len() as u64 + met / MEETINGS_PER_COMPARISON) as f64)
        };
        let (half, whole) = (cost(&every(2 * step))?, cost(&every(step))?);
        let doublings = (step as f64).log2();
        let growth = if half > 0.0 { (whole / half).clamp(2.0, 4.0) } else { 4.0 };
        let pairs = whole * growth.powf(doublings);
        Ok(Unlike { document_count: sets.len() as u64, pair_count: pairs as u64 })
    }

    fn count(&self, buffers: &Buffers) {
        self.compared.fetch_add(buffers.compared, Ordering::Relaxed);
        self.meetings.fetch_add(buffers.meetings, Ordering::Relaxed);
    }

    /// Compares the sets of a part of a block with the indexed leaders. Returns the sets without a
    /// similar leader, and the sets with a leader.
    fn compare(
        &self,
        sets: &PassSets<'_>,
        part: Range<usize>,
        postings: &Postings,
    ) -> Result<(KnownSets, Vec<LedSet>)> {
        let (mut unled, mut led) = (KnownSets::default(), Vec::new());
        let (mut buffers, matcher) = (Buffers::default(), &self.matcher);
        sets.each(part, matcher.sets, matcher.prefixes, |set, own, known| {
            matcher.watch.tick(1)?;
            buffers.meetings += postings.meet(known, &mut buffers.found);
            match matcher.first_similar((set, own), &mut buffers)? {
                Some(its) => led.push(its),
                None => unled.push(set, known),
            }
            Ok(())
        })?;
        self.count(&buffers);
        Ok((unled, led))
    }
}

/// The estimated number of comparisons that find two documents not similar.
///
/// Each document is compared with leaders that share rare features, up to the first similar leader.
/// If few documents are similar, nearly all become leaders, and the number of comparisons grows
/// with the square of the number of documents.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Unlike {
    /// The number of documents.
    pub document_count: u64,
    /// The estimated number of pairs of these documents that will be compared and are not similar.
    pub pair_count: u64,
}

impl fmt::Display for Unlike {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Unlike { document_count, pair_count } = self;
        write!(
            f,
            "many of {document_count} documents share much of their text without being similar, so \
             about {pair_count} pairs are compared"
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::join::confirm::jaccard;
    use proptest::collection::{btree_set, vec};
    use proptest::prelude::*;

    /// The ends of the sets, and their features.
    struct Lists(Vec<u64>, Vec<u64>);

    impl Lists {
        fn of(lists: &[Vec<u64>]) -> Self {
            let ends = lists.iter().scan(0, |end, list| {
                *end += list.len() as u64;
                Some(*end)
            });
            Lists(ends.collect(), lists.concat())
        }
    }

    impl FeatureSets for Lists {
        fn count(&self) -> u32 {
            self.0.len() as u32
        }

        fn range_of(&self, set: u32) -> Range<u64> {
            let start = set.checked_sub(1).map_or(0, |before| self.0[before as usize]);
            start..self.0[set as usize]
        }

        fn read_at(&self, start: u64, features: &mut [u64]) -> Result<()> {
            features.copy_from_slice(&self.1[start as usize..][..features.len()]);
            Ok(())
        }
    }

    /// Finds the leaders by comparing each set with all earlier leaders.
    fn by_scan(lists: &[Vec<u64>], likeness: Likeness) -> Vec<(u32, u32, f64)> {
        let (mut leaders, mut led): (Vec<usize>, Vec<_>) = (Vec::new(), Vec::new());
        for (set, own) in lists.iter().enumerate() {
            let is_similar = |leader: &&usize| {
                let other = &lists[**leader];
                let common = own.iter().filter(|it| other.contains(it)).count();
                let contains = |part| {
                    own.len() <= other.len()
                        && (own.is_empty() || common as f64 / own.len() as f64 >= part)
                };
                jaccard(own, other) >= likeness.similarity
                    && likeness.contained.is_none_or(contains)
            };
            match leaders.iter().find(is_similar) {
                Some(&leader) => {
                    led.push((set as u32, leader as u32, jaccard(own, &lists[leader])))
                }
                None => leaders.push(set),
            }
        }
        led
    }

    fn check(
        lists: Vec<Vec<u64>>,
        likeness: Likeness,
        memory: u64,
        threads: usize,
    ) -> LeadingCosts {
        let options = JoinOptions::new(0);
        let expected = by_scan(&lists, likeness);
        let within = (memory, threads);
        let (led, costs) =
            lead_within(&Lists::of(&lists), likeness, &options, within, |_| ()).unwrap();
        let led: Vec<_> = led.iter().map(|led| (led.set, led.leader, led.similarity)).collect();
        assert_eq!(led, expected);
        costs
    }

    fn lists(values: u64, most: usize) -> impl Strategy<Value = Vec<Vec<u64>>> {
        let set = btree_set(0..values, 0..most);
        vec(set.prop_map(|set| set.into_iter().collect()), 0..60)
    }

    proptest! {
        #[test]
        fn leaders_are_those_of_a_scan(
            lists in prop_oneof![lists(12, 7), lists(40, 30), lists(400, 40)],
            threshold in prop_oneof![
                Just(0.5), Just(0.8), Just(0.9), Just(1.0), Just(2.0 / 3.0), 0.05_f64..1.0
            ],
            contained in prop_oneof![Just(None), Just(Some(1.0)), Just(Some(0.9))],
            is_bounded in any::<bool>(),
            memory in prop_oneof![Just(1), Just(1 << 12), Just(1 << 24)],
            threads in 1_usize..4,
        ) {
            let threshold = if is_bounded || contained.is_none() { threshold } else { 0.0 };
            check(lists, Likeness::from(threshold).contained(contained), memory, threads);
        }

        #[test]
        fn copies_with_a_few_changes_are_found(
            base in btree_set(0_u64..1 << 60, 40..80),
            changes in vec((0_usize..40, 0_usize..14), 1..50),
            threshold in prop_oneof![Just(0.8), Just(0.6)],
        ) {
            let base: Vec<u64> = base.into_iter().collect();
            let changed = changes.iter().map(|&(at, count)| {
                let mut own = base.clone();
                for step in 0..count {
                    let place = (at * 7 + step * 3) % own.len();
                    own[place] ^= (at as u64 + 1) << 20;
                }
                own.sort_unstable();
                own.dedup();
                own
            });
            check(changed.collect(), threshold.into(), 1 << 24, 2);
        }
    }

    /// Rounding errors must not shorten a prefix: for 63 features with 56 in common, 8 tokens are
    /// needed, and floating point would yield 7.
    #[test]
    fn pairs_at_exactly_the_similarity_are_found() {
        for (len, common, other) in [(63, 56, 63), (4, 4, 5), (5, 4, 4), (80, 72, 82), (9, 8, 9)] {
            let one: Vec<u64> = (0..len).collect();
            let two: Vec<u64> = (len - common..len).chain(1000..1000 + other - common).collect();
            let similarity = jaccard(&one, &two);
            let led = check(vec![one.clone(), two.clone()], similarity.into(), 1 << 24, 1);
            assert_eq!(led.compared, 1);
            check(vec![one, two], (similarity + 1e-9).into(), 1 << 24, 1);
        }
    }

    /// All sets share a template of 100 features. `own` gives the other features of a set: their
    /// number is from 12 to 31, too many for most sets to be similar.
    fn filled(own: impl Fn(u64, u64) -> u64) -> Lists {
        let filled = |set: u64| {
            let mut all: Vec<u64> =
                (0..12 + set * 11 / 7 % 20).map(|at| 1000 + own(set, at)).collect();
            all.extend(0..100);
            all.sort_unstable();
            all.dedup();
            all
        };
        Lists::of(&(0..500).map(filled).collect::<Vec<_>>())
    }

    #[test]
    fn templates_filled_in_with_common_features_are_expected_to_take_long() {
        let mut expected = None;
        let options = JoinOptions::new(0);
        let lists = filled(|set, at| (set * 2_654_435_761 + at * 40_503) / 64 % 2000);
        let (_, costs) =
            lead_sets(&lists, 0.8.into(), &options, |unlike| expected = Some(unlike)).unwrap();
        let expected = expected.unwrap();
        assert_eq!(expected.document_count, 500);
        let found = costs.compared + costs.meetings / MEETINGS_PER_COMPARISON;
        assert!((found / 4..4 * found).contains(&expected.pair_count), "{expected:?} {costs:?}");
    }

    /// Sets with more features of their own than similar sets may have meet few others.
    #[test]
    fn templates_filled_in_with_features_of_their_own_meet_few_others() {
        let lists = filled(|set, at| 100 * set + at);
        let (_, costs) = lead_sets(&lists, 0.8.into(), &JoinOptions::new(0), |_| ()).unwrap();
        assert!(costs.meetings < 50 * 500, "{costs:?}");
    }

    #[test]
    fn a_small_memory_takes_more_passes() {
        let lists: Vec<Vec<u64>> =
            (0..200).map(|at| vec![at / 2, 1000 + at / 3, 2000 + at / 5, 3000 + at]).collect();
        let few = check(lists.clone(), 0.6.into(), 1 << 24, 2);
        let many = check(lists, 0.6.into(), 1 << 10, 2);
        assert_eq!(few.passes, 1);
        assert!(many.passes > 3, "{many:?}");
    }
}
