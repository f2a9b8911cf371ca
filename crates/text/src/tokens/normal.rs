//! Normal form and lower case.

use unicode_normalization::UnicodeNormalization;

use crate::tokens::runs::each_run;

/// Appends `text` with compatibility characters replaced and composed (NFKC), if `nfkc`, then in
/// lower case, if `lower`.
///
/// The text must be whole or cut before ASCII white space.
pub(crate) fn normalize(
    text: &str,
    nfkc: bool,
    lower: bool,
    out: &mut String,
    scratch: &mut String,
) {
    each_run(text, &mut |run| push_normal(run, nfkc, lower, out, scratch));
}

fn push_normal(text: &str, nfkc: bool, lower: bool, out: &mut String, scratch: &mut String) {
    if text.is_ascii() {
        let start = out.len();
        out.push_str(text);
        if lower {
            out[start..].make_ascii_lowercase();
        }
        return;
    }
    match (nfkc, lower) {
        (false, false) => out.push_str(text),
        (true, false) => push_nfkc(text, out),
        (false, true) => push_lower(text, out),
        (true, true) => {
            scratch.clear();
            push_nfkc(text, scratch);
            push_lower(scratch, out);
        }
    }
}

/// The full-width forms of ASCII, and their distance from it.
const FULL_WIDTH: std::ops::RangeInclusive<char> = '\u{ff01}'..='\u{ff5e}';
const FULL_WIDTH_OFFSET: u32 = 0xfee0;

/// Whether NFKC leaves a character as it is, or only makes it narrow, and never joins it to the one
/// before. (The next character may still join it if it is not inert.)
#[inline]
fn is_inert(c: char) -> bool {
    c.is_ascii()
        || matches!(c, '\u{4e00}'..='\u{9fff}' | '\u{3001}'..='\u{3002}')
        || FULL_WIDTH.contains(&c)
}

fn push_inert(c: char, out: &mut String) {
    match c {
        c if FULL_WIDTH.contains(&c) => {
            out.extend(char::from_u32(u32::from(c) - FULL_WIDTH_OFFSET));
        }
        c => out.push(c),
    }
}

/// The same as `text.nfkc()`, with a fast path for inert characters.
fn push_nfkc(mut text: &str, out: &mut String) {
    while !text.is_empty() {
        let inert_len = text.find(|c| !is_inert(c)).unwrap_or(text.len());
        let (inert, rest) = text.split_at(inert_len);
        if rest.is_empty() {
            inert.chars().for_each(|c| push_inert(c, out));
            return;
        }
        // A character that is not inert may join the one before it.
        let last_len = inert.chars().next_back().map_or(0, char::len_utf8);
        let joining_start = inert_len - last_len;
        inert[..joining_start].chars().for_each(|c| push_inert(c, out));
        let joining_end = inert_len + rest.find(is_inert).unwrap_or(rest.len());
        out.extend(text[joining_start..joining_end].nfkc());
        text = &text[joining_end..];
    }
}

/// The same as `text.to_lowercase()`, with a fast path for characters without case.
fn push_lower(text: &str, out: &mut String) {
    // The lower case of one letter depends on its place: sigma at the end of a word.
    if text.contains('\u{3a3}') {
        out.push_str(&text.to_lowercase());
        return;
    }
    for c in text.chars() {
        match c {
            c if c.is_ascii() => out.push(c.to_ascii_lowercase()),
            // No letter of this range has a case.
            '\u{2e80}'..='\u{a63f}' => out.push(c),
            c => out.extend(c.to_lowercase()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fast_paths_change_nothing() {
        // All characters, each alone and before, between and after characters that join.
        let joiners = ["", "a", "\u{301}", "\u{3099}", "\u{ff9e}", "\u{1161}", "\u{4e2d}"];
        let (mut out, mut scratch) = (String::new(), String::new());
        for c in '\0'..=char::MAX {
            for before in joiners {
                for after in ["", "\u{301}", "\u{ff0c}", "\u{3099}\u{4e2d}"] {
                    if (before, after) != ("", "") && u32::from(c) > 0x1_2000 {
                        continue;
                    }
                    let text = format!("{before}{c}{after}");
                    out.clear();
                    normalize(&text, true, true, &mut out, &mut scratch);
                    let plain: String = text.nfkc().collect();
                    assert_eq!(out, plain.to_lowercase(), "{text:?}");
                }
            }
        }
    }

    #[test]
    fn each_form_can_be_left_out() {
        let text = "\u{ff21}\u{c9}\u{3a3}";
        let (mut out, mut scratch) = (String::new(), String::new());
        for (nfkc, lower, expected) in [
            (false, false, "\u{ff21}\u{c9}\u{3a3}"),
            (true, false, "A\u{c9}\u{3a3}"),
            (false, true, "\u{ff41}\u{e9}\u{3c2}"),
            (true, true, "a\u{e9}\u{3c2}"),
        ] {
            out.clear();
            normalize(text, nfkc, lower, &mut out, &mut scratch);
            assert_eq!(out, expected);
        }
        out.clear();
        normalize("ABC d", true, false, &mut out, &mut scratch);
        assert_eq!(out, "ABC d");
    }
}
