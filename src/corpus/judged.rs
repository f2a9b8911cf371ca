//! Pairs of documents that people have judged: those that are one, and those that are different.

use std::collections::{HashMap, HashSet};

use super::address::Namesake;
use super::dropped::{Dropped, Other};
use super::error::{Error, Result};
use super::number::Number;
use super::ranking::Ranking;
use super::spool::Spools;
use super::work::Work;
use crate::base::labels::Label;
use crate::store::rows::Reason;

/// The judged pairs of which both documents are known.
#[derive(Debug, Default)]
pub(super) struct JudgedPairs {
    /// The fingerprint of each new document that is judged, and its id.
    known: HashMap<Number, (u64, String)>,
    /// Pairs of new documents that are one.
    one: Vec<(Number, Number)>,
    /// Pairs of ids that are different, in both orders.
    different: HashSet<(String, String)>,
}

impl JudgedPairs {
    /// Finds the documents of the pairs. Pairs with an id that no document has are passed over; a
    /// stored document may have it.
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
                    "two documents have the id '{}', and it is judged; leave out its pairs",
                    entry.id
                ))),
            }
        })?;
        for (one, other, label) in labels.rows() {
            let both = numbers.get(one).zip(numbers.get(other));
            match (label, both) {
                (Label::Duplicate, Some((one, other))) => judged.one.push((*one, *other)),
                (Label::Different, _) => {
                    judged.different.insert((one.into(), other.into()));
                    judged.different.insert((other.into(), one.into()));
                }
                _ => {}
            }
        }
        Ok(judged)
    }

    fn is_different(&self, one: Number, other: Number) -> bool {
        let id_of = |number| Some(self.known.get(&number)?.1.clone());
        let pair = id_of(one).zip(id_of(other));
        pair.is_some_and(|pair| self.different.contains(&pair))
    }

    /// The documents that go by their address or because they are judged to be one, by ascending
    /// number, each with the best of all that are one.
    ///
    /// # Errors
    ///
    /// [`Error::Store`] if two documents are judged different, and one by other pairs.
    pub(super) fn join(
        &self,
        mut namesakes: Vec<Namesake>,
        ranking: &Ranking,
    ) -> Result<Vec<Namesake>> {
        namesakes.retain(|one| !self.is_different(one.number, one.best));
        if self.one.is_empty() {
            return Ok(namesakes);
        }
        let mut parents: HashMap<Number, Number> = HashMap::new();
        let mut fingerprints: HashMap<Number, u64> =
            self.known.iter().map(|(&number, known)| (number, known.0)).collect();
        let mut union = |one: Number, other: Number| {
            let (one, other) = (root_of(&parents, one), root_of(&parents, other));
            // The better one is the root.
            let (best, other) = match ranking.rank_of(one) <= ranking.rank_of(other) {
                true => (one, other),
                false => (other, one),
            };
            if best != other {
                parents.insert(other, best);
            }
        };
        for namesake in &namesakes {
            fingerprints.insert(namesake.best, namesake.best_fingerprint);
            union(namesake.number, namesake.best);
        }
        self.one.iter().for_each(|&(one, other)| union(one, other));
        self.check(&parents)?;
        let by_address: HashSet<Number> = namesakes.iter().map(|one| one.number).collect();
        let mut list: Vec<Namesake> = parents
            .keys()
            .map(|&number| {
                let best = root_of(&parents, number);
                let reason = match by_address.contains(&number) {
                    true => Reason::Address,
                    false => Reason::Judged,
                };
                // The best of an address has a fingerprint, and so has each that is judged.
                let best_fingerprint = fingerprints.get(&best).copied().unwrap_or_default();
                Namesake { number, best, best_fingerprint, reason }
            })
            .collect();
        list.sort_unstable_by_key(|one| one.number);
        Ok(list)
    }

    /// Refuses documents that are judged different, and are one by other pairs.
    fn check(&self, parents: &HashMap<Number, Number>) -> Result<()> {
        let numbers: HashMap<&str, Number> =
            self.known.iter().map(|(&number, known)| (known.1.as_str(), number)).collect();
        let mut pairs: Vec<_> = self.different.iter().collect();
        pairs.sort_unstable();
        for (one, other) in pairs {
            let both = numbers.get(one.as_str()).zip(numbers.get(other.as_str()));
            if both.is_some_and(|(a, b)| root_of(parents, *a) == root_of(parents, *b)) {
                return Err(Error::refused(format!(
                    "'{one}' and '{other}' are judged different, and one by other pairs or by their \
                     address; leave out one of these judgements"
                )));
            }
        }
        Ok(())
    }

    /// Keeps the documents that are judged different from the one that they would go by.
    pub(super) fn spare(&self, dropped: &mut Vec<Dropped>) {
        if self.different.is_empty() {
            return;
        }
        dropped.retain(|one| match &one.other {
            Other::New(other) => !self.is_different(one.number, *other),
            Other::Stored(Some(id)) => {
                let own = self.known.get(&one.number).map(|known| known.1.clone());
                own.is_none_or(|own| !self.different.contains(&(own, id.to_string())))
            }
            Other::Stored(None) => true,
        });
    }
}

fn root_of(parents: &HashMap<Number, Number>, mut number: Number) -> Number {
    while let Some(&parent) = parents.get(&number) {
        number = parent;
    }
    number
}
