//! From candidates of a table with syndromes to hits: each candidate names a few values, which are
//! looked up in the first table.
//!
//! A candidate of such a table agrees with the needle in all but a few of the bits under the mask.
//! Of the other bits it stores the syndrome. The XOR of this syndrome and the syndrome of the
//! needle is the syndrome of the errors between them, so it names all words with few enough errors.
//! Each word and the known bits form a whole value, and the first table decides whether it is
//! stored. No match is missed: its own errors are among the named ones.
//!
//! Two values that agree in all known bits and in the syndrome have equal entries, next to each
//! other, which name the same values; the second is skipped. So each match is found once.

use super::context::Context;
use super::errors::ErrorTable;
use crate::base::error::Result;
use crate::base::limits::ERRORS_MAX;
use crate::bytes::mask::{at_most_bits, low_bits};
use crate::bytes::permutation::Permuted;
use crate::search::kernel::NearHead;
use crate::search::table_query::TableQuery;
use crate::segment::{SyndromeLayout, SyndromeTable};
use fpstore_base::Fingerprint;

/// Values named by entries of a table with syndromes, to be looked up in the first table.
#[derive(Debug, Default)]
pub(super) struct Named {
    values: Vec<NamedValue>,
    /// The last decoded entry, since the next one may be equal.
    last: Option<(u32, u64, u64)>,
}

/// A value that may be stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct NamedValue {
    pub(super) fingerprint: Fingerprint,
    /// The position of the query.
    pub(super) query: u32,
    pub(super) distance: u32,
}

impl Named {
    pub(super) fn clear(&mut self) {
        self.values.clear();
        self.last = None;
    }

    /// Decodes candidates of the query at `position`: lists the named values within the distance of
    /// the search.
    pub(super) fn decode(
        &mut self,
        context: &Context<'_>,
        table: SyndromeTable<'_>,
        candidates: &[NearHead],
        position: u32,
    ) -> Result<()> {
        let (query, _) = context.query(position);
        let decoder = Decoder::new(context, query, table);
        let tails = table.tails();
        for near in candidates {
            let number = match tails.are_verified(near.rank, near.rank) {
                true => tails.packed().get(near.rank.0),
                false => table.number(near.rank)?,
            };
            let entry = (position, near.head, number);
            if self.last.replace(entry) == Some(entry) {
                continue;
            }
            decoder.for_each_value(near.head, number, |value, distance| {
                let fingerprint = table.permutation.invert(value);
                let diff = || fingerprint.value() ^ query.needle.value();
                if decoder.is_sole || context.reporting_table(diff()) == Some(query.table) {
                    self.values.push(NamedValue { fingerprint, query: position, distance });
                }
            });
        }
        Ok(())
    }

    /// The named values, each once, in order.
    pub(super) fn distinct(&mut self) -> &[NamedValue] {
        // Different entries name different values, and equal ones are adjacent; but their
        // order is unchecked.
        self.values.sort_unstable();
        self.values.dedup();
        &self.values
    }

    /// Whether there is nothing to look up.
    #[inline(always)]
    pub(super) fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// Removes the values, which were looked up.
    pub(super) fn looked_up(&mut self) {
        self.values.clear();
    }
}

/// Decodes the entries of one table for one query.
struct Decoder<'a> {
    errors: &'static ErrorTable,
    layout: &'a SyndromeLayout,
    needle: u64,
    radius: u32,
    k: u32,
    /// The smallest number of errors in the bits outside the mask: the first table reports fewer.
    least: u32,
    /// Whether no other table can report a value with that many errors, because no table is between
    /// the two halves. Then values need no further check.
    is_sole: bool,
    syndrome_of_needle: u32,
}

impl<'a> Decoder<'a> {
    fn new(context: &Context<'_>, query: &TableQuery, table: SyndromeTable<'a>) -> Self {
        let layout = table.layout;
        let errors = ErrorTable::of(layout.syndrome_bits);
        let first_mask = context.segment.header().tables.first().map(|first| first.mask.0);
        let least = match context.radii.first() {
            // All errors outside of this mask are under the other one.
            Some(Some(radius)) if first_mask == Some(!table.descriptor.mask.0) => radius + 1,
            _ => 0,
        };
        let is_sole = least > 0 && query.table == 1;
        debug_assert!(context.k <= ERRORS_MAX, "plans leave the table out");
        let needle = query.permuted.0;
        let syndrome_of_needle = errors.code.syndrome(hashed(needle, layout.hashed_bits));
        let (radius, k) = (query.radius, context.k);
        Decoder { errors, layout, needle, radius, k, least, is_sole, syndrome_of_needle }
    }

    /// Calls `each` with each value that an entry may represent within the distance of the search,
    /// and with its distance.
    #[inline(always)]
    fn for_each_value(&self, head: u64, number: u64, mut each: impl FnMut(Permuted, u32)) {
        let SyndromeLayout { syndrome_bits, hashed_bits, known_in_tail, masked, unmasked } =
            *self.layout;
        let known = (head << known_in_tail | number >> syndrome_bits) << hashed_bits;
        let diff = known ^ self.needle;
        if !at_most_bits(diff & masked, self.radius) {
            return;
        }
        // Most tables know no bits outside their mask.
        let outside = if unmasked == 0 { 0 } else { (diff & unmasked).count_ones() };
        let known_errors = (diff & masked).count_ones() + outside;
        if known_errors > self.k {
            return;
        }
        let syndrome = (number & low_bits(syndrome_bits)) as u32 ^ self.syndrome_of_needle;
        let least = self.least.saturating_sub(outside);
        let most = self.k - known_errors;
        self.errors.for_each(syndrome, least, most, |error, weight| {
            if u64::from(error) >> hashed_bits == 0 {
                let low = u64::from(hashed(self.needle, hashed_bits) ^ error);
                each(Permuted(known | low), known_errors + weight);
            }
        });
    }
}

/// The low bits of a value, at most 32.
fn hashed(value: u64, bits: u32) -> u32 {
    (value & low_bits(bits)) as u32
}
