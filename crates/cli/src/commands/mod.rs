//! The commands, one module each, named as in `fpstore help`. A command converts its arguments into
//! settings, calls the library, and prints the results.

pub(crate) mod add;
pub(crate) mod backup;
pub(crate) mod build;
pub(crate) mod clean;
pub(crate) mod cluster;
pub(crate) mod commit;
pub(crate) mod compact;
pub(crate) mod compare;
pub(crate) mod completions;
pub(crate) mod contamination;
pub(crate) mod dedup;
pub(crate) mod delete;
pub(crate) mod df;
pub(crate) mod dump;
pub(crate) mod evaluate;
pub(crate) mod expire;
pub(crate) mod export;
pub(crate) mod features;
pub(crate) mod fingerprint;
pub(crate) mod import;
pub(crate) mod info;
pub(crate) mod join;
pub(crate) mod log;
pub(crate) mod man;
pub(crate) mod pairs;
pub(crate) mod plan;
pub(crate) mod promote;
pub(crate) mod query;
pub(crate) mod serve;
pub(crate) mod stats;
pub(crate) mod verify;
