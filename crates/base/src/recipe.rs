//! The recipe: a canonical text that defines how fingerprints are computed. Each store has one.

use std::fmt;

use crate::Width;

/// The first line of the recipe of fingerprints that another program computed.
const EXTERNAL: &str = "external";
/// The start of the line of an external recipe with the width, if it is not 64 bits.
const BITS: &str = "bits=";

/// A canonical text that defines how fingerprints are computed. Recipes are equal if their texts
/// are.
///
/// Two fingerprints can be compared only if they have the same recipe, so a store has one recipe
/// and rejects segments with another recipe.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Recipe {
    text: String,
}

impl Recipe {
    /// The maximum length of a recipe in bytes (R-21).
    pub const TEXT_LEN_MAX: u64 = 65_536;

    /// The recipe of fingerprints of 64 bits that another program computed.
    pub fn external() -> Self {
        Recipe { text: EXTERNAL.into() }
    }

    /// The recipe of fingerprints of the given width that another program computed.
    ///
    /// ```
    /// use fpstore_base::{Recipe, Width};
    ///
    /// let narrow = Recipe::external_of(Width::new(32).unwrap());
    /// assert_eq!(narrow.text(), "external\nbits=32");
    /// assert_eq!(Recipe::external_of(Width::FULL), Recipe::external());
    /// ```
    pub fn external_of(width: Width) -> Self {
        match width {
            Width::FULL => Recipe::external(),
            narrow => Recipe { text: format!("{EXTERNAL}\n{BITS}{narrow}") },
        }
    }

    /// Whether another program computed the fingerprints; they can have any width.
    pub fn is_external(&self) -> bool {
        *self == Recipe::external_of(self.width())
    }

    /// The width of the fingerprints: the width given to [`Recipe::external_of`], or 64 bits.
    pub fn width(&self) -> Width {
        self.external_lines().and_then(declared).unwrap_or_default()
    }

    /// Whether the recipe is external and has further lines that this release does not know (R-31),
    /// so that the width is unknown.
    pub fn is_unknown_external(&self) -> bool {
        self.external_lines().is_some_and(|lines| declared(lines).is_none())
    }

    /// The lines after the first line, if the recipe is external.
    fn external_lines(&self) -> Option<&str> {
        self.text.strip_prefix(EXTERNAL)?.strip_prefix('\n')
    }

    /// The recipe with this text, or `None` if the text is empty, longer than
    /// [`Recipe::TEXT_LEN_MAX`] bytes, or contains a control character other than a line feed.
    pub fn from_text(text: &str) -> Option<Self> {
        let allowed = !text.is_empty()
            && text.len() as u64 <= Recipe::TEXT_LEN_MAX
            && text.chars().all(|c| c == '\n' || !c.is_control());
        allowed.then(|| Recipe { text: text.into() })
    }

    /// Describes in one line the difference between this recipe, the recipe of the store, and
    /// another recipe.
    pub fn difference(&self, given: &Recipe) -> String {
        self.difference_of(given, ["the store", "the given recipe"])
    }

    /// Describes in one line the difference between this recipe and another one; `names` are the
    /// names of their owners.
    pub fn difference_of(&self, other: &Recipe, names: [&str; 2]) -> String {
        let only = |ours: &Recipe, others: &Recipe| {
            let lines = ours.text.lines().filter(|line| !others.text.lines().any(|l| l == *line));
            lines.collect::<Vec<&str>>().join(", ")
        };
        let (one, two) = (only(self, other), only(other, self));
        let [first, second] = names;
        match (one.is_empty(), two.is_empty()) {
            (false, true) => format!("only {first} has {one}"),
            (true, false) => format!("only {second} has {two}"),
            _ => format!("{first} has {one}; {second} has {two}"),
        }
    }

    /// The canonical text.
    pub fn text(&self) -> &str {
        &self.text
    }
}

/// The width declared by the lines after the first line.
fn declared(lines: &str) -> Option<Width> {
    let width = Width::new(lines.strip_prefix(BITS)?.parse().ok()?)?;
    // Only one text is valid for each width, because recipes are equal if their texts are.
    (width != Width::FULL && lines == format!("{BITS}{width}")).then_some(width)
}

impl fmt::Display for Recipe {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_width_is_in_the_text_and_nothing_else_is_taken_for_one() {
        for bits in (8..=64).step_by(8) {
            let width = Width::new(bits).unwrap();
            let recipe = Recipe::from_text(Recipe::external_of(width).text()).unwrap();
            assert_eq!((recipe.width(), recipe.is_external()), (width, true));
            assert!(!recipe.is_unknown_external());
        }
        let odd = ["bits=64", "bits=33", "bits=032", "bits=+32", "bits=32\n", "bits=", "made=x"];
        for lines in odd {
            let recipe = Recipe::from_text(&format!("external\n{lines}")).unwrap();
            assert!(recipe.is_unknown_external() && !recipe.is_external(), "{lines}");
        }
        let text = Recipe::from_text("fpstore-text=1\nbits=32").unwrap();
        assert_eq!((text.width(), text.is_unknown_external()), (Width::FULL, false));
    }
}
