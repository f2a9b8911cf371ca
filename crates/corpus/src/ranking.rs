//! The order in which near documents are kept.

use super::error::Result;
use super::keep_rules::KeepRules;
use super::number::{Number, Rank};
use super::spool::Spools;

/// The rank of each document, and the document of each rank.
#[derive(Debug)]
pub(super) struct Ranking {
    numbers: Vec<Number>,
    ranks: Vec<Rank>,
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
        let order = rules.order(&merits, spools.len());
        let numbers: Vec<Number> = order.into_iter().map(Number).collect();
        let mut ranks = vec![Rank(0); numbers.len()];
        (0..).zip(&numbers).for_each(|(rank, number)| ranks[number.index()] = Rank(rank));
        Ok(Ranking { numbers, ranks })
    }

    /// The number of documents.
    pub(super) fn len(&self) -> usize {
        self.numbers.len()
    }

    pub(super) fn number_of(&self, rank: Rank) -> Number {
        self.numbers[rank.index()]
    }

    pub(super) fn rank_of(&self, number: Number) -> Rank {
        self.ranks[number.index()]
    }

    /// All documents, by rank.
    pub(super) fn numbers(&self) -> impl Iterator<Item = Number> {
        self.numbers.iter().copied()
    }
}
