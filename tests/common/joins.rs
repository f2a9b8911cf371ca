//! Join results as plain values, for comparisons.

use fpstore::join::{JoinInput, JoinOptions, Pair, SortedPairs, document_pairs, near_pairs};
use fpstore::{Error, Id, Store};

pub fn join_options(k: u32, threads: usize) -> JoinOptions {
    JoinOptions::new(k).threads(threads)
}

pub fn fingerprints_of(pair: &Pair) -> (u64, u64) {
    (pair.first.value(), pair.second.value())
}

pub fn pairs<'a>(input: impl Into<JoinInput<'a>>, options: &JoinOptions) -> Vec<(u64, u64)> {
    let mut found = Vec::new();
    near_pairs(input, options, |pairs| {
        found.extend(pairs.iter().map(fingerprints_of));
        Ok::<(), Error>(())
    })
    .unwrap();
    found.sort_unstable();
    found
}

/// The pairs of fingerprints in join order.
pub fn in_order(pairs: &SortedPairs) -> Vec<(u64, u64)> {
    let mut found = Vec::new();
    pairs
        .for_each(|pair| {
            found.push(fingerprints_of(&pair));
            Ok::<(), Error>(())
        })
        .unwrap();
    found
}

/// A pair of documents: their two fingerprints, the distance, their two ids.
pub type Row = (u64, u64, u32, Option<Id>, Option<Id>);

/// The document pairs in join order.
pub fn rows(store: &Store, options: &JoinOptions, distinct: bool) -> Vec<Row> {
    let pairs = document_pairs(store, options, distinct).unwrap();
    let mut rows: Vec<Row> = Vec::new();
    pairs
        .for_each(|row| {
            let (first, second) = fingerprints_of(&row.pair);
            let [first_id, second_id] =
                [row.first_id, row.second_id].map(|id| id.map(|id| id.to_id()));
            rows.push((first, second, row.pair.distance(), first_id, second_id));
            Ok::<(), Error>(())
        })
        .unwrap();
    assert_eq!(rows.len() as u64, pairs.len());
    rows
}
