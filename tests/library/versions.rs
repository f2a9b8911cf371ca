//! Stores of each format version: supported versions can be queried; for others the error contains
//! a remedy.

use std::fs;
use std::path::{Path, PathBuf};

use crate::common::samples;
use fpstore::{Error, FORMAT_VERSIONS, SegmentReceipt, Store, Writer, verify};

fn golden(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name)
}

/// A copy of a golden store that can be changed.
fn copy_of(name: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for file in fs::read_dir(golden(name)).unwrap() {
        let file = file.unwrap();
        fs::copy(file.path(), folder.path().join(file.file_name())).unwrap();
    }
    folder
}

/// The files of a store whose names begin with `kind`, sorted.
fn files_of(store: &Path, kind: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(store).unwrap().map(|file| file.unwrap());
    let named = entries.filter(|file| file.file_name().to_str().unwrap().starts_with(kind));
    let mut files: Vec<PathBuf> = named.map(|file| file.path()).collect();
    files.sort();
    files
}

/// The version in a file; it has the same position in all kinds of files.
fn version_in(file: &Path) -> u16 {
    u16::from_le_bytes(fs::read(file).unwrap()[8..10].try_into().unwrap())
}

fn set_version(file: &Path, version: u16) {
    let mut bytes = fs::read(file).unwrap();
    bytes[8..10].copy_from_slice(&version.to_le_bytes());
    fs::remove_file(file).unwrap();
    fs::write(file, bytes).unwrap();
}

#[test]
fn there_is_a_golden_store_of_each_format_version() {
    let mut covered = Vec::new();
    for (store, of_segments) in [
        ("worked.fps", 2),
        ("crowded.fps", 2),
        ("empty.fps", 2),
        ("lived.fps", 2),
        ("sketched.fps", 2),
        ("syndromes.fps", 3),
    ] {
        let path = golden(store);
        for segment in files_of(&path, "segment-") {
            assert_eq!(version_in(&segment), of_segments, "{store}");
        }
        for other in files_of(&path, "MANIFEST").into_iter().chain(files_of(&path, "deletion-")) {
            assert_eq!(version_in(&other), 2, "{}", other.display());
        }
        let info = Store::open(&path).unwrap().info();
        let told: Vec<u16> = info.segments.iter().map(|segment| segment.format_version).collect();
        assert!(told.iter().all(|version| *version == of_segments), "{store}: {told:?}");
        covered.push(of_segments);
    }
    for version in FORMAT_VERSIONS {
        assert!(covered.contains(&version), "no golden store of version {version}");
    }
    for older in 1..*FORMAT_VERSIONS.start() {
        let name = format!("older/version-{older}.fps");
        assert_eq!(version_in(&golden(&name).join("MANIFEST")), older);
    }
}

/// Checks that the error names the file, its version, the supported versions, and the remedy.
fn assert_old(error: &Error) {
    assert!(matches!(error, Error::UnsupportedVersion { found: 1, .. }), "{error:?}");
    let text = error.to_string();
    for part in ["has format version 1", "reads version", "'fpstore dump'", "'fpstore build'"] {
        assert!(text.contains(part), "{text}");
    }
}

#[test]
fn a_store_of_version_1_is_refused_by_all_that_opens_stores_and_stays_as_it_is() {
    let folder = copy_of("older/version-1.fps");
    let path = folder.path();
    let before: Vec<Vec<u8>> =
        files_of(path, "").iter().map(|file| fs::read(file).unwrap()).collect();
    assert_old(&Store::open(path).unwrap_err());
    assert_old(&Writer::open(path).unwrap_err());
    let verified = verify(path, &samples(1));
    assert_old(&verified.unwrap_err());
    let segment = &files_of(path, "segment-")[0];
    assert_old(&SegmentReceipt::of(segment).unwrap_err());
    let mine = copy_of("worked.fps");
    let mut writer = Writer::open(mine.path()).unwrap();
    assert_old(&writer.import(std::slice::from_ref(segment)).unwrap_err());
    assert_old(&writer.import(&[path.to_path_buf()]).unwrap_err());
    let after: Vec<Vec<u8>> =
        files_of(path, "").iter().map(|file| fs::read(file).unwrap()).collect();
    assert_eq!(after, before);
}

#[test]
fn each_kind_of_file_of_a_newer_version_is_refused_by_name() {
    for kind in ["MANIFEST", "segment-", "deletion-"] {
        let folder = copy_of("lived.fps");
        assert!(verify(folder.path(), &samples(1)).unwrap().is_sound());
        let file = files_of(folder.path(), kind).remove(0);
        set_version(&file, 9);
        let error = Store::open(folder.path()).unwrap_err();
        let Error::UnsupportedVersion { path, found: 9, newest, .. } = &error else {
            panic!("{kind}: {error:?}")
        };
        assert_eq!(path.file_name(), file.file_name());
        let expected = if kind == "segment-" { *FORMAT_VERSIONS.end() } else { 2 };
        assert_eq!(*newest, expected, "{kind}");
        let text = error.to_string();
        assert!(text.contains("a newer fpstore wrote it and reads it"), "{text}");
        assert!(text.contains(env!("CARGO_PKG_VERSION")), "{text}");
    }
}

#[test]
fn text_forms_of_another_version_say_what_helps() {
    let of_receipt = "segment 2 digest=00".parse::<SegmentReceipt>().unwrap_err().to_string();
    assert!(of_receipt.contains("it has version 2"), "{of_receipt}");
    assert!(of_receipt.contains("write the segment again"), "{of_receipt}");
    let of_plan = "join-plan 7 k=3".parse::<fpstore::join::JoinPlan>().unwrap_err().to_string();
    assert!(of_plan.contains("it has version 7"), "{of_plan}");
    assert!(of_plan.contains("make the plan again"), "{of_plan}");
    let recipe = fpstore::Recipe::from_text("fpstore-text=2\nmethod=minhash").unwrap();
    let of_recipe = fpstore_text::TextRecipe::from_recipe(&recipe).unwrap_err().to_string();
    assert!(of_recipe.contains("it has version 2"), "{of_recipe}");
    assert!(of_recipe.contains("a newer fpstore reads it"), "{of_recipe}");
}
