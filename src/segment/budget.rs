//! The memory and threads of a piece of work.
//!
//! Batches, joins, the builder and the writer get their limits from here. Nothing is reserved: a
//! caller must respect the limits.

use crate::base::error::{Error, Result};
use crate::segment::access::usable_memory;
use fpstore_base::{Resources, thread_count};

const MIB: u64 = 1 << 20;
/// Bytes for the program, page checksums, and the buffers of sections and merges.
const FIXED_LEN: u64 = if cfg!(test) { 0 } else { 24 * MIB };
/// Bytes for the chunks of input that a thread parses.
const INPUT_LEN_PER_THREAD: u64 = if cfg!(test) { 0 } else { 8 * MIB };
/// The minimum default memory, for small machines and machines of unknown size, but at most half of
/// a known memory.
const DEFAULT_MIN: u64 = 256 * MIB;
/// The minimum memory of a sort. With less there would be very many runs, useful only in unit
/// tests.
pub(crate) const MEMORY_MIN: u64 = if cfg!(test) { 1 << 14 } else { 16 << 20 };

/// The memory and threads that a piece of work may use.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WorkBudget {
    /// In bytes, without the memory of the program and its buffers.
    pub(crate) memory: u64,
    pub(crate) threads: usize,
}

impl WorkBudget {
    /// The share of the given resources that the work itself may use.
    pub(crate) fn of(given: &Resources) -> Result<Self> {
        let mut threads = thread_count(given.threads.unwrap_or_default());
        let memory = given.memory.unwrap_or_else(|| {
            let usable = usable_memory();
            if usable == 0 {
                return DEFAULT_MIN.max(memory_min(threads));
            }
            // The system kills a process that exceeds the memory of a small control group.
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
