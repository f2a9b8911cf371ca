//! The state shared by all requests.

use std::sync::{Arc, PoisonError, RwLock};

use tokio::sync::Semaphore;

use super::lanes::{IdPass, Lanes};
use super::live_store::LiveStore;
use crate::protocol::line_queue::LineQueue;
use crate::protocol::memory_budget::MemoryBudget;
use crate::protocol::tokens::Tokens;
use crate::writing::Writing;
use fpstore::join::JudgedPairs;
use fpstore_client::PageTemplates;
use fpstore_client::limits::ServeLimits;

/// The state shared by all requests, an argument of each handler.
pub(crate) struct Shared {
    pub(crate) live: Arc<LiveStore>,
    pub(crate) limits: ServeLimits,
    pub(crate) bodies: Arc<MemoryBudget>,
    /// The current tokens; replaced as a whole.
    pub(super) tokens: RwLock<Arc<Tokens>>,
    /// The current judged pairs; replaced as a whole.
    pub(super) pairs: RwLock<Arc<JudgedPairs>>,
    /// Accepted names in the header `Host`, in addition to the names of this machine; `None`
    /// accepts any.
    pub(crate) hosts: Option<Vec<String>>,
    pub(crate) templates: PageTemplates,
    /// The lanes for long work.
    pub(crate) lanes: Lanes,
    /// One permit, for a requested refresh: a refresh may take long, and several at once could use
    /// all threads for blocking work.
    pub(crate) refreshes: Arc<Semaphore>,
    pub(crate) writing: Option<Writing>,
    /// The pass over all ids that deletions share.
    pub(crate) id_pass: IdPass,
    pub(crate) access_log: Option<LineQueue>,
    pub(crate) behind_proxy: bool,
}

impl Shared {
    pub(crate) fn tokens(&self) -> Arc<Tokens> {
        Arc::clone(&self.tokens.read().unwrap_or_else(PoisonError::into_inner))
    }

    pub(crate) fn pairs(&self) -> Arc<JudgedPairs> {
        Arc::clone(&self.pairs.read().unwrap_or_else(PoisonError::into_inner))
    }

    pub(crate) fn set_pairs(&self, pairs: JudgedPairs) {
        *self.pairs.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(pairs);
    }

    pub(crate) fn set_tokens(&self, tokens: Tokens) {
        *self.tokens.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(tokens);
    }
}
