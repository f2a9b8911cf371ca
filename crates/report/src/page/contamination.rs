//! The HTML page of benchmark items found in a corpus, each next to the passage that contains it.
//! It needs no script.

use std::cmp::Ordering;
use std::collections::{BinaryHeap, HashMap};
use std::hash::Hasher;

use fpstore_plot::numbers::grouped;
use maud::{Markup, html};
use siphasher::sip::SipHasher13;

use super::words::marked;
use crate::frame::{Page, STYLE, beginning, characters, facts};

/// The page shows at most this many characters of an item and of a passage.
const TEXT_MAX: usize = 20_000;

/// A benchmark item, and the passage of a document that contains it.
#[derive(Clone, Debug, PartialEq)]
pub struct HeldItem {
    /// The id of the item.
    pub item: String,
    /// The share of the item's shingles that the passage contains.
    pub contained: f64,
    /// The name of the file of the document.
    pub file: String,
    /// The id of the document.
    pub id: String,
    /// The range of the passage in the text of the document, in characters.
    pub chars: std::ops::Range<u64>,
    /// The text of the passage.
    pub passage: String,
}

/// The page of items found in documents. It shows a sample, which is the same in each run.
///
/// ```
/// use fpstore_report::page::{ContaminationPage, HeldItem};
///
/// let mut page = ContaminationPage::sample(100);
/// page.take(HeldItem {
///     item: "7".into(),
///     contained: 0.8,
///     file: "crawl.jsonl".into(),
///     id: "a".into(),
///     chars: 10..29,
///     passage: "is the sky blue now".into(),
/// });
/// let texts = page.items().map(|item| (item.into(), "Is the sky blue?".into())).collect();
/// let html = page.write("crawl", &[("items found", "1".into())], &texts);
/// assert!(html.contains("<ins> now</ins>"), "{html}");
/// ```
#[derive(Debug)]
pub struct ContaminationPage {
    most: usize,
    count: u64,
    /// The sample: the pairs with the smallest hashes, in a heap with the greatest of them on top.
    kept: BinaryHeap<SampledPair>,
}

#[derive(Debug)]
struct SampledPair {
    hash: u64,
    held: HeldItem,
}

impl SampledPair {
    fn key(&self) -> (u64, &str, &str) {
        (self.hash, &self.held.item, &self.held.id)
    }
}

impl PartialEq for SampledPair {
    fn eq(&self, other: &Self) -> bool {
        self.key() == other.key()
    }
}

impl Eq for SampledPair {}

impl PartialOrd for SampledPair {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for SampledPair {
    fn cmp(&self, other: &Self) -> Ordering {
        self.key().cmp(&other.key())
    }
}

impl ContaminationPage {
    /// A page that shows at most `most` pairs of an item and a document.
    pub fn sample(most: usize) -> Self {
        ContaminationPage { most, count: 0, kept: BinaryHeap::new() }
    }

    /// Adds an item found in a document to the sample, unless its hash is too large.
    pub fn take(&mut self, held: HeldItem) {
        self.count += 1;
        let mut hasher = SipHasher13::new();
        for text in [&held.item, &held.file, &held.id] {
            hasher.write(text.as_bytes());
            hasher.write_u8(0xff);
        }
        self.kept.push(SampledPair { hash: hasher.finish(), held });
        if self.kept.len() > self.most {
            self.kept.pop();
        }
    }

    /// The ids of the items whose texts the page shows.
    pub fn items(&self) -> impl Iterator<Item = &str> {
        self.kept.iter().map(|kept| kept.held.item.as_str())
    }

    /// Writes the page. `texts` contains the texts of the items by id, and the facts are shown
    /// below the title. Items with the lowest contained share come first, as the most doubtful
    /// ones.
    pub fn write(
        self,
        title: &str,
        rows: &[(&str, String)],
        texts: &HashMap<String, String>,
    ) -> String {
        let mut shown: Vec<HeldItem> = self.kept.into_iter().map(|kept| kept.held).collect();
        shown.sort_by(|one, other| {
            let by_part = one.contained.total_cmp(&other.contained);
            by_part.then_with(|| {
                (&one.item, &one.file, &one.id).cmp(&(&other.item, &other.file, &other.id))
            })
        });
        let body = html! {
            main {
                h1 { "Items of a benchmark in " bdi { (title) } }
                (facts(rows.iter().map(|(name, value)| (*name, value))))
                @if self.count == 0 {
                    p.note { "No document holds an item." }
                } @else {
                    @if (shown.len() as u64) < self.count {
                        p.note {
                            "A sample of " (grouped(shown.len() as u64)) " of the "
                            (grouped(self.count)) " pairs of an item and a document is shown."
                        }
                    }
                    p.key {
                        span { del { "only in the item" } }
                        span { ins { "only in the document" } }
                    }
                }
                div #groups { @for held in &shown { (article(held, texts.get(&held.item))) } }
            }
            footer { "fpstore " (env!("CARGO_PKG_VERSION")) }
        };
        let policy = "img-src data:; base-uri 'none'; form-action 'none'";
        let title = format!("Items of a benchmark in {title}");
        Page { title: &title, made_by: "fpstore", policy, styles: &[STYLE], body }.write()
    }
}

fn article(held: &HeldItem, text: Option<&String>) -> Markup {
    let (passage, is_all) = beginning(&held.passage, TEXT_MAX);
    let item = text.map(|text| beginning(text.trim(), TEXT_MAX));
    html! {
        article {
            h2 {
                span { "Item " bdi { (held.item) } }
                span.badge { (percent(held.contained)) " of its shingles" }
            }
            p.line.soft {
                span { "document " bdi.id { (held.id) } }
                span { bdi { (held.file) } }
                span { "characters " (grouped(held.chars.start)) " to " (grouped(held.chars.end)) }
            }
            @match item {
                None => {
                    p.note { "The text of the item was not found; this is the passage." }
                    div.text dir="auto" { (passage) }
                },
                Some((item, all_of_item)) => {
                    @if !(is_all && all_of_item) {
                        p.note { "The first " (characters(TEXT_MAX)) " are shown and compared." }
                    }
                    @if item == passage {
                        p.soft { "The passage is the item, letter for letter." }
                    } @else if held.contained >= 1.0 {
                        p.soft { "All its shingles are here: case and punctuation are not compared." }
                    }
                    div.text dir="auto" {
                        (marked(item, passage))
                    }
                },
            }
        }
    }
}

/// Formats a share in percent, rounded down, so that 100 % is printed only for the whole.
fn percent(part: f64) -> String {
    format!("{} %", (part * 100.0 + 1e-9).floor())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn held(item: &str, id: &str, passage: &str, contained: f64) -> HeldItem {
        let (file, chars) = ("a.jsonl".into(), 0..passage.len() as u64);
        HeldItem {
            item: item.into(),
            contained,
            file,
            id: id.into(),
            chars,
            passage: passage.into(),
        }
    }

    #[test]
    fn hostile_texts_and_ids_are_shown_as_text() {
        let mut page = ContaminationPage::sample(10);
        let hostile = "<script>alert(1)</script><img src=x onerror=alert(2)>";
        page.take(held(hostile, hostile, hostile, 0.5));
        let texts = HashMap::from([(hostile.to_string(), format!("{hostile} & more"))]);
        let html = page.write(hostile, &[("items", hostile.into())], &texts);
        assert!(!html.contains("<script") && !html.contains("<img"), "{html}");
        assert!(html.contains("&lt;script&gt;") && html.contains("default-src 'none'"));
    }

    #[test]
    fn a_sample_does_not_depend_on_the_order() {
        let ids: Vec<String> = (0..500).map(|at| at.to_string()).collect();
        let page_of = |ids: &mut dyn Iterator<Item = &String>| {
            let mut page = ContaminationPage::sample(20);
            ids.for_each(|id| page.take(held("i", id, "a passage", 1.0)));
            page.write("t", &[], &HashMap::new())
        };
        let (one, other) = (page_of(&mut ids.iter()), page_of(&mut ids.iter().rev()));
        assert_eq!(one, other);
        assert_eq!(one.matches("<article").count(), 20);
        assert!(one.contains("A sample of 20 of the 500 pairs"));
        let empty = ContaminationPage::sample(5).write("t", &[], &HashMap::new());
        assert!(empty.contains("No document holds an item."));
    }

    #[test]
    fn the_doubtful_come_first_and_all_is_a_hundred_percent() {
        let mut page = ContaminationPage::sample(5);
        page.take(held("whole", "b", "x y", 1.0));
        page.take(held("half", "a", "x", 0.999));
        let html = page.write("t", &[], &HashMap::from([("whole".into(), "x y".into())]));
        assert!(html.find("half").unwrap() < html.find("whole").unwrap());
        assert!(html.contains("99 %") && html.contains("100 %"));
        assert!(html.contains("letter for letter"));
    }
}
