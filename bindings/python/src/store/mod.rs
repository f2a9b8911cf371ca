//! The classes `Store` and `Stores`, several stores that are asked as one; `asked` has what both do.

mod asked;
mod everything;
mod given;
pub(crate) mod info;
mod many;
mod names;
mod nearest;
mod one;
mod opening;
mod results;
mod several;
mod state;

pub(crate) use given::{if_store, one_or_several_or_none, one_store};
pub(crate) use names::{Given, Names, name_of};
pub(crate) use one::Store;
pub(crate) use opening::{_reopen, _reopen_all, open, open_all};
pub(crate) use results::{StatisticsView, owned_matches};
pub(crate) use several::Stores;
