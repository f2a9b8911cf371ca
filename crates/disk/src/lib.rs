//! The files of a store on disk: opens files by name, makes temporary and scratch files, and
//! renames files durably.
//!
//! Used by sorting, the builder, the directory of a store, the cleaning of a corpus and the server.
//! Each operation calls a fail point first, where tests can make it fail or end the process. Each
//! change of a file is recorded afterwards, so that tests can replay the states of a disk after a
//! loss of power (feature `faults`). Packages that write must not call `std::fs` directly, because
//! their failures would be untested; a test checks this.
//!
//! All errors are [`IoError`](fpstore_base::IoError)s: the operation, the path, and the error of
//! the system.

#![deny(unsafe_code)]
#![allow(clippy::len_without_is_empty, reason = "callers need lengths alone")]

mod digest;
pub mod fields;
pub mod plain_file;
mod refused;
pub mod system;

#[cfg(feature = "write")]
mod byte_table;
#[cfg(feature = "write")]
pub mod change;
#[cfg(feature = "write")]
mod digested;
mod fail_point;
#[cfg(feature = "write")]
mod files;
#[cfg(feature = "write")]
mod new_file;
#[cfg(feature = "write")]
mod own_folder;
#[cfg(any(test, feature = "faults"))]
pub mod power_loss;
#[cfg(feature = "write")]
mod scratch;
#[cfg(feature = "write")]
mod scratch_directory;
#[cfg(all(feature = "write", unix))]
mod socket_file;
#[cfg(feature = "write")]
mod stale;
#[cfg(feature = "write")]
mod temporary;
#[cfg(any(test, feature = "faults"))]
pub mod tree;

#[cfg(feature = "write")]
pub use byte_table::ByteTable;
pub use digest::{Digest, Digester};
#[cfg(feature = "write")]
pub use digested::{DigestReader, DigestWriter};
#[cfg(any(test, feature = "faults"))]
pub use fail_point::fail_points;
pub use fail_point::{FailPoint, fail_point, lock_fail_point};
#[cfg(feature = "write")]
pub use files::{
    append, create_directory, digest_of, free_space, is_temporary_name, names_in, open, parent_of,
    remove_empty_directory, remove_file, sync_directory, sync_file,
};
#[cfg(feature = "write")]
pub use new_file::NewFile;
#[cfg(feature = "write")]
pub use own_folder::OwnFolder;
pub use plain_file::Result;
#[cfg(feature = "write")]
pub use scratch::{ScratchFile, ScratchFolder, Spool};
#[cfg(feature = "write")]
pub use scratch_directory::ScratchDirectory;
#[cfg(all(feature = "write", unix))]
pub use socket_file::SocketFile;
#[cfg(feature = "write")]
pub use temporary::{TemporaryDirectory, TemporaryFile};
