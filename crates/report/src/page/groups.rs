//! The HTML page of groups of near-duplicates, the largest group first.
//!
//! The page contains the groups as JSON, and a script shows some of them at a time. Groups that
//! exceed the limit on the length of the page are omitted; the page states how many.

use std::collections::HashMap;
use std::path::Path;

use maud::{Markup, PreEscaped, html};

use super::data::Json;
use super::largest::{DOCUMENTS_MAX, LargestGroups, ShownGroup};
use super::template::Template;
use super::texts::GroupTexts;
use crate::frame::{self, Page, STYLE};
use fpstore::Result;
use fpstore_plot::numbers::{counted, grouped};

const SCRIPT: &str = include_str!("groups.js");
/// The script that collects the judgements of people about the shown pairs.
const JUDGE: &str = include_str!("judge.js");
/// The hashes of the scripts. The policy of the page allows only scripts with these hashes.
const SCRIPT_HASH: &str = include_str!("groups.js.sha256");
const JUDGE_HASH: &str = include_str!("judge.js.sha256");

/// The length in bytes that is reserved for the counts, which are known only at the end.
const MARGIN: usize = 1024;

/// The texts of a page of groups, and its links and pictures.
#[derive(Clone, Copy, Debug, Default)]
pub struct About<'a> {
    /// The name of the input.
    pub title: &'a str,
    /// The criterion of near documents, such as "within 3 bits".
    pub limit: &'a str,
    /// The definition of a group, such as "chains of near documents".
    pub method: &'a str,
    /// The template of the link of each id.
    pub link: Option<&'a Template>,
    /// The template of the address of each id's picture.
    pub image: Option<&'a Template>,
    /// Pictures by id, as `data:` addresses, which the page embeds. For notebooks, which load no
    /// other pictures.
    pub pictures: Option<&'a HashMap<String, String>>,
    /// The names of the options that allow more groups, for the note about omitted groups.
    pub more: &'a str,
    /// Whether the groups are pairs to judge: each pair has buttons, and the judgements are saved
    /// as labels that [`evaluate`](crate::evaluate) reads.
    pub judged: bool,
}

/// A page of groups.
///
/// # Examples
///
/// ```
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use fpstore::Fingerprint;
/// use fpstore::rows::{ClusterMemberRow, ClusterRow};
/// use fpstore_report::page::{About, GroupPage, LargestGroups};
///
/// let member = |id: &str, fingerprint: u64, distance| ClusterMemberRow {
///     fingerprint: Fingerprint::new(fingerprint).into(),
///     distance,
///     similarity: None,
///     ids: vec![Some(id.into())],
/// };
/// let mut groups = LargestGroups::within(1 << 20);
/// groups.take_cluster(&ClusterRow {
///     cluster: 1,
///     size: 2,
///     diameter: 1,
///     diameter_is_exact: true,
///     representative: Fingerprint::new(7).into(),
///     members: vec![member("a", 7, 0), member("b", 15, 1)],
/// });
///
/// let page = GroupPage::of(groups);
/// let mut texts = page.texts(&std::env::temp_dir())?;
/// texts.take("a", "the quick fox", None)?;
/// texts.take("b", "the slow fox", None)?;
/// let about = About { title: "news", limit: "within 3 bits", ..About::default() };
/// let written = page.write(&about, Some(texts), || Ok(()))?;
/// assert!(written.html.contains("the quick fox") && written.group_count == 1);
/// # Ok(()) }
/// ```
#[derive(Debug)]
pub struct GroupPage {
    groups: Vec<ShownGroup>,
    len_max: u64,
    /// The number of all groups, and the number of documents in them.
    counts: (u64, u64),
}

/// A written page, with counts of its groups and documents.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct WrittenPage {
    /// The HTML of the page.
    pub html: String,
    /// The number of groups on the page.
    pub group_count: u64,
    /// The number of omitted groups.
    pub left_out_count: u64,
    /// The number of documents on the page without a text.
    pub missing_count: u64,
}

impl GroupPage {
    /// A page of these groups, not yet written.
    pub fn of(groups: LargestGroups) -> Self {
        let (len_max, counts) = (groups.len_max, (groups.group_count, groups.document_count));
        GroupPage { groups: groups.into_list(), len_max, counts }
    }

    /// The ids of the documents on the page, of each group at most the first `most`.
    pub fn ids(&self, most: usize) -> impl Iterator<Item = &str> {
        self.groups.iter().flat_map(move |group| {
            group.documents.iter().take(most).filter_map(|document| document.id.as_deref())
        })
    }

    /// An empty collection for the texts of the page, in a temporary file in `folder`.
    ///
    /// # Errors
    ///
    /// [`Error::Io`](fpstore::Error::Io) if the file cannot be created.
    pub fn texts(&self, folder: &Path) -> Result<GroupTexts> {
        GroupTexts::of(&self.groups, folder)
    }

    /// Writes the page, with the texts if they are given. `check` is called before each group; its
    /// error ends the work.
    ///
    /// # Errors
    ///
    /// [`Error::Io`](fpstore::Error::Io) if the temporary file of the texts cannot be read, and any
    /// error that `check` returns.
    pub fn write(
        &self,
        about: &About<'_>,
        mut texts: Option<GroupTexts>,
        mut check: impl FnMut() -> Result<()>,
    ) -> Result<WrittenPage> {
        if let Some(texts) = &mut texts {
            texts.finish();
        }
        let fixed = page(about, self.counts, &Json::within(0)).len();
        let len_max = usize::try_from(self.len_max).unwrap_or(usize::MAX);
        let mut json = Json::within(len_max.saturating_sub(fixed + MARGIN));
        for group in &self.groups {
            check()?;
            if !json.push(group, texts.as_mut(), about.pictures)? {
                break;
            }
        }
        json.close();
        Ok(WrittenPage {
            html: page(about, self.counts, &json),
            group_count: json.group_count,
            left_out_count: self.counts.0 - json.group_count,
            missing_count: json.missing_count,
        })
    }
}

fn page(about: &About<'_>, counts: (u64, u64), json: &Json) -> String {
    let template = |it: Option<&Template>| it.map(|it| it.as_str().to_string());
    let images = about.image.map_or_else(String::new, Template::sources);
    let body = html! {
        main {
            h1 { (about.title) }
            (facts(about, counts))
            (notes(about, counts, json))
            noscript {
                p.note { "The groups are shown by a script, which this browser does not run." }
            }
            @if about.judged { (judging()) }
            (tools(about, json.has_texts))
            div #groups data-link=[template(about.link)] data-image=[template(about.image)]
                data-judged=[about.judged.then_some("")] {}
            nav.pager.last aria-label="Pages, again" hidden {}
        }
        footer { "fpstore " (env!("CARGO_PKG_VERSION")) }
        script #data type="application/json" { (PreEscaped(&json.text)) }
        @if about.judged { script { (PreEscaped(JUDGE)) } }
        script { (PreEscaped(SCRIPT)) }
    };
    let (script, judge) = (SCRIPT_HASH.trim(), JUDGE_HASH.trim());
    let policy = format!(
        "script-src 'sha256-{script}' 'sha256-{judge}'; img-src data: {images}; base-uri 'none'; \
         form-action 'none'"
    );
    let (title, policy) = (about.title, policy.as_str());
    Page { title, made_by: "fpstore", policy, styles: &[STYLE], body }.write()
}

fn facts(about: &About<'_>, (groups, documents): (u64, u64)) -> Markup {
    let facts = match about.judged {
        true => vec![("pairs", grouped(groups)), ("distances", about.limit.into())],
        false => vec![
            ("groups", grouped(groups)),
            ("documents in them", grouped(documents)),
            ("near means", about.limit.into()),
            ("groups are", about.method.into()),
        ],
    };
    frame::facts(facts)
}

/// Sentences about the groups, documents and texts that the page omits.
fn notes(about: &About<'_>, (groups, documents): (u64, u64), json: &Json) -> Markup {
    let mut notes = Vec::new();
    if groups == 0 {
        notes.push("There are no groups: no two documents are near each other.".to_string());
    } else if json.group_count < groups {
        notes.push(format!(
            "This page shows the {} largest of {} groups. A larger {} shows more.",
            grouped(json.group_count),
            grouped(groups),
            about.more
        ));
    }
    if json.group_count == groups && json.document_count < documents {
        notes.push(format!(
            "Each group is shown with at most {DOCUMENTS_MAX} documents: {} of {}.",
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

/// The instructions for judging, and the button to save the judgements.
fn judging() -> Markup {
    html! {
        section.judging aria-label="Judgements" {
            p {
                "Are the two documents of a pair one document for you, or different ones? Press "
                kbd { "y" } " for one, " kbd { "d" } " for different, " kbd { "u" }
                " if you cannot say; the next pair follows. This browser keeps the judgements."
            }
            p.line {
                button #save type="button" disabled { "Save labels.tsv" }
                span #judged role="status" {}
            }
            p.soft {
                "Then "
                code { "fpstore evaluate INPUT --pairs labels.tsv" }
                ", where INPUT is the store or the files of this page, with its --docs, finds the \
                 distance that best separates the two kinds."
            }
        }
    }
}

/// The controls that select the shown groups.
fn tools(about: &About<'_>, has_texts: bool) -> Markup {
    let (noun, nouns) = if about.judged { ("pair", "pairs") } else { ("group", "groups") };
    let hint = if has_texts { "id, fingerprint, words" } else { "id, fingerprint" };
    html! {
        search.tools hidden {
            label.find { span { "Find" }
                input #find type="search" autocomplete="off" spellcheck="false" placeholder=(hint);
            }
            label { span { "Order" }
                select #order {
                    option value="size" {
                        @if about.judged { "mixed" } @else { "largest first" }
                    }
                    option value="diameter" { "most different first" }
                    @if !about.judged { option value="number" { "by number in the rows" } }
                }
            }
            @if has_texts {
                label.check {
                    input #differing type="checkbox";
                    "only " (nouns) " whose texts differ"
                }
            }
            details.keys { summary { "Keys" }
                p {
                    kbd { "/" } " find, " kbd { "j" } " and " kbd { "k" }
                    " next and previous " (noun) ", " kbd { "n" } " and " kbd { "p" }
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
    use super::*;
    use crate::frame::scripts::assert_policy_names;

    #[test]
    fn the_policy_names_the_script() {
        assert_policy_names(SCRIPT, SCRIPT_HASH, "groups.js");
        assert_policy_names(JUDGE, JUDGE_HASH, "judge.js");
    }
}
