//! Scripts without spaces between words, and their tokens.
//!
//! The words of such a script cannot be found without a dictionary, so its characters are tokens,
//! and several consecutive characters make a feature. Their number must depend on the script: there
//! are millions of pairs of Han signs, but only some thousands of pairs of Thai letters, and nearly
//! all of these occur in any long text.

/// A set of known scripts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scripts {
    /// For recipes without a length for letters: Han, Hiragana, Thai, Lao, Myanmar, Khmer, all
    /// treated as signs. Stored recipes depend on this set, so it never changes.
    First,
    /// For recipes with a length for letters: all known scripts without spaces.
    All,
}

/// The class of a character by its script.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Class {
    /// The script has spaces between words, or the character is not a letter.
    Spaced,
    /// A sign of a script with hundreds or thousands of signs, each a syllable or a word.
    Sign,
    /// A letter or vowel sign of a script with only dozens of letters.
    Letter,
}

impl Scripts {
    /// The class of a character. Letters, vowel signs and tones have the class of their script;
    /// punctuation and digits are [`Class::Spaced`].
    #[inline]
    pub(crate) fn class(self, c: char) -> Class {
        match self {
            _ if c < '\u{e01}' => Class::Spaced,
            _ if is_han(c) || is_hiragana(c) => Class::Sign,
            Scripts::First if is_first_letter(c) => Class::Sign,
            Scripts::First => Class::Spaced,
            Scripts::All if is_letter(c) => Class::Letter,
            Scripts::All if is_sign(c) => Class::Sign,
            Scripts::All => Class::Spaced,
        }
    }
}

/// Whether a character is a Han ideograph.
#[inline]
pub(crate) fn is_han(c: char) -> bool {
    matches!(
        c,
        '\u{4e00}'..='\u{9fff}'
            | '\u{3400}'..='\u{4dbf}'
            | '\u{3005}'..='\u{3007}'
            | '\u{f900}'..='\u{faff}'
            | '\u{20000}'..='\u{3ffff}'
    )
}

#[inline]
fn is_hiragana(c: char) -> bool {
    matches!(c, '\u{3041}'..='\u{3096}' | '\u{309d}'..='\u{309f}')
}

/// The letters of Thai, Lao, Myanmar and Khmer in [`Scripts::First`].
fn is_first_letter(c: char) -> bool {
    matches!(
        c,
        '\u{0e01}'..='\u{0e3a}'
            | '\u{0e40}'..='\u{0e4e}'
            | '\u{0e81}'..='\u{0ecd}'
            | '\u{0edc}'..='\u{0edf}'
            | '\u{1000}'..='\u{103f}'
            | '\u{1050}'..='\u{108f}'
            | '\u{1780}'..='\u{17d3}'
    )
}

/// The letters of [`Scripts::All`].
fn is_letter(c: char) -> bool {
    is_first_letter(c)
        || matches!(
            c,
            // More letters of Lao, Myanmar and Khmer.
            '\u{0ece}'
                | '\u{109a}'..='\u{109d}'
                | '\u{a9e0}'..='\u{a9ef}'
                | '\u{a9fa}'..='\u{a9fe}'
                | '\u{aa60}'..='\u{aa76}'
                | '\u{aa7a}'..='\u{aa7f}'
                | '\u{17d7}'
                | '\u{17dc}'..='\u{17dd}'
                // Tai Le, New Tai Lue, Tai Tham, Tai Viet, Ahom.
                | '\u{1950}'..='\u{1974}'
                | '\u{1980}'..='\u{19c9}'
                | '\u{1a20}'..='\u{1a7c}'
                | '\u{1aa7}'
                | '\u{aa80}'..='\u{aac2}'
                | '\u{aadb}'..='\u{aadd}'
                | '\u{11700}'..='\u{1172b}'
                | '\u{11740}'..='\u{11746}'
                // Balinese, Javanese, Buginese.
                | '\u{1b00}'..='\u{1b4c}'
                | '\u{a980}'..='\u{a9c0}'
                | '\u{a9cf}'
                | '\u{1a00}'..='\u{1a1b}'
        )
}

/// The signs of [`Scripts::All`] other than Han and Hiragana: Yi, cuneiform, the hieroglyphs of
/// Egypt and Anatolia. By UAX #29 a whole run of them is a single word.
fn is_sign(c: char) -> bool {
    matches!(
        c,
        '\u{a000}'..='\u{a48c}'
            | '\u{12000}'..='\u{12399}'
            | '\u{12400}'..='\u{1246e}'
            | '\u{12480}'..='\u{12543}'
            | '\u{13000}'..='\u{1342f}'
            | '\u{13460}'..='\u{143fa}'
            | '\u{14400}'..='\u{14646}'
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_script_has_its_class() {
        for (c, first, all) in [
            ('a', Class::Spaced, Class::Spaced),
            ('\u{30ab}', Class::Spaced, Class::Spaced), // Katakana
            ('\u{d55c}', Class::Spaced, Class::Spaced), // Hangul
            ('\u{f40}', Class::Spaced, Class::Spaced),  // Tibetan, whose syllables are cut by dots
            ('\u{e51}', Class::Spaced, Class::Spaced),  // a digit of Thai
            ('\u{4e2d}', Class::Sign, Class::Sign),
            ('\u{3042}', Class::Sign, Class::Sign),
            ('\u{e01}', Class::Sign, Class::Letter),
            ('\u{eaa}', Class::Sign, Class::Letter),
            ('\u{1000}', Class::Sign, Class::Letter),
            ('\u{1780}', Class::Sign, Class::Letter),
            ('\u{1a20}', Class::Spaced, Class::Letter),
            ('\u{a992}', Class::Spaced, Class::Letter),
            ('\u{a000}', Class::Spaced, Class::Sign),
            ('\u{12000}', Class::Spaced, Class::Sign),
        ] {
            let found = (Scripts::First.class(c), Scripts::All.class(c));
            assert_eq!(found, (first, all), "{:04x}", u32::from(c));
        }
    }
}
