//! The class `Store`: one store, or several that are queried as one.

mod class;
mod everything;
pub(crate) mod info;
mod many;
mod names;
mod nearest;
mod opening;
mod results;
mod state;

pub(crate) use class::{Store, if_store, one_store, stores_or_none};
pub(crate) use names::{Given, Names, name_of};
pub(crate) use opening::{_reopen, open, open_one};
pub(crate) use results::{StatisticsView, owned_matches};
