//! The disk: opening files by name, and the operations of everything that writes: scratch files,
//! temporary files, sync, rename, remove.
//!
//! Sorting, the builder, the directory of a store and the cleaning of a corpus call it. Each
//! operation passes a fail point first, so that tests can make every one of them fail or end the
//! process there. Each change of a file of a store is noted after it, so that tests can replay what a
//! loss of power leaves. No module that writes calls `std::fs` past it, or a failure goes untested; a
//! test sees to it.

pub(crate) mod access;
#[cfg(feature = "write")]
mod byte_table;
#[cfg(feature = "write")]
pub(crate) mod change;
#[cfg(feature = "write")]
mod fail_point;
#[cfg(test)]
pub(crate) mod fail_points;
#[cfg(feature = "write")]
mod files;
#[cfg(feature = "documents")]
mod new_file;
#[cfg(feature = "documents")]
mod own_folder;
pub(crate) mod plain_file;
#[cfg(test)]
pub(crate) mod power_loss;
mod refused;
#[cfg(feature = "write")]
mod scratch;
#[cfg(feature = "write")]
mod scratch_directory;
#[cfg(all(feature = "serve", unix))]
mod socket_file;
#[cfg(feature = "write")]
mod stale;
pub(crate) mod system;
#[cfg(feature = "write")]
mod temporary;
#[cfg(test)]
pub(crate) mod tree;

#[cfg(feature = "write")]
pub(crate) use byte_table::ByteTable;
#[cfg(test)]
pub(crate) use change::recorder;
#[cfg(feature = "write")]
pub(crate) use fail_point::{FailPoint, fail_point, lock_fail_point};
#[cfg(feature = "documents")]
pub(crate) use files::{append, digest_of, open};
#[cfg(feature = "write")]
pub(crate) use files::{
    create_directory, free_space, is_temporary_name, names_in, parent_of, remove_empty_directory,
    remove_file, sync_directory, sync_file,
};
#[cfg(feature = "documents")]
pub use new_file::NewFile;
#[cfg(feature = "documents")]
pub(crate) use own_folder::OwnFolder;
#[cfg(feature = "write")]
pub(crate) use scratch::{ScratchFile, ScratchFolder, Spool};
#[cfg(feature = "write")]
pub(crate) use scratch_directory::ScratchDirectory;
#[cfg(all(feature = "serve", unix))]
pub(crate) use socket_file::SocketFile;
#[cfg(feature = "write")]
pub(crate) use temporary::{TemporaryDirectory, TemporaryFile};
