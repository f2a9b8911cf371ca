//! The routes: each file reads what a request asks, and writes the answer.
//!
//! A query of any kind becomes a `Job` (`question`), which searches in the lane of its price
//! (`price`) and writes its answer (`answers`). What changes the store goes to `writing`. No route
//! knows another one, but for the parts that `text` shares with `query`, `changes` with `delete`,
//! both with `ids_ahead`, and `changes`, `delete` and `find_id` with `check_and_add`.

pub(crate) mod answers;
pub(crate) mod changes;
pub(crate) mod check_and_add;
pub(crate) mod delete;
pub(crate) mod files;
pub(crate) mod find_id;
mod ids_ahead;
pub(crate) mod info;
pub(crate) mod page;
pub(crate) mod price;
pub(crate) mod query;
pub(crate) mod question;
pub(crate) mod stream;
pub(crate) mod text;
