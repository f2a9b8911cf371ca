//! Work that several commands share: inputs of joins, streams, confirmed pairs, pages of groups.

pub(in crate::cli) mod aliases;
pub(in crate::cli) mod completing;
pub(in crate::cli) mod confirm;
pub(in crate::cli) mod follow;
pub(in crate::cli) mod group_page;
pub(in crate::cli) mod join_input;
pub(in crate::cli) mod labels;
pub(in crate::cli) mod meant;
pub(in crate::cli) mod merging;
pub(in crate::cli) mod new_records;
pub(in crate::cli) mod overview;
pub(in crate::cli) mod repeated;
pub(in crate::cli) mod stream;
pub(in crate::cli) mod topic_texts;
pub(in crate::cli) mod topics;
