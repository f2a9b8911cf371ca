//! The memory and threads of a piece of work.
//!
//! The builder, the writer and the joins get the limits for sorting from here. Nothing is reserved:
//! a caller must respect the limits.

use std::path::PathBuf;

use crate::base::error::{Error, Result};
use crate::segment::access::usable_memory;
use crate::writing::sort::{MEMORY_MIN, SortResources};
use fpstore_base::Resources;
use fpstore_base::thread_count;
use fpstore_disk::ScratchFolder;

const MIB: u64 = 1 << 20;
/// Bytes for the program, page checksums, and the buffers of sections and merges.
const FIXED_LEN: u64 = if cfg!(test) { 0 } else { 24 * MIB };
/// Bytes for the chunks of input that a thread parses.
const INPUT_LEN_PER_THREAD: u64 = if cfg!(test) { 0 } else { 8 * MIB };
/// The minimum default, for small machines and machines of unknown size.
const DEFAULT_MIN: u64 = 256 * MIB;

/// The minimum memory for work on `threads` threads, in bytes.
pub(crate) fn memory_min(threads: usize) -> u64 {
    FIXED_LEN + INPUT_LEN_PER_THREAD * threads as u64 + MEMORY_MIN
}

/// The share of the given resources that sorting may use. Temporary files go into `folder` unless
/// the resources name another directory.
pub(crate) fn divide(given: &Resources, folder: impl FnOnce() -> PathBuf) -> Result<SortResources> {
    let folder = given.temp_dir.clone().unwrap_or_else(folder);
    std::fs::read_dir(&folder).map_err(Error::io("put temporary files into", &folder))?;
    let threads = thread_count(given.threads.unwrap_or_default());
    let least = memory_min(threads);
    let memory = given.memory.unwrap_or_else(|| (usable_memory() / 4).max(DEFAULT_MIN).max(least));
    if memory < least {
        let reason = format!(
            "{:.1} MiB of memory are too few for {threads} threads, {:.1} MiB are the least",
            mib(memory),
            mib(least)
        );
        return Err(Error::InvalidOptions { reason });
    }
    let fixed = FIXED_LEN + INPUT_LEN_PER_THREAD * threads as u64;
    Ok(SortResources { memory: memory - fixed, threads, folder: ScratchFolder::new(folder) })
}

fn mib(bytes: u64) -> f64 {
    bytes as f64 / MIB as f64
}
