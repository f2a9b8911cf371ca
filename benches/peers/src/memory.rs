//! Memory use, counted by the allocator and by the system.

use std::alloc::System;
use std::path::Path;

use cap::Cap;

/// The allocator of the process: counts requested bytes, by one atomic addition per allocation.
#[global_allocator]
static ALLOCATED: Cap<System> = Cap::new(System, usize::MAX);

/// Requested heap bytes in use, without the overhead of `malloc`.
pub fn allocated() -> u64 {
    ALLOCATED.allocated() as u64
}

/// Runs `make` and returns its result and the heap bytes that the result keeps.
pub fn kept<T>(make: impl FnOnce() -> T) -> (T, u64) {
    let before = allocated();
    let made = make();
    (made, allocated().saturating_sub(before))
}

/// Resident bytes of the process, mapped files included. Only Linux reports them.
pub fn resident() -> Option<u64> {
    sum_of("/proc/self/smaps_rollup", |_| true)
}

/// Bytes of the file at `path` that are mapped and in memory. Only Linux reports them.
pub fn resident_of(path: &Path) -> Option<u64> {
    let path = path.canonicalize().ok()?;
    sum_of("/proc/self/smaps", |header| header.ends_with(path.to_str().unwrap_or("\0")))
}

/// Sums the `Rss:` of all mappings whose first line satisfies `wanted`.
fn sum_of(smaps: &str, wanted: impl Fn(&str) -> bool) -> Option<u64> {
    let text = std::fs::read_to_string(smaps).ok()?;
    let mut inside = false;
    let mut kib = 0;
    for line in text.lines() {
        match line.split_once(':') {
            Some((name, value)) if !name.contains(' ') => {
                if inside && name == "Rss" {
                    kib += value.trim().trim_end_matches(" kB").parse::<u64>().ok()?;
                }
            }
            _ => inside = wanted(line),
        }
    }
    Some(1024 * kib)
}
