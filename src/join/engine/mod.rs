//! Joining values: blocking, partitions, hash tables, comparison.
//!
//! The joins of `pairs`, `shares` and `batch` run on it; it knows values, not documents.

pub(in crate::join) mod blocking;
pub(in crate::join) mod callback;
mod chains;
mod costs;
pub(in crate::join) mod cut;
pub(in crate::join) mod density;
mod descent;
mod descent_cost;
pub(in crate::join) mod distinct;
mod each;
pub(in crate::join) mod finder;
mod group_table;
mod groups;
pub(in crate::join) mod hash_table;
pub(in crate::join) mod hashing;
mod line_table;
mod node;
pub(in crate::join) mod one_join;
mod ordered;
mod ordered_pass;
pub(in crate::join) mod partition_pass;
pub(in crate::join) mod run;
pub(in crate::join) mod sides;
pub(in crate::join) mod skew;
pub(in crate::join) mod values;
