//! A commit makes segment files written by tasks a store in one step, or adds no file; repeating a
//! commit changes nothing.

use std::fs;
use std::path::Path;

use crate::common::{
    Record, clustered, names_of, number, push_all, samples, scan, scheme_named, uniform,
};
use fpstore::join::{JoinPlan, PlanReads};
use fpstore::writer::{
    CommitOptions, Compaction, SegmentsCommitted, commit, export_linked, read_receipts,
};
use fpstore::{
    BuildOptions, Builder, Error, Fingerprint, OpenOptions, Recipe, SegmentReceipt, Store, Writer,
    WriterOptions, verify,
};

fn options(scheme: &str) -> BuildOptions {
    BuildOptions::default().scheme(scheme_named(scheme)).threads(1)
}

fn segment(path: &Path, records: &[Record], options: BuildOptions) -> SegmentReceipt {
    let mut builder = Builder::segment_file(path, options).unwrap();
    push_all(&mut builder, records);
    builder.finish_segment().unwrap()
}

/// Writes the records as `count` segment files and returns their receipts.
fn parts(folder: &Path, records: &[Record], count: usize) -> Vec<SegmentReceipt> {
    let parts = records.chunks(records.len().div_ceil(count)).enumerate();
    let part = |(at, records): (usize, &[Record])| {
        segment(&folder.join(format!("part-{at:02}.fps")), records, options("blocks-5"))
    };
    parts.map(part).collect()
}

fn committed(path: &Path, receipts: &[SegmentReceipt]) -> SegmentsCommitted {
    commit(path, receipts, &CommitOptions::default()).unwrap()
}

fn refused(path: &Path, receipts: &[SegmentReceipt]) -> String {
    commit(path, receipts, &CommitOptions::default()).unwrap_err().to_string()
}

fn assert_holds(path: &Path, records: &[Record]) {
    let store = Store::open(path).unwrap();
    for record in records.iter().step_by(37) {
        let mut found = store.query(record.0.into(), 3).unwrap();
        let mut expected = scan(records, record.0, 3);
        found.iter_mut().chain(&mut expected).for_each(|found| found.ids.sort());
        assert_eq!(found, expected);
    }
    let report = verify(path, &samples(20)).unwrap();
    assert!(report.is_sound(), "{:?}", report.faults);
}

#[test]
fn parts_become_a_store_whatever_the_order_of_their_receipts() {
    let records = clustered(3000, 601);
    let folder = tempfile::tempdir().unwrap();
    let mut receipts = parts(folder.path(), &records, 7);
    let path = folder.path().join("pages.fps");
    receipts.reverse();
    receipts.swap(1, 4);
    let done = committed(&path, &receipts);
    assert_eq!((done.added, done.generation, done.copied), (7, 1, 0));
    assert!(!done.tables_differ && done.repeated == 0);
    assert_holds(&path, &records);
    // The segments have the order of their paths, so ids have the order of the records.
    let store = Store::open(&path).unwrap();
    let counts: Vec<u64> = store.info().segments.iter().map(|of| of.fingerprint_count).collect();
    receipts.sort_by(|one, other| one.path.cmp(&other.path));
    assert_eq!(counts, receipts.iter().map(|of| of.fingerprint_count).collect::<Vec<_>>());
    assert_eq!(JoinPlan::of(&store, 3).unwrap().reads(), PlanReads::Ranges);
    // The source files are not removed; the store has links to them under its own names.
    assert!(receipts.iter().all(|of| of.path.exists()));
    assert_eq!(names_of(&path).len(), 8);
}

#[test]
fn a_repeated_commit_changes_nothing_and_says_so() {
    let records = clustered(2000, 602);
    let folder = tempfile::tempdir().unwrap();
    let receipts = parts(folder.path(), &records, 5);
    let path = folder.path().join("pages.fps");
    // The first commit gets three of the five segments, and the first of them two more times, once
    // from another run of its task.
    let again = segment(&folder.path().join("attempt-2.fps"), &records[..400], options("blocks-5"));
    assert_eq!(again.digest, receipts[0].digest, "equal work has an equal digest");
    let some = [&receipts[..3], &[again], &receipts[..1]].concat();
    let done = committed(&path, &some);
    assert_eq!((done.added, done.repeated, done.generation), (3, 2, 1));
    let done = committed(&path, &receipts);
    assert_eq!((done.added, done.repeated, done.generation), (2, 3, 2));
    assert_eq!(done.differing, 0);
    for remove in [false, true, true] {
        let before = names_of(&path);
        let done = commit(&path, &receipts, &CommitOptions::default().remove(remove)).unwrap();
        assert_eq!((done.added, done.repeated, done.generation), (0, 5, 2));
        assert_eq!(names_of(&path), before);
    }
    assert!(receipts.iter().all(|of| !of.path.exists()), "their names were removed");
    assert_holds(&path, &records);
}

/// Two tables have equal masks, but one stores values and the other syndromes, so each share of a
/// join reads the whole store.
#[test]
fn tables_with_syndromes_differ_from_whole_ones_of_the_same_masks() {
    let folder = tempfile::tempdir().unwrap();
    let part = |name: &str, seed: u64, bits: u32| {
        let scheme = scheme_named("2").with_syndromes(bits).unwrap();
        let options = BuildOptions::default().scheme(scheme).threads(1);
        segment(&folder.path().join(name), &uniform(300, seed), options)
    };
    let (whole, more) = (part("whole", 621, 0), part("more", 622, 0));
    let (named, other) = (part("named", 623, 12), part("other", 624, 12));
    for (receipts, first, second) in [
        ([&whole, &more], false, true),
        ([&whole, &named], true, true),
        ([&named, &other], false, true),
    ] {
        let path = folder.path().join(format!("{first}-{}.fps", receipts[1].digest[0]));
        let receipts = receipts.map(SegmentReceipt::clone);
        assert_eq!(committed(&path, &receipts).tables_differ, first);
        let left = if receipts[0] == whole { &other } else { &more };
        let done = committed(&path, std::slice::from_ref(left));
        assert_eq!(done.tables_differ, second);
        let reads = JoinPlan::of(&Store::open(&path).unwrap(), 1).unwrap().reads();
        assert_eq!(reads, PlanReads::Everything);
    }
}

/// After a compaction the manifest no longer lists the committed segments, but it lists the job
/// name. So repeating the commit does not restore records that were deleted since.
#[test]
fn a_segment_that_is_there_is_not_added_again_whatever_was_deleted_of_it() {
    let records = clustered(400, 611);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.fps");
    let receipts = parts(folder.path(), &records, 2);
    committed(&path, &receipts);
    let mut writer = Writer::with_options(&path, WriterOptions::default().compact(false)).unwrap();
    let gone: Vec<Fingerprint> = records.iter().map(|record| record.0.into()).collect();
    writer.delete_fingerprints(&gone).unwrap();
    drop(writer);
    let options = CommitOptions::default().label("2026-11");
    let done = commit(&path, &receipts, &options).unwrap();
    assert_eq!((done.added, done.repeated, done.generation), (0, 2, 2));
    assert_eq!(done.differing, 2, "it is said that neither the label nor the records are as asked");
    let info = Store::open(&path).unwrap().info();
    assert_eq!((info.fingerprint_count(), info.segments[0].label.as_str()), (0, ""));
}

#[test]
fn a_run_is_committed_once_also_after_a_compaction() {
    let records = uniform(600, 603);
    let folder = tempfile::tempdir().unwrap();
    let receipts = parts(folder.path(), &records, 3);
    let path = folder.path().join("pages.fps");
    let options = CommitOptions::default().run("crawl 7".to_owned()).label("2026-11");
    assert_eq!(commit(&path, &receipts, &options).unwrap().added, 3);
    let mut writer = Writer::open(&path).unwrap();
    writer.compact(&Compaction::All).unwrap();
    let store = writer.finish().unwrap();
    assert!(store.has_run("crawl 7"));
    assert_eq!(store.info().segments[0].label, "2026-11");
    let done = commit(&path, &receipts, &options).unwrap();
    assert!(done.known_run && done.added == 0 && done.generation == store.generation());
    assert_eq!(Store::open(&path).unwrap().info().fingerprint_count(), 600);
}

#[test]
fn parts_are_added_to_a_store_that_is_there() {
    let records = clustered(2000, 604);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("pages.fps");
    let mut builder = Builder::with_options(&path, options("2")).unwrap();
    push_all(&mut builder, &records[..500]);
    let before = builder.finish().unwrap();
    let receipts = parts(folder.path(), &records[500..], 4);
    let done = commit(&path, &receipts, &CommitOptions::default().remove(true)).unwrap();
    assert_eq!((done.added, done.generation, done.tables_differ), (4, 2, true));
    assert_holds(&path, &records);
    assert_eq!(before.info().segments.len(), 1, "a reader keeps its state");
    assert!(before.refresh().unwrap());
    assert_eq!(before.info().segments.len(), 5);
    assert!(receipts.iter().all(|of| !of.path.exists()));
}

#[test]
fn all_are_agreed_on_before_any_is_placed() {
    let records = uniform(900, 605);
    let folder = tempfile::tempdir().unwrap();
    let receipts = parts(folder.path(), &records, 9);
    let path = folder.path().join("pages.fps");
    let of_last = |options: BuildOptions, name: &str| {
        let last = segment(&folder.path().join(name), &records[..50], options);
        [&receipts[..8], &[last]].concat()
    };
    let recipe = Recipe::from_text("simhash\nwords").unwrap();
    let foreign = of_last(options("2").recipe(recipe), "zz-foreign.fps");
    let error = refused(&path, &foreign);
    assert!(error.contains("recipes differ") && error.contains("zz-foreign.fps"), "{error}");

    // The task was repeated, but with other records.
    let changed = of_last(options("2"), "zz-changed.fps");
    segment(&folder.path().join("zz-changed.fps"), &records[..51], options("2").replace(true));
    let error = refused(&path, &changed);
    assert!(error.contains("zz-changed.fps is not the file of its receipt"), "{error}");

    let missing = of_last(options("2"), "zz-missing.fps");
    fs::remove_file(folder.path().join("zz-missing.fps")).unwrap();
    let error = refused(&path, &missing);
    assert!(error.contains("zz-missing.fps"), "{error}");

    let cut = of_last(options("2"), "zz-cut.fps");
    let cut_path = folder.path().join("zz-cut.fps");
    let bytes = fs::read(&cut_path).unwrap();
    fs::remove_file(&cut_path).unwrap();
    fs::write(&cut_path, &bytes[..bytes.len() - 4096]).unwrap();
    let error = commit(&path, &cut, &CommitOptions::default()).unwrap_err();
    assert!(matches!(error, Error::Corrupt { .. }), "{error}");

    let sketched = {
        let file = folder.path().join("zz-sketched.fps");
        let mut builder = Builder::segment_file(file, options("2").sketch_len(32)).unwrap();
        builder.push_sketched(7.into(), 7, &[1; 32]).unwrap();
        [&receipts[..8], &[builder.finish_segment().unwrap()]].concat()
    };
    assert!(refused(&path, &sketched).contains("sketches of 32 bytes"));
    assert!(refused(&path, &[]).contains("no segments"));
    assert!(!path.exists(), "nothing was placed");
    let names = names_of(folder.path());
    assert!(names.iter().all(|name| !name.contains("tmp")), "{names:?}");

    // A segment file that is in a store cannot be committed to another store.
    committed(&path, &receipts);
    let of_store = Store::open(&path).unwrap().info().segments[0].path.clone();
    let other = folder.path().join("other.fps");
    let error = refused(&other, &[SegmentReceipt::of(&of_store).unwrap()]);
    assert!(error.contains("is part of a store"), "{error}");
}

#[test]
fn empty_parts_are_left_out_unless_there_is_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    let empty = segment(&folder.path().join("a.fps"), &[], options("2"));
    let one = segment(&folder.path().join("b.fps"), &[(7, number(7))], options("2"));
    let path = folder.path().join("pages.fps");
    let done = committed(&path, &[empty.clone(), one]);
    assert_eq!((done.added, done.empty), (1, 1));
    let path = folder.path().join("nothing.fps");
    let done = committed(&path, std::slice::from_ref(&empty));
    assert_eq!((done.added, done.empty, done.generation), (1, 0, 1));
    assert_eq!(Store::open(&path).unwrap().recipe(), Some(Recipe::external()));
}

#[test]
fn a_segment_file_is_whole_or_not_there() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("part.fps");
    let records = uniform(100, 606);
    let first = segment(&path, &records, options("2"));
    // On other systems than Unix, the rename of the temporary file removes the write protection.
    assert!(fs::metadata(&path).unwrap().permissions().readonly() || cfg!(not(unix)));
    let exists = Builder::segment_file(&path, options("2")).unwrap_err().to_string();
    assert!(exists.contains("part.fps") && exists.contains("exists"), "{exists}");
    assert_eq!(segment(&path, &records, options("2").replace(true)), first);
    assert!(Builder::segment_file(folder.path(), options("2").replace(true)).is_err());
    assert!(Builder::segment_file(folder.path().join("x/y"), options("2")).is_err());
    assert!(Builder::segment_file(folder.path().join("y"), options("2").label("l")).is_err());
    let builder = Builder::segment_file(folder.path().join("y"), options("2")).unwrap();
    assert!(matches!(builder.finish(), Err(Error::InvalidOptions { .. })));
    let builder = Builder::with_options(folder.path().join("y"), options("2")).unwrap();
    assert!(matches!(builder.finish_segment(), Err(Error::InvalidOptions { .. })));
    assert_eq!(names_of(folder.path()), ["part.fps"]);

    let receipts = folder.path().join("receipts");
    fs::write(&receipts, format!("{first}\n\n{first}\n")).unwrap();
    assert_eq!(read_receipts(&receipts).unwrap(), [first.clone(), first.clone()]);
    assert_eq!(read_receipts(&path).unwrap(), [first]);
    fs::write(&receipts, "segment 1 digest=\n").unwrap();
    let error = read_receipts(&receipts).unwrap_err().to_string();
    assert!(error.contains("receipts: line 1"), "{error}");
    fs::write(&receipts, "anything else").unwrap();
    assert!(read_receipts(&receipts).is_err());
}

#[test]
fn a_store_opens_at_a_generation_or_says_that_it_has_passed() {
    let records = uniform(500, 607);
    let folder = tempfile::tempdir().unwrap();
    let receipts = parts(folder.path(), &records, 5);
    let path = folder.path().join("pages.fps");
    committed(&path, &receipts[..4]);
    let at =
        |generation: u64| Store::with_options(&path, OpenOptions::default().generation(generation));
    let fixed = at(1).unwrap();
    let snapshot = folder.path().join("tonight.fps");
    assert_eq!(export_linked(&fixed, &snapshot, None).unwrap().files.len(), 4);
    committed(&path, &receipts);
    assert!(!fixed.refresh().unwrap() && fixed.generation() == 1);
    let error = at(1).unwrap_err().to_string();
    assert!(
        error.contains("is at generation 2, not 1")
            && error.contains("open a copy of the older one"),
        "{error}"
    );
    assert_eq!(at(2).unwrap().info().segments.len(), 5);

    // The folder of the exported snapshot keeps its contents, whatever happens to the store.
    let mut writer = Writer::with_options(&path, WriterOptions::default()).unwrap();
    let gone: Vec<Fingerprint> = records.iter().map(|of| of.0.into()).collect();
    writer.delete_fingerprints(&gone).unwrap();
    writer.compact(&Compaction::All).unwrap();
    // Some systems cannot remove mapped files.
    drop((writer, fixed));
    fs::remove_dir_all(&path).unwrap();
    assert_holds(&snapshot, &records[..400]);
}

/// The store and the segment files are on different file systems, if this machine has two.
#[cfg(target_os = "linux")]
#[test]
fn parts_on_another_file_system_are_copied_and_verified() {
    let Ok(memory) = tempfile::tempdir_in("/dev/shm") else { return };
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let records = uniform(500, 608);
    let receipts = parts(memory.path(), &records, 3);
    let path = folder.path().join("pages.fps");
    if fs::hard_link(&receipts[0].path, folder.path().join("link")).is_ok() {
        return;
    }
    // A byte of the last segment file is damaged, outside of its header.
    let last = &receipts[2].path;
    let sound = fs::read(last).unwrap();
    let mut damaged = sound.clone();
    damaged[3 * 4096 + 5] ^= 1;
    let replace = |bytes: &[u8]| {
        fs::remove_file(last).unwrap();
        fs::write(last, bytes).unwrap();
    };
    replace(&damaged);
    let error = commit(&path, &receipts, &CommitOptions::default()).unwrap_err();
    assert!(matches!(&error, Error::Corrupt { path, .. } if path == last), "{error}");
    assert!(!path.exists());
    replace(&sound);
    assert_eq!(committed(&path, &receipts).copied, 3);
    assert_holds(&path, &records);
    let store = Store::open(&path).unwrap();
    assert!(export_linked(&store, memory.path().join("snapshot.fps"), None).is_err());
    assert!(!memory.path().join("snapshot.fps").exists());
}

/// Segment files that only their owner can read become readable in the store, and a private
/// snapshot folder does not make the store private.
#[cfg(unix)]
#[test]
fn segments_can_be_read_by_those_who_can_read_the_store() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let make = |name: &str, mode: u32| {
        let path = folder.path().join(name);
        fs::create_dir(&path).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        path
    };
    let receipts = parts(&make("parts", 0o700), &uniform(300, 609), 3);
    let path = make("pages.fps", 0o755);
    let snapshot = make("private.fps", 0o700);
    committed(&path, &receipts);
    let store = Store::open(&path).unwrap();
    export_linked(&store, &snapshot, None).unwrap();
    for segment in store.info().segments {
        let mode = fs::metadata(&segment.path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o444, "{}", segment.path.display());
    }
}
