//! Steps of loops over input, which tests count: work that grows with the square of its input hurts
//! only where the input is large, and a test cannot wait for that.
//!
//! Time is no measure on a busy machine. A loop that might become quadratic takes a [`step`] for
//! each comparison, or looks up [`Counted`] keys; a test runs it on n and on 4n elements.

fpstore_base::counted_steps!(keys);
