//! The unit costs: nanoseconds for each kind of step of a query.
//!
//! They turn a [`CostEstimate`] into nanoseconds. Plans compare schemes, radii and a scan by them.

use super::estimate::CostEstimate;

/// The footprints, as powers of 2 of bytes, at which the cost of a touch is known.
const TOUCH_BITS: [u32; 7] = [18, 20, 22, 24, 26, 28, 30];

/// Cache lines that a look-up of a value touches: an index entry, heads, a tail.
const LINES_PER_LOOK_UP: f64 = 3.0;

/// A cost that files of earlier releases lack.
const LOOK_UP: &str = "look_up";

/// Touches that overlap with one cache miss that a query waits for.
const TOUCHES_PER_MISS: f64 = 12.0;

/// The cost of each step of a query in nanoseconds, on one thread.
///
/// The defaults were measured on one machine, see `benches/README.md`; `fpstore plan
/// --calibrate` measures those of another. Choices depend on their proportions alone.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct UnitCosts {
    /// For each query.
    pub query: f64,
    /// For each table that is probed.
    pub table: f64,
    /// To look a block up whose index entry is in the nearest cache.
    pub probe: f64,
    /// To open a block that holds values.
    pub block: f64,
    /// To sum a chunk of 64 bytes of heads and compare the lowest bytes of the sums.
    pub chunk: f64,
    /// To decode every head of a chunk.
    pub whole_chunk: f64,
    /// To search for a range of heads in a block.
    pub range: f64,
    /// To skip a head.
    pub head_passed: f64,
    /// To decode and compare a head.
    pub head_compared: f64,
    /// To read a byte of a gap beyond the first.
    pub extra_byte: f64,
    /// To compare a candidate whose tail is in the nearest cache.
    pub candidate: f64,
    /// To look up a value that a syndrome names, beside the waiting for its cache lines.
    pub look_up: f64,
    /// To decode and compare a value in a scan of a table.
    pub scanned: f64,
    /// To wait for a cache line that was prefetched, where queries touch 2^18, 2^20, ... 2^30
    /// bytes in random order.
    pub touch: [f64; TOUCH_BITS.len()],
    /// To read a page that is not in memory.
    pub cold_page: f64,
}

impl UnitCosts {
    /// The costs that fpstore ships with.
    pub const SHIPPED: UnitCosts = UnitCosts {
        query: 53.4,
        table: 54.5,
        probe: 4.8,
        block: 2.0,
        chunk: 12.0,
        whole_chunk: 51.5,
        range: 5.2,
        head_passed: 0.33,
        head_compared: 0.8,
        extra_byte: 0.1,
        candidate: 11.3,
        look_up: 150.0,
        scanned: 5.2,
        // The last three from two tables of 10^8 fingerprints, whose queries took 2.9 us.
        touch: [0.0, 0.2, 1.5, 4.6, 8.0, 14.5, 22.0],
        cold_page: 60_000.0,
    };

    /// Nanoseconds for these steps with data in memory, where queries touch `footprint` bytes in
    /// random order.
    pub fn nanos(&self, estimate: &CostEstimate, footprint: f64) -> f64 {
        // A query waits for the first index entry, the first heads and the first tail; the others
        // arrive meanwhile.
        let waited = if estimate.probes > 0.0 { 3.0 * TOUCHES_PER_MISS } else { 0.0 };
        let touched = estimate.lines
            + estimate.blocks
            + estimate.candidates
            + LINES_PER_LOOK_UP * estimate.look_ups
            + waited;
        self.query
            + self.table * estimate.tables
            + self.probe * estimate.probes
            + self.block * estimate.blocks
            + self.chunk * estimate.chunks
            + self.whole_chunk * estimate.whole_chunks
            + self.range * estimate.ranges
            + self.head_passed * estimate.heads_passed
            + self.head_compared * estimate.heads_compared
            + self.extra_byte * estimate.extra_bytes
            + self.candidate * estimate.candidates
            + self.look_up * estimate.look_ups
            + self.scanned * estimate.scanned
            + self.touch_at(footprint) * touched
    }

    /// The cost of a touch, interpolated over the logarithm of the footprint.
    fn touch_at(&self, footprint: f64) -> f64 {
        let first = f64::from(TOUCH_BITS[0]);
        let place = ((footprint.max(1.0).log2() - first) / 2.0).clamp(0.0, 6.0);
        let below = (place as usize).min(TOUCH_BITS.len() - 2);
        let share = place - below as f64;
        self.touch[below] * (1.0 - share) + self.touch[below + 1] * share
    }

    /// The costs with those of the processor multiplied by `factor`; those of memory stay.
    pub(crate) fn scaled(mut self, factor: f64) -> UnitCosts {
        for cost in [
            &mut self.query,
            &mut self.table,
            &mut self.probe,
            &mut self.block,
            &mut self.chunk,
            &mut self.whole_chunk,
            &mut self.range,
            &mut self.head_passed,
            &mut self.head_compared,
            &mut self.extra_byte,
            &mut self.candidate,
            &mut self.look_up,
        ] {
            *cost *= factor;
        }
        self
    }

    /// All costs by name, as files keep them.
    pub fn entries(&self) -> Vec<(String, f64)> {
        let mut copy = *self;
        copy.fields().into_iter().map(|(name, value)| (name, *value)).collect()
    }

    /// The costs with these names and values. `None` unless each name occurs once and each value
    /// is finite and not negative; only `look_up`, which files of earlier releases lack, may be
    /// left out.
    pub fn from_entries(entries: &[(String, f64)]) -> Option<UnitCosts> {
        let mut costs = UnitCosts::SHIPPED;
        let mut left = entries.len();
        for (name, value) in costs.fields() {
            let mut found = entries.iter().filter(|(given, _)| *given == name);
            let Some(&(_, given)) = found.next() else {
                if name == LOOK_UP {
                    continue;
                }
                return None;
            };
            *value = given;
            left -= 1;
            if found.next().is_some() || !value.is_finite() || *value < 0.0 {
                return None;
            }
        }
        (left == 0).then_some(costs)
    }

    /// The names are those of files, which stay the same from release to release.
    fn fields(&mut self) -> Vec<(String, &mut f64)> {
        let mut fields = vec![
            ("query".into(), &mut self.query),
            ("table".into(), &mut self.table),
            ("probe".into(), &mut self.probe),
            ("block".into(), &mut self.block),
            ("window".into(), &mut self.chunk),
            ("whole_window".into(), &mut self.whole_chunk),
            ("range".into(), &mut self.range),
            ("head_passed".into(), &mut self.head_passed),
            ("head_compared".into(), &mut self.head_compared),
            ("extra_byte".into(), &mut self.extra_byte),
            ("candidate".into(), &mut self.candidate),
            (LOOK_UP.into(), &mut self.look_up),
            ("scanned".into(), &mut self.scanned),
            ("cold_page".into(), &mut self.cold_page),
        ];
        let touches = TOUCH_BITS.iter().zip(&mut self.touch);
        fields.extend(touches.map(|(bits, touch)| (format!("touch_{bits}"), touch)));
        fields
    }
}

impl Default for UnitCosts {
    fn default() -> Self {
        UnitCosts::SHIPPED
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn costs_come_back_from_their_entries_and_nothing_else_does() {
        let costs = UnitCosts { probe: 1.25, ..UnitCosts::SHIPPED };
        let entries = costs.entries();
        assert_eq!(UnitCosts::from_entries(&entries), Some(costs));
        for at in 0..entries.len() {
            let mut bad = entries.clone();
            let (name, _) = bad.remove(at);
            assert_eq!(UnitCosts::from_entries(&bad).is_some(), name == LOOK_UP);
            for value in [f64::NAN, f64::INFINITY, -1.0] {
                let mut bad = entries.clone();
                bad[at].1 = value;
                assert_eq!(UnitCosts::from_entries(&bad), None);
            }
        }
        let twice = [entries.clone(), entries].concat();
        assert_eq!(UnitCosts::from_entries(&twice), None);
        assert_eq!(UnitCosts::from_entries(&[]), None);
    }

    #[test]
    fn a_touch_costs_more_in_more_memory() {
        let costs = UnitCosts { touch: [0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0], ..UnitCosts::SHIPPED };
        for (footprint, expected) in
            [(0.0, 0.0), (2e5, 0.0), (1_048_576.0, 1.0), (2_097_152.0, 1.5), (1e18, 6.0)]
        {
            assert_eq!(costs.touch_at(footprint), expected, "{footprint}");
        }
    }
}
