//! Stores that keep a sketch with each id: no change of a store separates an id from its sketch.

use std::collections::BTreeMap;

use fpstore::writer::Compaction;
use fpstore::{
    BuildOptions, Builder, Error, Fingerprint, Id, IdPolicy, IdRef, Store, VerifyOptions, Writer,
    WriterOptions, verify,
};

use crate::common::{Random, scheme_named};

const LEN: usize = 5;

/// Random records of fingerprint, id and sketch; fingerprints and ids can repeat.
fn records(count: u64, texts: bool, seed: u64) -> Vec<(u64, Id, Vec<u8>)> {
    let mut random = Random::new(seed);
    (0..count)
        .map(|_| {
            let number = random.next() % (count * 2);
            let id = match texts && number.is_multiple_of(3) {
                true => Id::Text(format!("page {number}").into()),
                false => Id::U64(number),
            };
            let value = (random.next() % count).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            (value, id, random.next().to_le_bytes()[..LEN].to_vec())
        })
        .collect()
}

type Listed = BTreeMap<u64, Vec<(String, Vec<u8>)>>;

fn expected(records: &[(u64, Id, Vec<u8>)]) -> Listed {
    let mut listed = Listed::new();
    for (value, id, sketch) in records {
        listed.entry(*value).or_default().push((id.to_string(), sketch.clone()));
    }
    listed
}

fn listed(store: &Store) -> Listed {
    let mut listed = Listed::new();
    store
        .for_each(|hit| {
            let mut ids = hit.ids();
            assert!(ids.sketch().is_empty());
            let mut own = Vec::new();
            while let Some(id) = ids.next() {
                own.push((id?.to_string(), ids.sketch().to_vec()));
            }
            listed.insert(hit.fingerprint().value(), own);
            Ok::<(), Error>(())
        })
        .unwrap();
    listed
}

/// Sorts the ids of each fingerprint, so that their order is not compared.
fn sorted(mut listed: Listed) -> Listed {
    listed.values_mut().for_each(|own| own.sort());
    listed
}

fn options(scheme: &str) -> BuildOptions {
    BuildOptions::default()
        .scheme(scheme_named(scheme))
        .sketch_len(LEN as u8)
        .memory(BuildOptions::memory_min(1))
        .threads(1)
}

#[test]
fn sketches_stay_with_their_ids_through_builds_of_all_kinds() {
    let folder = tempfile::tempdir().unwrap();
    for (number, (count, texts, scheme, ids)) in [
        (0, false, "1", IdPolicy::Auto),
        (1, false, "2", IdPolicy::Auto),
        (3000, false, "2", IdPolicy::Auto),
        (3000, true, "4", IdPolicy::Auto),
        (3000, false, "2", IdPolicy::Text),
        // More records than the memory limit allows, so that they are sorted on disk.
        (400_000, true, "2", IdPolicy::Auto),
    ]
    .into_iter()
    .enumerate()
    {
        let path = folder.path().join(format!("{number}.fps"));
        let records = records(count, texts, number as u64);
        let mut builder = Builder::with_options(&path, options(scheme).ids(ids)).unwrap();
        for (value, id, sketch) in &records {
            builder.push_sketched(Fingerprint::new(*value), id.as_ref(), sketch).unwrap();
        }
        let store = builder.finish().unwrap();
        assert_eq!(usize::from(store.sketch_len()), LEN);
        assert_eq!(sorted(listed(&store)), sorted(expected(&records)), "{number}");
        assert!(verify(&path, &VerifyOptions::default()).unwrap().faults.is_empty());
    }
}

#[test]
fn sketches_survive_adding_deleting_merging_and_import() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("life.fps");
    let mut all = records(500, true, 7);
    let mut builder = Builder::with_options(&path, options("2")).unwrap();
    for (value, id, sketch) in &all {
        builder.push_sketched(Fingerprint::new(*value), id.as_ref(), sketch).unwrap();
    }
    builder.finish().unwrap();
    let mut writer = Writer::with_options(&path, WriterOptions::default().compact(false)).unwrap();
    let more = records(300, true, 8);
    for (value, id, sketch) in &more {
        writer.push_sketched(Fingerprint::new(*value), id.as_ref(), sketch).unwrap();
    }
    writer.commit().unwrap();
    all.extend(more);
    let other = folder.path().join("other.fps");
    let mut builder = Builder::with_options(&other, options("4")).unwrap();
    builder.push_sketched(Fingerprint::new(1), "imported", &[9; LEN]).unwrap();
    builder.finish().unwrap();
    writer.import(&[other]).unwrap();
    all.push((1, Id::Text("imported".into()), vec![9; LEN]));
    let gone: Vec<Id> = all.iter().step_by(5).map(|record| record.1.clone()).collect();
    writer.delete_ids(gone.iter().map(Id::as_ref)).unwrap();
    all.retain(|record| !gone.contains(&record.1));
    let check = |writer: &Writer| {
        let store = writer.store();
        assert_eq!(sorted(listed(store)), sorted(expected(&all)));
        assert_eq!(usize::from(store.sketch_len()), LEN);
    };
    check(&writer);
    writer.compact(&Compaction::All).unwrap();
    assert_eq!(writer.store().info().segments.len(), 1);
    check(&writer);
    // A store whose records are all deleted still has its sketch length.
    let ids: Vec<Id> = all.iter().map(|record| record.1.clone()).collect();
    writer.delete_ids(ids.iter().map(Id::as_ref)).unwrap();
    writer.compact(&Compaction::All).unwrap();
    assert_eq!(writer.store().info().fingerprint_count(), 0);
    assert_eq!(usize::from(writer.store().sketch_len()), LEN);
    writer.push_sketched(Fingerprint::new(5), 5, &[1; LEN]).unwrap();
    writer.finish().unwrap();
    assert!(verify(&path, &VerifyOptions::default()).unwrap().faults.is_empty());
}

#[test]
fn records_without_the_sketch_of_the_store_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let [with, without] = ["with.fps", "without.fps"].map(|name| folder.path().join(name));
    let mut builder = Builder::with_options(&with, options("2")).unwrap();
    let one = Fingerprint::new(1);
    for (sketch, expected) in
        [(&[][..], "has no sketch"), (&[1, 2], "a sketch of 2 bytes, expected 5")]
    {
        let refused = builder.push_sketched(one, IdRef::U64(1), sketch).unwrap_err();
        assert!(refused.to_string().contains(expected), "{refused}");
    }
    assert!(builder.push(one, 1).unwrap_err().to_string().contains("add documents"));
    builder.push_sketched(one, 1, &[0; LEN]).unwrap();
    builder.finish().unwrap();
    let mut builder = Builder::new(&without).unwrap();
    assert!(builder.push_sketched(one, 1, &[0; LEN]).is_err());
    builder.push(one, 1).unwrap();
    builder.finish().unwrap();
    let mut writer = Writer::open(&with).unwrap();
    assert!(writer.push(one, 2).is_err());
    let refused = writer.import(std::slice::from_ref(&without)).unwrap_err();
    assert!(refused.to_string().contains("sketches of 0 bytes"), "{refused}");
    let refused = Writer::open(&without).unwrap().import(std::slice::from_ref(&with)).unwrap_err();
    assert!(refused.to_string().contains("sketches of 5 bytes"), "{refused}");
    drop(writer);
    let none = BuildOptions::default().sketch_len(8).ids(IdPolicy::None);
    assert!(Builder::with_options(folder.path().join("none.fps"), none).is_err());
    // A builder that appends uses the sketch length of the store.
    let mut builder = Builder::append(&with, BuildOptions::default()).unwrap();
    builder.push_sketched(one, 7, &[3; LEN]).unwrap();
    assert_eq!(builder.finish().unwrap().sketch_len() as usize, LEN);
}
