//! Accepts connections and limits their number and duration; at the end, waits for open requests.
//!
//! hyper serves each connection. The accept loop is written here because frameworks install no
//! timer: a client that sends its head a byte at a time would hold its connection for ever.

use std::convert::Infallible;
use std::future::poll_fn;
use std::io;
use std::net::IpAddr;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::task::Poll;
use std::time::Duration;

use http_body_util::Either;
use hyper::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio::time::{sleep, timeout};

use super::failure::{Failure, chain};
use super::routes::{self, Door};
use super::slow_clients::{Busy, TimedStream};
use super::socket::{Listener, Socket};
use crate::api::info;
use crate::state::shared::Shared;
use fpstore_base::IoError;
use fpstore_client::limits::{DRAIN_TIMEOUT, MAX_CONNECTIONS};

/// The largest number of connections beyond the limit that receive a refusal at the same time;
/// further connections are closed at once.
const TURNED_AWAY_MAX: usize = 64;
/// The longest time in which an excess connection may read its refusal.
const TURNED_AWAY_TIME: Duration = Duration::from_secs(1);
/// The largest number of connections of a listener for metrics.
const METRICS_CONNECTIONS: usize = 64;
/// The start of a request for the health of the process.
const HEALTH_LINE: &[u8; 13] = b"GET /healthz ";
/// The longest time to wait for the first bytes of an excess connection, to compare them with
/// [`HEALTH_LINE`].
const HEALTH_TIME: Duration = Duration::from_millis(200);
/// The pause after an error that the next connection would meet too, such as too many open files.
const PAUSE: Duration = Duration::from_millis(50);

/// The length of a read buffer, and of the longest head. Many connections may each hold one.
const READ_LEN: usize = 1 << 16;

/// Accepts connections until `ends` is true, then waits for the open connections.
pub(crate) async fn serve(
    server: Arc<Shared>,
    listener: Listener,
    door: Door,
    ends: watch::Receiver<bool>,
) {
    let most = match door {
        Door::All => usize::try_from(server.limits.max_connections).unwrap_or(usize::MAX),
        Door::Metrics => METRICS_CONNECTIONS,
    };
    let most = most.min(Semaphore::MAX_PERMITS);
    let places = Arc::new(Semaphore::new(most));
    let away = Arc::new(Semaphore::new(TURNED_AWAY_MAX));
    let entrance = Entrance {
        server: Arc::clone(&server),
        door,
        places: Arc::clone(&places),
        away,
        ends: ends.clone(),
        is_failing: AtomicBool::new(false),
    };
    let mut end = ends.clone();
    {
        let mut ended = pin!(end.wait_for(|ends| *ends));
        loop {
            let mut next = pin!(entrance.next(&listener));
            let is_end = poll_fn(|context| {
                if ended.as_mut().poll(context).is_ready() {
                    return Poll::Ready(true);
                }
                next.as_mut().poll(context).map(|()| false)
            });
            if is_end.await {
                break;
            }
        }
    }
    drop(listener);
    let all = u32::try_from(most).unwrap_or(u32::MAX);
    if timeout(server.limits.drain_timeout, places.acquire_many(all)).await.is_err() {
        let open = server.live.metrics.connections_open.load(Relaxed);
        server.live.log(format_args!(
            "{open} requests did not finish within --{} and were aborted",
            DRAIN_TIMEOUT.flag()
        ));
    }
}

/// Accepts connections.
struct Entrance {
    server: Arc<Shared>,
    door: Door,
    /// One permit for each connection.
    places: Arc<Semaphore>,
    /// One permit for each connection that receives a refusal.
    away: Arc<Semaphore>,
    ends: watch::Receiver<bool>,
    /// Whether accepting the last connection failed.
    is_failing: AtomicBool,
}

impl Entrance {
    async fn next(&self, listener: &Listener) {
        let accepted = match &listener.socket {
            Socket::Tcp(listener) => listener.accept().await.map(|(stream, from)| {
                // Answers are written in one piece, so delaying packets gains nothing.
                let _ = stream.set_nodelay(true);
                self.enter(stream, Some(from.ip()));
            }),
            #[cfg(unix)]
            Socket::Unix(listener) => {
                listener.accept().await.map(|(stream, _)| self.enter(stream, None))
            }
        };
        match accepted {
            Ok(()) if self.is_failing.swap(false, Relaxed) => {
                self.server.live.log(format_args!("connections are accepted again"));
            }
            Ok(()) => {}
            Err(error) if is_of_client(&error) => {}
            Err(error) => {
                self.server.live.metrics.accept_failures.fetch_add(1, Relaxed);
                if !self.is_failing.swap(true, Relaxed) {
                    let refused = IoError::of("accept", "a connection")(error);
                    let live = &self.server.live;
                    live.log(format_args!("{}; it is tried again", chain(&refused)));
                }
                sleep(PAUSE).await;
            }
        }
    }

    fn enter<S: AsyncRead + AsyncWrite + Send + Unpin + 'static>(
        &self,
        stream: S,
        client: Option<IpAddr>,
    ) {
        let metrics = &self.server.live.metrics;
        metrics.connections.fetch_add(1, Relaxed);
        match Arc::clone(&self.places).try_acquire_owned() {
            Ok(place) => {
                metrics.connections_open.fetch_add(1, Relaxed);
                let (server, ends) = (Arc::clone(&self.server), self.ends.clone());
                tokio::spawn(attend(server, stream, (self.door, client), place, ends));
            }
            Err(_) => {
                metrics.connections_refused.fetch_add(1, Relaxed);
                if let Ok(permit) = Arc::clone(&self.away).try_acquire_owned() {
                    let most = self.server.limits.max_connections;
                    tokio::spawn(turn_away(stream, most, permit));
                }
            }
        }
    }
}

/// Whether an error of `accept` concerns one connection alone, so that accepting continues at once.
fn is_of_client(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, ConnectionReset, Interrupted};
    [ConnectionAborted, ConnectionReset, Interrupted].contains(&error.kind())
}

/// Answers the requests of a connection until one side ends it.
async fn attend<S: AsyncRead + AsyncWrite + Send + Unpin + 'static>(
    server: Arc<Shared>,
    stream: S,
    (door, client): (Door, Option<IpAddr>),
    place: OwnedSemaphorePermit,
    mut ends: watch::Receiver<bool>,
) {
    let limits = &server.limits;
    let busy = Busy::default();
    let stream = TimedStream::new(stream, busy.clone(), limits.header_timeout, limits.body_timeout);
    let service = {
        let server = Arc::clone(&server);
        service_fn(move |request: Request<Incoming>| {
            let (server, busy) = (Arc::clone(&server), busy.enter());
            async move {
                let request = request.map(Either::Left);
                Ok::<_, Infallible>(routes::handle(&server, request, door, client, busy).await)
            }
        })
    };
    // hyper's time-out also runs while a connection is idle, so it gets the longer idle time;
    // `TimedStream` has the time-out of heads.
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(limits.idle_timeout)
        .half_close(true)
        .max_buf_size(READ_LEN)
        .serve_connection(TokioIo::new(stream), service);
    let mut connection = pin!(connection);
    let mut ended = pin!(ends.wait_for(|ends| *ends));
    let mut is_told = false;
    // Errors of the connection come from the client or the network, so they are ignored.
    let _ = poll_fn(|context| {
        if !is_told && ended.as_mut().poll(context).is_ready() {
            is_told = true;
            connection.as_mut().graceful_shutdown();
        }
        connection.as_mut().poll(context)
    })
    .await;
    server.live.metrics.connections_open.fetch_sub(1, Relaxed);
    drop(place);
}

/// Refuses an excess connection, but answers a request for `/healthz`: supervisors must not restart
/// a server because it is full.
async fn turn_away<S: AsyncRead + AsyncWrite + Unpin>(
    mut stream: S,
    most: u64,
    _permit: OwnedSemaphorePermit,
) {
    let failure = Failure::busy("too many connections").of_limit(&MAX_CONNECTIONS, most);
    let mut body = Vec::new();
    let tell = async {
        let mut asked = [0; HEALTH_LINE.len()];
        let is_about_health = match timeout(HEALTH_TIME, stream.read_exact(&mut asked)).await {
            Ok(read) => read.is_ok() && asked == *HEALTH_LINE,
            Err(_) => false,
        };
        let status = if is_about_health {
            body.extend_from_slice(info::ALIVE.as_bytes());
            "200 OK"
        } else {
            failure.write(&mut body);
            "503 Service Unavailable\r\nRetry-After: 1"
        };
        let head = format!(
            "HTTP/1.1 {status}\r\nContent-Type: application/json\r\nConnection: close\r\n\
             Content-Length: {}\r\n\r\n",
            body.len()
        );
        stream.write_all(&[head.as_bytes(), &body].concat()).await?;
        stream.shutdown().await?;
        // Unread bytes are read and discarded: closing with unread bytes would discard the answer.
        let mut thrown_away = [0; 1024];
        while stream.read(&mut thrown_away).await? > 0 {}
        Ok::<(), io::Error>(())
    };
    let _ = timeout(TURNED_AWAY_TIME, tell).await;
}
