//! What people look at: findings about data, measured quality, and pages for a browser.
//!
//! `doctor` has the statistics of a store or an input, their problems, and precision and recall on
//! labelled pairs; `page` has the pages of groups and of two documents. Nothing here changes a
//! store.

#[cfg(feature = "doctor")]
pub mod doctor;
#[cfg(any(feature = "doctor", feature = "page"))]
mod frame;
#[cfg(feature = "page")]
pub mod page;
