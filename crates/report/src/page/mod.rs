//! HTML pages about documents: groups of near-duplicates, two compared documents, benchmark items
//! found in a corpus, and documents removed by a cleaning.
//!
//! A page is one file that needs no network, has a light and a dark theme, and fits narrow screens.
//! Texts and ids of documents are untrusted: `maud` escapes them in the markup, the data for the
//! script is JSON without `<`, the script inserts it only as text, and the policy of the page
//! allows no other script.
//!
//! [`LargestGroups`] collects groups and keeps those that fit on a page; [`GroupPage`] collects
//! their texts, and writes the page. [`Comparison`], [`ContaminationPage`] and [`CleaningPage`]
//! are the other pages. The callers read the documents and stores.

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
