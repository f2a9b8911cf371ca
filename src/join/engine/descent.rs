//! Near pairs found by dividing values by one block after the other.
//!
//! With a large `k` a block has few bits. Then so many values agree on a combination that a hash
//! table holds hundreds of them for each key, and compares them one line after the other. Here the
//! values are divided by the blocks of a combination in turn, as in a radix sort, until comparing
//! all pairs is cheaper. All combinations that begin with the same blocks share that work:
//!
//! ```text
//! blocks A B C D E, 3 agree:   A ── AB ── ABC, ABD, ABE
//!                                ├─ AC ── ACD, ACE          where B differs
//!                                └─ AD ── ADE               where B and C differ
//! ```
//!
//! A group at a node holds all values that agree on the blocks of its path. The first blocks on
//! which a near pair agrees are its path, so the pair is in one group of each level. It is found in
//! the group where the descent ends, and nowhere else.

use super::finder::{Emit, PairFinder};
use super::groups::Level;
use super::node::Node;
use super::sides::SidesMut;
use crate::base::error::Result;

impl PairFinder<'_> {
    /// Finds the pairs of the combinations below a node, among values that agree on the blocks of
    /// its path.
    pub(super) fn descend(
        &mut self,
        sides: &mut SidesMut<'_>,
        node: Node<'_>,
        levels: &mut [Level],
        emit: Emit<'_>,
    ) -> Result<()> {
        let (count, pairs) = (sides.value_count(), sides.pair_count());
        if pairs < 1.0 {
            return Ok(());
        }
        if node.is_skewed(count) {
            return self.find_blocked(sides, emit);
        }
        // Nothing is compared before the first block, on which a pair must agree.
        let (true, Some((level, deeper))) =
            (node.depth == 0 || node.pays(count, pairs), levels.split_first_mut())
        else {
            return self.compare_group(sides, emit);
        };
        let differ_before = self.differ.len();
        let choices = if node.depth == 0 { node.next..node.next + 1 } else { node.choices() };
        for next in choices {
            let block = node.blocking.blocks()[next];
            for mut group in level.by_block(sides, block) {
                let below = node.with(next, group.value_count());
                self.descend(&mut group, below, deeper, emit)?;
            }
            self.differ.push(block);
        }
        self.differ.truncate(differ_before);
        Ok(())
    }
}
