//! What all requests share: the store as it is shown, the limits, and how the server is.

use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::Duration;

use fpstore::{Store, Warm};
use tokio::sync::Semaphore;

use super::super::recipe_files::RecipeFileArgs;
use super::health::Health;
use super::limits::Limits;
use super::metrics::Metrics;
use super::page::Templates;
use super::shown::Shown;
use super::tokens::Tokens;
use super::writing::Writing;

/// The server. Handlers, the refresher and the writer share it.
pub(super) struct Server {
    store: Store,
    pub(super) path: PathBuf,
    pub(super) limits: Limits,
    pub(super) tokens: Tokens,
    /// Names in the header `Host` that are accepted beside those of this machine; `None` for any.
    pub(super) hosts: Option<Vec<String>>,
    pub(super) templates: Templates,
    pub(super) metrics: Metrics,
    /// One permit for each search that runs in the pool.
    pub(super) pool: Arc<Semaphore>,
    /// One refresh by request at a time: it may take long, and must not fill the pool.
    pub(super) refreshes: Arc<Semaphore>,
    pub(super) writing: Option<Writing>,
    health: Health,
    shown: RwLock<Arc<Shown>>,
    /// Changes with `shown`, so that a thread sees with one load that its searcher is old.
    epoch: AtomicU64,
    /// One refresh at a time.
    refreshing: Mutex<()>,
    warm: Option<Warm>,
    recipe_files: RecipeFileArgs,
}

/// What a server is made of.
pub(super) struct Parts {
    pub(super) store: Store,
    pub(super) path: PathBuf,
    pub(super) limits: Limits,
    pub(super) tokens: Tokens,
    pub(super) hosts: Option<Vec<String>>,
    pub(super) templates: Templates,
    pub(super) pool: usize,
    pub(super) writing: Option<Writing>,
    pub(super) stale_after: Duration,
    pub(super) warm: Option<Warm>,
    pub(super) recipe_files: RecipeFileArgs,
}

impl Server {
    pub(super) fn new(parts: Parts) -> Self {
        let Parts { store, path, limits, tokens, hosts, templates, writing, .. } = parts;
        let shown = Shown::of(&store, &parts.recipe_files, None);
        Server {
            store,
            path,
            limits,
            tokens,
            hosts,
            templates,
            metrics: Metrics::new(),
            pool: Arc::new(Semaphore::new(parts.pool)),
            refreshes: Arc::new(Semaphore::new(1)),
            writing,
            health: Health::new(parts.stale_after),
            shown: RwLock::new(Arc::new(shown)),
            epoch: AtomicU64::new(1),
            refreshing: Mutex::new(()),
            warm: parts.warm,
            recipe_files: parts.recipe_files,
        }
    }

    pub(super) fn store(&self) -> &Store {
        &self.store
    }

    pub(super) fn health(&self) -> &Health {
        &self.health
    }

    pub(super) fn shown(&self) -> Arc<Shown> {
        Arc::clone(&self.shown.read().unwrap_or_else(PoisonError::into_inner))
    }

    pub(super) fn epoch(&self) -> u64 {
        self.epoch.load(Ordering::Acquire)
    }

    /// Reads the store into memory as far as was asked, and counts as warm from then on.
    pub(super) fn warm_up(&self) {
        let Some(what) = self.warm else { return self.health.note_start(false) };
        match self.store.warm(what) {
            Ok(_) => self.health.note_start(true),
            Err(error) => {
                let error = anyhow::Error::from(error);
                message!("the store cannot be read: {error:#}");
                self.health.note_damage(format!("{error:#}"));
            }
        }
    }

    /// Shows the newest state of the store, after it is warm. Returns whether it is another one.
    pub(super) fn refresh(&self) -> Result<bool, fpstore::Error> {
        let _one = self.refreshing.lock().unwrap_or_else(PoisonError::into_inner);
        let refreshed = match self.warm {
            Some(what) => self.store.refresh_warm(what),
            None => self.store.refresh(),
        };
        match &refreshed {
            Ok(changed) => {
                if self.health.note_good_refresh() {
                    message!("the store can be read again");
                }
                if *changed {
                    self.show_newest();
                }
            }
            Err(error) => {
                self.metrics.refresh_failures.fetch_add(1, Ordering::Relaxed);
                let error = chain(error);
                if self.health.note_bad_refresh(&error) {
                    message!("refresh failed, the state before is still shown: {error}");
                }
            }
        }
        refreshed
    }

    fn show_newest(&self) {
        let before = self.shown();
        let next = Shown::of(&self.store, &self.recipe_files, Some(&before));
        *self.shown.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(next);
        self.epoch.fetch_add(1, Ordering::AcqRel);
        self.health.forget_damage();
        self.metrics.refreshes.fetch_add(1, Ordering::Relaxed);
    }
}

/// An error with its causes, on one line.
pub(super) fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text.push_str(&format!(": {error}"));
        cause = error.source();
    }
    text
}
