//! Counts the steps of loops over input, for tests: a loop that takes quadratic time hurts only for
//! large inputs, which tests cannot wait for.
//!
//! Times vary on a busy machine. So a loop that might become quadratic counts a step for each
//! comparison, and a test compares the steps for n and for 4n elements.

/// Defines `step()` in the calling module. In the tests of that package it counts, and `counter`
/// reads the count; elsewhere it does nothing.
#[macro_export]
macro_rules! counted_steps {
    (keys) => {
        $crate::counted_steps!();

        /// A key whose comparisons are counted as steps.
        #[derive(Clone, Copy, Debug)]
        pub(crate) struct Counted<T>(pub(crate) T);

        impl<T: Ord> Ord for Counted<T> {
            #[inline]
            fn cmp(&self, other: &Self) -> std::cmp::Ordering {
                step();
                self.0.cmp(&other.0)
            }
        }

        impl<T: Ord> PartialOrd for Counted<T> {
            #[inline]
            fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
                Some(self.cmp(other))
            }
        }

        impl<T: Ord> PartialEq for Counted<T> {
            #[inline]
            fn eq(&self, other: &Self) -> bool {
                self.cmp(other).is_eq()
            }
        }

        impl<T: Ord> Eq for Counted<T> {}
    };
    () => {
        /// Counts a step. Does nothing outside of tests.
        #[inline]
        pub(crate) fn step() {
            #[cfg(test)]
            counter::STEPS.with(|steps| steps.set(steps.get() + 1));
        }

        /// Counts the steps of a test.
        #[cfg(test)]
        pub(crate) mod counter {
            use std::cell::Cell;

            thread_local! {
                pub(super) static STEPS: Cell<u64> = const { Cell::new(0) };
            }

            /// The number of steps that this thread makes in `act`.
            pub(crate) fn steps_of<T>(act: impl FnOnce() -> T) -> u64 {
                let before = STEPS.get();
                drop(act());
                STEPS.get() - before
            }

            /// Compares the steps for `n` and for `4 * n` elements. Sorting and trees take slightly
            /// more than four times the steps, nested loops sixteen times.
            pub(crate) fn assert_not_quadratic(n: usize, steps_for: impl Fn(usize) -> u64) {
                let (one, four) = (steps_for(n), steps_for(4 * n));
                assert!(one >= n as u64, "{one} steps for {n}: they are not counted");
                assert!(four <= 8 * one, "{one} steps for {n}, {four} for {}", 4 * n);
            }
        }
    };
}
