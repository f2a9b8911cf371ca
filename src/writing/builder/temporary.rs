//! A temporary store, in a private directory that is removed when the value is dropped.
//!
//! Joins build such a store of records that are in no store. It has a single table, so it costs one
//! sort.

use std::path::{Path, PathBuf};

use super::{BuildOptions, Builder};
use crate::base::error::Result;
use crate::scheme::Scheme;
use crate::store::Store;
use fpstore_disk::{ScratchDirectory, system::REMOVES_OPEN_FILES};

/// A builder of a [`TemporaryStore`].
#[derive(Debug)]
pub struct TemporaryBuilder {
    builder: Builder,
    directory: ScratchDirectory,
}

/// A store that is removed when this value is dropped, or when the process ends in any way.
#[derive(Debug)]
pub struct TemporaryStore {
    store: Store,
    _directory: Option<ScratchDirectory>,
}

impl TemporaryBuilder {
    /// A builder of a store with one table, in a private directory in `parent`. The temporary files
    /// of the build are in `parent`, too. [`BuildOptions::scheme`] and [`BuildOptions::temp_dir`]
    /// are ignored.
    ///
    /// # Errors
    ///
    /// The same as [`Builder::with_options`].
    ///
    /// # Examples
    ///
    /// ```
    /// # fn main() -> Result<(), fpstore::Error> {
    /// use fpstore::{BuildOptions, TemporaryBuilder};
    ///
    /// let options = BuildOptions::default();
    /// let mut temporary = TemporaryBuilder::create(&std::env::temp_dir(), options)?;
    /// temporary.builder().push(0xc0f1_789b_ed2e_b9b8.into(), 17)?;
    /// let temporary = temporary.finish()?;
    /// assert_eq!(temporary.store().info().id_count(), 1);
    /// # Ok(()) }
    /// ```
    pub fn create(parent: &Path, options: BuildOptions) -> Result<Self> {
        let directory = ScratchDirectory::create(parent)?;
        // One table supports every distance.
        let options = options.scheme(Scheme::named("1", 3)?).temp_dir(PathBuf::from(parent));
        let builder = Builder::with_options(directory.path().join("input.fps"), options)?;
        Ok(TemporaryBuilder { builder, directory })
    }

    /// The builder, which takes the records of the store.
    pub fn builder(&mut self) -> &mut Builder {
        &mut self.builder
    }

    /// Writes the store, and opens it.
    ///
    /// # Errors
    ///
    /// The same as [`Builder::finish`].
    pub fn finish(self) -> Result<TemporaryStore> {
        let TemporaryBuilder { builder, directory } = self;
        let store = builder.finish()?;
        // If the system can remove open files, remove them now: they remain readable, and a killed
        // process leaves nothing.
        let directory = match REMOVES_OPEN_FILES {
            true => directory.remove().map(|()| None)?,
            false => Some(directory),
        };
        Ok(TemporaryStore { store, _directory: directory })
    }
}

impl TemporaryStore {
    /// The store.
    pub fn store(&self) -> &Store {
        &self.store
    }
}
