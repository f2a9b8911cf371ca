//! A deletion with positions that were read ahead has the same result as a deletion without them.

use super::*;
use fpstore_base::Id;

const WANTED: [&str; 6] = ["page 3", "12", "page 133", "page 7", "page 9999", "44"];

/// A possible change of a store after the positions were read and before the writer deletes.
type Between = (&'static str, fn(&mut Writer));

const BETWEEN: [Between; 6] = [
    ("nothing", |_| {}),
    ("additions", |writer| {
        writer.push(Fingerprint::new(77), "page 3").unwrap();
        writer.push(Fingerprint::new(value(3)), "another").unwrap();
        writer.commit_alone().unwrap();
    }),
    ("a deletion of some", |writer| {
        writer.delete_ids(["page 3", "44"].map(IdRef::Text)).unwrap();
    }),
    ("a deletion of fingerprints", |writer| {
        writer.delete_fingerprints(&[value(3).into(), value(133).into()]).unwrap();
    }),
    ("a merge of all", |writer| {
        writer.compact(&Compaction::All).unwrap();
    }),
    ("a segment gone", |writer| {
        writer.expire(&Expiry::before("2026-10")).unwrap();
    }),
];

fn replacement() -> NewRecord {
    NewRecord::new(Fingerprint::new(42), Id::Text("page 3".into()))
}

#[test]
fn places_read_ahead_give_the_same_deletions_whatever_happens_between() {
    let pristine = pristine();
    for (case, between) in BETWEEN {
        for replaces in [false, true] {
            let change = |ahead: bool| {
                let site = site(pristine.path());
                let path = site.path().join("store.fps");
                let mut places = IdPlaces::of(WANTED.map(IdRef::Text));
                let state = Store::open(&path).unwrap();
                assert!(places.unread(&state) > 0);
                places.read(&state, None).unwrap();
                assert_eq!(places.unread(&state), 0);
                // Close the reader, because an open reader would keep its files.
                drop(state);
                let mut writer = Writer::with_options(&path, options()).unwrap();
                between(&mut writer);
                let mut change = match replaces {
                    true => IdChange::replace(vec![replacement()]),
                    false => IdChange::delete(WANTED.map(IdRef::Text)),
                };
                if ahead {
                    change.look_ahead(places);
                }
                let done = writer.change_ids(&mut [change]).unwrap().1;
                drop(writer);
                assert_clean(&path, case);
                (done, all_records(&path))
            };
            let (expected, found) = (change(false), change(true));
            assert!(expected.0[0].found > 0 || case != "nothing", "{case}");
            assert_eq!(found.0, expected.0, "{case}");
            assert!(found.1 == expected.1, "{case}");
        }
    }
}

#[test]
fn places_of_other_ids_are_not_used() {
    let pristine = pristine();
    let path = pristine.path().join("store.fps");
    let mut places = IdPlaces::of([IdRef::Text("page 3")]);
    places.read(&Store::open(&path).unwrap(), None).unwrap();
    let mut writer = Writer::with_options(&path, options()).unwrap();
    let mut change = IdChange::delete(["page 3", "page 133"].map(IdRef::Text));
    change.look_ahead(places);
    let done = writer.change_ids(&mut [change]).unwrap().1[0];
    assert_eq!((done.wanted, done.found), (2, 2));
}

/// Changes in one step, and the same changes one after the other.
#[test]
fn several_changes_in_one_step_equal_the_same_changes_one_after_the_other() {
    let pristine = pristine();
    let numbers = |step: usize| (0..200).step_by(step).map(|number| format!("page {number}"));
    let deletion = |step: usize| {
        let ids: Vec<String> = numbers(step).collect();
        IdChange::delete(ids.iter().map(|id| IdRef::Text(id)))
    };
    let replaces = |value: u64, id: &str| {
        IdChange::replace(vec![NewRecord::new(Fingerprint::new(value), Id::Text(id.into()))])
    };
    let changes = [
        deletion(7),
        deletion(4).dry_run(true),
        deletion(4),
        replaces(42, "page 13"),
        replaces(value(3), "page 9"),
        IdChange::delete(WANTED.map(IdRef::Text)),
    ];
    assert_eq!(IdChange::step_len(&changes), changes.len());
    let run = |step_len: usize| {
        let site = site(pristine.path());
        let path = site.path().join("store.fps");
        let mut writer = Writer::with_options(&path, options()).unwrap();
        let before = writer.store().generation();
        let mut deleted = Vec::new();
        for step in changes.clone().chunks_mut(step_len) {
            deleted.extend(writer.change_ids(step).unwrap().1);
        }
        let steps = writer.store().generation() - before;
        drop(writer);
        assert_clean(&path, "changes by ids");
        (deleted, all_records(&path), steps)
    };
    let (one, each) = (run(changes.len()), run(1));
    assert_eq!((one.2, each.2), (1, 5));
    assert_eq!(one.0, each.0);
    assert!(one.0.iter().all(|deleted| deleted.found > 0));
    assert!(one.1 == each.1);
    // Nothing is done if a step cannot make all changes.
    let mut refused = [changes[0].clone(), replaces(1, "page 2"), deletion(2)];
    assert_eq!(IdChange::step_len(&refused), 2);
    let site = site(pristine.path());
    let path = site.path().join("store.fps");
    let before = all_records(&path);
    let mut writer = Writer::with_options(&path, options()).unwrap();
    assert!(matches!(writer.change_ids(&mut refused), Err(Error::InvalidOptions { .. })));
    drop(writer);
    assert!(all_records(&path) == before);
}

#[test]
fn only_segments_that_came_since_are_read_again() {
    let pristine = pristine();
    let path = pristine.path().join("store.fps");
    let mut places = IdPlaces::of([IdRef::Text("page 3")]);
    let store = Store::open(&path).unwrap();
    places.read(&store, None).unwrap();
    let mut writer = Writer::with_options(&path, options()).unwrap();
    (0..7).for_each(|i| writer.push(Fingerprint::new(i), i).unwrap());
    writer.commit_alone().unwrap();
    store.refresh().unwrap();
    assert_eq!(places.unread(&store), 7);
    places.read(&store, None).unwrap();
    assert_eq!(places.unread(&store), 0);
}
