//! Turns candidates into hits: compares their tails, or looks up the values named by their
//! syndromes.

use super::collector::{Collector, TableHit};
use super::context::Context;
use super::named::Named;
use crate::base::error::Result;
use crate::base::section::Rank;
use crate::bytes::permutation::Permuted;
use crate::search::kernel::{NearHead, NearHeads, VALUES_MAX};
use crate::search::table_query::TableQuery;
use crate::segment::{TableKind, TableReader, WholeTable};

/// Values with a near head, grouped by query.
#[derive(Debug, Default)]
pub(super) struct Candidates {
    pub(super) near: NearHeads,
    groups: Vec<Group>,
    /// The values named by candidates of tables with syndromes, not looked up yet.
    pub(super) named: Named,
}

/// The candidates of one query; each group starts at the end of the previous one.
#[derive(Clone, Copy, Debug)]
struct Group {
    /// The position of the query among all queries of the search.
    query: u32,
    end: usize,
}

impl Candidates {
    pub(super) fn clear(&mut self) {
        self.near.heads.clear();
        self.groups.clear();
        self.named.clear();
    }

    #[inline(always)]
    pub(super) fn len(&self) -> usize {
        self.near.heads.len()
    }

    /// Adds the near heads from position `start` on to the group of a query, and prefetches their
    /// tails.
    #[inline]
    pub(super) fn close(&mut self, query: u32, table: TableReader<'_>, start: usize) {
        let found = self.near.heads.get(start..).unwrap_or_default();
        found.iter().for_each(|near| table.prefetch_tail(near.rank));
        let end = self.len();
        match self.groups.last_mut() {
            Some(last) if last.query == query => last.end = end,
            _ if end > start => self.groups.push(Group { query, end }),
            _ => {}
        }
    }

    /// Compares all candidates, passes the hits to `collector`, and removes the candidates. The
    /// values named by candidates of tables with syndromes are added to `named`, for a later
    /// look-up.
    pub(super) fn compare(
        &mut self,
        context: &Context<'_>,
        collector: &mut impl Collector,
    ) -> Result<()> {
        if context.segment.is_cold() {
            self.readahead_tails(context);
        }
        let mut start = 0;
        for group in &self.groups {
            let (query, table) = context.query(group.query);
            let candidates = &self.near.heads[start..group.end];
            start = group.end;
            match table.kind() {
                TableKind::Whole(table) => {
                    let mut compare = Compare { context, query, table, collector };
                    candidates.chunks(VALUES_MAX).try_for_each(|some| compare.compare(some))?;
                }
                TableKind::Syndromes(table) => {
                    collector.stats().candidates += candidates.len() as u64;
                    self.named.decode(context, table, candidates, group.query)?;
                }
            }
        }
        self.near.heads.clear();
        self.groups.clear();
        Ok(())
    }

    /// Starts reading the pages with the tails of all candidates.
    fn readahead_tails(&self, context: &Context<'_>) {
        let mut start = 0;
        for group in &self.groups {
            let (_, table) = context.query(group.query);
            let candidates = &self.near.heads[start..group.end];
            candidates.iter().for_each(|near| table.readahead_tail(near.rank));
            start = group.end;
        }
    }
}

/// Compares candidates of one query with its needle.
struct Compare<'a, C> {
    context: &'a Context<'a>,
    query: &'a TableQuery,
    table: WholeTable<'a>,
    collector: &'a mut C,
}

impl<C: Collector> Compare<'_, C> {
    /// Passes the hits among up to [`VALUES_MAX`] candidates to the collector.
    fn compare(&mut self, candidates: &[NearHead]) -> Result<()> {
        if self.collector.is_exhausted() {
            return Ok(());
        }
        self.collector.stats().candidates += candidates.len() as u64;
        let tails = self.table.tails();
        // Candidates are often neighbours, so usually one check of their whole range of ranks
        // suffices.
        let (mut first, mut last) = (Rank(u64::MAX), Rank(0));
        for near in candidates {
            (first, last) = (first.min(near.rank), last.max(near.rank));
        }
        let is_each_verified =
            || candidates.iter().all(|near| tails.are_verified(near.rank, near.rank));
        if !tails.are_verified(first, last) && !is_each_verified() {
            for near in candidates {
                self.table.tail(near.rank)?;
            }
        }
        let mut found = [0; VALUES_MAX];
        let (kernel, k, needle) = (self.context.kernel, self.context.k, self.query.permuted);
        let count = kernel.find_values(tails.packed(), candidates, needle, k, &mut found);
        for &at in found.iter().take(count) {
            if let Some(&NearHead { rank, head }) = candidates.get(usize::from(at)) {
                let tail = self.table.tail(rank)?;
                self.report(self.table.value(head, tail), rank);
            }
        }
        Ok(())
    }

    /// Passes a hit to the collector, unless an earlier table reports it.
    fn report(&mut self, value: Permuted, rank: Rank) {
        let fingerprint = self.table.permutation.invert(value);
        let diff = fingerprint.value() ^ self.query.needle.value();
        if self.context.reporting_table(diff) == Some(self.query.table) {
            let (distance, table) = (diff.count_ones(), self.table.index);
            let hit = TableHit { distance, fingerprint, table, rank };
            self.collector.push(self.query.number, hit);
        }
    }
}
