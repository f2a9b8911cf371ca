//! Files and directories in memory: one possible state of a disk after a loss of power.

use std::collections::hash_map::DefaultHasher;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::hash::{Hash, Hasher};
use std::path::{Path, PathBuf};
use std::rc::Rc;

/// The contents of a file, with their hash.
#[derive(Debug)]
pub(super) struct Content {
    pub(super) bytes: Vec<u8>,
    hash: u64,
}

impl Content {
    pub(super) fn new(bytes: Vec<u8>) -> Rc<Self> {
        let mut hasher = DefaultHasher::new();
        bytes.hash(&mut hasher);
        Rc::new(Content { hash: hasher.finish(), bytes })
    }
}

#[derive(Clone, Debug, Default)]
pub struct Tree {
    pub(super) directories: BTreeSet<PathBuf>,
    pub(super) files: BTreeMap<PathBuf, Rc<Content>>,
}

impl Tree {
    /// A hash of the tree: equal for equal trees.
    pub fn key(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        self.directories.hash(&mut hasher);
        self.files.iter().for_each(|(path, of)| (path, of.hash).hash(&mut hasher));
        hasher.finish()
    }

    /// Writes these files and directories to an empty folder.
    pub fn write_to(&self, folder: &Path) {
        self.directories.iter().for_each(|path| fs::create_dir(folder.join(path)).unwrap());
        for (path, content) in &self.files {
            fs::write(folder.join(path), &content.bytes).unwrap();
        }
    }

    /// Reads all files of a folder whose names `is_left_out` does not exclude.
    pub fn read(folder: &Path, is_left_out: impl Fn(&str) -> bool) -> Self {
        let mut tree = Tree::default();
        let mut left = vec![PathBuf::new()];
        while let Some(below) = left.pop() {
            for entry in fs::read_dir(folder.join(&below)).unwrap() {
                let name = entry.unwrap().file_name().into_string().unwrap();
                let path = below.join(&name);
                if folder.join(&path).is_dir() {
                    tree.directories.insert(path.clone());
                    left.push(path);
                } else if !is_left_out(&name) {
                    let bytes = fs::read(folder.join(&path)).unwrap();
                    tree.files.insert(path, Content::new(bytes));
                }
            }
        }
        tree
    }

    pub fn names(&self) -> Vec<&Path> {
        self.directories.iter().chain(self.files.keys()).map(PathBuf::as_path).collect()
    }
}
