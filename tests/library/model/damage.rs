//! Damages a segment: readers must reject it. Then a rewrite undoes the damage, or a repair saves
//! the readable part.

use std::collections::BTreeMap;
use std::fs;
use std::rc::Rc;
use std::time::Duration;

use super::records::{Index, Records, Stored};
use super::world::World;
use crate::common::{Random, records_of, samples, take_away};
use fpstore::writer::{Compaction, repair};
use fpstore::{Error, Fingerprint, Store, VerifyReport, Writer, verify};

/// Flips some bits of a segment, compares, and then makes the store sound in a random way.
pub fn damage(world: &mut World, at: usize, random: &mut Random) {
    world.begin("damage");
    let path = world.stores[at].path.clone();
    let segments = Store::open(&path).unwrap().info().segments;
    let segment = &segments[random.below(segments.len() as u64) as usize];
    let mut bytes = fs::read(&segment.path).unwrap();
    let whole = bytes.clone();
    for _ in 0..1 + random.below(4) {
        let places: Vec<_> = segment.sections.iter().filter(|place| place.len > 0).collect();
        let place = places[random.below(places.len() as u64) as usize];
        world.doing += &format!(" {},", place.section);
        let byte = place.offset + random.below(place.len);
        bytes[byte as usize] ^= 1 << random.below(8);
    }
    let write = |bytes: &[u8]| {
        take_away(&segment.path);
        fs::write(&segment.path, bytes).unwrap();
    };
    write(&bytes);
    search_damaged(world, at, random);
    let report = verify(&path, &samples(0)).unwrap();
    if report.is_sound() {
        world.doing += " nothing in use;";
        return;
    }
    if report.is_rebuildable() && random.below(2) == 0 {
        world.begin("rewrite");
        let options = world.writer_options(random);
        let mut writer = Writer::with_options(&path, options).unwrap();
        writer.compact(&Compaction::Rewrite).unwrap();
        return;
    }
    world.begin("salvage");
    if !salvage(world, at, &report) {
        world.doing += " nothing to save;";
        write(&whole);
    }
}

/// A search of a damaged store must return the complete answer or an error.
fn search_damaged(world: &mut World, at: usize, random: &mut Random) {
    let kept = &world.stores[at];
    let index = Index::of(std::slice::from_ref(&kept.records));
    let store = match Store::open(&kept.path) {
        Err(Error::Corrupt { .. } | Error::UnsupportedVersion { .. }) => return,
        store => store.unwrap(),
    };
    let mut searcher = store.searcher();
    for _ in 0..8 {
        let k = random.below(12) as u32;
        let needle = world.setting.needle(&index.values, k, random);
        let answer = searcher.search(Fingerprint::new(needle), k);
        let found = answer.and_then(|answer| answer.to_matches());
        let found = match found {
            Err(Error::Corrupt { .. }) => continue,
            found => found.unwrap(),
        };
        world.compared += 1;
        let found: Vec<(u32, u64)> =
            found.iter().map(|of| (of.distance, of.fingerprint.value())).collect();
        assert!(found == index.scan(needle, k), "damaged store: {needle:016x}, k = {k}");
    }
}

/// Installs the repaired manifest and copies the saved records into the model. Checks that no
/// record was invented, no deleted record came back, and all missing records were reported. Returns
/// whether the repair wrote a manifest.
fn salvage(world: &mut World, at: usize, report: &VerifyReport) -> bool {
    let done = repair(report, Duration::ZERO).unwrap();
    let Some(manifest) = &done.manifest else { return false };
    let path = world.stores[at].path.clone();
    fs::rename(manifest, path.join("MANIFEST")).unwrap();
    let store = Store::open(&path).unwrap();
    let before = &world.stores[at].records;
    let stored: Vec<String> = store.info().segments.into_iter().map(|of| of.label).collect();
    let (mut after, mut differing) = (Vec::new(), 0);
    let mut left = BTreeMap::<Rc<str>, BTreeMap<u64, Vec<String>>>::new();
    for label in before.labels() {
        if stored.iter().any(|of| **of == *label) {
            left.insert(label.clone(), records_of(&store.with_labels(&[&*label]).unwrap()));
        }
    }
    let all: usize = left.values().map(BTreeMap::len).sum();
    for label in before.labels() {
        let saved = left.entry(label.clone()).or_default();
        for (value, ids) in before.by_value(Some(&label)) {
            differing += u64::from(saved.get(&value) != Some(&ids));
        }
    }
    // Look up the id of each earlier record among the saved ids of its fingerprint.
    let mut found: BTreeMap<(Rc<str>, u64), usize> = BTreeMap::new();
    for of in &before.0 {
        let Some(ids) = left.get(&of.label).and_then(|of_label| of_label.get(&of.value)) else {
            continue;
        };
        let next = found.entry((of.label.clone(), of.value)).or_default();
        match &of.id {
            Some(id) if ids.get(*next).is_some_and(|next| **next == **id) => {
                *next += 1;
                after.push(of.clone());
            }
            // A record without an id, or whose id was lost.
            _ => after.push(Stored { id: None, ..of.clone() }),
        }
    }
    assert_eq!(found.len(), all, "fingerprints were made up");
    for ((label, value), taken) in found {
        let ids = &left[&label][&value];
        assert_eq!(taken, ids.len(), "{value:016x} has other ids than before: {ids:?}");
    }
    let salvaged = |number: u64| done.salvaged.iter().find(|of| of.number == number);
    let reported: u64 = report
        .damaged
        .iter()
        .map(|of| match salvaged(of.number) {
            Some(of) => of.lost + of.without_ids,
            None => of.fingerprint_count,
        })
        .sum();
    assert!(differing <= reported, "{differing} fingerprints lost something, reported {reported}");
    world.stores[at].records = Rc::new(Records(after));
    true
}
