//! Numeric options of cleaning and of the search for items of benchmarks.

use fpstore::options::{NumberOption, count};

/// The number of documents that a cleaning keeps of each cluster.
pub const PER_CLUSTER: NumberOption = NumberOption {
    default: Some(1),
    min: 1,
    max: u32::MAX as u64,
    unit: "documents",
    ..count("per_cluster", "Number of documents kept from each cluster")
};
/// The number of words of each shingle of a benchmark item.
pub const SHINGLE: NumberOption = NumberOption {
    default: Some(5),
    min: 1,
    max: 100,
    unit: "words",
    ..count("shingle", "Words of a shingle for items of 50 words or more")
};
/// The number of words of each shingle of a short benchmark item.
pub const SHORT_SHINGLE: NumberOption = NumberOption {
    name: "short_shingle",
    default: Some(3),
    about: "Words of a shingle for shorter items",
    ..SHINGLE
};
/// Minimum number of words of a benchmark item; shorter items are not searched.
pub const MIN_WORDS: NumberOption = NumberOption {
    default: Some(6),
    min: 1,
    unit: "words",
    ..count("min_words", "Items with fewer words are not searched")
};
