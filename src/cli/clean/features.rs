//! Step 2 with `--confirm`: the documents whose features are alike.
//!
//! Candidates are read again, and their features are kept until all pairs are compared. If those of
//! all would take much space, groups of documents that no pair connects are confirmed one after the
//! other, and the files are read once for each such round.

use std::collections::HashMap;
use std::sync::Arc;

use anyhow::bail;
use fpstore::join::ClusterMethod;
use fpstore::join::confirm::{Candidates, Confirmed, Documents as DocumentList, OUTLINE_LEN};
use fpstore::{Fingerprint, Result};
use fpstore_text::{Admission, DocumentPlace, Wanted};

use super::Work;
use super::decide::{order, ranks};
use super::dropped::{Dropped, Other};
use super::spool::{Entry, Spools};

/// The features of a round take the bytes of the input divided by this,
const SPACE_DIVISOR: u64 = 8;
/// or this many bytes if that is more,
const SPACE_MIN: u64 = 1 << 20;
/// or those of all features divided by this, if that is more: there are no more rounds.
const ROUNDS_MAX: u64 = 8;

/// What is known of a document.
#[derive(Clone, Copy, Default)]
struct Known {
    fingerprint: u64,
    digest: u64,
    outline: Option<[u8; OUTLINE_LEN]>,
}

/// A document whose features are needed.
struct Needed {
    rank: u32,
    file: u32,
    record: u64,
    /// The number of its features.
    len: u32,
}

/// New documents are near if their features are alike.
pub(super) fn by_features(
    work: &Work<'_>,
    spools: &Spools,
    threshold: f64,
) -> anyhow::Result<Vec<Dropped>> {
    let order = order(work, spools)?;
    let ranks = ranks(&order);
    let rank_of = |number: u32| ranks[number as usize];
    let mut known = vec![Known::default(); spools.len()];
    spools.each(|number, Entry { fingerprint, digest, sketch, .. }| {
        let outline = sketch.try_into().ok();
        let fingerprint = fingerprint.value();
        known[rank_of(number) as usize] = Known { fingerprint, digest, outline };
        Ok(())
    })?;
    let k = work.args.k.map_or_else(|| work.documents.candidate_k(threshold), Ok)?;
    let options = work.resources.join_options(k, work.monitor)?;
    let candidates = |ranks: &[u32]| -> Result<Candidates> {
        let mut list = DocumentList::outlined(threshold);
        for &rank in ranks {
            let Known { fingerprint, digest, outline } = known[rank as usize];
            list.push_outlined(Fingerprint::new(fingerprint), digest, outline.as_ref());
        }
        list.candidates(&options)
    };

    let all: Vec<u32> = (0..spools.len() as u32).collect();
    let found = candidates(&all)?;
    let mut needed = Vec::new();
    spools.each(|number, entry| {
        let (rank, Entry { file, record, feature_count: len, .. }) = (rank_of(number), entry);
        if found.needs(rank) {
            needed.push(Needed { rank, file, record, len });
        }
        Ok(())
    })?;
    let rounds = Rounds::new(work, &found, &needed);
    let mut list = Vec::new();
    let mut note = |ranks: &[u32], confirmed: &Confirmed| {
        each_copy(confirmed, |document, kept, other_fingerprint, similarity| {
            let number_of = |document: u32| order[ranks[document as usize] as usize];
            list.push(Dropped {
                number: number_of(document),
                other: Other::New(number_of(kept)),
                other_fingerprint,
                similarity: Some(similarity),
            });
        })
    };
    if rounds.count == 1 {
        let confirmed = confirm(work, found, &all, needed.iter(), threshold)?;
        note(&all, &confirmed)?;
        return Ok(list);
    }
    let round_of: Vec<u16> = all.iter().map(|&rank| rounds.of(&found, rank)).collect();
    drop((found, all));
    for round in 0..rounds.count {
        let is_in = |rank: &u32| round_of[*rank as usize] == round;
        let ranks: Vec<u32> = (0..spools.len() as u32).filter(is_in).collect();
        let needed = needed.iter().filter(|needed| is_in(&needed.rank));
        let confirmed = confirm(work, candidates(&ranks)?, &ranks, needed, threshold)?;
        note(&ranks, &confirmed)?;
    }
    Ok(list)
}

/// Which groups are confirmed together.
struct Rounds {
    of_groups: HashMap<u32, u16>,
    count: u16,
}

impl Rounds {
    fn new(work: &Work<'_>, found: &Candidates, needed: &[Needed]) -> Self {
        let group_of = |needed: &Needed| found.group_of(needed.rank).unwrap_or_default();
        let mut lens: HashMap<u32, u64> = HashMap::new();
        for one in needed {
            *lens.entry(group_of(one)).or_default() += 8 * u64::from(one.len);
        }
        let whole: u64 = lens.values().sum();
        let input_len = work.files.total_len().unwrap_or(0);
        let most = (input_len / SPACE_DIVISOR).max(SPACE_MIN).max(whole / ROUNDS_MAX);
        let mut of_groups = HashMap::with_capacity(lens.len());
        let (mut round, mut taken) = (0, 0);
        for group in needed.iter().map(group_of) {
            let Some(len) = lens.remove(&group) else { continue };
            if taken > 0 && taken + len > most {
                (round, taken) = (round + 1, 0);
            }
            taken += len;
            of_groups.insert(group, round);
        }
        Rounds { of_groups, count: round + 1 }
    }

    /// The round of a document.
    fn of(&self, found: &Candidates, rank: u32) -> u16 {
        let group = found.group_of(rank);
        group.and_then(|group| self.of_groups.get(&group)).copied().unwrap_or(0)
    }
}

/// Reads the documents that are needed, and confirms their pairs. `ranks` are those of all documents
/// of the candidates.
fn confirm<'a>(
    work: &Work<'_>,
    mut candidates: Candidates,
    ranks: &[u32],
    needed: impl Iterator<Item = &'a Needed> + Clone,
    threshold: f64,
) -> anyhow::Result<Confirmed> {
    let mut places: HashMap<usize, Vec<u64>> = HashMap::new();
    for Needed { file, record, .. } in needed.clone() {
        places.entry(*file as usize).or_default().push(*record);
    }
    if places.is_empty() {
        return Ok(candidates.confirm(threshold)?);
    }
    let is_wanted = move |place: DocumentPlace| {
        let records = places.get(&place.file);
        records.is_some_and(|records| records.binary_search(&place.record()).is_ok())
    };
    let wanted: Arc<Wanted> = Arc::new(is_wanted);
    let reading = work.options.clone().observer(work.monitor.observer());
    let hasher = work.documents.hasher()?;
    let mut next = needed;
    work.files.read_features(hasher, &reading, Some(wanted), |document| -> anyhow::Result<_> {
        let place = (document.place.file, document.place.record());
        let taken = match next.next() {
            Some(Needed { rank, file, record, .. }) if (*file as usize, *record) == place => {
                let number = ranks.partition_point(|other| other < rank) as u32;
                candidates.take(number, document.features).is_ok()
            }
            _ => false,
        };
        if !taken {
            bail!("{} was changed while the documents were read", document.id);
        }
        Ok(Admission::Taken)
    })?;
    if next.next().is_some() {
        bail!("the files were changed while they were read");
    }
    Ok(candidates.confirm(threshold)?)
}

/// Calls `each` with each document that goes by an earlier one: their numbers among the confirmed
/// documents, the fingerprint of the earlier one, and the similarity.
pub(super) fn each_copy(
    confirmed: &Confirmed,
    mut each: impl FnMut(u32, u32, Fingerprint, f64),
) -> anyhow::Result<()> {
    confirmed.clusters(ClusterMethod::Leader)?.for_each(|cluster| {
        let leader = &cluster.members[0];
        let kept = leader.documents[0];
        for member in &cluster.members {
            for &document in member.documents.iter().filter(|document| **document != kept) {
                each(document, kept, leader.fingerprint, member.similarity);
            }
        }
        Ok::<(), anyhow::Error>(())
    })
}
