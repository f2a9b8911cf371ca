//! Work on the nodes that are not alone, group by group, on all threads.

use super::candidates::Candidates;
use crate::base::error::Result;
use crate::base::side_by_side::side_by_side;

/// Threads split a list of groups smaller than this; all threads work together on a larger group.
const GROUP_MIN: usize = if cfg!(test) { 8 } else { 256 };

/// A node that is not alone: its group, its first document, its number.
pub(super) type Entry = (u32, u32, u32);

impl Candidates {
    /// The nodes in candidate pairs and the nodes of several documents, in the selected groups:
    /// ordered by group, then by first document.
    pub(super) fn entries(&self) -> Vec<Entry> {
        let Candidates { nodes, is_candidate, groups, .. } = self;
        let is_alone = |node: u32| !is_candidate[node as usize] && nodes.documents(node).len() < 2;
        let mut entries: Vec<Entry> = (0..nodes.len() as u32)
            .filter(|&node| self.is_selected(node) && !is_alone(node))
            .map(|node| (groups[node as usize], nodes.documents(node)[0], node))
            .collect();
        entries.sort_unstable();
        entries
    }
}

/// Passes each group of [`Candidates::entries`] to `work`, with the number of threads for it, and
/// returns all results that `work` adds, in any order.
pub(super) fn in_groups<T: Send>(
    entries: &[Entry],
    threads: usize,
    work: impl Fn(&[Entry], usize, &mut Vec<T>) -> Result<()> + Sync,
) -> Result<Vec<T>> {
    let is_small = |group: &[Entry]| group.len() < GROUP_MIN;
    let mut all = Vec::new();
    let list: Vec<&[Entry]> = entries.chunk_by(|a, b| a.0 == b.0).collect();
    for run in list.chunk_by(|a, b| is_small(a) && is_small(b)) {
        if let [group] = run {
            work(group, if is_small(group) { 1 } else { threads }, &mut all)?;
            continue;
        }
        let parts: Vec<&[&[Entry]]> = run.chunks(run.len().div_ceil(threads)).collect();
        let of_parts = side_by_side(&parts, |part| {
            let mut found = Vec::new();
            part.iter().try_for_each(|group| work(group, 1, &mut found))?;
            Ok(found)
        })?;
        all.extend(of_parts.into_iter().flatten());
    }
    Ok(all)
}
