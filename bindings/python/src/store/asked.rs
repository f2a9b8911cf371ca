//! What the classes `Store` and `Stores` have in common: what is asked, until it is closed.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use fpstore::options::COUNT;
use fpstore::{Answer, FoundRecord, IdKind, IdRef, Limits, Searcher, Stores};
use pyo3::prelude::*;
use pyo3::types::{PyList, PyString};

use super::names::{Given, Names};
use super::results::{self, Found};
use super::state::{Manifests, State};
use crate::errors::{input_error, state_error};
use crate::id_columns::id_kind;
use crate::input::whole::Whole;
use crate::input::{fingerprints, ids as input_ids};
use crate::options::{checked, choice, distance_of};
use crate::work::{Reporter, held, run, run_change};

/// A store, or several as one: then their names stand beside what is found.
pub(super) struct Asked {
    pub(super) names: Option<Names>,
    state: Mutex<Option<State>>,
}

impl Asked {
    pub(super) fn one(store: fpstore::Store) -> Self {
        Asked { names: None, state: Mutex::new(Some(State::new(store, None))) }
    }

    /// Stores with the names that the user gave them.
    pub(super) fn several(stores: fpstore::Stores, names: Names) -> Self {
        let state = State::new(stores.as_store().clone(), Some(stores));
        Asked { names: Some(names), state: Mutex::new(Some(state)) }
    }

    pub(super) fn state(&self) -> MutexGuard<'_, Option<State>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn closed(&self) -> PyErr {
        state_error(if self.names.is_some() {
            "the stores are closed"
        } else {
            "the store is closed"
        })
    }

    /// The store of the library, unless this one is closed.
    pub(super) fn get(&self) -> PyResult<fpstore::Store> {
        match &*self.state() {
            Some(state) => Ok(state.store.clone()),
            None => Err(self.closed()),
        }
    }

    /// The same with the names of several.
    pub(super) fn given(&self) -> PyResult<Given> {
        Ok(Given { store: self.get()?, names: self.names.clone() })
    }

    /// The generation of each of several stores.
    pub(super) fn generations(&self) -> PyResult<Vec<u64>> {
        match &*self.state() {
            Some(state) => Ok(state.several.as_ref().map_or_else(Vec::new, Stores::generations)),
            None => Err(self.closed()),
        }
    }

    /// Whether a batch of `count` queries is short, so that the interpreter is held for it.
    pub(super) fn is_short(&self, k: u32, count: usize) -> PyResult<bool> {
        let mut state = self.state();
        let state = state.as_mut().ok_or_else(|| self.closed())?;
        Ok(!state.is_long(k, count)?)
    }

    /// Searches with one of the searchers that are kept.
    fn search<'py>(
        &self,
        py: Python<'py>,
        k: Option<u32>,
        labels: bool,
        find: impl for<'s> Fn(&'s mut Searcher, u32) -> Result<Answer<'s>, fpstore::Error> + Send + Sync,
    ) -> PyResult<Bound<'py, PyList>> {
        let (mut searcher, k, is_long) = {
            let mut state = self.state();
            let state = state.as_mut().ok_or_else(|| self.closed())?;
            let k = k.unwrap_or(state.tuned_k);
            (state.searcher(), k, state.is_long(k, 1)?)
        };
        let names = self.names.as_ref();
        let result = if is_long {
            let searcher = &mut *searcher;
            let matches = run(py, &Reporter::default(), |shared| {
                searcher.stop_flag(Arc::clone(&shared.stop));
                let matches = Found::all(find(searcher, k)?, labels)?;
                searcher.stop_flag(None);
                Ok(matches)
            });
            matches.and_then(|matches| results::found(py, &matches, names))
        } else {
            held(|| results::matches(py, find(&mut searcher, k)?, labels, names))
        };
        if result.is_ok()
            && let Some(state) = self.state().as_mut()
        {
            state.keep(searcher);
        }
        result
    }

    pub(super) fn query<'py>(
        &self,
        fingerprint: &Bound<'py, PyAny>,
        k: Option<Whole>,
        limit: Option<Whole>,
        labels: bool,
    ) -> PyResult<Bound<'py, PyList>> {
        let py = fingerprint.py();
        let needle = fingerprints::one(fingerprint)?;
        let k = k.map(|k| distance_of(py, k)).transpose()?;
        let most = crate::options::limit(py, limit)?;
        let limits = Limits::default().limit(most);
        self.search(py, k, labels, |searcher, k| searcher.search_with(needle, k, &limits))
    }

    pub(super) fn nearest<'py>(
        &self,
        fingerprint: &Bound<'py, PyAny>,
        count: i128,
        k: i128,
        labels: bool,
    ) -> PyResult<Bound<'py, PyList>> {
        let py = fingerprint.py();
        let needle = fingerprints::one(fingerprint)?;
        let k = distance_of(py, k)?;
        let most = checked(py, &COUNT, count)? as usize;
        self.search(py, Some(k), labels, |searcher, k| searcher.nearest(needle, most, k))
    }

    /// The records that have these ids, as `of` gives them.
    pub(super) fn find<T>(
        &self,
        ids: &Bound<'_, PyAny>,
        of: impl Fn(FoundRecord) -> T,
    ) -> PyResult<Vec<Vec<T>>> {
        let (store, py, ids) = (self.get()?, ids.py(), input_ids::many(ids)?);
        let found = run(py, &Reporter::default(), |shared| {
            let ids: Vec<IdRef<'_>> = ids.iter().collect();
            Ok(store.find_ids(&ids, Some(shared.observer()))?)
        })?;
        Ok(found.into_iter().map(|records| records.into_iter().map(&of).collect()).collect())
    }

    pub(super) fn contains(&self, fingerprint: &Bound<'_, PyAny>) -> PyResult<bool> {
        // All digits of a fingerprint are no id by chance.
        let is_short = |text: &Bound<'_, PyString>| text.len().is_ok_and(|len| len < 16);
        if fingerprint.cast::<PyString>().is_ok_and(is_short)
            && id_kind(&self.get()?) == IdKind::Text
        {
            let message = format!(
                "'in' asks for a fingerprint, and {0} may be an id: find([{0}]) looks for an id, \
                 int({0}, 16) is a fingerprint",
                fingerprint.repr()?
            );
            return Err(input_error(fingerprint.py(), message));
        }
        Ok(!self.query(fingerprint, Some(Whole(0)), Some(Whole(1)), false)?.is_empty())
    }

    pub(super) fn count(&self) -> PyResult<usize> {
        Ok(usize::try_from(self.get()?.info().fingerprint_count())?)
    }

    pub(super) fn recipe(&self) -> PyResult<Option<String>> {
        Ok(self.get()?.recipe().map(|recipe| recipe.text().to_owned()))
    }

    /// Goes on to the newest state of the stores in these directories.
    pub(super) fn refresh(&self, py: Python<'_>, paths: &[PathBuf]) -> PyResult<bool> {
        let store = self.get()?;
        // Where files are read into memory, a new state takes as long as that; no new state takes
        // microseconds, for which a thread that polls should not give the interpreter away.
        let manifests = Manifests::of(paths);
        let is_known = |state: &State| manifests.is_some() && state.manifests == manifests;
        let is_new = if self.state().as_ref().is_some_and(is_known) {
            held(|| Ok(store.refresh()?))?
        } else {
            let shared = Arc::default();
            run_change(py, &Reporter::default(), &shared, |_| Ok(store.refresh()?))?
        };
        if let Some(state) = self.state().as_mut() {
            if is_new {
                *state = State::new(store, state.several.take());
            }
            state.manifests = manifests;
        }
        Ok(is_new)
    }

    pub(super) fn warm(&self, py: Python<'_>, what: &str) -> PyResult<u64> {
        let (store, what) = (self.get()?, choice(py, "what", what)?);
        run(py, &Reporter::default(), |_| Ok(store.warm(what)?))
    }

    pub(super) fn is_closed(&self) -> bool {
        self.state().is_none()
    }

    /// Queries that are under way end as usual.
    pub(super) fn close(&self) {
        drop(self.state().take());
    }

    /// What follows the name of the class in the text of an object.
    pub(super) fn shown(&self, title: &str) -> String {
        let state = self.state();
        let Some(state) = &*state else { return format!("{title}, closed") };
        let info = state.store.info();
        format!("{title}: {} fingerprints, {} ids", info.fingerprint_count(), info.id_count())
    }
}
