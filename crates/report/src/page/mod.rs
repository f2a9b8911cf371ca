//! Pages for a browser: groups of near-duplicates, and two documents beside each other.
//!
//! A page is one file that needs no network, follows a dark theme and fits narrow screens. All
//! that comes from documents is text of other people: the parts that are made here are escaped by
//! `maud`, the data for the script is JSON without `<`, the script writes it as text and nothing
//! else, and the policy of the page lets no other script run.
//!
//! [`LargestGroups`] takes groups and keeps those that a page has room for. [`GroupPage`] takes the
//! texts that it needs, and writes the page. [`Comparison`] is the page of two documents,
//! [`ContaminationPage`] that of the items of a benchmark in a corpus, [`CleaningPage`] that of what
//! a cleaning removed. Nothing here reads documents
//! or stores.

mod bits;
mod cleaning;
mod comparison;
mod contamination;
mod data;
mod groups;
mod largest;
#[cfg(test)]
mod script;
mod template;
mod texts;
mod wording;
mod words;

pub use bits::differing_bits;
pub use cleaning::{CleaningPage, RemovedPair};
pub use comparison::{ComparedFeatures, Comparison};
pub use contamination::{ContaminationPage, HeldItem};
pub use groups::{About, GroupPage, WrittenPage};
pub use largest::{GroupDocument, GroupFacts, LargestGroups};
pub use template::Template;
pub use texts::{GroupTexts, MakeFingerprint};
