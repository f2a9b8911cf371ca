//! Reports for people: problems of a store, measured quality, and pages for a browser.
//!
//! [`doctor`] names the problems that the statistics of a store or an input show; [`evaluate`]
//! measures precision and recall on labelled pairs; [`page`] writes HTML pages of documents.
//! Nothing here changes a store.

#![forbid(unsafe_code)]
#![warn(missing_docs)]

pub mod doctor;
pub mod evaluate;
mod frame;
pub mod page;
