//! Loops over many values, compiled for several instruction sets.

/// Defines a function whose body is a loop that the compiler vectorises. It is compiled for
/// AVX-512, for AVX2 and for the baseline of the target, and each call runs the widest version that
/// this processor supports. No argument may need a named lifetime.
macro_rules! for_this_processor {
    ($(#[$about:meta])* fn $name:ident($($argument:ident: $kind:ty),* $(,)?) $body:block) => {
        $(#[$about])*
        #[cfg_attr(
            target_arch = "x86_64",
            expect(unsafe_code, reason = "a function for some processors only is unsafe to call")
        )]
        fn $name($($argument: $kind),*) {
            #[inline(always)]
            fn each($($argument: $kind),*) $body
            #[cfg(target_arch = "x86_64")]
            {
                #[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vpopcntdq")]
                fn with_avx512($($argument: $kind),*) {
                    each($($argument),*);
                }
                #[target_feature(enable = "avx2,popcnt")]
                fn with_avx2($($argument: $kind),*) {
                    each($($argument),*);
                }
                if is_x86_feature_detected!("avx512f")
                    && is_x86_feature_detected!("avx512bw")
                    && is_x86_feature_detected!("avx512vl")
                    && is_x86_feature_detected!("avx512vpopcntdq")
                {
                    // SAFETY: `with_avx512` needs the instructions that the lines above detected,
                    // and no others.
                    return unsafe { with_avx512($($argument),*) };
                }
                if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("popcnt") {
                    // SAFETY: `with_avx2` needs the instructions that the line above detected, and
                    // no others.
                    return unsafe { with_avx2($($argument),*) };
                }
            }
            each($($argument),*);
        }
    };
}

pub(crate) use for_this_processor;
