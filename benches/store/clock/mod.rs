//! CPU time of this thread, for machines with other load.

/// CPU nanoseconds of this thread, where the system reports them.
#[cfg(unix)]
pub fn nanos() -> f64 {
    use rustix::time::{ClockId, clock_gettime};
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec as f64 * 1e9 + time.tv_nsec as f64
}

/// Wall-clock nanoseconds.
#[cfg(not(unix))]
pub fn nanos() -> f64 {
    use std::sync::OnceLock;
    use std::time::Instant;
    static START: OnceLock<Instant> = OnceLock::new();
    START.get_or_init(Instant::now).elapsed().as_nanos() as f64
}
