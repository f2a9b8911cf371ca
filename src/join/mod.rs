//! Many at once: all near pairs within a set or between two.

mod chains;
mod near;
mod options;
mod pair;
mod run;
mod source;
mod split;
#[cfg(test)]
mod tests;

pub use options::{JoinInput, JoinOptions, Share};
pub use pair::{Pair, near_pairs, near_pairs_across};
