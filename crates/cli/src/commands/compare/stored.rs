//! `fpstore compare -s STORE`: finds two records of a store by their ids or fingerprints.

use std::path::{Path, PathBuf};

use anyhow::bail;
use fpstore::{Fingerprint, IdRef, Radix, Store, Width};
use fpstore_documents::{DocumentOptions, read_texts};
use fpstore_text::TextHasher;

use crate::output::exit::NotFound;

/// A record found in the store.
pub(crate) struct Stored {
    pub(crate) fingerprint: Fingerprint,
    /// The id given by the user, else the first stored id of this fingerprint, if any.
    pub(crate) id: Option<String>,
}

/// Finds two records by name. A name is an id or, if no record has that id, a fingerprint in hex.
pub(crate) fn find(store: &Store, names: [&str; 2]) -> anyhow::Result<[Stored; 2]> {
    let found = store.find_ids(&names.map(IdRef::from), None)?;
    let stored = |at: usize| {
        let mut with_id: Vec<Fingerprint> = found[at].iter().map(|it| it.fingerprint).collect();
        with_id.dedup();
        one(store, names[at], &with_id)
    };
    Ok([stored(0)?, stored(1)?])
}

fn one(store: &Store, name: &str, with_id: &[Fingerprint]) -> anyhow::Result<Stored> {
    match with_id {
        [fingerprint] => Ok(Stored { fingerprint: *fingerprint, id: Some(name.into()) }),
        [] => {
            let Ok(fingerprint) = Fingerprint::parse(name, Radix::Hex) else {
                return Err(NotFound(format!(
                    "no record of {} has the id '{name}', and it is not a fingerprint",
                    store.info().path.display()
                ))
                .into());
            };
            let mut searcher = store.searcher();
            let found = searcher.search(fingerprint, 0)?.to_matches()?;
            let ids = found.iter().flat_map(|found| &found.ids);
            Ok(Stored { fingerprint, id: ids.map(ToString::to_string).next() })
        }
        several => {
            let list: Vec<String> =
                several.iter().map(|it| store.width().hex(*it).to_string()).collect();
            bail!(
                "{} records have the id '{name}'; name one by its fingerprint: {}",
                list.len(),
                list.join(", ")
            )
        }
    }
}

/// Reads the texts of two records from files of documents, by the ids of the records.
pub(crate) fn texts(
    records: &[Stored; 2],
    files: &[PathBuf],
    options: &DocumentOptions,
    (hasher, width): (Option<&mut TextHasher>, Width),
) -> anyhow::Result<[String; 2]> {
    let mut hasher = hasher;
    // For each record: the text found by its id, and whether the text has the record's fingerprint.
    let mut found: [Option<(String, bool)>; 2] = Default::default();
    read_texts(files, options, |id, text| -> anyhow::Result<()> {
        let id = id.to_string();
        for (found, record) in found.iter_mut().zip(records) {
            if record.id.as_ref() != Some(&id) || matches!(found, Some((_, true))) {
                continue;
            }
            let made = hasher.as_mut().map(|hasher| hasher.fingerprint(text));
            let is_sure = made == Some(Some(record.fingerprint));
            if is_sure || found.is_none() {
                *found = Some((text.to_string(), is_sure));
            }
        }
        Ok(())
    })?;
    let [a, b] = found;
    let is_known = hasher.is_some();
    let one_text = |at: usize, found| one_text(&records[at], found, (files, width), is_known);
    Ok([one_text(0, a)?, one_text(1, b)?])
}

fn one_text(
    record: &Stored,
    found: Option<(String, bool)>,
    (files, width): (&[PathBuf], Width),
    recipe_is_known: bool,
) -> anyhow::Result<String> {
    let fingerprint = width.hex(record.fingerprint);
    let Some(id) = &record.id else {
        bail!("{fingerprint} has no id in the store, and texts are found by their ids")
    };
    let Some((text, is_sure)) = found else {
        let first = files.first().map_or(Path::new(""), PathBuf::as_path);
        let more = if files.len() > 1 { " and the other files" } else { "" };
        bail!("no document of {}{more} has the id '{id}'", first.display());
    };
    if recipe_is_known && !is_sure {
        message!(
            "the text of {id} has another fingerprint than the store: it was changed, or read \
             with other options"
        );
    }
    Ok(text)
}
