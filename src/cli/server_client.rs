//! A client of `fpstore serve`: one connection, one request at a time.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, bail};
use http_body_util::{BodyExt, Full};
use hyper::body::Bytes;
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper::header::{AUTHORIZATION, CONTENT_TYPE, HOST, RETRY_AFTER};
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::runtime::Runtime;
use tokio::time::{sleep, timeout};

/// How long a connection may take.
const CONNECT_TIME: Duration = Duration::from_secs(10);
/// How often a busy server is asked again.
const TRIES: u32 = 8;
/// The longest pause before that.
const PAUSE_MAX: Duration = Duration::from_secs(10);

/// Where a server listens.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Place {
    /// A name and a port.
    Tcp(String),
    Unix(PathBuf),
}

/// A server, as its address names it.
#[derive(Clone, Debug, PartialEq, Eq)]
struct ServerUrl {
    place: Place,
    /// What stands before the path of each route, where a proxy has one.
    prefix: String,
}

impl ServerUrl {
    fn parse(text: &str) -> anyhow::Result<Self> {
        if let Some(path) = text.strip_prefix("unix:") {
            return Ok(ServerUrl { place: Place::Unix(path.into()), prefix: String::new() });
        }
        if text.starts_with("https:") {
            bail!(
                "--server {text}: this program speaks no TLS; run it where the server or its proxy \
                 can be reached by http, or through an SSH tunnel"
            );
        }
        let Some(rest) = text.strip_prefix("http://") else {
            bail!("--server {text}: expected http://ADDRESS:PORT or unix:PATH");
        };
        let (host, prefix) = rest.find('/').map_or((rest, ""), |at| rest.split_at(at));
        if host.is_empty() || host.contains(['@', '?', '#']) || prefix.contains(['?', '#']) {
            bail!("--server {text}: expected http://ADDRESS:PORT or unix:PATH");
        }
        let has_port = host.rsplit_once(':').is_some_and(|(_, port)| port.parse::<u16>().is_ok());
        let place = if has_port { host.into() } else { format!("{host}:80") };
        let prefix = prefix.trim_end_matches('/').into();
        Ok(ServerUrl { place: Place::Tcp(place), prefix })
    }

    fn host(&self) -> &str {
        match &self.place {
            Place::Tcp(place) => place,
            Place::Unix(_) => "localhost",
        }
    }
}

/// Why a server did not answer what it was asked.
#[derive(Debug)]
pub(super) struct Refused {
    /// The stable code of the failure.
    pub(super) code: String,
    message: String,
}

impl std::fmt::Display for Refused {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "the server refused: {} [{}]", self.message, self.code)
    }
}

impl std::error::Error for Refused {}

#[derive(Deserialize)]
struct Failure {
    error: FailureFields,
}

#[derive(Deserialize)]
struct FailureFields {
    code: String,
    message: String,
}

/// A connection to a server.
pub(super) struct Client {
    runtime: Runtime,
    url: ServerUrl,
    name: String,
    token: Option<String>,
    sender: Option<SendRequest<Full<Bytes>>>,
}

impl Client {
    pub(super) fn new(url: &str, token_file: Option<&Path>) -> anyhow::Result<Self> {
        let token = match token_file {
            Some(path) => Some(first_token(path)?),
            None => super::command::variable("FPSTORE_TOKEN")
                .map(|token| token.into_string().ok().context("FPSTORE_TOKEN is not UTF-8"))
                .transpose()?,
        };
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.context("cannot start the connection")?;
        Ok(Client { runtime, url: ServerUrl::parse(url)?, name: url.into(), token, sender: None })
    }

    /// Sends a request and parses its answer.
    pub(super) fn ask<T: DeserializeOwned>(
        &mut self,
        method: &Method,
        path: &str,
        body: Option<(&str, Bytes)>,
    ) -> anyhow::Result<T> {
        let Client { runtime, url, name, token, sender } = self;
        let doing = || format!("cannot ask {name}");
        let bytes = runtime.block_on(async {
            let mut tries = 0;
            loop {
                tries += 1;
                let request = request(url, token.as_deref(), method, path, body.clone())?;
                let answer = send(url, sender, request).await.with_context(doing)?;
                let (head, bytes) = answer.into_parts();
                if head.status == StatusCode::SERVICE_UNAVAILABLE && tries < TRIES {
                    let seconds = head.headers.get(RETRY_AFTER);
                    let seconds = seconds.and_then(|it| it.to_str().ok()?.parse().ok());
                    if let Some(seconds) = seconds {
                        sleep(Duration::from_secs(seconds).min(PAUSE_MAX)).await;
                        continue;
                    }
                }
                if head.status.is_success() {
                    return Ok(bytes);
                }
                return Err(refused(head.status, &bytes)).with_context(doing);
            }
        })?;
        serde_json::from_slice(&bytes)
            .with_context(|| format!("what {} answered is not from this kind of server", self.name))
    }
}

fn refused(status: StatusCode, bytes: &[u8]) -> anyhow::Error {
    match serde_json::from_slice(bytes) {
        Ok(Failure { error: FailureFields { code, message } }) => Refused { code, message }.into(),
        Err(_) => anyhow::anyhow!("it answered {status}, and no reason; is it 'fpstore serve'?"),
    }
}

fn request(
    url: &ServerUrl,
    token: Option<&str>,
    method: &Method,
    path: &str,
    body: Option<(&str, Bytes)>,
) -> anyhow::Result<Request<Full<Bytes>>> {
    let mut request = Request::builder()
        .method(method)
        .uri(format!("{}{path}", url.prefix))
        .header(HOST, url.host());
    if let Some(token) = token {
        request = request.header(AUTHORIZATION, format!("Bearer {token}"));
    }
    let (kind, body) = body.unwrap_or_default();
    if !kind.is_empty() {
        request = request.header(CONTENT_TYPE, kind);
    }
    request.body(Full::new(body)).context("the address or the token has characters it cannot have")
}

/// Sends a request, over the open connection if there is one, and reads the whole answer.
async fn send(
    url: &ServerUrl,
    sender: &mut Option<SendRequest<Full<Bytes>>>,
    request: Request<Full<Bytes>>,
) -> anyhow::Result<Response<Bytes>> {
    let kept = match sender.take() {
        // A server ends connections that were idle for long.
        Some(mut kept) => kept.ready().await.is_ok().then_some(kept),
        None => None,
    };
    let is_kept = kept.is_some();
    let mut open = match kept {
        Some(kept) => kept,
        None => connect(url).await?,
    };
    let again = is_kept.then(|| request.clone());
    let mut answer = open.send_request(request).await;
    // It may have ended just now. A question that is asked twice changes nothing.
    if let (Err(error), Some(again)) = (&answer, again)
        && (error.is_canceled() || error.is_closed() || error.is_incomplete_message())
    {
        open = connect(url).await?;
        answer = open.send_request(again).await;
    }
    let (head, body) = answer.context("the connection broke off")?.into_parts();
    let body = body.collect().await.context("the answer broke off")?.to_bytes();
    *sender = Some(open);
    Ok(Response::from_parts(head, body))
}

async fn connect(url: &ServerUrl) -> anyhow::Result<SendRequest<Full<Bytes>>> {
    match &url.place {
        Place::Tcp(place) => {
            let stream = timeout(CONNECT_TIME, TcpStream::connect(place)).await;
            let stream = stream.with_context(|| format!("{place} does not answer"))?;
            let stream = stream.with_context(|| format!("cannot connect to {place}"))?;
            let _ = stream.set_nodelay(true);
            begin(stream).await
        }
        #[cfg(unix)]
        Place::Unix(path) => {
            let stream = tokio::net::UnixStream::connect(path).await;
            begin(stream.with_context(|| format!("cannot connect to {}", path.display()))?).await
        }
        #[cfg(not(unix))]
        Place::Unix(_) => bail!("this system has no Unix sockets for fpstore"),
    }
}

async fn begin<S>(stream: S) -> anyhow::Result<SendRequest<Full<Bytes>>>
where
    S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
{
    let (sender, connection) = handshake(TokioIo::new(stream)).await?;
    tokio::spawn(connection);
    Ok(sender)
}

/// The first token of a file.
fn first_token(path: &Path) -> anyhow::Result<String> {
    let name = path.display();
    let text = std::fs::read_to_string(path).with_context(|| format!("cannot read {name}"))?;
    let mut lines = text.lines().map(str::trim);
    let token = lines.find(|line| !line.is_empty() && !line.starts_with('#'));
    Ok(token.with_context(|| format!("{name} holds no token"))?.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_of_http_or_of_a_socket() {
        let tcp = |place: &str, prefix: &str| ServerUrl {
            place: Place::Tcp(place.into()),
            prefix: prefix.into(),
        };
        for (text, expected) in [
            ("http://127.0.0.1:7700", tcp("127.0.0.1:7700", "")),
            ("http://[::1]:7700/", tcp("[::1]:7700", "")),
            ("http://example.org/near/", tcp("example.org:80", "/near")),
            ("unix:/run/a", ServerUrl { place: Place::Unix("/run/a".into()), prefix: "".into() }),
        ] {
            assert_eq!(ServerUrl::parse(text).unwrap(), expected, "{text}");
        }
        for wrong in ["", "127.0.0.1:7700", "http://", "http://a@b", "http://a?b", "ftp://a"] {
            assert!(ServerUrl::parse(wrong).is_err(), "{wrong}");
        }
        assert!(ServerUrl::parse("https://a").unwrap_err().to_string().contains("no TLS"));
    }
}
