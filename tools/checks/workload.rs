//! Fixed small workloads; `tools/checks/check_instructions.py` counts their instructions.
//!
//!     cargo run --release --example workload -- query-2
//!
//! Only instructions in functions whose names start with `counted` are counted: the preparation of
//! the data is excluded.

#[path = "../../benches/store/data/mod.rs"]
mod data;

use std::hint::black_box;
use std::path::Path;

use data::{Spread, query_mix};
use fpstore::join::{BatchMode, JoinOptions, near_pairs, search_many};
use fpstore::{BuildOptions, Builder, Error, Fingerprint, Limits, Result, Scheme, Store, Warm};

const COUNT: usize = 100_000;
const QUERY_COUNT: usize = 2_000;
const K: u32 = 3;

fn main() -> Result<()> {
    let Some(name) = std::env::args().nth(1) else {
        eprintln!("workload: expected one of query-2, query-4, crowded, batch, build, pairs");
        std::process::exit(2);
    };
    let folder = tempfile::tempdir().expect("the system gives a directory");
    let path = folder.path().join("store.fps");
    let mut values = Spread::Clustered.fingerprints(COUNT);
    let scheme = if name == "query-4" { "4" } else { "2" };
    if name == "crowded" {
        // With twenty constant leading bits, all values are in few blocks of the first table.
        values.iter_mut().for_each(|value| *value >>= 20);
    }
    let queries: Vec<Fingerprint> =
        query_mix(&values, QUERY_COUNT).into_iter().map(Fingerprint::new).collect();
    match name.as_str() {
        "build" => drop(counted_build(&path, scheme, &values)?),
        "pairs" => {
            let mut sorted: Vec<Fingerprint> =
                values.iter().copied().map(Fingerprint::new).collect();
            sorted.sort_unstable();
            sorted.dedup();
            counted_pairs(&sorted)?;
        }
        "batch" => {
            let store = warmed(&path, scheme, &values)?;
            counted_batch(&store, &queries)?;
        }
        _ => {
            let store = warmed(&path, scheme, &values)?;
            counted_queries(&store, &queries)?;
        }
    }
    Ok(())
}

fn warmed(path: &Path, scheme: &str, values: &[u64]) -> Result<Store> {
    let store = counted_build(path, scheme, values)?;
    store.warm(Warm::All)?;
    // Computes the query plan for this distance in advance.
    store.query(Fingerprint::new(0), K)?;
    Ok(store)
}

#[inline(never)]
fn counted_build(path: &Path, scheme: &str, values: &[u64]) -> Result<Store> {
    let scheme = Scheme::named(scheme, K)?;
    let options = BuildOptions::default().scheme(scheme).threads(1);
    let mut builder = Builder::with_options(path, options)?;
    for &value in values {
        builder.push(Fingerprint::new(value), value)?;
    }
    builder.finish()
}

#[inline(never)]
fn counted_queries(store: &Store, queries: &[Fingerprint]) -> Result<()> {
    let mut searcher = store.searcher();
    for &query in queries {
        black_box(searcher.search(query, K)?.len());
    }
    Ok(())
}

#[inline(never)]
fn counted_batch(store: &Store, queries: &[Fingerprint]) -> Result<()> {
    let limits = Limits::default();
    search_many(store, queries, &one_thread(), &limits, BatchMode::Probe, |_, answer| {
        black_box(answer.len());
        Ok::<(), Error>(())
    })
}

#[inline(never)]
fn counted_pairs(sorted: &[Fingerprint]) -> Result<()> {
    near_pairs(sorted, &one_thread(), |pairs| {
        black_box(pairs.len());
        Ok(())
    })
}

fn one_thread() -> JoinOptions {
    JoinOptions::new(K).threads(1)
}
