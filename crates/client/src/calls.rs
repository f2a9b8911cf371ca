//! The requests of a client: one method for each route.

use std::borrow::Cow;
use std::ops::Range;

use fpstore_base::Fingerprint;
use hyper::Method;
use hyper::body::Bytes;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::connection::{Call, Connection, refused};
use super::error::ClientError;
use crate::wire::{
    AddAnswer, AddBody, CompactAnswer, CompactBody, DeleteAnswer, DeleteBody, ExpireAnswer,
    ExpireBody, HexText, IdAnswer, ImportAnswer, ImportBody, LabelAnswer, LabelBody, PriceAnswer,
    QueryBody, QueryOptions, ReadyAnswer, RefreshAnswer, ReplaceBody, ServerInfo,
};
use fpstore::rows::AnswerRow;
use fpstore::state::{MANIFEST, StateId};

const JSON: &str = "application/json";
/// The largest number of fingerprints in one request of [`Client::query_all`].
const BATCH_COUNT: usize = 10_000;
/// The codes of refusals after which a smaller batch is tried.
const BATCH_CODES: [&str; 3] = ["answer-over-limit", "batch-over-limit", "body-over-limit"];

/// A client of a server. See [the crate](crate).
#[derive(Debug)]
pub struct Client {
    pub(super) connection: Connection,
    /// The largest batch of the server, once [`Client::info`] has returned it.
    batch_max: Option<usize>,
}

/// The answers to a list of queries, in the order of the queries, from one snapshot.
#[derive(Deserialize)]
struct QueryAnswers {
    answers: Vec<AnswerRow>,
    #[serde(default)]
    generation: Option<u64>,
}

/// Percent-encodes the value of a URL parameter.
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

/// The route of a query: for all matches within `k`, or for the nearest matches.
fn route(options: &QueryOptions) -> &'static str {
    if options.count.is_some() { "/v1/nearest" } else { "/v1/query" }
}

impl Client {
    /// A client of the server at `url`: `http://ADDRESS:PORT`, with the path prefix of a proxy if
    /// there is one, or `unix:PATH`. It does not connect yet.
    ///
    /// # Errors
    ///
    /// [`ClientError::Invalid`] if `url` has another form.
    pub fn new(url: &str) -> Result<Self, ClientError> {
        let connection = Connection { url: url.parse()?, token: None, sender: None };
        Ok(Client { connection, batch_max: None })
    }

    /// The address of the server, for messages.
    pub(super) fn url(&self) -> String {
        self.connection.url.to_string()
    }

    /// Sets the token that is sent with each request.
    #[must_use]
    pub fn token(mut self, token: impl Into<String>) -> Self {
        self.connection.token = Some(token.into());
        self
    }

    /// The settings of the server, and the facts about its store.
    ///
    /// # Errors
    ///
    /// The errors of every request: [`ClientError::Connection`] if the server cannot be reached,
    /// [`ClientError::Refused`] if it refuses the request, [`ClientError::NotAServer`] if another
    /// program answers.
    pub async fn info(&mut self) -> Result<ServerInfo, ClientError> {
        let info: ServerInfo = self.get("/v1/info").await?;
        self.batch_max = usize::try_from(info.limits.max_batch).ok();
        Ok(info)
    }

    /// Whether the server should receive requests, with the reason if it should not.
    ///
    /// # Errors
    ///
    /// The errors of [`Client::info`].
    pub async fn ready(&mut self) -> Result<ReadyAnswer, ClientError> {
        let (head, bytes) = self.connection.answer(&Call::new(Method::GET, "/readyz")).await?;
        // A server that is not ready answers with the status of a failure.
        serde_json::from_slice(&bytes).map_err(|_| refused(head.status, &bytes))
    }

    /// The identity of the snapshot that the server serves now.
    pub(super) async fn state(&mut self) -> Result<StateId, ClientError> {
        let path = format!("/v1/files/{MANIFEST}");
        let (head, bytes) = self.connection.answer(&Call::new(Method::HEAD, &path)).await?;
        if !head.status.is_success() {
            return Err(refused(head.status, &bytes));
        }
        let header = |name: &str| head.headers.get(name)?.to_str().ok();
        let id = |name: &str| {
            let digits = header(name).filter(|digits| digits.len() == 32)?;
            Some(u128::from_str_radix(digits, 16).ok()?.to_be_bytes())
        };
        let state = || {
            let generation = header("fpstore-generation")?.parse().ok()?;
            let (store_id, manifest) = (id("fpstore-store-id")?, id("fpstore-manifest")?);
            Some(StateId { store_id, generation, manifest })
        };
        state().ok_or_else(|| ClientError::NotAServer {
            reason: "the answer does not name the state of a store; is the server 'fpstore serve'?"
                .into(),
        })
    }

    /// Makes the server switch to the newest generation of its store now.
    ///
    /// # Errors
    ///
    /// The errors of [`Client::info`]; after an error the server keeps its snapshot.
    pub async fn refresh(&mut self) -> Result<RefreshAnswer, ClientError> {
        self.ask(&Call::new(Method::POST, "/v1/refresh")).await
    }

    /// The expected cost of a query for `queries` fingerprints within `k` bits; without `k` within
    /// the tuned distance of the store. [`QueryOptions::max_cost`] limits
    /// [`cost_us`](PriceAnswer::cost_us).
    ///
    /// # Errors
    ///
    /// The errors of [`Client::info`].
    pub async fn plan(&mut self, k: Option<u32>, queries: u64) -> Result<PriceAnswer, ClientError> {
        let k = k.map_or_else(String::new, |k| format!("&k={k}"));
        self.get(&format!("/v1/plan?queries={queries}{k}")).await
    }

    /// The matches of a fingerprint.
    ///
    /// # Errors
    ///
    /// The errors of [`Client::info`].
    pub async fn query(
        &mut self,
        fingerprint: Fingerprint,
        options: &QueryOptions,
    ) -> Result<AnswerRow, ClientError> {
        let fingerprint = Some(Cow::Owned(fingerprint.to_string()));
        let body = QueryBody { fingerprint, fingerprints: None, options: *options };
        self.json(Method::POST, route(options), &body).await
    }

    /// The matches of many fingerprints, in the order of the fingerprints, from one snapshot.
    ///
    /// # Errors
    ///
    /// The errors of [`Client::info`]. After the codes `batch-over-limit` and `answer-over-limit`,
    /// a request with fewer fingerprints may succeed.
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

    /// Calls `each` with the matches of each fingerprint, in the order of the fingerprints. Any
    /// number of fingerprints is split into several requests, and a request that the server finds
    /// too large is halved; each request is answered from one snapshot.
    ///
    /// # Errors
    ///
    /// The errors of [`Client::info`], and any error of `each`. No request follows an error.
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

    /// The matches of a text. The server computes its fingerprint by the recipe of the store.
    ///
    /// # Errors
    ///
    /// The errors of [`Client::info`].
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
        self.ask(&Call { kind, body, ..Call::new(Method::POST, &path) }).await
    }

    /// The fingerprints stored under an id. The server reads the ids of the whole store.
    ///
    /// # Errors
    ///
    /// The errors of [`Client::info`].
    pub async fn find_id(&mut self, id: &str) -> Result<IdAnswer, ClientError> {
        self.get(&format!("/v1/ids?id={}", percent_encoded(id))).await
    }

    /// Compares items with the store and with each other, and adds the new ones.
    ///
    /// If the connection breaks off, the items may have been added nevertheless; the request is
    /// never repeated automatically.
    ///
    /// # Errors
    ///
    /// The errors of [`Client::info`].
    pub async fn check_and_add(&mut self, body: &AddBody<'_>) -> Result<AddAnswer, ClientError> {
        self.change(Method::POST, "/v1/check-and-add", body).await
    }

    /// Deletes ids. The deletion is durable once the answer arrives.
    ///
    /// # Errors
    ///
    /// The errors of [`Client::info`].
    pub async fn delete_ids(&mut self, ids: Vec<String>) -> Result<DeleteAnswer, ClientError> {
        self.change(Method::DELETE, "/v1/ids", &DeleteBody { ids, dry_run: false }).await
    }

    /// Counts the records that [`Client::delete_ids`] would delete now.
    ///
    /// # Errors
    ///
    /// The errors of [`Client::info`].
    pub async fn would_delete_ids(
        &mut self,
        ids: Vec<String>,
    ) -> Result<DeleteAnswer, ClientError> {
        self.change(Method::DELETE, "/v1/ids", &DeleteBody { ids, dry_run: true }).await
    }

    /// Replaces the stored documents with the same ids, in one durable step. Returns the number of
    /// deleted records.
    ///
    /// # Errors
    ///
    /// The errors of [`Client::info`].
    pub async fn replace(&mut self, body: &ReplaceBody<'_>) -> Result<DeleteAnswer, ClientError> {
        self.change(Method::PUT, "/v1/ids", body).await
    }

    /// Removes segments by their labels, or lists them in a dry run.
    ///
    /// # Errors
    ///
    /// The errors of [`Client::info`].
    pub async fn expire(&mut self, body: &ExpireBody) -> Result<ExpireAnswer, ClientError> {
        self.change(Method::POST, "/v1/expire", body).await
    }

    /// Sets the label of records added from now on; `today` is the date in UTC, an empty text
    /// removes the label.
    ///
    /// # Errors
    ///
    /// The errors of [`Client::info`].
    pub async fn set_label(
        &mut self,
        label: impl Into<String>,
    ) -> Result<LabelAnswer, ClientError> {
        self.change(Method::POST, "/v1/label", &LabelBody { label: label.into() }).await
    }

    /// Makes the server merge segments in the background: `segments` is the name of a
    /// [`Compaction`](fpstore::writer::Compaction), and `None` merges the segments that are due.
    /// The answer precedes the merge; the metrics and the log report the end of the merge.
    ///
    /// # Errors
    ///
    /// The errors of [`Client::info`].
    pub async fn compact(&mut self, segments: Option<&str>) -> Result<CompactAnswer, ClientError> {
        let body = CompactBody { segments: segments.map(Into::into) };
        self.change(Method::POST, "/v1/compact", &body).await
    }

    /// Copies segments into the served store. `from` are the names of stores or segment files in
    /// the parent folder of the served store.
    ///
    /// # Errors
    ///
    /// The errors of [`Client::info`].
    pub async fn import(&mut self, from: Vec<String>) -> Result<ImportAnswer, ClientError> {
        self.change(Method::POST, "/v1/import", &ImportBody { from }).await
    }

    /// Sends a request that changes the store. It uses a new connection, so that it is sent only
    /// once.
    async fn change<T: DeserializeOwned>(
        &mut self,
        method: Method,
        path: &str,
        body: &impl Serialize,
    ) -> Result<T, ClientError> {
        self.connection.sender = None;
        self.json(method, path, body).await
    }

    /// The bytes of a file of the current snapshot, or a range of them.
    pub(super) async fn file(
        &mut self,
        name: &str,
        range: Option<Range<u64>>,
    ) -> Result<Bytes, ClientError> {
        let path = format!("/v1/files/{name}");
        self.connection.ask(&Call { range, ..Call::new(Method::GET, &path) }).await
    }

    async fn get<T: DeserializeOwned>(&mut self, path: &str) -> Result<T, ClientError> {
        self.ask(&Call::new(Method::GET, path)).await
    }

    async fn json<T: DeserializeOwned>(
        &mut self,
        method: Method,
        path: &str,
        body: &impl Serialize,
    ) -> Result<T, ClientError> {
        let body = serde_json::to_vec(body).expect("a vector takes all bytes").into();
        self.ask(&Call { kind: JSON, body, ..Call::new(method, path) }).await
    }

    async fn ask<T: DeserializeOwned>(&mut self, call: &Call<'_>) -> Result<T, ClientError> {
        let bytes = self.connection.ask(call).await?;
        serde_json::from_slice(&bytes).map_err(|error| ClientError::NotAServer {
            reason: format!("this is not the answer of an fpstore server: {error}"),
        })
    }
}
