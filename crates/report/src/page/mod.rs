//! HTML pages: groups of near-duplicates, two documents, items of a benchmark, and removed
//! documents.
//!
//! A page is one file that needs no network, follows a dark theme and fits narrow screens. Texts
//! and ids of documents are untrusted: `maud` escapes them in the markup made here, the data for
//! the script is JSON without `<`, the script inserts it only as text, and the policy of the page
//! allows no other script.
//!
//! [`LargestGroups`] takes groups and keeps the ones that fit on a page. [`GroupPage`] takes the
//! texts that it needs, and writes the page. [`Comparison`] is the page of two documents,
//! [`ContaminationPage`] the page of the items of a benchmark in a corpus, and [`CleaningPage`] the
//! page of the documents that a cleaning removed. The module reads neither documents nor stores.

mod cleaning;
mod comparison;
mod contamination;
mod data;
mod groups;
mod largest;
mod template;
mod texts;
mod words;

pub use cleaning::{CleaningPage, RemovedPair};
pub use comparison::{ComparedFeatures, Comparison, differing_bits};
pub use contamination::{ContaminationPage, HeldItem};
pub use groups::{About, GroupPage, WrittenPage};
pub use largest::LargestGroups;
pub use template::Template;
pub use texts::{GroupTexts, MakeFingerprint};
