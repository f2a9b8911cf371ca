//! Records are replaced, and the run is recorded, in the same step as the addition.

use std::collections::BTreeMap;

use fpstore::writer::NewRecord;
use fpstore::{Builder, Error, Fingerprint, Id, IdRef, Store, Writer, WriterOptions};

use crate::common::Random;

/// The fingerprints of the records with each id, in ascending order.
fn by_id(store: &Store) -> BTreeMap<String, Vec<u64>> {
    let mut all: BTreeMap<String, Vec<u64>> = BTreeMap::new();
    store
        .for_each(|hit| {
            for id in hit.ids() {
                all.entry(id?.to_string()).or_default().push(hit.fingerprint().value());
            }
            Ok::<(), Error>(())
        })
        .unwrap();
    all
}

#[test]
fn of_each_id_only_the_last_record_stays() {
    for (seed, compact) in [(30, false), (31, true)] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("s.fps");
        let mut builder = Builder::new(&path).unwrap();
        let mut model: BTreeMap<String, Vec<u64>> = BTreeMap::new();
        for id in 0..60_u64 {
            // Odd ids have two records; a replacement puts one record in place of both.
            for copy in 0..=id % 2 {
                builder.push(Fingerprint::new(id << 8 | copy), id).unwrap();
                model.entry(id.to_string()).or_default().push(id << 8 | copy);
            }
        }
        builder.finish().unwrap();
        let mut random = Random::new(seed);
        for round in 0..12 {
            let label = format!("l{}", round % 3);
            let options = WriterOptions::default().replace(true).compact(compact).label(label);
            let mut writer = Writer::with_options(&path, options).unwrap();
            let before = Store::open(&path).unwrap();
            let shown = by_id(&before);
            for _ in 0..random.next() % 30 {
                let fingerprint = random.next() % 1000;
                let id = random.next() % 90;
                let text =
                    format!("{}{id}", if random.next().is_multiple_of(3) { "page " } else { "" });
                // Push some number ids as numbers and some as decimal texts: both are the same id.
                match text.parse() {
                    Ok(number) if random.next().is_multiple_of(2) => {
                        writer.push(Fingerprint::new(fingerprint), IdRef::U64(number)).unwrap();
                    }
                    _ => writer.push(Fingerprint::new(fingerprint), text.as_str()).unwrap(),
                }
                model.insert(text, vec![fingerprint]);
            }
            let committed = writer.commit().unwrap();
            assert_eq!(committed.report.record_count, committed.replaced.wanted);
            // A reader of the previous snapshot still sees the old records.
            assert_eq!(by_id(&before), shown);
            let store = writer.finish().unwrap();
            assert!(by_id(&store) == model, "seed {seed}, round {round}");
            let report = fpstore::verify(&path, &Default::default()).unwrap();
            assert!(report.is_sound(), "{report:?}");
        }
    }
}

#[test]
fn what_replaces_nothing_is_added_and_a_record_without_id_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("s.fps");
    let mut builder = Builder::new(&path).unwrap();
    builder.push(Fingerprint::new(1), "a").unwrap();
    builder.push_bare(Fingerprint::new(2)).unwrap();
    builder.finish().unwrap();
    let mut writer = Writer::with_options(&path, WriterOptions::default().replace(true)).unwrap();
    assert!(matches!(writer.push_bare(Fingerprint::new(3)), Err(Error::InvalidId { .. })));
    assert!(matches!(writer.push(Fingerprint::new(3), "a\nb"), Err(Error::InvalidId { .. })));
    let nothing = writer.commit().unwrap();
    assert_eq!((nothing.segment, writer.pending_count()), (None, 0));
    writer.push(Fingerprint::new(3), "b").unwrap();
    writer.push(Fingerprint::new(4), "b").unwrap();
    assert_eq!(writer.pending_count(), 1);
    let committed = writer.commit().unwrap();
    assert_eq!((committed.replaced.found, committed.report.record_count), (0, 1));
    let store = writer.finish().unwrap();
    assert_eq!(store.info().fingerprint_count(), 3);
    assert_eq!(by_id(&store)["b"], [4]);
}

#[test]
fn a_run_is_remembered_with_its_records() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("s.fps");
    Builder::new(&path).unwrap().finish().unwrap();
    let options = |run: &str| WriterOptions::default().run(run.to_string()).compact(false);
    for bad in ["", "a\tb", &"x".repeat(256)] {
        assert!(matches!(
            Writer::with_options(&path, options(bad)),
            Err(Error::InvalidOptions { .. })
        ));
    }
    let mut writer = Writer::with_options(&path, options("night 1")).unwrap();
    // A commit without records does not record the run.
    writer.commit().unwrap();
    assert!(!writer.store().has_run("night 1"));
    writer.push(Fingerprint::new(7), "a").unwrap();
    writer.commit().unwrap();
    assert!(writer.store().has_run("night 1") && !writer.store().has_run("night"));
    // Other changes of the store keep the name of the run.
    writer.delete_ids([IdRef::Text("a")]).unwrap();
    drop(writer);
    let mut writer = Writer::with_options(&path, options("night 2")).unwrap();
    writer.push(Fingerprint::new(8), "b").unwrap();
    writer.commit().unwrap();
    // Later commits of this writer do not belong to the run.
    writer.push(Fingerprint::new(9), "c").unwrap();
    writer.commit().unwrap();
    writer.compact(&fpstore::writer::Compaction::All).unwrap();
    drop(writer);
    let store = Store::open(&path).unwrap();
    assert!(store.has_run("night 1") && store.has_run("night 2"));
    // A new store that replaces this one has no runs.
    let replaced = Builder::with_options(&path, fpstore::BuildOptions::default().replace(true));
    assert!(!replaced.unwrap().finish().unwrap().has_run("night 1"));
}

/// Replacing records once does not make later pushes replacements.
#[test]
fn a_replacement_leaves_the_writer_as_it_was() {
    for replaces in [false, true] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.fps");
        let mut builder = Builder::new(&path).unwrap();
        builder.push(Fingerprint::new(1), "page").unwrap();
        builder.finish().unwrap();
        let options = WriterOptions::default().replace(replaces).compact(false);
        let mut writer = Writer::with_options(&path, options).unwrap();
        let changed = NewRecord::new(Fingerprint::new(2), Id::Text("page".into()));
        assert_eq!(writer.replace(&[changed]).unwrap().replaced.found, 1);
        writer.push(Fingerprint::new(4), "page").unwrap();
        let committed = writer.commit().unwrap();
        assert_eq!(committed.replaced.found, u64::from(replaces));
        let found = writer.store().find_ids(&[IdRef::Text("page")], None).unwrap();
        let found: Vec<u64> = found[0].iter().map(|record| record.fingerprint.value()).collect();
        assert_eq!(found, if replaces { vec![4] } else { vec![2, 4] });
    }
}
