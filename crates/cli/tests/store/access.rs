//! Tests `--access memory`: the same answers as from a mapped store, and changes of the files do
//! not affect them.

use std::fs;
use std::path::{Path, PathBuf};

use crate::common::program::TestDir;
use crate::common::{assert_exact, clustered, needles, scheme_named, store_of, uniform};
use fpstore::{Access, Error, OpenOptions, Result, Store, Writer, WriterOptions};

fn open(path: &Path, access: Access) -> Result<Store> {
    Store::with_options(path, OpenOptions::default().access(access))
}

fn segment_file(store: &Store) -> PathBuf {
    store.info().segments[0].path.clone()
}

/// Makes a file of a store writable, because stores write their files read-only.
fn make_writable(path: &Path) {
    let mut permissions = fs::metadata(path).unwrap().permissions();
    #[expect(clippy::permissions_set_readonly_false, reason = "the test owns the file")]
    permissions.set_readonly(false);
    fs::set_permissions(path, permissions).unwrap();
}

#[test]
fn answers_from_memory_are_those_of_a_scan() {
    for (case, records) in [
        ("none", Vec::new()),
        ("one", uniform(1, 1)),
        ("two", uniform(2, 2)),
        ("uniform", uniform(3_000, 3)),
        ("clustered", clustered(3_000, 4)),
    ] {
        let temp = store_of(&records, scheme_named("14"));
        let path = temp.path();
        for k in [0, 3, 6, 64] {
            let needles = needles(&records, 12, k.min(10), 5);
            for access in [Access::Memory, Access::Map, Access::Auto] {
                let store = open(&path, access).unwrap();
                assert_exact(&store, &records, &needles, k, &format!("{case}, {access:?}"));
            }
        }
        let store = open(&path, Access::Memory).unwrap();
        assert!(store.info().segments.iter().all(|segment| segment.access == Access::Memory));
        store.warm(fpstore::Warm::All).unwrap();
        assert_exact(&store, &records, &needles(&records, 12, 3, 6), 3, case);
    }
}

/// Each of these changes of a file kills a process that has mapped it, or can change its answers.
#[test]
fn nothing_that_happens_to_the_file_hurts_a_store_in_memory() {
    let records = clustered(3_000, 7);
    let needles = needles(&records, 40, 3, 8);
    type Act = fn(&Path);
    let acts: [(&str, Act); 4] = [
        ("cut to nothing", |path| fs::write(path, "").unwrap()),
        ("cut to a page", |path| {
            let file = fs::File::options().write(true).open(path).unwrap();
            file.set_len(4096).unwrap();
        }),
        ("overwritten", |path| {
            let len = fs::metadata(path).unwrap().len() as usize;
            fs::write(path, vec![0x5a; len]).unwrap();
        }),
        ("removed", |path| fs::remove_file(path).unwrap()),
    ];
    for (case, act) in acts {
        let temp = store_of(&records, scheme_named("4"));
        let store = open(&temp.path(), Access::Memory).unwrap();
        let file = segment_file(&store);
        drop(temp.store);
        make_writable(&file);
        act(&file);
        assert_exact(&store, &records, &needles, 3, case);
    }
}

#[cfg_attr(windows, ignore = "no mapped file can be changed there")]
#[test]
fn refresh_reads_new_segments_into_memory_too() {
    let records = uniform(100, 9);
    let temp = store_of(&records, scheme_named("2"));
    let path = temp.path();
    let store = open(&path, Access::Memory).unwrap();
    let options = WriterOptions::default().compact(false);
    let mut writer = Writer::with_options(&path, options).unwrap();
    writer.push(7.into(), 7).unwrap();
    writer.commit().unwrap();
    assert!(store.refresh().unwrap());
    let info = store.info();
    assert_eq!(info.segments.len(), 2);
    for segment in &info.segments {
        assert_eq!(segment.access, Access::Memory);
        make_writable(&segment.path);
        fs::write(&segment.path, "").unwrap();
    }
    assert_eq!(store.query(7.into(), 0).unwrap().len(), 1);
}

#[cfg_attr(windows, ignore = "no mapped file can be changed there")]
#[test]
fn damage_is_found_in_memory_as_in_a_map() {
    let records = uniform(3_000, 10);
    let temp = store_of(&records, scheme_named("2"));
    let path = temp.path();
    let file = segment_file(&temp.store);
    make_writable(&file);
    let whole = fs::read(&file).unwrap();
    let mut bytes = whole.clone();
    let tails = temp.store.info().segments[0].sections[2];
    bytes[tails.offset as usize + 5] ^= 1;
    fs::write(&file, &bytes).unwrap();
    let store = open(&path, Access::Memory).unwrap();
    let refused = store.warm(fpstore::Warm::All).unwrap_err();
    assert!(matches!(refused, Error::Corrupt { .. }), "{refused}");
    // A file with another length than in the manifest is rejected before memory is allocated.
    for len in [whole.len() - 4096, 4096, 100, 0] {
        fs::write(&file, &whole[..len]).unwrap();
        let refused = open(&path, Access::Memory).unwrap_err();
        assert!(matches!(refused, Error::Corrupt { .. }), "{len}: {refused}");
    }
    let longer = fs::File::options().write(true).open(&file).unwrap();
    longer.set_len(1 << 40).unwrap();
    let refused = open(&path, Access::Memory).unwrap_err();
    assert!(matches!(refused, Error::Corrupt { .. }), "{refused}");
}

#[test]
fn commands_take_access_and_refuse_it_for_files() {
    let dir = TestDir::with("new.tsv", "0000000000000007\ta\n0000000000000006\tb\n");
    dir.ok(&["build", "new.tsv", "-s", "s.fps", "-q"], "");
    for args in [&["query", "7", "-s", "s.fps"][..], &["pairs", "s.fps"], &["cluster", "s.fps"]] {
        let expected = dir.ok(args, "");
        for how in ["map", "memory", "auto"] {
            let found = dir.ok(&[args, &["--access", how]].concat(), "");
            assert_eq!(found, expected, "{args:?} --access {how}");
        }
    }
    let (_, refused) = dir.run(&["pairs", "new.tsv", "--access", "memory"], 2);
    assert!(refused.contains("the input is files"), "{refused}");
}
