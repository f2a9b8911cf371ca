//! Evaluation of fingerprints by pairs that are labelled by the ids of documents.

use std::sync::Arc;

use fpstore_documents::{Admission, hash_documents};
use fpstore_report::evaluate::{Evaluation, MeasuredDocuments};
use pyo3::prelude::*;

use super::recipe::hasher_of;
use crate::documents::{Documents, labels_of, of_row};
use crate::errors::{Failure, input_error};
use crate::input::fingerprints::many_or_null;
use crate::input::ids;
use crate::input::whole::Whole;
use crate::options::Limits;
use crate::store::if_store;
use crate::work::{Reporter, run};

/// The arguments of `evaluate` with labelled pairs of ids.
pub(super) struct Labelled<'a, 'py> {
    pub(super) fingerprints: &'a Bound<'py, PyAny>,
    pub(super) ids: Option<&'a Bound<'py, PyAny>>,
    pub(super) recipe: Option<&'a Bound<'py, PyAny>>,
    pub(super) threads: Option<Whole>,
    pub(super) progress: Option<&'a Bound<'py, PyAny>>,
}

impl Labelled<'_, '_> {
    /// Evaluates the labelled pairs of a file or table.
    pub(super) fn evaluate(
        &self,
        pairs: &Bound<'_, PyAny>,
        unlisted_differ: bool,
    ) -> PyResult<Evaluation> {
        let py = self.fingerprints.py();
        let labels = labels_of(pairs)?;
        let reporter = Reporter::new(self.progress)?.phases(2);
        let found = self.found(&reporter)?;
        let numbered = found.pairs(&labels);
        let numbered = numbered.map_err(|fault| input_error(py, format!("{pairs}: {fault}")))?;
        run(py, &reporter, |shared| {
            Ok(found.evaluate(&numbered, unlisted_differ, Some(shared.observer()))?)
        })
    }

    fn found(&self, reporter: &Reporter) -> PyResult<MeasuredDocuments> {
        let py = self.fingerprints.py();
        if let Some(store) = if_store(self.fingerprints, "fingerprints")? {
            self.refuse("ids", self.ids, "the ids come from the store")?;
            self.refuse("recipe", self.recipe, "the recipe comes from the store")?;
            return run(py, reporter, |_| {
                let mut found = MeasuredDocuments::default();
                found.push_store(&store)?;
                Ok(found)
            });
        }
        if let Ok(documents) = self.fingerprints.cast::<Documents>() {
            self.refuse("ids", self.ids, "the ids come from the documents, see id_field")?;
            let hasher = hasher_of(self.recipe, None)?;
            let limits = Limits::new(py, self.threads, None, None)?;
            let documents =
                documents.get().readable(py, &limits.given(&Arc::default()), Vec::new())?;
            return run(py, reporter, |shared| {
                let mut found = MeasuredDocuments::default();
                let options = documents.options.clone().observer(shared.observer());
                let read = hash_documents(&documents.paths, &hasher, &options, |document| {
                    found.push(document.id.to_string(), document.fingerprint)?;
                    Ok::<_, fpstore_corpus::Error>(Admission::Taken)
                });
                read.map_err(|error| of_row(Failure::Corpus(error), &documents))?;
                Ok(found)
            });
        }
        self.refuse("recipe", self.recipe, "the fingerprints are ready-made; it is for Documents")?;
        let Some(ids) = self.ids else {
            let message = "pairs identify documents by id: give ids, a store or Documents";
            return Err(input_error(py, message));
        };
        let (values, ids) = (many_or_null(self.fingerprints)?, ids::many(ids)?);
        if values.len() != ids.len() {
            let (values, ids) = (values.len(), ids.len());
            let message = format!("{values} fingerprints and {ids} ids, expected one id for each");
            return Err(input_error(py, message));
        }
        let mut found = MeasuredDocuments::default();
        for (at, id) in ids.iter().enumerate() {
            found.push(id.to_string(), values.get(at)).map_err(Failure::from)?;
        }
        Ok(found)
    }

    fn refuse(&self, name: &str, given: Option<&Bound<'_, PyAny>>, why: &str) -> PyResult<()> {
        match given {
            Some(_) => Err(input_error(self.fingerprints.py(), format!("leave {name} out: {why}"))),
            None => Ok(()),
        }
    }
}
