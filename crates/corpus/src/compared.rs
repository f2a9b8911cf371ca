//! The documents that are compared by their fingerprints, in the order in which they are kept.

use super::address::Namesake;
use super::number::{Number, Rank};
use super::ranking::Ranking;

/// All documents but those that go by their addresses.
pub(super) struct Compared {
    pub(super) ranking: Ranking,
    /// For each document whether it is out, if any is.
    is_out: Vec<bool>,
}

impl Compared {
    pub(super) fn new(ranking: Ranking, namesakes: &[Namesake]) -> Self {
        let mut is_out = Vec::new();
        if !namesakes.is_empty() {
            is_out.resize(ranking.len(), false);
            namesakes.iter().for_each(|one| is_out[one.number.index()] = true);
        }
        Compared { ranking, is_out }
    }

    /// Whether a document is compared.
    pub(super) fn has(&self, number: Number) -> bool {
        self.is_out.get(number.index()) != Some(&true)
    }

    /// The number of documents that are compared.
    pub(super) fn len(&self) -> usize {
        self.ranking.len() - self.is_out.iter().filter(|is_out| **is_out).count()
    }

    /// The documents that are compared, by rank.
    pub(super) fn numbers(&self) -> impl Iterator<Item = Number> {
        self.ranking.numbers().filter(|&number| self.has(number))
    }

    /// Their ranks, ascending.
    pub(super) fn ranks(&self) -> Vec<Rank> {
        self.numbers().map(|number| self.ranking.rank_of(number)).collect()
    }
}
