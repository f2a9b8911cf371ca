//! Digests that distinguish equal texts from near-duplicates.

use std::hash::Hasher;

use siphasher::sip::SipHasher13;

use super::TextHasher;
use super::digests::TextDigests;

impl TextHasher {
    /// A hasher of the same recipe that also computes [`TextHasher::take_digests`].
    #[must_use]
    pub fn digesting(&self) -> Self {
        let mut digesting = self.clone();
        digesting.features = digesting.features.digesting();
        digesting.bytes = Some(SipHasher13::new());
        digesting
    }

    /// The digests of the last finished text, by [`TextHasher::fingerprint`] or after
    /// [`TextHasher::feed`]. `None` unless the hasher was created by [`TextHasher::digesting`].
    ///
    /// # Examples
    ///
    /// ```
    /// use fpstore_text::{TextHasher, TextRecipe};
    ///
    /// let mut hasher = TextHasher::new(&TextRecipe::default())?.digesting();
    /// let mut digests = |text: &str| {
    ///     hasher.fingerprint(text);
    ///     hasher.take_digests().unwrap_or_default()
    /// };
    /// let [one, other] = ["One, two three", "one two  three!"].map(&mut digests);
    /// assert_eq!(one.features, other.features);
    /// assert_ne!(one.bytes, other.bytes);
    /// assert_ne!(digests("three two one").features, one.features);
    /// # Ok::<(), fpstore_text::Error>(())
    /// ```
    pub fn take_digests(&mut self) -> Option<TextDigests> {
        let bytes = self.bytes.replace(SipHasher13::new());
        let features = self.features.take_digest();
        if bytes.is_none() {
            self.bytes = None;
        }
        bytes.map(|bytes| TextDigests { bytes: bytes.finish(), features })
    }

    /// Takes the next part of the text.
    pub(super) fn digest_bytes(&mut self, part: &str) {
        if let Some(bytes) = &mut self.bytes {
            bytes.write(part.as_bytes());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recipe::TextRecipe;

    const WORDS: [&str; 7] = ["a", "b", "A", "!", "pneumonoultramicroscopic", "w\u{e9}", "c-d"];

    /// A text of some words, derived from a number.
    fn text(mut number: usize) -> String {
        let separator = if number.is_multiple_of(2) { " " } else { "  " };
        let mut words = Vec::new();
        while number > 0 {
            words.push(WORDS[number % 7]);
            number /= 7;
        }
        words.join(separator)
    }

    #[test]
    fn digests_are_equal_where_texts_and_tokens_are() {
        for shingle in [1, 2] {
            let recipe = TextRecipe { shingle, ..TextRecipe::default() };
            let mut hasher = TextHasher::new(&recipe).unwrap().digesting();
            let mut list = Vec::new();
            // All texts of up to four words, and some texts of many words.
            let many = (0..40).map(|number| text(number * 7 + 3).repeat(30 + number % 3));
            for text in (1..7_usize.pow(4)).map(text).chain(many) {
                hasher.fingerprint(&text);
                let digests = hasher.take_digests().unwrap();
                let mut tokens = Vec::new();
                hasher.each_token(&text, |token| tokens.push(token.to_string()));
                // The digests are the same if the text is fed in parts, and by a counting hasher.
                for mut hasher in [hasher.clone(), hasher.counting()] {
                    let cut =
                        text.char_indices().map(|(at, _)| at).nth(text.len() / 3).unwrap_or(0);
                    hasher.feed(&text[..cut]);
                    hasher.feed(&text[cut..]);
                    if !hasher.finish_both().1.is_empty() {
                        assert_eq!(hasher.take_digests(), Some(digests), "{text}");
                    }
                }
                list.push((text, tokens, digests));
            }
            let has_tokens: Vec<_> = list.iter().filter(|it| !it.1.is_empty()).collect();
            let mut of_tokens = std::collections::HashMap::new();
            let mut of_digests = std::collections::HashMap::new();
            for (text, tokens, digests) in has_tokens {
                assert_eq!(*of_tokens.entry(tokens).or_insert(digests.features), digests.features);
                assert_eq!(*of_digests.entry(digests.features).or_insert(tokens), tokens, "{text}");
            }
            let texts: std::collections::HashSet<_> = list.iter().map(|it| &it.0).collect();
            let digests: std::collections::HashSet<_> = list.iter().map(|it| it.2.bytes).collect();
            assert_eq!(texts.len(), digests.len());
        }
    }

    #[test]
    fn a_text_that_is_given_up_leaves_nothing_behind() {
        let mut hasher = TextHasher::new(&TextRecipe::default()).unwrap();
        hasher.fingerprint("one two");
        assert_eq!(hasher.take_digests(), None);
        let mut hasher = hasher.digesting();
        hasher.fingerprint("one two");
        let expected = hasher.take_digests();
        hasher.feed("three four five ");
        hasher.reset();
        hasher.fingerprint("one two");
        assert_eq!(hasher.take_digests(), expected);
    }
}
