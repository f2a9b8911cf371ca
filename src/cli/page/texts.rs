//! The texts of the documents that a page shows, by their ids.

use std::collections::HashMap;
use std::path::PathBuf;

use fpstore::Fingerprint;
use fpstore_text::{DocumentOptions, TextHasher, read_texts};

use super::super::byte_table::ByteTable;
use super::super::documents::report;
use super::super::monitor::Monitor;
use super::super::resources::ResourceArgs;
use super::beginning;
use super::largest::ShownGroup;

/// The characters of a text that a page shows at most.
pub(super) const TEXT_MAX: usize = 20_000;

/// Documents in files.
pub(in crate::cli) struct TextSource<'a> {
    pub(in crate::cli) files: &'a [PathBuf],
    pub(in crate::cli) options: DocumentOptions,
    /// Makes the fingerprints by which documents with one id are told apart, if it is known how
    /// they were made.
    pub(in crate::cli) hasher: Option<TextHasher>,
}

/// The text of a document.
pub(super) struct ShownText {
    /// The beginning of the text.
    pub(super) text: String,
    /// The characters of the whole text.
    pub(super) len: u64,
    pub(super) doubt: Doubt,
}

/// Whether a text is surely that of a document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Doubt {
    None,
    /// The text of this id has another fingerprint.
    OtherFingerprint,
    /// There is another document of this id, and none knows which is meant.
    Namesakes,
}

/// Texts of the documents of groups.
pub(super) struct Texts {
    table: ByteTable,
    places: HashMap<String, Vec<Place>>,
}

/// A document that is wanted, and its text.
struct Place {
    fingerprint: Fingerprint,
    found: Option<Found>,
}

#[derive(Clone, Copy)]
struct Found {
    /// In the table.
    number: usize,
    len: u64,
    doubt: Doubt,
}

impl TextSource<'_> {
    /// Reads the texts of the documents of the groups.
    pub(super) fn read(
        self,
        groups: &[ShownGroup],
        resources: &ResourceArgs,
        monitor: &Monitor,
        quiet: bool,
    ) -> anyhow::Result<Texts> {
        let mut places: HashMap<String, Vec<Place>> = HashMap::new();
        for document in groups.iter().flat_map(|group| &group.documents) {
            let Some(id) = &document.id else { continue };
            let place = Place { fingerprint: document.fingerprint, found: None };
            match places.get_mut(id) {
                Some(list) => list.push(place),
                None => drop(places.insert(id.clone(), vec![place])),
            }
        }
        let mut texts = Texts { table: ByteTable::create(&resources.temp_dir())?, places };
        let mut hasher = self.hasher;
        let options = self.options.observer(monitor.observer());
        let summary = read_texts(self.files, &options, |id, text| {
            texts.take(&id.to_string(), text, hasher.as_mut())
        })?;
        if !quiet {
            monitor.suspend(|| report(&summary));
        }
        texts.places.values_mut().for_each(|list| fill(list));
        Ok(texts)
    }
}

/// Gives a document whose text was not found that of another one with the same id and fingerprint.
fn fill(list: &mut [Place]) {
    for at in 0..list.len() {
        let sure = |it: &&Place| it.found.is_some_and(|found| found.doubt == Doubt::None);
        if !sure(&&list[at]) {
            let wanted = list[at].fingerprint;
            let other = list.iter().filter(sure).find(|other| other.fingerprint == wanted);
            list[at].found = other.and_then(|other| other.found).or(list[at].found);
        }
    }
}

impl Texts {
    /// Keeps the text of a document if it is wanted.
    fn take(
        &mut self,
        id: &str,
        text: &str,
        hasher: Option<&mut TextHasher>,
    ) -> anyhow::Result<()> {
        let Some(list) = self.places.get_mut(id) else { return Ok(()) };
        let is_sure = |it: &Place| it.found.is_some_and(|found| found.doubt == Doubt::None);
        let doubt = match hasher.map(|hasher| hasher.fingerprint(text)) {
            Some(fingerprint) => {
                let is_it = |it: &&mut Place| Some(it.fingerprint) == fingerprint && !is_sure(it);
                if let Some(place) = list.iter_mut().find(is_it) {
                    place.found = Some(store(&mut self.table, text, Doubt::None)?);
                    return Ok(());
                }
                if list.iter().any(|it| Some(it.fingerprint) == fingerprint) {
                    return Ok(());
                }
                Doubt::OtherFingerprint
            }
            None if list.iter().any(|it| it.found.is_some()) => {
                let found = list.iter_mut().filter_map(|it| it.found.as_mut());
                found.for_each(|found| found.doubt = Doubt::Namesakes);
                return Ok(());
            }
            None => Doubt::None,
        };
        if list.iter().any(|it| it.found.is_none()) {
            let found = store(&mut self.table, text, doubt)?;
            list.iter_mut().filter(|it| it.found.is_none()).for_each(|it| it.found = Some(found));
        }
        Ok(())
    }

    /// The text of a document of a group, each time that of the next document with this id and
    /// fingerprint.
    pub(super) fn next(
        &mut self,
        id: Option<&str>,
        fingerprint: Fingerprint,
    ) -> anyhow::Result<Option<ShownText>> {
        let Some(list) = id.and_then(|id| self.places.get_mut(id)) else { return Ok(None) };
        let Some(at) = list.iter().position(|it| it.fingerprint == fingerprint) else {
            return Ok(None);
        };
        let Some(found) = list.remove(at).found else { return Ok(None) };
        let text = self.table.text(found.number)?;
        Ok(Some(ShownText { text, len: found.len, doubt: found.doubt }))
    }
}

fn store(table: &mut ByteTable, text: &str, doubt: Doubt) -> anyhow::Result<Found> {
    let (shown, is_all) = beginning(text, TEXT_MAX);
    table.push(shown.as_bytes())?;
    let len = if is_all { shown.chars().count() } else { text.chars().count() };
    Ok(Found { number: table.len() - 1, len: len as u64, doubt })
}
