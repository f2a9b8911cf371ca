//! Options with a few named values; each name and its meaning is defined in one place.
//!
//! The macro [`choices!`](crate::choices) defines an enum with its table of names.
//! Parsers, help and error messages, in every program and language, take the names from this table
//! and must not repeat them.

use std::fmt;

/// A value that users select by its name.
///
/// ```
/// use fpstore_base::{Choice, Radix};
///
/// assert_eq!("sdec".parse(), Ok(Radix::SignedDecimal));
/// assert_eq!(Radix::Hex.to_string(), "hex");
/// for (name, _, meaning) in Radix::NAMES {
///     println!("{name}: {meaning}");
/// }
/// let error = "octal".parse::<Radix>().unwrap_err();
/// assert_eq!(error.to_string(), "expected 'hex', 'dec' or 'sdec', not 'octal'");
/// ```
pub trait Choice: Copy + PartialEq + 'static {
    /// All values in the order of the help: the name, the value, and its meaning in a few words.
    const NAMES: &'static [(&'static str, Self, &'static str)];

    /// The name of the value.
    fn name(self) -> &'static str {
        let mut names = Self::NAMES.iter();
        names.find(|(_, value, _)| *value == self).map_or("", |(name, ..)| name)
    }

    /// The value with this name.
    ///
    /// # Errors
    ///
    /// [`UnknownName`] if no value has the name.
    fn named(name: &str) -> Result<Self, UnknownName> {
        match Self::NAMES.iter().find(|(known, ..)| *known == name) {
            Some((_, value, _)) => Ok(*value),
            None => {
                let known = Self::NAMES.iter().map(|(name, ..)| *name).collect();
                Err(UnknownName { known, found: name.into() })
            }
        }
    }
}

/// A text that is not the name of a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownName {
    known: Vec<&'static str>,
    found: String,
}

impl UnknownName {
    /// The valid names, for a message: `'hex', 'dec' or 'sdec'`.
    pub fn expected(&self) -> String {
        let quoted: Vec<String> = self.known.iter().map(|name| format!("'{name}'")).collect();
        match quoted.split_last() {
            Some((last, [])) => last.clone(),
            Some((last, others)) => format!("{} or {last}", others.join(", ")),
            None => String::new(),
        }
    }
}

impl fmt::Display for UnknownName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown: String = self.found.chars().take(40).collect();
        write!(f, "expected {}, not '{}'", self.expected(), shown.escape_debug())
    }
}

impl std::error::Error for UnknownName {}

/// Defines an enum with a name and a meaning for each value, and with `FromStr` and `Display`
/// through [`Choice`]. The doc comment of a value begins with its meaning.
#[doc(hidden)]
#[macro_export]
macro_rules! choices {
    (
        $(#[$attribute:meta])*
        $visibility:vis enum $type:ident {
            $($(#[$of_value:meta])* $value:ident = $name:literal: $about:literal,)+
        }
    ) => {
        $(#[$attribute])*
        $visibility enum $type {
            $(#[doc = concat!($about, ".\n")] $(#[$of_value])* $value,)+
        }

        impl $crate::Choice for $type {
            const NAMES: &'static [(&'static str, Self, &'static str)] =
                &[$(($name, $type::$value, $about)),+];
        }

        impl std::fmt::Display for $type {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.pad($crate::Choice::name(*self))
            }
        }

        impl std::str::FromStr for $type {
            type Err = $crate::UnknownName;

            fn from_str(name: &str) -> Result<Self, $crate::UnknownName> {
                $crate::Choice::named(name)
            }
        }
    };
}

/// Defines an enum with a name for each value, for output only.
#[doc(hidden)]
#[macro_export]
macro_rules! named {
    (
        $(#[$attribute:meta])*
        $visibility:vis enum $type:ident { $($(#[$of_value:meta])* $value:ident = $name:literal,)+ }
    ) => {
        $(#[$attribute])*
        $visibility enum $type {
            $($(#[$of_value])* $value,)+
        }

        impl $type {
            /// The name in answers and messages.
            pub fn name(self) -> &'static str {
                match self {
                    $($type::$value => $name),+
                }
            }
        }
    };
}
