//! Tests batches of queries with only the reader. Also compiled and run without the feature
//! `write`.

use std::path::Path;

use fpstore::join::{BatchMode, JoinOptions, near_pairs_across, nearest_many, search_many};
use fpstore::{Error, Fingerprint, Limits, Store};

/// The golden stores, each with its fingerprints.
fn stores() -> Vec<(Store, Vec<u64>)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
    let names = ["worked", "crowded", "lived", "empty", "syndromes"];
    let open = |name| {
        let store = Store::open(folder.join(name).with_extension("fps")).unwrap();
        let mut values = Vec::new();
        let each = |hit: fpstore::Hit<'_>| {
            values.push(hit.fingerprint().value());
            Ok::<(), Error>(())
        };
        store.for_each(each).unwrap();
        (store, values)
    };
    names.map(open).into()
}

/// Queries 0 to 4 bits away from stored values, some of them twice, and queries far from all
/// values.
fn queries(values: &[u64]) -> Vec<Fingerprint> {
    let near = values.iter().step_by(151).zip(0_u32..).flat_map(|(value, at)| {
        let flips = [0, 1, 0b11, 0b111, 0b1111_u64];
        flips.map(|flip| value ^ flip.rotate_left(at * 11))
    });
    near.chain([0, u64::MAX, 0x5555_0000_ffff_1234, 0]).map(Fingerprint::new).collect()
}

#[test]
fn a_batch_of_the_reader_alone_answers_as_single_queries_and_a_scan_do() {
    for (store, values) in stores() {
        let (queries, limits) = (queries(&values), Limits::default());
        let mut searcher = store.searcher();
        for (k, threads) in [(0, 1), (2, 2), (3, 1), (7, 2)] {
            let options = JoinOptions::new(k).threads(threads);
            for mode in [BatchMode::Auto, BatchMode::Probe, BatchMode::Walk, BatchMode::Pass] {
                let mut answered = 0;
                search_many(&store, &queries, &options, &limits, mode, |at, answer| {
                    assert_eq!(at, answered);
                    answered += 1;
                    let query = queries[at];
                    let within = |value: &&u64| (*value ^ query.value()).count_ones() <= k;
                    assert_eq!(answer.len(), values.iter().filter(within).count(), "{query} {k}");
                    let single = searcher.search(query, k)?.to_matches()?;
                    assert_eq!(answer.to_matches()?, single, "{query} {k} {mode:?}");
                    Ok::<(), Error>(())
                })
                .unwrap();
                assert_eq!(answered, queries.len());
            }
            let left =
                nearest_many(&store, &queries, 2, &options, BatchMode::Pass, |at, answer| {
                    let single = searcher.nearest(queries[at], 2, k)?.to_matches()?;
                    assert_eq!(answer.to_matches()?, single, "{} {k}", queries[at]);
                    Ok::<(), Error>(())
                });
            assert!(left.unwrap().is_empty());
        }
    }
}

#[test]
fn near_pairs_need_no_writer() {
    for (store, values) in stores() {
        let mut count = 0;
        let options = JoinOptions::new(1).threads(1);
        near_pairs_across([Fingerprint::new(7)].as_slice(), &store, &options, |pairs| {
            count += pairs.len();
            Ok::<(), Error>(())
        })
        .unwrap();
        assert_eq!(count, values.iter().filter(|value| (*value ^ 7).count_ones() <= 1).count());
    }
}
