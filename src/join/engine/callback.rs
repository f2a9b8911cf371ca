//! Errors of a caller's callback.

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
    /// Keeps the error of the callback, and ends the work with a placeholder error.
    pub(in crate::join) fn check(&mut self, called: Result<(), E>) -> Result<()> {
        called.map_err(|error| {
            self.0 = Some(error);
            Error::Interrupted
        })
    }

    /// The result of the work: the error of the callback, if there was one.
    pub(in crate::join) fn result<T>(self, done: Result<T>) -> Result<T, E> {
        match self.0 {
            Some(error) => Err(error),
            None => done.map_err(E::from),
        }
    }
}
