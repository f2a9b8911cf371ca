//! The documents that `fpstore query` searches for. They are hashed by the recipe of the store.

use anyhow::{Context, bail};
use clap::Args;
use fpstore::input::InputOptions;
use fpstore::{Fingerprint, FoundRecord, IdRef, Store};
use fpstore_text::{TextHasher, sketch};

use crate::args::documents::{FieldArgs, fingerprint_of_file, text_of};
use crate::args::inputs::ReadArgs;
use crate::args::reading_args::ReadingArgs;
use crate::args::recipe_files::RecipeFileArgs;
use crate::args::resources::ReadingLimits;
use crate::session::document_reader::Documents;
use crate::session::stores::QueriedStores;

/// Options of `query` for reading documents, and for the files that the recipe of the store needs.
#[derive(Args, Debug)]
pub(crate) struct QueryDocumentArgs {
    #[command(flatten)]
    resources: RecipeFileArgs,
    /// The files of --from are documents, not fingerprints; folders are searched
    #[arg(long, help_heading = "Documents", requires = "from")]
    docs: bool,
    #[command(flatten)]
    field: FieldArgs,
    #[command(flatten)]
    reading: ReadingArgs,
}

/// A fingerprint to search for.
pub(crate) struct Needle {
    pub(crate) fingerprint: Fingerprint,
    /// The sketch of the document, of the same length as in the store; empty without `--confirm`.
    pub(crate) sketch: Vec<u8>,
}

impl QueryDocumentArgs {
    /// Whether the files of `--from` contain documents.
    pub(crate) fn are_given(&self) -> bool {
        self.docs || self.field.is_given(&self.reading)
    }

    /// The options to read lines of fingerprints.
    pub(crate) fn lines(&self, read: &ReadArgs) -> anyhow::Result<InputOptions> {
        self.field.lines(&self.reading, read)
    }

    /// How to read the documents in the files of `--from`: hashed by the recipe of the store, with
    /// sketches of `sketch_len` bytes. `None` if the files contain no documents.
    pub(crate) fn documents(
        &self,
        store: &Store,
        sketch_len: u8,
        read: &ReadArgs,
        limits: ReadingLimits,
        has_file: bool,
    ) -> anyhow::Result<Option<Documents>> {
        let given = match self.field.column(&self.reading) {
            Some(_) => self.reading.first_but_id(),
            None => self.reading.first_given(),
        };
        match given {
            Some(option) if !self.are_given() && !has_file => {
                bail!("{option} is for documents; name them with --file, or with --from and --docs")
            }
            _ => {}
        }
        if self.field.is_given(&self.reading) {
            let documents = self.field.documents(&self.reading, None, read, limits)?;
            if sketch_len > 0 {
                documents.as_ref().map_or(Ok(()), Documents::check_texts)?;
            }
            return Ok(documents);
        }
        if !self.docs {
            return Ok(None);
        }
        let hasher = self.hasher(store)?;
        if let Some(option) = read.first_given() {
            bail!("{option} is for fingerprints; --docs reads no fingerprints");
        }
        let options = self.reading.options(read.skips_bad(), limits)?;
        Ok(Some(Documents::of_texts(hasher, options).sketched(sketch_len)))
    }

    fn hasher(&self, store: &Store) -> anyhow::Result<TextHasher> {
        let info = store.info();
        match info.segments.first() {
            Some(segment) => self.resources.hasher_of(&segment.recipe),
            None => bail!("the store is empty and has no recipe"),
        }
    }

    /// Makes queries for the texts, then for the documents in the files: hashed by the recipe of
    /// the store, with sketches of `sketch_len` bytes.
    pub(crate) fn needles(
        &self,
        store: &Store,
        sketch_len: u8,
        texts: &[String],
        files: &[String],
    ) -> anyhow::Result<Vec<Needle>> {
        let mut needles = Vec::new();
        if texts.is_empty() && files.is_empty() {
            return Ok(needles);
        }
        let mut hasher = self.hasher(store)?;
        let mut needle = |text: &str| {
            let fingerprint = hasher.fingerprint(text)?;
            let sketch = match sketch_len {
                0 => Vec::new(),
                len => sketch(&hasher.distinct_features(text), len),
            };
            Some(Needle { fingerprint, sketch })
        };
        for text in texts {
            let without = || format!("'{text}' has no features, so it has no fingerprint");
            needles.push(needle(text).with_context(without)?);
        }
        if sketch_len == 0 {
            // If no sketch is needed, a huge file is hashed without being buffered.
            let options = self.reading.options(false, ReadingLimits::default())?;
            for file in files {
                let fingerprint = fingerprint_of_file(file, &self.hasher(store)?, &options)?;
                needles.push(Needle { fingerprint, sketch: Vec::new() });
            }
            return Ok(needles);
        }
        for file in files {
            let text = text_of(file, false, &self.reading)?;
            let without = || format!("{file} has no features, so it has no fingerprint");
            needles.push(needle(&text).with_context(without)?);
        }
        Ok(needles)
    }
}

impl QueryDocumentArgs {
    /// Reads the texts of files that contain one document each.
    pub(crate) fn texts_of(&self, files: &[String]) -> anyhow::Result<Vec<String>> {
        if let (Some(option), []) = (self.reading.first_given(), files) {
            bail!("{option} is for documents; name them with --file");
        }
        files.iter().map(|file| text_of(file, false, &self.reading)).collect()
    }
}

/// Looks up the fingerprints that are stored with these ids, in the order of the ids. Unknown ids
/// are printed and skipped.
pub(crate) fn stored_needles(asked: &QueriedStores, ids: &[String]) -> anyhow::Result<Vec<Needle>> {
    if ids.is_empty() {
        return Ok(Vec::new());
    }
    let wanted: Vec<IdRef<'_>> = ids.iter().map(IdRef::from).collect();
    let mut found = asked.store.find_ids(&wanted, None)?;
    // A fingerprint that two stores contain with the same id is searched once.
    for found in &mut found {
        found.dedup_by(|other, one| {
            other.store != one.store && other.fingerprint == one.fingerprint
        });
    }
    for (id, _) in ids.iter().zip(&found).filter(|(_, found)| found.is_empty()) {
        message!("no record of {} has the id '{id}'", asked.title());
    }
    let found = found.into_iter().flatten();
    let needle = |FoundRecord { fingerprint, sketch, .. }| Needle { fingerprint, sketch };
    Ok(found.map(needle).collect())
}
