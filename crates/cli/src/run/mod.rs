//! Work that several commands share: inputs of joins, streams, confirmed pairs, pages of groups,
//! and the texts of help topics.

pub(crate) mod adding;
pub(crate) mod aliases;
pub(crate) mod completing;
pub(crate) mod confirm;
pub(crate) mod follow;
pub(crate) mod group_page;
pub(crate) mod inferred_options;
pub(crate) mod join_input;
pub(crate) mod new_records;
pub(crate) mod overview;
pub(crate) mod removed;
pub(crate) mod stream;
pub(crate) mod topic_texts;
pub(crate) mod topics;
