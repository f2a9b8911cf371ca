//! Reports for people: problems of a store, measured quality, and pages for a browser.
//!
//! [`doctor`] finds problems in the statistics of a store or an input; [`evaluate`] measures
//! precision and recall on labelled pairs; [`page`] writes HTML pages about documents. This crate
//! does not change stores.

#![forbid(unsafe_code)]
#![warn(missing_docs)]

pub mod doctor;
pub mod evaluate;
mod frame;
pub mod page;
