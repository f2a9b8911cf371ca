//! The class `Client`: its calls that change the store.

use std::borrow::Cow;

use fpstore::writer::Compaction;
use fpstore::{Fingerprint, IdKind, Recipe};
use fpstore_client::{
    AddBody, AddItem, AddStatus, AddedItem, DeleteAnswer, ExpireBody, ReplaceBody,
};
use pyo3::prelude::*;
use pyo3::types::PyList;

use super::answers::id_of;
use super::client::Client;
use super::connection::Connection;
use crate::answer_columns::{Near, common_id_kind};
use crate::checked::CheckedRows;
use crate::errors::{Failure, input_error};
use crate::input::arguments::{text, text_or_none, texts};
use crate::input::fingerprints;
use crate::input::ids::{self as input_ids, Ids};
use crate::input::texts::TextInput;
use crate::input::whole::Whole;
use crate::options::{choice, distance_of};
use crate::recipes::{common, recipe_of};
use crate::rows::Rows;
use crate::tuple_class::answer;
use crate::work::Shared;

/// The items of a request: ids with fingerprints, or with texts that the server hashes.
struct Items {
    values: Values,
    count: usize,
    ids: Option<Ids>,
    /// The recipe of the fingerprints, if it is known.
    recipe: Option<Recipe>,
    /// Whether the caller guarantees that fingerprints have the recipe of the store.
    same_recipe: bool,
}

enum Values {
    Fingerprints(Vec<Fingerprint>),
    Texts(TextInput),
}

impl Items {
    fn of(
        py: Python<'_>,
        given: Option<&Bound<'_, PyAny>>,
        texts: Option<&Bound<'_, PyAny>>,
        ids: Option<&Bound<'_, PyAny>>,
        same_recipe: bool,
    ) -> PyResult<Self> {
        let (values, recipe) = match (given, texts) {
            (Some(given), None) => {
                (Values::Fingerprints(fingerprints::many(given)?), recipe_of(given)?)
            }
            (None, Some(texts)) => (Values::Texts(TextInput::of(texts)?), None),
            _ => return Err(input_error(py, "give either fingerprints or texts")),
        };
        let ids = ids.map(input_ids::many).transpose()?;
        let count = match &values {
            Values::Fingerprints(values) => values.len(),
            Values::Texts(texts) => texts.len(),
        };
        if let Some(ids) = ids.as_ref().filter(|ids| ids.len() != count) {
            let message = format!("{count} records and {} ids, expected one id each", ids.len());
            return Err(input_error(py, message));
        }
        if let Values::Texts(texts) = &values
            && let Some(at) = (0..count).find(|&at| texts.get(at).is_none())
        {
            return Err(input_error(py, format!("text number {at} is None")));
        }
        Ok(Items { values, count, ids, recipe, same_recipe })
    }

    /// The items of the request, in order.
    fn body(&self) -> Vec<AddItem<'_>> {
        let item = |at: usize| {
            let id = self.ids.as_ref().map(|ids| Cow::Owned(ids.get(at).to_string()));
            let (fingerprint, text) = match &self.values {
                Values::Fingerprints(values) => (Some(values[at].to_string().into()), None),
                Values::Texts(texts) => (None, texts.get(at).map(Cow::Borrowed)),
            };
            AddItem { fingerprint, text, id }
        };
        (0..self.count).map(item).collect()
    }

    /// `Some(true)` if the fingerprints have the recipe of the store, `None` if their recipe is
    /// unknown. Fails if the recipes differ.
    fn is_same(
        &self,
        connection: &mut Connection,
        shared: &Shared,
    ) -> Result<Option<bool>, Failure> {
        let Some(recipe) = self.recipe.clone() else {
            return Ok(self.same_recipe.then_some(true));
        };
        common(connection.served(shared, None)?.recipe, Some(recipe))?;
        Ok(Some(true))
    }

    fn id_kind(&self) -> IdKind {
        match &self.ids {
            None => IdKind::None,
            Some(Ids::Numbers(_)) => IdKind::U64,
            Some(Ids::Texts(_)) => IdKind::Text,
        }
    }
}

/// Converts the results of the server to the rows that `Writer.check_and_add` returns.
fn checked_rows(results: &[AddedItem], kind: IdKind) -> Result<Rows, Failure> {
    let mut rows = CheckedRows::new(kind);
    for result in results {
        let found = result.near.as_ref().map(|near| Near {
            fingerprint: near.fingerprint.fingerprint.value(),
            distance: near.distance,
            id: near.ids.first().map(|id| id_of(id, kind)),
        });
        rows.keep(result.status == AddStatus::New, found.as_ref())?;
    }
    rows.finish()
}

fn deleted<'py>(py: Python<'py>, done: &DeleteAnswer) -> PyResult<Bound<'py, PyAny>> {
    answer!(py, "Deleted", done.wanted, done.found, done.fingerprints, done.ids)
}

#[pymethods]
impl Client {
    /// Adds each record without a near record in the store or earlier in this call. All records are
    /// sent in one request: either all new ones are added, or none.
    ///
    /// Parameters
    /// ----------
    /// fingerprints : array, list or Column, optional
    ///     The fingerprints, at most `max_items` of the server's limits.
    /// ids : array or list, optional
    ///     One id for each fingerprint or text.
    /// k : int, optional
    ///     Maximum distance of near records in bits.
    /// texts : list or array of str, optional
    ///     Texts, given instead of fingerprints; the server makes their fingerprints.
    /// durable : bool, default True
    ///     `False` returns before the new records are on disk.
    /// same_recipe : bool, default False
    ///     Guarantees that ready-made fingerprints have the recipe of the store. The fingerprints
    ///     of a `Column` need no guarantee: it contains their recipe.
    ///
    /// Returns
    /// -------
    /// Rows
    ///     Rows with the columns that `Writer.check_and_add` returns.
    #[pyo3(signature = (
        fingerprints=None, ids=None, k=None, *, texts=None, durable=true, same_recipe=false
    ))]
    fn check_and_add(
        &self,
        py: Python<'_>,
        fingerprints: Option<&Bound<'_, PyAny>>,
        ids: Option<&Bound<'_, PyAny>>,
        k: Option<Whole>,
        texts: Option<&Bound<'_, PyAny>>,
        durable: bool,
        same_recipe: bool,
    ) -> PyResult<Rows> {
        let k = k.map(|k| distance_of(py, k)).transpose()?;
        let items = Items::of(py, fingerprints, texts, ids, same_recipe)?;
        let (results, kind) = self.connections.change(py, move |connection, shared| {
            let same_recipe = items.is_same(connection, shared)?;
            let kept = connection.served(shared, None)?.ids;
            let durable = (!durable).then_some(false);
            let body = AddBody { k, durable, same_recipe, max_cost: None, items: items.body() };
            let answer =
                connection.ask(shared, async |client| client.check_and_add(&body).await)?;
            Ok((answer.results, common_id_kind([kept, items.id_kind()])))
        })?;
        Ok(checked_rows(&results, kind)?)
    }

    /// Adds records after deleting the stored records with the same ids, in one step and durably.
    ///
    /// Parameters
    /// ----------
    /// fingerprints : array, list or Column, optional
    /// ids : array or list
    /// texts : list or array of str, optional
    ///     Texts, given instead of fingerprints; the server makes their fingerprints.
    /// same_recipe : bool, default False
    ///     Guarantees that ready-made fingerprints have the recipe of the store. The fingerprints
    ///     of a `Column` need no guarantee: it contains their recipe.
    ///
    /// Returns
    /// -------
    /// fpstore.types.Deleted
    #[pyo3(signature = (fingerprints=None, ids=None, *, texts=None, same_recipe=false))]
    fn replace<'py>(
        &self,
        py: Python<'py>,
        fingerprints: Option<&Bound<'py, PyAny>>,
        ids: Option<&Bound<'py, PyAny>>,
        texts: Option<&Bound<'py, PyAny>>,
        same_recipe: bool,
    ) -> PyResult<Bound<'py, PyAny>> {
        let items = Items::of(py, fingerprints, texts, ids, same_recipe)?;
        let done = self.connections.change(py, move |connection, shared| {
            let same_recipe = items.is_same(connection, shared)?;
            let body = ReplaceBody { same_recipe, items: items.body() };
            connection.ask(shared, async |client| client.replace(&body).await)
        })?;
        deleted(py, &done)
    }

    /// Deletes ids from the store of the server, durably.
    ///
    /// Parameters
    /// ----------
    /// ids : array or list
    #[doc = parameters!(dry_run)]
    ///
    /// Returns
    /// -------
    /// fpstore.types.Deleted
    #[pyo3(signature = (ids, *, dry_run=false))]
    fn delete_ids<'py>(
        &self,
        py: Python<'py>,
        ids: &Bound<'py, PyAny>,
        dry_run: bool,
    ) -> PyResult<Bound<'py, PyAny>> {
        let ids: Vec<String> = input_ids::many(ids)?.iter().map(|id| id.to_string()).collect();
        let done = self.connections.change(py, move |connection, shared| {
            connection.ask(shared, async |client| {
                if dry_run {
                    client.would_delete_ids(ids).await
                } else {
                    client.delete_ids(ids).await
                }
            })
        })?;
        deleted(py, &done)
    }

    /// Removes segments with expired labels.
    ///
    /// Parameters
    /// ----------
    #[doc = parameters!(expire dry_run)]
    ///
    /// Returns
    /// -------
    /// list of fpstore.types.ExpiredSegment
    #[pyo3(signature = (before=None, *, older_than=None, all=false, dry_run=false))]
    fn expire<'py>(
        &self,
        py: Python<'py>,
        #[pyo3(from_py_with = text_or_none)] before: Option<String>,
        #[pyo3(from_py_with = text_or_none)] older_than: Option<String>,
        all: bool,
        dry_run: bool,
    ) -> PyResult<Bound<'py, PyList>> {
        let body = ExpireBody { older_than, before, all, dry_run };
        let done = self.connections.change(py, move |connection, shared| {
            connection.ask(shared, async |client| client.expire(&body).await)
        })?;
        let segments = done.segments.iter().map(|of| {
            answer!(py, "ExpiredSegment", of.number, of.label.as_str(), of.fingerprints, of.bytes)
        });
        PyList::new(py, segments.collect::<PyResult<Vec<_>>>()?)
    }

    /// Sets the label of records that are added after this call.
    ///
    /// Parameters
    /// ----------
    /// label : str
    ///     `"today"` is the date in UTC; an empty text removes the label.
    ///
    /// Returns
    /// -------
    /// str
    ///     The label that was set.
    fn set_label(
        &self,
        py: Python<'_>,
        #[pyo3(from_py_with = text)] label: String,
    ) -> PyResult<String> {
        let done = self.connections.change(py, move |connection, shared| {
            connection.ask(shared, async |client| client.set_label(label).await)
        })?;
        Ok(done.label)
    }

    /// Makes the server merge segments in the background. Returns before they are merged.
    ///
    /// Parameters
    /// ----------
    #[doc = parameters!(what)]
    #[pyo3(signature = (what="tier"))]
    fn compact(&self, py: Python<'_>, #[pyo3(from_py_with = text)] what: &str) -> PyResult<()> {
        let _: Compaction = choice(py, "what", what)?;
        self.connections.change(py, move |connection, shared| {
            connection.ask(shared, async |client| client.compact(Some(what)).await).map(drop)
        })
    }

    /// Makes the server copy segments into its store.
    ///
    /// Parameters
    /// ----------
    /// sources : list of str
    ///     Stores or segment files, relative to the folder of the served store.
    ///
    /// Returns
    /// -------
    /// fpstore.types.Imported
    fn import_<'py>(
        &self,
        py: Python<'py>,
        #[pyo3(from_py_with = texts)] sources: Vec<String>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let done = self.connections.change(py, move |connection, shared| {
            connection.ask(shared, async |client| client.import(sources).await)
        })?;
        answer!(py, "Imported", done.segments, done.fingerprints, done.bytes)
    }

    /// Makes the server read the newest snapshot of its store now. Returns whether the snapshot is
    /// new.
    fn refresh(&self, py: Python<'_>) -> PyResult<bool> {
        let done = self.connections.run(py, |connection, shared| {
            connection.ask(shared, async |client| client.refresh().await)
        })?;
        Ok(done.changed)
    }
}
