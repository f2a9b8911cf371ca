//! The settings of a check for contamination.

use std::path::PathBuf;

use fpstore_base::watch::Observer;
use fpstore_documents::DocumentOptions;

use super::rules::ShingleRules;
use crate::event::Listener;

/// Finds the items of a benchmark in a corpus, and copies the corpus without the documents that hold
/// one.
///
/// An item is in a document if one passage of the document, of at most half as many words again as
/// the item has, holds the part of its shingles that the [rules](ShingleRules) ask for. Words are
/// compared as [`PlacedWords`](fpstore_text::PlacedWords) cuts them, so that case, punctuation and
/// white space make no difference. All such items are found, and no others: shingles are compared by
/// hashes of 64 bits.
///
/// The items take about 24 bytes of memory for each of their words; the corpus is read once, on all
/// threads.
pub struct ContaminationCheck<'a> {
    pub(super) item_paths: Vec<PathBuf>,
    pub(super) item_options: DocumentOptions,
    pub(super) paths: Vec<PathBuf>,
    pub(super) options: DocumentOptions,
    pub(super) rules: ShingleRules,
    pub(super) output: Option<PathBuf>,
    pub(super) replace: bool,
    pub(super) threads: Option<usize>,
    pub(super) observer: Option<Observer>,
    pub(super) listener: Option<&'a Listener<'a>>,
}

impl<'a> ContaminationCheck<'a> {
    /// Looks for the items in the files and folders `items` among the documents in those of `paths`;
    /// both are read as their options say. Items need ids, which may be the numbers of their lines.
    pub fn new<P: Into<PathBuf>, Q: Into<PathBuf>>(
        items: impl IntoIterator<Item = P>,
        item_options: DocumentOptions,
        paths: impl IntoIterator<Item = Q>,
        options: DocumentOptions,
    ) -> Self {
        ContaminationCheck {
            item_paths: items.into_iter().map(Into::into).collect(),
            item_options,
            paths: paths.into_iter().map(Into::into).collect(),
            options,
            rules: ShingleRules::default(),
            output: None,
            replace: false,
            threads: None,
            observer: None,
            listener: None,
        }
    }

    /// Sets the observer, which receives the progress and may end the work.
    #[must_use]
    pub fn observer(mut self, observer: impl Into<Option<Observer>>) -> Self {
        self.observer = observer.into();
        self
    }

    /// Sets how much of an item a passage must hold.
    #[must_use]
    pub fn rules(mut self, rules: ShingleRules) -> Self {
        self.rules = rules;
        self
    }

    /// Sets where the documents without items go, byte for byte, as
    /// [`Cleaner::output`](crate::Cleaner::output) does; bad records that are skipped and
    /// documents without words stay, too. The corpus is then read twice. Each output appears when it
    /// is complete.
    #[must_use]
    pub fn output(mut self, path: impl Into<PathBuf>) -> Self {
        self.output = Some(path.into());
        self
    }

    /// Sets whether outputs that are there are replaced, each once its new file is complete.
    #[must_use]
    pub fn replace(mut self, replace: bool) -> Self {
        self.replace = replace;
        self
    }

    /// Sets the number of threads that work at the same time. The default is one for each core.
    #[must_use]
    pub fn threads(mut self, threads: impl Into<Option<usize>>) -> Self {
        self.threads = threads.into();
        self
    }

    /// Sets a function that is called with each [`Event`](crate::Event), such as a file that
    /// could not be copied.
    #[must_use]
    pub fn listener(mut self, listener: &'a Listener<'a>) -> Self {
        self.listener = Some(listener);
        self
    }
}
