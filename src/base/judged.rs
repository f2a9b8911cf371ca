//! Pairs of ids that people labelled, checked for contradictions.
//!
//! Clusters and the checks of a writer follow these labels. The pairs come from a [`LabelFile`];
//! their ids need not be in any store.

use std::collections::HashMap;

use fpstore_base::labels::{BadLabel, Label, LabelFile};

/// Pairs of ids that are labelled as duplicates or as different, without a contradiction.
///
/// Two ids are the same if their texts are equal.
///
/// # Examples
///
/// ```
/// use fpstore::join::{JudgedPairs, LabelFile};
///
/// let pairs = JudgedPairs::new(&LabelFile::parse("a\tb\t1\na\tc\t0\n")?)?;
/// assert_eq!((pairs.duplicate_count(), pairs.different_count()), (1, 1));
/// assert!(JudgedPairs::new(&LabelFile::parse("a\tb\t1\nb\ta\t0\n")?).is_err());
/// # Ok::<(), fpstore::join::BadLabel>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct JudgedPairs {
    /// The number of each id.
    numbers: HashMap<String, u32>,
    /// Pairs of numbers, each with the smaller number first; the list is ascending.
    duplicates: Vec<(u32, u32)>,
    different: Vec<(u32, u32)>,
    /// For each number, the numbers labelled as different from it, ascending.
    different_from: Vec<Vec<u32>>,
}

impl JudgedPairs {
    /// Takes the pairs of a file, except pairs with the label -1. Lines may be repeated.
    ///
    /// # Errors
    ///
    /// [`BadLabel`] with the number of the line, if a line pairs a document with itself, or labels
    /// a pair as different, but another line labels it as a duplicate or a chain of duplicate pairs
    /// connects it.
    pub fn new(labels: &LabelFile) -> Result<Self, BadLabel> {
        let mut judged = JudgedPairs::default();
        let mut lines: HashMap<(u32, u32), u64> = HashMap::new();
        for (line, one, other, label) in labels.lines().filter(|row| row.3 != Label::Ignored) {
            if one == other {
                let reason = format!(
                    "'{one}' is paired with itself, expected two different \
                                      documents"
                );
                return Err(BadLabel { line, reason });
            }
            let pair = [one, other].map(|id| judged.add(id));
            let pair = (pair[0].min(pair[1]), pair[0].max(pair[1]));
            match label {
                Label::Duplicate => {
                    lines.entry(pair).or_insert(line);
                    judged.duplicates.push(pair);
                }
                _ => judged.different.push(pair),
            }
        }
        for pairs in [&mut judged.duplicates, &mut judged.different] {
            pairs.sort_unstable();
            pairs.dedup();
        }
        judged.different_from = judged.lists(&judged.different);
        judged.check(labels, &lines)?;
        Ok(judged)
    }

    fn add(&mut self, id: &str) -> u32 {
        let next = self.numbers.len() as u32;
        match self.numbers.get(id) {
            Some(&number) => number,
            None => *self.numbers.entry(id.into()).or_insert(next),
        }
    }

    /// For each number, the numbers paired with it in `pairs`, ascending.
    fn lists(&self, pairs: &[(u32, u32)]) -> Vec<Vec<u32>> {
        let mut lists = vec![Vec::new(); self.numbers.len()];
        for &(one, other) in pairs {
            lists[one as usize].push(other);
            lists[other as usize].push(one);
        }
        lists.iter_mut().for_each(|list| list.sort_unstable());
        lists
    }

    /// Rejects a pair labelled as different if another line labels it as a duplicate, or a chain of
    /// duplicate pairs connects it.
    fn check(&self, labels: &LabelFile, lines: &HashMap<(u32, u32), u64>) -> Result<(), BadLabel> {
        let sets = sets_of(&self.lists(&self.duplicates));
        for (line, one, other, _) in labels.lines().filter(|row| row.3 == Label::Different) {
            let (a, b) = (self.numbers[one], self.numbers[other]);
            if sets[a as usize] != sets[b as usize] {
                continue;
            }
            let by = match lines.get(&(a.min(b), a.max(b))) {
                Some(line) => format!("in line {line}"),
                None => "by a chain of other lines".into(),
            };
            let reason = format!(
                "'{one}' and '{other}' are judged different, and the same {by}; leave out one of \
                 these judgements"
            );
            return Err(BadLabel { line, reason });
        }
        Ok(())
    }

    /// The number of distinct pairs labelled as duplicates.
    pub fn duplicate_count(&self) -> usize {
        self.duplicates.len()
    }

    /// The number of distinct pairs labelled as different.
    pub fn different_count(&self) -> usize {
        self.different.len()
    }

    /// Whether any document is labelled as different from the document with this id.
    pub(crate) fn has_different(&self, id: &str) -> bool {
        self.number(id).is_some_and(|number| !self.different_from[number as usize].is_empty())
    }

    /// Whether the documents with these two ids are labelled as different.
    pub fn are_different(&self, one: &str, other: &str) -> bool {
        let both = self.number(one).zip(self.number(other));
        both.is_some_and(|(one, other)| {
            self.different_from[one as usize].binary_search(&other).is_ok()
        })
    }

    /// The number of a labelled id, less than [`JudgedPairs::id_count`]; `None` for other ids.
    pub(crate) fn number(&self, id: &str) -> Option<u32> {
        self.numbers.get(id).copied()
    }

    pub(crate) fn id_count(&self) -> usize {
        self.numbers.len()
    }

    /// The pairs of numbers with this label, ascending.
    pub(crate) fn pairs(&self, label: Label) -> &[(u32, u32)] {
        match label {
            Label::Duplicate => &self.duplicates,
            Label::Different => &self.different,
            Label::Ignored => &[],
        }
    }
}

/// For each number, the smallest number in its connected component.
fn sets_of(neighbours: &[Vec<u32>]) -> Vec<u32> {
    let mut sets = vec![u32::MAX; neighbours.len()];
    for start in 0..neighbours.len() as u32 {
        let mut open = vec![start];
        while let Some(at) = open.pop() {
            if sets[at as usize] == u32::MAX {
                sets[at as usize] = start;
                open.extend(&neighbours[at as usize]);
            }
        }
    }
    sets
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judged(text: &str) -> Result<JudgedPairs, String> {
        JudgedPairs::new(&LabelFile::parse(text).unwrap()).map_err(|fault| fault.to_string())
    }

    #[test]
    fn pairs_are_counted_once_and_known_both_ways() {
        let pairs = judged("id\tid\tlabel\na\tb\t1\nb\ta\t1\nc\ta\t0\nd\ta\t-1\n").unwrap();
        assert_eq!((pairs.duplicate_count(), pairs.different_count()), (1, 1));
        assert!(pairs.are_different("a", "c") && pairs.are_different("c", "a"));
        assert!(!pairs.are_different("b", "c") && !pairs.are_different("a", "d"));
        assert!(pairs.has_different("c") && !pairs.has_different("b"));
        assert_eq!(judged("").unwrap().id_count(), 0);
    }

    #[test]
    fn contradictions_are_refused_with_their_line() {
        let direct = judged("a\tb\t0\nb\ta\t1\n").unwrap_err();
        assert!(
            direct.starts_with("line 1: 'a' and 'b' are judged different, and the same in line 2")
        );
        let chain = judged("a\tb\t1\nb\tc\t1\nd\tc\t1\n\nd\ta\t0\n").unwrap_err();
        assert!(chain.starts_with("line 5: 'd' and 'a'"), "{chain}");
        assert!(chain.contains("by a chain of other lines"), "{chain}");
        let own = judged("a\ta\t1\n").unwrap_err();
        assert_eq!(own, "line 1: 'a' is paired with itself, expected two different documents");
    }
}
