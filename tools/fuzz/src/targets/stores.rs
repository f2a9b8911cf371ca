//! Targets that read the files of a store, with corrected checksums.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use crate::sign::{self, entry, u16_at, u64_at};
use crate::site::{check_store, folder};

const SEGMENT: &str = "segment-0000000000000001.fps";

fn golden(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/golden").join(name)
}

/// A folder with a copy of a golden store.
fn copy_of(name: &'static str) -> &'static Path {
    static COPY: OnceLock<PathBuf> = OnceLock::new();
    COPY.get_or_init(|| {
        let to = folder().join(name);
        fs::create_dir(&to).unwrap();
        for file in fs::read_dir(golden(name)).unwrap() {
            let file = file.unwrap();
            fs::write(to.join(file.file_name()), fs::read(file.path()).unwrap()).unwrap();
        }
        to
    })
}

/// Checks a store of one segment, with a manifest that lists it.
pub fn segment(bytes: &[u8]) {
    static MANIFEST: OnceLock<Vec<u8>> = OnceLock::new();
    let manifest =
        MANIFEST.get_or_init(|| fs::read(golden("worked.fps").join("MANIFEST")).unwrap());
    let store = copy_of("worked.fps");
    let mut bytes = bytes.to_vec();
    sign::segment(&mut bytes);
    let mut manifest = manifest.clone();
    manifest[56..64].copy_from_slice(&(bytes.len() as u64).to_le_bytes());
    if let Some(count) = bytes.get(24..32) {
        manifest[64..72].copy_from_slice(count);
    }
    if let Some(header) = bytes.get(..sign::u32_at(&bytes, 12)) {
        manifest[96..112].copy_from_slice(&sign::digest(header));
    }
    sign::crc_at_end(&mut manifest);
    fs::write(store.join("MANIFEST"), manifest).unwrap();
    fs::write(store.join(SEGMENT), bytes).unwrap();
    check_store(store);
}

/// Sets a field of the header, of a table or of the directory, or a few bytes of one section, to an
/// extreme value.
pub fn mutate_segment(bytes: &mut [u8], seed: u32) -> usize {
    let mut state = u64::from(seed).wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut below = |limit: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (state >> 33) as usize % limit.max(1)
    };
    let sections = u16_at(bytes, 46).min(64);
    let tables = u16_at(bytes, 44).min(64);
    for _ in 0..1 + below(3) {
        let (at, len) = match below(4) {
            0 => [(16, 8), (24, 8), (32, 8), (40, 1), (41, 1), (42, 1), (44, 2), (46, 2), (48, 8)]
                [below(9)],
            1 => {
                let (field, len) = [(0, 8), (8, 1), (9, 1), (10, 1)][below(4)];
                (80 + 16 * below(tables) + field, len)
            }
            2 => {
                let (field, len) = [(0, 2), (2, 2), (8, 8), (16, 8)][below(4)];
                (entry(bytes, below(sections)) + field, len)
            }
            _ => {
                // Half of the mutations are near the start of the section, which contains counts
                // and first entries.
                let place = entry(bytes, below(sections));
                let len = u64_at(bytes, place + 16);
                let limit = if below(2) == 0 { len.min(128) } else { len };
                (u64_at(bytes, place + 8).saturating_add(below(limit)), [1, 2, 3, 8][below(4)])
            }
        };
        let Some(field) = bytes.get_mut(at..at.saturating_add(len)) else { continue };
        let mut old = [0; 8];
        old[..len].copy_from_slice(field);
        let old = u64::from_le_bytes(old);
        let new = match below(8) {
            0 => 0,
            1 => u64::MAX,
            2 => old.wrapping_add(1),
            3 => old.wrapping_sub(1),
            4 => old ^ 1 << below(8 * len),
            5 => old.wrapping_add(4096),
            6 => 1 << below(8 * len),
            _ => below(1 << 31) as u64,
        };
        field.copy_from_slice(&new.to_le_bytes()[..len]);
    }
    bytes.len()
}

/// Checks a manifest next to the files of a golden store.
pub fn manifest(bytes: &[u8]) {
    let mut bytes = bytes.to_vec();
    sign::crc_at_end(&mut bytes);
    if fpstore::fuzzing::manifest(&bytes) {
        let store = copy_of("lived.fps");
        fs::write(store.join("MANIFEST"), bytes).unwrap();
        check_store(store);
    }
}

/// Checks a deletion file of a golden store, with a manifest that lists it.
pub fn deletions(bytes: &[u8]) {
    static MANIFEST: OnceLock<Vec<u8>> = OnceLock::new();
    let manifest = MANIFEST.get_or_init(|| fs::read(golden("lived.fps").join("MANIFEST")).unwrap());
    let mut bytes = bytes.to_vec();
    sign::crc_at_end(&mut bytes);
    if let Some((manifest, name)) = fpstore::fuzzing::deletions(&bytes, manifest) {
        let store = copy_of("lived.fps");
        fs::write(store.join("MANIFEST"), manifest).unwrap();
        fs::write(store.join(name), bytes).unwrap();
        check_store(store);
    }
}
