//! The server: starts, answers requests, and ends in order.

use fpstore_base::IoError;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::mpsc::Sender;
use std::sync::{Arc, RwLock};
use std::time::Duration;

use http_body_util::{BodyExt, Either};
use hyper::body::{Body, Bytes};
use hyper::{Request, Response};
use tokio::sync::{Semaphore, watch};

use super::following::Following;
use super::health::Health;
use super::lanes::{IdPass, Lanes};
use super::live_store::LiveStore;
use super::metrics::Metrics;
use super::scrub;
use super::settings::ServeSettings;
use super::shared::Shared;
use crate::protocol::address::Address;
use crate::protocol::connections;
use crate::protocol::failure::Failure;
use crate::protocol::memory_budget::MemoryBudget;
use crate::protocol::request::{BoxError, ResponseBody};
use crate::protocol::routes::{self, Door};
use crate::protocol::slow_clients::Busy;
use crate::protocol::socket::Listener;
use crate::protocol::tokens::Tokens;
use crate::writing::Writing;
use fpstore::join::JudgedPairs;
use fpstore::{Error, OpenOptions, Result, Store, Stores};

/// A server of one store, or of several stores that it only reads. Clones are handles of the same
/// server.
///
/// See [the crate](crate) for an example. Threads of the server follow the store, and write and
/// merge if it is writable; they end with [`Server::close`], or when the last handle is dropped.
#[derive(Clone)]
pub struct Server {
    shared: Arc<Shared>,
    /// True once the server should end.
    end: watch::Sender<bool>,
    socket_mode: u32,
    anyone_may_write: bool,
    drain_delay: Duration,
    /// The thread that follows the store ends when this sender is dropped.
    _following: Sender<()>,
    /// The thread that scrubs, if there is one, ends when this sender is dropped.
    _scrubbing: Option<Sender<()>>,
}

impl Server {
    /// Opens the store at `path`, takes its writer lock if the settings allow writing, and starts
    /// to read the store into memory. It may be called outside of a runtime.
    ///
    /// # Errors
    ///
    /// The errors of [`Store::open`](fpstore::Store::open); [`Error::Locked`] if another process
    /// writes to the store; [`Error::Io`] if a thread cannot be started.
    pub fn open(path: impl Into<PathBuf>, settings: ServeSettings) -> Result<Self> {
        let path = path.into();
        let open = |options| Store::with_options(&path, options);
        Server::start(path.clone(), open, settings)
    }

    /// Opens several stores, see [`Stores`], and answers from all of them together. Each match of a
    /// JSON answer contains its store; a fingerprint in two stores is a match in each. The server
    /// follows all stores, and serves no files of them.
    ///
    /// # Errors
    ///
    /// The errors of [`Server::open`] and [`Stores::with_options`]; [`Error::InvalidOptions`] also
    /// if the settings allow writing, scrubbing or following, which need a single store.
    pub fn open_all<P: AsRef<Path>>(paths: &[P], settings: ServeSettings) -> Result<Self> {
        let refused = match (&settings.writing, &settings.scrub, &settings.follow) {
            (Some(_), ..) => "write to",
            (_, Some(_), _) => "scrub",
            (.., Some(_)) => "copy",
            (None, None, None) => {
                let open = |options| Ok(Stores::with_options(paths, options)?.as_store().clone());
                let first = paths.first().map_or_else(PathBuf::new, |path| path.as_ref().into());
                return Server::start(first, open, settings);
            }
        };
        let reason = format!("a server of several stores cannot {refused} them; serve one store");
        Err(Error::InvalidOptions { reason })
    }

    fn start(
        path: PathBuf,
        open: impl FnOnce(OpenOptions) -> Result<Store>,
        settings: ServeSettings,
    ) -> Result<Self> {
        let ServeSettings { limits, tokens, hosts, templates, .. } = settings;
        let following = match settings.follow {
            Some(_) if settings.writing.is_some() => {
                let reason = "a server that follows another one cannot write to its store".into();
                return Err(Error::InvalidOptions { reason });
            }
            Some(options) => Some(Following::start(&path, options)?),
            None => None,
        };
        // The lock comes first: if another process holds it, the store need not be opened.
        let writing = settings.writing.map(|options| Writing::open(&path, options)).transpose()?;
        let live = LiveStore::new(
            open(settings.open)?,
            path,
            Metrics::new(routes::names()),
            Health::new(settings.stale_after),
            settings.warm,
            settings.hasher_of,
            settings.log,
        );
        let live = Arc::new(live.following(following));
        if let Some(writing) = &writing {
            writing.start(&live).map_err(IoError::of("start", "the thread of the writer"))?;
        }
        let following = live.follow(settings.refresh);
        let scrubbing = settings.scrub.map(|options| scrub::start(&live, options)).transpose();
        let lanes = Lanes::start(settings.threads, limits.queue_timeout);
        let shared = Shared {
            live,
            bodies: MemoryBudget::new(limits.max_bodies, limits.max_body),
            limits,
            tokens: RwLock::new(Arc::new(tokens)),
            pairs: RwLock::new(Arc::new(settings.pairs)),
            hosts,
            templates,
            lanes: lanes.map_err(IoError::of("start", "the threads of slow questions"))?,
            refreshes: Arc::new(Semaphore::new(1)),
            writing,
            id_pass: IdPass::default(),
            access_log: settings.access_log,
            behind_proxy: settings.behind_proxy,
        };
        Ok(Server {
            shared: Arc::new(shared),
            end: watch::Sender::new(false),
            socket_mode: settings.socket_mode,
            anyone_may_write: settings.anyone_may_write,
            drain_delay: settings.drain_delay,
            _scrubbing: scrubbing.map_err(IoError::of("start", "the thread of the scrub"))?,
            _following: following.map_err(IoError::of("start", "the thread of refreshes"))?,
        })
    }

    /// The state shared by all requests.
    #[cfg(test)]
    pub(crate) fn shared(&self) -> Arc<Shared> {
        Arc::clone(&self.shared)
    }

    /// Starts to listen at `address`. Connections wait until [`Server::run`] accepts them.
    ///
    /// # Errors
    ///
    /// [`Error::Io`] if the system refuses; [`Error::InvalidOptions`] if the path of a Unix socket
    /// is used by another process or file, or if other machines can reach the address and could
    /// write without a token, unless [`ServeSettings::anyone_may_write`] is set.
    ///
    /// # Panics
    ///
    /// Outside of a tokio runtime.
    pub fn bind(&self, address: &Address) -> Result<Listener> {
        let is_open = self.shared.writing.is_some() && !self.shared.tokens().guard_writing();
        if is_open && !address.is_local() && !self.anyone_may_write {
            let reason = format!(
                "at {address} every machine could add and delete without a token: set a token for \
                 writers, or listen at 127.0.0.1 or a Unix socket"
            );
            return Err(Error::InvalidOptions { reason });
        }
        Listener::bind(address, self.socket_mode)
    }

    /// Starts to listen at `address` for [`Server::run_metrics`]. This address accepts no changes.
    ///
    /// # Errors
    ///
    /// The errors of [`Server::bind`].
    pub fn bind_metrics(&self, address: &Address) -> Result<Listener> {
        Listener::bind(address, self.socket_mode)
    }

    /// Answers the connections of `listener` until [`Server::shutdown`], and for another
    /// [`ServeSettings::drain_delay`]. Then waits for open requests, at most
    /// [`ServeLimits::drain_timeout`](crate::ServeLimits::drain_timeout), and calls
    /// [`Server::close`].
    ///
    /// # Errors
    ///
    /// The errors of [`Server::close`].
    pub async fn run(self, listener: Listener) -> Result<()> {
        connections::serve(Arc::clone(&self.shared), listener, Door::All, self.ends()).await;
        self.close().await
    }

    /// Like [`Server::run`], but serves only `/metrics`, `/healthz` and `/readyz`, without tokens:
    /// for a Prometheus server that cannot reach a Unix socket or has no token. It has its own
    /// limit of connections, so it also answers while [`Server::run`] refuses connections.
    pub async fn run_metrics(self, listener: Listener) {
        connections::serve(Arc::clone(&self.shared), listener, Door::Metrics, self.ends()).await;
    }

    /// True once connections should end: after [`Server::shutdown`] and the drain delay.
    fn ends(&self) -> watch::Receiver<bool> {
        let (end, ends) = watch::channel(false);
        let (live, delay) = (Arc::clone(&self.shared.live), self.drain_delay);
        let mut asked = self.end.subscribe();
        tokio::spawn(async move {
            // Waiting fails once all handles are dropped, which also ends the server.
            let _ = asked.wait_for(|asked| *asked).await;
            tokio::time::sleep(delay).await;
            live.health.note_end();
            end.send_replace(true);
        });
        ends
    }

    /// Answers one request that a frontend has received. It never fails: a failure is an answer
    /// too. The frontend must remove its prefix from the path.
    ///
    /// The time-outs of heads and of answers, and the limit of connections, apply to
    /// [`Server::run`] only; the frontend has its own.
    ///
    /// # Examples
    ///
    /// ```no_run
    /// # async fn mount(server: fpstore_server::Server, stream: tokio::net::TcpStream) {
    /// use hyper::service::service_fn;
    /// use hyper_util::rt::TokioIo;
    ///
    /// let service = service_fn(move |request| {
    ///     let server = server.clone();
    ///     async move { Ok::<_, std::convert::Infallible>(server.handle(request).await) }
    /// });
    /// let http = hyper::server::conn::http1::Builder::new();
    /// let _ = http.serve_connection(TokioIo::new(stream), service).await;
    /// # }
    /// ```
    pub async fn handle<B>(&self, request: Request<B>) -> Response<ResponseBody>
    where
        B: Body<Data = Bytes> + Send + 'static,
        B::Error: Into<BoxError>,
    {
        let request =
            request.map(|body| Either::Right(BodyExt::map_err(body, Into::into).boxed_unsync()));
        routes::handle(&self.shared, request, Door::All, None, Busy::default().enter()).await
    }

    /// Reads the newest generation of the store into memory, which may take long, and makes it the
    /// current snapshot. Returns whether the snapshot changed.
    ///
    /// # Errors
    ///
    /// The errors of [`Store::refresh_warm`](fpstore::Store::refresh_warm); after an error the
    /// server keeps its snapshot.
    pub fn refresh(&self) -> Result<bool> {
        self.shared.live.refresh()
    }

    /// Replaces the tokens from the next request on.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidOptions`] if reading or writing needed a token and would no longer need one.
    pub fn set_tokens(&self, tokens: Tokens) -> Result<()> {
        let before = self.shared.tokens();
        let opens = before.guard_reading() && !tokens.guard_reading()
            || before.guard_writing() && !tokens.guard_writing();
        if opens {
            let reason = "new tokens must protect everything that needed a token before".into();
            return Err(Error::InvalidOptions { reason });
        }
        self.shared.set_tokens(tokens);
        Ok(())
    }

    /// Replaces the judged pairs from the next request on.
    pub fn set_pairs(&self, pairs: JudgedPairs) {
        self.shared.set_pairs(pairs);
    }

    /// Ends the server: `/readyz` reports this at once. After [`ServeSettings::drain_delay`],
    /// [`Server::run`] accepts no more connections, and streams end after the lines read so far.
    pub fn shutdown(&self) {
        self.shared.live.health.note_draining();
        self.end.send_replace(true);
    }

    /// Makes all additions durable, and frees the writer lock; later additions fail. It has no
    /// effect on a read-only server.
    ///
    /// # Errors
    ///
    /// [`Error::Io`] if items that were answered with `"durable": false` could not be committed,
    /// and are lost; or if the writer thread panicked.
    pub async fn close(&self) -> Result<()> {
        let Some(writing) = &self.shared.writing else { return Ok(()) };
        let failed = |failure: Failure| io::Error::other(failure.message);
        let ended = writing.end().await.map_err(failed);
        Ok(ended.map_err(IoError::of("end all writing to", &self.shared.live.path))?)
    }
}
