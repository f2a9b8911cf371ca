//! Counts the steps of loops over input, for tests: a loop that takes quadratic time hurts only for
//! large inputs, which tests cannot wait for.
//!
//! A loop that might become quadratic counts a [`step`] for each comparison, or looks up
//! [`Counted`] keys. A test compares the steps for n and for 4n elements, because times vary on a
//! busy machine.

fpstore_base::counted_steps!(keys);
