//! A hash table whose buckets are cache lines.
//!
//! A bucket is a line of eight adjacent values. A new value is compared with all of them at once,
//! whether or not they agree on the mask. The only branch is whether one of them is near or the
//! line is full, which is rare. The lines have room for two to four times the number of values, so
//! few buckets need more than one line. Longer buckets continue in lines of a pool.
//!
//! Compared with chains, a value costs a constant number of instructions instead of one dependent
//! memory access and one unpredictable branch for each value of its bucket. The figures are in
//! benches/README.md.

use super::hashing::bucket;
use super::sides::Sides;
use crate::search::kernel::Vector;

/// Number of values in a line.
const LINE_LEN: u8 = 8;
/// Stands for the length of a bucket that continues in the pool.
const MORE: u8 = LINE_LEN + 1;
/// Values count as skewed if more lines of the pool than this are compared for each value.
const LINES_PER_VALUE: u64 = 8;
/// Values never count as skewed before this number of lines of the pool was compared.
const LINES_FREE: u64 = 512;

/// Maximum number of pool lines that `count` values may compare; with more, they count as skewed.
#[inline(always)]
pub(super) fn lines_max(count: usize) -> u64 {
    LINES_FREE + LINES_PER_VALUE * count as u64
}

#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
struct Line([u64; LINE_LEN as usize]);

/// A line of the pool: any line of a bucket except its first.
#[derive(Clone, Copy, Debug)]
struct PoolLine {
    line: Line,
    len: u8,
    /// The previous line of the bucket in the pool.
    before: Option<u32>,
}

/// The memory of a table, reused for the next set of values.
#[derive(Debug, Default)]
pub(super) struct LineTable {
    /// The first line of each bucket.
    firsts: Vec<Line>,
    /// The number of values in the first line of each bucket, or [`MORE`].
    lens: Vec<u8>,
    /// The last line of each bucket that continues in the pool.
    lasts: Vec<u32>,
    pool: Vec<PoolLine>,
}

/// The parameters of a comparison.
#[derive(Clone, Copy)]
struct Comparison<V> {
    vector: V,
    mask: u64,
    k: u32,
    /// The number of bits of a bucket number.
    bits: u32,
}

impl LineTable {
    /// The algorithm of [`HashTable::pairs`](super::hash_table::HashTable::pairs) for few values.
    #[inline(always)]
    pub(super) fn pairs<V: Vector>(
        &mut self,
        vector: V,
        sides: Sides<'_>,
        mask: u64,
        k: u32,
        mut emit: impl FnMut(u64, u64),
    ) -> bool {
        let near = Comparison { vector, mask, k, bits: self.clear(sides.build().len()) };
        let (mut lines, mut at) = (0, 0);
        match sides {
            Sides::Within(values) => loop {
                at += near.insert_far(&mut self.firsts, &mut self.lens, &values[at..]);
                let Some(&value) = values.get(at) else { break };
                let most = lines_max(at);
                if !self.compare(near, value, &mut lines, most, &mut emit) {
                    return false;
                }
                self.insert(near.bucket(value), value);
                at += 1;
            },
            Sides::Across { probe, build } => {
                for &value in build {
                    self.insert(near.bucket(value), value);
                }
                loop {
                    at += near.skip_far(&self.firsts, &self.lens, &probe[at..]);
                    let Some(&value) = probe.get(at) else { break };
                    let most = lines_max(at + build.len());
                    if !self.compare(near, value, &mut lines, most, &mut emit) {
                        return false;
                    }
                    at += 1;
                }
            }
        }
        true
    }

    /// Empties the table and makes it large enough for `count` values. Returns the number of bits
    /// of a bucket number.
    fn clear(&mut self, count: usize) -> u32 {
        let bits = count.max(4).ilog2() - 1;
        if self.firsts.len() < 1 << bits {
            self.firsts.resize(1 << bits, Line([0; LINE_LEN as usize]));
            self.lasts.resize(1 << bits, 0);
        }
        self.lens.clear();
        self.lens.resize(1 << bits, 0);
        self.pool.clear();
        bits
    }

    /// Emits the values of a bucket that are near `value`, and adds the number of compared lines of
    /// the pool to `lines`. Returns `false` if `lines` exceeds `most`.
    #[inline(always)]
    fn compare<V: Vector>(
        &self,
        near: Comparison<V>,
        value: u64,
        lines: &mut u64,
        most: u64,
        emit: &mut impl FnMut(u64, u64),
    ) -> bool {
        let slot = near.bucket(value);
        near.compare(&self.firsts[slot], self.lens[slot], value, emit);
        let mut next = self.last(slot);
        while let Some(at) = next {
            let PoolLine { line, len, before } = &self.pool[at as usize];
            near.compare(line, *len, value, emit);
            next = *before;
            *lines += 1;
            // Checked after each line: the bucket of a single value may contain all values.
            if *lines > most {
                return false;
            }
        }
        true
    }

    fn insert(&mut self, slot: usize, value: u64) {
        let len = self.lens[slot];
        if len < LINE_LEN {
            self.firsts[slot].0[usize::from(len)] = value;
            self.lens[slot] = len + 1;
            return;
        }
        let before = self.last(slot);
        if let Some(last) = before {
            let PoolLine { line, len, .. } = &mut self.pool[last as usize];
            if *len < LINE_LEN {
                line.0[usize::from(*len)] = value;
                *len += 1;
                return;
            }
        }
        self.lens[slot] = MORE;
        self.lasts[slot] = self.pool.len() as u32;
        self.pool.push(PoolLine { line: Line([value; LINE_LEN as usize]), len: 1, before });
    }

    /// The last line of a bucket, if it continues in the pool.
    fn last(&self, slot: usize) -> Option<u32> {
        (self.lens[slot] == MORE).then(|| self.lasts[slot])
    }
}

impl<V: Vector> Comparison<V> {
    #[inline(always)]
    fn bucket(self, value: u64) -> usize {
        bucket(value, self.mask, self.bits)
    }

    /// Inserts values until one is near a value in the first line of its bucket, or that line is
    /// full. Returns the number of inserted values.
    ///
    /// Nearly all values are inserted by this loop, so it keeps everything in registers.
    #[inline(always)]
    fn insert_far(self, firsts: &mut [Line], lens: &mut [u8], values: &[u64]) -> usize {
        for (at, &value) in values.iter().enumerate() {
            let slot = self.bucket(value);
            let (line, len) = (&mut firsts[slot].0, &mut lens[slot]);
            if self.first_near(line, *len, value) != 0 || *len >= LINE_LEN {
                return at;
            }
            line[usize::from(*len % LINE_LEN)] = value;
            *len += 1;
        }
        values.len()
    }

    /// The number of values before the first value that is near a value in the first line of its
    /// bucket, or whose bucket continues in the pool.
    #[inline(always)]
    fn skip_far(self, firsts: &[Line], lens: &[u8], values: &[u64]) -> usize {
        for (at, &value) in values.iter().enumerate() {
            let slot = self.bucket(value);
            if self.first_near(&firsts[slot].0, lens[slot], value) != 0 || lens[slot] == MORE {
                return at;
            }
        }
        values.len()
    }

    /// A bit set of the first `len` values of a line that are near `value`, whether or not they
    /// agree on the mask.
    #[inline(always)]
    fn first_near(self, line: &[u64; LINE_LEN as usize], len: u8, value: u64) -> u32 {
        self.vector.near_words(line, value, self.k) & ((1 << len) - 1)
    }

    /// Emits each of the first `len` values of a line that is near `value` and agrees on the mask.
    #[inline(always)]
    fn compare(self, line: &Line, len: u8, value: u64, emit: &mut impl FnMut(u64, u64)) {
        let mut found = self.first_near(&line.0, len, value);
        while found != 0 {
            let other = line.0[found.trailing_zeros() as usize % line.0.len()];
            found &= found - 1;
            if (value ^ other) & self.mask == 0 {
                emit(value, other);
            }
        }
    }
}
