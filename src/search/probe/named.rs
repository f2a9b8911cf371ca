//! From candidates of a table with syndromes to hits: each candidate names a few values, which are
//! looked up in the first table.
//!
//! A candidate of such a table agrees with the needle in all but a few of the bits under the mask.
//! In place of the hashed bits, outside the mask, the table stores only their syndrome. Its XOR
//! with the needle's is the syndrome of the errors in these bits, and names all words with few
//! enough errors. Each word and the known bits form a whole value, and a look-up in the first table
//! finds whether it is stored. No match is missed: its errors are among the named errors.
//!
//! Two values that agree in all known bits and in the syndrome have equal entries, next to each
//! other, and these name the same values; the second entry is skipped. So each match is found once.

use std::cell::Cell;

use super::context::Context;
use super::errors::ErrorTable;
use crate::base::error::Result;
use crate::base::limits::ERRORS_MAX;
use crate::base::section::Rank;
use crate::bytes::mask::{at_most_bits, low_bits};
use crate::bytes::permutation::Permuted;
use crate::scheme::Radius;
use crate::search::kernel::{Kernel, NearHead};
use crate::segment::{Segment, SyndromeLayout, SyndromeTable, Tails};
use fpstore_base::Fingerprint;

/// Values named by entries of a table with syndromes, to be looked up in the first table.
#[derive(Debug, Default)]
pub(super) struct Named {
    values: Vec<NamedValue>,
    /// The last decoded entry; an equal next entry is skipped, because it names the same values.
    last: Option<(u32, u64, u64)>,
}

/// A value named by an entry; the look-up shows whether it is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::search) struct NamedValue {
    pub(in crate::search) fingerprint: Fingerprint,
    /// The position of the query among all queries of the search.
    pub(in crate::search) query: u32,
    pub(in crate::search) distance: u32,
}

impl Named {
    pub(super) fn clear(&mut self) {
        self.values.clear();
        self.last = None;
    }

    /// Decodes candidates of the query at `position`: adds the named values within the distance of
    /// the search.
    pub(super) fn decode(
        &mut self,
        context: &Context<'_>,
        table: SyndromeTable<'_>,
        candidates: &[NearHead],
        position: u32,
    ) -> Result<()> {
        let (query, _) = context.query(position);
        let mut namer = Namer::of(*context, query.table, query.radius, table);
        namer.last = self.last;
        let decoder = namer.decoder.at(query.permuted);
        for near in candidates {
            namer.decode(&decoder, (near.rank, near.head), position, &mut self.values)?;
        }
        self.last = namer.last;
        Ok(())
    }

    /// The named values, sorted and without repetitions.
    pub(super) fn distinct(&mut self) -> &[NamedValue] {
        // Different entries name different values, and equal entries are adjacent (rule R-12 of the
        // format). But that rule is not checked here, so values can be repeated.
        self.values.sort_unstable();
        self.values.dedup();
        &self.values
    }

    /// Whether there is nothing to look up.
    #[inline(always)]
    pub(super) fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// Removes the values after their look-up.
    pub(super) fn looked_up(&mut self) {
        self.values.clear();
    }
}

/// Lists the values named by candidates of one table.
pub(in crate::search) struct Namer<'a> {
    context: Context<'a>,
    position: usize,
    table: SyndromeTable<'a>,
    tails: Tails<'a>,
    decoder: Decoder<'a>,
    /// The last decoded entry; an equal next entry is skipped, because it names the same values.
    last: Option<(u32, u64, u64)>,
}

impl<'a> Namer<'a> {
    /// Lists the values named by the table at `position` of a segment, for searches with these
    /// radii and this distance `k`.
    pub(in crate::search) fn new(
        (segment, radii, k): (&'a Segment, &'a [Radius], u32),
        position: usize,
        table: SyndromeTable<'a>,
        kernel: Kernel,
        pages_checked: &'a Cell<u64>,
    ) -> Self {
        let context = Context { segment, radii, queries: &[], kernel, k, pages_checked };
        let radius = radii.get(position).copied().flatten().unwrap_or(0);
        Namer::of(context, position, radius, table)
    }

    fn of(context: Context<'a>, position: usize, radius: u32, table: SyndromeTable<'a>) -> Self {
        let decoder = Decoder::new(&context, position, radius, table);
        Namer { context, position, table, tails: table.tails(), decoder, last: None }
    }

    /// Adds the values named by an entry, given by its rank and its head, to `named`; the head is
    /// near the query.
    pub(in crate::search) fn name(
        &mut self,
        entry: (Rank, u64),
        needle: Permuted,
        query: u32,
        named: &mut Vec<NamedValue>,
    ) -> Result<()> {
        let decoder = self.decoder.at(needle);
        self.decode(&decoder, entry, query, named)
    }

    /// Like [`Namer::name`], with the decoder for the needle of the query.
    #[inline(always)]
    fn decode(
        &mut self,
        decoder: &Decoder<'_>,
        (rank, head): (Rank, u64),
        query: u32,
        named: &mut Vec<NamedValue>,
    ) -> Result<()> {
        let number = match self.tails.are_verified(rank, rank) {
            true => self.tails.packed().get(rank.0),
            false => self.table.number(rank)?,
        };
        let entry = (query, head, number);
        if self.last.replace(entry) == Some(entry) {
            return Ok(());
        }
        let permutation = &self.table.permutation;
        decoder.for_each_value(head, number, |value, distance| {
            let fingerprint = permutation.invert(value);
            let needle = || permutation.invert(Permuted(decoder.needle)).value();
            let diff = || fingerprint.value() ^ needle();
            if decoder.is_sole || self.context.reporting_table(diff()) == Some(self.position) {
                named.push(NamedValue { fingerprint, query, distance });
            }
        });
        Ok(())
    }
}

/// Decodes the entries of one table with syndromes for one query.
#[derive(Clone, Copy)]
struct Decoder<'a> {
    errors: &'static ErrorTable,
    layout: &'a SyndromeLayout,
    needle: u64,
    radius: u32,
    k: u32,
    /// The smallest number of errors outside the mask; values with fewer are reported by the first
    /// table.
    least: u32,
    /// Whether no other table can report a value with `least` or more errors outside the mask: this
    /// is the second table, and its mask is the complement of the first mask. Then values need no
    /// check.
    is_sole: bool,
    syndrome_of_needle: u32,
}

impl<'a> Decoder<'a> {
    /// A decoder for the needle 0 in the table at `position`, whose radius is `radius`.
    fn new(context: &Context<'_>, position: usize, radius: u32, table: SyndromeTable<'a>) -> Self {
        let layout = table.layout;
        let errors = ErrorTable::of(layout.syndrome_bits);
        let first_mask = context.segment.header().tables.first().map(|first| first.mask.0);
        let least = match context.radii.first() {
            // The first table has the complementary mask; it reports values with fewer errors.
            Some(Some(radius)) if first_mask == Some(!table.descriptor.mask.0) => radius + 1,
            _ => 0,
        };
        let is_sole = least > 0 && position == 1;
        debug_assert!(context.k <= ERRORS_MAX, "plans leave the table out");
        let k = context.k;
        Decoder {
            errors,
            layout,
            needle: 0,
            radius,
            k,
            least,
            is_sole,
            // The needle is 0, and the syndrome of 0 is 0 because the code is linear.
            syndrome_of_needle: 0,
        }
    }

    /// This decoder for another needle.
    #[inline(always)]
    fn at(&self, needle: Permuted) -> Self {
        let Permuted(needle) = needle;
        let hashed = hashed(needle, self.layout.hashed_bits);
        Decoder { needle, syndrome_of_needle: self.errors.code.syndrome(hashed), ..*self }
    }

    /// Calls `each` with every value within the distance `k` that an entry may represent, and with
    /// its distance.
    #[inline(always)]
    fn for_each_value(&self, head: u64, number: u64, mut each: impl FnMut(Permuted, u32)) {
        let SyndromeLayout { syndrome_bits, hashed_bits, known_in_tail, masked, unmasked } =
            *self.layout;
        let known = (head << known_in_tail | number >> syndrome_bits) << hashed_bits;
        let diff = known ^ self.needle;
        if !at_most_bits(diff & masked, self.radius) {
            return;
        }
        // Most tables store no bits outside their mask, and then the count is skipped.
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

/// The lowest `bits` bits of a value, at most 32.
fn hashed(value: u64, bits: u32) -> u32 {
    (value & low_bits(bits)) as u32
}
