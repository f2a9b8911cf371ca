//! Sharing out memory and threads.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use sysinfo::{MemoryRefreshKind, RefreshKind, System};

use super::BuildOptions;
use crate::disk::ScratchFolder;
use crate::error::{Error, Result};
use crate::sort::{MEMORY_MIN, Resources};

const MIB: u64 = 1 << 20;
/// Program, page checksums, buffers of sections and merges.
const FIXED_LEN: u64 = if cfg!(test) { 0 } else { 24 * MIB };
/// Chunks of input on their way through a thread.
const INPUT_LEN_PER_THREAD: u64 = if cfg!(test) { 0 } else { 8 * MIB };
/// The least that a quarter of an unknown or tiny machine comes to.
const DEFAULT_MIN: u64 = 256 * MIB;

impl BuildOptions {
    /// The least memory that a build on so many threads can be given, in bytes.
    pub fn memory_min(threads: usize) -> u64 {
        FIXED_LEN + INPUT_LEN_PER_THREAD * threads as u64 + MEMORY_MIN
    }

    /// What may be used while temporary files go to `folder`.
    pub(super) fn resources(&self, folder: PathBuf) -> Result<Resources> {
        share_out(self.memory, self.threads, folder)
    }
}

/// What may be used of so much memory by so many threads, or of what the machine has, while temporary
/// files go to `folder`.
pub(crate) fn share_out(
    memory: Option<u64>,
    threads: Option<usize>,
    folder: PathBuf,
) -> Result<Resources> {
    let cores = || std::thread::available_parallelism().map_or(1, NonZeroUsize::get);
    let threads = threads.unwrap_or_else(cores).max(1);
    let least = BuildOptions::memory_min(threads);
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

/// The memory of the machine, or of the control group that the process may not leave.
fn usable_memory() -> u64 {
    let memory = MemoryRefreshKind::nothing().with_ram();
    match System::new_with_specifics(RefreshKind::nothing().with_memory(memory)) {
        Ok(system) => {
            let group = system.cgroup_limits().map_or(u64::MAX, |limits| limits.total_memory);
            system.total_memory().min(group)
        }
        Err(_) => 0,
    }
}
