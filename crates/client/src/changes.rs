//! What a client can change: one method for each route.

use hyper::Method;
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::calls::Client;
use super::error::ClientError;
use crate::wire::{
    AddAnswer, AddBody, CompactAnswer, CompactBody, DeleteAnswer, DeleteBody, ExpireAnswer,
    ExpireBody, ImportAnswer, ImportBody, LabelAnswer, LabelBody, ReplaceBody,
};

impl Client {
    /// Compares items with the store and with each other, and adds those that are new.
    ///
    /// If the connection breaks off, the items may have been added all the same; this is never
    /// repeated by itself.
    ///
    /// # Errors
    ///
    /// As [`Client::info`].
    pub async fn check_and_add(&mut self, body: &AddBody<'_>) -> Result<AddAnswer, ClientError> {
        self.change(Method::POST, "/v1/check-and-add", body).await
    }

    /// Deletes ids, durably.
    ///
    /// # Errors
    ///
    /// As [`Client::info`].
    pub async fn delete_ids(&mut self, ids: Vec<String>) -> Result<DeleteAnswer, ClientError> {
        self.change(Method::DELETE, "/v1/ids", &DeleteBody { ids, dry_run: false }).await
    }

    /// What [`Client::delete_ids`] would delete now.
    ///
    /// # Errors
    ///
    /// As [`Client::info`].
    pub async fn would_delete_ids(
        &mut self,
        ids: Vec<String>,
    ) -> Result<DeleteAnswer, ClientError> {
        self.change(Method::DELETE, "/v1/ids", &DeleteBody { ids, dry_run: true }).await
    }

    /// Puts documents in the place of those with the same ids, in one step and durably. Answers what
    /// was deleted for them.
    ///
    /// # Errors
    ///
    /// As [`Client::info`].
    pub async fn replace(&mut self, body: &ReplaceBody<'_>) -> Result<DeleteAnswer, ClientError> {
        self.change(Method::PUT, "/v1/ids", body).await
    }

    /// Removes segments by their labels, or says which would be.
    ///
    /// # Errors
    ///
    /// As [`Client::info`].
    pub async fn expire(&mut self, body: &ExpireBody) -> Result<ExpireAnswer, ClientError> {
        self.change(Method::POST, "/v1/expire", body).await
    }

    /// Sets the label of what is added from now on; `today` is the day in UTC, an empty text none.
    ///
    /// # Errors
    ///
    /// As [`Client::info`].
    pub async fn set_label(
        &mut self,
        label: impl Into<String>,
    ) -> Result<LabelAnswer, ClientError> {
        self.change(Method::POST, "/v1/label", &LabelBody { label: label.into() }).await
    }

    /// Has the server merge segments beside its other work: those of a
    /// [`Compaction`](fpstore::writer::Compaction) by name, or with `None` those that are due. The
    /// answer comes before the merge; the metrics and the log tell its end.
    ///
    /// # Errors
    ///
    /// As [`Client::info`].
    pub async fn compact(&mut self, segments: Option<&str>) -> Result<CompactAnswer, ClientError> {
        let body = CompactBody { segments: segments.map(Into::into) };
        self.change(Method::POST, "/v1/compact", &body).await
    }

    /// Copies segments into the store: those of stores, or segment files, by the names that they have
    /// in the folder that the served store lies in.
    ///
    /// # Errors
    ///
    /// As [`Client::info`].
    pub async fn import(&mut self, from: Vec<String>) -> Result<ImportAnswer, ClientError> {
        self.change(Method::POST, "/v1/import", &ImportBody { from }).await
    }

    /// A request that changes the store. It is sent over a new connection, and so only once.
    async fn change<T: DeserializeOwned>(
        &mut self,
        method: Method,
        path: &str,
        body: &impl Serialize,
    ) -> Result<T, ClientError> {
        self.connection.sender = None;
        self.json(method, path, body).await
    }
}
