//! What a client can ask: one method for each route that changes nothing.

use std::borrow::Cow;
use std::ops::Range;

use fpstore_base::Fingerprint;
use hyper::Method;
use hyper::body::Bytes;
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::connection::{Call, Connection, refused};
use super::error::ClientError;
use crate::wire::{
    HexText, IdAnswer, PriceAnswer, QueryAnswers, QueryBody, QueryOptions, ReadyAnswer,
    RefreshAnswer, ServerInfo,
};
use fpstore::rows::AnswerRow;

const JSON: &str = "application/json";
/// The most fingerprints that [`Client::query_all`] sends together.
const BATCH_COUNT: usize = 10_000;
/// The codes of refusals after which fewer fingerprints at a time are answered.
const BATCH_CODES: [&str; 3] = ["answer-over-limit", "batch-over-limit", "body-over-limit"];

/// A client of a server. See [the crate](crate).
#[derive(Debug)]
pub struct Client {
    pub(super) connection: Connection,
    /// The most fingerprints that the server answers together, once it has said so.
    batch_max: Option<usize>,
}

/// A text as the value of a parameter of an address.
fn percent_encoded(text: &str) -> String {
    let mut encoded = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => {
                encoded.push(byte.into());
            }
            _ => encoded.push_str(&format!("%{byte:02X}")),
        }
    }
    encoded
}

/// The route, which says whether all matches within `k` are wanted or the nearest.
fn route(options: &QueryOptions) -> &'static str {
    if options.count.is_some() { "/v1/nearest" } else { "/v1/query" }
}

impl Client {
    /// A client of the server at `url`: `http://ADDRESS:PORT`, with a path before the routes if a
    /// proxy has one, or `unix:PATH`. It does not connect yet.
    ///
    /// # Errors
    ///
    /// [`ClientError::Invalid`] if `url` is none of these.
    pub fn new(url: &str) -> Result<Self, ClientError> {
        let connection = Connection { url: url.parse()?, token: None, sender: None };
        Ok(Client { connection, batch_max: None })
    }

    /// The address of the server, as messages spell it.
    pub(super) fn url(&self) -> String {
        self.connection.url.to_string()
    }

    /// Sets the token that each request carries.
    #[must_use]
    pub fn token(mut self, token: impl Into<String>) -> Self {
        self.connection.token = Some(token.into());
        self
    }

    /// What the server says of itself and of its store.
    ///
    /// # Errors
    ///
    /// As all requests: [`ClientError::Connection`] if the server cannot be reached,
    /// [`ClientError::Refused`] if it does not answer this, [`ClientError::NotAServer`] if something
    /// else answers.
    pub async fn info(&mut self) -> Result<ServerInfo, ClientError> {
        let info: ServerInfo = self.get("/v1/info").await?;
        self.batch_max = usize::try_from(info.limits.max_batch).ok();
        Ok(info)
    }

    /// Whether requests should come to the server, and why not.
    ///
    /// # Errors
    ///
    /// As [`Client::info`]; [`ClientError::Refused`] if the server does not take even this.
    pub async fn ready(&mut self) -> Result<ReadyAnswer, ClientError> {
        let call = Call {
            method: Method::GET,
            path: "/readyz",
            kind: "",
            body: Bytes::new(),
            range: None,
        };
        let (status, bytes) = self.connection.answer(&call).await?;
        // A server that is not ready says so with the status of a failure.
        serde_json::from_slice(&bytes).map_err(|_| refused(status, &bytes))
    }

    /// Has the server show the newest state of its store now.
    ///
    /// # Errors
    ///
    /// As [`Client::info`]; the state before is still shown then.
    pub async fn refresh(&mut self) -> Result<RefreshAnswer, ClientError> {
        let (method, body) = (Method::POST, Bytes::new());
        self.ask(&Call { method, path: "/v1/refresh", kind: "", body, range: None }).await
    }

    /// What a question for `queries` fingerprints within `k` bits would cost; without `k` within the
    /// distance of the store. [`QueryOptions::max_cost`] is compared with
    /// [`cost_us`](PriceAnswer::cost_us).
    ///
    /// # Errors
    ///
    /// As [`Client::info`].
    pub async fn plan(&mut self, k: Option<u32>, queries: u64) -> Result<PriceAnswer, ClientError> {
        let k = k.map_or_else(String::new, |k| format!("&k={k}"));
        self.get(&format!("/v1/plan?queries={queries}{k}")).await
    }

    /// The matches of a fingerprint.
    ///
    /// # Errors
    ///
    /// As [`Client::info`].
    pub async fn query(
        &mut self,
        fingerprint: Fingerprint,
        options: &QueryOptions,
    ) -> Result<AnswerRow, ClientError> {
        let fingerprint = Some(Cow::Owned(fingerprint.to_string()));
        let body = QueryBody { fingerprint, fingerprints: None, options: *options };
        self.json(Method::POST, route(options), &body).await
    }

    /// The matches of many fingerprints, in their order, from one state of the store.
    ///
    /// # Errors
    ///
    /// As [`Client::info`]. The code is `batch-over-limit` or `answer-over-limit` where fewer
    /// fingerprints at a time would be answered.
    pub async fn query_many(
        &mut self,
        fingerprints: &[Fingerprint],
        options: &QueryOptions,
    ) -> Result<Vec<AnswerRow>, ClientError> {
        let spelled = fingerprints.iter().map(|it| HexText(it.to_string().into())).collect();
        let body = QueryBody { fingerprint: None, fingerprints: Some(spelled), options: *options };
        let QueryAnswers { mut answers, generation } =
            self.json(Method::POST, route(options), &body).await?;
        if answers.len() != fingerprints.len() {
            let (found, wanted) = (answers.len(), fingerprints.len());
            let reason = format!("the server gave {found} answers to {wanted} queries");
            return Err(ClientError::NotAServer { reason });
        }
        answers.iter_mut().for_each(|answer| answer.generation = generation);
        Ok(answers)
    }

    /// The matches of any number of fingerprints, in their order, one call of `each` for each. They go
    /// in several requests, of fewer fingerprints where the server asks for that; each request is
    /// answered from one state of the store.
    ///
    /// # Errors
    ///
    /// As [`Client::info`], and those of `each`, both of which end the questions.
    pub async fn query_all<E: From<ClientError>>(
        &mut self,
        fingerprints: &[Fingerprint],
        options: &QueryOptions,
        mut each: impl FnMut(AnswerRow) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut rest = fingerprints;
        if self.batch_max.is_none() && rest.len() > 1 {
            self.info().await?;
        }
        let mut most = self.batch_max.unwrap_or(BATCH_COUNT).clamp(1, BATCH_COUNT);
        while !rest.is_empty() {
            let (batch, after) = rest.split_at(rest.len().min(most));
            match self.query_many(batch, options).await {
                Ok(answers) => answers.into_iter().try_for_each(&mut each)?,
                Err(ClientError::Refused { code, .. })
                    if batch.len() > 1 && BATCH_CODES.contains(&code.as_str()) =>
                {
                    most = batch.len().div_ceil(2);
                    continue;
                }
                Err(error) => return Err(error.into()),
            }
            rest = after;
        }
        Ok(())
    }

    /// The matches of a text, whose fingerprint the server makes by the recipe of its store.
    ///
    /// # Errors
    ///
    /// As [`Client::info`].
    pub async fn query_text(
        &mut self,
        text: &str,
        options: &QueryOptions,
    ) -> Result<AnswerRow, ClientError> {
        let fields = options.to_fields();
        let params: Vec<String> =
            fields.iter().map(|(name, value)| format!("{name}={value}")).collect();
        let path = format!("/v1/text?{}", params.join("&"));
        let kind = "text/plain; charset=utf-8";
        let body = Bytes::copy_from_slice(text.as_bytes());
        self.ask(&Call { method: Method::POST, path: &path, kind, body, range: None }).await
    }

    /// The fingerprints that are stored under an id. The server reads the ids of the whole store.
    ///
    /// # Errors
    ///
    /// As [`Client::info`].
    pub async fn find_id(&mut self, id: &str) -> Result<IdAnswer, ClientError> {
        self.get(&format!("/v1/ids?id={}", percent_encoded(id))).await
    }

    /// The bytes of a file of the state that the server shows, or a range of them.
    pub(super) async fn file(
        &mut self,
        name: &str,
        range: Option<Range<u64>>,
    ) -> Result<Bytes, ClientError> {
        let path = format!("/v1/files/{name}");
        let call = Call { method: Method::GET, path: &path, kind: "", body: Bytes::new(), range };
        self.connection.ask(&call).await
    }

    async fn get<T: DeserializeOwned>(&mut self, path: &str) -> Result<T, ClientError> {
        self.ask(&Call { method: Method::GET, path, kind: "", body: Bytes::new(), range: None })
            .await
    }

    pub(super) async fn json<T: DeserializeOwned>(
        &mut self,
        method: Method,
        path: &str,
        body: &impl Serialize,
    ) -> Result<T, ClientError> {
        let body = serde_json::to_vec(body).expect("a vector takes all bytes").into();
        self.ask(&Call { method, path, kind: JSON, body, range: None }).await
    }

    async fn ask<T: DeserializeOwned>(&mut self, call: &Call<'_>) -> Result<T, ClientError> {
        let bytes = self.connection.ask(call).await?;
        serde_json::from_slice(&bytes).map_err(|error| ClientError::NotAServer {
            reason: format!("the answer is not from this kind of server: {error}"),
        })
    }
}
