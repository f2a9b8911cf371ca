//! Records added to a store become one new segment; if that fails, no record is added.

use std::fs;

use crate::common::{Random, add, clustered, samples, scheme_named, skewed, store_of, uniform};
use fpstore::{BuildOptions, Builder, Error, Fingerprint, Id, Match, Recipe, Store, verify};

fn sorted_ids(matches: Vec<Match>) -> Vec<(u32, Fingerprint, Vec<Id>)> {
    let sorted = matches.into_iter().map(|mut found| {
        found.ids.sort();
        (found.distance, found.fingerprint, found.ids)
    });
    sorted.collect()
}

/// Answers depend neither on how records are divided into segments, nor on the schemes of the
/// segments.
#[test]
fn a_store_that_grew_answers_as_one_built_at_once() {
    for (seed, records) in
        [uniform(3000, 91), clustered(3000, 92), skewed(3000, 93)].iter().enumerate()
    {
        let whole = store_of(records, scheme_named("2"));
        let grown = store_of(&records[..1000], scheme_named("4"));
        let path = grown.path();
        add(&path, &records[1000..1001], BuildOptions::default());
        add(&path, &[], BuildOptions::default());
        let scheme = scheme_named("archive");
        let store = add(&path, &records[1001..], BuildOptions::default().scheme(scheme));
        assert_eq!(store.info().segments.len(), 4);
        assert_eq!(store.info().generation, 4);
        assert!(verify(&path, &samples(20)).unwrap().is_sound());
        let mut random = Random::new(94 + seed as u64);
        for round in 0..300 {
            let stored = records[random.below(3000) as usize].0;
            let needle = Fingerprint::new(random.flip(stored, round % 5));
            for k in [0, 3, 6] {
                assert_eq!(
                    sorted_ids(store.query(needle, k).unwrap()),
                    sorted_ids(whole.store.query(needle, k).unwrap()),
                );
            }
        }
    }
}

#[test]
fn ids_of_older_segments_come_first_and_labels_are_kept() {
    let grown = store_of(&[(7, Some(Id::U64(30)))], scheme_named("2"));
    let path = grown.path();
    add(&path, &[(7, Some(Id::U64(20)))], BuildOptions::default().label("2026-10"));
    let store = add(&path, &[(7, Some(Id::U64(10)))], BuildOptions::default().label("2026-11"));
    let ids = store.query(Fingerprint::new(7), 0).unwrap().remove(0).ids;
    assert_eq!(ids, [30, 20, 10].map(Id::U64));
    let info = Store::open(&path).unwrap().info();
    let labels: Vec<&str> = info.segments.iter().map(|segment| segment.label.as_str()).collect();
    assert_eq!(labels, ["", "2026-10", "2026-11"]);
    for label in ["a\tb".to_string(), "x".repeat(256)] {
        let refused = Builder::append(&path, BuildOptions::default().label(label));
        assert!(matches!(refused, Err(Error::InvalidOptions { .. })));
    }
    // A store handle opened before the addition keeps its snapshot.
    assert_eq!(grown.store.query(Fingerprint::new(7), 0).unwrap()[0].ids.len(), 1);
}

#[test]
fn what_does_not_fit_is_not_added_and_harms_nothing() {
    let temp = store_of(&uniform(100, 95), scheme_named("2"));
    let path = temp.path();
    let manifest = fs::read(path.join("MANIFEST")).unwrap();
    let other = Recipe::from_text("words, weighted").unwrap();
    let refused = Builder::append(&path, BuildOptions::default().recipe(other));
    assert!(matches!(refused, Err(Error::RecipeMismatch { .. })));
    let refused = Builder::append(temp.folder.path().join("absent"), BuildOptions::default());
    assert!(matches!(refused, Err(Error::NoStore { .. })));
    let refused = Builder::append(temp.folder.path(), BuildOptions::default());
    assert!(matches!(refused, Err(Error::NotAStore { .. })));
    let holder = Builder::append(&path, BuildOptions::default()).unwrap();
    let refused = Builder::append(&path, BuildOptions::default()).unwrap_err();
    assert!(matches!(refused, Error::Locked { process: Some(_), .. }));
    let expected = format!("process {} is writing to ", std::process::id());
    assert!(refused.to_string().starts_with(&expected), "{refused}");
    drop(holder);
    assert_eq!(fs::read(path.join("MANIFEST")).unwrap(), manifest);
    // The next writer removes an orphaned segment left by a crash.
    let orphan = path.join("segment-0000000000000002.fps");
    fs::copy(path.join("segment-0000000000000001.fps"), &orphan).unwrap();
    let store = add(&path, &uniform(10, 96), BuildOptions::default());
    assert!(!orphan.exists());
    assert_eq!(store.info().segments.last().unwrap().number, 3);
}
