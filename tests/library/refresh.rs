//! A reader sees one snapshot of a store, and after a refresh the newest one.

use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::common::{Ends, Random, number, scheme_named, store_of};
use fpstore::writer::{Compaction, Expiry};
use fpstore::{
    BuildOptions, Builder, Error, Fingerprint, IdPolicy, IdRef, Scheme, Store, Writer,
    WriterOptions,
};

fn writer(path: &Path) -> Writer {
    Writer::with_options(path, WriterOptions::default().scheme(scheme_named("2")).compact(false))
        .unwrap()
}

fn add(writer: &mut Writer, value: u64) {
    writer.push(Fingerprint::new(value), value).unwrap();
    writer.commit().unwrap();
}

#[test]
fn a_state_stays_until_a_newer_one_is_asked_for() {
    let temp = store_of(&[(7, number(7))], scheme_named("2"));
    let path = temp.path();
    let (store, clone) = (temp.store.clone(), temp.store.clone());
    let mut searcher = store.searcher();
    let mut writer = writer(&path);
    add(&mut writer, 8);
    writer.delete_ids([IdRef::U64(7)]).unwrap();
    let count = |store: &Store| store.query(Fingerprint::new(7), 4).unwrap().len();
    assert_eq!((store.generation(), count(&store)), (1, 1));
    assert!(store.refresh().unwrap());
    assert!(!store.refresh().unwrap());
    // A refresh also refreshes the clones of a store; a searcher needs a call of `follow`.
    assert_eq!((clone.generation(), clone.info().generation), (3, 3));
    assert_eq!(clone.query(Fingerprint::new(8), 0).unwrap().len(), 1);
    assert_eq!(searcher.generation(), 1);
    assert_eq!(searcher.search(Fingerprint::new(7), 0).unwrap().len(), 1);
    searcher.follow(&store);
    assert_eq!(searcher.generation(), 3);
    assert!(searcher.search(Fingerprint::new(7), 0).unwrap().is_empty());
}

#[cfg_attr(windows, ignore = "no folder with a mapped file can be removed there")]
#[test]
fn a_store_made_anew_in_the_same_place_is_another_one() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.fps");
    let build = |value: u64, id: u64| {
        let mut builder =
            Builder::with_options(&path, BuildOptions::default().scheme(scheme_named("2")))
                .unwrap();
        builder.push(Fingerprint::new(value), id).unwrap();
        builder.finish().unwrap()
    };
    let store = build(7, 1);
    fs::remove_dir_all(&path).unwrap();
    // The store was removed, but its segments are open and can still be read.
    assert!(matches!(store.refresh(), Err(Error::NoStore { .. })));
    assert_eq!(store.query(Fingerprint::new(7), 0).unwrap().len(), 1);
    drop(build(8, 2));
    assert!(store.refresh().unwrap());
    assert_eq!(store.generation(), 1);
    assert!(store.query(Fingerprint::new(7), 0).unwrap().is_empty());
    assert_eq!(store.query(Fingerprint::new(8), 0).unwrap().len(), 1);
    // A build that replaces the store gives it the next generation number.
    let options = BuildOptions::default().scheme(scheme_named("2")).replace(true);
    let mut builder = Builder::with_options(&path, options).unwrap();
    builder.push(Fingerprint::new(9), 3).unwrap();
    builder.finish().unwrap();
    assert!(store.refresh().unwrap());
    assert_eq!(store.query(Fingerprint::new(9), 0).unwrap().len(), 1);
}

#[test]
fn a_damaged_newer_state_is_an_error_and_the_old_one_answers_on() {
    let temp = store_of(&[(7, number(7))], scheme_named("2"));
    let path = temp.path();
    let manifest = fs::read(path.join("MANIFEST")).unwrap();
    let mut damaged = manifest.clone();
    damaged[40] ^= 1;
    fs::write(path.join("MANIFEST"), &damaged).unwrap();
    assert!(matches!(temp.store.refresh(), Err(Error::Corrupt { .. })));
    assert_eq!(temp.store.query(Fingerprint::new(7), 0).unwrap().len(), 1);
    fs::write(path.join("MANIFEST"), &manifest).unwrap();
    assert!(!temp.store.refresh().unwrap());
}

/// Threads that share a store and refresh it see only published generations, none older than
/// before.
#[test]
fn threads_refresh_and_search_side_by_side() {
    let temp = store_of(&[(1 << 40, number(0))], scheme_named("2"));
    let path = temp.path();
    let mut random = Random::new(31);
    let values: Vec<u64> = (0..60).map(|_| random.next()).collect();
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        // Ends the reading threads when the writer ends, even if the writer fails.
        let _ends = Ends(&stop);
        for _ in 0..3 {
            scope.spawn(|| {
                let (mut searcher, mut before) = (temp.store.searcher(), 0);
                while !stop.load(Ordering::Relaxed) {
                    // On systems that cannot replace an open file, a writer can publish only in
                    // moments without an active reader.
                    #[cfg(not(unix))]
                    std::thread::sleep(std::time::Duration::from_millis(1));
                    temp.store.refresh().unwrap();
                    searcher.follow(&temp.store);
                    let found = |value: &&u64| {
                        !searcher.search(Fingerprint::new(**value), 0).unwrap().is_empty()
                    };
                    let count = values.iter().take_while(found).count();
                    assert!(count >= before, "{count} after {before}");
                    before = count;
                }
            });
        }
        let mut writer = writer(&path);
        for (number, value) in values.iter().enumerate() {
            add(&mut writer, *value);
            if number % 7 == 6 {
                writer.compact(&Compaction::All).unwrap();
            }
        }
    });
}

/// Reading needs no write permission and leaves no files behind.
#[cfg(unix)]
#[test]
fn a_read_only_directory_can_be_read_and_refreshed() {
    use std::os::unix::fs::PermissionsExt;

    let temp = store_of(&[(7, number(7))], scheme_named("2"));
    let path = temp.path();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o555)).unwrap();
    let store = Store::open(&path).unwrap();
    assert!(!store.refresh().unwrap());
    assert_eq!(store.query(Fingerprint::new(7), 0).unwrap().len(), 1);
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
}

/// A store whose last segment is removed keeps its recipe and its tuned distance.
#[test]
fn a_store_of_which_all_is_gone_keeps_its_recipe_and_its_distance() {
    let recipe = |text: &str| fpstore::Recipe::from_text(text).unwrap();
    for by_label in [true, false] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("store.fps");
        let mut build = BuildOptions::default().scheme(Scheme::named("blocks-4", 5).unwrap());
        build = build.recipe(recipe("mine")).label("2026-01");
        let mut builder = Builder::with_options(&path, build).unwrap();
        builder.push(Fingerprint::new(7), 1).unwrap();
        builder.finish().unwrap();
        let mut all = Writer::open(&path).unwrap();
        if by_label {
            assert_eq!(all.expire(&Expiry::before("2027").all(true)).unwrap().segments.len(), 1);
        } else {
            all.delete_fingerprints(&[Fingerprint::new(7)]).unwrap();
            all.compact(&Compaction::All).unwrap();
        }
        let store = all.finish().unwrap();
        assert_eq!((store.info().fingerprint_count(), store.info().segments.len()), (0, 1));
        assert_eq!((store.recipe(), store.tuned_k()), (Some(recipe("mine")), 5));
        assert_eq!(store.info().segments[0].tables.len(), 4);
        assert!(store.query(Fingerprint::new(7), 64).unwrap().is_empty());
        let other = WriterOptions::default().recipe(recipe("other"));
        assert!(matches!(Writer::with_options(&path, other), Err(Error::RecipeMismatch { .. })));
        let mut again = Writer::open(&path).unwrap();
        add(&mut again, 9);
        let store = again.finish().unwrap();
        // The addition removed the empty segment.
        assert_eq!((store.info().fingerprint_count(), store.info().segments.len()), (1, 1));
        assert_eq!((store.recipe(), store.tuned_k()), (Some(recipe("mine")), 5));
    }
}

#[test]
fn a_writer_keeps_the_recipe_the_label_and_the_ids_it_is_told() {
    let temp = store_of(&[(7, number(7))], scheme_named("2"));
    let path = temp.path();
    let options = WriterOptions::default().label("x").ids(IdPolicy::U64);
    let mut strict = Writer::with_options(&path, options).unwrap();
    let refused = strict.push(Fingerprint::new(1), "no number");
    assert!(matches!(refused, Err(Error::InvalidId { .. })));
    assert!(matches!(Writer::open(&path), Err(Error::Locked { .. })));
    strict.push(Fingerprint::new(1), "12").unwrap();
    assert_eq!(strict.pending_count(), 1);
    let committed = strict.commit().unwrap();
    assert_eq!((committed.segment, committed.generation), (Some(2), 2));
    assert_eq!(strict.commit().unwrap().segment, None);
    assert_eq!(strict.recipe().text(), "external");
    let store = strict.finish().unwrap();
    assert_eq!(store.info().segments.last().unwrap().label, "x");
    // Records that were pushed but not committed are lost.
    let mut writer = Writer::open(&path).unwrap();
    writer.push_bare(Fingerprint::new(99)).unwrap();
    drop(writer);
    assert!(Store::open(&path).unwrap().query(Fingerprint::new(99), 0).unwrap().is_empty());
    let label = WriterOptions::default().label("a\tb");
    assert!(matches!(Writer::with_options(&path, label), Err(Error::InvalidOptions { .. })));
}

/// After another store with the same fingerprints gets the path of the store, a refresh makes
/// searches return the ids of that store.
#[test]
fn another_store_in_the_same_place_is_opened_whole() {
    let folder = tempfile::tempdir().unwrap();
    let build = |name: &str, id: u64| {
        let path = folder.path().join(name);
        let options = BuildOptions::default().scheme(scheme_named("2"));
        let mut builder = Builder::with_options(&path, options).unwrap();
        (0..100).for_each(|i| builder.push(Fingerprint::new(i << 32), i + id).unwrap());
        drop(builder.finish().unwrap());
        path
    };
    let (path, other) = (build("store.fps", 1000), build("other.fps", 2000));
    let store = Store::open(&path).unwrap();
    let ids = |store: &Store| store.query(Fingerprint::new(7 << 32), 0).unwrap()[0].ids.clone();
    assert_eq!(ids(&store), [fpstore::Id::U64(1007)]);
    let (before, there) = (store.info().store_id, Store::open(&other).unwrap().info().store_id);
    assert_ne!(before, there);
    fs::rename(&path, folder.path().join("old.fps")).unwrap();
    fs::rename(&other, &path).unwrap();
    assert!(store.refresh().unwrap());
    assert_eq!(ids(&store), [fpstore::Id::U64(2007)]);
    assert_eq!(store.info().store_id, there);
}

#[test]
fn a_store_keeps_its_id_until_it_is_replaced() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.fps");
    let options = || BuildOptions::default().scheme(scheme_named("2"));
    let id = [7; 16];
    Builder::with_options(&path, options().store_id(id)).unwrap().finish().unwrap();
    let own = || Store::open(&path).unwrap().info().store_id;
    assert_eq!(own(), id);
    Builder::append(&path, options().store_id([8; 16])).unwrap().finish().unwrap();
    let mut writer = writer(&path);
    writer.push(Fingerprint::new(1), 1).unwrap();
    writer.commit().unwrap();
    writer.compact(&Compaction::One).unwrap();
    drop(writer);
    assert_eq!(own(), id);
    Builder::with_options(&path, options().replace(true)).unwrap().finish().unwrap();
    assert_ne!(own(), id);
}
