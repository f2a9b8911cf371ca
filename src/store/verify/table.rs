//! Verifying the values of a table: their order, and that they equal the set of the segment.

use crate::base::error::{Fault, Result};
use crate::base::section::{BlockIndex, Rank, TableIndex};
use crate::bytes::permutation::Permuted;
use crate::bytes::set_sum::SetSum;
use crate::segment::{Segment, TableKind, TableReader};
use crate::store::verify::pace::Pace;
use fpstore_base::Fingerprint;

/// The minimum number of values that one thread reads.
const VALUES_MIN: u64 = if cfg!(test) { 16 } else { 1 << 16 };

/// Checks that all bits after the last tail are zero.
pub(super) fn verify_padding(segment: &Segment, table: TableReader<'_>) -> Result<()> {
    let used_bits = segment.header().fingerprint_count * u64::from(table.stored_bits);
    let (place, offset) = (&table.tails, used_bits / 8);
    if place.len == 0 {
        return Ok(());
    }
    let rest = segment.bytes(place, offset, place.len - offset)?;
    let used_in_first = used_bits % 8;
    let clear = (0..).zip(rest).all(|(at, byte)| match at {
        0 => byte >> used_in_first == 0,
        _ => *byte == 0,
    });
    let fault = || Fault::rule(17, "bits after the last tail are not zero");
    if clear { Ok(()) } else { Err(segment.corrupt(place, offset, fault())) }
}

/// Checks that the values ascend strictly, fit the width of the recipe, and form the
/// same set in every table. The keys of a table with syndromes must be the keys of the
/// values of the first table.
pub(super) fn verify_set(segment: &Segment, table: TableReader<'_>, pace: &Pace) -> Result<()> {
    let pass = TablePass { segment, table: table.index, pace };
    let permutation = &table.permutation;
    let (found, expected) = match (table.kind(), segment.first_table()) {
        (TableKind::Whole(_), _) => {
            let (found, largest) = pass.set_of(&|value| permutation.invert(value))?;
            let width = segment.recipe().width();
            if !width.fits(largest) {
                let detail = format!(
                    "{largest} has more than {width} bits, the width of the \
                                      recipe"
                );
                return Err(segment.corrupt(&table.heads, 0, Fault::rule(31, detail)));
            }
            (found, segment.header().set_sum)
        }
        (TableKind::Syndromes(_), Some(first)) => {
            let (found, _) = pass.set_of(&|key| Fingerprint::new(key.0))?;
            let (descriptor, natural) = (&table.descriptor, &first.permutation);
            let key = |value| descriptor.key_of(permutation.apply(natural.invert(value)).0);
            let pass = TablePass { table: first.index, ..pass };
            let (expected, _) = pass.set_of(&|value| Fingerprint::new(key(value)))?;
            (found, expected)
        }
        (TableKind::Syndromes(_), None) => return Ok(()),
    };
    if found == expected {
        return Ok(());
    }
    let fault = Fault::rule(20, "the table holds other fingerprints than the header states");
    Err(segment.corrupt(&table.heads, 0, fault))
}

/// A pass over all values or keys of a table, in parts of whole blocks.
pub(super) struct TablePass<'a> {
    pub(super) segment: &'a Segment,
    pub(super) table: TableIndex,
    pub(super) pace: &'a Pace,
}

impl TablePass<'_> {
    /// For each run of values, calls `take` with the result of its part so far, the rank of the
    /// first value of the run, and the run. The results are in the order of the parts.
    pub(super) fn in_parts<R: Default + Send>(
        &self,
        take: impl Fn(&mut R, Rank, &[u64]) + Sync,
    ) -> Result<Vec<R>> {
        self.pace.in_parts(self.segment.header().fingerprint_count, VALUES_MIN, |part| {
            let mut found = R::default();
            let Some(table) = self.segment.table(self.table.0.into()) else { return Ok(found) };
            let blocks = part.of(0..table.descriptor.block_count());
            if blocks.is_empty() {
                return Ok(found);
            }
            let blocks = BlockIndex(blocks.start)..BlockIndex(blocks.end);
            let mut values = table.values_or_keys().within(blocks)?;
            let mut pass = self.pace.values(self.segment, table);
            while let Some((first, run)) = values.next_run()? {
                take(&mut found, first, run);
                pass.step(run.len() as u64)?;
            }
            pass.end()?;
            Ok(found)
        })
    }

    /// The set sum of the mapped values, and the largest of them.
    fn set_of(
        &self,
        map: &(dyn Fn(Permuted) -> Fingerprint + Sync),
    ) -> Result<(SetSum, Fingerprint)> {
        let take = |(sum, largest): &mut (SetSum, Fingerprint), _, run: &[u64]| {
            sum.add_all(run, |value| {
                let value = map(Permuted(value));
                *largest = value.max(*largest);
                value.value()
            });
        };
        let (mut sum, mut largest) = (SetSum::default(), Fingerprint::default());
        for (part_sum, part_largest) in self.in_parts(take)? {
            sum.join(part_sum);
            largest = largest.max(part_largest);
        }
        Ok((sum, largest))
    }
}
