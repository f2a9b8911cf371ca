//! The handlers of routes: each file parses a request and writes the answer.
//!
//! A query of any kind becomes a `Job` (`question`), which searches in the lane for its price
//! (`price`) and writes its answer (`answers`). Changes of the store go to `writing`. Routes import
//! nothing from each other, except: `text` uses `query`; `changes` uses `ids_ahead`; `changes` and
//! `find_id` use `check_and_add`.

pub(crate) mod answers;
pub(crate) mod changes;
pub(crate) mod check_and_add;
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
