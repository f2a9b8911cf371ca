//! Builds stores of records, and lists the contents of stores.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use fpstore::{BuildOptions, Builder, Error, Fingerprint, Scheme, Store, VerifyOptions};
use tempfile::TempDir;

use super::{Record, names_in, oracle};

/// A store in a temporary folder, removed on drop.
pub struct TempStore {
    pub store: Store,
    pub folder: TempDir,
}

impl TempStore {
    pub fn path(&self) -> PathBuf {
        self.folder.path().join("store.fps")
    }
}

/// Removes a file from a store, even if an open store has mapped the file. Windows cannot remove
/// mapped files, so there the file is moved out of the store.
pub fn take_away(path: &Path) {
    if cfg!(not(windows)) {
        return fs::remove_file(path).unwrap();
    }
    let folder = path.parent().and_then(Path::parent).unwrap();
    let mut names = (0..).map(|number| folder.join(format!("taken-{number}")));
    fs::rename(path, names.find(|name| !name.exists()).unwrap()).unwrap();
}

/// The scheme with this name, for searches within 3 bits.
pub fn scheme_named(name: &str) -> Scheme {
    Scheme::named(name, 3).unwrap()
}

/// All schemes with a fixed name, and some with syndromes: short syndromes, each of which fits many
/// values, and syndromes in tables whose masks overlap.
pub fn schemes(k: u32) -> Vec<(&'static str, Scheme)> {
    let whole = ["1", "2", "3", "4", "6", "8", "10", "11", "14", "15", "16", "20"]
        .map(|name| (name, Scheme::named(name, k).unwrap()));
    let with_syndromes = [
        ("halves, 6 bits", "2", 6),
        ("halves, 12 bits", "2", 12),
        ("halves, 21 bits", "2", 21),
        ("covering-14, 12 bits", "14", 12),
        ("choose-6-for-3, 11 bits", "20", 11),
        ("choose-4-for-2, 12 bits", "choose-4-for-2", 12),
    ]
    .map(|(name, masks, bits)| {
        (name, Scheme::named(masks, k).unwrap().with_syndromes(bits).unwrap())
    });
    whole.into_iter().chain(with_syndromes).collect()
}

pub fn push_all(builder: &mut Builder, records: &[Record]) {
    for (value, id) in records {
        match id {
            Some(id) => builder.push(Fingerprint::new(*value), id.as_ref()).unwrap(),
            None => builder.push_bare(Fingerprint::new(*value)).unwrap(),
        }
    }
}

pub fn store_of(records: &[Record], scheme: Scheme) -> TempStore {
    let folder = tempfile::tempdir().unwrap();
    let options = BuildOptions::default().scheme(scheme);
    let mut builder = Builder::with_options(folder.path().join("store.fps"), options).unwrap();
    push_all(&mut builder, records);
    TempStore { store: builder.finish().unwrap(), folder }
}

pub fn make_empty(path: &Path, scheme: Scheme) {
    let options = BuildOptions::default().scheme(scheme);
    Builder::with_options(path, options).unwrap().finish().unwrap();
}

/// Adds records to a store as a separate segment.
pub fn add(path: &Path, records: &[Record], options: BuildOptions) -> Store {
    let mut builder = Builder::append(path, options).unwrap();
    push_all(&mut builder, records);
    builder.finish().unwrap()
}

/// The ids of each fingerprint in a store, repeated ids included; an answer has each id once.
pub fn records_of(store: &Store) -> BTreeMap<u64, Vec<String>> {
    let mut all = BTreeMap::new();
    let listed = store.for_each(|hit| {
        let ids: Vec<String> = hit.stored_ids().map(|id| id.unwrap().to_string()).collect();
        let once: Vec<String> = hit.ids().map(|id| id.unwrap().to_string()).collect();
        assert_eq!(hit.id_count().unwrap(), once.len() as u64);
        assert_eq!(once, oracle::once(ids.iter().cloned()));
        all.insert(hit.fingerprint().value(), ids);
        Ok::<(), Error>(())
    });
    listed.unwrap();
    all
}

/// The names of the files of a store, except its lock files.
pub fn names_of(store: &Path) -> Vec<String> {
    let mut names = names_in(store);
    names.retain(|name| !["LOCK", "COMPACT", "PUBLISH"].contains(&name.as_str()));
    names
}

/// Options that verify a store with `count` sample queries.
pub fn samples(count: u64) -> VerifyOptions {
    VerifyOptions::default().samples(count)
}
