//! The options of a writer or compactor.

use crate::base::id_policy::IdPolicy;
use crate::writing::builder::SchemeChoice;
use crate::writing::directory::{Patience, Waiting};
use fpstore_base::{Recipe, Resources, resource_setters, setters};

/// The options of a [`Writer`](crate::Writer) or a [`Compactor`](crate::writer::Compactor).
///
/// Half of the memory of a writer is for pushed records, half for compaction. The rate limit only
/// applies to compaction. The waiting time of a compactor applies to other compactions.
///
/// # Examples
///
/// ```
/// let options = fpstore::WriterOptions::default().label("2026-11").memory(1 << 30).compact(false);
/// ```
#[derive(Clone, Debug)]
pub struct WriterOptions {
    /// The tables of new segments; `None` for the tables of the store.
    pub scheme: Option<SchemeChoice>,
    /// The kind of ids that records may have.
    pub ids: IdPolicy,
    /// The recipe of the fingerprints; `None` for the recipe of the store.
    pub recipe: Option<Recipe>,
    /// The label of new segments, see [`label`](Self::label).
    pub label: String,
    /// The name of the run, see [`run`](Self::run).
    pub run: Option<String>,
    /// Whether new records replace older records with the same id.
    pub replace: bool,
    /// Whether the writer merges segments by the size-tiered rule after a commit.
    pub compact: bool,
    /// The maximum number of bytes that compaction reads and writes per second; `None` for no
    /// limit.
    pub max_rate: Option<u64>,
    /// Whether work starts even if the disk seems too full for it.
    pub skip_space_check: bool,
    /// Memory, threads, temporary folder and observer.
    pub resources: Resources,
    /// How long to wait for another process that writes to the store.
    pub wait: Waiting,
}

impl Default for WriterOptions {
    /// The tables of the store, ids of automatic kind, segments merged by the size-tiered rule.
    fn default() -> Self {
        WriterOptions {
            scheme: None,
            ids: IdPolicy::Auto,
            recipe: None,
            label: String::new(),
            run: None,
            replace: false,
            compact: true,
            max_rate: None,
            skip_space_check: false,
            resources: Resources::default(),
            wait: Waiting::NONE,
        }
    }
}

impl WriterOptions {
    /// Sets the tables of new segments, or the rule that chooses them.
    ///
    /// By default a new segment has the tables of the largest segment. If the new segment has more
    /// than twice as many fingerprints, it gets the fastest tables for its data at the tuned
    /// distance of the store, chosen by [`SchemeChoice::Auto`] within
    /// [`Budget::Default`](crate::plan::Budget::Default), or within 15 bytes per fingerprint and 32
    /// KiB if that is less.
    #[must_use]
    pub fn scheme(mut self, scheme: impl Into<SchemeChoice>) -> Self {
        self.scheme = Some(scheme.into());
        self
    }

    setters! {
        /// Sets the kind of ids that new segments keep.
        ids: IdPolicy,
        /// Sets the recipe of the fingerprints; the default is the recipe of the store.
        recipe: impl Into<Option<Recipe>>,
        /// Sets the name of the run of a program, such as `crawl-2026-11-22`. The next commit of
        /// records stores it in the same step, or else [`Writer::finish`](crate::Writer::finish)
        /// does. A repeated program can check [`Store::has_run`](crate::Store::has_run) and add
        /// nothing twice. A name follows the rules of a label and is not empty.
        run: impl Into<Option<String>>,
        /// Sets whether records replace older records with the same id, as when a page is crawled
        /// again. A commit removes the older records in the same step. If several pushed records
        /// have one id, the last of them is taken.
        ///
        /// Pushed records are held in memory until they are committed, and each commit reads all
        /// ids of the store, like [`Writer::delete_ids`](crate::Writer::delete_ids).
        replace: bool,
        /// Sets whether the writer merges segments by the size-tiered rule of
        /// [`Compaction::Tier`](crate::writer::Compaction::Tier) after each commit of records and
        /// in its final step.
        compact: bool,
        /// Sets whether a merge begins even if the disk seems too small for it.
        skip_space_check: bool,
    }

    resource_setters!();
    setters!(label, max_rate, wait);

    /// How long to wait for locks, and the observer of the wait.
    pub(super) fn patience(&self) -> Patience {
        Patience::new(self.wait, self.resources.observer.clone())
    }
}
