//! What all requests share.

use std::sync::{Arc, PoisonError, RwLock};

use tokio::sync::Semaphore;

use super::lanes::Lanes;
use super::live_store::LiveStore;
use crate::protocol::access_entry::AccessLog;
use crate::protocol::memory_budget::MemoryBudget;
use crate::protocol::tokens::Tokens;
use crate::writing::Writing;
use fpstore::join::JudgedPairs;
use fpstore_client::wire::{PageTemplates, ServeLimits};

/// What all requests share. Each handler gets it.
pub(crate) struct Shared {
    pub(crate) live: Arc<LiveStore>,
    pub(crate) limits: ServeLimits,
    pub(crate) bodies: Arc<MemoryBudget>,
    /// Who may read and write; replaced as a whole.
    pub(super) tokens: RwLock<Arc<Tokens>>,
    /// The pairs that people have judged; replaced as a whole.
    pub(super) pairs: RwLock<Arc<JudgedPairs>>,
    /// Names in the header `Host` that are accepted beside those of this machine; `None` for any.
    pub(crate) hosts: Option<Vec<String>>,
    pub(crate) templates: PageTemplates,
    /// Where work runs that takes long.
    pub(crate) lanes: Lanes,
    /// One refresh by request at a time: it may take long, and must not fill the pool.
    pub(crate) refreshes: Arc<Semaphore>,
    pub(crate) writing: Option<Writing>,
    pub(crate) access_log: Option<AccessLog>,
}

impl Shared {
    /// Who may read and write now.
    pub(crate) fn tokens(&self) -> Arc<Tokens> {
        Arc::clone(&self.tokens.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// The judged pairs that are obeyed now.
    pub(crate) fn pairs(&self) -> Arc<JudgedPairs> {
        Arc::clone(&self.pairs.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Obeys other judged pairs from now on.
    pub(crate) fn set_pairs(&self, pairs: JudgedPairs) {
        *self.pairs.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(pairs);
    }

    /// Lets other tokens read and write from now on.
    pub(crate) fn set_tokens(&self, tokens: Tokens) {
        *self.tokens.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(tokens);
    }
}
