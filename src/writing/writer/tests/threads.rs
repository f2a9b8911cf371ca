//! Merges on any number of threads write the same bytes, even for damaged segments.

use super::*;
use crate::writing::writer::Compaction;

const COUNT: u64 = 700;

/// Makes a store of three segments, with fingerprints from `value` and sketches of `sketch_len`
/// bytes.
fn make_parts(path: &Path, sketch_len: u8, value: impl Fn(u64) -> u64) {
    let build =
        BuildOptions::default().scheme(Scheme::named("4", 3).unwrap()).sketch_len(sketch_len);
    Builder::with_options(path, build).unwrap().finish().unwrap();
    let mut writer = Writer::with_options(path, options().label("")).unwrap();
    for part in 0..3 {
        for i in COUNT * part / 2..COUNT * part / 2 + COUNT {
            let (fingerprint, text) = (Fingerprint::new(value(i)), format!("page {i}"));
            let sketch = vec![i as u8; sketch_len.into()];
            match i % 5 {
                0 if sketch_len == 0 => writer.push_bare(fingerprint).unwrap(),
                0 | 1 => writer.push_sketched(fingerprint, i, &sketch).unwrap(),
                _ => writer.push_sketched(fingerprint, text.as_str(), &sketch).unwrap(),
            }
        }
        // More ids of one fingerprint than a part that is read into memory may have.
        for i in 0..1000 {
            let text = format!("copy {part} {i}");
            let sketch = vec![1; sketch_len.into()];
            writer.push_sketched(Fingerprint::new(value(part)), text.as_str(), &sketch).unwrap();
        }
        writer.commit().unwrap();
    }
    let deleted: Vec<Fingerprint> = (0..50).map(|i| Fingerprint::new(value(7 * i))).collect();
    writer.delete_fingerprints(&deleted).unwrap();
    writer.delete_ids([IdRef::Text("page 8"), IdRef::Text("copy 1 500"), IdRef::U64(601)]).unwrap();
}

/// Merges a copy of the store `from` into one segment, and returns the bytes of the segment.
fn merged(from: &Path, threads: usize) -> Vec<u8> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.fps");
    copy(from, &path);
    let mut writer = Writer::with_options(
        &path,
        options().label("").threads(threads).memory(BuildOptions::memory_min(threads)),
    )
    .unwrap();
    writer.compact(&Compaction::One).unwrap();
    drop(writer);
    let entries = read_manifest(&path).unwrap().segments;
    assert_eq!(entries.len(), 1);
    fs::read(path.join(entries[0].file_name())).unwrap()
}

/// Flips a byte in the middle of the heads of a segment's first table.
fn damage(path: &Path, segment: usize) {
    let store = Store::open(path).unwrap();
    let snapshot = store.snapshot();
    let open = &snapshot.segments()[segment];
    let heads = open.segment.first_table().unwrap().heads;
    let (at, file) = ((heads.offset + heads.len / 2) as usize, open.segment.path().to_path_buf());
    drop(snapshot);
    drop(store);
    let mut bytes = fs::read(&file).unwrap();
    bytes[at] ^= 0x40;
    fs::remove_file(&file).unwrap();
    fs::write(&file, bytes).unwrap();
}

#[test]
fn merges_write_the_same_bytes_on_any_number_of_threads_also_of_what_is_damaged() {
    let folder = tempfile::tempdir().unwrap();
    // Scattered values, and values so dense that few blocks contain them all.
    let spreads: [fn(u64) -> u64; 2] = [|i| value(2 * i), |i| (1 << 40) + i];
    for (number, value) in spreads.into_iter().enumerate() {
        for sketch_len in [0, 3] {
            let path = folder.path().join(format!("{number} {sketch_len}.fps"));
            make_parts(&path, sketch_len, value);
            let (records, alone) = (all_records(&path), merged(&path, 1));
            for threads in [2, 5] {
                assert!(merged(&path, threads) == alone, "{number} {sketch_len} {threads}");
            }
            for segment in [3, 1] {
                damage(&path, segment);
                for threads in [1, 3] {
                    assert!(merged(&path, threads) == alone, "{number} {sketch_len} {threads}");
                }
            }
            let mut writer = Writer::with_options(
                &path,
                options().threads(2).memory(BuildOptions::memory_min(2)),
            )
            .unwrap();
            writer.compact(&Compaction::One).unwrap();
            assert!(all_records(&path) == records);
        }
    }
}
