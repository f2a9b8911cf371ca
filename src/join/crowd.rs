//! Part of a join: values that agree on a block, joined by themselves.

use super::chains::part;

/// What is joined of all values: those of one part of a block, of one part of another, and so on.
#[derive(Clone, Debug, Default)]
pub(super) struct Crowd {
    pub(super) parts: Vec<PartOf>,
    /// Where pairs must agree and where they must differ, or they are found elsewhere.
    pub(super) agree: u64,
    pub(super) differ: Vec<u64>,
}

/// One part of the values by a block.
#[derive(Clone, Copy, Debug)]
pub(super) struct PartOf {
    pub(super) block: u64,
    pub(super) bits: u32,
    pub(super) part: usize,
}

impl Crowd {
    pub(super) fn has(&self, value: u64) -> bool {
        self.parts.iter().all(|of| part(value, of.block, 0, of.bits) == of.part)
    }

    /// What is in one part of it, where pairs agree on the block but not on those before it.
    pub(super) fn within(&self, of: PartOf, before: &[u64]) -> Crowd {
        let mut inner = self.clone();
        inner.parts.push(of);
        inner.agree |= of.block;
        inner.differ.extend_from_slice(before);
        inner
    }
}
