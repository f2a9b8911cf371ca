//! The served store: its newest generation is read into memory, and then becomes the current
//! snapshot.
//!
//! It is shared by requests, the thread that follows the store, and the threads of the writer.

use std::fmt;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::Duration;

use super::following::Following;
use super::health::{Fault, Health};
use super::metrics::{Metrics, Scrubbed};
use super::opened::{HasherOf, Opened};
use crate::protocol::failure::{Failure, chain};
use fpstore::{Error, Store, Warm, Warmed};

/// Receives log lines for the operator.
pub type Log = fn(fmt::Arguments<'_>);

/// The last used epoch. Epochs are unique in this process, because a thread may search for several
/// servers.
static EPOCH: AtomicU64 = AtomicU64::new(0);

/// The served store.
pub(crate) struct LiveStore {
    store: Store,
    pub(crate) path: PathBuf,
    pub(crate) metrics: Metrics,
    pub(crate) health: Arc<Health>,
    pub(crate) scrubbed: Scrubbed,
    /// The followed server, if this server is a follower.
    pub(crate) following: Option<Following>,
    opened: RwLock<Arc<Opened>>,
    /// Changes with `opened`, so that a thread can detect an outdated searcher with one load.
    epoch: AtomicU64,
    /// Locked during a refresh, so that only one thread refreshes the store.
    refreshing: Mutex<()>,
    warm: Option<Warm>,
    hasher_of: HasherOf,
    log: Log,
    /// Whether this server writes to the store.
    writes: AtomicBool,
    /// The id of the store at the start of the server.
    first_id: [u8; 16],
}

impl LiveStore {
    pub(crate) fn new(
        store: Store,
        path: PathBuf,
        metrics: Metrics,
        health: Health,
        warm: Option<Warm>,
        hasher_of: HasherOf,
        log: Log,
    ) -> Self {
        let opened = RwLock::new(Arc::new(Opened::of(&store, &hasher_of, None)));
        let (epoch, refreshing) = (AtomicU64::new(next_epoch()), Mutex::new(()));
        let first_id = store.state_id().store_id;
        LiveStore {
            store,
            path,
            metrics,
            health: Arc::new(health),
            scrubbed: Scrubbed::default(),
            following: None,
            opened,
            epoch,
            refreshing,
            warm,
            hasher_of,
            log,
            writes: AtomicBool::new(false),
            first_id,
        }
    }

    /// Sets the followed server.
    pub(crate) fn following(self, following: Option<Following>) -> Self {
        LiveStore { following, ..self }
    }

    /// Notes that this server writes to the store, so that replacing the store is a fault.
    pub(crate) fn note_writer(&self) {
        self.writes.store(true, Ordering::Relaxed);
    }

    pub(crate) fn store(&self) -> &Store {
        &self.store
    }

    /// The directories of the stores that are served together; empty for a single store.
    pub(crate) fn stores(&self) -> Vec<String> {
        if !self.store.is_united() {
            return Vec::new();
        }
        self.store.paths().iter().map(|path| path.display().to_string()).collect()
    }

    pub(crate) fn opened(&self) -> Arc<Opened> {
        Arc::clone(&self.opened.read().unwrap_or_else(PoisonError::into_inner))
    }

    pub(crate) fn epoch(&self) -> u64 {
        self.epoch.load(Ordering::Acquire)
    }

    pub(crate) fn log(&self, line: fmt::Arguments<'_>) {
        (self.log)(line);
    }

    /// Counts a request that is refused because the server is busy, and returns the failure.
    pub(crate) fn refused(&self, message: impl fmt::Display) -> Failure {
        self.metrics.refused.fetch_add(1, Ordering::Relaxed);
        Failure::busy(message)
    }

    /// The reason why the server should receive no queries.
    pub(crate) fn fault(&self) -> Option<Fault> {
        let lagging = || self.following.as_ref()?.fault(self.opened().generation);
        self.health.fault().or_else(lagging)
    }

    /// All counters, and the state of the server, in the text format of Prometheus. `held` are the
    /// bytes of bodies in memory, `lost` the lines missing in the access log.
    pub(crate) fn metrics_text(&self, held: u64, lost: u64) -> String {
        let health = (&*self.health, self.fault().is_none());
        let (info, following) = (self.store.info(), self.following.as_ref());
        self.metrics.text(&info, health, &self.scrubbed, following, [held, lost])
    }

    /// Starts a thread that warms the store, and then refreshes it regularly until the returned end
    /// of the channel is dropped.
    pub(crate) fn follow(self: &Arc<Self>, every: Duration) -> std::io::Result<Sender<()>> {
        let (end, ends) = channel::<()>();
        let live = Arc::clone(self);
        std::thread::Builder::new().name("refresh".into()).spawn(move || {
            live.warm_up();
            if live.following.is_some() {
                let _ = live.refresh();
            }
            while ends.recv_timeout(every) == Err(RecvTimeoutError::Timeout) {
                // `/readyz` reports a failure.
                let _ = live.refresh();
            }
        })?;
        Ok(end)
    }

    /// Reads the configured part of the store into memory, and marks it as warm.
    fn warm_up(&self) {
        let Some(what) = self.warm else { return self.health.note_start(false) };
        match self.store.warm(what) {
            Ok(warmed) => {
                if warmed.left_out > 0 {
                    let Warmed { pages, left_out, .. } = warmed;
                    self.log(format_args!(
                        "the store exceeds the memory: {pages} pages were read, {left_out} are \
                         left to queries"
                    ));
                }
                self.health.note_start(true);
            }
            Err(error) => {
                self.log(format_args!("the store cannot be read: {}", chain(&error)));
                self.health.note_damage(&error);
            }
        }
    }

    /// Reads the newest generation into memory and makes it the current snapshot. Returns whether
    /// the snapshot changed. A follower copies the generation first.
    pub(crate) fn refresh(&self) -> Result<bool, Error> {
        let _one = self.refreshing.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(following) = &self.following else { return self.refresh_from_folder() };
        let health = Arc::clone(&self.health);
        let copied = following.copy(Some(self.store.state_id()), move || health.is_ending());
        let refreshed = self.refresh_from_folder();
        let (url, result) = (following.url(), copied.and_then(|time| Ok((time, refreshed?))));
        match &result {
            Ok((time, _)) if following.note_success(*time) => {
                self.log(format_args!("following {url} works again"));
            }
            Ok(_) | Err(Error::Interrupted) => {}
            Err(error) => {
                let why = chain(error);
                if following.note_failure(&why) {
                    self.log(format_args!("following {url} failed, the last state is kept: {why}"));
                }
            }
        }
        result.map(|(_, changed)| changed)
    }

    fn refresh_from_folder(&self) -> Result<bool, Error> {
        let before = self.store.state_id().store_id;
        let refreshed = match self.warm {
            Some(what) => self.store.refresh_warm(what),
            None => self.store.refresh(),
        };
        match &refreshed {
            Ok(changed) => {
                if self.health.note_good_refresh() {
                    self.log(format_args!("the store can be read again"));
                }
                if *changed {
                    if self.warm.is_some() {
                        // The new snapshot is warm, even if warming an earlier one failed.
                        self.health.note_start(true);
                    }
                    self.note_identity(before);
                    self.show_newest();
                }
            }
            Err(error) => {
                self.metrics.refresh_failures.fetch_add(1, Ordering::Relaxed);
                let error = chain(error);
                if self.health.note_bad_refresh(&error) {
                    self.log(format_args!(
                        "refresh failed, the earlier snapshot is still served: {error}"
                    ));
                }
            }
        }
        refreshed
    }

    /// Logs that another store has replaced the served store. A read-only server serves the new
    /// store, because stores are rebuilt that way. A writing server has lost its store.
    fn note_identity(&self, before: [u8; 16]) {
        let now = self.store.state_id().store_id;
        if now == before {
            return;
        }
        let path = self.path.display();
        self.log(format_args!("{path} was replaced by another store, which is served now"));
        if !self.writes.load(Ordering::Relaxed) {
            return;
        }
        self.health.note_replaced(now != self.first_id);
        if now == self.first_id {
            self.health.note_good_commit();
        } else {
            self.health.note_bad_commit(&chain(&Error::Replaced { path: self.path.clone() }));
        }
    }

    fn show_newest(&self) {
        let before = self.opened();
        let next = Opened::of(&self.store, &self.hasher_of, Some(&before));
        *self.opened.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(next);
        self.epoch.store(next_epoch(), Ordering::Release);
        let segments = self.store.info().segments;
        self.health.forget_damage(|path| segments.iter().any(|segment| segment.path == path));
        self.metrics.refreshes.fetch_add(1, Ordering::Relaxed);
    }
}

fn next_epoch() -> u64 {
    EPOCH.fetch_add(1, Ordering::Relaxed) + 1
}
