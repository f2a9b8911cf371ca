//! The connection to a server: opened on demand, and kept between requests.

use std::ops::Range;
use std::time::Duration;

use http_body_util::{BodyExt, Full, Limited};
use hyper::body::Bytes;
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper::header::{AUTHORIZATION, CONTENT_TYPE, HOST, RANGE, RETRY_AFTER};
use hyper::http::response::Parts;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::time::{sleep, timeout};

use super::error::ClientError;
use super::url::{Place, ServerUrl};
use crate::wire::{FailureBody, FailureFields};

/// The longest time to connect.
const CONNECT_TIME: Duration = Duration::from_secs(10);
/// The number of attempts while the server is busy.
const TRIES: u32 = 8;
/// The longest pause between two attempts.
const PAUSE_MAX: Duration = Duration::from_secs(10);
/// The longest accepted answer, in bytes: 16 times the default limit of the server.
const ANSWER_LEN_MAX: usize = 1 << 30;

/// A request to a route.
#[derive(Debug)]
pub(super) struct Call<'a> {
    pub(super) method: Method,
    /// The path and the parameters.
    pub(super) path: &'a str,
    /// The `Content-Type`; empty without a body.
    pub(super) kind: &'static str,
    pub(super) body: Bytes,
    /// The requested bytes of a file.
    pub(super) range: Option<Range<u64>>,
}

impl<'a> Call<'a> {
    /// A request without a body.
    pub(super) fn new(method: Method, path: &'a str) -> Self {
        Call { method, path, kind: "", body: Bytes::new(), range: None }
    }
}

/// The connection to a server.
#[derive(Debug)]
pub(super) struct Connection {
    pub(super) url: ServerUrl,
    pub(super) token: Option<String>,
    pub(super) sender: Option<SendRequest<Full<Bytes>>>,
}

impl Connection {
    /// Like [`Connection::answer`], but an answer with another status than success is an error.
    pub(super) async fn ask(&mut self, call: &Call<'_>) -> Result<Bytes, ClientError> {
        let (head, bytes) = self.answer(call).await?;
        if head.status.is_success() { Ok(bytes) } else { Err(refused(head.status, &bytes)) }
    }

    /// Sends a request, repeats it while the server is busy, and reads the whole answer.
    pub(super) async fn answer(&mut self, call: &Call<'_>) -> Result<(Parts, Bytes), ClientError> {
        let mut tries = 0;
        loop {
            tries += 1;
            let (head, bytes) = self.send(self.request(call)?).await?.into_parts();
            if head.status == StatusCode::SERVICE_UNAVAILABLE && tries < TRIES {
                let seconds = head.headers.get(RETRY_AFTER);
                let seconds = seconds.and_then(|it| it.to_str().ok()?.parse().ok());
                if let Some(seconds) = seconds {
                    sleep(Duration::from_secs(seconds).min(PAUSE_MAX)).await;
                    continue;
                }
            }
            return Ok((head, bytes));
        }
    }

    fn request(&self, call: &Call<'_>) -> Result<Request<Full<Bytes>>, ClientError> {
        let mut request = Request::builder()
            .method(call.method.clone())
            .uri(format!("{}{}", self.url.prefix, call.path))
            .header(HOST, self.url.host());
        if let Some(token) = &self.token {
            request = request.header(AUTHORIZATION, format!("Bearer {token}"));
        }
        if !call.kind.is_empty() {
            request = request.header(CONTENT_TYPE, call.kind);
        }
        if let Some(range) = &call.range {
            request = request.header(RANGE, format!("bytes={}-{}", range.start, range.end - 1));
        }
        request.body(Full::new(call.body.clone())).map_err(|_| ClientError::Invalid {
            reason: "the address or the token has invalid characters".into(),
        })
    }

    /// Sends a request, over the open connection if there is one, and reads the whole answer.
    async fn send(
        &mut self,
        request: Request<Full<Bytes>>,
    ) -> Result<Response<Bytes>, ClientError> {
        let kept = match self.sender.take() {
            // The server may have closed the connection while it was idle.
            Some(mut kept) => kept.ready().await.is_ok().then_some(kept),
            None => None,
        };
        let is_kept = kept.is_some();
        let mut open = match kept {
            Some(kept) => kept,
            None => connect(&self.url).await?,
        };
        let again = is_kept.then(|| request.clone());
        let mut answer = open.send_request(request).await;
        // The server may have just closed the kept connection, so the request is sent again.
        // Changes are not sent over a kept connection.
        if let (Err(error), Some(again)) = (&answer, again)
            && (error.is_canceled() || error.is_closed() || error.is_incomplete_message())
        {
            open = connect(&self.url).await?;
            answer = open.send_request(again).await;
        }
        let broken = ClientError::connection("the connection broke off");
        let (head, body) = answer.map_err(broken)?.into_parts();
        let broken = ClientError::connection("the answer broke off");
        let body = Limited::new(body, ANSWER_LEN_MAX).collect().await;
        let body = body.map_err(|error| match error.downcast::<hyper::Error>() {
            Ok(error) => broken(*error),
            Err(_) => ClientError::NotAServer {
                reason: format!("its answer has more than {ANSWER_LEN_MAX} bytes"),
            },
        });
        let body = body?.to_bytes();
        self.sender = Some(open);
        Ok(Response::from_parts(head, body))
    }
}

/// The error for an answer with another status than success.
pub(super) fn refused(status: StatusCode, bytes: &[u8]) -> ClientError {
    match serde_json::from_slice(bytes) {
        Ok(FailureBody { error: FailureFields { code, message, .. } }) => {
            ClientError::Refused { code: code.into_owned(), message: message.into_owned() }
        }
        Err(_) => ClientError::NotAServer {
            reason: format!(
                "it answered {status} without a reason; is the server 'fpstore serve'?"
            ),
        },
    }
}

async fn connect(url: &ServerUrl) -> Result<SendRequest<Full<Bytes>>, ClientError> {
    match &url.place {
        Place::Tcp(place) => {
            let stream = timeout(CONNECT_TIME, TcpStream::connect(place)).await;
            let stream =
                stream.map_err(ClientError::connection(format!("{place} does not answer")));
            let stream =
                stream?.map_err(ClientError::connection(format!("cannot connect to {place}")))?;
            let _ = stream.set_nodelay(true);
            begin(stream).await
        }
        #[cfg(unix)]
        Place::Unix(path) => {
            let doing = format!("cannot connect to {}", path.display());
            let stream = tokio::net::UnixStream::connect(path).await;
            begin(stream.map_err(ClientError::connection(doing))?).await
        }
        #[cfg(not(unix))]
        Place::Unix(_) => Err(ClientError::Invalid {
            reason: "this system has no Unix sockets for fpstore".into(),
        }),
    }
}

async fn begin<S>(stream: S) -> Result<SendRequest<Full<Bytes>>, ClientError>
where
    S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
{
    let begun = handshake(TokioIo::new(stream)).await;
    let (sender, connection) =
        begun.map_err(ClientError::connection("the connection broke off"))?;
    tokio::spawn(connection);
    Ok(sender)
}
