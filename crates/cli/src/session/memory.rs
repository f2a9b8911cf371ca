//! What the allocator does with memory that is freed.

/// Buffers of this length and more go back to the system when they are freed.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
const GIVEN_BACK_LEN: i32 = 1 << 22;
/// The allocator keeps up to so many free bytes at the end of a heap; each thread may have a heap.
/// Without them each small buffer would be new pages of the system.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
const KEPT_LEN: i32 = 2 * GIVEN_BACK_LEN;

/// Lets the allocator of the GNU C library give large buffers back, such as those of a sort or a merge.
/// By itself it keeps up to twice the largest one that was ever freed, in each thread.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
#[expect(unsafe_code, reason = "a function of the C library")]
pub(crate) fn give_back() {
    // The library sets the second by the first, unless the first was set.
    let options = [(libc::M_MMAP_THRESHOLD, GIVEN_BACK_LEN), (libc::M_TRIM_THRESHOLD, KEPT_LEN)];
    for (option, value) in options {
        // SAFETY: it takes two numbers. It is called before there are other threads, and a refusal
        // leaves everything as it was.
        unsafe { libc::mallopt(option, value) };
    }
}

#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
pub(crate) fn give_back() {}
