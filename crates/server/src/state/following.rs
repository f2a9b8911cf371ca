//! Following: copies each new generation of another server's store into the folder of the served
//! store.

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use serde_json::{Value, json};

use super::health::Fault;
use crate::protocol::failure::chain;
use fpstore::state::{MANIFEST, StateId};
use fpstore::writer::BackupOptions;
use fpstore::{Error, Observer, Result};
use fpstore_client::{Client, Followed};

/// How a server follows the store of another server.
#[derive(Clone, Debug)]
pub struct FollowOptions {
    /// The address of the followed server: `http://ADDRESS:PORT` or `unix:PATH`.
    pub url: String,
    /// The token for reading, if that server needs one.
    pub token: Option<String>,
    /// The lag above which `/readyz` reports that the server is not ready.
    pub max_lag: Duration,
}

impl Default for FollowOptions {
    /// Follows a server on this machine, with a lag of up to a minute.
    fn default() -> Self {
        let url = "http://127.0.0.1:7700".into();
        FollowOptions { url, token: None, max_lag: Duration::from_secs(60) }
    }
}

/// The followed server, and how far this server is behind it.
pub(crate) struct Following {
    path: PathBuf,
    url: String,
    max_lag: Duration,
    source: Mutex<Followed>,
    progress: Mutex<Progress>,
    pub(super) failures: AtomicU64,
    pub(super) bytes: AtomicU64,
}

struct Progress {
    /// A time, and the lag at that time: how long before, this server had the newest generation.
    fresh: (Instant, Duration),
    /// The newest known generation of the followed store.
    newest: Option<u64>,
    /// The error of the last attempt.
    failing: Option<String>,
}

/// The lag of a follower.
pub(super) struct Lag {
    pub(super) seconds: f64,
    /// The number of missing generations; `None` before the first answer of the followed server.
    pub(super) generations: Option<u64>,
}

impl Following {
    /// Follows a server, and copies its store if there is no store at `path`.
    pub(super) fn start(path: &Path, options: FollowOptions) -> Result<Self> {
        let FollowOptions { url, token, max_lag } = options;
        let client = Client::new(&url);
        let client = client.map_err(|error| Error::InvalidOptions { reason: chain(&error) })?;
        let client = match token {
            Some(token) => client.token(token),
            None => client,
        };
        let manifest = path.join(MANIFEST);
        let written = manifest.metadata().and_then(|it| it.modified());
        // The generation in the folder was the newest one when it was copied, so about when its
        // manifest was written.
        let age = written.ok().map(|then| SystemTime::now().duration_since(then));
        let fresh = (Instant::now(), age.map_or(Duration::ZERO, Result::unwrap_or_default));
        let following = Following {
            path: path.into(),
            url,
            max_lag,
            source: Mutex::new(Followed::new(client)?),
            progress: Mutex::new(Progress { fresh, newest: None, failing: None }),
            failures: AtomicU64::new(0),
            bytes: AtomicU64::new(0),
        };
        if manifest.symlink_metadata().is_err() {
            following.copy(None, || false)?;
        }
        Ok(following)
    }

    fn progress(&self) -> MutexGuard<'_, Progress> {
        self.progress.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn url(&self) -> &str {
        &self.url
    }

    /// Copies the newest generation to the folder, unless it is the `shown` one. Returns a time at
    /// which the generation in the folder was the newest one.
    pub(super) fn copy(
        &self,
        shown: Option<StateId>,
        is_ending: impl Fn() -> bool + Send + Sync + 'static,
    ) -> Result<Instant> {
        let mut source = self.source.lock().unwrap_or_else(PoisonError::into_inner);
        let time = Instant::now();
        let newest = source.state()?;
        self.progress().newest = Some(newest.generation);
        if shown == Some(newest) {
            return Ok(time);
        }
        let observer = Observer::new(move |_| match is_ending() {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        });
        let options = BackupOptions::default().follows(self.url.clone()).observer(observer);
        let done = source.copy(&self.path, &options)?;
        self.bytes.fetch_add(done.copied_len, Relaxed);
        let newest = &mut self.progress().newest;
        *newest = (*newest).max(Some(done.generation));
        Ok(time)
    }

    /// Notes that the newest generation at `time` is now served. Returns whether attempts failed
    /// before.
    pub(super) fn note_success(&self, time: Instant) -> bool {
        let mut progress = self.progress();
        progress.fresh = (time, Duration::ZERO);
        progress.failing.take().is_some()
    }

    /// Notes a failure. Returns whether it is the first, or its reason differs from the last one.
    pub(super) fn note_failure(&self, why: &str) -> bool {
        self.failures.fetch_add(1, Relaxed);
        let before = self.progress().failing.replace(why.into());
        before.as_deref() != Some(why)
    }

    /// How far the `shown` generation is behind the followed server.
    pub(super) fn lag(&self, shown: u64) -> Lag {
        let progress = self.progress();
        let (since, age) = progress.fresh;
        let generations = progress.newest.map(|newest| newest.saturating_sub(shown));
        Lag { seconds: (since.elapsed() + age).as_secs_f64(), generations }
    }

    /// The reason why this server should receive no queries, if it is too far behind.
    pub(super) fn fault(&self, shown: u64) -> Option<Fault> {
        let Lag { seconds, generations } = self.lag(shown);
        if seconds <= self.max_lag.as_secs_f64() {
            return None;
        }
        let why = self.progress().failing.clone();
        let why = why.unwrap_or_else(|| match generations {
            Some(generations) => format!("{generations} generations are still to be copied"),
            None => "it has not answered yet".into(),
        });
        let (url, most) = (&self.url, self.max_lag.as_secs_f64());
        let lag = format!("{seconds:.0} s behind {url}, and {most} s are allowed: {why}");
        Some(("follow-lagging", lag))
    }

    /// The progress as a part of the answer of `/readyz`.
    pub(crate) fn report(&self, shown: u64) -> Value {
        let Lag { seconds, generations } = self.lag(shown);
        let failing = self.progress().failing.clone();
        json!({
            "from": self.url, "lag_seconds": seconds, "lag_generations": generations, "message": failing
        })
    }
}
