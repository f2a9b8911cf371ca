//! The id: the name or number that the user gives to a document.

use std::fmt;

/// An id, owned.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Id {
    /// A number.
    U64(u64),
    /// A text of 1 to [`IdRef::TEXT_LEN_MAX`] bytes without NUL, CR or LF.
    Text(Box<str>),
}

/// An id, borrowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum IdRef<'a> {
    /// A number.
    U64(u64),
    /// A text of 1 to [`IdRef::TEXT_LEN_MAX`] bytes without NUL, CR or LF.
    Text(&'a str),
}

impl<'a> IdRef<'a> {
    /// The maximum length of a text id in bytes.
    pub const TEXT_LEN_MAX: usize = 65_535;

    /// The same id, owned.
    pub fn to_id(self) -> Id {
        match self {
            IdRef::U64(number) => Id::U64(number),
            IdRef::Text(text) => Id::Text(text.into()),
        }
    }

    /// The reason why a text cannot be an id, or `None` if it can.
    ///
    /// NUL, CR and LF are not allowed, because ids are written on lines.
    pub fn fault_of_text(text: &str) -> Option<&'static str> {
        if text.is_empty() {
            Some("it is empty")
        } else if text.len() > IdRef::TEXT_LEN_MAX {
            Some("it is longer than 65535 bytes")
        } else if text.bytes().any(|b| matches!(b, 0 | b'\r' | b'\n')) {
            Some("it holds NUL, CR or LF")
        } else {
            None
        }
    }

    /// The number in `text`, if it is in canonical decimal: `42`, but not `042` or `+42`.
    pub fn canonical_number(text: &str) -> Option<u64> {
        let digits = text.as_bytes();
        let canonical = digits.iter().all(u8::is_ascii_digit)
            && (digits.first() != Some(&b'0') || digits.len() == 1);
        if canonical { text.parse().ok() } else { None }
    }
}

impl Id {
    /// The same id, borrowed.
    pub fn as_ref(&self) -> IdRef<'_> {
        match self {
            Id::U64(number) => IdRef::U64(*number),
            Id::Text(text) => IdRef::Text(text),
        }
    }
}

impl fmt::Display for IdRef<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            IdRef::U64(number) => number.fmt(f),
            IdRef::Text(text) => text.fmt(f),
        }
    }
}

impl fmt::Display for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.as_ref().fmt(f)
    }
}

impl From<u64> for IdRef<'_> {
    fn from(number: u64) -> Self {
        IdRef::U64(number)
    }
}

impl<'a> From<&'a str> for IdRef<'a> {
    fn from(text: &'a str) -> Self {
        IdRef::Text(text)
    }
}

impl<'a> From<&'a String> for IdRef<'a> {
    fn from(text: &'a String) -> Self {
        IdRef::Text(text)
    }
}

crate::named! {
    /// The kind of all ids in a segment.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum IdKind {
        /// No ids.
        None = "none",
        /// Numbers.
        U64 = "u64",
        /// Texts.
        Text = "text",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_canonical_decimals_are_numbers() {
        assert_eq!(IdRef::canonical_number("0"), Some(0));
        assert_eq!(IdRef::canonical_number("18446744073709551615"), Some(u64::MAX));
        for text in
            ["", "007", "00", "+7", "-7", " 7", "7 ", "7a", "18446744073709551616", "\u{663}"]
        {
            assert_eq!(IdRef::canonical_number(text), None, "{text}");
        }
    }
}
