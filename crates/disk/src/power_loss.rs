//! A model of a disk that loses power: computes the possible states of the disk from recorded
//! changes.
//!
//! After a sync of a file its bytes are certain, and after a sync of a directory the names in it
//! are certain. Until then each name, independently, may refer to any node that it has referred to
//! since the last sync; and a file may contain its bytes at the last sync, all of its new bytes,
//! some of them, or zeros in their place. Real file systems lose less: most keep the order of
//! renames.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use super::change::Change;
use super::tree::{Content, Tree};

/// The unit in which bytes are written to a disk.
const PAGE: usize = 4096;

/// A file or a directory; it can have several names.
#[derive(Debug)]
enum Node {
    File {
        synced: Vec<u8>,
        now: Vec<u8>,
        /// The contents it may have after a loss of power, computed when needed.
        may_hold: Option<Vec<Rc<Content>>>,
        is_ever_final: bool,
    },
    /// For each name, the nodes that it has referred to since the last sync of the directory; the
    /// last one is current.
    Directory(BTreeMap<String, Vec<Option<usize>>>),
}

/// A simulated disk: its durable state, and the changes that a loss of power may undo.
#[derive(Debug)]
pub struct Disk {
    root: PathBuf,
    /// All files and directories; the first is the directory at `root`.
    nodes: Vec<Node>,
    /// The number of times that a caller was told that its work is done.
    pub acknowledged: usize,
}

/// Counts of the simulated losses of power.
#[derive(Debug, Default)]
pub struct Replayed {
    /// The number of losses of power for which all states were tried.
    all: u64,
    /// The number of losses of power for which only some states were tried.
    sampled: u64,
    states: u64,
}

impl Disk {
    /// A disk on which all files of `tree` are durable; `root` is the path of the tree in later
    /// changes.
    pub fn of(tree: &Tree, root: &Path) -> Self {
        let nodes = vec![Node::Directory(BTreeMap::new())];
        let mut disk = Disk { root: root.into(), nodes, acknowledged: 0 };
        for path in &tree.directories {
            let node = disk.add(Node::Directory(BTreeMap::new()));
            disk.name(path, Some(node));
        }
        for (path, content) in &tree.files {
            let (synced, now) = (content.bytes.clone(), content.bytes.clone());
            let node = Node::File { synced, now, may_hold: None, is_ever_final: true };
            let node = disk.add(node);
            disk.name(path, Some(node));
        }
        for node in &mut disk.nodes {
            sync(node);
        }
        disk
    }

    fn add(&mut self, node: Node) -> usize {
        self.nodes.push(node);
        self.nodes.len() - 1
    }

    /// The names in the parent directory of `path`, and the name of `path` there.
    fn entry(&mut self, path: &Path) -> (&mut BTreeMap<String, Vec<Option<usize>>>, String) {
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        let parent = self.find(path.parent().unwrap());
        match &mut self.nodes[parent] {
            Node::Directory(names) => (names, name),
            Node::File { .. } => panic!("{} is in a file", path.display()),
        }
    }

    /// Makes a path refer to a node, or with `None` to nothing.
    fn name(&mut self, path: &Path, node: Option<usize>) {
        let (names, name) = self.entry(path);
        names.entry(name.clone()).or_insert_with(|| vec![None]).push(node);
        if let Some(Node::File { is_ever_final, may_hold, .. }) = node.map(|at| &mut self.nodes[at])
            && !name.starts_with('.')
        {
            (*is_ever_final, *may_hold) = (true, None);
        }
    }

    /// The node that a path currently refers to.
    fn find(&mut self, path: &Path) -> usize {
        if path == self.root || path == Path::new("") {
            return 0;
        }
        let (names, name) = self.entry(path);
        let now = names.get(&name).and_then(|nodes| *nodes.last()?);
        now.unwrap_or_else(|| panic!("nothing made {} as far as was recorded", path.display()))
    }

    /// Applies a recorded change.
    pub fn change(&mut self, change: &Change) {
        match change {
            Change::CreateFile(path) => {
                let (synced, now) = (Vec::new(), Vec::new());
                let node = Node::File { synced, now, may_hold: None, is_ever_final: false };
                let node = self.add(node);
                self.name(path, Some(node));
            }
            Change::CreateDirectory(path) => {
                let node = self.add(Node::Directory(BTreeMap::new()));
                self.name(path, Some(node));
            }
            Change::Write { path, end, bytes } => {
                let node = self.find(path);
                let Node::File { now, may_hold, .. } = &mut self.nodes[node] else {
                    panic!("{} is no file", path.display());
                };
                let end = usize::try_from(*end).unwrap();
                now.resize(now.len().max(end), 0);
                now[end - bytes.len()..end].copy_from_slice(bytes);
                *may_hold = None;
            }
            Change::Sync(path) | Change::SyncDirectory(path) => {
                let node = self.find(path);
                sync(&mut self.nodes[node]);
            }
            Change::Rename { from, to } => {
                let node = self.find(from);
                self.name(from, None);
                self.name(to, Some(node));
            }
            Change::Remove(path) => self.remove(path),
            Change::Acknowledge => self.acknowledged += 1,
        }
    }

    fn remove(&mut self, path: &Path) {
        let (names, name) = self.entry(path);
        // Locks are not part of a store: their creation is not recorded, but their removal can be.
        let is_lock =
            ["LOCK", "COMPACT", "PUBLISH"].contains(&name.as_str()) || name.ends_with(".lock");
        if is_lock && !names.contains_key(&name) {
            return;
        }
        let node = self.find(path);
        let mut inner = Vec::new();
        if let Node::Directory(names) = &self.nodes[node] {
            let is_there = |nodes: &Vec<Option<usize>>| nodes.last().is_some_and(Option::is_some);
            inner.extend(names.iter().filter(|(_, of)| is_there(of)).map(|(name, _)| name.clone()));
        }
        inner.iter().for_each(|name| self.remove(&path.join(name)));
        self.name(path, None);
    }

    /// Calls `each` with the possible states of the disk after a loss of power at this moment: with
    /// all states if there are at most `limit`; otherwise with the states that differ in one name
    /// or file from the oldest or the newest state, and with `limit` random states. Returns the
    /// first error.
    pub fn lose_power(
        &mut self,
        limit: usize,
        random: &mut impl FnMut(usize) -> usize,
        replayed: &mut Replayed,
        mut each: impl FnMut(&Tree) -> Result<(), String>,
    ) -> Result<(), String> {
        let mut each = |tree: &Tree| {
            replayed.states += 1;
            each(tree)
        };
        // There is one dial for each name and for each file; its positions are the possible states.
        let dials: Vec<usize> = self.nodes.iter_mut().flat_map(dials_of).collect();
        let newest: Vec<usize> = dials.iter().map(|count| count - 1).collect();
        let count = dials.iter().try_fold(1_usize, |product, &dial| product.checked_mul(dial));
        if let Some(count) = count.filter(|&count| count <= limit) {
            for mut number in 0..count {
                let digit = |&dial: &usize| {
                    let digit = number % dial;
                    number /= dial;
                    digit
                };
                each(&self.state(&dials.iter().map(digit).collect::<Vec<_>>()))?;
            }
            replayed.all += 1;
            return Ok(());
        }
        replayed.sampled += 1;
        for base in [vec![0; dials.len()], newest] {
            each(&self.state(&base))?;
            for dial in 0..dials.len() {
                for position in (0..dials[dial]).filter(|&position| position != base[dial]) {
                    let mut positions = base.clone();
                    positions[dial] = position;
                    each(&self.state(&positions))?;
                }
            }
        }
        for _ in 0..limit {
            let positions: Vec<usize> = dials.iter().map(|&dial| random(dial)).collect();
            each(&self.state(&positions))?;
        }
        Ok(())
    }

    /// The tree on the disk if no power is lost.
    pub fn now(&mut self) -> Tree {
        let newest = |node| dials_of(node).into_iter().map(|count| count - 1);
        let positions: Vec<usize> = self.nodes.iter_mut().flat_map(newest).collect();
        self.state(&positions)
    }

    /// The tree for these positions of the dials; the dials are in the order of the nodes.
    fn state(&self, positions: &[usize]) -> Tree {
        let mut positions = positions.iter().copied();
        let mut names = BTreeMap::new();
        let mut contents = BTreeMap::new();
        for (number, node) in self.nodes.iter().enumerate() {
            match node {
                Node::File { may_hold, .. } => {
                    let may_hold = may_hold.as_ref().unwrap();
                    contents.insert(number, Rc::clone(&may_hold[positions.next().unwrap()]));
                }
                Node::Directory(of) => {
                    for (name, nodes) in of {
                        if let Some(node) = nodes[positions.next().unwrap()] {
                            names.entry(number).or_insert_with(Vec::new).push((name, node));
                        }
                    }
                }
            }
        }
        let mut tree = Tree::default();
        let mut left = vec![(PathBuf::new(), 0)];
        while let Some((path, number)) = left.pop() {
            match &self.nodes[number] {
                Node::File { .. } => {
                    tree.files.insert(path, Rc::clone(&contents[&number]));
                }
                Node::Directory(_) => {
                    let inner = names.get(&number).into_iter().flatten();
                    left.extend(inner.map(|(name, node)| (path.join(name), *node)));
                    if number > 0 {
                        tree.directories.insert(path);
                    }
                }
            }
        }
        tree
    }
}

fn sync(node: &mut Node) {
    match node {
        Node::File { synced, now, may_hold, .. } => {
            synced.clone_from(now);
            *may_hold = None;
        }
        Node::Directory(names) => {
            names.values_mut().for_each(|nodes| drop(nodes.drain(..nodes.len() - 1)));
            names.retain(|_, nodes| nodes[0].is_some());
        }
    }
}

/// The dials of a node, each given by the number of its positions. A file has one dial: the
/// contents that it may have after a loss of power. A directory has a dial for each name: the nodes
/// that the name may refer to. The highest position of a dial is the newest state.
fn dials_of(node: &mut Node) -> Vec<usize> {
    match node {
        Node::File { synced, now, may_hold, is_ever_final } => {
            let may_hold = may_hold.get_or_insert_with(|| contents(synced, now, *is_ever_final));
            vec![may_hold.len()]
        }
        Node::Directory(names) => names.values().map(Vec::len).collect(),
    }
}

/// The possible contents of a file; the last one is the newest. If a file never had a final name,
/// nobody reads it, so few variants suffice.
fn contents(synced: &[u8], now: &[u8], is_ever_final: bool) -> Vec<Rc<Content>> {
    let mut all = vec![synced.to_vec()];
    if is_ever_final {
        // The new length with zeros in place of all new bytes.
        let mut zeros = synced.to_vec();
        zeros.resize(now.len(), 0);
        all.push(zeros);
        // Some of the new bytes: the first half, all but the last byte, or all but one page.
        let longer = now.len().saturating_sub(synced.len());
        all.extend([longer / 2, 1].map(|less| now[..now.len() - less.min(longer)].to_vec()));
        for page in [0, now.len() / PAGE / 2, now.len().saturating_sub(1) / PAGE] {
            let mut torn = now.to_vec();
            let end = now.len().min((page + 1) * PAGE);
            let start = page * PAGE;
            for (at, byte) in (start..).zip(&mut torn[start..end]) {
                *byte = synced.get(at).copied().unwrap_or(0);
            }
            all.push(torn);
        }
    }
    all.retain(|bytes| bytes != now);
    all.push(now.to_vec());
    let mut different = Vec::new();
    for bytes in all {
        if !different.contains(&bytes) {
            different.push(bytes);
        }
    }
    different.into_iter().map(Content::new).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    /// All combinations of names and contents that may be found after a loss of power.
    fn states(changes: &[Change]) -> BTreeSet<Vec<(String, Vec<u8>)>> {
        let mut disk = Disk::of(&Tree::default(), Path::new("/store"));
        changes.iter().for_each(|change| disk.change(change));
        let (mut states, mut replayed) = (BTreeSet::new(), Replayed::default());
        disk.lose_power(1000, &mut |_| 0, &mut replayed, |tree| {
            let files = tree.files.iter();
            let state = files.map(|(path, of)| (path.display().to_string(), of.bytes.clone()));
            states.insert(state.collect());
            Ok(())
        })
        .unwrap();
        assert_eq!(replayed.sampled, 0);
        states
    }

    #[test]
    fn what_is_not_synced_may_be_lost_and_what_is_synced_stays() {
        let path = |name: &str| Path::new("/store").join(name);
        let written = [
            Change::CreateFile(path(".tmp-1")),
            Change::Write { path: path(".tmp-1"), end: 2, bytes: b"ab".to_vec() },
        ];
        let rename = Change::Rename { from: path(".tmp-1"), to: path("final") };
        let sync = Change::Sync(path(".tmp-1"));
        let sync_directory = Change::SyncDirectory("/store".into());
        let file = |name: &str, bytes: &[u8]| (name.to_owned(), bytes.to_vec());

        let found = states(&written);
        let (lost, empty, whole) = (vec![], vec![file(".tmp-1", b"")], vec![file(".tmp-1", b"ab")]);
        assert_eq!(found, [lost.clone(), empty, whole].into());

        // The final name can be there without the contents, and the contents without the final
        // name.
        let found = states(&[&written[..], std::slice::from_ref(&rename)].concat());
        for content in [&b""[..], b"a", b"ab", b"\0\0"] {
            assert!(found.contains(&vec![file("final", content)]), "{content:?}");
        }
        assert!(found.contains(&lost));
        // Both names can refer to the file at once, as after a hard link.
        assert!(found.contains(&vec![file(".tmp-1", b"ab"), file("final", b"ab")]));

        let found = states(&[&written[..], &[sync.clone(), rename.clone()]].concat());
        assert!(found.contains(&lost) && found.contains(&vec![file("final", b"ab")]));
        assert!(found.iter().flatten().all(|(_, bytes)| bytes == b"ab"));

        let found = states(&[&written[..], &[sync, rename, sync_directory]].concat());
        assert_eq!(found, [vec![file("final", b"ab")]].into());
    }
}
