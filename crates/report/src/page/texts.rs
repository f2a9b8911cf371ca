//! The texts of the documents on a page, found by the ids of the documents.
//!
//! Several documents can have the same id. If the recipe is known, their fingerprints distinguish
//! them; otherwise the page says that the text may belong to another document.

use std::collections::HashMap;
use std::path::Path;

use super::largest::ShownGroup;
use crate::frame::beginning;
use fpstore::Result;
use fpstore_base::Fingerprint;
use fpstore_disk::{ByteTable, ScratchFolder};

/// A page shows at most this many characters of a text.
const TEXT_MAX: usize = 20_000;

/// The text of a document, as shown on a page.
pub(super) struct ShownText {
    /// The beginning of the text.
    pub(super) text: String,
    /// The number of characters of the whole text.
    pub(super) len: u64,
    pub(super) doubt: Doubt,
}

/// Why a text may not belong to the document with its id.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Doubt {
    None,
    /// The text found by the id has another fingerprint than the document.
    OtherFingerprint,
    /// Several texts were found by the id, and without fingerprints none can be preferred.
    Namesakes,
}

/// The texts of the documents of a page, kept in a temporary file.
#[derive(Debug)]
pub struct GroupTexts {
    table: ByteTable,
    places: HashMap<String, Vec<Place>>,
}

/// A document of the page, and its text once it is found.
#[derive(Debug)]
struct Place {
    fingerprint: Fingerprint,
    found: Option<StoredText>,
}

#[derive(Clone, Copy, Debug)]
struct StoredText {
    /// The position of the text in the table of the temporary file.
    number: usize,
    len: u64,
    doubt: Doubt,
}

/// Assigns texts among the documents with one id: a document without a certain text gets the
/// certain text of another document with the same fingerprint.
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

/// Callback that computes the fingerprint of a text by the recipe of the groups; `None` for a text
/// without features.
pub type MakeFingerprint<'a> = &'a mut dyn FnMut(&str) -> Option<Fingerprint>;

impl GroupTexts {
    pub(super) fn of(groups: &[ShownGroup], folder: &Path) -> Result<Self> {
        let mut places: HashMap<String, Vec<Place>> = HashMap::new();
        for document in groups.iter().flat_map(|group| &group.documents) {
            let Some(id) = &document.id else { continue };
            let place = Place { fingerprint: document.fingerprint, found: None };
            match places.get_mut(id) {
                Some(list) => list.push(place),
                None => drop(places.insert(id.clone(), vec![place])),
            }
        }
        let table = ByteTable::create(&ScratchFolder::new(folder.into()))?;
        Ok(GroupTexts { table, places })
    }

    /// Takes the text of any document, and keeps it if the page shows a document with this id. With
    /// `make`, documents with the same id are distinguished by their fingerprints.
    ///
    /// # Errors
    ///
    /// [`Error::Io`](fpstore::Error::Io) if the temporary file cannot be written.
    pub fn take(&mut self, id: &str, text: &str, make: Option<MakeFingerprint<'_>>) -> Result<()> {
        let Some(list) = self.places.get_mut(id) else { return Ok(()) };
        let is_sure = |it: &Place| it.found.is_some_and(|found| found.doubt == Doubt::None);
        let doubt = match make.map(|make| make(text)) {
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

    /// Assigns texts to documents that still have none or a doubtful one, after the last text.
    pub(super) fn finish(&mut self) {
        self.places.values_mut().for_each(|list| fill(list));
    }

    /// Returns the text of the document with this id and fingerprint, or `None` if no text was
    /// found. Each call removes the document from the list: if several documents on the page share
    /// the id and the fingerprint, the next call returns the text of the next one.
    pub(super) fn next(
        &mut self,
        id: Option<&str>,
        fingerprint: Fingerprint,
    ) -> Result<Option<ShownText>> {
        let Some(list) = id.and_then(|id| self.places.get_mut(id)) else { return Ok(None) };
        let Some(at) = list.iter().position(|it| it.fingerprint == fingerprint) else {
            return Ok(None);
        };
        let Some(found) = list.remove(at).found else { return Ok(None) };
        let bytes = self.table.get(found.number)?.unwrap_or_default();
        let text = String::from_utf8(bytes).map_err(|_| self.table.damaged())?;
        Ok(Some(ShownText { text, len: found.len, doubt: found.doubt }))
    }
}

fn store(table: &mut ByteTable, text: &str, doubt: Doubt) -> Result<StoredText> {
    let (shown, is_all) = beginning(text, TEXT_MAX);
    table.push(shown.as_bytes())?;
    let len = if is_all { shown.chars().count() } else { text.chars().count() };
    Ok(StoredText { number: table.len() - 1, len: len as u64, doubt })
}
