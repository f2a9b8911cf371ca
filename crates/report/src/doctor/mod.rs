//! The doctor: the problems that the statistics of a store or an input show, and their remedies.
//!
//! [`profile`](fpstore::profile) measures a store or an input. [`findings`] names each problem in a
//! plain sentence with a remedy, [`Report`] prints the statistics as text, and [`page()`] draws
//! them for a browser. Nothing here changes a store.

mod findings;
mod page;
mod report;
mod words;

pub use findings::{Finding, FindingCode, Severity, findings};
pub use page::{PageOptions, page};
pub use report::Report;
