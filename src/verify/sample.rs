//! Sample queries, compared with a scan.

use std::hash::Hasher;

use siphasher::sip::SipHasher13;

use crate::error::{Fault, Result};
use crate::fingerprint::Fingerprint;
use crate::search::{Found, Hit, Match};
use crate::store::Store;
use crate::verify::VerifyReport;

/// The samples are the same every time, so that a fault can be looked into.
const SEED: u64 = 20_261_121;

/// Asks `sample_count` queries and adds those whose answer differs from a scan's.
pub(super) fn verify(store: &Store, sample_count: u64, report: &mut VerifyReport) -> Result<()> {
    let needles = needles(store, sample_count)?;
    let expected = scan(store, &needles)?;
    let mut searcher = store.searcher();
    for (&needle, mut expected) in needles.iter().zip(expected) {
        report.sample_count += 1;
        expected.sort_unstable_by_key(Found::key);
        let found = searcher.search(needle, store.tuned_k())?.to_matches()?;
        if found != matches_of(store, &expected)? {
            let Some(segment) = store.snapshot().segments().first() else { return Ok(()) };
            let detail = format!("query {needle} is answered otherwise than by a scan");
            let Some(table) = segment.segment.tables().first() else { return Ok(()) };
            let fault = Fault::rule(20, detail);
            report.faults.push(segment.segment.corrupt(&table.heads, 0, fault));
        }
    }
    Ok(())
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
    for open in store.snapshot().segments() {
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
fn scan(store: &Store, needles: &[Fingerprint]) -> Result<Vec<Vec<Found>>> {
    let k = store.tuned_k();
    let mut found = vec![Vec::new(); needles.len()];
    for (segment, open) in store.snapshot().segments().iter().enumerate() {
        let Some(table) = open.segment.tables().first() else { continue };
        for step in open.segment.values(table) {
            let (rank, value) = step?;
            let fingerprint = table.permutation.invert(value);
            for (needle, found) in needles.iter().zip(&mut found) {
                let distance = fingerprint.distance(*needle);
                if distance <= k {
                    found.push(Found { distance, fingerprint, segment, table: table.index, rank });
                }
            }
        }
    }
    Ok(found)
}

fn matches_of(store: &Store, found: &[Found]) -> Result<Vec<Match>> {
    let hits = found.chunk_by(|a, b| a.fingerprint == b.fingerprint);
    hits.map(|places| Hit::new(store.snapshot(), places).to_match()).collect()
}
