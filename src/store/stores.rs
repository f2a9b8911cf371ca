//! Several stores that are queried together.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::{OpenOptions, Store};
use crate::base::error::{Error, Result};
use crate::base::section::StoreIndex;
use crate::search::snapshot::Snapshot;
use crate::search::{Match, Searcher};
use fpstore_base::Fingerprint;

/// Several stores, open for reading and queried together: a year of crawls in twelve stores, or the
/// stores against which a corpus is checked. A cheap handle that any number of threads can share.
///
/// An answer equals the answer of one store with all records, and also tells which store contains
/// each id: [`Hit::stores`](crate::Hit::stores) splits a match by store. Stores may differ in
/// scheme, tuned distance, kind of ids, and labels, but not in recipe, which includes the width. An
/// empty store can be combined with any other store.
///
/// A search takes as long as the searches of all stores together. So twelve monthly stores take
/// longer than one store of a year; `Writer::import` merges stores into one.
///
/// The handle shows a snapshot of each store, from the time of opening or of the last
/// [`Stores::refresh`]; its clones show the same snapshots. It only reads.
///
/// # Examples
///
#[cfg_attr(feature = "write", doc = "```")]
#[cfg_attr(not(feature = "write"), doc = "```ignore")]
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let folder = tempfile::tempdir()?;
/// # let paths = ["january.fps", "february.fps"].map(|name| folder.path().join(name));
/// # for (path, value) in paths.iter().zip([6_u64, 7]) {
/// #     let mut builder = fpstore::Builder::new(path)?;
/// #     builder.push(value.into(), value)?;
/// #     builder.finish()?;
/// # }
/// use fpstore::Stores;
///
/// let stores = Stores::open(&paths)?;
/// for (store, found) in stores.query(7.into(), 3)? {
///     println!("{}: {:?} at {} bits", stores.path(store).display(), found.ids, found.distance);
/// }
/// # assert_eq!(stores.query(7.into(), 3)?.len(), 2);
///
/// // Batches and joins take them as one store.
/// use fpstore::join::{JoinOptions, document_pairs};
/// let pairs = document_pairs(stores.as_store(), &JoinOptions::new(3), false)?;
/// assert_eq!(pairs.len(), 1);
/// # Ok(()) }
/// ```
#[derive(Clone, Debug)]
pub struct Stores {
    paths: Arc<[PathBuf]>,
    /// A store with the segments of all stores.
    all: Store,
}

impl Stores {
    /// Opens the stores in these directories, with [`Access::Auto`](crate::Access).
    ///
    /// # Errors
    ///
    /// The same as [`Stores::with_options`].
    pub fn open<P: AsRef<Path>>(paths: impl IntoIterator<Item = P>) -> Result<Self> {
        Stores::with_options(paths, OpenOptions::default())
    }

    /// Opens the stores in these directories with the given options. `Access::Auto` decides for
    /// each store separately.
    ///
    /// # Errors
    ///
    /// * The errors of [`Store::with_options`] for the first store that cannot be opened.
    /// * [`Error::InvalidOptions`] if no store is given, if a store is given twice or is a copy of
    ///   another store, if two stores have different recipes, or if the options name a generation:
    ///   each store has its own.
    pub fn with_options<P: AsRef<Path>>(
        paths: impl IntoIterator<Item = P>,
        options: OpenOptions,
    ) -> Result<Self> {
        if options.generation.is_some() {
            let reason = "several stores are opened, and each has its own generation: leave the \
                          generation out";
            return Err(Error::InvalidOptions { reason: reason.into() });
        }
        let open = |path: P| Store::with_options(path, options.clone());
        Stores::of(&paths.into_iter().map(open).collect::<Result<Vec<Store>>>()?)
    }

    /// Unites the stores of some handles in their current snapshots. A part of a store, such as the
    /// segments with a label, remains a part.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidOptions`] in the same cases as [`Stores::with_options`].
    pub fn of(stores: &[Store]) -> Result<Self> {
        if stores.is_empty() {
            return Err(Error::InvalidOptions { reason: "no store is named".into() });
        }
        let states: Vec<Arc<Snapshot>> = stores.iter().map(Store::snapshot).collect();
        if let Some(state) = states.iter().find(|state| state.is_united()) {
            let reason = format!(
                "{} is already a view of several stores: give each of its stores by itself",
                state.path().display()
            );
            return Err(Error::InvalidOptions { reason });
        }
        let all = Store::of(Snapshot::united(&states)?);
        let paths = states.iter().map(|state| state.path().to_path_buf()).collect();
        Ok(Stores { paths, all })
    }

    /// The number of stores.
    #[expect(clippy::len_without_is_empty, reason = "there is always one")]
    pub fn len(&self) -> usize {
        self.paths.len()
    }

    /// The directory of a store, as given by the caller.
    ///
    /// # Panics
    ///
    /// If the index is out of range; indexes in answers are valid.
    pub fn path(&self, store: StoreIndex) -> &Path {
        &self.paths[store.0]
    }

    /// The directories of all stores, in the given order and spelling.
    pub fn paths(&self) -> &[PathBuf] {
        &self.paths
    }

    /// The generation of each store in the current snapshots, in the order of [`Stores::paths`].
    pub fn generations(&self) -> Vec<u64> {
        self.all.snapshot().states().iter().map(|state| state.generation()).collect()
    }

    /// All stores as one, for functions that take a [`Store`]: batches, joins, groups, reports.
    ///
    /// It is only for reading records: [`Store::log`] and `backup` reject it. Its
    /// [`generation`](Store::generation) is the sum of the generations of the stores, its id
    /// combines their ids, and its path is the path of the first store. Segments of two stores may
    /// have the same number.
    pub fn as_store(&self) -> &Store {
        &self.all
    }

    /// A searcher for many queries; it belongs to one thread. After a [`Stores::refresh`] it can
    /// follow [`Stores::as_store`].
    pub fn searcher(&self) -> Searcher {
        self.all.searcher()
    }

    /// Finds every stored fingerprint within `k` bits of `needle`, like [`Store::query`]: nearest
    /// first, ties by ascending fingerprint, then in the order of the stores. A fingerprint in two
    /// stores is found in both, each time with the ids of that store.
    ///
    /// # Errors
    ///
    /// The same as [`Searcher::search`].
    pub fn query(&self, needle: Fingerprint, k: u32) -> Result<Vec<(StoreIndex, Match)>> {
        by_store(self.searcher().search(needle, k)?)
    }

    /// Finds the `count` stored fingerprints nearest to `needle` within `k_max` bits, like
    /// [`Searcher::nearest`]. A fingerprint in two stores counts once and is found in both.
    ///
    /// # Errors
    ///
    /// The same as [`Searcher::search`].
    pub fn nearest(
        &self,
        needle: Fingerprint,
        count: usize,
        k_max: u32,
    ) -> Result<Vec<(StoreIndex, Match)>> {
        by_store(self.searcher().nearest(needle, count, k_max)?)
    }

    /// Makes this handle and its clones show the newest snapshots of all stores. Returns whether
    /// any of them changed.
    ///
    /// # Errors
    ///
    /// The errors of [`Store::refresh`], and of [`Stores::of`] if a store was replaced by one that
    /// cannot be queried together with the other stores. After an error the handle shows the old
    /// snapshots.
    pub fn refresh(&self) -> Result<bool> {
        self.all.refresh()
    }
}

/// The matches of an answer, split by store.
fn by_store(answer: crate::search::Answer<'_>) -> Result<Vec<(StoreIndex, Match)>> {
    let parts = answer.hits().flat_map(|hit| hit.stores());
    parts.map(|(store, hit)| Ok((store, hit.to_match()?))).collect()
}
