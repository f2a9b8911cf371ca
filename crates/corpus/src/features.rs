//! Step 2 with a least similarity and without a store: documents are near-duplicates if their
//! features are similar.
//!
//! Step 1 writes the features of all documents to files of the job, 8 bytes for each feature.
//! Documents with equal features form one set; similar sets are found by prefix filtering, which is
//! exact.

use std::collections::HashMap;
use std::fs::File;
use std::io;
use std::ops::Range;
use std::sync::Arc;

use fpstore::join::confirm::{FeatureSets, Likeness, Unlike, lead_sets};
use fpstore::rows::Reason;
use fpstore_base::{Fingerprint, IoError};
use fpstore_disk::OwnFolder;
use fpstore_disk::system::read_exact_at;

use super::bar::{Bars, Decided, set_bar};
use super::dropped::{Dropped, KeptDocument};
use super::error::Result;
use super::event::Event;
use super::job::{FEATURES, Job};
use super::ranking::{ComparedDocuments, Rank};
use super::spool::Spools;
use super::work::Work;

/// From this number of comparisons, which take about a minute, an event is reported.
const COMPARED_MIN: u64 = if cfg!(test) { 1000 } else { 400_000_000 };
/// The approximate number of digests that are hashed at a time.
const HASHED_COUNT: usize = if cfg!(test) { 4 } else { 1 << 24 };
/// Maximum number of feature files kept open; further ones are opened for each read.
const OPEN_MAX: usize = if cfg!(test) { 1 } else { 256 };

/// A document to be compared.
#[derive(Clone, Copy, Default)]
struct Document {
    fingerprint: u64,
    /// The digest of the document's features.
    digest: u64,
    /// The position of the document's first feature among the features of all files.
    start: u64,
    /// The number of the document's features.
    len: u32,
    /// The position of the document among the compared documents, sorted by rank.
    at: u32,
}

/// The distinct sets of features of the compared documents, ordered by the rank of their best
/// document.
struct Sets {
    folder: Arc<OwnFolder>,
    /// The names of the feature files, and their handles if they are kept open.
    files: Vec<(String, Option<File>)>,
    /// The position of the first feature of each file among the features of all files.
    starts: Vec<u64>,
    /// The number of bytes before the first feature of each file.
    heads: Vec<u64>,
    /// The best document of each set.
    best: Vec<Document>,
    /// The number of the set of each compared document, sorted by rank.
    set_of: Vec<u32>,
    /// The ranks of the compared documents, ascending; empty if all documents are compared.
    ranks: Vec<Rank>,
}

impl Sets {
    fn of(
        work: &Work<'_>,
        job: &Job,
        spools: &Spools,
        compared: &ComparedDocuments,
    ) -> Result<Self> {
        let are_all = compared.len() == spools.len();
        let ranks = if are_all { Vec::new() } else { compared.ranks() };
        let mut best = vec![Document::default(); compared.len()];
        let starts = spools.each_with_start(|number, start, entry| {
            if compared.has(number) {
                let rank = compared.ranking.rank_of(number);
                let at = match are_all {
                    true => rank.index(),
                    false => ranks.binary_search(&rank).unwrap_or_else(|at| at),
                };
                let fingerprint = entry.fingerprint.value();
                let (digest, len) = (entry.digest, entry.feature_count);
                best[at] = Document { fingerprint, digest, start, len, at: at as u32 };
            }
            Ok(())
        })?;
        let set_of = retain_best(&mut best);
        let names: Vec<String> =
            (0..work.batches.len()).map(|batch| format!("{FEATURES}{batch}")).collect();
        let heads = names.iter().map(|name| job.mark(name).len() as u64).collect();
        let files = names.into_iter().map(|name| (name, None)).collect();
        let folder = job.folder().clone();
        let mut sets = Sets { folder, files, starts, heads, best, set_of, ranks };
        for at in 0..sets.files.len().min(OPEN_MAX) {
            sets.files[at].1 = Some(sets.open(at).map_err(|source| sets.unreadable(at, source))?);
        }
        Ok(sets)
    }

    fn open(&self, file: usize) -> io::Result<File> {
        let opened = self.folder.open_file(&self.files[file].0)?;
        opened.ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    fn unreadable(&self, file: usize, source: io::Error) -> IoError {
        IoError::of("read", self.folder.path().join(&self.files[file].0))(source)
    }

    fn of_set(&self, set: u32) -> &Document {
        &self.best[set as usize]
    }

    /// The rank of the compared document at a position.
    fn rank(&self, at: u32) -> Rank {
        self.ranks.get(at as usize).copied().unwrap_or(Rank(at))
    }
}

/// Retains the first of the documents with equal features, and returns the position of the retained
/// document for each of the documents.
fn retain_best(documents: &mut Vec<Document>) -> Vec<u32> {
    // First, for each document the position of the best one before any is removed.
    let mut positions: Vec<u32> = vec![0; documents.len()];
    let parts = documents.len().div_ceil(HASHED_COUNT) as u64;
    let mut first = HashMap::with_capacity(documents.len().min(HASHED_COUNT));
    for part in 0..parts {
        first.clear();
        let own = (0..).zip(&*documents).filter(|(_, it)| it.digest % parts == part);
        own.for_each(|(at, it)| positions[at as usize] = *first.entry(it.digest).or_insert(at));
    }
    let mut count = 0;
    for at in 0..documents.len() {
        let best = positions[at] as usize;
        if best == at {
            documents[count] = documents[at];
            positions[at] = count as u32;
            count += 1;
        } else {
            positions[at] = positions[best];
        }
    }
    documents.truncate(count);
    positions
}

impl FeatureSets for Sets {
    fn count(&self) -> u32 {
        self.best.len() as u32
    }

    fn range_of(&self, set: u32) -> Range<u64> {
        let &Document { start, len, .. } = self.of_set(set);
        start..start + u64::from(len)
    }

    /// Reads the part that is in each file.
    fn read_at(&self, mut start: u64, mut features: &mut [u64]) -> fpstore::Result<()> {
        while !features.is_empty() {
            let at = self.starts.partition_point(|first| *first <= start) - 1;
            let end = self.starts.get(at + 1).copied().unwrap_or(u64::MAX);
            let len = features.len().min(usize::try_from(end - start).unwrap_or(usize::MAX));
            let (own, others) = features.split_at_mut(len);
            let offset = self.heads[at] + 8 * (start - self.starts[at]);
            let bytes = bytemuck::cast_slice_mut(own);
            let read = match &self.files[at].1 {
                Some(file) => read_exact_at(file, bytes, offset),
                None => self.open(at).and_then(|file| read_exact_at(&file, bytes, offset)),
            };
            read.map_err(|source| self.unreadable(at, source))?;
            (start, features) = (start + len as u64, others);
        }
        Ok(())
    }
}

/// Reports once that very many comparisons are expected. The first bar is the most lenient, so
/// reports for the other bars would add nothing.
pub(super) fn tell_unlike(work: &Work<'_>, expected: Unlike, is_told: &mut bool) {
    if expected.pair_count >= COMPARED_MIN && !std::mem::replace(is_told, true) {
        work.tell(Event::ManyUnlike(expected));
    }
}

/// Finds the documents that are similar to a kept document.
pub(super) fn by_features(
    work: &Work<'_>,
    job: &Job,
    spools: &Spools,
    compared: &ComparedDocuments,
    threshold: f64,
) -> Result<Decided> {
    let sets = Sets::of(work, job, spools, compared)?;
    let number_of = |at: u32| compared.ranking.number_of(sets.rank(at));
    let mut is_told = false;
    set_bar(Bars::Similarity(threshold), work.settings.target, spools, compared, |bar| {
        let likeness = Likeness::from(bar).contained(work.settings.confirm_contains);
        let expect = |expected| tell_unlike(work, expected, &mut is_told);
        let (led, _) = lead_sets(&sets, likeness, &work.join_options(0), expect)?;
        // The leader of each set, and the similarity of the set and the leader.
        let mut leaders: Vec<(u32, f64)> = (0..sets.count()).map(|set| (set, 1.0)).collect();
        led.iter().for_each(|led| leaders[led.set as usize] = (led.leader, led.similarity));
        let mut dropped = Vec::new();
        for (at, &set) in (0..).zip(&sets.set_of) {
            let (leader, similarity) = leaders[set as usize];
            let best = sets.of_set(leader);
            if best.at != at {
                dropped.push(Dropped {
                    number: number_of(at),
                    other: KeptDocument::New(number_of(best.at)),
                    other_fingerprint: Fingerprint::new(best.fingerprint),
                    similarity: Some(similarity),
                    reason: Reason::Confirmed,
                });
            }
        }
        Ok(dropped)
    })
}
