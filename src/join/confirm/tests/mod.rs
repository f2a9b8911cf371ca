//! Confirmed pairs, leaders and clusters, compared with exhaustive comparisons.

mod clusters;

use std::collections::{BTreeMap, BTreeSet};

use super::*;
use crate::join::JoinOptions;
use crate::join::tests::oracle;
use crate::join::tests::random::Random;
use crate::{Error, Fingerprint, Id, IdRef};

/// A document: its fingerprint and its features.
type Document = (u64, Vec<u64>);

/// Documents with a few features each; many are near or equal. The fingerprint depends on the
/// features.
fn documents(count: usize, seed: u64) -> Vec<Document> {
    let mut random = Random::new(seed);
    let mut documents: Vec<Document> = Vec::new();
    for _ in 0..count {
        let mut features: BTreeSet<u64> = match documents.len() {
            0 => BTreeSet::new(),
            len if !random.next().is_multiple_of(4) => {
                documents[random.next() as usize % len].1.iter().copied().collect()
            }
            _ => (0..random.next() % 30).map(|_| random.next() % 1000).collect(),
        };
        for _ in 0..random.next() % 3 {
            features.insert(random.next() % 1000);
            features.pop_first();
        }
        // Each feature changes one of a few bits, so different feature sets can have the same
        // fingerprint.
        let value = features.iter().fold(0, |value, feature| value ^ 1 << (feature % 12));
        documents.push((value, features.into_iter().collect()));
    }
    documents
}

fn confirmed(documents: &[Document], threshold: f64, options: &JoinOptions) -> Confirmed {
    let mut list = Documents::new();
    for (fingerprint, features) in documents {
        list.push(Fingerprint::new(*fingerprint), features);
    }
    let mut candidates = list.candidates(options).unwrap();
    for (number, (_, features)) in (0..).zip(documents) {
        if candidates.needs(number) {
            candidates.take(number, features).unwrap();
        }
    }
    candidates.confirm(threshold).unwrap()
}

/// The pairs computed by the definition.
fn expected(documents: &[Document], k: u32, threshold: f64) -> BTreeMap<(usize, usize), f64> {
    let values: Vec<u64> = documents.iter().map(|document| document.0).collect();
    let features: Vec<BTreeSet<u64>> =
        documents.iter().map(|document| document.1.iter().copied().collect()).collect();
    let similarity =
        |one: usize, other: usize| oracle::similarity(&features[one], &features[other]);
    oracle::confirmed_pairs(&values, k, threshold, similarity)
}

fn pairs_of(confirmed: &Confirmed, distinct: bool) -> Vec<ConfirmedPair> {
    let mut pairs = Vec::new();
    confirmed
        .for_each_pair(distinct, |pair| {
            pairs.push(pair);
            Ok::<(), Error>(())
        })
        .unwrap();
    pairs
}

fn options(k: u32) -> JoinOptions {
    JoinOptions::new(k).memory(1 << 16).threads(3)
}

#[test]
fn pairs_are_those_of_each_with_each() {
    for (count, seed) in [(0, 1), (1, 2), (2, 3), (40, 4), (300, 5)] {
        let documents = documents(count, seed);
        for (k, threshold) in [(0, 0.5), (2, 0.8), (4, 0.8), (12, 0.3), (64, 0.9), (3, 1.0)] {
            let confirmed = confirmed(&documents, threshold, &options(k));
            let pairs = pairs_of(&confirmed, false);
            let found: BTreeMap<(usize, usize), f64> = pairs
                .iter()
                .map(|pair| {
                    let [one, other] = [pair.first, pair.second].map(|at| at as usize);
                    ((one.min(other), one.max(other)), pair.similarity)
                })
                .collect();
            assert_eq!(found, expected(&documents, k, threshold), "{count} {k} {threshold}");
            assert_eq!(found.len(), pairs.len(), "a pair came twice");
            assert_eq!(confirmed.pair_count(false), pairs.len() as u64);
            assert!(pairs.is_sorted_by_key(|pair| pair.fingerprints[0]));
            let distinct = pairs_of(&confirmed, true);
            assert_eq!(confirmed.pair_count(true), distinct.len() as u64);
            let expected: Vec<_> =
                pairs.into_iter().filter(|p| p.fingerprints[0] != p.fingerprints[1]).collect();
            assert_eq!(distinct, expected);
        }
    }
}

/// Each document is represented by the first leader similar to it, by features and by sketches.
#[test]
fn each_document_goes_by_the_first_leader() {
    for (documents, k, threshold) in [
        (documents(0, 1), 3, 0.5),
        (documents(1, 2), 3, 0.5),
        (documents(400, 12), 4, 0.7),
        (documents(400, 13), 12, 0.3),
        (documents(400, 14), 64, 0.9),
        (documents(400, 15), 0, 1.0),
        (large_documents(300, 22), 2, 0.8),
        (large_documents(300, 23), 2, 0.95),
    ] {
        let pairs = expected(&documents, k, threshold);
        let near = |a: usize, b: usize| pairs.contains_key(&(a.min(b), a.max(b)));
        let dropped = oracle::dropped(0..0, 0..documents.len(), near);
        let expected: Vec<(u32, u32, f64)> = dropped
            .iter()
            .map(|(&at, &kept)| (at as u32, kept as u32, pairs[&(kept, at)]))
            .collect();
        for memory in [1 << 16, 1 << 30] {
            for outlined in [false, true] {
                let options = options(k).memory(memory);
                let mut list =
                    if outlined { Documents::outlined(threshold) } else { Documents::new() };
                documents.iter().for_each(|(value, features)| list.push((*value).into(), features));
                let mut candidates = list.candidates_to_lead(&options).unwrap();
                for (number, (_, features)) in (0..).zip(&documents) {
                    if candidates.needs(number) {
                        candidates.take(number, features).unwrap();
                    }
                }
                let led = candidates.lead(threshold).unwrap();
                for led in &led {
                    assert_eq!(led.leader_fingerprint.value(), documents[led.leader as usize].0);
                }
                let found: Vec<(u32, u32, f64)> =
                    led.iter().map(|led| (led.document, led.leader, led.similarity)).collect();
                assert_eq!(found, expected, "{} documents, k={k}", documents.len());
            }
        }
    }
}

/// A document is represented only by a leader with enough of its features, and no fewer.
#[test]
fn a_leader_has_the_features_of_those_that_go_by_it() {
    let documents = large_documents(300, 25);
    for (threshold, part) in [(0.6, 1.0), (0.6, 0.9), (0.9, 0.95), (0.3, 0.3)] {
        let pairs = expected(&documents, 2, threshold);
        let leads = |leader: usize, at: usize| {
            let (own, other) = (&documents[at].1, &documents[leader].1);
            let common = own.iter().filter(|feature| other.contains(feature)).count();
            pairs.contains_key(&(leader.min(at), leader.max(at)))
                && common as f64 / own.len() as f64 >= part
                && other.len() >= own.len()
        };
        let dropped = oracle::dropped(0..0, 0..documents.len(), leads);
        let expected: Vec<(u32, u32)> =
            dropped.iter().map(|(&at, &leader)| (at as u32, leader as u32)).collect();
        let mut list = Documents::outlined(threshold);
        documents.iter().for_each(|(value, features)| list.push((*value).into(), features));
        let mut candidates = list.candidates_to_lead(&options(2)).unwrap();
        for (number, (_, features)) in (0..).zip(&documents) {
            if candidates.needs(number) {
                candidates.take(number, features).unwrap();
            }
        }
        let led = candidates.lead(Likeness::from(threshold).contained(part)).unwrap();
        let found: Vec<(u32, u32)> = led.iter().map(|led| (led.document, led.leader)).collect();
        assert_eq!(found, expected, "similarity {threshold}, part {part}");
    }
    let nothing = || Documents::of_sketches().candidates_to_lead(&options(2)).unwrap();
    assert!(nothing().lead(Likeness::from(0.5).contained(0.5)).is_err());
    assert!(nothing().lead(Likeness::from(0.5)).is_ok());
    for threshold in [0.0, -0.5, 1.5, f64::NAN] {
        assert!(nothing().lead(threshold).is_err(), "{threshold}");
    }
}

#[test]
fn sketches_lead_as_features_do() {
    let mut random = Random::new(24);
    let mut sketches: Vec<(u64, Vec<u8>)> = Vec::new();
    for _ in 0..300 {
        let mut sketch = match sketches.len() {
            len if len > 0 && !random.next().is_multiple_of(4) => {
                sketches[random.next() as usize % len].1.clone()
            }
            _ => (0..32).map(|_| random.next() as u8).collect(),
        };
        for _ in 0..random.next() % 6 {
            sketch[random.next() as usize % 32] = random.next() as u8;
        }
        sketches.push((random.next() % 16, sketch));
    }
    let alike = |a: usize, b: usize| sketch_similarity(&sketches[a].1, &sketches[b].1);
    let near = |a: usize, b: usize| {
        sketches[a] == sketches[b]
            || oracle::distance(sketches[a].0, sketches[b].0) <= 2 && alike(a, b) >= 0.8
    };
    let dropped = oracle::dropped(0..0, 0..sketches.len(), near);
    let expected: Vec<(u32, u32)> =
        dropped.iter().map(|(&at, &kept)| (at as u32, kept as u32)).collect();
    for memory in [1 << 16, 1 << 30] {
        let mut list = Documents::of_sketches();
        sketches.iter().for_each(|(value, sketch)| list.push_sketch((*value).into(), sketch));
        let mut candidates = list.candidates_to_lead(&options(2).memory(memory)).unwrap();
        for (number, (_, sketch)) in (0..).zip(&sketches) {
            if candidates.needs(number) {
                candidates.take_sketch(number, sketch).unwrap();
            }
        }
        let led = candidates.lead(0.8).unwrap();
        let found: Vec<(u32, u32)> = led.iter().map(|led| (led.document, led.leader)).collect();
        assert_eq!(found, expected);
    }
}

/// Documents with many features; some are copies of earlier documents with a few features
/// exchanged. All fingerprints are near, as in a large collection of dissimilar documents.
fn large_documents(count: u64, seed: u64) -> Vec<Document> {
    let mut random = Random::new(seed);
    let mut documents: Vec<Document> = Vec::new();
    for number in 0..count {
        let mut features: BTreeSet<u64> = match documents.len() {
            len if len > 0 && !random.next().is_multiple_of(3) => {
                documents[random.next() as usize % len].1.iter().copied().collect()
            }
            _ => (0..200).map(|_| random.next()).collect(),
        };
        for _ in 0..random.next() % 40 {
            features.insert(random.next());
            features.pop_first();
        }
        documents.push((1 << (number % 64), features.into_iter().collect()));
    }
    documents
}

#[test]
fn outlines_spare_features_and_change_no_result() {
    let documents = large_documents(300, 21);
    // With gaps, some documents have no outline and are compared by their features alone.
    for (threshold, has_gaps) in [(0.7, false), (0.8, false), (0.95, false), (0.8, true)] {
        let without = confirmed(&documents, threshold, &options(2));
        let mut list = Documents::outlined(threshold);
        for (number, (fingerprint, features)) in documents.iter().enumerate() {
            let fingerprint = Fingerprint::new(*fingerprint);
            match has_gaps && number % 10 == 0 {
                true => list.push_outlined(fingerprint, feature_digest(features), None),
                false => list.push(fingerprint, features),
            }
        }
        let mut candidates = list.candidates(&options(2)).unwrap();
        // All pairs are near; few are similar.
        assert!(candidates.pair_count() < 300 * 299 / 2 / 2, "{}", candidates.pair_count());
        let groups: Vec<Option<u32>> = (0..300).map(|number| candidates.group_of(number)).collect();
        for (number, (_, features)) in (0..).zip(&documents) {
            if candidates.needs(number) {
                candidates.take(number, features).unwrap();
            }
        }
        let with = candidates.confirm(threshold).unwrap();
        let pairs = pairs_of(&with, false);
        assert_eq!(pairs, pairs_of(&without, false));
        assert!(pairs.len() > 10, "{}", pairs.len());
        let is_within = |pair: &ConfirmedPair| {
            let [one, other] = [pair.first, pair.second].map(|number| groups[number as usize]);
            one.is_some() && one == other
        };
        assert!(pairs.iter().all(is_within));
        let distinct: BTreeSet<_> = groups.iter().collect();
        assert_eq!(distinct.len() == 1, has_gaps, "{}", distinct.len());
    }
}

#[test]
fn documents_of_few_features_have_no_outline() {
    let features: Vec<u64> = (0..128).collect();
    assert_eq!(Outline::of(&features[..15]), None);
    let outline = Outline::of(&features).unwrap();
    assert_eq!(outline.to_bytes()[1..], fpstore_base::sketch(&features, 32));
    for count in [16, 127, 128] {
        let outline = Outline::of(&features[..count]).unwrap();
        assert_eq!(outline.to_bytes()[0], u8::from(count < 128));
        assert_eq!(Outline::from_bytes(&outline.to_bytes()), Some(outline));
    }
    assert_eq!(Outline::from_bytes(&[1; 32]), None);
    assert_eq!(Outline::from_bytes(&[2; 33]), None);
    assert_eq!(Outline::from_bytes(&[]), None);
    let mut list = Documents::outlined(0.8);
    list.push(Fingerprint::new(1), &features);
    let refused = list.candidates(&options(2)).unwrap().confirm(0.7).unwrap_err();
    assert!(refused.to_string().contains("the outlines are for 0.8"), "{refused}");
}

#[test]
fn a_confirmer_reads_twice_and_notices_changes() {
    let documents = large_documents(60, 22);
    let confirmer = Confirmer::new(0.7, options(2)).unwrap();
    let mut readings = 0;
    let id = |number: usize| match number % 2 {
        0 => Id::U64(number as u64),
        _ => Id::Text(format!("document {number}").into()),
    };
    let found = confirmer.features(|take| {
        readings += 1;
        documents.iter().enumerate().try_for_each(|(number, (fingerprint, features))| {
            take(Fingerprint::new(*fingerprint), Some(id(number).as_ref()), features)
        })
    });
    let found = found.unwrap();
    assert_eq!(readings, 2);
    assert_eq!(pairs_of(&found, false), pairs_of(&confirmed(&documents, 0.7, &options(2)), false));
    assert_eq!(found.id(60).unwrap(), None);
    assert!((0..60).all(|number| found.id(number as u32).unwrap() == Some(id(number))));
    // The second reading lacks a document, or has other features.
    for (count, is_same, part) in [(59, true, "files were changed"), (60, false, "a was changed")] {
        let mut reading = 0;
        let changed = confirmer.features(|take| {
            reading += 1;
            let count = if reading == 1 { 60 } else { count };
            documents[..count].iter().try_for_each(|(fingerprint, features)| {
                let features = if reading == 1 || is_same { features.as_slice() } else { &[] };
                take(Fingerprint::new(*fingerprint), Some(IdRef::Text("a")), features)
            })
        });
        let changed = changed.unwrap_err();
        assert!(changed.to_string().contains(part), "{changed}");
    }
    assert!(Confirmer::new(0.0, options(2)).is_err() && Confirmer::new(0.5, options(65)).is_err());
}

#[test]
fn what_is_wrong_is_refused() {
    let list = || {
        let mut list = Documents::new();
        list.push(Fingerprint::new(1), &[1, 2]);
        list.push(Fingerprint::new(2), &[2, 3]);
        list
    };
    let mut candidates = list().candidates(&JoinOptions::new(2)).unwrap();
    assert_eq!(candidates.pair_count(), 1);
    assert!(candidates.needs(0) && candidates.needs(1) && !candidates.needs(2));
    let changed = candidates.take(0, &[1, 3]).unwrap_err();
    assert!(changed.to_string().contains("document 0 has other features"), "{changed}");
    assert!(candidates.take(2, &[]).is_err());
    let missing = candidates.confirm(0.5).unwrap_err();
    assert!(missing.to_string().contains("features of document 0"), "{missing}");
    for threshold in [0.0, 1.1, f64::NAN] {
        let candidates = list().candidates(&JoinOptions::new(2)).unwrap();
        assert!(candidates.confirm(threshold).is_err());
    }
    let mut copies = Documents::new();
    (0..3).for_each(|_| copies.push(Fingerprint::new(0), &[7]));
    let candidates = copies.candidates(&JoinOptions::new(2).max_pairs(2)).unwrap();
    assert!(matches!(candidates.confirm(1.0), Err(Error::TooManyPairs { most: 2 })));
    assert!(list().candidates(&JoinOptions::new(65)).is_err());
}

/// A warning is returned if near documents are dissimilar, but not if all are similar or no
/// documents are near.
#[test]
fn many_unlike_documents_are_told_beforehand() {
    let unlike = |documents: &[Document], pairs_min: u64| {
        let mut list = Documents::new();
        documents.iter().for_each(|(value, features)| list.push((*value).into(), features));
        let mut candidates = list.candidates_to_lead(&options(2)).unwrap();
        for (number, (_, features)) in (0..).zip(documents) {
            if candidates.needs(number) {
                candidates.take(number, features).unwrap();
            }
        }
        candidates.unlike(0.5, pairs_min).unwrap()
    };
    let strangers: Vec<Document> =
        (0..320_u64).map(|at| (1 << (at % 64), (100 * at..100 * at + 50).collect())).collect();
    let found = unlike(&strangers, 1000).unwrap();
    assert_eq!(found.document_count, 320);
    let all = 320 * 319 / 2;
    assert!((all * 9 / 10..=all * 11 / 10).contains(&found.pair_count), "{found}");
    assert!(unlike(&strangers, 2 * all).is_none());
    let alike: Vec<Document> =
        (0..320_u64).map(|at| (1 << (at % 64), (at % 7..at % 7 + 50).collect())).collect();
    assert_eq!(unlike(&alike, 1000), None);
    let far: Vec<Document> = (0..320_u64).map(|at| (at * 0x0107_0F1F, vec![at])).collect();
    assert_eq!(unlike(&far, 100_000), None);
    assert_eq!(unlike(&[], 0), None);
}

/// A join stopped after any of its parts resumes there, with the same result.
#[test]
fn a_join_goes_on_after_its_parts() {
    /// Stops the work after some parts.
    struct Kept {
        bytes: Option<Vec<u8>>,
        left: u32,
        told: std::cell::Cell<(u32, u32)>,
    }
    impl KeepParts for Kept {
        type Error = Error;

        fn earlier(&self) -> Option<Vec<u8>> {
            self.bytes.clone()
        }

        fn resumed(&self, done: u32, count: u32) {
            self.told.set((done, count));
        }

        fn keep(&mut self, bytes: &[u8]) -> Result<(), Error> {
            self.bytes = Some(bytes.to_vec());
            self.left -= 1;
            if self.left == 0 { Err(Error::Interrupted) } else { Ok(()) }
        }
    }

    let documents = large_documents(200, 26);
    let list = || {
        let mut list = Documents::outlined(0.8);
        documents.iter().for_each(|(value, features)| list.push((*value).into(), features));
        list
    };
    let connections = |found: &Candidates| -> Vec<(bool, u32)> {
        let node = |at: u32| (found.needs(at), found.group_of(at).unwrap());
        (0..200).map(node).collect()
    };
    let whole = list().candidates_to_lead(&options(2)).unwrap();
    let mut most = 0;
    for left in 1.. {
        let mut kept = Kept { bytes: None, left, told: std::cell::Cell::default() };
        let first = list().candidates_in_parts(&options(2), &mut kept);
        if let Ok(found) = first {
            assert_eq!(connections(&found), connections(&whole));
            break;
        }
        // Bytes saved for other nodes are ignored.
        let mut other = Kept { left: u32::MAX, ..kept };
        let few = Documents::outlined(0.8).candidates_in_parts(&options(2), &mut other).unwrap();
        assert_eq!((few.pair_count(), other.told.get()), (0, (0, 0)));
        let (bytes, told) = (first_bytes(&list, left), std::cell::Cell::default());
        let mut kept = Kept { bytes, left: u32::MAX, told };
        let found = list().candidates_in_parts(&options(2), &mut kept).unwrap();
        assert_eq!(connections(&found), connections(&whole), "after {left}");
        assert_eq!(kept.told.get().0, left);
        most = most.max(kept.told.get().1);
    }
    assert!(most > 4, "{most} parts");

    fn first_bytes(list: &dyn Fn() -> Documents, left: u32) -> Option<Vec<u8>> {
        let mut kept = Kept { bytes: None, left, told: std::cell::Cell::default() };
        assert!(list().candidates_in_parts(&options(2), &mut kept).is_err());
        kept.bytes
    }
}
