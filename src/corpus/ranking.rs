//! The order in which near documents are kept.

use super::error::{Error, Result};
use super::keep::KeepRule;
use super::number::{Number, Rank};
use super::spool::Spools;

/// The rank of each document, and the document of each rank.
#[derive(Debug)]
pub(super) struct Ranking {
    numbers: Vec<Number>,
    ranks: Vec<Rank>,
}

impl Ranking {
    pub(super) fn of(rule: &KeepRule, spools: &Spools) -> Result<Self> {
        let mut merits = Vec::with_capacity(spools.len());
        spools.each(|_, entry| {
            merits.push(entry.merit);
            Ok(())
        })?;
        if let Some(field) = rule.field()
            && !merits.is_empty()
            && merits.iter().all(|&merit| merit == 0)
        {
            let reason = format!("no document has the field '{field}', by which '{rule}' keeps");
            return Err(Error::refused(reason));
        }
        let numbers: Vec<Number> = rule.order(&merits).into_iter().map(Number).collect();
        let mut ranks = vec![Rank(0); numbers.len()];
        (0..).zip(&numbers).for_each(|(rank, number)| ranks[number.index()] = Rank(rank));
        Ok(Ranking { numbers, ranks })
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
