//! The recipe: the canonical text that says how fingerprints were made. A store has one recipe.

use std::fmt;

/// How fingerprints were made, as one canonical text; equal texts are equal recipes.
///
/// Two fingerprints can be compared only if the same recipe made both, so a store holds one
/// recipe and refuses segments of another.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Recipe {
    text: String,
}

impl Recipe {
    /// The longest recipe text in bytes.
    pub const TEXT_LEN_MAX: u64 = 65_536;

    /// The recipe of fingerprints that were made elsewhere.
    pub fn external() -> Self {
        Recipe { text: "external".into() }
    }

    /// The recipe with this text, or `None` if the text is empty, longer than
    /// [`Recipe::TEXT_LEN_MAX`] bytes, or holds a control character other than a line feed.
    pub fn from_text(text: &str) -> Option<Self> {
        let allowed = !text.is_empty()
            && text.len() as u64 <= Recipe::TEXT_LEN_MAX
            && text.chars().all(|c| c == '\n' || !c.is_control());
        allowed.then(|| Recipe { text: text.into() })
    }

    /// Describes in one line the difference between this recipe, the one of the store, and another.
    pub fn difference(&self, given: &Recipe) -> String {
        let only = |ours: &Recipe, others: &Recipe| {
            let lines = ours.text.lines().filter(|line| !others.text.lines().any(|l| l == *line));
            let lines: Vec<&str> = lines.collect();
            if lines.is_empty() { "nothing else".to_string() } else { lines.join(", ") }
        };
        let (store, given) = (only(self, given), only(given, self));
        format!("the store has {store}; the given one has {given}")
    }

    /// The canonical text.
    pub fn text(&self) -> &str {
        &self.text
    }
}

impl fmt::Display for Recipe {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}
