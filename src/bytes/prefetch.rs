//! Prefetches: load a cache line into the cache before it is used.

/// Prefetches the cache line of `items[at]`. Has no effect if `at` is outside of the slice or the
/// processor cannot prefetch.
#[inline(always)]
#[cfg_attr(
    any(target_arch = "x86_64", target_arch = "aarch64"),
    expect(unsafe_code, reason = "prefetch instructions take pointers")
)]
pub(crate) fn prefetch<T>(items: &[T], at: usize) {
    // `at` is nearly always within the slice; checking that would cost more than the instruction.
    let address = items.as_ptr().wrapping_add(at);
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a prefetch changes no memory and never faults, even at an invalid address.
    unsafe {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T0>(address.cast());
    }
    #[cfg(target_arch = "aarch64")]
    // SAFETY: `prfm` never faults, even at an invalid address, and changes no register and no
    // memory.
    unsafe {
        std::arch::asm!(
            "prfm pldl1keep, [{address}]",
            address = in(reg) address,
            options(nostack, readonly, preserves_flags)
        );
    }
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    let _ = address;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_position_can_be_prefetched() {
        let bytes = [1, 2, 3];
        for at in [0, 2, 3, 4096, usize::MAX] {
            prefetch(&bytes, at);
        }
        prefetch::<u64>(&[], 1);
        assert_eq!(bytes, [1, 2, 3]);
    }
}
