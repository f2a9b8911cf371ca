//! Pairs of documents that people judged to be duplicates or to be different.

use std::collections::{BTreeSet, HashMap, HashSet};

use super::dropped::{Dropped, KeptDocument};
use super::error::{Error, Result};
use super::event::Event;
use super::number::Number;
use super::ranking::{Namesake, Rank, Ranking};
use super::spool::Spools;
use super::work::Work;
use fpstore::join::DisjointSets;
use fpstore::rows::Reason;
use fpstore_base::labels::Label;

/// The judged pairs of new documents, and of new documents with stored ones.
#[derive(Debug, Default)]
pub(super) struct JudgedPairs {
    /// The fingerprint and the id of each judged new document.
    known: HashMap<Number, (u64, String)>,
    /// Pairs of new documents judged to be duplicates.
    one: Vec<(Number, Number)>,
    /// For each id, the ids judged different from it.
    different: HashMap<String, HashSet<String>>,
}

impl JudgedPairs {
    /// Finds the documents of the judged pairs by their ids. A pair is skipped if neither of its
    /// ids is the id of a new document; the other id may be of a stored document.
    pub(super) fn of(work: &Work<'_>, spools: &Spools) -> Result<Self> {
        let mut judged = JudgedPairs::default();
        let Some(labels) = &work.settings.pairs else { return Ok(judged) };
        let ids: HashSet<&str> = labels.rows().flat_map(|(one, other, _)| [one, other]).collect();
        let mut numbers: HashMap<String, Number> = HashMap::new();
        spools.each(|number, entry| {
            let id = entry.id.to_string();
            if !ids.contains(id.as_str()) {
                return Ok(());
            }
            judged.known.insert(number, (entry.fingerprint.value(), id.clone()));
            match numbers.insert(id, number) {
                None => Ok(()),
                Some(_) => Err(Error::refused(format!(
                    "two documents have the id '{}', so judgements of it are ambiguous; leave out \
                     its pairs",
                    entry.id
                ))),
            }
        })?;
        let (mut unknown, mut count) = (0, 0);
        for (one, other, label) in labels.rows() {
            let (first, second) = (numbers.get(one), numbers.get(other));
            let both = first.zip(second);
            if label != Label::Ignored {
                // A pair of different documents may consist of a new and a stored document.
                let is_half_known = work.stored.is_some()
                    && label == Label::Different
                    && first.or(second).is_some();
                count += 1;
                unknown += u64::from(both.is_none() && !is_half_known);
            }
            match (label, both) {
                (Label::Duplicate, Some((one, other))) => judged.one.push((*one, *other)),
                (Label::Different, _) => {
                    for (one, other) in [(one, other), (other, one)] {
                        judged.different.entry(one.into()).or_default().insert(other.into());
                    }
                }
                _ => {}
            }
        }
        if unknown > 0 {
            work.tell(Event::UnknownPairs { unknown, count });
        }
        Ok(judged)
    }

    fn is_different(&self, one: Number, other: Number) -> bool {
        self.known.get(&other).is_some_and(|(_, id)| self.is_different_from(one, id))
    }

    /// Whether a document is judged different from the document with the id `id`.
    fn is_different_from(&self, number: Number, id: &str) -> bool {
        let own = self.known.get(&number).and_then(|(_, own)| self.different.get(own));
        own.is_some_and(|others| others.contains(id))
    }

    /// Joins documents with the same address and judged duplicates to groups. Returns the documents
    /// to remove, sorted by number, each with the best document of its group.
    ///
    /// # Errors
    ///
    /// [`Error::Store`] if two documents are judged different, but are duplicates according to
    /// other pairs.
    pub(super) fn join(
        &self,
        mut namesakes: Vec<Namesake>,
        ranking: &Ranking,
    ) -> Result<Vec<Namesake>> {
        namesakes.retain(|one| !self.is_different(one.number, one.best));
        if self.one.is_empty() {
            return Ok(namesakes);
        }
        // A set is represented by its smallest rank, the rank of its best document.
        let mut sets = DisjointSets::new(ranking.len() as u32);
        let mut fingerprints: HashMap<Number, u64> =
            self.known.iter().map(|(&number, known)| (number, known.0)).collect();
        let mut joined: BTreeSet<Number> = BTreeSet::new();
        let by_address = namesakes.iter().map(|one| (one.number, one.best));
        for (one, other) in by_address.chain(self.one.iter().copied()) {
            sets.union(ranking.rank_of(one).0, ranking.rank_of(other).0);
            joined.extend([one, other]);
        }
        for namesake in &namesakes {
            fingerprints.insert(namesake.best, namesake.best_fingerprint);
        }
        self.check(&mut sets, ranking)?;
        let by_address: HashSet<Number> = namesakes.iter().map(|one| one.number).collect();
        let namesake = |number| {
            let best = ranking.number_of(Rank(sets.find(ranking.rank_of(number).0)));
            let reason = match by_address.contains(&number) {
                true => Reason::Address,
                false => Reason::Judged,
            };
            // `fingerprints` contains all judged documents and the best document of each address.
            let best_fingerprint = fingerprints.get(&best).copied().unwrap_or_default();
            Namesake { number, best, best_fingerprint, reason }
        };
        Ok(joined.into_iter().map(namesake).filter(|one| one.number != one.best).collect())
    }

    /// Refuses documents that are judged different, but are duplicates according to other pairs.
    fn check(&self, sets: &mut DisjointSets, ranking: &Ranking) -> Result<()> {
        let numbers: HashMap<&str, Number> =
            self.known.iter().map(|(&number, known)| (known.1.as_str(), number)).collect();
        let all = self.different.iter();
        let mut pairs: Vec<_> =
            all.flat_map(|(one, others)| others.iter().map(move |other| (one, other))).collect();
        pairs.sort_unstable();
        for (one, other) in pairs {
            let both = numbers.get(one.as_str()).zip(numbers.get(other.as_str()));
            let mut set_of = |number: &Number| sets.find(ranking.rank_of(*number).0);
            if both.is_some_and(|(a, b)| set_of(a) == set_of(b)) {
                return Err(Error::refused(format!(
                    "'{one}' and '{other}' are judged different, and the same by other pairs or by \
                     their address; leave out one of these judgements"
                )));
            }
        }
        Ok(())
    }

    /// Keeps documents judged different from the document because of which they would be removed.
    pub(super) fn spare(&self, dropped: &mut Vec<Dropped>) {
        if self.different.is_empty() {
            return;
        }
        dropped.retain(|one| match &one.other {
            KeptDocument::New(other) => !self.is_different(one.number, *other),
            KeptDocument::Stored(Some(id), _) => {
                !self.is_different_from(one.number, &id.to_string())
            }
            KeptDocument::Stored(None, _) => true,
        });
    }
}
