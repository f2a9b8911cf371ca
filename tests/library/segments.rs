//! A store of several segments answers like a store of one segment, whatever their schemes.

use std::fs;
use std::path::Path;

use crate::common::{
    Record, TempStore, assert_exact, clustered, needles, oracle, samples, scan, scheme_named,
    store_of, take_away,
};
use fpstore::profile::{Collector, profile};
use fpstore::{Error, Fingerprint, Store, verify};

const SEGMENT: &str = "segment-0000000000000001.fps";

/// The manifest entry of a store's only segment, with another number (format-spec.md, section 3).
fn entry(store: &Path, number: u64) -> Vec<u8> {
    let manifest = fs::read(store.join("MANIFEST")).unwrap();
    [&number.to_le_bytes()[..], &manifest[56..136]].concat()
}

/// Makes a store of the segments of several stores, with numbers from 1 on.
fn put_together(stores: &[TempStore], path: &Path) {
    fs::create_dir(path).unwrap();
    let count = stores.len() as u64;
    let mut manifest = b"\x89FPM\r\n\x1a\n\x02\0\0\0".to_vec();
    manifest.extend((count as u32).to_le_bytes());
    manifest.extend([1_u64, count + 1].map(u64::to_le_bytes).concat());
    manifest.extend([7; 16]);
    for (store, number) in stores.iter().zip(1..) {
        let from = store.path();
        fs::copy(from.join(SEGMENT), path.join(format!("segment-{number:016x}.fps"))).unwrap();
        manifest.extend(entry(&from, number));
    }
    let crc = crc32fast::hash(&manifest).to_le_bytes();
    manifest.extend(crc);
    fs::write(path.join("MANIFEST"), manifest).unwrap();
}

fn join(stores: &[TempStore]) -> TempStore {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.fps");
    put_together(stores, &path);
    TempStore { store: Store::open(&path).unwrap(), folder }
}

/// Three lists of records with common fingerprints, so a match can be in all three segments.
fn parts() -> Vec<Vec<Record>> {
    let all = clustered(9000, 51);
    vec![all[..4000].to_vec(), all[2000..6000].to_vec(), all[5000..].to_vec()]
}

fn stores_of(parts: &[Vec<Record>], schemes: [&str; 3]) -> Vec<TempStore> {
    let part_and_scheme = parts.iter().zip(schemes);
    part_and_scheme.map(|(part, scheme)| store_of(part, scheme_named(scheme))).collect()
}

#[test]
fn a_match_in_several_segments_is_one_match_with_all_ids() {
    let parts = parts();
    let stores = stores_of(&parts, ["2", "14", "4"]);
    let joined = join(&stores);
    // Pass the records to the oracle segment by segment: answers list ids in that order.
    let records: Vec<Record> = parts.concat();
    for k in [0, 3, 5, 20] {
        let needles = needles(&records, 60, k, 52);
        assert_exact(&joined.store, &records, &needles, k, "three segments");
    }
    let report = verify(joined.path(), &samples(60)).unwrap();
    assert!(report.is_sound(), "{:?}", report.faults);
    assert_eq!((report.segment_count, report.sample_count), (3, 60));
}

#[test]
fn everything_is_visited_once_in_order() {
    let parts = parts();
    let stores = stores_of(&parts, ["14", "2", "20"]);
    let joined = join(&stores);
    let records: Vec<Record> = parts.concat();
    let mut expected: Vec<u64> = records.iter().map(|(value, _)| *value).collect();
    expected.sort_unstable();
    expected.dedup();
    let mut visited = Vec::new();
    let visit = |entry: fpstore::Hit<'_>| {
        let value = entry.fingerprint().value();
        if visited.len() % 50 == 0 {
            assert_eq!([entry.to_match()?], scan(&records, value, 0)[..]);
        }
        visited.push(value);
        Ok::<(), Error>(())
    };
    joined.store.for_each(visit).unwrap();
    assert_eq!(visited, expected);
}

#[test]
fn a_store_without_segments_finds_nothing() {
    let empty = join(&[]);
    assert_eq!(empty.store.query(Fingerprint::new(0), 64).unwrap(), []);
    assert_eq!(empty.store.info().fingerprint_count(), 0);
    assert_eq!(empty.store.recipe(), None);
    assert!(verify(empty.path(), &samples(5)).unwrap().is_sound());
}

#[test]
fn a_segment_that_is_missing_or_another_one_is_refused() {
    let stores = stores_of(&parts(), ["2"; 3]);
    let joined = join(&stores);
    let path = joined.path();
    let second = path.join("segment-0000000000000002.fps");
    take_away(&second);
    let error = Store::open(&path).unwrap_err();
    assert!(matches!(error, Error::Corrupt { .. }), "{error}");
    assert_eq!(verify(&path, &samples(0)).unwrap().faults.len(), 1);
    fs::copy(path.join(SEGMENT), &second).unwrap();
    assert!(matches!(Store::open(&path), Err(Error::Corrupt { .. })));
    assert_eq!(verify(&path, &samples(0)).unwrap().faults.len(), 1);
}

#[test]
fn segments_of_different_recipes_do_not_mix() {
    let stores = stores_of(&parts(), ["2"; 3]);
    let from = stores[1].path();
    let mut bytes = fs::read(from.join(SEGMENT)).unwrap();
    // Changes the recipe to another of the same length, and then the checksum of its page.
    assert_eq!(&bytes[4096..4104], b"external");
    bytes[4096..4104].copy_from_slice(b"internal");
    let checksums = u64::from_le_bytes(bytes[80 + 32 + 9 * 24 + 8 + 48..][..8].try_into().unwrap());
    let mut crc = crc32fast::Hasher::new();
    crc.update(&[1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
    crc.update(&bytes[4096..8192]);
    let at = checksums as usize;
    bytes[at..at + 4].copy_from_slice(&crc.finalize().to_le_bytes());
    take_away(&from.join(SEGMENT));
    fs::write(from.join(SEGMENT), bytes).unwrap();
    assert_eq!(Store::open(&from).unwrap().recipe().unwrap().text(), "internal");

    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("mixed.fps");
    put_together(&stores[..2], &path);
    let error = Store::open(&path).unwrap_err();
    assert!(matches!(error, Error::RecipeMismatch { .. }));
    assert!(error.to_string().contains("internal") && error.to_string().contains("external"));
}

#[test]
fn the_doctor_counts_a_fingerprint_of_several_segments_once_with_all_ids() {
    let parts = parts();
    let stores = stores_of(&parts, ["2", "14", "4"]);
    let joined = profile(&join(&stores).store).unwrap();
    let mut collector = Collector::new();
    let records = oracle::once(parts.concat());
    records.iter().for_each(|&(value, _)| collector.push(Fingerprint::new(value)));
    let input = collector.finish(&scheme_named("2"));
    assert_eq!(joined.fingerprint_count, input.fingerprint_count);
    assert_eq!(joined.record_count, 9000);
    assert_eq!((joined.bits, joined.duplicates), (input.bits, input.duplicates));
    assert_eq!((joined.heaviest, joined.correlated), (input.heaviest, input.correlated));
    let segments: Vec<u64> = joined.tables.iter().map(|table| table.segment.unwrap()).collect();
    assert_eq!(segments, [vec![1; 2], vec![2; 14], vec![3; 4]].concat());
    let first = &profile(&stores[0].store).unwrap().tables;
    assert_eq!(joined.tables[..2], first[..]);
}
