//! Steps of loops over input, counted by tests: quadratic work hurts only for large inputs, and a
//! test cannot wait for those.
//!
//! A loop that might become quadratic counts a [`step`] for each comparison, or looks up
//! [`Counted`] keys; a test runs it on n and on 4n elements. Time is no measure on a busy machine.

fpstore_base::counted_steps!(keys);
