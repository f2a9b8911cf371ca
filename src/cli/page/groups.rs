//! The page of `fpstore cluster --html`: groups of near-duplicates, the largest first.
//!
//! The page holds the groups as JSON, and a script shows some at a time. A bound on the length of
//! the page decides how many it holds; it says what it leaves out.

use std::io::Write;
use std::path::PathBuf;

use bytesize::ByteSize;
use clap::Args;
use maud::{Markup, PreEscaped, html};

use super::super::monitor::Monitor;
use super::super::output::{counted, grouped};
use super::super::resources::ResourceArgs;
use super::super::sink::Sink;
use super::data::Json;
use super::largest::{DOCUMENTS_MAX, LargestGroups};
use super::template::Template;
use super::texts::TextSource;
use super::{Page, page_path};

const SCRIPT: &str = include_str!("groups.js");
/// Names the script in the policy of the page, so that no other can run.
const SCRIPT_HASH: &str = include_str!("groups.js.sha256");

/// The options of a page with groups.
#[derive(Args, Debug)]
pub(in crate::cli) struct GroupPageArgs {
    /// Write a page for a browser that shows the groups and their differences
    ///
    /// The largest group comes first. Rows are then printed only with -o, --format or --keep.
    #[arg(long, value_name = "FILE", value_parser = page_path)]
    pub(in crate::cli) html: Option<PathBuf>,
    /// Documents that hold the texts of the page, by their ids; may be repeated
    ///
    /// With --docs the documents themselves hold them.
    #[arg(
        long,
        value_name = "FILE",
        requires = "html",
        conflicts_with = "docs",
        hide_short_help = true
    )]
    pub(in crate::cli) texts: Vec<PathBuf>,
    /// Link each id of the page, as to https://example.org/{id}
    ///
    /// {fingerprint} stands for the fingerprint. What {id} stands for is escaped, but at the
    /// beginning: there it is an address itself.
    #[arg(long, value_name = "TEMPLATE", requires = "html", hide_short_help = true)]
    link: Option<Template>,
    /// Show a picture of each id on the page, as from thumbnails/{id}.jpg
    ///
    /// It is a template as --link; a path is relative to the page.
    #[arg(long, value_name = "TEMPLATE", requires = "html", hide_short_help = true)]
    image: Option<Template>,
    /// The longest page; groups that do not fit are left out, the smallest first
    #[arg(
        long,
        value_name = "SIZE",
        requires = "html",
        default_value = "32MiB",
        hide_short_help = true
    )]
    html_max: ByteSize,
}

/// What a page says of its groups.
pub(in crate::cli) struct About<'a> {
    /// The name of the input.
    pub(in crate::cli) title: &'a str,
    /// What makes documents a group, such as "within 3 bits".
    pub(in crate::cli) limit: &'a str,
    pub(in crate::cli) method: &'a str,
}

impl GroupPageArgs {
    /// Opens the page and collects its groups, if there is to be one.
    pub(in crate::cli) fn open(&self, force: bool) -> anyhow::Result<Option<GroupPage>> {
        let Some(path) = &self.html else { return Ok(None) };
        let out = super::open(path, force, "clusters")?;
        Ok(Some(GroupPage { out, groups: LargestGroups::within(self.html_max.as_u64()) }))
    }

    /// Writes the page with the groups that were collected.
    pub(in crate::cli) fn write(
        &self,
        page: GroupPage,
        source: Option<TextSource<'_>>,
        about: &About<'_>,
        resources: &ResourceArgs,
        monitor: &Monitor,
        quiet: bool,
    ) -> anyhow::Result<()> {
        let GroupPage { mut out, groups } = page;
        let counts = (groups.group_count, groups.document_count);
        let groups = groups.into_list();
        let mut texts = match source {
            Some(source) => Some(source.read(&groups, resources, monitor, quiet)?),
            None => None,
        };
        let fixed = self.page(about, counts, &Json::within(0)).len();
        let len_max = usize::try_from(self.html_max.as_u64()).unwrap_or(usize::MAX);
        let mut json = Json::within(len_max.saturating_sub(fixed + MARGIN));
        for group in &groups {
            monitor.check()?;
            if !json.push(group, texts.as_mut())? {
                break;
            }
        }
        json.close();
        out.write_all(self.page(about, counts, &json).as_bytes())?;
        out.finish()?;
        monitor.finish();
        if !quiet && let Some(path) = &self.html {
            let left_out = match counts.0 - json.group_count {
                0 => String::new(),
                left => format!("; {} left out, --html-max has room for more", grouped(left)),
            };
            let groups = counted(json.group_count, "cluster", "clusters");
            message!("wrote {} with {groups}{left_out}", path.display());
            if texts.is_some() && json.missing_count > 0 {
                let documents = counted(json.missing_count, "document", "documents");
                message!("no text was found for {documents} of the page");
            }
        }
        Ok(())
    }

    fn page(&self, about: &About<'_>, counts: (u64, u64), json: &Json) -> String {
        let template = |it: &Option<Template>| it.as_ref().map(|it| it.as_str().to_string());
        let images = self.image.as_ref().map_or_else(String::new, Template::sources);
        let body = html! {
            main {
                h1 { (about.title) }
                (facts(about, counts))
                (notes(counts, json))
                noscript {
                    p.note { "The groups are shown by a script, which this browser does not run." }
                }
                (tools(json.has_texts))
                div #groups data-link=[template(&self.link)] data-image=[template(&self.image)] {}
                nav.pager.last aria-label="Pages, again" hidden {}
            }
            footer { "fpstore " (env!("CARGO_PKG_VERSION")) }
            script #data type="application/json" { (PreEscaped(&json.text)) }
            script { (PreEscaped(SCRIPT)) }
        };
        let script = SCRIPT_HASH.trim();
        let policy = format!(
            "script-src 'sha256-{script}'; img-src data: {images}; base-uri 'none'; \
             form-action 'none'"
        );
        Page { title: about.title, policy, body }.write()
    }
}

/// Room for the counts that are known last.
const MARGIN: usize = 1024;

/// A page that is open, and its groups.
pub(in crate::cli) struct GroupPage {
    out: Sink,
    pub(in crate::cli) groups: LargestGroups,
}

fn facts(about: &About<'_>, (groups, documents): (u64, u64)) -> Markup {
    let facts = [
        ("groups", grouped(groups)),
        ("documents in them", grouped(documents)),
        ("near means", about.limit.into()),
        ("groups are", about.method.into()),
    ];
    html! { dl.facts { @for (name, value) in facts { div { dt { (name) } dd { (value) } } } } }
}

/// What the page leaves out, in words.
fn notes((groups, documents): (u64, u64), json: &Json) -> Markup {
    let mut notes = Vec::new();
    if groups == 0 {
        notes.push("There are no groups: no two documents are near each other.".to_string());
    } else if json.group_count < groups {
        notes.push(format!(
            "This page shows the {} largest of {} groups. --html-max makes room for more.",
            grouped(json.group_count),
            grouped(groups)
        ));
    }
    if json.group_count == groups && json.document_count < documents {
        notes.push(format!(
            "Of each group the first {DOCUMENTS_MAX} documents are shown at most: {} of {}.",
            grouped(json.document_count),
            grouped(documents)
        ));
    }
    if json.has_texts && json.missing_count > 0 {
        notes.push(format!(
            "For {} no text was found.",
            counted(json.missing_count, "document", "documents")
        ));
    }
    html! { @for note in notes { p.note { (note) } } }
}

/// The search and what else chooses the groups that are shown.
fn tools(has_texts: bool) -> Markup {
    let hint = if has_texts { "id, fingerprint, words" } else { "id, fingerprint" };
    html! {
        search.tools hidden {
            label.find { span { "Find" }
                input #find type="search" autocomplete="off" spellcheck="false" placeholder=(hint);
            }
            label { span { "Order" }
                select #order {
                    option value="size" { "largest first" }
                    option value="diameter" { "most different first" }
                    option value="number" { "by number" }
                }
            }
            @if has_texts {
                label.check { input #differing type="checkbox"; "only groups whose texts differ" }
            }
            details.keys { summary { "Keys" }
                p {
                    kbd { "/" } " find, " kbd { "j" } " and " kbd { "k" }
                    " next and previous group, " kbd { "n" } " and " kbd { "p" }
                    " next and previous page"
                }
            }
        }
        p #status role="status" {}
        nav.pager aria-label="Pages" hidden {}
    }
}

#[cfg(test)]
mod tests {
    use sha2::{Digest, Sha256};

    use super::*;

    /// The 64 digits of base64 as RFC 4648 has them.
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

    fn base64(bytes: &[u8]) -> String {
        let four = |three: &[u8]| {
            let number =
                (0..3).fold(0, |sum, at| sum << 8 | three.get(at).map_or(0, |&b| b as usize));
            let digit = |at: usize| DIGITS[number >> (18 - 6 * at) & 63] as char;
            (0..4).map(|at| if at <= three.len() { digit(at) } else { '=' }).collect::<String>()
        };
        bytes.chunks(3).map(four).collect()
    }

    #[test]
    fn the_policy_names_the_script() {
        assert_eq!(base64(b"any carnal pleas"), "YW55IGNhcm5hbCBwbGVhcw==");
        let hash = base64(&Sha256::digest(SCRIPT));
        assert_eq!(SCRIPT_HASH.trim(), hash, "write it to groups.js.sha256");
    }

    #[test]
    fn the_script_never_makes_markup_of_text() {
        for way in ["innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval("] {
            assert!(!SCRIPT.contains(way), "{way}");
        }
        assert!(!SCRIPT.contains("</"), "the script would end there");
    }
}
