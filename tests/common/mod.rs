//! Shared parts of the tests: repeatable data, stores of it, and the linear scan as the oracle.

#[cfg(all(unix, feature = "serve"))]
pub mod http;
pub mod program;
mod random;

use fpstore::{BuildOptions, Builder, Fingerprint, Id, Match, Scheme, Store, VerifyOptions};
use tempfile::TempDir;

pub use random::Random;

/// The digest of format-spec.md: SipHash-1-3 of 128 bits under a key of zeros.
pub fn digest(bytes: &[u8]) -> [u8; 16] {
    use siphasher::sip128::{Hasher128, SipHasher13};
    use std::hash::Hasher;

    let mut hasher = SipHasher13::new_with_keys(0, 0);
    hasher.write(bytes);
    u128::from(hasher.finish128()).to_le_bytes()
}

pub type Record = (u64, Option<Id>);

pub fn number(id: u64) -> Option<Id> {
    Some(Id::U64(id))
}

/// Random values, each with its position as id.
pub fn uniform(count: u64, seed: u64) -> Vec<Record> {
    let mut random = Random::new(seed);
    (0..count).map(|id| (random.next(), number(id))).collect()
}

/// Values of which a fifth are near-duplicates at 0 to 6 flips of an earlier one.
pub fn clustered(count: u64, seed: u64) -> Vec<Record> {
    let mut random = Random::new(seed);
    let mut values: Vec<u64> = Vec::new();
    for _ in 0..count {
        let value = if !values.is_empty() && random.below(5) == 0 {
            let earlier = values[random.below(values.len() as u64) as usize];
            let flips = random.below(7) as u32;
            random.flip(earlier, flips)
        } else {
            random.next()
        };
        values.push(value);
    }
    values.into_iter().zip(0..).map(|(value, id)| (value, number(id))).collect()
}

/// Values that crowd: dead leading bits, few distinct prefixes, runs of neighbours, extremes.
pub fn skewed(count: u64, seed: u64) -> Vec<Record> {
    let mut random = Random::new(seed);
    let value = |random: &mut Random| match random.below(6) {
        0 => random.next() >> 20,
        1 => random.next() >> 32,
        2 => 0xabcd_0000_0000_0000 + random.below(5000),
        3 => random.below(4) << 62 | random.next() >> 50,
        4 => [0, u64::MAX, 1, 1 << 63][random.below(4) as usize],
        _ => random.next() & 0x00ff_00ff_00ff_00ff,
    };
    (0..count).map(|id| (value(&mut random), number(id % 7))).collect()
}

/// To verify a store with so many sample queries.
pub fn samples(count: u64) -> VerifyOptions {
    VerifyOptions::default().samples(count)
}

/// A store that removes itself.
pub struct TempStore {
    pub store: Store,
    pub folder: TempDir,
}

pub fn store_of(records: &[Record], scheme: Scheme) -> TempStore {
    let folder = tempfile::tempdir().unwrap();
    let options = BuildOptions::default().scheme(scheme);
    let mut builder = Builder::with_options(folder.path().join("store.fps"), options).unwrap();
    for (value, id) in records {
        match id {
            Some(id) => builder.push(Fingerprint::new(*value), id.as_ref()).unwrap(),
            None => builder.push_bare(Fingerprint::new(*value)).unwrap(),
        }
    }
    TempStore { store: builder.finish().unwrap(), folder }
}

/// The oracle: a linear scan, matches by distance, then fingerprint, ids in input order.
pub fn scan(records: &[Record], needle: u64, k: u32) -> Vec<Match> {
    let mut near: Vec<(u32, u64, usize)> = records
        .iter()
        .enumerate()
        .map(|(at, (value, _))| ((value ^ needle).count_ones(), *value, at))
        .filter(|&(distance, ..)| distance <= k)
        .collect();
    near.sort_unstable();
    near.chunk_by(|a, b| a.1 == b.1)
        .map(|group| Match {
            fingerprint: Fingerprint::new(group[0].1),
            distance: group[0].0,
            ids: group.iter().filter_map(|&(.., at)| records[at].1.clone()).collect(),
        })
        .collect()
}

/// Queries: stored fingerprints, stored ones with 1 to k + 1 flips, random ones, extremes.
pub fn needles(records: &[Record], count: usize, k: u32, seed: u64) -> Vec<u64> {
    let mut random = Random::new(seed);
    let mut needles = vec![0, u64::MAX];
    while needles.len() < count {
        needles.push(random.next());
        if !records.is_empty() {
            let stored = records[random.below(records.len() as u64) as usize].0;
            needles.push(stored);
            for flips in [k.saturating_sub(1), k, k + 1] {
                needles.push(random.flip(stored, flips.min(64)));
            }
        }
    }
    needles
}

/// Fails unless the store answers as the scan does.
pub fn assert_exact(store: &Store, records: &[Record], needles: &[u64], k: u32, case: &str) {
    let mut searcher = store.searcher();
    for &needle in needles {
        let answer = searcher.search(Fingerprint::new(needle), k).unwrap();
        let found = answer.to_matches().unwrap();
        assert_eq!(found, scan(records, needle, k), "{case}, k={k}, needle {needle:016x}");
        assert_eq!(answer.len(), found.len());
    }
}

/// Every scheme that has a fixed name.
pub fn schemes(k: u32) -> Vec<(&'static str, Scheme)> {
    ["1", "2", "3", "4", "6", "8", "10", "11", "14", "15", "16", "20"]
        .map(|name| (name, Scheme::named(name, k).unwrap()))
        .to_vec()
}

/// The names of the files of a store, save those that are only there to be locked.
pub fn names_of(store: &std::path::Path) -> Vec<String> {
    let names = std::fs::read_dir(store).unwrap();
    let mut names: Vec<String> =
        names.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.retain(|name| !["LOCK", "COMPACT", "PUBLISH"].contains(&name.as_str()));
    names.sort();
    names
}
