//! Divides values into groups: values that agree on a block, or partitions.

use super::sides::SidesMut;
use crate::bytes::mask::low_bits;

/// The buffers for one division: for each side, the values in the order of their groups.
#[derive(Debug, Default)]
pub(super) struct Level {
    sides: [Side; 2],
}

#[derive(Debug, Default)]
struct Side {
    values: Vec<u64>,
    /// The end of each group.
    ends: Vec<usize>,
}

impl Level {
    /// Divides values into groups that agree on a block, and iterates over the groups that have
    /// pairs. The bits of the block are the number of the group, so the block must be short.
    pub(super) fn by_block(&mut self, sides: &SidesMut<'_>, block: u64) -> Groups<'_> {
        let (start, bits) = (block.trailing_zeros(), block.count_ones());
        let last = low_bits(bits);
        if block >> start == last {
            self.by(sides, bits, |value| (value >> start & last) as usize)
        } else {
            self.by(sides, bits, |value| gather(value, block))
        }
    }

    /// Divides values into `2^bits` groups, and iterates over the groups with pairs. `group`
    /// returns the number of the group of a value.
    #[inline(always)]
    pub(super) fn by(
        &mut self,
        sides: &SidesMut<'_>,
        bits: u32,
        group: impl Fn(u64) -> usize,
    ) -> Groups<'_> {
        let [one, other] = &mut self.sides;
        let is_one = match sides {
            SidesMut::Within(values) => {
                one.divide(values, bits, &group);
                true
            }
            SidesMut::Across { probe, build } => {
                one.divide(probe, bits, &group);
                other.divide(build, bits, &group);
                false
            }
        };
        Groups {
            is_one,
            rests: [&mut one.values, &mut other.values],
            ends: [&one.ends, &other.ends],
            starts: [0; 2],
            number: 0,
        }
    }
}

impl Side {
    /// Sorts the values by group: counts the values of each group, then moves them.
    #[inline(always)]
    fn divide(&mut self, values: &[u64], bits: u32, group: impl Fn(u64) -> usize) {
        let Side { values: divided, ends } = self;
        ends.clear();
        ends.resize(1 << bits, 0);
        for &value in values {
            ends[group(value)] += 1;
        }
        let mut next = 0;
        for end in ends.iter_mut() {
            next += std::mem::replace(end, next);
        }
        divided.resize(values.len(), 0);
        for &value in values {
            let end = &mut ends[group(value)];
            divided[*end] = value;
            *end += 1;
        }
    }
}

/// Gathers the bits of `value` at the positions of a block into a number.
#[inline(always)]
fn gather(value: u64, block: u64) -> usize {
    let (mut rest, mut gathered, mut at) = (block, 0, 0);
    while rest != 0 {
        // The lowest run of adjacent bits in the rest of the block.
        let start = rest.trailing_zeros();
        let len = (rest >> start).trailing_ones();
        gathered |= (value >> start & low_bits(len)) << at;
        at += len;
        rest &= !(low_bits(len) << start);
    }
    gathered as usize
}

/// Iterates over the groups that have pairs: two values, or a value on each side.
pub(super) struct Groups<'a> {
    is_one: bool,
    rests: [&'a mut [u64]; 2],
    ends: [&'a [usize]; 2],
    starts: [usize; 2],
    number: usize,
}

impl<'a> Groups<'a> {
    /// The values of the next group on a side.
    fn take(&mut self, side: usize) -> &'a mut [u64] {
        let end = self.ends[side][self.number];
        let rest = std::mem::take(&mut self.rests[side]);
        let (group, rest) = rest.split_at_mut(end - self.starts[side]);
        self.rests[side] = rest;
        self.starts[side] = end;
        group
    }
}

impl<'a> Iterator for Groups<'a> {
    type Item = SidesMut<'a>;

    fn next(&mut self) -> Option<SidesMut<'a>> {
        while self.number < self.ends[0].len() {
            let probe = self.take(0);
            let group = if self.is_one {
                SidesMut::Within(probe)
            } else {
                SidesMut::Across { probe, build: self.take(1) }
            };
            self.number += 1;
            if group.has_pairs() {
                return Some(group);
            }
        }
        None
    }
}
