//! The settings of a check for contamination.

use std::path::PathBuf;

use fpstore_base::watch::Observer;
use fpstore_documents::DocumentOptions;

use super::rules::ShingleRules;
use crate::event::Listener;

/// Finds the items of a benchmark in a corpus, and copies the corpus without the documents that
/// contain an item.
///
/// An item is in a document if a single passage of the document contains the part of the item's
/// shingles that the [rules](ShingleRules) require. The passage has at most one and a half times as
/// many words as the item. [`PlacedWords`](fpstore_text::PlacedWords) splits texts into words, so
/// case, punctuation, white space, invisible characters and the form of apostrophes make no
/// difference. The search is exact, except for collisions of 64-bit hashes of shingles.
///
/// The items take about 24 bytes of memory for each of their words. The corpus is read once, on all
/// threads.
pub struct ContaminationCheck<'a> {
    /// The files and folders of the items.
    pub item_paths: Vec<PathBuf>,
    /// The options for reading the items. Items need ids, which may be the numbers of their lines.
    pub item_options: DocumentOptions,
    /// The files and folders of the documents.
    pub paths: Vec<PathBuf>,
    /// The options for reading the documents.
    pub options: DocumentOptions,
    /// How much of an item a passage must contain.
    pub rules: ShingleRules,
    /// The output path, with the rules of [`Cleaner::output`](crate::Cleaner::output). Documents
    /// without items are copied byte for byte, and so are skipped bad records and documents without
    /// words. With an output, the corpus is read twice. Each output appears when it is complete.
    pub output: Option<PathBuf>,
    /// Whether existing outputs are replaced, each when its new file is complete.
    pub replace: bool,
    /// The number of threads; one for each core by default.
    pub threads: Option<usize>,
    /// The observer, which receives the progress and may end the work.
    pub observer: Option<Observer>,
    /// The function called with each [`Event`](crate::Event), such as a file that could not be
    /// copied.
    pub listener: Option<&'a Listener<'a>>,
}

impl<'a> ContaminationCheck<'a> {
    /// A search in the documents of `paths` for the items of `items`; both list files and folders.
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
}
