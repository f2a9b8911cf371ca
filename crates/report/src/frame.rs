//! The frame that all pages share: the HTML head with styles and a content security policy.

use fpstore_plot::numbers::counted;
use maud::{DOCTYPE, Markup, PreEscaped, Render, html};

/// The style sheet of the pages of documents.
pub(super) const STYLE: &str = include_str!("page/style.css");

/// The contents of a page.
pub(super) struct Page<'a> {
    pub(super) title: &'a str,
    /// The name of the program that made the page, shown after the title.
    pub(super) made_by: &'a str,
    /// The content security policy, except the part for styles.
    pub(super) policy: &'a str,
    /// The style sheets of this page, after the palette of all pages.
    pub(super) styles: &'a [&'a str],
    pub(super) body: Markup,
}

impl Page<'_> {
    pub(super) fn write(self) -> String {
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
                    title { (self.title) " - " (self.made_by) }
                    style {
                        (PreEscaped(fpstore_plot::PALETTE))
                        @for style in self.styles { (PreEscaped(style)) }
                    }
                }
                body { (self.body) }
            }
        };
        page.into_string()
    }
}

/// A list of facts, each with a name and a value, below the title of a page.
pub(super) fn facts<'a>(facts: impl IntoIterator<Item = (&'a str, impl Render)>) -> Markup {
    html! { dl.facts { @for (name, value) in facts { div { dt { (name) } dd { (value) } } } } }
}

/// Formats a number with the noun "characters".
pub(super) fn characters(count: usize) -> String {
    counted(count as u64, "character", "characters")
}

/// At most `most` characters from the start of a text, and whether they are the whole text.
pub(super) fn beginning(text: &str, most: usize) -> (&str, bool) {
    match text.char_indices().nth(most) {
        Some((end, _)) => (&text[..end], false),
        None => (text, true),
    }
}

#[cfg(test)]
pub(super) mod scripts {
    use sha2::{Digest, Sha256};

    /// The 64 digits of base64 as defined in RFC 4648.
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

    /// Checks that `hash` is the hash of the script, by which the policy of the page allows it, and
    /// that the script never creates markup from text.
    pub(crate) fn assert_policy_names(script: &str, hash: &str, name: &str) {
        assert_eq!(base64(b"any carnal pleas"), "YW55IGNhcm5hbCBwbGVhcw==");
        assert_eq!(hash.trim(), base64(&Sha256::digest(script)), "write it to {name}.sha256");
        for way in ["innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval("] {
            assert!(!script.contains(way), "{way}");
        }
        assert!(!script.contains("</"), "the script would end there");
    }
}
