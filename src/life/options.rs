//! How a writer works.

use std::path::PathBuf;

use crate::build::{IdPolicy, SchemeChoice};
use crate::recipe::Recipe;
use crate::watch::Observer;

/// How a [`Writer`](crate::Writer) works.
///
/// # Examples
///
/// ```
/// let mut options = fpstore::WriterOptions::default().label("2026-11");
/// options.memory = Some(1 << 30);
/// options.compact = false;
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct WriterOptions {
    /// The tables of new segments. `None` are those of the segment with the most fingerprints, and where the new one
    /// has more than twice as many, the fastest ones for its data at the distance that the store is tuned for, as
    /// [`SchemeChoice::Auto`] finds them within [`Budget::Default`](crate::Budget::Default), or 15 bytes for each
    /// fingerprint and 32 KiB where that is less.
    pub scheme: Option<SchemeChoice>,
    /// What ids new segments get.
    pub ids: IdPolicy,
    /// How the fingerprints are made; `None` is as those of the store.
    pub recipe: Option<Recipe>,
    /// What new segments are called, such as `2026-11`; empty if nothing.
    pub label: String,
    /// Whether segments are merged by the size-tiered rule of [`Compaction::Tier`](crate::Compaction::Tier)
    /// without being asked: before each commit, and when the writer is finished.
    pub compact: bool,
    /// The most bytes a second that compaction reads and writes, of segments and of temporary files.
    pub max_rate: Option<u64>,
    /// Whether a merge begins though the disk seems too small for it.
    pub skip_space_check: bool,
    /// Bytes of memory, as in [`BuildOptions::memory`](crate::BuildOptions::memory): half for what is pushed, half
    /// for compaction.
    pub memory: Option<u64>,
    /// Threads that work at a time; `None` is one for each core.
    pub threads: Option<usize>,
    /// The directory for temporary files, which vanish with the process; `None` is the store.
    pub temp_dir: Option<PathBuf>,
    /// Who is told how far the work is, and may end it.
    pub observer: Option<Observer>,
}

impl Default for WriterOptions {
    fn default() -> Self {
        WriterOptions {
            scheme: None,
            ids: IdPolicy::Auto,
            recipe: None,
            label: String::new(),
            compact: true,
            max_rate: None,
            skip_space_check: false,
            memory: None,
            threads: None,
            temp_dir: None,
            observer: None,
        }
    }
}

impl WriterOptions {
    /// Sets the tables of new segments, or how they are chosen.
    #[must_use]
    pub fn scheme(mut self, scheme: impl Into<SchemeChoice>) -> Self {
        self.scheme = Some(scheme.into());
        self
    }

    /// Sets how the fingerprints are made.
    #[must_use]
    pub fn recipe(mut self, recipe: Recipe) -> Self {
        self.recipe = Some(recipe);
        self
    }

    /// Sets what new segments are called: at most 255 bytes without control characters.
    #[must_use]
    pub fn label(mut self, label: impl Into<String>) -> Self {
        self.label = label.into();
        self
    }

    /// Sets whether segments are merged without being asked.
    #[must_use]
    pub fn compact(mut self, compact: bool) -> Self {
        self.compact = compact;
        self
    }
}
