//! What systems do differently with files: one function for each difference, which `unix` and `other`
//! (Windows among them) both have. docs/platforms.md tells users what follows.
//!
//! The rest of `disk` and `writing` asks here, and does not know on which system it is. Nothing here
//! decides anything about stores.

#[cfg(not(unix))]
mod other;
#[cfg(unix)]
mod unix;

#[cfg(not(unix))]
pub(crate) use other::*;
#[cfg(unix)]
pub(crate) use unix::*;
