//! Compares confirmed pairs, leaders and clusters with the results of comparing all pairs.

mod clusters;

use std::collections::{BTreeMap, BTreeSet};

use super::*;
use crate::join::JoinOptions;
use crate::join::confirm::confirmer::TakeDocument;
use crate::join::tests::oracle;
use crate::join::tests::random::Random;
use crate::{Error, Fingerprint, Id, IdRef};

/// A document: its fingerprint and its features.
type Document = (u64, Vec<u64>);

/// Documents with a few features each; many are similar. Fingerprints depend on the features.
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
    let confirmer = Confirmer::new(threshold, options.clone()).unwrap();
    let read = |take: &mut TakeDocument<'_, [u64]>| {
        documents.iter().try_for_each(|(value, features)| take((*value).into(), None, features))
    };
    confirmer.features::<Error>(read).unwrap()
}

/// The similar pairs, found by comparing all pairs.
fn expected(documents: &[Document], threshold: f64) -> BTreeMap<(usize, usize), f64> {
    let values: Vec<u64> = documents.iter().map(|document| document.0).collect();
    let features: Vec<BTreeSet<u64>> =
        documents.iter().map(|document| document.1.iter().copied().collect()).collect();
    let similarity =
        |one: usize, other: usize| oracle::similarity(&features[one], &features[other]);
    oracle::confirmed_pairs(&values, 64, threshold, similarity)
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
        for threshold in [0.3, 0.5, 0.8, 0.9, 1.0] {
            // The distance in the options has no effect on features.
            let confirmed = confirmed(&documents, threshold, &options(3));
            let pairs = pairs_of(&confirmed, false);
            let found: BTreeMap<(usize, usize), f64> = pairs
                .iter()
                .map(|pair| {
                    let [one, other] = [pair.first, pair.second].map(|at| at as usize);
                    ((one.min(other), one.max(other)), pair.similarity)
                })
                .collect();
            assert_eq!(found, expected(&documents, threshold), "{count} {threshold}");
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
        let values: Vec<u64> = sketches.iter().map(|(value, _)| *value).collect();
        let read = |at: u32, sketch: &mut Vec<u8>| {
            sketch.clone_from(&sketches[at as usize].1);
            Ok(())
        };
        let mut expect = None;
        let told = |unlike| expect = Some(unlike);
        let (led, _) =
            lead_sketches(&values, &read, 0.8, &options(2).memory(memory), told).unwrap();
        let found: Vec<(u32, u32)> = led.iter().map(|led| (led.set, led.leader)).collect();
        assert_eq!(found, expected);
        assert_eq!(expect.unwrap().document_count, 300);
        for threshold in [0.0, -0.5, 1.5, f64::NAN] {
            assert!(lead_sketches(&values, &read, threshold, &options(2), |_| ()).is_err());
        }
    }
}

/// Documents with many features; some are copies of earlier documents with a few features
/// exchanged. All fingerprints are within 2 bits, although most documents are not similar.
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
fn a_confirmer_keeps_the_ids() {
    let documents = large_documents(60, 22);
    let confirmer = Confirmer::new(0.7, options(2)).unwrap();
    let id = |number: usize| match number % 2 {
        0 => Id::U64(number as u64),
        _ => Id::Text(format!("document {number}").into()),
    };
    let read = |take: &mut TakeDocument<'_, [u64]>| {
        documents.iter().enumerate().try_for_each(|(number, (fingerprint, features))| {
            take(Fingerprint::new(*fingerprint), Some(id(number).as_ref()), features)
        })
    };
    let found = confirmer.features::<Error>(read).unwrap();
    assert_eq!(pairs_of(&found, false), pairs_of(&confirmed(&documents, 0.7, &options(2)), false));
    assert_eq!(found.id(60).unwrap(), None);
    assert!((0..60).all(|number| found.id(number as u32).unwrap() == Some(id(number))));
}

#[test]
fn what_is_wrong_is_refused() {
    for threshold in [0.0, 1.1, f64::NAN] {
        assert!(Confirmer::new(threshold, options(2)).is_err());
    }
    assert!(Confirmer::new(0.5, options(65)).is_err());
    let confirmer = Confirmer::new(1.0, options(2).max_pairs(2)).unwrap();
    let copies =
        |take: &mut TakeDocument<'_, [u64]>| (0..3).try_for_each(|_| take(0.into(), None, &[7]));
    let refused = confirmer.features::<Error>(copies);
    assert!(matches!(refused, Err(Error::TooManyPairs { most: 2 })));
}
