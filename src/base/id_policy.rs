//! The id policy of a store: which kind of ids it stores.

use crate::base::error::{Error, Result};
use fpstore_base::IdRef;

fpstore_base::choices! {
    /// Which kind of ids a store stores.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    #[non_exhaustive]
    pub enum IdPolicy {
        /// Numbers if every id is a number in canonical decimal (`42`, not `042`), otherwise texts;
        /// undecided while the store has no ids.
        #[default]
        Auto = "auto": "Numbers if every id is one, else texts",
        /// Given ids are discarded.
        None = "none": "No ids",
        U64 = "u64": "Numbers; any other id is refused",
        Text = "text": "Texts; numbers are written in decimal",
    }
}

impl IdPolicy {
    /// The id in its stored form, or `None` if ids are discarded.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidId`] if the id cannot be stored.
    pub(crate) fn admit(self, id: IdRef<'_>) -> Result<Option<IdRef<'_>>> {
        let IdRef::Text(text) = id else {
            return Ok((self != IdPolicy::None).then_some(id));
        };
        if self == IdPolicy::None {
            return Ok(None);
        }
        if let Some(fault) = IdRef::fault_of_text(text) {
            let reason = format!("{fault}, expected 1 to 65535 bytes without NUL, CR or LF");
            return Err(Error::InvalidId { reason });
        }
        let number = match self {
            IdPolicy::Text => None,
            _ => IdRef::canonical_number(text),
        };
        match number {
            None if self == IdPolicy::U64 => {
                let shown: String = text.chars().take(40).flat_map(char::escape_debug).collect();
                let reason = format!("'{shown}' is not a canonical decimal number of 64 bits");
                Err(Error::InvalidId { reason })
            }
            None => Ok(Some(id)),
            Some(number) => Ok(Some(IdRef::U64(number))),
        }
    }
}
