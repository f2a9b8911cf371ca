//! The ranks of documents: of near-duplicates the document with the best rank is kept.

use super::error::Result;
use super::keep_rules::KeepRules;
use super::number::Number;
use super::spool::Spools;
use fpstore::rows::Reason;

/// The rank of each document, and the document of each rank. Both lists are empty if each document
/// has its number as its rank.
#[derive(Debug)]
pub(super) struct Ranking {
    numbers: Vec<Number>,
    ranks: Vec<Rank>,
    len: usize,
}

impl Ranking {
    pub(super) fn of(rules: &KeepRules, spools: &Spools) -> Result<Self> {
        let count = rules.rating().count();
        let mut merits = Vec::with_capacity(count * spools.len());
        if count > 0 {
            spools.each(|_, entry| {
                merits.extend(entry.merits);
                Ok(())
            })?;
        }
        if !merits.is_empty() {
            let of_rule = |at: usize| merits.iter().skip(at).step_by(count);
            rules.check_found(|at| of_rule(at).any(|&merit| merit > 0))?;
        }
        let len = spools.len();
        let order = rules.order(&merits, len);
        if order.is_sorted() {
            return Ok(Ranking { numbers: Vec::new(), ranks: Vec::new(), len });
        }
        let numbers: Vec<Number> = order.into_iter().map(Number).collect();
        let mut ranks = vec![Rank(0); len];
        (0..).zip(&numbers).for_each(|(rank, number)| ranks[number.index()] = Rank(rank));
        Ok(Ranking { numbers, ranks, len })
    }

    /// The number of documents.
    pub(super) fn len(&self) -> usize {
        self.len
    }

    pub(super) fn number_of(&self, rank: Rank) -> Number {
        self.numbers.get(rank.index()).copied().unwrap_or(Number(rank.0))
    }

    pub(super) fn rank_of(&self, number: Number) -> Rank {
        self.ranks.get(number.index()).copied().unwrap_or(Rank(number.0))
    }

    /// All documents, sorted by rank.
    pub(super) fn numbers(&self) -> impl Iterator<Item = Number> {
        (0..self.len as u32).map(|rank| self.number_of(Rank(rank)))
    }
}

/// The rank of a document: of near-duplicates the document with the lowest rank is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Rank(pub(super) u32);

impl Rank {
    /// The index in a list of all documents that is sorted by rank.
    pub(super) fn index(self) -> usize {
        self.0 as usize
    }
}

/// A document removed because a better one has the same address, or is judged to be its duplicate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Namesake {
    pub(super) number: Number,
    /// The best document with the same address, or of the same judged duplicates.
    pub(super) best: Number,
    pub(super) best_fingerprint: u64,
    /// [`Reason::Address`] or [`Reason::Judged`].
    pub(super) reason: Reason,
}

/// The documents that are compared: all documents that are not [`Namesake`]s.
pub(super) struct ComparedDocuments {
    pub(super) ranking: Ranking,
    /// For each document number, whether the document is excluded; empty if none is excluded.
    is_out: Vec<bool>,
}

impl ComparedDocuments {
    pub(super) fn new(ranking: Ranking, namesakes: &[Namesake]) -> Self {
        let mut is_out = Vec::new();
        if !namesakes.is_empty() {
            is_out.resize(ranking.len(), false);
            namesakes.iter().for_each(|one| is_out[one.number.index()] = true);
        }
        ComparedDocuments { ranking, is_out }
    }

    /// Whether a document is compared.
    pub(super) fn has(&self, number: Number) -> bool {
        self.is_out.get(number.index()) != Some(&true)
    }

    /// The number of documents that are compared.
    pub(super) fn len(&self) -> usize {
        self.ranking.len() - self.is_out.iter().filter(|is_out| **is_out).count()
    }

    /// The compared documents, sorted by rank.
    pub(super) fn numbers(&self) -> impl Iterator<Item = Number> {
        self.ranking.numbers().filter(|&number| self.has(number))
    }

    /// The ranks of the compared documents, ascending.
    pub(super) fn ranks(&self) -> Vec<Rank> {
        self.numbers().map(|number| self.ranking.rank_of(number)).collect()
    }
}
