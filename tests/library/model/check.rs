//! Compares every way to read a store with a scan of the model.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Debug;
use std::rc::Rc;

use super::data::{Setting, sketch};
use super::records::{Index, Place, Records, spelled};
use crate::common::joins::{fingerprints_of, join_options, pairs, rows};
use crate::common::{Random, oracle, records_of, samples};
use fpstore::join::{
    BatchMode, ClusterMethod, JoinPlan, PlanReads, Share, clusters, near_pairs_across, search_many,
};
use fpstore::{Answer, Error, Fingerprint, Id, IdRef, Limits, Searcher, Store, verify};

/// Up to this number of values, a step compares all pairs.
const FEW: usize = 400;
/// Above this number of values, no step compares all pairs.
const MANY: usize = 6000;

/// What is compared: a snapshot of one or several stores, and its model.
pub struct Check<'a> {
    pub store: &'a Store,
    pub index: &'a Index,
    pub setting: &'a Setting,
    /// The distances of searches. They are few, because planning for a distance can take longer
    /// than many searches, and a newly opened store has no plans.
    pub ks: &'a [u32],
    pub random: &'a mut Random,
    /// A description of the compared snapshot, for messages.
    pub case: &'a str,
    /// Counts the comparisons.
    pub compared: &'a mut u64,
}

/// Fails at the first difference between two lists.
fn assert_same<A: Debug + PartialEq<B>, B: Debug>(
    found: &[A],
    expected: &[B],
    case: impl FnOnce() -> String,
) {
    let differs = |at: &usize| match (found.get(*at), expected.get(*at)) {
        (Some(found), Some(expected)) => found != expected,
        (found, expected) => found.is_some() || expected.is_some(),
    };
    if let Some(at) = (0..found.len().max(expected.len())).find(differs) {
        let (counts, case) = ([found.len(), expected.len()], case());
        let [found, expected] = [format!("{:?}", found.get(at)), format!("{:?}", expected.get(at))];
        let counts = format!("{} found, {} expected", counts[0], counts[1]);
        panic!("{case}: {counts}; number {at} is {found} in place of {expected}");
    }
}

impl Check<'_> {
    fn k(&mut self) -> u32 {
        self.ks[self.random.below(self.ks.len() as u64) as usize]
    }

    fn needle(&mut self, k: u32) -> u64 {
        self.setting.needle(&self.index.values, k, self.random)
    }

    fn threads(&mut self) -> usize {
        1 + self.random.below(2) as usize
    }

    /// Compares an answer with the expected hits, including their ids, labels, sketches and stores.
    fn compare(&mut self, answer: &Answer<'_>, expected: &[(u32, u64)], case: impl Fn() -> String) {
        let mut found = Vec::new();
        for hit in answer.hits() {
            let (value, mut places) = (hit.fingerprint().value(), Vec::new());
            for (store, hit) in hit.stores() {
                let (mut ids, mut own) = (Vec::new(), hit.ids());
                while let Some(id) = own.next() {
                    let id = id.unwrap().to_string();
                    if self.setting.sketch_len > 0 {
                        let expected = sketch(value, &id, self.setting.sketch_len);
                        assert_eq!(own.sketch(), expected, "{}, sketch of {id}", case());
                    }
                    ids.push((id, own.label().to_string()));
                }
                let bare = hit.labels().filter(|_| ids.is_empty());
                let labels = bare.map(String::from).collect();
                places.push(Place { store: store.0, ids, labels });
            }
            found.push((hit.distance(), value, places));
        }
        let of = |&(distance, value): &(u32, u64)| (distance, value, &self.index.places[&value]);
        let expected: Vec<(u32, u64, &Vec<Place>)> = expected.iter().map(of).collect();
        let found: Vec<(u32, u64, &Vec<Place>)> =
            found.iter().map(|(distance, value, places)| (*distance, *value, places)).collect();
        assert_same(&found, &expected, &case);
        assert_eq!(answer.len(), expected.len(), "{}", case());
        *self.compared += 1;
    }

    /// Compares single searches of all kinds.
    pub fn searches(&mut self, searcher: &mut Searcher, count: u64) {
        for _ in 0..count {
            let k = self.k();
            let needle = self.needle(k);
            let expected = self.index.scan(needle, k);
            let case = self.case;
            let named = |what: &str| format!("{case}: {what} of {needle:016x}, k = {k}");
            let wanted = Fingerprint::new(needle);
            match self.random.below(8) {
                0..=3 => {
                    let answer = searcher.search(wanted, k).unwrap();
                    assert!(!answer.outcome().cut, "{}", named("search"));
                    self.compare(&answer, &expected, || named("search"));
                }
                4 | 5 => {
                    let most = self.random.below(expected.len().min(40) as u64 + 2) as usize;
                    let limits = Limits::default().limit(most);
                    let answer = searcher.search_with(wanted, k, &limits).unwrap();
                    let named = || named(&format!("search with limit {most}"));
                    assert_eq!(answer.outcome().cut, expected.len() > most, "{}", named());
                    self.compare(&answer, &expected[..expected.len().min(most)], named);
                }
                6 => {
                    let most = self.random.below(2 * self.index.values.len() as u64 + 2);
                    let limits = Limits::default().max_compared(most);
                    let answer = searcher.search_with(wanted, k, &limits).unwrap();
                    let cut = answer.outcome().cut;
                    let found: BTreeSet<(u32, u64)> = answer
                        .hits()
                        .map(|hit| (hit.distance(), hit.fingerprint().value()))
                        .collect();
                    // A search that was cut can miss hits: check only that each hit is expected.
                    if cut {
                        let is_right = found.iter().all(|of| expected.binary_search(of).is_ok());
                        assert!(is_right, "{}: {found:?}", named("search that was cut"));
                    } else {
                        self.compare(&answer, &expected, || named(&format!("{most} compared")));
                    }
                }
                _ => {
                    let count = self.random.below(12) as usize;
                    let answer = searcher.nearest(wanted, count, k).unwrap();
                    let nearest = &expected[..expected.len().min(count)];
                    self.compare(&answer, nearest, || named(&format!("the nearest {count}")));
                }
            }
        }
    }

    /// Compares a batch of queries in a random mode.
    pub fn batch(&mut self) {
        let k = if self.index.values.len() > FEW { self.k().min(6) } else { self.k() };
        let count = self.random.below(40);
        let needles: Vec<u64> = (0..count).map(|_| self.needle(k)).collect();
        let queries: Vec<Fingerprint> = needles.iter().copied().map(Fingerprint::new).collect();
        let modes = [BatchMode::Auto, BatchMode::Probe, BatchMode::Walk, BatchMode::Pass];
        let mode = modes[self.random.below(4) as usize];
        let limit = (self.random.below(3) == 0).then(|| self.random.below(5) as usize);
        let (options, limits) = (join_options(k, self.threads()), Limits::default().limit(limit));
        let (store, case, mut next) = (self.store, self.case, 0);
        search_many(store, &queries, &options, &limits, mode, |at, answer| {
            let needle = needles[at];
            let named = || format!("{case}: batch, {mode:?}, {needle:016x}, k = {k}, {limit:?}");
            assert_eq!(at, next, "{}", named());
            next += 1;
            let expected = self.index.scan(needle, k);
            let most = limit.unwrap_or(usize::MAX).min(expected.len());
            assert_eq!(answer.outcome().cut, most < expected.len(), "{}", named());
            self.compare(&answer, &expected[..most], named);
            Ok::<(), Error>(())
        })
        .unwrap();
        assert_eq!(next, needles.len());
    }

    /// A distance for joins; small for many values, and `None` for too many.
    fn k_of_join(&mut self) -> Option<u32> {
        match self.index.values.len() {
            0..60 => Some([0, 1, 3, 6, 20, 64][self.random.below(6) as usize]),
            60..=FEW => Some(self.random.below(7) as u32),
            len if len <= MANY && self.random.below(6) == 0 => {
                Some(1 + self.random.below(2) as u32)
            }
            _ => None,
        }
    }

    /// Compares a join of the store with itself, as a whole or in shares.
    pub fn pairs(&mut self) {
        let Some(k) = self.k_of_join() else { return };
        let expected = oracle::pairs(&self.index.values, k);
        let count = [1, 1, 2, 5][self.random.below(4) as usize];
        let mut found = Vec::new();
        for number in 0..count {
            let options = join_options(k, self.threads()).share(Share { number, count });
            found.extend(pairs(self.store, &options));
        }
        found.sort_unstable();
        let case = self.case;
        assert_same(&found, &expected, || format!("{case}: pairs, k = {k}, {count} shares"));
        *self.compared += 1;
    }

    /// Compares the shares of an older plan: together they have each pair once, or every share
    /// returns an error.
    pub fn stale_shares(&mut self, plan: &str) {
        let plan: JoinPlan = plan.parse().unwrap();
        if self.index.values.len() > if plan.reads() == PlanReads::Ranges { MANY } else { FEW } {
            return;
        }
        let (k, count) = (plan.k(), 1 + self.random.below(4) as u32);
        let (mut found, mut refused) = (Vec::new(), 0);
        for number in 0..count {
            let options = join_options(k, self.threads()).share(Share { number, count });
            let done = plan.pairs_of_share(self.store, &options, |pairs| {
                found.extend(pairs.iter().map(fingerprints_of));
                Ok::<(), Error>(())
            });
            match done {
                Ok(()) => {}
                Err(Error::InvalidOptions { reason }) if reason.contains("has no table") => {
                    refused += 1;
                }
                Err(error) => panic!("{}: {error}", self.case),
            }
        }
        *self.compared += 1;
        if refused > 0 {
            return assert_eq!(refused, count, "{}: shares that are refused", self.case);
        }
        found.sort_unstable();
        let (expected, case) = (oracle::pairs(&self.index.values, k), self.case);
        let named = || format!("{case}: {count} shares of an earlier plan, k = {k}");
        assert_same(&found, &expected, named);
    }

    /// Compares document pairs and clusters.
    pub fn documents(&mut self) {
        if self.index.values.len() > FEW || self.index.record_count > 2 * FEW {
            return;
        }
        let (k, distinct, case) =
            (self.random.below(5) as u32, self.random.below(2) == 0, self.case);
        let documents = self.index.documents();
        let expected: Vec<_> = oracle::pairs_of_positions(documents.iter().map(|of| of.0), k)
            .into_iter()
            .filter(|(values, _)| !distinct || values.0 != values.1)
            .map(|((first, second), (one, other))| {
                let [one, other] = [one, other].map(|at| documents[at].2.map(String::from));
                (first, second, oracle::distance(first, second), one, other)
            })
            .collect();
        let text = |id: Option<Id>| id.map(|id| id.to_string());
        let found: Vec<_> = rows(self.store, &join_options(k, self.threads()), distinct)
            .into_iter()
            .map(|(first, second, distance, one, other)| {
                (first, second, distance, text(one), text(other))
            })
            .collect();
        assert_same(&found, &expected, || format!("{case}: pairs of documents, k = {k}"));
        let mut found: Vec<Vec<u64>> = Vec::new();
        let options = join_options(k, self.threads());
        let grouped = clusters(self.store, &options, ClusterMethod::Components).unwrap();
        grouped
            .for_each(|cluster| {
                let own = cluster.members.iter().map(|of| of.fingerprint.value());
                let own: BTreeSet<u64> = own.collect();
                assert_eq!(own.len(), cluster.members.len(), "{case}: a member twice");
                found.push(own.into_iter().collect());
                Ok::<(), Error>(())
            })
            .unwrap();
        let values = &self.index.values;
        let near = |one: usize, other: usize| oracle::distance(values[one], values[other]) <= k;
        let size = |value: &u64| {
            self.index.places[value].iter().map(|of| of.ids.len()).sum::<usize>().max(1)
        };
        let mut expected: Vec<Vec<u64>> = oracle::components(values.len(), near)
            .into_iter()
            .map(|group| group.into_iter().map(|at| values[at]).collect())
            .collect();
        expected.retain(|group: &Vec<u64>| group.iter().map(size).sum::<usize>() > 1);
        found.sort();
        expected.sort();
        assert_same(&found, &expected, || format!("{case}: clusters, k = {k}"));
        *self.compared += 2;
    }

    /// Compares a join of this store with another store.
    pub fn across(&mut self, other: &Store, index: &Index) {
        if self.index.values.len() * index.values.len() > FEW * FEW {
            return;
        }
        let (k, case) = (self.random.below(7) as u32, self.case);
        let (expected, mut found) =
            (oracle::pairs_across(&self.index.values, &index.values, k), Vec::new());
        near_pairs_across(self.store, other, &join_options(k, self.threads()), |pairs| {
            found.extend(pairs.iter().map(fingerprints_of));
            Ok::<(), Error>(())
        })
        .unwrap();
        found.sort_unstable();
        assert_same(&found, &expected, || format!("{case}: pairs across, k = {k}"));
        *self.compared += 1;
    }

    /// Compares look-ups of records by their ids.
    pub fn ids(&mut self) {
        let mut by_id = BTreeMap::<&str, Vec<(u64, usize)>>::new();
        for (value, store, id) in self.index.documents() {
            let Some(id) = id else { continue };
            by_id.entry(id).or_default().push((value, store));
        }
        let known: Vec<&str> = by_id.keys().copied().collect();
        let mut wanted = vec![Id::Text("none such".into())];
        for _ in 0..self.random.below(6).min(known.len() as u64) {
            let id = known[self.random.below(known.len() as u64) as usize];
            wanted.push(spelled(id, self.random.below(2) == 0));
        }
        let asked: Vec<IdRef<'_>> = wanted.iter().map(Id::as_ref).collect();
        let found = self.store.find_ids(&asked, None).unwrap();
        let case = self.case;
        for (id, found) in asked.iter().zip(&found) {
            let found: Vec<(u64, usize)> =
                found.iter().map(|of| (of.fingerprint.value(), of.store.0)).collect();
            let expected = by_id.get(id.to_string().as_str()).cloned().unwrap_or_default();
            assert_same(&found, &expected, || format!("{case}: records of the id {id}"));
        }
        let absent = (Fingerprint::new(self.needle(0)), Some(asked[0]));
        let records = asked
            .iter()
            .zip(&found)
            .filter_map(|(id, found)| Some((found.first()?.fingerprint, Some(*id))));
        let count = found.iter().filter(|found| !found.is_empty()).count() as u64;
        let stored = self.store.count_stored(records.chain([absent])).unwrap();
        // `count_stored` compares only the first ids of a fingerprint, so it can miss records.
        let are_few = self.index.record_count < 1000;
        assert!(
            stored == count || !are_few && stored < count,
            "{case}: {stored} of {count} stored"
        );
        *self.compared += 1;
    }

    /// Compares all records of one store, and the counts and labels of its segments.
    pub fn contents(&mut self, records: &Records) {
        let case = self.case;
        let expected: Vec<_> = records.by_value(None).into_iter().collect();
        let found: Vec<_> = records_of(self.store).into_iter().collect();
        assert_same(&found, &expected, || format!("{case}: all records"));
        let segments = self.store.info().segments;
        let mut labels: BTreeSet<Rc<str>> =
            segments.iter().map(|of| of.label.as_str().into()).collect();
        for label in &records.labels() {
            assert!(labels.contains(label), "{case}: no segment has the label '{label}'");
        }
        labels.extend(records.labels());
        for label in labels {
            let named = || format!("{case}: records with the label '{label}'");
            let expected = records.by_value(Some(&label));
            let own = self.store.with_labels(&[&*label]).unwrap();
            let found: Vec<_> = records_of(&own).into_iter().collect();
            let expected: Vec<_> = expected.into_iter().collect();
            assert_same(&found, &expected, named);
            let [mut values, mut ids] = [0; 2];
            for of in segments.iter().filter(|of| *of.label == *label) {
                values += of.fingerprint_count - of.deleted_fingerprints;
                ids += of.id_count - of.deleted_ids;
            }
            // A fingerprint in two segments is counted twice until the segments are merged.
            let count = records.0.iter().filter(|of| of.label == label).count() as u64;
            let counts = expected.len() as u64..=count;
            assert!(counts.contains(&values), "{}: {values} counted, not {counts:?}", named());
            let id_count: usize = expected.iter().map(|(_, ids)| ids.len()).sum();
            assert_eq!(ids, id_count as u64, "{}: ids", named());
        }
        *self.compared += 1;
    }

    /// Verifies the store, which is not damaged: no fault may be found.
    pub fn soundness(&mut self) {
        let path = self.store.info().path;
        let report = verify(&path, &samples(self.random.below(8))).unwrap();
        let faults: Vec<String> = report.faults.iter().map(ToString::to_string).collect();
        assert!(report.is_sound(), "{}: verify reports {}", self.case, faults.join("; "));
        *self.compared += 1;
    }
}
