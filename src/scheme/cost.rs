//! What a query is expected to cost, for choosing between radii and a scan.

/// Cost of looking up one block and summing its heads, in nanoseconds with data in memory.
const NANOS_PER_PROBE: f64 = 65.0;
/// Cost of decoding one head of a block in which flips are still to be forgiven.
const NANOS_PER_HEAD: f64 = 1.5;
/// Cost of comparing one candidate.
const NANOS_PER_CANDIDATE: f64 = 10.0;
/// Cost of decoding and comparing one value in a sequential pass.
const NANOS_PER_SCANNED: f64 = 4.0;

/// What the cost model needs to know of a table.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TableShape {
    pub(crate) prefix_bits: u32,
    /// The leading bits that address the prefix index.
    pub(crate) block_bits: u32,
    pub(crate) value_count: u64,
}

impl TableShape {
    /// Expected nanoseconds to probe the table within `radius`, for values spread evenly.
    ///
    /// Flips below the leading `block_bits` stay in a block that is open already.
    pub(super) fn probe_nanos(&self, radius: u32) -> f64 {
        let leading = self.prefix_bits.min(self.block_bits);
        let probes = combinations_up_to(leading, radius);
        // A block reached with flips to spare is decoded whole; the others only up to one head.
        let whole = if radius == 0 { 0.0 } else { combinations_up_to(leading, radius - 1) };
        let heads = whole * self.value_count as f64 / 2_f64.powi(leading as i32);
        let share =
            combinations_up_to(self.prefix_bits, radius) / 2_f64.powi(self.prefix_bits as i32);
        probes * NANOS_PER_PROBE
            + heads * NANOS_PER_HEAD
            + self.value_count as f64 * share * NANOS_PER_CANDIDATE
    }

    /// Expected nanoseconds to decode the whole table and compare every value.
    pub(super) fn scan_nanos(&self) -> f64 {
        self.value_count as f64 * NANOS_PER_SCANNED
    }
}

/// C(n,0) + C(n,1) + ... + C(n,r).
pub(crate) fn combinations_up_to(n: u32, r: u32) -> f64 {
    let mut term = 1.0;
    let mut sum = 1.0;
    for i in 1..=r.min(n) {
        term *= f64::from(n - i + 1) / f64::from(i);
        sum += term;
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn combinations_are_summed() {
        assert_eq!(combinations_up_to(64, 3), 43_745.0);
        assert_eq!(combinations_up_to(5, 9), 32.0);
        assert_eq!(combinations_up_to(0, 4), 1.0);
    }
}
