//! The server: it starts, answers, and ends in order.

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

use super::health::Health;
use super::lanes::Lanes;
use super::live_store::LiveStore;
use super::metrics::Metrics;
use super::scrub;
use super::settings::ServeSettings;
use super::shared::Shared;
use crate::protocol::address::Address;
use crate::protocol::failure::Failure;
use crate::protocol::memory_budget::MemoryBudget;
use crate::protocol::request::{BoxError, ResponseBody};
use crate::protocol::slow_clients::Busy;
use crate::protocol::socket::Listener;
use crate::protocol::tokens::Tokens;
use crate::protocol::{connections, routes};
use crate::writing::Writing;
use fpstore::Stores;
use fpstore::join::JudgedPairs;
use fpstore::{Error, Result};
use fpstore::{OpenOptions, Store};

/// A server of one store, or of several that it only reads. Its clones are handles of the same server.
///
/// See [the crate](crate) for an example. Threads of the server follow the store, and write and merge
/// if it is writable; they end with [`Server::close`], or with the last handle.
#[derive(Clone)]
pub struct Server {
    shared: Arc<Shared>,
    /// True once the server is to end.
    end: watch::Sender<bool>,
    socket_mode: u32,
    anyone_may_write: bool,
    drain_delay: Duration,
    /// The thread that follows the store ends with it.
    _following: Sender<()>,
    /// So does the thread that scrubs, if there is one.
    _scrubbing: Option<Sender<()>>,
}

impl Server {
    /// Opens the store at `path`, takes the lock of its writer if the settings let the server write,
    /// and begins to read the store into memory. It may be called outside of a runtime.
    ///
    /// # Errors
    ///
    /// Those of [`Store::open`](fpstore::Store::open); [`Error::Locked`] if another process writes to
    /// the store; [`Error::Io`] if a thread cannot be started.
    pub fn open(path: impl Into<PathBuf>, settings: ServeSettings) -> Result<Self> {
        let path = path.into();
        let open = |options| Store::with_options(&path, options);
        Server::start(path.clone(), open, settings)
    }

    /// Opens several stores, see [`Stores`], and answers from all of them as from one. Each match of an
    /// answer in JSON names its store; a fingerprint that two of them hold is a match in each. The
    /// server follows all of them. It has no files to copy.
    ///
    /// # Errors
    ///
    /// As [`Server::open`] and [`Stores::with_options`]; [`Error::InvalidOptions`] also if the settings
    /// let the server write or scrub, which one store has to be named for.
    pub fn open_all<P: AsRef<Path>>(paths: &[P], settings: ServeSettings) -> Result<Self> {
        let refused = match (&settings.writing, &settings.scrub) {
            (Some(_), _) => "write to",
            (_, Some(_)) => "scrub",
            (None, None) => {
                let open = |options| Ok(Stores::with_options(paths, options)?.as_store().clone());
                let first = paths.first().map_or_else(PathBuf::new, |path| path.as_ref().into());
                return Server::start(first, open, settings);
            }
        };
        let reason = format!("a server of several stores cannot {refused} them; serve one of them");
        Err(Error::InvalidOptions { reason })
    }

    fn start(
        path: PathBuf,
        open: impl FnOnce(OpenOptions) -> Result<Store>,
        settings: ServeSettings,
    ) -> Result<Self> {
        let ServeSettings { limits, tokens, hosts, templates, .. } = settings;
        // The lock comes first: whoever cannot write need not read the store.
        let writing = settings.writing.map(|options| Writing::open(&path, options)).transpose()?;
        let live = Arc::new(LiveStore::new(
            open(settings.open)?,
            path,
            Metrics::new(routes::names()),
            Health::new(settings.stale_after),
            settings.warm,
            settings.hasher_of,
            settings.log,
        ));
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
            access_log: settings.access_log,
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

    /// What all requests share.
    #[cfg(test)]
    pub(crate) fn shared(&self) -> Arc<Shared> {
        Arc::clone(&self.shared)
    }

    /// Begins to listen at `address`. Connections wait until [`Server::run`] takes them.
    ///
    /// # Errors
    ///
    /// [`Error::Io`] if the system refuses; [`Error::InvalidOptions`] if another process listens at a
    /// Unix socket, or its path is that of something else; or if other machines reach the address and
    /// could write without a token, which
    /// [`ServeSettings::anyone_may_write`] has to allow.
    ///
    /// # Panics
    ///
    /// Outside of a tokio runtime.
    pub fn bind(&self, address: &Address) -> Result<Listener> {
        let is_open = self.shared.writing.is_some() && !self.shared.tokens().guard_writing();
        if is_open && !address.is_local() && !self.anyone_may_write {
            let reason = format!(
                "at {address} every machine could add and delete without a token: give tokens of \
                 those who may write, or listen at 127.0.0.1 or a Unix socket"
            );
            return Err(Error::InvalidOptions { reason });
        }
        Listener::bind(address, self.socket_mode)
    }

    /// Answers the connections of `listener` until [`Server::shutdown`], and then for
    /// [`ServeSettings::drain_delay`]; waits for open requests as long as [`ServeLimits::drain_timeout`](crate::ServeLimits::drain_timeout), and then does what
    /// [`Server::close`] does.
    ///
    /// # Errors
    ///
    /// As [`Server::close`].
    pub async fn run(self, listener: Listener) -> Result<()> {
        let (end, ends) = watch::channel(false);
        let (live, delay) = (Arc::clone(&self.shared.live), self.drain_delay);
        let mut asked = self.end.subscribe();
        tokio::spawn(async move {
            // It fails once all handles are gone, which ends the server as well.
            let _ = asked.wait_for(|asked| *asked).await;
            tokio::time::sleep(delay).await;
            live.health.note_end();
            end.send_replace(true);
        });
        connections::serve(Arc::clone(&self.shared), listener, ends).await;
        self.close().await
    }

    /// Answers one request, which a frontend has received by itself. It never fails: a failure is an
    /// answer too. Cut a prefix off the path before.
    ///
    /// The time-outs of heads and of answers, and the limit of connections, are those of
    /// [`Server::run`]; the frontend has its own.
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
        routes::handle(&self.shared, request, None, Busy::default().enter()).await
    }

    /// Shows the newest state of the store, after it is read into memory; this may take long. Returns
    /// whether it is another one.
    ///
    /// # Errors
    ///
    /// Those of [`Store::refresh_warm`](fpstore::Store::refresh_warm); the state before is still shown.
    pub fn refresh(&self) -> Result<bool> {
        self.shared.live.refresh()
    }

    /// Lets other tokens read and write from the next request on, as after a key was changed.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidOptions`] if reading or writing needed a token before and would need none.
    pub fn set_tokens(&self, tokens: Tokens) -> Result<()> {
        let before = self.shared.tokens();
        let opens = before.guard_reading() && !tokens.guard_reading()
            || before.guard_writing() && !tokens.guard_writing();
        if opens {
            let reason = "new tokens must guard all that needed a token before".into();
            return Err(Error::InvalidOptions { reason });
        }
        self.shared.set_tokens(tokens);
        Ok(())
    }

    /// Obeys other judged pairs from the next request on.
    pub fn set_pairs(&self, pairs: JudgedPairs) {
        self.shared.set_pairs(pairs);
    }

    /// Ends the server: `/readyz` says so at once; after [`ServeSettings::drain_delay`]
    /// [`Server::run`] takes no more connections, and streams end with the part that they have read.
    pub fn shutdown(&self) {
        self.shared.live.health.note_draining();
        self.end.send_replace(true);
    }

    /// Makes all additions durable, and frees the lock of the writer; later additions fail. A server
    /// that only reads has nothing to do.
    ///
    /// # Errors
    ///
    /// [`Error::Io`] if items that were answered with `"durable": false` could not be committed, and are
    /// lost; or if the thread of the writer has broken down.
    pub async fn close(&self) -> Result<()> {
        let Some(writing) = &self.shared.writing else { return Ok(()) };
        let failed = |failure: Failure| io::Error::other(failure.message);
        let ended = writing.end().await.map_err(failed);
        Ok(ended.map_err(IoError::of("end all writing to", &self.shared.live.path))?)
    }
}
