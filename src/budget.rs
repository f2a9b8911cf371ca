//! Memory and threads of one piece of work.
//!
//! The builder, the writer and the joins get from here the memory and threads that sorting may use.
//! Nothing is reserved: a caller must keep to the numbers.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use crate::access::usable_memory;
use crate::disk::ScratchFolder;
use crate::error::{Error, Result};
use crate::sort::{MEMORY_MIN, Resources};

const MIB: u64 = 1 << 20;
/// Bytes for the program, page checksums, and the buffers of sections and merges.
const FIXED_LEN: u64 = if cfg!(test) { 0 } else { 24 * MIB };
/// Bytes for the chunks of input that a thread parses.
const INPUT_LEN_PER_THREAD: u64 = if cfg!(test) { 0 } else { 8 * MIB };
/// The least default, for small machines and unknown ones.
const DEFAULT_MIN: u64 = 256 * MIB;

/// The least memory that work on `threads` threads can be given, in bytes.
pub(crate) fn memory_min(threads: usize) -> u64 {
    FIXED_LEN + INPUT_LEN_PER_THREAD * threads as u64 + MEMORY_MIN
}

/// The share of `memory` bytes and `threads` threads that sorting may use, with scratch files in
/// `folder`. The default is a quarter of the memory of the machine, and one thread for each core.
pub(crate) fn share_out(
    memory: Option<u64>,
    threads: Option<usize>,
    folder: PathBuf,
) -> Result<Resources> {
    let cores = || std::thread::available_parallelism().map_or(1, NonZeroUsize::get);
    let threads = threads.unwrap_or_else(cores).max(1);
    let least = memory_min(threads);
    let memory = memory.unwrap_or_else(|| (usable_memory() / 4).max(DEFAULT_MIN).max(least));
    if memory < least {
        let reason = format!(
            "{:.1} MiB of memory are too few for {threads} threads, {:.1} MiB are the least",
            mib(memory),
            mib(least)
        );
        return Err(Error::InvalidOptions { reason });
    }
    let fixed = FIXED_LEN + INPUT_LEN_PER_THREAD * threads as u64;
    Ok(Resources { memory: memory - fixed, threads, folder: ScratchFolder::new(folder) })
}

fn mib(bytes: u64) -> f64 {
    bytes as f64 / MIB as f64
}
