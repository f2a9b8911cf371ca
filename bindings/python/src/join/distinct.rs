//! Distinct fingerprints, and where each stands among them.

use fpstore::{Error, Fingerprint};

use crate::columns::BATCH_ROWS;
use crate::errors::Failure;
use crate::work::Shared;

/// The most leading bits by which values are found.
const LEADING_BITS_MAX: u32 = 16;

/// Distinct fingerprints, ascending: 8 bytes each.
pub(super) struct Distinct {
    values: Vec<Fingerprint>,
    /// Where the values with each combination of leading bits start, and the end.
    starts: Vec<usize>,
    /// The bits of a value below the leading ones.
    shift: u32,
}

impl Distinct {
    /// Those among `values`, which are read three times.
    pub(super) fn of(
        values: impl Iterator<Item = Fingerprint> + Clone,
        shared: &Shared,
    ) -> Result<Self, Failure> {
        let count = values.clone().count();
        let bits = count.max(2).ilog2().min(LEADING_BITS_MAX);
        let shift = u64::BITS - bits;
        let leading = |value: Fingerprint| (value.value() >> shift) as usize;
        let mut starts = vec![0; (1 << bits) + 1];
        for value in values.clone() {
            starts[leading(value) + 1] += 1;
        }
        for at in 1..starts.len() {
            starts[at] += starts[at - 1];
        }
        let mut sorted = vec![Fingerprint::default(); count];
        let mut next = starts.clone();
        for (number, value) in values.enumerate() {
            if number % BATCH_ROWS == 0 {
                check(shared)?;
            }
            let at = &mut next[leading(value)];
            sorted[*at] = value;
            *at += 1;
        }
        let mut len = 0;
        for leading in 0..1 << bits {
            check(shared)?;
            let (start, end) = (starts[leading], starts[leading + 1]);
            sorted[start..end].sort_unstable();
            starts[leading] = len;
            for at in start..end {
                if at == start || sorted[at] != sorted[len - 1] {
                    sorted[len] = sorted[at];
                    len += 1;
                }
            }
        }
        starts[1 << bits] = len;
        sorted.truncate(len);
        Ok(Distinct { values: sorted, starts, shift })
    }

    pub(super) fn values(&self) -> &[Fingerprint] {
        &self.values
    }

    /// The position of a value that is among them.
    pub(super) fn position(&self, value: Fingerprint) -> usize {
        let leading = (value.value() >> self.shift) as usize;
        let start = self.starts[leading];
        let found = self.values[start..self.starts[leading + 1]].binary_search(&value);
        start + found.expect("only values of the input are looked up")
    }
}

/// Fails once the work is to end.
pub(super) fn check(shared: &Shared) -> Result<(), Failure> {
    if shared.is_stopped() { Err(Error::Interrupted.into()) } else { Ok(()) }
}
