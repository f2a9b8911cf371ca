//! The doctor: finds problems in the statistics of a store or an input, and proposes remedies.
//!
//! [`profile`](fpstore::profile) computes the statistics. [`findings`] lists the problems, each as
//! a sentence with a remedy, [`Report`] prints the statistics as text, and [`page()`] draws them
//! for a browser. The doctor does not change stores.

mod findings;
mod page;
mod report;
mod words;

pub use findings::{Finding, FindingCode, Severity, findings};
pub use page::{PageOptions, page};
pub use report::Report;
