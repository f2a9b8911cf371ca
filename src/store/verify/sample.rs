//! Sample queries, whose answers are compared with a scan.
//!
//! The samples are the same each time, so that a fault can be reproduced.

use std::hash::{Hash, Hasher};

use siphasher::sip::SipHasher13;

use crate::base::error::{Error, Fault, Result};
use crate::base::section::{Rank, Section};
use crate::bytes::distances::distances_from;
use crate::bytes::permutation::Permuted;
use crate::bytes::set_sum::SetSum;
use crate::search::Hit;
use crate::store::Store;
use crate::store::verify::pace::{NEEDLES_PER_PASS, Pace};
use crate::store::verify::report::VerifyReport;
use crate::store::verify::table::TablePass;
use fpstore_base::Fingerprint;

/// The maximum number of ids of a match that are compared; a fingerprint may have millions.
const IDS_COMPARED_MAX: usize = 16;
/// The seed of the samples.
const SEED: u64 = 20_261_121;

/// The digest of an answer. Its size does not depend on the number of matches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Digest {
    match_count: u64,
    matches: SetSum,
    id_count: u64,
    /// The sum of the hashes of the ids, each hashed together with its fingerprint.
    ids: u64,
}

/// Runs `sample_count` queries. Adds a fault for each answer that differs from the scan.
pub(super) fn verify(
    store: &Store,
    sample_count: u64,
    report: &mut VerifyReport,
    pace: &Pace,
) -> Result<()> {
    let needles = needles(store, sample_count, pace)?;
    let mut searcher = store.searcher();
    for needles in needles.chunks(NEEDLES_PER_PASS) {
        for (&needle, expected) in needles.iter().zip(scan(store, needles, pace)?) {
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
        self.matches.add_all(&[hit.fingerprint().value()], |value| value);
        for id in hit.stored_ids().take(IDS_COMPARED_MAX) {
            let mut hasher = SipHasher13::new_with_keys(SEED, hit.fingerprint().value());
            id?.hash(&mut hasher);
            self.ids = self.ids.wrapping_add(hasher.finish());
            self.id_count += 1;
        }
        Ok(())
    }

    /// Adds the digest of the matches from another part of the store.
    fn join(&mut self, other: Digest) {
        self.match_count += other.match_count;
        self.matches.join(other.matches);
        self.id_count += other.id_count;
        self.ids = self.ids.wrapping_add(other.ids);
    }
}

fn differs(store: &Store, needle: Fingerprint) -> Error {
    let needle = store.width().hex(needle);
    let detail = format!("the answer to query {needle} differs from the result of a scan");
    Error::corrupt(store.info().path, Section::Manifest, 0, Fault::rule(20, detail))
}

/// A pseudo-random number that depends only on the seed and on `of`.
fn random(of: u64) -> u64 {
    let mut hasher = SipHasher13::new_with_keys(SEED, 0);
    hasher.write_u64(of);
    hasher.finish()
}

/// The query fingerprints: in turn a stored fingerprint, a stored fingerprint with 1 to k + 1
/// flipped bits, and a random fingerprint.
fn needles(store: &Store, count: u64, pace: &Pace) -> Result<Vec<Fingerprint>> {
    let stored = stored_samples(store, count, pace)?;
    let spread = u64::from(store.tuned_k()) + 1;
    let width = store.width();
    let needles = (0..count).map(|number| {
        let from_store = stored.get((random(number) % stored.len().max(1) as u64) as usize);
        match (number % 3, from_store) {
            (0, Some(&fingerprint)) => fingerprint,
            (1, Some(&fingerprint)) => {
                let flip_count = 1 + random(!number) % spread;
                let bits = (0..flip_count)
                    .map(|i| 1 << (random(number << 8 | i) % u64::from(width.bits())));
                Fingerprint::new(bits.fold(fingerprint.value(), |value, bit: u64| value ^ bit))
            }
            _ => Fingerprint::new(random(number) & width.max().value()),
        }
    });
    Ok(needles.collect())
}

/// About `count` stored fingerprints, spread evenly over the ranks of each segment.
fn stored_samples(store: &Store, count: u64, pace: &Pace) -> Result<Vec<Fingerprint>> {
    let mut samples = Vec::new();
    let snapshot = store.snapshot();
    for open in snapshot.segments() {
        let Some(table) = open.segment.first_table() else { continue };
        let stride = (open.segment.header().fingerprint_count / count.max(1)).max(1);
        let permutation = &table.permutation;
        let take = |samples: &mut Vec<Fingerprint>, first: Rank, run: &[u64]| {
            for (rank, &value) in (first.0..).zip(run) {
                if rank.is_multiple_of(stride) {
                    samples.push(permutation.invert(Permuted(value)));
                }
            }
        };
        let pass = TablePass { segment: &open.segment, table: table.index, pace };
        samples.extend(pass.in_parts(take)?.concat());
    }
    Ok(samples)
}

/// The matches of each needle within the tuned distance, found by comparison with every stored
/// fingerprint.
fn scan(store: &Store, needles: &[Fingerprint], pace: &Pace) -> Result<Vec<Digest>> {
    let k = store.tuned_k() as u8;
    let snapshot = store.snapshot();
    let values: Vec<u64> = needles.iter().map(|needle| needle.value()).collect();
    let threads = pace.threads();
    let parts = pace.on_threads(&store.ranges_side_by_side(threads), |range| {
        let mut pass = pace.scan(snapshot.segments());
        let mut digests = vec![Digest::default(); needles.len()];
        store.for_each_within(range.clone(), threads, |entry| {
            let mut added = Ok(());
            distances_from(entry.fingerprint().value(), &values, |first, distances| {
                // Nearly all fingerprints are more than `k` bits from all needles; a loop without
                // branches rules them out.
                if distances.iter().fold(u8::MAX, |least, &distance| least.min(distance)) > k {
                    return;
                }
                for (digest, &distance) in digests[first..].iter_mut().zip(distances) {
                    if distance <= k && added.is_ok() {
                        added = digest.add(&entry);
                    }
                }
            });
            added?;
            pass.step(1)
        })?;
        pass.end()?;
        Ok(digests)
    })?;
    let mut digests = vec![Digest::default(); needles.len()];
    for part in parts {
        for (digest, part) in digests.iter_mut().zip(part) {
            digest.join(part);
        }
    }
    Ok(digests)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Builder, Scheme, VerifyOptions};

    #[test]
    fn samples_are_stored_near_and_random_ones_and_always_the_same() {
        let folder = tempfile::tempdir().unwrap();
        let options = crate::BuildOptions::default().scheme(Scheme::named("2", 3).unwrap());
        let mut builder = Builder::with_options(folder.path().join("store.fps"), options).unwrap();
        for number in 0..1000 {
            builder.push(Fingerprint::new(random(number)), number).unwrap();
        }
        let store = builder.finish().unwrap();
        let pace = Pace::new(&VerifyOptions::default(), 0).unwrap();
        let samples = needles(&store, 60, &pace).unwrap();
        assert_eq!(samples, needles(&store, 60, &pace).unwrap());
        let found = scan(&store, &samples, &pace).unwrap();
        for (number, digest) in found.iter().enumerate() {
            if number % 3 == 0 {
                assert_eq!((digest.match_count, digest.id_count), (1, 1), "sample {number}");
            }
        }
        assert!(found.iter().skip(1).step_by(3).any(|digest| digest.match_count == 1));
        assert!(found.iter().skip(1).step_by(3).any(|digest| digest.match_count == 0));
        let mut report = VerifyReport::default();
        verify(&store, 60, &mut report, &pace).unwrap();
        assert_eq!((report.sample_count, report.faults.len()), (60, 0));
    }

    #[test]
    fn a_digest_depends_on_matches_and_ids() {
        let digest = |records: &[(u64, u64)]| {
            let folder = tempfile::tempdir().unwrap();
            let mut builder = Builder::new(folder.path().join("store.fps")).unwrap();
            for &(value, id) in records {
                builder.push(Fingerprint::new(value), id).unwrap();
            }
            let store = builder.finish().unwrap();
            let pace = Pace::new(&VerifyOptions::default(), 0).unwrap();
            scan(&store, &[Fingerprint::new(0)], &pace).unwrap()[0]
        };
        let one = digest(&[(1, 10), (2, 20)]);
        assert_eq!((one.match_count, one.id_count), (2, 2));
        assert_eq!(one, digest(&[(2, 20), (1, 10), (0xffff, 30)]));
        for other in [[(1, 10), (4, 20)], [(1, 10), (2, 21)], [(1, 20), (2, 10)]] {
            assert_ne!(one, digest(&other), "{other:?}");
        }
    }
}
