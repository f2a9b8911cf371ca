//! Passes errors of a caller's callback through a join.

use crate::base::error::{Error, Result};

/// Carries the error of a caller's callback, of any type, through code that returns [`Error`].
#[derive(Debug)]
pub(in crate::join) struct CallbackError<E>(Option<E>);

impl<E> Default for CallbackError<E> {
    fn default() -> Self {
        CallbackError(None)
    }
}

impl<E: From<Error>> CallbackError<E> {
    /// Stores the error of the callback, if any, and ends the work with [`Error::Interrupted`].
    pub(in crate::join) fn check(&mut self, called: Result<(), E>) -> Result<()> {
        called.map_err(|error| {
            self.0 = Some(error);
            Error::Interrupted
        })
    }

    /// The result of the work: the stored error of the callback, or `done`.
    pub(in crate::join) fn result<T>(self, done: Result<T>) -> Result<T, E> {
        match self.0 {
            Some(error) => Err(error),
            None => done.map_err(E::from),
        }
    }
}
