//! Folds a text before it is cut: invisible characters, apostrophes, normal form, vowel marks, case.

use unicode_normalization::UnicodeNormalization;

use crate::recipe::{Case, TextRecipe};
use crate::tokens::runs::each_run;

/// The folding of a text.
#[derive(Clone, Copy, Debug)]
pub(super) struct Form {
    ignorables: bool,
    apostrophes: bool,
    nfkc: bool,
    vowel_marks: bool,
    case: Case,
}

impl Form {
    pub(super) fn of(recipe: &TextRecipe) -> Self {
        Form {
            ignorables: recipe.ignorables,
            apostrophes: recipe.apostrophes,
            nfkc: recipe.nfkc,
            vowel_marks: recipe.vowel_marks,
            case: recipe.case,
        }
    }

    /// Replaces `c` before normalisation: a dropped ignorable by `None`, and the forms of the
    /// apostrophe by the plain apostrophe.
    #[inline]
    pub(super) fn seen(self, c: char) -> Option<char> {
        match c {
            ..FIRST_IGNORABLE => Some(c),
            c if !self.ignorables && is_ignorable(c) => None,
            c if !self.apostrophes && is_apostrophe(c) => Some('\''),
            c => Some(c),
        }
    }

    /// The normal form of a text after [`Form::seen`]. The normal form of U+0149 contains an
    /// apostrophe, which is replaced, too; no normal form contains an ignorable.
    fn normal(self, text: &str) -> impl Iterator<Item = char> {
        let seen = text.chars().filter_map(move |c| self.seen(c));
        seen.nfkc().filter_map(move |c| self.seen(c))
    }

    /// Appends the folded `text`. The steps, as far as the recipe has them: invisible characters
    /// and apostrophes, NFKC (compatibility characters replaced and composed), vowel marks, case.
    ///
    /// The text must be whole or cut before ASCII white space.
    pub(super) fn push(self, text: &str, out: &mut String, scratch: &mut String) {
        each_run(text, &mut |run| self.push_run(run, out, scratch));
    }

    fn push_run(self, text: &str, out: &mut String, scratch: &mut String) {
        if text.is_ascii() {
            let start = out.len();
            out.push_str(text);
            if self.case != Case::Kept {
                out[start..].make_ascii_lowercase();
            }
            return;
        }
        if self.nfkc && self.case != Case::Lower {
            // Only characters that join their neighbours in normal form are not folded separately.
            return each_part(text, &mut |part| match part {
                Part::Inert(inert) => {
                    let start = out.len();
                    push_narrow(inert, out);
                    if self.case == Case::Folded {
                        out[start..].make_ascii_lowercase();
                    }
                }
                Part::Other(other) => {
                    scratch.clear();
                    scratch.extend(self.normal(other));
                    self.push_normal(scratch, out);
                }
            });
        }
        scratch.clear();
        if self.nfkc {
            each_part(text, &mut |part| match part {
                Part::Inert(inert) => push_narrow(inert, scratch),
                Part::Other(other) => scratch.extend(self.normal(other)),
            });
        } else {
            scratch.extend(text.chars().filter_map(|c| self.seen(c)));
        }
        self.push_normal(scratch, out);
    }

    /// Appends a text that is in normal form: removes vowel marks and folds the case.
    fn push_normal(self, scratch: &mut String, out: &mut String) {
        if !self.vowel_marks && scratch.contains(is_vowel_mark) {
            scratch.retain(|c| !is_vowel_mark(c));
        }
        match self.case {
            Case::Kept => out.push_str(scratch),
            Case::Lower => push_lower(scratch, out),
            Case::Folded => push_folded(scratch, out),
        }
    }
}

const FIRST_IGNORABLE: char = '\u{ad}';

/// Whether a character has the Unicode property `Default_Ignorable_Code_Point`: it has no glyph,
/// such as a soft hyphen, a joiner or a variation selector. A recipe never changes its meaning, so
/// the table is fixed here, and a test compares it with the table of the crate `regex-syntax`.
fn is_ignorable(c: char) -> bool {
    matches!(c,
        FIRST_IGNORABLE | '\u{34f}' | '\u{61c}' | '\u{115f}'..='\u{1160}'
        | '\u{17b4}'..='\u{17b5}' | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}'
        | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{3164}'
        | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fff8}'
        | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}')
}

/// Whether a character is a form of the apostrophe: those that CLDR equates in its lenient parsing
/// (U+02BC, U+055A, U+1FBD, U+1FBF, U+2019, U+FF07); the other single quotation marks (inside a
/// word, UAX #29 treats U+2018 as an apostrophe); and the okina and the geresh, for which keyboards
/// have the plain apostrophe.
fn is_apostrophe(c: char) -> bool {
    matches!(
        c,
        '\u{2bb}'
            | '\u{2bc}'
            | '\u{55a}'
            | '\u{5f3}'
            | '\u{1fbd}'
            | '\u{1fbf}'
            | '\u{2018}'
            | '\u{2019}'
            | '\u{201b}'
            | '\u{ff07}'
    )
}

/// Whether a character is a mark of Hebrew or Arabic that most texts omit: vowels, accents of the
/// Bible and the Quran, and the stroke that only widens a line.
fn is_vowel_mark(c: char) -> bool {
    // Nearly all characters are outside this range.
    ('\u{591}'..='\u{6ed}').contains(&c)
        && matches!(c,
            '\u{591}'..='\u{5bd}' | '\u{5bf}' | '\u{5c1}'..='\u{5c2}' | '\u{5c4}'..='\u{5c5}'
            | '\u{5c7}' | '\u{610}'..='\u{61a}' | '\u{640}' | '\u{64b}'..='\u{65f}' | '\u{670}'
            | '\u{6d6}'..='\u{6dc}' | '\u{6df}'..='\u{6e4}' | '\u{6e7}'..='\u{6e8}'
            | '\u{6ea}'..='\u{6ed}')
}

/// The full-width forms of ASCII, and their distance from ASCII.
const FULL_WIDTH: std::ops::RangeInclusive<char> = '\u{ff01}'..='\u{ff5e}';
const FULL_WIDTH_OFFSET: u32 = 0xfee0;

/// Whether NFKC keeps a character unchanged, or only makes it narrow, and never joins it to the
/// character before. (If the next character is not inert, it may still join this one.)
#[inline]
fn is_inert(c: char) -> bool {
    c.is_ascii()
        || matches!(c, '\u{4e00}'..='\u{9fff}' | '\u{3001}'..='\u{3002}')
        || FULL_WIDTH.contains(&c)
}

/// The length of the longest inert prefix of a text. It looks at bytes: in Chinese nearly all
/// characters have three bytes, and the first byte decides.
fn inert_len(text: &str) -> usize {
    let bytes = text.as_bytes();
    let mut at = 0;
    while let Some(&first) = bytes.get(at) {
        let (second, third) = match bytes.get(at + 1..at + 3) {
            Some(&[second, third]) => (second, third),
            _ => (0, 0),
        };
        at += match first {
            ..0x80 => 1,
            // U+5000 to U+9FFF; in the second line, U+4E00 to U+4FFF.
            0xe5..=0xe9 => 3,
            0xe4 if second >= 0xb8 => 3,
            // U+3001 and U+3002.
            0xe3 if second == 0x80 && matches!(third, 0x81 | 0x82) => 3,
            // U+FF01 to U+FF5E.
            0xef if second == 0xbc && third >= 0x81 || second == 0xbd && third <= 0x9e => 3,
            _ => break,
        };
    }
    at
}

/// Appends an inert text, with full-width characters made narrow.
fn push_narrow(mut inert: &str, out: &mut String) {
    // Of the inert characters, only the full-width forms begin with this byte.
    while let Some(at) = inert.bytes().position(|byte| byte == 0xef) {
        let (plain, rest) = inert.split_at(at);
        out.push_str(plain);
        let mut chars = rest.chars();
        let wide = chars.next().map_or(0, u32::from);
        out.extend(char::from_u32(wide - FULL_WIDTH_OFFSET));
        inert = chars.as_str();
    }
    out.push_str(inert);
}

/// A part of a text that is normalised independently of the other parts.
enum Part<'a> {
    Inert(&'a str),
    Other(&'a str),
}

/// Calls `take` with the parts of a text, in order.
fn each_part<'a>(mut text: &'a str, take: &mut impl FnMut(Part<'a>)) {
    while !text.is_empty() {
        let (inert, rest) = text.split_at(inert_len(text));
        if rest.is_empty() {
            return take(Part::Inert(inert));
        }
        // A character that is not inert may join the character before it.
        let last_len = inert.chars().next_back().map_or(0, char::len_utf8);
        let joining_start = inert.len() - last_len;
        take(Part::Inert(&inert[..joining_start]));
        let joining_end = inert.len() + rest.find(is_inert).unwrap_or(rest.len());
        take(Part::Other(&text[joining_start..joining_end]));
        text = &text[joining_end..];
    }
}

/// Equal to `text.to_lowercase()`, with a fast path for characters without case.
fn push_lower(text: &str, out: &mut String) {
    // The lower case of a single letter depends on its position: sigma at the end of a word.
    if text.contains('\u{3a3}') {
        out.push_str(&text.to_lowercase());
        return;
    }
    for c in text.chars() {
        match c {
            c if c.is_ascii() => out.push(c.to_ascii_lowercase()),
            // No letter of this range has case.
            '\u{2e80}'..='\u{a63f}' => out.push(c),
            c => out.extend(c.to_lowercase()),
        }
    }
}

/// Converts each character to the lower case of its upper case, which equates forms of a letter
/// that lower case distinguishes: sharp s and ss, both forms of small sigma.
fn push_folded(text: &str, out: &mut String) {
    for c in text.chars() {
        match c {
            c if c.is_ascii() => out.push(c.to_ascii_lowercase()),
            // No letter of this range has case.
            '\u{2e80}'..='\u{a63f}' => out.push(c),
            // Small Latin letters, except sharp s, and small Cyrillic letters.
            '\u{e0}'..='\u{ff}' | '\u{430}'..='\u{44f}' => out.push(c),
            c => out.extend(c.to_uppercase().flat_map(char::to_lowercase)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BEST: Form = Form {
        ignorables: false,
        apostrophes: false,
        nfkc: true,
        vowel_marks: false,
        case: Case::Folded,
    };
    const PLAIN: Form = Form { ignorables: true, apostrophes: true, ..BEST };

    fn formed(form: Form, text: &str) -> String {
        let (mut out, mut scratch) = (String::new(), String::new());
        form.push(text, &mut out, &mut scratch);
        out
    }

    #[test]
    fn forms_of_one_letter_are_folded_and_vowel_marks_dropped() {
        for (one, other) in [
            ("Stra\u{df}e", "STRASSE"),
            ("\u{39f}\u{394}\u{39f}\u{3a3}", "\u{3bf}\u{3b4}\u{3bf}\u{3c2}"),
            // Arabic with and without vowels, and widened; Hebrew with and without points.
            ("\u{643}\u{62a}\u{628}", "\u{643}\u{64e}\u{62a}\u{640}\u{64e}\u{628}\u{64e}"),
            ("\u{5e9}\u{5dc}\u{5d5}\u{5dd}", "\u{5e9}\u{5c1}\u{5b8}\u{5dc}\u{5d5}\u{5b9}\u{5dd}"),
            // A letter whose normal form contains an apostrophe.
            ("'n", "\u{149}"),
        ] {
            assert_eq!(formed(BEST, one), formed(BEST, other), "{one} {other}");
        }
        let kept = Form { vowel_marks: true, case: Case::Lower, ..BEST };
        assert_eq!(formed(kept, "Stra\u{df}e"), "stra\u{df}e");
        assert_eq!(formed(kept, "\u{643}\u{64e}"), "\u{643}\u{64e}");
        // A letter with hamza is another letter, composed or not.
        assert_eq!(formed(BEST, "\u{627}\u{654}"), "\u{623}");
        for c in '\0'..=char::MAX {
            let slow: String = c.to_uppercase().flat_map(char::to_lowercase).collect();
            let mut fast = String::new();
            push_folded(c.encode_utf8(&mut [0; 4]), &mut fast);
            assert_eq!(fast, slow, "{c:?}");
        }
    }

    #[test]
    fn the_fast_paths_change_nothing() {
        // All characters, each alone and before, between and after characters that join.
        let joiners = ["", "a", "\u{301}", "\u{3099}", "\u{ff9e}", "\u{1161}", "\u{4e2d}"];
        let (mut out, mut scratch) = (String::new(), String::new());
        let form = Form { vowel_marks: true, case: Case::Lower, ..PLAIN };
        let folded = Form { case: Case::Folded, ..form };
        let kept = Form { case: Case::Kept, ..form };
        let seen = Form { ignorables: false, apostrophes: false, ..kept };
        for c in '\0'..=char::MAX {
            for before in joiners {
                for after in ["", "\u{301}", "\u{ff0c}", "\u{3099}\u{4e2d}"] {
                    if (before, after) != ("", "") && u32::from(c) > 0x1_2000 {
                        continue;
                    }
                    let text = format!("{before}{c}{after}");
                    out.clear();
                    form.push(&text, &mut out, &mut scratch);
                    let plain: String = text.nfkc().collect();
                    assert_eq!(out, plain.to_lowercase(), "{text:?}");
                    out.clear();
                    folded.push(&text, &mut out, &mut scratch);
                    let fold = |c: char| c.to_uppercase().flat_map(char::to_lowercase);
                    assert_eq!(out, plain.chars().flat_map(fold).collect::<String>(), "{text:?}");
                    out.clear();
                    kept.push(&text, &mut out, &mut scratch);
                    assert_eq!(out, plain, "{text:?}");
                    out.clear();
                    seen.push(&text, &mut out, &mut scratch);
                    assert_eq!(out, seen.normal(&text).collect::<String>(), "{text:?}");
                }
            }
        }
    }

    #[test]
    fn ignorables_are_those_of_unicode() {
        let property = regex_syntax::parse(r"\p{Default_Ignorable_Code_Point}").unwrap();
        let regex_syntax::hir::HirKind::Class(regex_syntax::hir::Class::Unicode(class)) =
            property.kind()
        else {
            panic!("{property:?}");
        };
        let in_class = |c| class.iter().any(|range| (range.start()..=range.end()).contains(&c));
        for c in '\0'..=char::MAX {
            assert_eq!(is_ignorable(c), in_class(c), "{c:?}");
            assert!(!c.nfkc().any(is_ignorable) || is_ignorable(c), "{c:?}");
        }
    }

    #[test]
    fn each_form_can_be_left_out() {
        let text = "\u{ff21}\u{c9}\u{3a3}";
        for (nfkc, case, expected) in [
            (false, Case::Kept, "\u{ff21}\u{c9}\u{3a3}"),
            (true, Case::Kept, "A\u{c9}\u{3a3}"),
            (false, Case::Lower, "\u{ff41}\u{e9}\u{3c2}"),
            (true, Case::Lower, "a\u{e9}\u{3c2}"),
            (true, Case::Folded, "a\u{e9}\u{3c3}"),
        ] {
            let form = Form { nfkc, vowel_marks: true, case, ..BEST };
            assert_eq!(formed(form, text), expected);
        }
        let text = "can\u{2019}t wo\u{ad}rd";
        for form in [PLAIN, Form { nfkc: false, ..PLAIN }] {
            assert_eq!(formed(form, text), text);
            let (ignorables, apostrophes) = (false, false);
            assert_eq!(formed(Form { ignorables, ..form }, text), "can\u{2019}t word");
            assert_eq!(formed(Form { apostrophes, ..form }, text), "can't wo\u{ad}rd");
        }
        assert_eq!(formed(Form { case: Case::Kept, ..BEST }, "ABC d"), "ABC d");
    }
}
