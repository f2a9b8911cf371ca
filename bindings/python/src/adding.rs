//! Adding records and documents, for `Builder` and `Writer`.

use std::path::PathBuf;
use std::sync::Arc;

use fpstore::{Fingerprint, IdRef, Recipe};
use fpstore_corpus::DocumentSource;
use fpstore_documents::DocumentSummary;
use fpstore_text::TextHasher;
use pyo3::prelude::*;

use crate::documents::{Documents, Readable, of_row};
use crate::errors::Failure;
use crate::input::batches::{Batch, Batches};
use crate::input::ids::Ids;
use crate::lent::Lent;
use crate::options::Limits;
use crate::tuple_class::answer;
use crate::work::Shared;

/// A builder or a writer: records can be added to it.
pub(crate) trait Adding: Send {
    type Target;

    /// Fails if the kind of `ids` differs from the kind of earlier ids.
    fn admit(&mut self, ids: Option<&Ids>) -> Result<(), Failure>;

    /// Fails if `recipe` differs from the known recipe of the target.
    fn agree(&mut self, recipe: Recipe) -> Result<(), Failure>;

    /// Fails if the ids or the recipe of a batch do not fit.
    fn accept(&mut self, batch: &Batch) -> Result<(), Failure> {
        if let Some(recipe) = batch.recipe.clone() {
            self.agree(recipe)?;
        }
        self.admit(batch.ids.as_ref())
    }

    /// The hasher of texts for the user's `recipe`, and the length of a sketch in bytes.
    fn hasher(&mut self, recipe: Option<&Bound<'_, PyAny>>) -> Result<(TextHasher, u8), Failure>;

    fn target(&mut self) -> Result<&mut Self::Target, Failure>;

    fn push(
        target: &mut Self::Target,
        fingerprint: Fingerprint,
        id: Option<IdRef<'_>>,
        sketch: &[u8],
    ) -> fpstore::Result<()>;
}

/// A builder or a writer, with the settings that the user gave.
pub(crate) struct Adder<T> {
    pub(crate) path: PathBuf,
    /// The `recipe` argument as given: a `Recipe` object can contain word lists and tables.
    pub(crate) recipe: Option<Py<PyAny>>,
    pub(crate) limits: Limits,
    pub(crate) lent: Lent<T>,
}

impl<T: Adding> Adder<T> {
    /// Adds the documents in files and folders. Returns their counts.
    pub(crate) fn add_documents<'py>(
        &self,
        inputs: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let (py, documents) = (inputs.py(), Documents::of(inputs)?);
        let resources = self.limits.given(&Arc::default());
        let readable = documents.get().readable(py, &resources)?;
        let Readable { paths, options, .. } = &readable;
        let recipe = self.recipe.as_ref().map(|recipe| recipe.bind(py));
        let summary: DocumentSummary = self.lent.change(
            py,
            |to| to.hasher(recipe),
            |to, (hasher, sketch_len), shared| {
                let options = options.clone().observer(shared.observer());
                let source = DocumentSource::of_texts(hasher, options).sketched(sketch_len);
                let target = to.target()?;
                let taken = source.ingest(paths, |fingerprint, id, sketch| {
                    T::push(target, fingerprint, Some(id), sketch)
                });
                taken.map_err(|error| of_row(Failure::Corpus(error), &readable))
            },
        )?;
        let faults = [summary.skipped, summary.bad_files].concat();
        let faults: Vec<String> = faults.into_iter().map(|it| readable.shown(it)).collect();
        answer!(
            py,
            "DocumentsAdded",
            summary.document_count,
            summary.empty_count,
            summary.skipped_count,
            summary.bad_file_count,
            faults
        )
    }
}

/// Adds all batches, and returns the number of their records.
pub(crate) fn add<T: Adding>(
    lent: &Lent<T>,
    fingerprints: &Bound<'_, PyAny>,
    ids: Option<&Bound<'_, PyAny>>,
) -> PyResult<usize> {
    let py = fingerprints.py();
    let mut batches = Batches::of(fingerprints, ids)?;
    let mut count = 0;
    while let Some(batch) = batches.next(py)? {
        count += batch.fingerprints.len();
        if batch.fingerprints.is_empty() {
            // An empty batch does not determine the id kind: only check that the target is usable.
            lent.check_usable()?;
            continue;
        }
        lent.change(py, |to| to.accept(&batch), |to, (), shared| push_all(to, &batch, shared))?;
    }
    Ok(count)
}

fn push_all<T: Adding>(to: &mut T, batch: &Batch, shared: &Arc<Shared>) -> Result<(), Failure> {
    let target = to.target()?;
    for (at, &fingerprint) in batch.fingerprints.iter().enumerate() {
        if at % (1 << 16) == 0 && shared.is_stopped() {
            return Err(fpstore::Error::Interrupted.into());
        }
        T::push(target, fingerprint, batch.ids.as_ref().map(|ids| ids.get(at)), &[])?;
    }
    Ok(())
}
