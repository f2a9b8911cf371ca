//! Runs a contamination check: reads the items, scans the corpus, and copies it.

use std::path::PathBuf;
use std::sync::Arc;

use fpstore_base::rows::Cell;
use fpstore_base::watch::Steps;
use fpstore_base::{Id, IdRef, one_line_row};
use fpstore_documents::{Decided, DocumentFiles, DocumentOptions, DocumentSummary, RecordFate};

use super::items::{Item, TextWords};
use super::rules::ShingleRules;
use super::scan::{Items, Scanner};
use super::settings::ContaminationCheck;
use super::write::{self, Dropped};
use crate::error::{Error, Result};
use crate::event::Event;
use crate::targets::{Originals, Targets};
use serde::Serialize;

/// Maximum number of ids in [`Contamination::unjudged`].
const SHOWN_MAX: usize = 10;

/// A benchmark item, and the passage of a document that contains it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct ContaminationRow<'a> {
    /// The id of the benchmark item.
    pub item: IdRef<'a>,
    /// The share of the distinct shingles of the item that the passage contains, up to 1.
    pub contained: f64,
    /// The name of the file of the document.
    pub file: &'a str,
    /// The id of the document.
    pub id: IdRef<'a>,
    /// The start of the passage in the text of the document, in characters.
    pub start: u64,
    /// The end of the passage in the text, in characters.
    pub end: u64,
    /// The start of the passage in the text, in bytes of UTF-8.
    pub byte_start: u64,
    /// The end of the passage in the text, in bytes of UTF-8.
    pub byte_end: u64,
}

one_line_row!(ContaminationRow<'_>, "contamination", |row|
    item: Text = Cell::Id(Some(row.item)),
    contained: Double = Cell::Similarity(row.contained),
    file: Text = Cell::Text(row.file),
    id: Text = Cell::Id(Some(row.id)),
    start: U64 = Cell::Number(row.start),
    end: U64 = Cell::Number(row.end),
    byte_start: U64 = Cell::Number(row.byte_start),
    byte_end: U64 = Cell::Number(row.byte_end),
);

/// An item found in a document.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct FoundItem<'a> {
    /// The item, the document, and the position of the passage.
    pub row: ContaminationRow<'a>,
    /// The text of the passage.
    pub passage: &'a str,
    /// The number of the line, row or record of the document in its file, as in reports of bad
    /// records.
    pub record: u64,
}

impl ContaminationCheck<'_> {
    /// Runs the check, and calls `take` once for each item in each document, with the passage that
    /// contains the most shingles of the item. The calls are sorted by document, then by item.
    ///
    /// # Errors
    ///
    /// * [`Error::Store`] with [`InvalidOptions`](fpstore::Error::InvalidOptions) for invalid
    ///   settings, if no item has enough words, an output would overwrite an input, or an input to
    ///   copy can be read only once.
    /// * [`Error::Text`] if the documents cannot be read or copied, [`Error::Items`] if the items
    ///   cannot be read.
    /// * [`Error::Exists`] if an output exists and may not be replaced.
    /// * [`Error::Store`] if an output cannot be written or the observer ends the work, and any error
    ///   from `take`.
    pub fn run<E: From<Error> + From<fpstore_documents::Error>>(
        mut self,
        mut take: impl FnMut(FoundItem<'_>) -> Result<(), E>,
    ) -> Result<Contamination, E> {
        self.rules.check()?;
        let is_copied = self.output.is_some();
        let steps = Steps::new(2 + u32::from(is_copied));
        self.observer = steps.observed(self.observer.take());
        let options = self.options.whole_files(is_copied).observer(self.observer.clone());
        self.options = options.threads(self.threads);
        let files = DocumentFiles::find(&self.paths, &self.options).map_err(Error::from)?;
        let (options, paths) = (&self.options, &self.paths);
        let originals =
            Originals { files: &files, options, paths, new_fields: &[], passages: None };
        let targets = match &self.output {
            Some(output) => Some(self.targets(&originals, output)?),
            None => None,
        };
        let items = self.items().map_err(|error| match error {
            Error::Text(error) => Error::Items(error),
            error => error,
        });
        let (items, ids, mut account) = items?;
        steps.begin(2);
        let mut is_found = vec![ItemPresence::No; items.list.len()];
        let mut dropped = Dropped::new();
        let make_scanner = {
            let items = Arc::new(items);
            move || {
                let mut scanner = Scanner::new(items.clone());
                move |text: &str| scanner.scan(text)
            }
        };
        let read =
            files.map_texts(options, None, make_scanner, |place, id, held| -> Result<(), E> {
                if held.is_empty() {
                    return Ok(());
                }
                account.contaminated_count += 1;
                account.found_count += held.len() as u64;
                if targets.is_some() {
                    let (record, digest) = (place.record(), place.digest);
                    let decided = Decided { record, digest, fate: RecordFate::Drop };
                    dropped.entry(place.file).or_default().push(decided);
                }
                let file = files.get(place.file, options).map_or("", |file| file.name());
                for one in &held {
                    let known = &mut is_found[one.item as usize];
                    *known = (*known).max(if one.contained < 1.0 {
                        ItemPresence::Part
                    } else {
                        ItemPresence::Whole
                    });
                    let row = ContaminationRow {
                        item: ids[one.item as usize].as_ref(),
                        contained: one.contained,
                        file,
                        id,
                        start: one.chars.start as u64,
                        end: one.chars.end as u64,
                        byte_start: one.bytes.start as u64,
                        byte_end: one.bytes.end as u64,
                    };
                    take(FoundItem { row, passage: &one.passage, record: place.record() })?;
                }
                Ok(())
            })?;
        self.tell(Event::Read(&read));
        account.document_count = read.document_count;
        account.found_item_count =
            is_found.iter().filter(|it| **it != ItemPresence::No).count() as u64;
        account.whole_item_count =
            is_found.iter().filter(|it| **it == ItemPresence::Whole).count() as u64;
        if let Some(targets) = &targets {
            steps.begin(3);
            let failed = write::run(&self, &originals, targets, &dropped, &read.unread)?;
            account.uncopied_count = failed.len() as u64;
            account.file_count = targets.all().count() as u64 - write::copies_of(targets, &failed);
        }
        account.documents_read = read;
        Ok(account)
    }

    /// The paths of the copies. Refuses copies that would overwrite the documents, the items, or
    /// existing files that may not be replaced.
    fn targets(&self, originals: &Originals<'_>, output: &std::path::Path) -> Result<Targets> {
        if let Some(pipe) = self.paths.iter().find(|path| crate::work::is_pipe(path)) {
            return Err(Error::refused(format!(
                "the documents are read twice, and {} can be read only once; write it to a file first",
                pipe.display()
            )));
        }
        if originals.options.passage_unit().is_some() {
            return Err(Error::refused(
                "passages are parts of records and cannot be copied by themselves; read whole \
                 documents",
            ));
        }
        let targets = Targets::new(originals, output)?;
        let places = |paths: &[PathBuf]| -> Vec<PathBuf> {
            paths.iter().filter_map(|path| path.canonicalize().ok()).collect()
        };
        let items = places(&self.item_paths);
        let hit =
            targets.all().find(|target| target.canonicalize().is_ok_and(|it| items.contains(&it)));
        if let Some(target) = hit {
            return Err(Error::refused(format!(
                "{} contains the searched items and would be overwritten; name another output",
                target.display()
            )));
        }
        if !self.replace {
            targets.check_free(false)?;
        }
        Ok(targets)
    }

    /// Reads the items and their ids.
    fn items(&self) -> Result<(Items, Vec<Id>, Contamination)> {
        let options = self.item_options.clone().observer(self.observer.clone());
        let options: DocumentOptions = options.threads(self.threads);
        let files = DocumentFiles::find(&self.item_paths, &options)?;
        let rules: ShingleRules = self.rules;
        let make_items = move || {
            let mut words = TextWords::default();
            move |text: &str| {
                words.take(text);
                Item::of(&words.hashes, &rules)
            }
        };
        let mut account = Contamination::default();
        let (mut list, mut ids) = (Vec::new(), Vec::new());
        let read: DocumentSummary =
            files.map_texts(&options, None, make_items, |_, id, item| -> Result<()> {
                match item {
                    Some(item) => {
                        account.item_count += 1;
                        account.short_count += u64::from(item.is_short());
                        list.push(item);
                        ids.push(id.to_id());
                    }
                    None => {
                        account.unjudged_count += 1;
                        if account.unjudged.len() < SHOWN_MAX {
                            account.unjudged.push(id.to_id());
                        }
                    }
                }
                if u32::try_from(list.len()).is_err() {
                    let reason = "there are more than 2^32 - 1 items".into();
                    return Err(fpstore::Error::TooLarge { reason }.into());
                }
                Ok(())
            })?;
        if list.is_empty() {
            return Err(Error::refused(match account.unjudged_count {
                0 => "there are no items to search for".to_string(),
                count => format!(
                    "none of {count} items has {} words or more, so there is nothing to search for",
                    rules.words_min
                ),
            }));
        }
        account.items_read = read;
        Ok((Items::new(list), ids, account))
    }

    pub(super) fn tell(&self, event: Event<'_>) {
        if let Some(listener) = self.listener {
            listener(event);
        }
    }
}

/// The largest part of an item that was found in a single document.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum ItemPresence {
    No,
    Part,
    Whole,
}

/// The counts of a contamination check: each item is found, not found, or has too few words to be
/// searched for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Contamination {
    /// Items searched for: all items with enough words.
    pub item_count: u64,
    /// Short items among `item_count`, which follow [`ShingleRules::short`].
    pub short_count: u64,
    /// Items that were skipped, because they have too few words.
    pub unjudged_count: u64,
    /// The ids of the first ten skipped items.
    pub unjudged: Vec<Id>,
    /// Items found in at least one document.
    pub found_item_count: u64,
    /// Items with all shingles in a single passage of a document.
    pub whole_item_count: u64,
    /// Pairs of an item and a document that contains it.
    pub found_count: u64,
    /// Documents read.
    pub document_count: u64,
    /// Documents that contain an item.
    pub contaminated_count: u64,
    /// Outputs written.
    pub file_count: u64,
    /// Files from searched folders that could not be read to the end or copied; each was reported
    /// by an [`Event`](crate::Event). None of their documents is in an output.
    pub uncopied_count: u64,
    /// The counts from reading the items.
    pub items_read: DocumentSummary,
    /// The counts from reading the documents.
    pub documents_read: DocumentSummary,
}

impl Contamination {
    /// The number of documents that contain no item.
    pub fn clean_count(&self) -> u64 {
        self.document_count - self.contaminated_count
    }
}
