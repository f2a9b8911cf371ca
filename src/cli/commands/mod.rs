//! The commands, named as `fpstore help` lists them. Each turns its arguments into settings, calls the
//! library, and prints rows.

pub(in crate::cli) mod add;
pub(in crate::cli) mod backup;
pub(in crate::cli) mod build;
pub(in crate::cli) mod cluster;
pub(in crate::cli) mod commit;
pub(in crate::cli) mod compact;
pub(in crate::cli) mod compare;
pub(in crate::cli) mod completions;
pub(in crate::cli) mod contamination;
pub(in crate::cli) mod dedup;
pub(in crate::cli) mod delete;
pub(in crate::cli) mod df;
pub(in crate::cli) mod dump;
pub(in crate::cli) mod evaluate;
pub(in crate::cli) mod expire;
pub(in crate::cli) mod export;
pub(in crate::cli) mod features;
pub(in crate::cli) mod fingerprint;
pub(in crate::cli) mod import;
pub(in crate::cli) mod info;
pub(in crate::cli) mod join;
pub(in crate::cli) mod log;
pub(in crate::cli) mod man;
pub(in crate::cli) mod pairs;
pub(in crate::cli) mod plan;
pub(in crate::cli) mod query;
#[cfg(feature = "serve")]
pub(in crate::cli) mod serve;
pub(in crate::cli) mod stats;
pub(in crate::cli) mod verify;
