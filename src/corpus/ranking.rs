//! The order in which near documents are kept.

use super::error::{Error, Result};
use super::keep::KeepRule;
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
        for (at, rule) in rules.rating().enumerate() {
            let is_nothing = !merits.is_empty()
                && merits.iter().skip(at).step_by(count).all(|&merit| merit == 0);
            let what = match rule {
                KeepRule::Source(_) => "is of one of the sources".into(),
                rule => match rule.field() {
                    Some(field) => format!("has the field '{field}'"),
                    None => continue,
                },
            };
            if is_nothing {
                return Err(Error::refused(format!("no document {what}, by which '{rule}' keeps")));
            }
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
