//! Finds near pairs by dividing values by one block after the other.
//!
//! With a large `k` a block has few bits. Then hundreds of values agree on a combination, and a
//! hash table would compare all of them, one cache line after the other. Instead, values are
//! divided by the blocks of a combination in turn, as in a radix sort, until comparing all pairs of
//! a group is cheaper. Combinations that begin with the same blocks share the division by these
//! blocks:
//!
//! ```text
//! blocks A B C D E, 3 agree:   A ── AB ── ABC, ABD, ABE
//!                                ├─ AC ── ACD, ACE          where B differs
//!                                └─ AD ── ADE               where B and C differ
//! ```
//!
//! A group at a node contains all values that agree on the blocks of its path. The first blocks on
//! which a near pair agrees determine one path, so the pair is in one group of each level. It is
//! found in the group where the descent ends, and nowhere else.

use super::blocking::Node;
use super::finder::{Emit, PairFinder};
use super::groups::Level;
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
        // At depth 0 values are always divided: only pairs that agree on the first block count.
        let (true, Some((level, deeper))) =
            (node.depth == 0 || node.pays(count, pairs), levels.split_first_mut())
        else {
            return self.compare_group(sides, emit);
        };
        let differ_before = self.differ.len();
        let choices = if node.depth == 0 { node.next..node.next + 1 } else { node.choices() };
        for next in choices {
            let block = node.blocking.blocks[next];
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
