//! Arbitrary bytes in a store cause neither wrong answers nor panics.

use std::fs::{self, File};
use std::io::{Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use crate::common::{
    Random, TempStore, assert_exact, digest, number, samples, scheme_named, skewed, store_of,
    take_away, uniform,
};
use fpstore::writer::Compaction;
use fpstore::{Error, Fingerprint, Match, Scheme, Store, Writer, WriterOptions, verify};
use tempfile::TempDir;

const SEGMENT: &str = "segment-0000000000000001.fps";

/// A copy of a store, to be damaged and repaired.
struct Patient {
    folder: TempDir,
    questions: Vec<(Fingerprint, u32)>,
    answers: Vec<Vec<Match>>,
}

impl Patient {
    fn of(store: &Path) -> Self {
        let folder = tempfile::tempdir().unwrap();
        for file in fs::read_dir(store).unwrap() {
            let name = file.unwrap().file_name();
            fs::write(folder.path().join(&name), fs::read(store.join(&name)).unwrap()).unwrap();
        }
        let store = Store::open(folder.path()).unwrap();
        let mut stored = Vec::new();
        store
            .for_each(|entry| {
                stored.push(entry.fingerprint().value());
                Ok::<(), Error>(())
            })
            .unwrap();
        let stride = stored.len().div_ceil(8).max(1);
        let mut questions: Vec<(Fingerprint, u32)> = Vec::new();
        for &value in stored.iter().step_by(stride) {
            questions.push((Fingerprint::new(value ^ 0x8000_0001), 3));
            questions.push((Fingerprint::new(value), 0));
        }
        questions.push((Fingerprint::new(0x1234), 6));
        questions.push((Fingerprint::new(0x1234), 40));
        let answers: Vec<Vec<Match>> =
            questions.iter().map(|&(needle, k)| store.query(needle, k).unwrap()).collect();
        assert!(answers.iter().any(|answer| !answer.is_empty()), "the intact store answers");
        assert!(
            verify(folder.path(), &samples(20)).unwrap().is_sound(),
            "the intact store is sound"
        );
        Patient { folder, questions, answers }
    }

    fn file(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Repeats every query: each must return the right answer or a typed error.
    fn check(&self, case: &str) {
        let store = match Store::open(self.folder.path()) {
            Ok(store) => store,
            Err(error) => return assert_typed(&error, case),
        };
        for (&(needle, k), answer) in self.questions.iter().zip(&self.answers) {
            match store.query(needle, k) {
                Ok(found) => assert!(found == *answer, "{case}: wrong answer to {needle}, k={k}"),
                Err(error) => assert_typed(&error, case),
            }
        }
    }

    /// Fails unless `verify` reports a fault.
    fn check_reported(&self, case: &str) {
        match verify(self.folder.path(), &samples(0)) {
            Ok(report) => {
                assert!(!report.is_sound(), "{case}: not reported");
                report.faults.iter().for_each(|fault| assert_typed(fault, case));
            }
            Err(error) => assert_typed(&error, case),
        }
    }
}

fn assert_typed(error: &Error, case: &str) {
    assert!(
        matches!(error, Error::Corrupt { .. } | Error::UnsupportedVersion { .. }),
        "{case}: {error}"
    );
}

fn overwrite(path: &Path, offset: u64, bytes: &[u8]) {
    let mut file = File::options().write(true).open(path).unwrap();
    file.seek(SeekFrom::Start(offset)).unwrap();
    file.write_all(bytes).unwrap();
}

fn golden(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name)
}

fn flip_every_byte(patient: &Patient, name: &str, step: usize) {
    let path = patient.file(name);
    let intact = fs::read(&path).unwrap();
    for at in (0..intact.len()).step_by(step) {
        // Flips a single bit, at each step another one, and then all bits of the byte.
        for flip in [1 << (at / step % 8), 0xff] {
            overwrite(&path, at as u64, &[intact[at] ^ flip]);
            let case = format!("{name}, byte {at:#x} ^ {flip:#x}");
            patient.check(&case);
            patient.check_reported(&case);
        }
        overwrite(&path, at as u64, &intact[at..=at]);
    }
    patient.check("mended");
}

#[test]
fn flipping_any_byte_gives_an_error_or_the_right_answer_and_is_reported() {
    let patient = Patient::of(&golden("worked.fps"));
    flip_every_byte(&patient, "MANIFEST", 1);
    flip_every_byte(&patient, SEGMENT, 1);
}

#[test]
fn flipping_any_byte_of_a_store_with_syndromes_is_found_too() {
    flip_every_byte(&Patient::of(&golden("syndromes.fps")), SEGMENT, 1);
}

/// If all checksums are right, only the sum of the keys reveals a wrong syndrome.
#[test]
fn a_wrong_syndrome_is_reported() {
    let patient = Patient::of_any(&golden("syndromes.fps"));
    let mut bytes = fs::read(patient.file(SEGMENT)).unwrap();
    let mut manifest = fs::read(patient.file("MANIFEST")).unwrap();
    let segment = &Store::open(patient.folder.path()).unwrap().info().segments[0];
    let tails = segment.sections.iter().find(|of| of.section.to_string() == "tails of table 1");
    let at = tails.unwrap().offset as usize;
    // Flips the lowest bit of the first number in the tails; no other value has the same head.
    bytes[at] ^= 1;
    sign(&mut bytes);
    fit_manifest(&mut manifest, &bytes);
    fs::write(patient.file(SEGMENT), &bytes).unwrap();
    fs::write(patient.file("MANIFEST"), &manifest).unwrap();
    let report = verify(patient.folder.path(), &samples(0)).unwrap();
    let [Error::Corrupt { fault, .. }] = &report.faults[..] else {
        panic!("{:?}", report.faults);
    };
    assert!(matches!(fault, fpstore::Fault::Rule { rule: 20, .. }), "{fault}");
}

#[test]
fn flipping_or_cutting_any_byte_of_deletions_is_an_error_and_is_reported() {
    let patient = Patient::of(&golden("lived.fps"));
    flip_every_byte(&patient, "MANIFEST", 1);
    for name in ["deletion-0000000000000004.fpd", "deletion-0000000000000005.fpd"] {
        flip_every_byte(&patient, name, 1);
        let path = patient.file(name);
        let intact = fs::read(&path).unwrap();
        for len in 0..intact.len() {
            fs::write(&path, &intact[..len]).unwrap();
            let error = Store::open(patient.folder.path()).unwrap_err();
            assert!(matches!(error, Error::Corrupt { .. }), "{name} of {len} bytes: {error}");
        }
        fs::remove_file(&path).unwrap();
        let error = Store::open(patient.folder.path()).unwrap_err();
        assert!(matches!(error, Error::Corrupt { .. }), "{name} is missing: {error}");
        fs::write(&path, intact).unwrap();
        patient.check("mended");
    }
}

#[test]
fn flipping_bytes_of_overflow_entries_and_restart_points_is_found_too() {
    let patient = Patient::of(&golden("crowded.fps"));
    flip_every_byte(&patient, SEGMENT, 97);
}

#[test]
fn cutting_the_file_at_any_byte_is_an_error_and_never_a_panic() {
    let patient = Patient::of(&golden("worked.fps"));
    for name in ["MANIFEST", SEGMENT] {
        let path = patient.file(name);
        let intact = fs::read(&path).unwrap();
        let file = File::options().write(true).open(&path).unwrap();
        for len in (0..intact.len()).rev() {
            file.set_len(len as u64).unwrap();
            let error = Store::open(patient.folder.path()).unwrap_err();
            assert!(matches!(error, Error::Corrupt { .. }), "{name} of {len} bytes: {error}");
        }
        fs::write(&path, &intact).unwrap();
        overwrite(&path, intact.len() as u64, &[0]);
        assert!(Store::open(patient.folder.path()).is_err(), "{name} with a byte more");
        fs::write(&path, &intact).unwrap();
    }
    patient.check("mended");
}

#[test]
fn a_page_moved_to_another_place_is_refused() {
    let temp = store_of(&skewed(20_000, 5), scheme_named("2"));
    let patient = Patient::of(temp.path().as_path());
    let path = patient.file(SEGMENT);
    let intact = fs::read(&path).unwrap();
    let pages = intact.len() / 4096;
    for page in 1..pages - 1 {
        let (here, there) = (page * 4096, (page + 1) * 4096);
        if intact[here..here + 4096] == intact[there..there + 4096] {
            continue;
        }
        overwrite(&path, here as u64, &intact[there..there + 4096]);
        let case = format!("page {} on page {page}", page + 1);
        patient.check(&case);
        patient.check_reported(&case);
        overwrite(&path, here as u64, &intact[here..here + 4096]);
    }
}

/// Recomputes all checksums and digests of a segment, as an attacker would.
fn sign(bytes: &mut [u8]) {
    let u64_at =
        |bytes: &[u8], at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap());
    let u16_at = |bytes: &[u8], at: usize| u16::from_le_bytes([bytes[at], bytes[at + 1]]);
    let header_len = u32::from_le_bytes(bytes[12..16].try_into().unwrap()) as usize;
    let tables = usize::from(u16_at(bytes, 44));
    let sections = usize::from(u16_at(bytes, 46));
    let entry = |number: usize| 80 + 16 * tables + 24 * number;
    if header_len.is_multiple_of(4096)
        && (4096..=bytes.len()).contains(&header_len)
        && entry(sections) < header_len
    {
        let checksums = u64_at(bytes, entry(sections.saturating_sub(1)) + 8) as usize;
        for number in 0..sections.saturating_sub(1) {
            let (offset, len) =
                (u64_at(bytes, entry(number) + 8), u64_at(bytes, entry(number) + 16));
            for page in 0..len.div_ceil(4096).min(1000) {
                let start = offset.saturating_add(page * 4096) as usize;
                let Some(content) = bytes.get(start..start.saturating_add(4096)) else { break };
                let mut crc = crc32fast::Hasher::new();
                crc.update(&bytes[entry(number)..entry(number) + 4]);
                crc.update(&[0; 4]);
                crc.update(&page.to_le_bytes());
                crc.update(content);
                let at = checksums.saturating_add((start.wrapping_sub(header_len)) / 4096 * 4);
                if let Some(stored) = bytes.get_mut(at..at.saturating_add(4)) {
                    stored.copy_from_slice(&crc.finalize().to_le_bytes());
                }
            }
        }
        let len = u64_at(bytes, entry(sections.saturating_sub(1)) + 16) as usize;
        if let Some(checksums) = bytes.get(checksums..checksums.saturating_add(len)) {
            let digest = digest(checksums);
            bytes[64..80].copy_from_slice(&digest);
        }
        let crc = crc32fast::hash(&bytes[..header_len - 4]).to_le_bytes();
        bytes[header_len - 4..header_len].copy_from_slice(&crc);
    }
}

/// Changes the manifest entry of the only segment so that it fits these bytes.
fn fit_manifest(manifest: &mut [u8], segment: &[u8]) {
    let header_len = u32::from_le_bytes(segment[12..16].try_into().unwrap()) as usize;
    manifest[56..64].copy_from_slice(&(segment.len() as u64).to_le_bytes());
    manifest[64..72].copy_from_slice(&segment[24..32]);
    if let Some(header) = segment.get(..header_len) {
        manifest[96..112].copy_from_slice(&digest(header));
    }
    let crc = crc32fast::hash(&manifest[..136]).to_le_bytes();
    manifest[136..140].copy_from_slice(&crc);
}

/// Bytes with right checksums are accepted, so answers may be wrong; but each query must soon
/// return an answer or a typed error.
#[test]
fn hostile_bytes_with_right_checksums_never_panic_or_hang() {
    let mut random = Random::new(97);
    for name in ["worked.fps", "crowded.fps", "empty.fps", "syndromes.fps"] {
        let patient = Patient::of_any(&golden(name));
        let (intact, manifest) =
            (fs::read(patient.file(SEGMENT)).unwrap(), fs::read(patient.file("MANIFEST")).unwrap());
        for round in 0..3000 {
            let mut bytes = intact.clone();
            for _ in 0..1 + random.below(3) {
                // Half of the changes are in the header, because it contains the counts.
                let limit = if random.below(2) == 0 { 0x180 } else { bytes.len() as u64 };
                let at = random.below(limit) as usize;
                let value = [0, 1, 0x7f, 0x80, 0xff, random.next() as u8][random.below(6) as usize];
                bytes[at] = value;
            }
            sign(&mut bytes);
            let mut manifest = manifest.clone();
            fit_manifest(&mut manifest, &bytes);
            fs::write(patient.file(SEGMENT), &bytes).unwrap();
            fs::write(patient.file("MANIFEST"), &manifest).unwrap();
            let case = format!("{name}, round {round}");
            if let Ok(store) = Store::open(patient.folder.path()) {
                for &(needle, k) in &patient.questions {
                    if let Err(error) = store.query(needle, k) {
                        assert_typed(&error, &case);
                    }
                }
                if let Err(error) = store.for_each(|entry| entry.to_match().map(drop)) {
                    assert_typed(&error, &case);
                }
            }
            let report = verify(patient.folder.path(), &samples(3));
            if let Err(error) = report {
                assert_typed(&error, &case);
            }
        }
    }
}

/// Reading a whole table also detects an index that leaves out a byte, even if all checksums are
/// right.
#[test]
fn an_index_that_leaves_out_bytes_is_refused_by_whole_reads() {
    let patient = Patient::of_any(&golden("worked.fps"));
    let mut bytes = fs::read(patient.file(SEGMENT)).unwrap();
    let mut manifest = fs::read(patient.file("MANIFEST")).unwrap();
    // Each of the 16 blocks has 5 values in 27 bytes; the index is changed to 26 bytes.
    for end in bytes[0x2010..0x2040].chunks_mut(3) {
        assert_eq!(end, [0x05, 0xb0, 0x01]);
        end[1] = 0xa0;
    }
    sign(&mut bytes);
    fit_manifest(&mut manifest, &bytes);
    fs::write(patient.file(SEGMENT), &bytes).unwrap();
    fs::write(patient.file("MANIFEST"), &manifest).unwrap();
    let store = Store::open(patient.folder.path()).unwrap();
    let dumped = store.for_each(|_| Ok::<(), Error>(()));
    assert!(matches!(dumped, Err(Error::Corrupt { .. })), "{dumped:?}");
    assert!(store.query(Fingerprint::new(0), 64).is_err());
    assert!(!verify(patient.folder.path(), &samples(0)).unwrap().is_sound());
}

/// If a page and its checksum are changed, only the digest of the checksums reveals it.
#[test]
fn a_page_changed_with_its_checksum_is_reported() {
    let patient = Patient::of_any(&golden("worked.fps"));
    let intact = fs::read(patient.file(SEGMENT)).unwrap();
    let mut bytes = intact.clone();
    let text = bytes.windows(6).position(|bytes| bytes == b"b.html").unwrap();
    bytes[text] = b'B';
    sign(&mut bytes);
    // Restore the original header: its digest of the contents does not match the changed checksums.
    bytes[..4096].copy_from_slice(&intact[..4096]);
    assert_ne!(bytes, intact);
    fs::write(patient.file(SEGMENT), &bytes).unwrap();
    assert!(Store::open(patient.folder.path()).is_ok());
    let report = verify(patient.folder.path(), &samples(0)).unwrap();
    let [Error::Corrupt { fault, .. }] = &report.faults[..] else {
        panic!("{:?}", report.faults);
    };
    assert!(matches!(fault, fpstore::Fault::Rule { rule: 27, .. }), "{fault}");
}

/// The segment is replaced by one of another store that has the same length and record count.
#[test]
fn a_segment_of_another_store_is_refused() {
    let temp = |seed| store_of(&uniform(500, seed), scheme_named("2"));
    let (own, other) = (temp(1), temp(2));
    let path = |of: &TempStore| of.path();
    assert!(verify(path(&own), &samples(20)).unwrap().is_sound());
    let file = path(&own).join(SEGMENT);
    take_away(&file);
    fs::copy(path(&other).join(SEGMENT), &file).unwrap();
    let refused = Store::open(path(&own)).unwrap_err();
    let is_rule_23 = |error: &Error| {
        matches!(error, Error::Corrupt { fault: fpstore::Fault::Rule { rule: 23, .. }, .. })
    };
    assert!(is_rule_23(&refused), "{refused}");
    let report = verify(path(&own), &samples(0)).unwrap();
    assert!(report.faults.iter().any(is_rule_23), "{:?}", report.faults);
}

impl Patient {
    /// Like `of`, but the store can be empty.
    fn of_any(store: &Path) -> Self {
        let folder = tempfile::tempdir().unwrap();
        for file in ["MANIFEST", SEGMENT] {
            fs::write(folder.path().join(file), fs::read(store.join(file)).unwrap()).unwrap();
        }
        let near = |value: u64| Fingerprint::new(value);
        let questions = vec![
            (near(0), 3),
            (near(u64::MAX), 3),
            (near(0x0123_4567_89ab_cdef), 3),
            (near(0xabcd_0000_0000_0001), 2),
            (near(0xabcd_0000_0000_0001), 64),
        ];
        Patient { folder, questions, answers: Vec::new() }
    }
}

#[test]
fn masks_made_to_be_hard_do_not_hold_up_a_query() {
    let mut random = Random::new(256);
    let masks: Vec<u64> = (0..256).map(|_| random.next() & random.next()).collect();
    let records = skewed(100, 8);
    let temp = store_of(&records, Scheme::from_masks(masks, 3).unwrap());
    for k in [3, 8, 20] {
        crate::common::assert_exact(&temp.store, &records, &[1, 2], k, "hard masks");
    }
}

/// A segment whose header states too few ids can be queried and dumped. But deleting more ids than
/// stated would give a manifest that readers reject, so the deletion is refused.
#[test]
fn deleting_from_a_segment_that_understates_its_ids_changes_nothing() {
    let patient = Patient::of_any(&golden("worked.fps"));
    let mut bytes = fs::read(patient.file(SEGMENT)).unwrap();
    let mut manifest = fs::read(patient.file("MANIFEST")).unwrap();
    bytes[32..40].copy_from_slice(&1_u64.to_le_bytes());
    sign(&mut bytes);
    fit_manifest(&mut manifest, &bytes);
    fs::write(patient.file(SEGMENT), &bytes).unwrap();
    fs::write(patient.file("MANIFEST"), &manifest).unwrap();
    let store = Store::open(patient.folder.path()).unwrap();
    let mut fingerprints = Vec::new();
    store
        .for_each(|entry| -> Result<(), Error> {
            fingerprints.push(entry.fingerprint());
            Ok(())
        })
        .unwrap();
    let mut writer = Writer::open(patient.folder.path()).unwrap();
    let refused = writer.delete_fingerprints(&fingerprints).unwrap_err();
    assert!(refused.to_string().contains("ids to delete, but the header states 1"), "{refused}");
    drop(writer);
    assert_eq!(fs::read(patient.file("MANIFEST")).unwrap(), manifest);
    Store::open(patient.folder.path()).unwrap();
}

/// A store of one segment, changed as by an attacker, with right checksums.
fn forged(store: &Store, change: impl FnOnce(&mut Vec<u8>)) -> Patient {
    let patient = Patient::of_any(&store.info().path);
    let mut bytes = fs::read(patient.file(SEGMENT)).unwrap();
    let mut manifest = fs::read(patient.file("MANIFEST")).unwrap();
    change(&mut bytes);
    sign(&mut bytes);
    fit_manifest(&mut manifest, &bytes);
    fs::write(patient.file(SEGMENT), &bytes).unwrap();
    fs::write(patient.file("MANIFEST"), &manifest).unwrap();
    patient
}

/// The offset and the length of a section.
fn place_of(store: &Store, section: &str) -> (usize, usize) {
    let segment = &store.info().segments[0];
    let place = segment.sections.iter().find(|of| of.section.to_string() == section).unwrap();
    (place.offset as usize, place.len as usize)
}

/// The bits `from..from + count` of packed numbers, in order from the lowest bit on.
fn bits_of(bytes: &[u8], from: usize, count: usize) -> Vec<bool> {
    (from..from + count).map(|bit| bytes[bit / 8] >> (bit % 8) & 1 == 1).collect()
}

fn put_bits(bytes: &mut [u8], from: usize, bits: &[bool]) {
    for (bit, &is_set) in (from..).zip(bits) {
        bytes[bit / 8] = bytes[bit / 8] & !(1 << (bit % 8)) | u8::from(is_set) << (bit % 8);
    }
}

/// Two values with the same key have equal entries, and each entry names both values. Such entries
/// should be adjacent; if they are not, the values are named twice, but must be found once.
#[test]
fn entries_with_syndromes_out_of_order_give_each_value_once() {
    // The 12-bit syndrome of 0x65c is 0, so the first two values have the same key.
    let upper = [0xa5a5_0000_u64, 0xa5a5_0000 ^ 0x65c, 0xa5a5_0003];
    let mut records = uniform(5000, 91);
    records.retain(|(value, _)| value & 0xffff_ffff > 0);
    records.extend(upper.iter().zip(9000..).map(|(half, id)| (half << 32, number(id))));
    let temp = store_of(&records, scheme_named("2").with_syndromes(12).unwrap());
    let table = temp.store.info().segments[0].tables[1].clone();
    assert_eq!(table.syndrome_bits, 12);
    // Values whose lower half is 0 come first in the second table.
    let width = (table.tail_bits - table.tail_bits.min(32) + 12) as usize;
    let (tails, _) = place_of(&temp.store, "tails of table 1");
    let patient = forged(&temp.store, |bytes| {
        let numbers: Vec<_> =
            (0..3).map(|at| bits_of(&bytes[tails..], at * width, width)).collect();
        let alone = (0..3).find(|&at| (0..3).all(|of| of == at || numbers[of] != numbers[at]));
        let alone = alone.expect("two of three keys are equal");
        assert_ne!(alone, 1);
        put_bits(&mut bytes[tails..], width, &numbers[alone]);
        put_bits(&mut bytes[tails..], alone * width, &numbers[1]);
    });
    let store = Store::open(patient.folder.path()).unwrap();
    for needle in upper.map(|half| half << 32 ^ 3 << 40) {
        assert_exact(&store, &records, &[needle, needle ^ 1, needle ^ 1 << 50], 3, "forged");
    }
}

/// Threads read parts of a segment. Parts that are not contiguous are an error, because their
/// values would get wrong ids.
#[test]
fn blocks_that_do_not_follow_on_each_other_end_a_merge_whatever_its_threads() {
    let temp = store_of(&uniform(30_000, 92), scheme_named("1"));
    let blocks = 1 << temp.store.info().segments[0].tables[0].block_bits;
    let (index, _) = place_of(&temp.store, "prefix index of table 0");
    // In the second of four parts, the index entries give ranks that are too low by one.
    let patient = forged(&temp.store, |bytes| {
        for entry in bytes[index..][blocks / 64 * 64..blocks / 32 * 64].chunks_mut(64) {
            let rank = u64::from_le_bytes(entry[8..16].try_into().unwrap());
            entry[8..16].copy_from_slice(&(rank - 1).to_le_bytes());
        }
    });
    let manifest = fs::read(patient.file("MANIFEST")).unwrap();
    for threads in [1, 2] {
        let options = WriterOptions::default().threads(threads);
        let mut writer = Writer::with_options(patient.folder.path(), options).unwrap();
        let refused = writer.compact(&Compaction::Rewrite).unwrap_err();
        assert_typed(&refused, &format!("{threads} threads"));
        assert_eq!(fs::read(patient.file("MANIFEST")).unwrap(), manifest);
    }
}

/// A table is rebuilt from another table only if the other table has the same values.
#[test]
fn a_damaged_table_is_not_made_again_from_one_with_other_values() {
    let temp = store_of(&uniform(30_000, 93), scheme_named("2"));
    let table = temp.store.info().segments[0].tables[1].clone();
    let (tails, _) = place_of(&temp.store, "tails of table 1");
    let (heads, len) = place_of(&temp.store, "heads of table 0");
    for threads in [1, 2] {
        let patient = forged(&temp.store, |bytes| {
            // Sets the top bit of the upper 32 bits of one fingerprint, which table 1 stores in the
            // tail. In the order of table 0 the fingerprint then comes after the block that is
            // damaged below, not before it.
            let bits = 0..30_000_usize;
            let bit = bits.map(|rank| rank * table.tail_bits as usize + 31);
            let bit = bit.into_iter().find(|&bit| !bits_of(&bytes[tails..], bit, 1)[0]).unwrap();
            put_bits(&mut bytes[tails..], bit, &[true]);
        });
        let mut bytes = fs::read(patient.file(SEGMENT)).unwrap();
        bytes[heads + len * 3 / 5] ^= 4;
        fs::write(patient.file(SEGMENT), &bytes).unwrap();
        let options = WriterOptions::default().threads(threads);
        let mut writer = Writer::with_options(patient.folder.path(), options).unwrap();
        let refused = writer.compact(&Compaction::Rewrite).unwrap_err().to_string();
        assert!(refused.contains("the tables hold different values"), "{refused}");
    }
}
