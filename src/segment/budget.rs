//! The budget of a piece of work: how much memory and how many threads it may use.
//!
//! Batches, joins, the builder and the writer get their limits from here. Nothing is reserved: each
//! caller must keep to its limits.

use crate::base::error::{Error, Result};
use crate::segment::access::usable_memory;
use fpstore_base::{Resources, thread_count};

const MIB: u64 = 1 << 20;
/// Bytes counted for the program itself, page checksums, and the buffers of sections and merges.
const FIXED_LEN: u64 = if cfg!(test) { 0 } else { 24 * MIB };
/// Bytes counted for the input chunks that each thread parses.
const INPUT_LEN_PER_THREAD: u64 = if cfg!(test) { 0 } else { 8 * MIB };
/// The minimum of the default memory, for small machines and machines of unknown size. On a small
/// machine it is at most half of the memory.
const DEFAULT_MIN: u64 = 256 * MIB;
/// The minimum memory of a sort. Less memory would give very many sorted runs, which only unit
/// tests want.
pub(crate) const MEMORY_MIN: u64 = if cfg!(test) { 1 << 14 } else { 16 << 20 };

/// The memory and threads that a piece of work may use.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WorkBudget {
    /// Bytes for the work itself, without the program and its buffers.
    pub(crate) memory: u64,
    pub(crate) threads: usize,
}

impl WorkBudget {
    /// Subtracts the memory of the program and its buffers from the given resources.
    pub(crate) fn of(given: &Resources) -> Result<Self> {
        let mut threads = thread_count(given.threads.unwrap_or_default());
        let memory = given.memory.unwrap_or_else(|| {
            let usable = usable_memory();
            if usable == 0 {
                return DEFAULT_MIN.max(memory_min(threads));
            }
            // In a small control group, use fewer threads: the system kills a process that exceeds
            // its memory.
            while given.threads.is_none() && threads > 1 && memory_min(threads) > usable / 2 {
                threads -= 1;
            }
            let least = memory_min(threads).min(usable);
            (usable / 4).max(DEFAULT_MIN.min(usable / 2)).max(least)
        });
        let least = memory_min(threads);
        if memory < least {
            let reason = format!(
                "{:.1} MiB of memory are too little for {threads} threads, at least {:.1} MiB are \
             needed",
                mib(memory),
                mib(least)
            );
            return Err(Error::InvalidOptions { reason });
        }
        Ok(WorkBudget { memory: memory - (least - MEMORY_MIN), threads })
    }
}

/// The minimum memory for work on `threads` threads, in bytes.
pub(crate) fn memory_min(threads: usize) -> u64 {
    FIXED_LEN + INPUT_LEN_PER_THREAD * threads as u64 + MEMORY_MIN
}

fn mib(bytes: u64) -> f64 {
    bytes as f64 / MIB as f64
}
