//! The current writer writes the golden stores byte for byte, and the current reader can read them.

use crate::common::samples;
use fpstore::{Fingerprint, Store, verify};
use std::path::{Path, PathBuf};

#[path = "../../tools/make_golden.rs"]
#[expect(dead_code, reason = "its own main is for the command line")]
mod make_golden;

fn golden() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden")
}

#[test]
fn the_golden_stores_are_written_byte_for_byte() {
    let folder = tempfile::tempdir().unwrap();
    make_golden::make(folder.path()).unwrap();
    let names = |folder: &Path| {
        let entries = std::fs::read_dir(folder).unwrap();
        let mut names: Vec<String> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.retain(|name| name != "README.md" && name != "older");
        names.sort();
        names
    };
    let stores = names(&golden());
    assert_eq!(stores, names(folder.path()), "a store is kept or made, and not both");
    for store in &stores {
        let files = names(&golden().join(store));
        let expected = if store == "lived.fps" { 5 } else { 2 };
        assert_eq!(files.len(), expected, "{files:?}");
        for file in files {
            let kept = std::fs::read(golden().join(store).join(&file)).unwrap();
            let made = std::fs::read(folder.path().join(store).join(&file)).unwrap();
            assert!(kept == made, "{store}/{file} differs: format-spec.md and changelog too?");
        }
    }
}

#[test]
fn the_golden_stores_are_sound_and_answer() {
    for (store, fingerprints, ids) in [
        ("worked.fps", 5, 6),
        ("crowded.fps", 6000, 5050),
        ("empty.fps", 0, 0),
        ("lived.fps", 4, 4),
        ("sketched.fps", 3, 4),
        ("syndromes.fps", 110, 110),
    ] {
        let path = golden().join(store);
        let report = verify(&path, &samples(50)).unwrap();
        assert!(report.is_sound(), "{store}: {:?}", report.faults);
        let info = Store::open(&path).unwrap().info();
        assert_eq!((info.fingerprint_count(), info.id_count()), (fingerprints, ids), "{store}");
    }
    let worked = Store::open(golden().join("worked.fps")).unwrap();
    let hits = worked.query(Fingerprint::new(0x0123_4567_89ab_cdef), 3).unwrap();
    let ids: Vec<Vec<String>> =
        hits.iter().map(|hit| hit.ids.iter().map(ToString::to_string).collect()).collect();
    assert_eq!(ids, [vec!["a.html", "a2.html"], vec!["c.html"]]);

    let sketched = Store::open(golden().join("sketched.fps")).unwrap();
    assert_eq!(sketched.sketch_len(), 4);
    let mut searcher = sketched.searcher();
    let answer = searcher.search(Fingerprint::new(5), 0).unwrap();
    let mut ids = answer.hits().next().unwrap().ids();
    for first in [10, 30] {
        assert_eq!(ids.next().unwrap().unwrap().to_id(), fpstore::Id::U64(first.into()));
        assert_eq!(ids.sketch(), [first, first + 1, first + 2, first + 3]);
    }

    let crowded = Store::open(golden().join("crowded.fps")).unwrap();
    let hits = crowded.query(Fingerprint::new(0xabcd_0000_0000_0064), 1).unwrap();
    assert_eq!(hits[0].ids.len(), 2);
    // All offsets below 5000 are stored, so each flip that gives such an offset is a hit.
    let stored = (0..64).filter(|bit| 0x64_u64 ^ 1 << bit < 5000).count();
    assert_eq!(hits.len(), 1 + stored);
}
