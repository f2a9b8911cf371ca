//! A temporary store, in a private directory that is removed when the value is dropped.
//!
//! Joins of records outside any store build one. It has a single table, so it costs one sort.

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

/// A store that is removed with this value, or with the process, however the process ends.
#[derive(Debug)]
pub struct TemporaryStore {
    store: Store,
    _directory: Option<ScratchDirectory>,
}

impl TemporaryBuilder {
    /// A builder of a store with one table, in a private directory in `parent`, which also holds
    /// its temporary files. [`BuildOptions::scheme`] and [`BuildOptions::temp_dir`] are ignored.
    ///
    /// # Errors
    ///
    /// As [`Builder::with_options`].
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
        // One table serves any distance.
        let options = options.scheme(Scheme::named("1", 3)?).temp_dir(PathBuf::from(parent));
        let builder = Builder::with_options(directory.path().join("input.fps"), options)?;
        Ok(TemporaryBuilder { builder, directory })
    }

    /// The builder, to take records.
    pub fn builder(&mut self) -> &mut Builder {
        &mut self.builder
    }

    /// Writes the store, and opens it.
    ///
    /// # Errors
    ///
    /// As [`Builder::finish`].
    pub fn finish(self) -> Result<TemporaryStore> {
        let TemporaryBuilder { builder, directory } = self;
        let store = builder.finish()?;
        // The files remain readable while they are open, and a killed process leaves nothing.
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
