//! A small generator of repeatable random numbers. Tests and benches include this file by its path.
#![allow(dead_code, reason = "each test and bench uses its own part")]

/// The generator splitmix64 (Steele, Lea and Flood, OOPSLA 2014).
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Self {
        Random(seed)
    }

    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }

    /// A number below `limit`.
    pub fn below(&mut self, limit: u64) -> u64 {
        self.next() % limit
    }

    /// A random element of `values`.
    pub fn pick(&mut self, values: &[u64]) -> u64 {
        values[self.below(values.len() as u64) as usize]
    }

    /// `value` with exactly `count` bits flipped, chosen at random.
    pub fn flip(&mut self, value: u64, count: u32) -> u64 {
        let mut flips = 0_u64;
        while flips.count_ones() < count {
            flips |= 1 << self.below(64);
        }
        value ^ flips
    }
}
