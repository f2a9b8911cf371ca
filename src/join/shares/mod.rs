//! Joins in parts that processes do by themselves.
//!
//! A plan says which ranges or groups make a part; the parts together have every pair once.

pub(in crate::join) mod plan;
pub(in crate::join) mod plan_groups;
pub(in crate::join) mod plan_text;
pub(in crate::join) mod range;
pub(in crate::join) mod share;
