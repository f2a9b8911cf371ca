//! Many queries at once.
//!
//! By probes in the order of each table, or by a pass over the store.

pub(in crate::join) mod batch_mode;
pub(in crate::join) mod query_batch;
pub(in crate::join) mod ranks;
pub(in crate::join) mod search_many;
