//! How to make a store.

use std::path::PathBuf;

use crate::build::SchemeChoice;
use crate::recipe::Recipe;
use crate::watch::Observer;

/// What ids a store gets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum IdPolicy {
    /// Numbers if every id is a number in canonical decimal (`42`, not `042`), texts if any is
    /// not, none if there is none.
    #[default]
    Auto,
    /// None: ids that are given are left out.
    None,
    /// Numbers; any other id is refused.
    U64,
    /// Texts; numbers are written in decimal.
    Text,
}

/// How to make a store.
///
/// # Examples
///
/// ```
/// use fpstore::{BuildOptions, IdPolicy};
///
/// let mut options = BuildOptions::default().ids(IdPolicy::U64).replace(true);
/// options.memory = Some(1 << 30);
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct BuildOptions {
    /// The tables, and the distance they are meant for.
    pub scheme: SchemeChoice,
    /// What ids it gets.
    pub ids: IdPolicy,
    /// How the fingerprints were made.
    pub recipe: Recipe,
    /// Whether a store that is there already may be replaced. It stays as it is until the new
    /// one is whole.
    pub replace: bool,
    /// What the segment is called, such as `2026-11`; empty if nothing.
    pub label: String,
    /// Bytes of memory that the build may take, at least [`BuildOptions::memory_min`]; `None` is
    /// a quarter of what the machine or its control group has. What does not fit goes to
    /// temporary files. The store is the same for any.
    pub memory: Option<u64>,
    /// Threads that work at a time; `None` is one for each core. The store is the same for any.
    pub threads: Option<usize>,
    /// The directory for temporary files, which vanish with the process; `None` is the one in
    /// which the store is made.
    pub temp_dir: Option<PathBuf>,
    /// Who is told how far the build is, and may end it.
    pub observer: Option<Observer>,
}

impl Default for BuildOptions {
    /// The fastest scheme for distance 3 within the default budget, ids as they come, nothing
    /// replaced.
    fn default() -> Self {
        BuildOptions {
            scheme: SchemeChoice::default(),
            ids: IdPolicy::Auto,
            recipe: Recipe::external(),
            replace: false,
            label: String::new(),
            memory: None,
            threads: None,
            temp_dir: None,
            observer: None,
        }
    }
}

impl BuildOptions {
    /// Sets the scheme, or how it is chosen.
    #[must_use]
    pub fn scheme(mut self, scheme: impl Into<SchemeChoice>) -> Self {
        self.scheme = scheme.into();
        self
    }

    /// Sets what ids the store gets.
    #[must_use]
    pub fn ids(mut self, ids: IdPolicy) -> Self {
        self.ids = ids;
        self
    }

    /// Sets how the fingerprints were made; ready-made ones have [`Recipe::external`].
    #[must_use]
    pub fn recipe(mut self, recipe: Recipe) -> Self {
        self.recipe = recipe;
        self
    }

    /// Sets whether a store that is there already may be replaced.
    #[must_use]
    pub fn replace(mut self, replace: bool) -> Self {
        self.replace = replace;
        self
    }

    /// Sets what the segment is called: at most 255 bytes without control characters.
    #[must_use]
    pub fn label(mut self, label: impl Into<String>) -> Self {
        self.label = label.into();
        self
    }

    /// Sets the bytes of memory that the build may take.
    #[must_use]
    pub fn memory(mut self, bytes: u64) -> Self {
        self.memory = Some(bytes);
        self
    }

    /// Sets how many threads work at a time.
    #[must_use]
    pub fn threads(mut self, threads: usize) -> Self {
        self.threads = Some(threads);
        self
    }

    /// Sets the directory for temporary files.
    #[must_use]
    pub fn temp_dir(mut self, folder: impl Into<PathBuf>) -> Self {
        self.temp_dir = Some(folder.into());
        self
    }

    /// Sets who is told how far the build is.
    #[must_use]
    pub fn observer(mut self, observer: Observer) -> Self {
        self.observer = Some(observer);
        self
    }
}
