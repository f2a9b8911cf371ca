//! The real fingerprints in the repository, repeated with noise.

use std::io::Read;
use std::path::Path;

use anyhow::{Context, Result};

use crate::data::Random;

/// Poems, pictures, video frames, malware; see `tests/data/README.md`.
const FILES: [&str; 4] = [
    "tang_store.tsv.zst",
    "noto_emoji_phash64.hex.zst",
    "pdq_video_frames_a.hex.zst",
    "tlsh_malware_w0.hex.zst",
];
const SEED: u64 = 0x6670_7374_6f72_6503;

/// Makes `count` values: the real fingerprints, then copies of all of them in turn, with each bit
/// flipped with probability 1/8.
///
/// The copies keep much of the bias of bits and of the frequent prefixes of the originals, but they
/// differ from their original in 8 bits on average and from each other in 14 bits: most queries
/// still have few answers.
pub fn fingerprints(count: usize) -> Result<Vec<u64>> {
    let mut originals = Vec::new();
    for name in FILES {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/data").join(name);
        let place = || path.display().to_string();
        let bytes = std::fs::read(&path).with_context(place)?;
        let mut text = String::new();
        zstd::Decoder::new(&bytes[..])
            .and_then(|mut decoder| decoder.read_to_string(&mut text))
            .with_context(place)?;
        for line in text.lines() {
            let digits = line.split('\t').next().unwrap_or(line);
            originals.push(u64::from_str_radix(digits, 16).with_context(place)?);
        }
    }
    let mut random = Random::new(SEED);
    let mut values = Vec::with_capacity(count);
    for number in 0..count {
        let original = originals[number % originals.len()];
        let noise = if number < originals.len() {
            0
        } else {
            random.next() & random.next() & random.next()
        };
        values.push(original ^ noise);
    }
    Ok(values)
}
