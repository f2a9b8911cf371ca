//! The HTML page of two documents and their differences. It needs no script.

use fpstore_base::Fingerprint;
use fpstore_plot::numbers::{counted, grouped};
use maud::{Markup, html};

use super::words::{Differences, Part, differences};
use crate::frame::{Page, STYLE, beginning, characters, facts};

/// The page shows at most this many characters of each text.
const TEXT_MAX: usize = 500_000;
/// Unchanged text with more characters than this is folded in the middle.
const FOLD: usize = 600;
const ENDS: usize = 200;

/// The contents of a page of two compared documents.
///
/// ```
/// use fpstore_report::page::Comparison;
///
/// let comparison = Comparison {
///     names: ["old", "new"],
///     fingerprints: [7.into(), 15.into()],
///     estimate: None,
///     texts: Some(["the quick fox", "the slow fox"]),
///     features: None,
/// };
/// assert!(comparison.page().contains("<del>quick</del><ins>slow</ins>"));
/// ```
#[derive(Clone, Debug)]
pub struct Comparison<'a> {
    /// The names of the two documents.
    pub names: [&'a str; 2],
    /// The fingerprints of the documents.
    pub fingerprints: [Fingerprint; 2],
    /// The similarity estimated from the distance, if the recipe is known.
    pub estimate: Option<f64>,
    /// The texts of the documents, if they are known.
    pub texts: Option<[&'a str; 2]>,
    /// The compared features of the documents, if they are known.
    pub features: Option<ComparedFeatures<'a>>,
}

/// Features of two documents.
#[derive(Clone, Copy, Debug)]
pub struct ComparedFeatures<'a> {
    /// The Jaccard similarity of the features.
    pub jaccard: f64,
    /// The number of features that both documents have.
    pub common_count: usize,
    /// For each document: the number of features that only it has, and the first few of them.
    pub only: [(usize, &'a [String]); 2],
    /// The name of the option with which the page lists more features.
    pub more: &'a str,
}

impl Comparison<'_> {
    /// Writes the page.
    pub fn page(&self) -> String {
        let [one, other] = self.names;
        let body = html! {
            main {
                h1 { bdi { (one) } " and " bdi { (other) } }
                (self.facts())
                @if let Some(texts) = self.texts { (text_section(texts)) }
                @if let Some(features) = &self.features { (feature_section(self.names, features)) }
                section aria-label="Bits" {
                    h2 { "Fingerprints" }
                    (grids(self.names, self.fingerprints))
                }
            }
            footer { "fpstore " (env!("CARGO_PKG_VERSION")) }
        };
        let title = format!("{one} and {other}");
        let policy = "img-src data:; base-uri 'none'; form-action 'none'";
        Page { title: &title, made_by: "fpstore", policy, styles: &[STYLE], body }.write()
    }

    fn facts(&self) -> Markup {
        let [one, other] = self.fingerprints;
        let mut rows = vec![("distance", counted(one.distance(other).into(), "bit", "bits"))];
        if let Some(estimate) = self.estimate {
            rows.push(("estimated similarity", format!("{estimate:.3}")));
        }
        if let Some(features) = &self.features {
            rows.push(("Jaccard similarity of features", format!("{:.3}", features.jaccard)));
            rows.push(("common features", grouped(features.common_count as u64)));
        }
        facts(rows)
    }
}

fn text_section(texts: [&str; 2]) -> Markup {
    let shown = texts.map(|text| beginning(text, TEXT_MAX));
    let [(first, _), (second, _)] = shown;
    let found = differences(first, second);
    let parts = &found.parts;
    let cut = ["first", "second"].into_iter().zip(texts).zip(shown).filter(|(_, (_, all))| !all);
    html! {
        section aria-label="Texts" {
            h2 { "Texts" }
            @for ((name, text), _) in cut {
                p.note {
                    "The beginning of the " (name) " text is shown and compared: "
                    (grouped(TEXT_MAX as u64)) " of " (characters(text.chars().count())) "."
                }
            }
            (key(&found))
            div.text dir="auto" {
                @for (number, part) in parts.iter().enumerate() {
                    @match part {
                        Part::Removed(text) => del { (text) },
                        Part::Added(text) => ins { (text) },
                        Part::Same(text) => (same(text, number == 0, number + 1 == parts.len())),
                    }
                }
            }
        }
    }
}

/// The legend of the colours for removed and added text.
fn key(found: &Differences<'_>) -> Markup {
    let places = counted(found.space_count, "place", "places");
    html! {
        @if !found.is_same() {
            p.key { span { del { "only in the first" } } span { ins { "only in the second" } } }
        } @else if found.space_count == 0 {
            p { "The texts are the same." }
        }
        @if found.space_count > 0 {
            p.soft {
                @if found.is_same() {
                    "The texts differ in white space alone, in " (places) ": "
                } @else {
                    "White space also differs in " (places) ", which are not marked: "
                }
                "lines are broken elsewhere, or spaces were added. White space is shown as in the first."
            }
        }
    }
}

/// Renders unchanged text, folded in the middle if it is long.
fn same(text: &str, is_start: bool, is_end: bool) -> Markup {
    let len = text.chars().count();
    if len <= FOLD {
        return html! { (text) };
    }
    // The fold begins at a space, if there is one near the intended position.
    let at = |count: usize| {
        let end = beginning(text, count).0.len();
        text[..end].rfind(' ').filter(|space| end - space < 25).unwrap_or(end)
    };
    let start = if is_start { 0 } else { at(ENDS) };
    let end = if is_end { text.len() } else { at(len - ENDS) };
    let hidden = &text[start..end];
    html! {
        (text[..start])
        details.fold {
            summary { "\u{22ef} " (characters(hidden.chars().count())) " the same \u{22ef}" }
            (hidden)
        }
        (text[end..])
    }
}

fn feature_section(names: [&str; 2], features: &ComparedFeatures<'_>) -> Markup {
    html! {
        section aria-label="Features" {
            h2 { "Features of only one document" }
            div.sides {
                @for (name, (count, list)) in names.into_iter().zip(features.only) {
                    div {
                        h3 { bdi { (name) } ": " (counted(count as u64, "feature", "features")) }
                        ul { @for text in list { li { bdi { (text) } } } }
                        @if !list.is_empty() && list.len() < count {
                            p.soft { "The first " (list.len()) " are shown; " (features.more) " shows more." }
                        }
                    }
                }
            }
        }
    }
}

/// The numbers of the bits in which two fingerprints differ, in descending order.
pub fn differing_bits(one: Fingerprint, other: Fingerprint) -> Vec<u32> {
    let bits = one.value() ^ other.value();
    (0..64).rev().filter(|bit| bits >> bit & 1 == 1).collect()
}

/// Renders both fingerprints in binary, with the differing bits marked.
fn grids(names: [&str; 2], fingerprints: [Fingerprint; 2]) -> Markup {
    let [one, other] = fingerprints;
    let differing = differing_bits(one, other);
    let listed: Vec<String> = differing.iter().map(u32::to_string).collect();
    let sentence = match listed.as_slice() {
        [] => "The fingerprints are equal.".to_string(),
        [bit] => format!("Bit {bit} differs. Bit 63 is the first."),
        bits => format!("Bits {} differ. Bit 63 is the first.", bits.join(", ")),
    };
    html! {
        p { (sentence) }
        @for (name, fingerprint) in names.into_iter().zip(fingerprints) {
            p.line { span.id { bdi { (name) } } code { (fingerprint) } }
            ol.bits aria-hidden="true" {
                @for bit in (0..64).rev() {
                    @let class = differing.contains(&bit).then_some("differs");
                    li class=[class] { (fingerprint.value() >> bit & 1) }
                }
            }
        }
    }
}
