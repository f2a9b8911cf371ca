//! Pages for a browser: groups of near-duplicates, and two documents beside each other.
//!
//! A page is one file that needs no network, follows a dark theme and fits narrow screens. All
//! that comes from documents is text of other people: the parts that are made here are escaped by
//! `maud`, the data for the script is JSON without `<`, the script writes it as text and nothing
//! else, and the policy of the page lets no other script run.

pub(super) mod bits;
pub(super) mod comparison;
mod data;
pub(super) mod groups;
mod largest;
mod template;
pub(super) mod texts;
pub(super) mod words;

use std::path::{Path, PathBuf};

use anyhow::bail;
use maud::{DOCTYPE, Markup, PreEscaped, html};

use super::sink::Sink;

const STYLE: &str = include_str!("style.css");

/// A page: what stands in its head, and what it shows.
struct Page<'a> {
    title: &'a str,
    /// What the policy allows besides the style.
    policy: String,
    body: Markup,
}

impl Page<'_> {
    fn write(self) -> String {
        let policy = format!("default-src 'none'; style-src 'unsafe-inline'; {}", self.policy);
        let page = html! {
            (DOCTYPE)
            html lang="en" {
                head {
                    meta charset="utf-8";
                    meta name="viewport" content="width=device-width, initial-scale=1";
                    meta name="color-scheme" content="light dark";
                    meta name="referrer" content="no-referrer";
                    meta http-equiv="Content-Security-Policy" content=(policy);
                    link rel="icon" href="data:,";
                    title { (self.title) " - fpstore" }
                    style { (PreEscaped(fpstore_plot::PALETTE)) (PreEscaped(STYLE)) }
                }
                body { (self.body) }
            }
        };
        page.into_string()
    }
}

/// The name of a page. A part of a page, as in `--html-part main`, is none.
pub(super) fn page_path(text: &str) -> Result<PathBuf, String> {
    match text {
        "" => Err("a file has a name".into()),
        "auto" | "main" | "full" => Err(format!(
            "--html names the page to write; for the part of pages in HTML that is read, \
             say --html-part {text}; for a file of this name, ./{text}"
        )),
        _ => Ok(text.into()),
    }
}

/// Opens a page before any work is done.
pub(super) fn open(path: &Path, force: bool, other: &str) -> anyhow::Result<Sink> {
    if path == Path::new("-") {
        bail!("the page goes to a file, and {other} to standard output: give --html a name");
    }
    Sink::open(path, force)
}

/// A number of characters with its noun.
fn characters(count: usize) -> String {
    super::output::counted(count as u64, "character", "characters")
}

/// The first characters of a text, at most `most`; whether that is all of it.
fn beginning(text: &str, most: usize) -> (&str, bool) {
    match text.char_indices().nth(most) {
        Some((end, _)) => (&text[..end], false),
        None => (text, true),
    }
}
