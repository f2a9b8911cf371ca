//! Selects the values within `k` bits of a needle, with the best instruction set of the processor.

use multiversion::multiversion;

/// Values compared before the first branch on any of them: four AVX-512 registers.
const GROUP_LEN: usize = 32;

/// Appends the values within `k` bits of `needle`.
///
/// The instruction set is selected at run time: AVX-512 counts the bits of eight values at once,
/// AVX2 those of four values by looking up half bytes; other processors use the `popcount`
/// instruction or a replacement for it by the compiler.
#[multiversion(targets(
    "x86_64+avx512f+avx512vl+avx512bw+avx512dq+avx512vpopcntdq+avx2+popcnt+bmi1+bmi2+lzcnt",
    "x86_64+avx2+popcnt+bmi1+bmi2+lzcnt",
    "x86_64+popcnt",
))]
pub fn scan(values: &[u64], needle: u64, k: u32, found: &mut Vec<u64>) {
    push_near(values, needle, k, found);
}

/// Like [`scan`], but compiled for the instruction set of the calling function.
#[inline(always)]
pub fn push_near(values: &[u64], needle: u64, k: u32, found: &mut Vec<u64>) {
    let (groups, rest) = values.as_chunks::<GROUP_LEN>();
    for group in groups {
        if any_near(group, needle, k) {
            push_each(group, needle, k, found);
        }
    }
    // In groups of eight, short buckets and the ends of long buckets are vectorised, too.
    let (eights, rest) = rest.as_chunks::<8>();
    for eight in eights {
        if any_near(eight, needle, k) {
            push_each(eight, needle, k, found);
        }
    }
    push_each(rest, needle, k, found);
}

#[inline(always)]
fn any_near<const LEN: usize>(group: &[u64; LEN], needle: u64, k: u32) -> bool {
    let mut any = false;
    for value in group {
        any |= (value ^ needle).count_ones() <= k;
    }
    any
}

#[inline(always)]
fn push_each(values: &[u64], needle: u64, k: u32, found: &mut Vec<u64>) {
    for value in values {
        if (value ^ needle).count_ones() <= k {
            found.push(*value);
        }
    }
}

/// The name of the instruction set that [`scan`] uses on this machine.
pub fn instructions() -> &'static str {
    #[cfg(target_arch = "x86_64")]
    {
        let all = is_x86_feature_detected!("avx512vpopcntdq")
            && is_x86_feature_detected!("avx512bw")
            && is_x86_feature_detected!("avx512vl")
            && is_x86_feature_detected!("avx512dq");
        if all {
            return "AVX-512 VPOPCNTDQ";
        }
        if is_x86_feature_detected!("avx2") {
            return "AVX2";
        }
        if is_x86_feature_detected!("popcnt") {
            return "POPCNT";
        }
    }
    "portable"
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::{Spread, query_mix};

    #[test]
    fn all_instructions_find_what_a_plain_loop_finds() {
        let stored = Spread::Clustered.fingerprints(2000);
        for len in (0..100).chain([1999, 2000]) {
            for k in [0, 3, 24, 64] {
                for needle in query_mix(&stored, 3) {
                    let (mut found, mut portable) = (Vec::new(), Vec::new());
                    scan(&stored[..len], needle, k, &mut found);
                    push_near(&stored[..len], needle, k, &mut portable);
                    let near = |value: &u64| (value ^ needle).count_ones() <= k;
                    let expected: Vec<u64> = stored[..len].iter().copied().filter(near).collect();
                    assert_eq!(found, expected, "{len} values, k = {k}, {}", instructions());
                    assert_eq!(portable, expected, "{len} values, k = {k}");
                }
            }
        }
    }
}
