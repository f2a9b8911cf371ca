//! The frame of a page: its head, its style, its policy.

use maud::{DOCTYPE, Markup, PreEscaped, html};

/// A page: what stands in its head, and what it shows.
pub(super) struct Page<'a> {
    pub(super) title: &'a str,
    /// What made it, after the title.
    pub(super) made_by: &'a str,
    /// What the policy allows besides the style.
    pub(super) policy: &'a str,
    /// The styles, one after the other, after the palette of all pages.
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
