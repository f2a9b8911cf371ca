//! Code that several tests share: repeatable records, stores of these records, expected answers.

#![allow(dead_code, unused_imports, reason = "each test program uses a part")]

pub mod joins;
pub mod oracle;
mod random;
pub mod real;
mod stores;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};

use fpstore::{Fingerprint, Id, Match, Store};

pub use random::Random;
pub use stores::{
    TempStore, add, make_empty, names_of, push_all, records_of, samples, scheme_named, schemes,
    store_of, take_away,
};

/// Sets a flag when dropped, even after a failed assertion. Other threads of the scope watch the
/// flag and end, so that the scope does not wait for them for ever.
pub struct Ends<'a>(pub &'a AtomicBool);

impl Drop for Ends<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// The root folder of the project; tests of several packages use it.
pub fn root() -> PathBuf {
    let own = Path::new(env!("CARGO_MANIFEST_DIR"));
    own.ancestors().find(|folder| folder.join("format-spec.md").exists()).unwrap().into()
}

/// The names in a folder, in ascending order.
pub fn names_in(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    let mut names: Vec<String> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

/// A command that runs one test of this binary in a separate process. `name` must be the full path
/// of the test: with an unknown name no test runs, which would count as success.
pub fn test_process(name: &str) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", name, "--nocapture"]);
    command
}

/// The digest defined in format-spec.md: 128-bit SipHash-1-3 with an all-zero key.
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

/// Random values; the id of each value is its position in the list.
pub fn uniform(count: u64, seed: u64) -> Vec<Record> {
    let mut random = Random::new(seed);
    (0..count).map(|id| (random.next(), number(id))).collect()
}

/// Random values; a fifth of them are earlier values with 0 to 6 flipped bits.
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

/// Unevenly distributed values: leading zeros, few distinct prefixes, runs of consecutive values,
/// extremes.
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

/// Records as lines of input for the program.
pub fn record_lines(records: &[Record]) -> String {
    let line = |(value, id): &Record| match id {
        Some(id) => format!("{value:016x}\t{id}\n"),
        None => format!("{value:016x}\n"),
    };
    records.iter().map(line).collect()
}

/// The fingerprints of records, as input for [`oracle`].
pub fn values_of(records: &[Record]) -> impl Iterator<Item = u64> {
    records.iter().map(|record| record.0)
}

/// The expected answer, from the oracle; the ids of a match are in input order, each once.
pub fn scan(records: &[Record], needle: u64, k: u32) -> Vec<Match> {
    oracle::scan(values_of(records), needle, k)
        .chunk_by(|a, b| a.1 == b.1)
        .map(|group| Match {
            fingerprint: Fingerprint::new(group[0].1),
            distance: group[0].0,
            ids: oracle::once(group.iter().filter_map(|&(.., at)| records[at].1.clone())),
        })
        .collect()
}

/// Queries: stored fingerprints, stored fingerprints with 1 to k + 1 flipped bits, random values,
/// and the extreme values.
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

/// Fails unless a search of the store and a scan of the records give the same answers.
pub fn assert_exact(store: &Store, records: &[Record], needles: &[u64], k: u32, case: &str) {
    let mut searcher = store.searcher();
    for &needle in needles {
        let answer = searcher.search(Fingerprint::new(needle), k).unwrap();
        let found = answer.to_matches().unwrap();
        assert_eq!(found, scan(records, needle, k), "{case}, k={k}, needle {needle:016x}");
        assert_eq!(answer.len(), found.len());
    }
}
