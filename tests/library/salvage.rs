//! A repair saves all records on intact pages of damaged segments, and invents none.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::time::Duration;

use crate::common::{Random, clustered, samples, scheme_named, store_of, take_away, uniform};
use fpstore::writer::{Salvaged, repair};
use fpstore::{BuildOptions, Builder, Error, Fingerprint, Store, Writer, verify};

/// Flips a bit of a file, even if the file is read-only.
fn flip(path: &Path, at: u64) {
    let mut bytes = fs::read(path).unwrap();
    bytes[at as usize] ^= 0x10;
    take_away(path);
    fs::write(path, bytes).unwrap();
}

/// The records of a store: each fingerprint with its ids.
type Held = BTreeMap<u64, Vec<String>>;

fn held(store: &Store) -> Held {
    let mut held = Held::new();
    let found: Result<(), Error> = store.for_each(|record| {
        let ids = record.ids().map(|id| id.map(|id| id.to_string()));
        held.insert(record.fingerprint().value(), ids.collect::<Result<_, _>>()?);
        Ok(())
    });
    found.unwrap();
    held
}

/// Repairs a store with damaged segments and compares its records with the earlier records: no
/// record is invented, no deleted record comes back, and the losses match the report. Returns the
/// losses as reported.
fn repaired(path: &Path, before: &Held, case: &str) -> Salvaged {
    let report = verify(path, &samples(0)).unwrap();
    assert!(!report.is_sound(), "{case}");
    let done = repair(&report, Duration::ZERO).unwrap();
    assert!(done.manifest.is_some(), "{case}: {done:?}");
    fs::rename(path.join("MANIFEST.repaired"), path.join("MANIFEST")).unwrap();
    assert!(verify(path, &samples(20)).unwrap().is_sound(), "{case}");
    let after = held(&Store::open(path).unwrap());
    let mut without_ids = 0;
    for (value, ids) in &after {
        let had = before.get(value).unwrap_or_else(|| panic!("{case}: {value:x} was not there"));
        assert!(ids == had || ids.is_empty(), "{case}: {ids:?} of {had:?}");
        without_ids += u64::from(ids != had);
    }
    let [salvaged] = done.salvaged.as_slice() else { panic!("{case}: {done:?}") };
    assert_eq!(salvaged.kept, after.len() as u64, "{case}");
    // The report also counts fingerprints that had no id before, because their ids are unknown.
    assert!(salvaged.without_ids >= without_ids, "{case}: {salvaged:?}");
    assert!(salvaged.lost >= (before.len() - after.len()) as u64, "{case}: {salvaged:?}");
    salvaged.clone()
}

/// Damages one page in each section of each table, and in the ids: everything on other pages must
/// be saved.
#[test]
fn a_page_of_any_section_costs_no_more_than_no_other_page_holds() {
    let records = clustered(20_000, 71);
    for (scheme, bits) in [("2", 0), ("2", 12), ("4", 0)] {
        let scheme = scheme_named(scheme).with_syndromes(bits).unwrap();
        let sections = store_of(&records, scheme.clone()).store.info().segments[0].sections.clone();
        for place in sections.iter().filter(|place| place.len > 0) {
            let section = place.section.to_string();
            let case = format!("{section}, {bits} bits");
            let temp = store_of(&records, scheme.clone());
            let some: Vec<Fingerprint> =
                records[..40].iter().map(|(value, _)| (*value).into()).collect();
            Writer::open(temp.path()).unwrap().delete_fingerprints(&some).unwrap();
            let before = held(&Store::open(temp.path()).unwrap());
            flip(&temp.store.info().segments[0].path, place.offset + place.len / 2);
            if section == "recipe" || section.contains("directory") {
                continue;
            }
            if bits > 0 && section == "prefix index of table 0" {
                // The damaged page is the whole index of table 0, and table 1 stores only
                // syndromes: no value can be read.
                let report = verify(temp.path(), &samples(0)).unwrap();
                let done = repair(&report, Duration::ZERO).unwrap();
                assert!(done.manifest.is_none() && done.salvaged[0].kept == 0, "{case}");
                continue;
            }
            let salvaged = repaired(&temp.path(), &before, &case);
            let is_of_ids = section.starts_with("id ");
            let is_whole = !section.ends_with("table 0") || bits == 0;
            assert!(salvaged.lost == 0 || !is_whole, "{case}: {salvaged:?}");
            assert!(salvaged.without_ids == 0 || is_of_ids, "{case}: {salvaged:?}");
            assert!(salvaged.kept > 8000, "{case}: {salvaged:?}");
        }
    }
}

/// Damage in many places of stores with number ids, text ids, sketches or no ids, in which some
/// records are deleted.
#[test]
fn nothing_is_made_up_of_a_store_that_is_damaged_in_many_places() {
    for seed in 0..80 {
        let mut random = Random::new(4000 + seed);
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("s.fps");
        let scheme = scheme_named(["1", "2", "4"][random.below(3) as usize]);
        let with_ids = seed % 4;
        let sketch_len = if with_ids == 3 { 16 } else { 0 };
        let options = BuildOptions::default().scheme(scheme).sketch_len(sketch_len);
        let mut builder = Builder::with_options(&path, options).unwrap();
        for id in 0..1 + random.below(3000) {
            let value = Fingerprint::new(random.next() >> (seed / 4 % 4 * 8));
            match with_ids {
                0 => builder.push_bare(value).unwrap(),
                1 => builder.push(value, id).unwrap(),
                3 => builder.push_sketched(value, id, &[id as u8; 16]).unwrap(),
                _ => builder.push(value, format!("document {id}").as_str()).unwrap(),
            }
        }
        builder.finish().unwrap();
        let values: Vec<u64> = held(&Store::open(&path).unwrap()).into_keys().collect();
        if seed % 8 < 4 {
            let gone = values.iter().step_by(7).map(|&value| Fingerprint::new(value));
            let gone: Vec<_> = gone.collect();
            Writer::open(&path).unwrap().delete_fingerprints(&gone).unwrap();
        }
        let store = Store::open(&path).unwrap();
        let before = held(&store);
        let segment = store.info().segments[0].clone();
        drop(store);
        let damageable: Vec<_> = segment
            .sections
            .iter()
            .filter(|place| place.len > 0 && place.section.to_string() != "recipe")
            .collect();
        for _ in 0..1 + random.below(6) {
            let place = damageable[random.below(damageable.len() as u64) as usize];
            flip(&segment.path, place.offset + random.below(place.len));
        }
        let report = verify(&path, &samples(0)).unwrap();
        if !report.is_sound() && repair(&report, Duration::ZERO).unwrap().manifest.is_some() {
            repaired(&path, &before, &format!("seed {seed}"));
        }
    }
}

/// Both tables lost values. A value that one table lost is read from the other, but its rank may be
/// unknown. Then its ids, and whether it was deleted, are unknown, too.
#[test]
fn values_of_unknown_rank_get_no_ids_and_do_not_come_back_deleted() {
    let records = uniform(20_000, 72);
    for (second, deletes) in ["heads of table 1", "tails of table 1"]
        .iter()
        .flat_map(|section| [(section, false), (section, true)])
    {
        let case = format!("heads of table 0, {second}, {deletes}");
        let temp = store_of(&records, scheme_named("2"));
        if deletes {
            let some = records.iter().step_by(3).map(|(value, _)| (*value).into());
            let some: Vec<Fingerprint> = some.collect();
            Writer::open(temp.path()).unwrap().delete_fingerprints(&some).unwrap();
        }
        let before = held(&Store::open(temp.path()).unwrap());
        let segment = temp.store.info().segments[0].clone();
        for section in ["heads of table 0", second] {
            let mut sections = segment.sections.iter();
            let place = sections.find(|of| of.section.to_string() == section).unwrap();
            flip(&segment.path, place.offset + place.len / 2);
        }
        let salvaged = repaired(&temp.path(), &before, &case);
        assert!(salvaged.lost > 0, "{case}: {salvaged:?}");
        assert_eq!(salvaged.without_ids > 1000, !deletes, "{case}: {salvaged:?}");
        assert!(salvaged.kept > 8000, "{case}: {salvaged:?}");
    }
}
