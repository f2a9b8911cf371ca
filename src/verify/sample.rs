//! Sample queries, compared with a scan.

use std::hash::{Hash, Hasher};

use siphasher::sip::SipHasher13;

use crate::checksum::SetSum;
use crate::error::{Error, Fault, Result};
use crate::fingerprint::Fingerprint;
use crate::search::Hit;
use crate::section::Section;
use crate::store::Store;
use crate::verify::VerifyReport;

/// Ids of a match that are compared; one fingerprint may have millions.
const IDS_COMPARED_MAX: usize = 16;
/// The samples are the same every time, so that a fault can be looked into.
const SEED: u64 = 20_261_121;

/// Needles that share a pass over the store.
const NEEDLES_PER_PASS: usize = 256;

/// An answer, boiled down: however many matches it has, it takes a few words.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Digest {
    match_count: u64,
    matches: SetSum,
    id_count: u64,
    /// The sum of the hashes of the ids, each with its fingerprint.
    ids: u64,
}

/// Asks `sample_count` queries and adds those whose answer differs from a scan's.
pub(super) fn verify(store: &Store, sample_count: u64, report: &mut VerifyReport) -> Result<()> {
    let needles = needles(store, sample_count)?;
    let mut searcher = store.searcher();
    for needles in needles.chunks(NEEDLES_PER_PASS) {
        for (&needle, expected) in needles.iter().zip(scan(store, needles)?) {
            report.sample_count += 1;
            let mut found = Digest::default();
            for hit in searcher.search(needle, store.tuned_k())?.hits() {
                found.add(&hit)?;
            }
            if found != expected {
                report.faults.push(differs(store, needle));
            }
        }
    }
    Ok(())
}

impl Digest {
    fn add(&mut self, hit: &Hit<'_>) -> Result<()> {
        self.match_count += 1;
        self.matches.add(hit.fingerprint());
        for id in hit.ids().take(IDS_COMPARED_MAX) {
            let mut hasher = SipHasher13::new_with_keys(SEED, hit.fingerprint().value());
            id?.hash(&mut hasher);
            self.ids = self.ids.wrapping_add(hasher.finish());
            self.id_count += 1;
        }
        Ok(())
    }
}

fn differs(store: &Store, needle: Fingerprint) -> Error {
    let detail = format!("query {needle} is answered otherwise than by a scan");
    Error::Corrupt {
        path: store.info().path,
        section: Section::Manifest,
        offset: 0,
        fault: Fault::rule(20, detail),
    }
}

/// A number that depends on the seed and on `of` alone.
fn random(of: u64) -> u64 {
    let mut hasher = SipHasher13::new_with_keys(SEED, 0);
    hasher.write_u64(of);
    hasher.finish()
}

/// In turn: a stored fingerprint, one with 1 to k + 1 bits flipped, and any.
fn needles(store: &Store, count: u64) -> Result<Vec<Fingerprint>> {
    let stored = pick(store, count)?;
    let spread = u64::from(store.tuned_k()) + 1;
    let needles = (0..count).map(|number| {
        let from_store = stored.get((random(number) % stored.len().max(1) as u64) as usize);
        match (number % 3, from_store) {
            (0, Some(&fingerprint)) => fingerprint,
            (1, Some(&fingerprint)) => {
                let flip_count = 1 + random(!number) % spread;
                let bits = (0..flip_count).map(|i| 1 << (random(number << 8 | i) % 64));
                Fingerprint::new(bits.fold(fingerprint.value(), |value, bit: u64| value ^ bit))
            }
            _ => Fingerprint::new(random(number)),
        }
    });
    Ok(needles.collect())
}

/// About `count` stored fingerprints, spread evenly over the ranks of each segment.
fn pick(store: &Store, count: u64) -> Result<Vec<Fingerprint>> {
    let mut picked = Vec::new();
    let snapshot = store.snapshot();
    for open in snapshot.segments() {
        let Some(table) = open.segment.tables().first() else { continue };
        let stride = (open.segment.header().fingerprint_count / count.max(1)).max(1);
        for step in open.segment.values(table) {
            let (rank, value) = step?;
            if rank.0.is_multiple_of(stride) {
                picked.push(table.permutation.invert(value));
            }
        }
    }
    Ok(picked)
}

/// What lies within the tuned distance of each needle, by comparing everything with everything.
fn scan(store: &Store, needles: &[Fingerprint]) -> Result<Vec<Digest>> {
    let k = store.tuned_k();
    let mut digests = vec![Digest::default(); needles.len()];
    store.for_each(|entry| {
        for (needle, digest) in needles.iter().zip(&mut digests) {
            if entry.fingerprint().distance(*needle) <= k {
                digest.add(&entry)?;
            }
        }
        Ok::<(), Error>(())
    })?;
    Ok(digests)
}
